"""The test report after a worker process died, and after a test failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

TESTS = Path(__file__).parent.parent


def ran(folder: Path, body: str) -> tuple[int, str]:
    """Run one test with two workers; return the exit code and the output."""
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(TESTS)!r})\nfrom crashed_workers import *\n", "utf-8"
    )
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (folder / "test_it.py").write_text(f"import os, pathlib\ndef test_it():\n    {body}\n", "utf-8")
    variables = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "test_it.py"],
        cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_the_test_of_a_crashed_worker_is_rerun_and_reported(tmp_path: Path) -> None:
    once = "p = pathlib.Path('once'); p.exists() or (p.touch(), os.abort())"
    code, printed = ran(tmp_path, once)
    assert code == 0, printed
    assert "crashed workers" in printed
    assert "its worker ended with -6" in printed
    assert "Fatal Python error: Aborted" in printed
    assert "run again alone and passed" in printed


@pytest.mark.parametrize("body", ["os.abort()", "assert False"])
def test_a_second_crash_and_a_failure_fail(body: str, tmp_path: Path) -> None:
    code, printed = ran(tmp_path, body)
    assert code == 1, printed
    assert ("crashed workers" in printed) == (body == "os.abort()")
