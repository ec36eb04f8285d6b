"""Recompute a pack in a separate process with limits on memory and time.

The person who seals a pack chooses what is computed. A few bytes of Parquet can expand to more rows
than fit in memory, and a library may fail in any way on crafted bytes: each failure becomes one
finding.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.machine.processes import started
from treasury.core.text import clean
from treasury.report.pack.sealed_pack import Finding, Recomputed

MOST_ROWS: Final = 50_000_000
"""Maximum number of rows of a table in a pack."""
SECONDS: Final = 3_600
"""Maximum processor time for a pack, in seconds."""
_ANSWER: Final = 64 << 20
_ERROR_TAIL: Final = 64 << 10


def recompute(folder: Path) -> Recomputed:
    """Recompute a pack from its own inputs; a finding states if that is impossible."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
        bounds = str(folder.absolute()), str(memory_bound())
        process = started(__name__, "work", *bounds, stdout=answer, stderr=errors)
        with process:
            process.communicate()
        if process.returncode == 0:
            answer.seek(0)
            return decode_json(answer.read(_ANSWER), Recomputed)
        # The reason is the last line that the process printed, or the end of that line.
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - _ERROR_TAIL))
        why = (
            clean(errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2])
            or f"its process ended with {process.returncode}"
        )
    return Recomputed((Finding("inputs", f"cannot be recomputed: {why:.300}"),))


def memory_bound() -> int:
    """Return the limit for a pack in bytes: half of the machine's memory; 0 (none) on Windows."""
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def work(name: str, memory: str) -> int:
    """Recompute the pack in the folder `name` and write the findings; return the exit code."""
    _limit(int(memory))
    import pyarrow.parquet as pq

    from treasury.report.pack.pack_recomputation import compare_with_inputs

    folder = Path(name)
    for path in sorted((*folder.glob("inputs/*.parquet"), *folder.glob("tables/*.parquet"))):
        rows = pq.read_metadata(path).num_rows
        if rows > MOST_ROWS:
            too_long = Finding(
                path.relative_to(folder).as_posix(), f"has {rows:,} rows according to its metadata"
            )
            return _answer(Recomputed((too_long,)))
    return _answer(compare_with_inputs(folder))


def _answer(recomputed: Recomputed) -> int:
    sys.stdout.buffer.write(msgspec.json.encode(recomputed))
    sys.stdout.buffer.flush()
    return 0


def _limit(memory: int) -> None:
    """Limit the memory of this process in bytes, and its processor time to an hour."""
    if sys.platform == "win32":
        return
    import resource

    for kind, most in ((resource.RLIMIT_DATA, memory), (resource.RLIMIT_CPU, SECONDS)):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))
