"""The process that computes a pack again for another: bounded, its finding a line of JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec
import pyarrow.parquet as pq

from treasury.report.pack.pack_verification import compare_with_inputs
from treasury.report.pack.sealed_pack import Finding
from treasury.report.pack.verification_process import Recomputed

__all__ = ["work"]

MOST_ROWS: Final = 50_000_000
"""Rows of a table in a pack that are read."""
SECONDS: Final = 3_600
"""Processor time that a pack may take."""


def work(name: str, memory: str) -> int:
    """Compute the pack in the folder `name` again and write what was found; the exit code."""
    _limit(int(memory))
    folder = Path(name)
    for path in sorted((*folder.glob("inputs/*.parquet"), *folder.glob("tables/*.parquet"))):
        rows = pq.read_metadata(path).num_rows
        if rows > MOST_ROWS:
            too_long = Finding(
                path.relative_to(folder).as_posix(), f"says that it has {rows:,} rows"
            )
            return _answer(Recomputed((too_long,)))
    return _answer(compare_with_inputs(folder))


def _answer(recomputed: Recomputed) -> int:
    sys.stdout.buffer.write(msgspec.json.encode(recomputed))
    sys.stdout.buffer.flush()
    return 0


def _limit(memory: int) -> None:
    """Take at most these bytes of memory, and an hour of a processor's time."""
    if sys.platform == "win32":
        return
    import resource

    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, SECONDS)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))
