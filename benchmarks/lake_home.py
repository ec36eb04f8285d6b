"""A lake's home: a clone beside copying the files, and a pull of a small commit into a large lake.

    python -m benchmarks.lake_home [ROWS] [CHANGED]

A desk with so many ramp requests is pushed to a folder. A clone of it is timed beside copying the
same files, in turns: with their hashes and brought to the disk, as a clone does; brought to the
disk alone; and copied alone, into the system's memory. A ratio is of the medians, and 1 is as quick
as the copying. Then so many rows change in a commit, and other desks pull it: the time is shown
beside that of copying the bytes that moved.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from benchmarks.lake import START, shaped, table
from treasury.extract import TABLES
from treasury.ground import durable
from treasury.lake import Lake
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.home.sharing import Sharing
from treasury.lake.upkeep.file_digests import digest_of

BATCH = 250_000
MADE = """
SELECT printf('%08x-0000-4000-8000-%012x', hash(n) % 4294967296, n) AS id,
    printf('PAY-2026-%08d', n) AS payment_reference,
    if(n % 2 = 0, 'ON_RAMP', 'OFF_RAMP') AS ramp_type,
    if(n % 100 = 0, 'AWAITING_FUNDS', if(n % 7 = 0, 'CANCELLED', 'SUCCEEDED')) AS status,
    n % 100 = 0 AS is_open, 'EUR' AS fiat_currency,
    (((n * 7919) % 10000000) * 0.01::DECIMAL(3, 2))::DECIMAL(38, 18) AS fiat_amount,
    TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (n) SECOND AS created_at,
    true AS has_detail,
    format('{{"id":"{}","status":"{}","paymentReference":"PAY-2026-{}","accountId":"{}",'
        '"beneficiary":{{"name":"{}","iban":"{}"}},"transactionHash":"0x{}{}","createdAt":"{}"}}',
        md5(n::VARCHAR), $mark, n, md5((n % 997)::VARCHAR), md5((n + 1)::VARCHAR),
        md5((n + 2)::VARCHAR), md5((n + 3)::VARCHAR), md5((n + 4)::VARCHAR), n) AS raw
FROM range($first, $last, $step) AS t(n)
"""
"""Records as the services give them: most of a file are the raw texts, full of identifiers."""

ROWS = 1_000_000
CHANGED = 1_000
ROUNDS = 5


def requests(first: int, last: int, *, step: int = 1, mark: str = "SUCCEEDED") -> pa.Table:
    given = {"first": first, "last": last, "step": step, "mark": mark}
    rows = duckdb.sql(MADE, params=given).to_arrow_table()
    return shaped(rows, table("ramp_requests").row_schema)


def desk(folder: Path, home: Path) -> Lake:
    return Lake(folder, TABLES, home=LakeHome(str(home), folder / "lake", environment="sandbox"))


def sharing(lake: Lake) -> Sharing:
    assert lake.sharing is not None
    return lake.sharing


class Spent(NamedTuple):
    """Seconds of a run: by the clock, and of the processor."""

    wall: float
    processor: float


def timed(run: Callable[[], object]) -> Spent:
    began, worked = time.perf_counter(), time.process_time()
    run()
    return Spent(time.perf_counter() - began, time.process_time() - worked)


def median(runs: list[Spent]) -> Spent:
    return Spent(*(statistics.median(column) for column in zip(*runs, strict=True)))


def copied(names: list[str], source: Path, target: Path) -> None:
    """Copy files, into the system's memory."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def kept(names: list[str], source: Path, target: Path) -> None:
    """Copy files and bring them to the disk, as a pull does."""
    copied(names, source, target)
    durable.sync_files((target / name for name in names), target)


def compared(names: list[str], source: Path, target: Path) -> None:
    """Copy files, hash them and bring them to the disk, one after the other."""
    for name in names:
        digest_of(source / name)
    kept(names, source, target)


WAYS: Final = {
    "with hashes, to the disk": compared,
    "to the disk": kept,
    "into memory alone": copied,
}


def main(rows: int, changed: int) -> None:
    requests_table = table("ramp_requests")
    with tempfile.TemporaryDirectory() as created:
        root = Path(created)
        anna, home = desk(root / "anna", root / "home"), root / "home"
        for first in range(0, rows, BATCH):
            with anna.writer("sync", START) as writer:
                writer.upsert(requests_table, requests(first, min(first + BATCH, rows)))
        clones: list[Spent] = []
        copies: dict[str, list[Spent]] = {way: [] for way in WAYS}
        sizes = []
        names = list(sharing(anna).home.note().files)
        for number in range(ROUNDS):
            ben = desk(root / f"ben-{number}", home)
            clones.append(timed(lambda: sizes.append(sharing(ben).pull().size)))  # noqa: B023
            for way, copy in WAYS.items():
                target = root / f"copy-{number}"
                copies[way].append(timed(lambda: copy(names, anna.folder, target)))  # noqa: B023
                shutil.rmtree(target)
        clone = median(clones)
        print(
            f"clone of {rows:,} requests, {sizes[0]:,} bytes in {len(names)} files:"
            f" {clone.wall:.2f} s, {clone.processor:.2f} s of the processor"
        )
        for way, runs in copies.items():
            spent = median(runs)
            print(
                f"copying the files {way}: {spent.wall:.2f} s, {spent.processor:.2f} s of the"
                f" processor; the clone goes at {spent.wall / clone.wall:.2f} of that speed"
            )

        step = max(rows // changed, 1)
        picked = requests(0, rows, step=step, mark="CHANGED").slice(0, changed)

        def work() -> None:
            with anna.writer("sync", START + timedelta(days=1)) as writer:
                found = writer.upsert(requests_table, picked)
                assert found.changed == changed, found

        push = timed(lambda: anna.again(work, "sync"))
        pulls, moved = [], 0
        for number in range(ROUNDS):
            ben = desk(root / f"ben-{number}", home)
            began = time.perf_counter()
            pulled = sharing(ben).pull()
            pulls.append(time.perf_counter() - began)
            moved = pulled.size
        new = [n for n in sharing(anna).home.note().files if n not in names]
        bytes_copied = timed(lambda: kept(new, anna.folder, root / "moved")).wall
        print(f"a commit of {changed:,} changed rows: {push.wall:.2f} s with its push")
        print(
            f"its pull: {statistics.median(pulls):.2f} s for {moved:,} bytes in {len(new)} files;"
            f" copying those takes {bytes_copied:.2f} s"
        )


if __name__ == "__main__":
    given = [int(text.replace("_", "")) for text in sys.argv[1:]]
    main(*(given + [ROWS, CHANGED][len(given) :]))
