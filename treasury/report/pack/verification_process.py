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

from treasury.core.decoding import decode_json
from treasury.core.machine.processes import started
from treasury.core.text import clean
from treasury.report.pack.sealed_pack import Finding, Recomputed

MOST_ROWS: Final = 50_000_000
"""Rows of a table in a pack that are read."""
SECONDS: Final = 3_600
"""Processor time that a pack may take."""
_ANSWER: Final = 64 << 20
_ERROR_TAIL: Final = 64 << 10


def recompute(folder: Path) -> Recomputed:
    """Compute a pack again from its own inputs; a finding says where that is not possible."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
        bounds = str(folder.absolute()), str(memory_bound())
        process = started(__name__, "work", *bounds, stdout=answer, stderr=errors)
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


def work(name: str, memory: str) -> int:
    """Compute the pack in the folder `name` again and write what was found; the exit code."""
    _limit(int(memory))
    import pyarrow.parquet as pq

    from treasury.report.pack.pack_recomputation import compare_with_inputs

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
