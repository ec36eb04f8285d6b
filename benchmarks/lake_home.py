"""Benchmark of a lake's home, the folder that a team shares: a clone, and a pull of a small commit.

    python -m benchmarks.lake_home [ROWS] [CHANGED]

Pushes a lake with ROWS ramp requests to a folder, and clones it. The clone alternates with copying
the same files in three ways: with hashing and a sync to the disk, as a clone does; with a sync
only; and into the page cache only. This runs twice: with the home's files in the page cache, and
with the files only on the disk, as if the home were on another machine. Ratios are those of
medians; 1 means as fast as copying. Then a commit changes CHANGED rows, and another workspace pulls
it; the time is printed next to that of copying the same bytes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from benchmarks.lake import START, shaped, table
from treasury.core.files import durable
from treasury.extract import TABLES
from treasury.lake import Lake
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.sharing import Sharing
from treasury.lake.store.file_digests import digest_of

BATCH = 250_000
MADE = """
WITH drawn AS (
    SELECT n, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (n) SECOND AS created_at,
        (((n * 7919) % 10000000) * 0.01::DECIMAL(3, 2))::DECIMAL(18, 2) AS amount,
        list_transform(range(9), lambda k: regexp_replace(md5(concat(n, '-', k)),
            '(.{8})(.{4})(.{4})(.{4})(.{12})', '\\1-\\2-\\3-\\4-\\5')) AS ids
    FROM range($first, $last, $step) AS t(n)
), recorded AS (
    SELECT *, ids[1] AS id, printf('PAY-2026-%08d', n) AS payment_reference,
        if(n % 2 = 0, 'ON_RAMP', 'OFF_RAMP') AS ramp_type,
        if(n % 100 = 0, 'AWAITING_FUNDS', if(n % 7 = 0, 'CANCELLED', 'SUCCEEDED')) AS status,
        strftime(created_at, '%Y-%m-%dT%H:%M:%SZ') AS moment,
        concat('0x', md5(concat(n, 'a')), md5(concat(n, 'b'))) AS blockchain_transaction_hash
    FROM drawn
)
SELECT id, payment_reference, ramp_type, status, n % 100 = 0 AS is_open,
    amount::DECIMAL(38, 18) AS amount, amount::DECIMAL(38, 18) AS fiat_amount,
    amount::DECIMAL(38, 18) AS fiat_net_amount, amount::DECIMAL(38, 18) AS crypto_amount,
    'EUR' AS fiat_currency, 'USDC' AS crypto_currency, 'BASE' AS crypto_chain,
    'Harbour Lane Trading NV' AS company_name, ids[2] AS deposit_wallet_id,
    blockchain_transaction_hash, created_at, created_at AS updated_at,
    5 AS version, true AS has_detail,
    concat(
        '{"id":"', id, '","companyName":"Harbour Lane Trading NV","rampType":"', ramp_type,
        '","status":"', status, '","note":"', $mark, '","amount":', amount, ',"netAmount":', amount,
        ',"fiatAmount":', amount, ',"fiatNetAmount":', amount, ',"cryptoAmount":', amount,
        ',"paymentReference":"', payment_reference, '","createdAt":"', moment,
        '","companyBankAccount":{"companyName":"Harbour Lane Trading NV","bankName":"Test Bank NL"',
        ',"beneficiaryAddressLine1":"Kade 14","beneficiaryCity":"Ghent","beneficiaryCountry":"BE"',
        ',"bankAccountType":"EUR_SEPA","verificationStatus":"VERIFIED","iban":"NL05TEST0417164300"',
        '},"fiatCurrency":{"currency":"EUR","label":"Euro","enabled":true,"version":1}',
        ',"cryptoCurrency":{"currency":"USDC","chain":"BASE","label":"USD Coin","enabled":true}',
        ',"events":[', array_to_string(list_transform(range(5), lambda k: concat(
            '{"id":"', ids[k + 4], '","eventType":"STATUS_CHANGED"',
            ',"userId":"32876abe-75ac-4f91-a5d8-77c006c11a61"',
            ',"username":"maker","email":"maker@harbourlane.test","role":"COMPANY_MANAGER"',
            ',"createdAt":"', moment, '","version":', k, '}')), ','),
        '],"depositWallet":{"id":"', ids[2], '","address":"0x', md5(concat(n, 'c')),
        '","chain":"BASE","label":"Base deposits","isDefault":true,"version":2}',
        ',"blockchainTransactionHash":"', blockchain_transaction_hash, '","version":5}'
    ) AS raw
FROM recorded
"""
"""Records with 2 KB of JSON each, like the service's full bodies: most of a file is raw text with
identifiers."""

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
    """Wall-clock and processor seconds of a run."""

    wall: float
    processor: float


def timed(run: Callable[[], object]) -> Spent:
    began, worked = time.perf_counter(), time.process_time()
    run()
    return Spent(time.perf_counter() - began, time.process_time() - worked)


def median(runs: list[Spent]) -> Spent:
    return Spent(*(statistics.median(column) for column in zip(*runs, strict=True)))


def copied(names: list[str], source: Path, target: Path) -> None:
    """Copy files into the page cache."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def kept(names: list[str], source: Path, target: Path) -> None:
    """Copy files and sync them to the disk, as a pull does."""
    copied(names, source, target)
    durable.sync_files((target / name for name in names), target)


def compared(names: list[str], source: Path, target: Path) -> None:
    """Hash files, copy them, and sync the copies to the disk."""
    for name in names:
        digest_of(source / name)
    kept(names, source, target)


WAYS: Final = {
    "with hashes, to the disk": compared,
    "to the disk": kept,
    "into memory only": copied,
}


def forget(*folders: Path) -> None:
    """Drop the files in these folders from the page cache, so that they are read from the disk."""
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        descriptor = os.open(path, os.O_RDONLY)
        # Only pages already written to the disk can be dropped.
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def tell_clones(root: Path, lake: Lake, home: Path, rows: int, *, is_cold: bool) -> None:
    """Measure clones and copies alternately, and print the medians."""
    clones: list[Spent] = []
    copies: dict[str, list[Spent]] = {way: [] for way in WAYS}
    pulled = []
    names = list(sharing(lake).home.note().files)

    def clone() -> None:
        pulled.append(sharing(desk(root / "clone", home)).pull())

    for _ in range(ROUNDS):
        for spent, act in (
            (clones, clone),
            *((copies[way], partial(copy, names, lake.folder, root / "copy"))
              for way, copy in WAYS.items()),
        ):  # fmt: skip
            if is_cold:
                forget(lake.folder, home)
            spent.append(timed(act))
            for made in ("clone", "copy"):
                shutil.rmtree(root / made, ignore_errors=True)
    median_clone = median(clones)
    print(
        f"clone of {rows:,} requests, {pulled[0].size:,} bytes in {len(names)} files"
        f" {'only on the disk' if is_cold else 'in memory'}:"
        f" {median_clone.wall:.2f} s, {median_clone.processor:.2f} s of the processor"
    )
    for way, runs in copies.items():
        spent_copying = median(runs)
        print(
            f"copying the files {way}: {spent_copying.wall:.2f} s, {spent_copying.processor:.2f} s"
            f" of the processor; the clone goes at {spent_copying.wall / median_clone.wall:.2f} of"
            " that speed"
        )


def main(rows: int, changed: int) -> None:
    requests_table = table("ramp_requests")
    with tempfile.TemporaryDirectory() as created:
        root = Path(created)
        anna, home = desk(root / "anna", root / "home"), root / "home"
        for first in range(0, rows, BATCH):
            with anna.writer("sync", START) as writer:
                writer.upsert(requests_table, requests(first, min(first + BATCH, rows)))
        for is_cold in (False, True):
            tell_clones(root, anna, home, rows, is_cold=is_cold)
        ben = desk(root / "ben", home)
        sharing(ben).pull()
        pushes, pulls, copies = [], [], []
        for number in range(ROUNDS):
            known = sharing(anna).home.note().files
            picked = requests(0, rows, step=max(rows // changed, 1), mark=f"CHANGED {number}")

            def work() -> None:
                with anna.writer("sync", START + timedelta(days=1 + number)) as writer:  # noqa: B023
                    written = writer.upsert(requests_table, picked.slice(0, changed))  # noqa: B023
                    assert written.changed == changed, written

            pushes.append(timed(lambda: anna.again(work, "sync")))
            pulls.append(timed(sharing(ben).pull))
            moved = [n for n, f in sharing(anna).home.note().files.items() if known.get(n) != f]
            copies.append(timed(lambda: kept(moved, anna.folder, root / "moved")))  # noqa: B023
            size = sum((anna.folder / name).stat().st_size for name in moved)
        print(f"a commit of {changed:,} changed rows: {median(pushes).wall:.2f} s with its push")
        print(
            f"its pull: {median(pulls).wall:.2f} s for {size:,} bytes in {len(moved)} files;"
            f" copying those takes {median(copies).wall:.2f} s"
        )


if __name__ == "__main__":
    given = [int(text.replace("_", "")) for text in sys.argv[1:]]
    main(*(given + [ROWS, CHANGED][len(given) :]))
