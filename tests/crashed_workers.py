"""Pytest hooks that rerun the test of a crashed worker once, alone, and report the crash.

A browser driver or the native code of an engine can end a worker's process. A test that merely
fails is not run again.
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
    """Return the file to which a crashing worker writes its stacks."""
    return Path(tempfile.gettempdir()) / f"treasury-crash-{run}-{worker}.txt"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make each worker write its stacks if it crashes."""
    worker = getattr(session.config, "workerinput", None)
    session.config.stash[SAID] = []
    if worker is not None:
        stacks = _stacks(worker["testrunuid"], worker["workerid"]).open("w")
        session.config.add_cleanup(stacks.close)
        faulthandler.enable(file=stacks)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any) -> None:
    """Rerun the test of a crashed worker in a new process; if it passes, it counts as passed."""
    node = report.node
    # xdist stores the process only here.
    code = node.gateway._io.popen.wait(30)
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
    """Report the crashed workers."""
    crashed = terminalreporter.config.stash.get(SAID, [])
    if crashed:
        terminalreporter.section("crashed workers")
        for sentence in crashed:
            terminalreporter.line(sentence)
