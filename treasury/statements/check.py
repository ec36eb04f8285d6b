"""What bank files prove, statement by statement, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from treasury.lake import AMOUNT, BOOL, DATE, INTEGER, TEXT
from treasury.statements.read import Reading
from treasury.statements.values import account_number

__all__ = ["CHECKS", "check_statements"]

CHECKS: Final = pa.schema(
    [
        ("file_name", TEXT),
        ("format", TEXT),
        ("account", TEXT),
        ("currency", TEXT),
        ("sequence_number", INTEGER),
        ("opening_date", DATE),
        ("closing_date", DATE),
        ("opening_balance", AMOUNT),
        ("closing_balance", AMOUNT),
        ("entry_count", INTEGER),
        ("source", TEXT),
        ("proved", BOOL),
        ("proof", TEXT),
    ]
)
"""A row per statement; `source` is null for an account that is not declared."""


def check_statements(reading: Reading, declared: Mapping[str, str] | None = None) -> pa.Table:
    """What each statement proves, or what fails.

    With `declared` (account -> source) an account that is not among them fails too.
    """
    known = {account_number(k): v for k, v in (declared or {}).items()}
    rows = []
    for row in reading.statements.select([n for n in CHECKS.names if n != "source"]).to_pylist():
        row["source"] = known.get(row["account"] or "")
        if declared is not None and row["proved"] and row["source"] is None:
            row["proved"] = False
            row["proof"] = f"account {row['account']} is not declared; {row['proof']}"
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=CHECKS)
