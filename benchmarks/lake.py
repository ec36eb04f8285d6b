"""Benchmark of a growing lake: a sum over many rows, a year of commits, a check for damage.

    python -m benchmarks.lake [ROWS] [COMMITS] [CHECKED]

The sum over the stored table alternates with the sum over one Parquet file that DuckDB wrote from
the same rows, each in its own connection; the ratio of the medians is printed. The year is COMMITS
commits of a few changes each: the cost of a commit and of opening the lake is measured at its
beginning and at its end. The check for damage runs on CHECKED rows, with and without stored hashes,
and the repair after one file is lost.
"""

from __future__ import annotations

import multiprocessing
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from treasury.extract import TABLES
from treasury.lake import Lake, Table, damages, lake_status, repair
from treasury.lake.store.file_digests import FILE_NAME

ROWS = 10_000_000
COMMITS = 8_760
CHECKED = 1_000_000
BATCH = 1_000_000
ROUNDS = 7
START = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = "SELECT status, count(*) AS n, sum(fiat_amount) AS s FROM {} GROUP BY status ORDER BY ALL"

MADE = """
SELECT printf('%08x-0000-4000-8000-%012x', hash(n) % 4294967296, n) AS id,
    printf('PAY-2026-%08d', n) AS payment_reference,
    if(n % 2 = 0, 'ON_RAMP', 'OFF_RAMP') AS ramp_type,
    if(n % 100 = 0, 'AWAITING_FUNDS', if(n % 7 = 0, 'CANCELLED', 'SUCCEEDED')) AS status,
    n % 100 = 0 AS is_open, 'EUR' AS fiat_currency,
    (((n * 7919) % 10000000) * 0.01::DECIMAL(3, 2))::DECIMAL(38, 18) AS fiat_amount,
    TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (n) SECOND AS created_at,
    true AS has_detail,
    printf('{"id":"%d","status":"SUCCEEDED","paymentReference":"PAY-2026-%08d"}', n, n) AS raw
FROM range($first, $last) AS t(n)
"""


def table(name: str) -> Table:
    return next(one for one in TABLES if one.name == name)


def shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        rows[f.name].cast(f.type) if f.name in rows.column_names else pa.nulls(len(rows), f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def requests(first: int, last: int) -> pa.Table:
    rows = duckdb.sql(MADE, params={"first": first, "last": last}).to_arrow_table()
    return shaped(rows, table("ramp_requests").row_schema)


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def summing(folder: Path, rows: int) -> None:
    lake = Lake(folder, TABLES)
    began = time.perf_counter()
    for first in range(0, rows, BATCH):
        with lake.writer("sync", START) as writer:
            writer.upsert(table("ramp_requests"), requests(first, min(first + BATCH, rows)))
    print(f"stored {rows:,} rows in {time.perf_counter() - began:,.0f} s")
    plain = folder / "plain.parquet"
    with lake.snapshot().connection() as reading:
        names = ", ".join(column.name for column in table("ramp_requests").columns)
        whole = reading.sql(f"SELECT {names}, raw FROM ramp_requests").to_arrow_reader(BATCH)
        with duckdb.connect() as writing:
            writing.register("whole", whole)
            writing.execute(f"COPY (FROM whole) TO '{plain}' (FORMAT parquet)")
    ours: list[float] = []
    theirs: list[float] = []
    snapshot = lake.snapshot()
    sides = (
        (ours, lambda: snapshot.sql(QUERY.format("ramp_requests"))),
        (theirs, lambda: duckdb.sql(QUERY.format(f"'{plain}'")).to_arrow_table()),
    )
    assert sides[0][1]().equals(sides[1][1]())
    for _ in range(ROUNDS):
        for seconds, run in sides:
            seconds.append(timed(run))
    mine, other = statistics.median(ours), statistics.median(theirs)
    print(f"lake         {mine * 1000:8.0f} ms  {len(snapshot.files('ramp_requests'))} files")
    print(f"one Parquet  {other * 1000:8.0f} ms")
    print(f"ratio of the medians, {rows:,} rows: {mine / other:.2f}")


def hourly(folder: Path, commits: int) -> None:
    lake = Lake(folder, TABLES, grace=timedelta(0))
    with lake.writer("sync", START) as writer:
        writer.upsert(table("ramp_requests"), requests(0, 10_000))
    wall: list[float] = []
    spent: list[float] = []
    quarter = max(commits // 4, 1)
    for number in range(1, commits + 1):
        moved, balance = changes_of_an_hour(number)
        began, before = time.perf_counter(), time.process_time()
        with lake.writer("sync", START + timedelta(hours=number)) as writer:
            writer.upsert(table("ramp_requests"), moved)
            writer.append(table("wallet_balances"), balance)
        wall.append(time.perf_counter() - began)
        spent.append(time.process_time() - before)
        if number % quarter == 0:
            shown(folder, number, wall[-quarter:], spent[-quarter:])
    few = min(200, max(commits // 3, 1))
    for what, seconds in (("wall", wall), ("processor", spent)):
        first, last = statistics.median(seconds[:few]), statistics.median(seconds[-few:])
        print(f"{what:<12} {first * 1000:.0f} ms a commit at first, {last * 1000:.0f} ms at last")
    print(f"slowest one  {max(wall) * 1000:.0f} ms")


def changes_of_an_hour(number: int) -> tuple[pa.Table, pa.Table]:
    """Return a changed request, two new requests and an observed balance."""
    place = 100 * (number % 100)
    moved = requests(place, place + 1)
    column = moved.column_names.index("payment_reference")
    moved = moved.set_column(column, "payment_reference", pa.array([f"CHANGED-{number}"]))
    fresh = requests(10_000 + 2 * number, 10_002 + 2 * number)
    seen = {"wallet_id": "w", "asset": "USDC", "observed_at": START, "raw": "{}"}
    balance = shaped(pa.Table.from_pylist([seen]), table("wallet_balances").row_schema)
    return pa.concat_tables([moved, fresh]), balance


def shown(folder: Path, number: int, wall: list[float], spent: list[float]) -> None:
    """Print the size of the lake, and the times of a commit and of opening the lake."""
    opening = timed(lambda: Lake(folder, TABLES).snapshot().sql("FROM wallet_balances LIMIT 1"))
    status = timed(lambda: lake_status(Lake(folder, TABLES)))
    files = [p for p in folder.rglob("*") if p.is_file()]
    parquet = [p for p in files if p.suffix == ".parquet" and "_delta_log" not in p.parts]
    size = sum(p.stat().st_size for p in files)
    print(
        f"after {number:>6,} commits of 3 requests and a balance: wall"
        f" {statistics.median(wall) * 1000:.0f}, processor {statistics.median(spent) * 1000:.0f} ms"
        f" a commit; {opening * 1000:.0f} ms from opening to the first rows,"
        f" {status * 1000:.0f} ms lake status; {len(parquet):,} Parquet files,"
        f" {len(files):,} in all, {size:,} bytes",
        flush=True,
    )


def health(folder: Path, rows: int) -> None:
    """Measure the check for damage and the repair, each in its own process."""
    lake = Lake(folder, TABLES)
    for first in range(0, rows, BATCH):
        with lake.writer("sync", START) as writer:
            writer.upsert(table("ramp_requests"), requests(first, min(first + BATCH, rows)))
    alone(look, folder, f"doctor, {rows:,} rows")
    (folder / "lake" / FILE_NAME).rename(folder / "lake" / "aside")
    alone(look, folder, "doctor without stored hashes of files")
    (folder / "lake" / "aside").rename(folder / "lake" / FILE_NAME)
    file = min(lake.snapshot().files("ramp_requests"), key=lambda path: Path(path).stat().st_size)
    Path(file).unlink()
    alone(mend, folder, "doctor --repair, one file lost")


def look(folder: Path) -> str:
    return f"{len(damages(Lake(folder, TABLES)))} damages"


def mend(folder: Path) -> str:
    return str(repair(Lake(folder, TABLES), START).tables[0])


def alone(run: Callable[[Path], str], folder: Path, about: str) -> None:
    """Run the function in a new process and print its time and peak memory."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=measured, args=(run, folder, answers))
    process.start()
    seconds, spent, memory, told = answers.get()
    process.join()
    print(f"{about}: {seconds:.1f} s, {spent:.1f} s of processor, {memory:,.0f} MB; {told}")


def measured(run: Callable[[Path], str], folder: Path, answers: Any) -> None:
    began = time.perf_counter()
    told = run(folder)
    seconds = time.perf_counter() - began
    status = Path("/proc/self/status").read_text("ascii")
    memory = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    answers.put((seconds, time.process_time(), memory, told))


def main(rows: int, commits: int, checked: int) -> None:
    for measure, count in ((summing, rows), (hourly, commits), (health, checked)):
        folder = Path(tempfile.mkdtemp(prefix="treasury-lake-"))
        try:
            if count:
                measure(folder, count)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:4]]
    main(*(given + [ROWS, COMMITS, CHECKED][len(given) :]))
