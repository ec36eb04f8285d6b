"""The commands of `docs/lake.md`, "A lake for a team", run as written in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

PAGE = (Path(__file__).parents[2] / "docs" / "lake.md").read_text("utf-8")
_BLOCK = re.compile(r"```(bash|console)\n(.*?)```\n", re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def plain(text: str, folder: Path) -> str:
    """Return the output without the parts that differ between machines: folders, people, sizes."""
    text = text.replace(str(folder), "/work")
    text = re.sub(r"by [^ ]+ on [^ )\n]+", "by WHO on WHERE", text)
    return re.sub(r"[\d,]+ bytes", "N bytes", text)


def test_the_commands_of_the_page_work_for_two_desks(tmp_path: Path) -> None:
    section = PAGE.partition("### Two desks on one machine\n")[2].partition("\n### ")[0]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=os.environ | {"PATH": path}, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())

    compared = 0
    for kind, block in _BLOCK.findall(section):
        if kind == "bash":
            run(block)
            continue
        for command, printed in _COMMAND.findall(block):
            assert plain(run(command), tmp_path) == plain(printed, tmp_path), command
            compared += 1
    assert compared == 8
