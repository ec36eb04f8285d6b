"""A pack computed again in a process of its own, with bounds on its memory and its time.

Whoever seals a pack chooses what is computed. Parquet of a few bytes can stand for more rows than
any memory holds, and a library may fail in any way on bytes made for it: all of it is one finding.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from treasury.ground.decoding import decode_json
from treasury.ground.processes import started
from treasury.report.pack.sealed_pack import Finding
from treasury.text import clean

__all__ = ["Recomputed", "memory_bound", "recompute"]

_WORKER: Final = "treasury.report.pack.verification_worker"
_ANSWER: Final = 64 << 20
_ERROR_TAIL: Final = 64 << 10


class Recomputed(msgspec.Struct, frozen=True):
    """What does not come out again, what was not compared, and the query that was run."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    sql: str = ""


def recompute(folder: Path) -> Recomputed:
    """Compute a pack again from its own inputs; a finding says where that is not possible."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
        bounds = str(folder.absolute()), str(memory_bound())
        process = started(_WORKER, "work", *bounds, stdout=answer, stderr=errors)
        with process:
            process.communicate()
        if process.returncode == 0:
            answer.seek(0)
            return decode_json(answer.read(_ANSWER), Recomputed)
        # What the process said last; where it was long, the end of it.
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - _ERROR_TAIL))
        why = (
            clean(errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2])
            or f"its process ended with {process.returncode}"
        )
    return Recomputed((Finding("inputs", f"cannot be computed again: {why:.300}"),))


def memory_bound() -> int:
    """Bytes of memory that a pack may take: half of what the machine has."""
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
