"""The examples of a page, run on the practice company's month: files, commands and Python.

A block ```csv NAME or ```toml NAME is a file that later blocks use. A ```console block is a command
after `$` and its output; TREASURY_USER before the command names its person. A ```python block
prints the ```text block after it, and has the workspace as `t`.

python tests/report/doc_console.py docs/fees.md

writes the output of the blocks into the page; the test only compares.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from treasury.cli import treasury
from treasury.workspace import Workspace

__all__ = ["ROOT", "as_run", "with_limits"]

ROOT = Path(__file__).resolve().parents[2]
_FILE = re.compile(r"```(?:csv|toml) (\S+)\n(.*?)```\n", re.DOTALL)
_CONSOLE = re.compile(
    r"```console\n\$ ((?:TREASURY_USER=(\w+) )?treasury ([^\n]*))\n(.*?)```\n", re.DOTALL
)
_PERSON = re.compile(r"^TREASURY_USER=(\w+) treasury (.*)$", re.MULTILINE)
_PYTHON = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
_BLOCK = re.compile(
    r"```(?:(?:csv|toml) \S+|console|python)\n.*?```\n(?:\n```text\n.*?```\n)?", re.DOTALL
)


def as_run(page: str, workspace: Workspace, folder: Path) -> str:
    """Return the page with the current output of its examples, which are run in `folder`."""
    names: dict[str, Any] = {"t": workspace}

    def file(block: re.Match[str]) -> str:
        Path(block[1]).write_text(block[2], "utf-8")
        return block[0]

    def command(block: re.Match[str]) -> str:
        arguments = ["--workspace", str(workspace.folder), *shlex.split(block[3])]
        who = {"TREASURY_USER": block[2]} if block[2] else {}
        done = CliRunner().invoke(treasury, arguments, env=who, catch_exceptions=False)
        return f"```console\n$ {block[1]}\n{_trimmed(done.output)}```\n"

    def python(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], "example", "exec"), names)
        told = _trimmed(printed.getvalue())
        if block[2] is None:
            assert told == "", "an example prints and the page shows nothing"
            return block[0]
        return f"```python\n{block[1]}```\n\n```text\n{told}```\n"

    def in_turn(block: re.Match[str]) -> str:
        return _PYTHON.sub(python, _CONSOLE.sub(command, _FILE.sub(file, block[0])))

    with contextlib.chdir(folder):
        return _BLOCK.sub(in_turn, page)


def with_limits(page: str, folder: Path) -> Workspace:
    """Add the page's policy to the workspace in `folder`, and run the commands that name a person.

    Return the workspace.
    """
    (policy,) = (content for name, content in _FILE.findall(page) if name == "policy.toml")
    with (folder / "policy.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{policy}")
    for person, command in _PERSON.findall(page):
        arguments = ["--workspace", str(folder), *shlex.split(command)]
        env = {"TREASURY_USER": person}
        CliRunner().invoke(treasury, arguments, env=env, catch_exceptions=False)
    return Workspace(folder)


def _trimmed(text: str) -> str:
    """Return lines without trailing blanks, and without empty lines at the end."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).rstrip()
    return f"{lines}\n" if lines else ""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    from filled import fill

    from treasury.sandbox import Sandbox

    path = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        filled = fill(Path(made) / "desk", Sandbox(7))
        if path.stem == "exposure":
            filled = with_limits(path.read_text("utf-8"), filled.folder)
        path.write_text(as_run(path.read_text("utf-8"), filled, Path(made)), "utf-8")
