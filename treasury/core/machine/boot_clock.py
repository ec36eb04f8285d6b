"""A clock that also runs while the machine sleeps, counted from its last start (boot).

`time.monotonic` stops during sleep on Linux and macOS. So Linux uses CLOCK_BOOTTIME, and macOS the
continuous time (`CLOCK_MONOTONIC_RAW`). The monotonic clock of Windows includes sleep. Other
systems use `time.monotonic`, so there only the wall clock shows that the machine has slept.

Two readings can be compared if the machine did not restart between them. If the system does not
identify its boots (Windows and others), only readings of the same process can be compared.
"""

from __future__ import annotations

import ctypes
import sys
import time
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

_CLOCKS: Final = {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC_RAW"}
_CLOCK: Final[int | None] = getattr(time, _CLOCKS.get(sys.platform, ""), None)
_UUID_BYTES: Final = 37
"""Bytes of a UUID as text, with the terminating zero."""


class BootTime(msgspec.Struct, frozen=True):
    """A reading of the clock: milliseconds since the boot, and the id of that boot."""

    boot: str
    milliseconds: int

    def until(self, later: BootTime) -> timedelta | None:
        """Return the time from this reading to a later one; None if the boots differ."""
        if self.boot != later.boot:
            return None
        return timedelta(milliseconds=later.milliseconds - self.milliseconds)


def boot_seconds() -> float:
    """Return the seconds of the clock, including sleep."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def boot_time() -> BootTime:
    """Return the current reading of the clock."""
    return BootTime(_boot(), int(boot_seconds() * 1000))


@cache
def _boot() -> str:
    """Return the id of this boot, equal in every process; a random id if the system has none."""
    try:
        name = _NAMES[sys.platform]()
    # The system has no boot id, or denies access to it.
    except (
        KeyError,
        OSError,
        ValueError,
        AttributeError,
    ):
        name = ""
    return name.strip() or f"process {uuid4()}"


def _macos_boot() -> str:
    text, size = ctypes.create_string_buffer(_UUID_BYTES), ctypes.c_size_t(_UUID_BYTES)
    sysctl = ctypes.CDLL(None).sysctlbyname
    failed = sysctl(b"kern.bootsessionuuid", text, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else text.value.decode("ascii")


_NAMES: Final = {
    "linux": lambda: Path("/proc/sys/kernel/random/boot_id").read_text("ascii"),
    "darwin": _macos_boot,
}
