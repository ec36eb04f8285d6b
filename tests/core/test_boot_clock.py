"""The clock that also runs while the machine is suspended, and the comparison of its readings."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from treasury.core.machine import boot_clock
from treasury.core.machine.boot_clock import BootTime, boot_seconds, boot_time

OTHER_PROCESS = "from treasury.core.machine.boot_clock import boot_time; print(boot_time().boot)"


def test_two_readings_of_one_boot_differ_as_the_clock_says() -> None:
    first, second = boot_time(), boot_time()
    assert first.boot == second.boot
    assert first.milliseconds <= second.milliseconds
    assert BootTime("b", 1_000).until(BootTime("b", 3_500)) == timedelta(seconds=2.5)


def test_readings_of_two_boots_are_not_compared() -> None:
    assert BootTime("one", 1_000).until(BootTime("two", 3_500)) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the file is Linux's")
def test_on_linux_the_clock_counts_since_boot_and_every_process_names_the_same_boot() -> None:
    uptime = float(Path("/proc/uptime").read_text("ascii").split()[0])
    assert abs(boot_seconds() - uptime) < 5
    other = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == boot_time().boot


def test_the_process_identifies_the_boot_if_the_system_gives_no_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boot_clock, "_NAMES", {})
    monkeypatch.setattr(boot_clock, "_CLOCK", None)
    boot_clock._boot.cache_clear()
    try:
        name = boot_time().boot
        assert name.startswith("process ")
        assert boot_time().boot == name
    finally:
        boot_clock._boot.cache_clear()
