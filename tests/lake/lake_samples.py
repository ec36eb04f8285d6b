"""Small lakes for tests, with tables of requests, wallets and observed balances."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT, BOOL, INSTANT, TEXT, TEXTS, Column
from treasury.lake import Lake, Table

REQUESTS = Table(
    "requests",
    (
        Column("id", TEXT, "the request"),
        Column("status", TEXT, "the service's word"),
        Column("is_open", BOOL, "whether it may still change"),
        Column("amount", AMOUNT, "what it is about"),
        Column("created_at", INSTANT, "when"),
    ),
    settles=True,
)
WALLETS = Table(
    "wallets",
    (Column("id", TEXT, "the wallet"), Column("notes", TEXTS, "free text")),
    volatile=("balances",),
)
BALANCES = Table(
    "balances",
    (Column("wallet_id", TEXT, "the wallet"), Column("total", AMOUNT, "seen")),
    key=(),
    kind="observations",
)
CATALOGUE = (REQUESTS, WALLETS, BALANCES)
START = datetime(2026, 11, 2, 8, tzinfo=UTC)
EXACT = Decimal("12345678901234567890.123456789012345678")


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def requests(**statuses: str) -> pa.Table:
    """Return one request per keyword: `a="OPEN"`; DONE is no longer open."""
    return pa.table(
        {
            "id": list(statuses),
            "status": list(statuses.values()),
            "is_open": [status != "DONE" for status in statuses.values()],
            "amount": pa.array([EXACT] * len(statuses), AMOUNT),
            "created_at": pa.array([START] * len(statuses), INSTANT),
            "raw": [json.dumps({"id": i, "status": s}) for i, s in statuses.items()],
        },
        schema=REQUESTS.row_schema,
    )


def wallets(**raws: Any) -> pa.Table:
    """Return one wallet per keyword, with that raw record."""
    rows = [{"id": i, "notes": ["a", None], "raw": json.dumps(r)} for i, r in raws.items()]
    return pa.Table.from_pylist(rows, schema=WALLETS.row_schema)


def balances(*totals: str) -> pa.Table:
    """Return one observed balance of the wallet `w` per total."""
    return pa.table(
        {"wallet_id": ["w"] * len(totals), "total": pa.array(map(Decimal, totals), AMOUNT)}
    )


KEPT = 6


def small_lake(folder: Path) -> Lake:
    """Return a lake that removes unused files every six commits, regardless of their age."""
    return Lake(folder, CATALOGUE, commits_kept=KEPT, grace=timedelta(0))


def copied_lake(workspace: Path, folder: Path) -> Lake:
    """Copy a workspace to `folder`, publish the views of its lake, and return the lake."""
    shutil.copytree(workspace, folder, dirs_exist_ok=True)
    lake = small_lake(folder)
    lake.publish()
    return lake


def put(lake: Lake, number: int, rows: pa.Table, **options: Any) -> Any:
    """Upsert requests in their own commit, on the day with that number."""
    with lake.writer("sync", day(number)) as writer:
        return writer.upsert(REQUESTS, rows, **options)


def statuses(snapshot: Any) -> dict[str, str]:
    rows = snapshot.sql("SELECT id, status FROM requests ORDER BY id").to_pylist()
    return {row["id"]: row["status"] for row in rows}


def content(lake: Lake) -> dict[str, Any]:
    """Return the rows of every table and history by name."""
    snapshot = lake.snapshot()
    names = [n for t in CATALOGUE for n in ([t.name, t.history] if t.records else [t.name])]
    return {n: snapshot.sql(f"SELECT * FROM {n} ORDER BY ALL").to_pylist() for n in names}
