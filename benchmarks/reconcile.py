"""Benchmark of matching with all tiers against pandas, which matches whole references only.

    python -m benchmarks.reconcile [ROWS]
    python -m benchmarks.reconcile --hostile [ROWS]

Both sides run alternately, each in its own process, and read the same Parquet files before the
measured time. Pandas runs the code that an analyst would write: `findall` tokens, `explode`,
`merge`. This project's function computes every tier, outcome and allocation. Processor time is
printed next to wall-clock time, because only processor time is comparable on a busy machine.

Then this project's function runs alone: on a tenth of the rows; on two sets built to be slow (all
lines have the same amount; all lines name one code); and twice on a month of 5,000 lines.
`--hostile` runs the sets with which a payer could slow matching down, and prints their time and
memory as multiples of the ordinary set's.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.hostile_sets import HOSTILE, lines_table, ordinary_code, requests_table

ROWS = 1_000_000
HOSTILE_ROWS = 100_000
LONGEST = 20
"""Multiple of the ordinary set's time after which a hostile set is stopped."""
ROUNDS = 3
MONTH = 5_000
MIX = {
    "whole reference": 90,
    "split by a space": 3,
    "cut off, or one character off": 2,
    "no reference": 5,
}
"""Number of lines, out of 100, for each way to write a reference."""


class Run(msgspec.Struct, frozen=True):
    """The measurements of one process."""

    wall: float
    processor: float
    matched: int
    peak_mb: int


def written(code: str, place: int, random: Random) -> str:
    """Return a remittance text; `place`, from 0 to 99, selects the way to write the code."""
    if place < 90:
        return f"Invoice {random.randrange(10**6)} {code} thanks"
    if place < 93:
        return f"Invoice {random.randrange(10**6)} {code[:9]} {code[9:]} thanks"
    if place < 94:
        return f"Invoice {random.randrange(10**6)} {code[:-2]}"
    if place < 95:
        return f"{code[:4]}9{code[5:]} invoice {random.randrange(10**6)}"
    return f"Invoice {random.randrange(10**6)} as agreed by telephone"


def ordinary(rows: int) -> tuple[pa.Table, pa.Table]:
    """Return `rows` lines and `rows` requests with random amounts, and codes written by the mix."""
    (whole,) = ordinary_parts(rows, 1)
    return whole


def ordinary_parts(rows: int, parts: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield the ordinary set in parts, because ten million rows do not fit into memory."""
    random = Random(rows)
    order = array("q", random.sample(range(rows), rows))
    cents = array("q", (random.randrange(10_000, 5_000_000) for _ in range(rows)))
    size = -(-rows // parts)
    for start in range(0, rows, size):
        places = range(start, min(start + size, rows))
        texts = [written(ordinary_code(order[at]), at % 100, random) for at in places]
        yield (
            lines_table(texts, [euros(cents[order[at]]) for at in places], start=start),
            requests_table(
                [ordinary_code(n) for n in places], [euros(cents[n]) for n in places], start=start
            ),
        )


def euros(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)


def same_amount(rows: int) -> tuple[pa.Table, pa.Table]:
    """Return the ordinary set with the same amount in all lines and requests."""
    lines, expectations = ordinary(rows)
    same = pa.array([Decimal("100.00")] * rows).cast(pa.decimal128(38, 18))
    return replaced(lines, same), replaced(expectations, same)


def one_code(rows: int) -> tuple[pa.Table, pa.Table]:
    """Return lines that all name the first expectation, which accepts any amount."""
    lines, expectations = ordinary(rows)
    texts = [f"Invoice {n} PAY-2026-0000000 thanks" for n in range(rows)]
    amounts = [None, *expectations["amount"].to_pylist()[1:]]
    column = lines.schema.get_field_index("remittance")
    return (
        lines.set_column(column, "remittance", pa.array(texts)),
        replaced(expectations, pa.array(amounts, pa.decimal128(38, 18))),
    )


SETS: dict[str, Callable[[int], tuple[pa.Table, pa.Table]]] = {
    "ordinary": ordinary,
    "same amount": same_amount,
    "one code": one_code,
    **HOSTILE,
}


def replaced(table: pa.Table, amounts: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index("amount"), "amount", amounts)


def by_treasury(lines: pa.Table, expectations: pa.Table) -> int:
    from treasury import match_references

    return match_references(lines, expectations).counts()["matched"]


def by_pandas(lines: pa.Table, expectations: pa.Table) -> int:
    left, right = lines.to_pandas(), expectations.to_pandas()
    left["token"] = left["remittance"].str.upper().str.findall(r"[A-Z0-9./-]+")
    tokens = left.explode("token")
    tokens["token"] = tokens["token"].str.replace(r"[./-]", "", regex=True)
    right["token"] = right["code"].str.upper().str.replace(r"[./-]", "", regex=True)
    return len(tokens.merge(right, on=["token", "currency"])["entry_id"].drop_duplicates())


SIDES = {"treasury": by_treasury, "pandas": by_pandas}


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> int:
    """Return the peak memory of this process; `getrusage` would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def one(side: str, folder: Path, times: int) -> Run:
    """Run one side several times on the files in `folder`, and measure the last run."""
    lines, expectations = pq.read_table(folder / "lines"), pq.read_table(folder / "expectations")
    # This frees the memory used to decode the files.
    pa.default_memory_pool().release_unused()
    run = Run(0, 0, 0, 0)
    for _ in range(times):
        wall, cpu = time.perf_counter(), processor()
        matched = SIDES[side](lines, expectations)
        run = Run(time.perf_counter() - wall, processor() - cpu, matched, peak_mb())
    return run


def apart(side: str, folder: Path, times: int = 1, longest: float | None = None) -> Run:
    """Run `one` in its own process; raise TimeoutExpired after `longest` seconds."""
    command = [sys.executable, "-m", "benchmarks.reconcile", "--side", side, folder, str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=longest)
    return msgspec.convert(json.loads(done.stdout), Run)


def prepared(folder: Path, name: str, rows: int) -> Path:
    """Write the files of a set in this process, whose memory is not measured."""
    place = folder / f"{name}-{rows}".replace(" ", "-")
    place.mkdir()
    lines, expectations = SETS[name](rows)
    pq.write_table(lines, place / "lines")
    pq.write_table(expectations, place / "expectations")
    return place


def told(what: str, rows: int, run: Run) -> str:
    return (
        f"{what:<24} {rows:>9,} rows  {run.wall:7.2f} s  {run.processor:7.2f} s processor"
        f"  peak {run.peak_mb:6,} MB  {run.matched:>9,} matched"
    )


def median(runs: list[Run]) -> Run:
    return Run(
        statistics.median(run.wall for run in runs),
        statistics.median(run.processor for run in runs),
        runs[0].matched,
        max(run.peak_mb for run in runs),
    )


def main(rows: int) -> None:
    print("of 100 lines:", ", ".join(f"{share} {how}" for how, share in MIX.items()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = prepared(folder, "ordinary", rows)
        found: dict[str, list[Run]] = {side: [] for side in SIDES}
        for _ in range(ROUNDS):
            for side, runs in found.items():
                runs.append(apart(side, whole))
        ours, theirs = median(found["treasury"]), median(found["pandas"])
        print(told("treasury, all tiers", rows, ours))
        print(told("pandas, whole codes", rows, theirs))
        wall, cpu = ours.wall / theirs.wall, ours.processor / theirs.processor
        print(f"treasury takes {wall:.2f} of pandas' time, {cpu:.2f} of its processor time")
        tenth = apart("treasury", prepared(folder, "ordinary", rows // 10))
        print(told("a tenth of the rows", rows // 10, tenth))
        print(
            f"ten times the rows: {ours.processor / tenth.processor:.1f} times the processor time"
        )
        for other in ("same amount", "one code"):
            run = apart("treasury", prepared(folder, other, rows))
            print(told(other, rows, run))
            print(f"{other}: {run.processor / ours.processor:.2f} of the ordinary set")
        month = apart("treasury", prepared(folder, "ordinary", MONTH), times=2)
        print(told("a month", MONTH, month))


def hostile(rows: int) -> None:
    """Run each hostile set, and compare it with the ordinary set of the same number of rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = apart("treasury", prepared(folder, "ordinary", rows))
        print(told("ordinary", rows, plain))
        for what in HOSTILE:
            place = prepared(folder, what, rows)
            try:
                run = apart("treasury", place, longest=LONGEST * plain.wall)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                print(f"{what:<28} stopped: {type(error).__name__}")
                continue
            print(told(what, rows, run))
            time, memory = run.processor / plain.processor, run.peak_mb / plain.peak_mb
            print(f"{what}: {time:.1f} of the ordinary set's time, {memory:.1f} of its memory")


if __name__ == "__main__":
    if "--hostile" in sys.argv:
        hostile(int(sys.argv[2]) if len(sys.argv) > 2 else HOSTILE_ROWS)
    elif "--side" in sys.argv:
        print(msgspec.json.encode(one(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))).decode())
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
