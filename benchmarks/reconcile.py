"""Matching by reference, against what pandas needs for whole references alone on the same rows.

    python -m benchmarks.reconcile [ROWS]

Both sides get the same Arrow tables. Pandas does what an analyst would write by hand: `findall`
tokens, `explode`, `merge`. Each side runs in a process of its own, alternately; the ratio is of the
medians. The function does all its tiers, outcomes and allocations in that time.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa

ROWS = 100_000
ROUNDS = 3


def tables(rows: int) -> tuple[pa.Table, pa.Table]:
    """`rows` lines against `rows` requests: 95 in 100 with the whole reference somewhere."""
    random = Random(rows)
    codes = [f"PAY-2026-{n:07d}" for n in range(rows)]
    order = random.sample(range(rows), rows)
    texts = [
        f"Invoice {n} {codes[n]} thanks" if n % 20 else f"Invoice {n} without a reference"
        for n in order
    ]
    amounts = [Decimal(100 + n % 9973).scaleb(-2) for n in range(rows)]
    money = pa.decimal128(38, 18)
    first = date(2026, 10, 1)
    lines = pa.table(
        {
            "entry_id": [f"e{n}" for n in range(rows)],
            "account": ["NL05TEST0417164300"] * rows,
            "amount": pa.array([amounts[n] for n in order]).cast(money),
            "currency": ["EUR"] * rows,
            "direction": ["CRDT"] * rows,
            "booking_date": [first + timedelta(days=n % 31) for n in range(rows)],
            "remittance": texts,
            "counterparty_account": [f"LT{n % 50:018d}" for n in range(rows)],
        }
    )
    opened = datetime(2026, 9, 25, tzinfo=UTC)
    expectations = pa.table(
        {
            "expectation_id": [f"r{n}" for n in range(rows)],
            "kind": ["off_ramp"] * rows,
            "code": codes,
            "amount": pa.array(amounts).cast(money),
            "currency": ["EUR"] * rows,
            "direction": ["CRDT"] * rows,
            "opened_at": pa.array([opened] * rows, pa.timestamp("us", tz="UTC")),
            "status": ["SUCCEEDED"] * rows,
        }
    )
    return lines, expectations


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


def one(side: str, rows: int) -> None:
    lines, expectations = tables(rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    matched = SIDES[side](lines, expectations)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "matched": matched, "peak": peak, "before": before}))


def main(rows: int) -> None:
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    matched: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for _ in range(ROUNDS):
        for side in SIDES:
            command = [sys.executable, "-m", "benchmarks.reconcile", "--side", side, str(rows)]
            told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            seconds[side].append(told["seconds"])
            matched[side], peaks[side] = told["matched"], told["peak"]
    for side in SIDES:
        median = statistics.median(seconds[side])
        print(
            f"{side:<9} {median:7.2f} s  {rows / median:10,.0f} lines/s"
            f"  peak {peaks[side] / 1024:6,.0f} MB  {matched[side]:,} matched"
        )
    ratio = statistics.median(seconds["treasury"]) / statistics.median(seconds["pandas"])
    print(f"ratio of the medians, {rows:,} lines against {rows:,} requests: {ratio:.2f}")


if __name__ == "__main__":
    if "--side" in sys.argv:
        one(sys.argv[2], int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
