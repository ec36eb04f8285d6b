"""`treasury practice` ends what it began."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def test_who_ends_practice_ends_the_command_beside_it(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    beside = (
        f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    command = [
        sys.executable, "-m", "treasury.cli", "-w", str(tmp_path / "desk"), "practice", "--",
        sys.executable, "-c", beside,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as practice:
        for _ in range(1_200):
            if started.is_file() and started.read_text():
                break
            assert practice.poll() is None, practice.communicate()
            time.sleep(0.1)
        child = int(started.read_text())
        practice.send_signal(signal.SIGTERM)
        assert practice.wait(60) == 128 + signal.SIGTERM
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the command was left behind")
