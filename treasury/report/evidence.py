"""What an answer rests on, as hashes: its tables, its rules, its query, the bank files behind it.

The hash of a table is that of its rows as canonical JSON, so it is the same wherever the same rows
are computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.reconcile.monthly import Reconciliation

__all__ = ["Fingerprint", "bank_files", "fingerprints", "table_hash"]

TABLES: Final = (
    "lines",
    "earlier_lines",
    "awaiting_funds",
    "virtual_accounts",
    "in_transit",
    "statements",
    "fee_requests",
    "fee_accruals",
    "fee_totals",
)
_STEP: Final = 10_000


class Fingerprint(msgspec.Struct, frozen=True):
    """One thing that the answer rests on. `rows` is None for what is not a table."""

    name: str
    rows: int | None
    sha256: str


def fingerprints(r: Reconciliation) -> tuple[Fingerprint, ...]:
    """Every table of the answer, then the query of the outcomes and the rules."""
    tables = [(name, getattr(r, name)) for name in TABLES]
    return (
        *(Fingerprint(name, table.num_rows, table_hash(table)) for name, table in tables),
        Fingerprint(
            "query of the outcomes", None, hashlib.sha256(r.matches.sql.encode()).hexdigest()
        ),
        Fingerprint("rules", None, r.matches.rules_hash),
    )


def bank_files(r: Reconciliation) -> list[str]:
    """The names of the bank files that the month's lines were read from."""
    return sorted({name for name in r.lines["file_name"].to_pylist() if name})


def table_hash(table: pa.Table) -> str:
    """SHA-256 of the rows in their order, a line each; a decimal counts without its idle zeros."""
    digest = hashlib.sha256(msgspec.json.encode(table.column_names))
    encoder = msgspec.json.Encoder()
    for batch in table.to_batches(max_chunksize=_STEP):
        digest.update(encoder.encode_lines(_plain(batch.to_pylist())))
    return digest.hexdigest()


def _plain(rows: Iterable[dict[str, Any]]) -> Iterable[list[Any]]:
    for row in rows:
        yield [_digits(v) if isinstance(v, Decimal) else v for v in row.values()]


def _digits(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
