"""Completion in bash and zsh, set up as in `docs/setup.md`, and `python -m treasury`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "setup.md").read_text("utf-8")
LINES = {
    shell: line
    for line, shell in re.findall(r"^(eval .*=(bash|zsh)_source .*\")", PAGE, re.MULTILINE)
}
BEFORE = {"bash": "", "zsh": "autoload -U compinit; compinit -u; "}


@pytest.mark.acceptance
@pytest.mark.parametrize(("shell", "ask"), [("bash", "complete -p"), ("zsh", "whence -w")])
def test_the_line_of_the_setup_page_loads(shell: str, ask: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subject = "treasury" if shell == "bash" else "_treasury_completion"
    script = f"{BEFORE[shell]}{LINES[shell]}; {ask} {subject}"
    done = subprocess.run(
        [program, "-c", script],
        env={**os.environ, "PATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert "_treasury_completion" in done.stdout


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("words", "expected"),
    [("treasury reconc", "reconcile"), ("treasury tables --fo", "--format")],
)
def test_commands_and_options_are_completed(words: str, expected: str) -> None:
    completion = {"_TREASURY_COMPLETE": "bash_complete", "COMP_WORDS": words}
    place = {"COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [Path(sys.executable).with_name("treasury")],
        env={**os.environ, **completion, **place},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"plain,{expected}\n"


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "treasury", "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.startswith("Usage: treasury ")
