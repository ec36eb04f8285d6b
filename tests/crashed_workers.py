"""A worker that dies takes its test with it: why is said, and the test is run once more, alone.

The panels' tests have a browser's driver in their process, others the engines' native code. A test
that fails is never run again; one whose process ended is, once, and the summary says so.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

SAID = pytest.StashKey[list[str]]()


def _stacks(run: str, worker: str) -> Path:
    """Where a worker's stacks are written when it is ended by a signal of its own."""
    return Path(tempfile.gettempdir()) / f"treasury-crash-{run}-{worker}.txt"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker leave its stacks where it crashes."""
    worker = getattr(session.config, "workerinput", None)
    session.config.stash[SAID] = []
    if worker is not None:
        stacks = _stacks(worker["testrunuid"], worker["workerid"]).open("w")
        session.config.add_cleanup(stacks.close)
        faulthandler.enable(file=stacks)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any) -> None:
    """Run the test of a crashed worker once more, in a process of its own."""
    node = report.node
    code = node.gateway._io.popen.wait(30)  # xdist keeps the process nowhere else
    stacks = _stacks(node.workerinput["testrunuid"], node.workerinput["workerid"])
    why = f"its worker ended with {code}\n{stacks.read_text() if stacks.exists() else ''}"
    alone = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    again = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "", crashitem],
        cwd=node.config.rootpath, env=alone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if again.returncode == 0:
        report.outcome, report.when, report.longrepr = "passed", "call", None
    else:
        report.longrepr = f"{report.longrepr}\n{why}\nand alone:\n{again.stdout[-20_000:]}"
    outcome = "passed" if again.returncode == 0 else "failed"
    node.config.stash[SAID].append(f"{crashitem}: {why}It was run again alone and {outcome}.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which workers crashed."""
    crashed = terminalreporter.config.stash.get(SAID, [])
    if crashed:
        terminalreporter.section("crashed workers")
        for sentence in crashed:
            terminalreporter.line(sentence)
