"""Tables of bank statements: one row per statement, one per movement on an account.

The columns are declared in columns.csv in the terms of ISO 20022; the source of a column is an XML
element, relative to `Stmt` (or `Rpt`, `Ntfctn`), `Ntry` or `TxDtls`. Readers of other formats fill
the same columns.
"""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import columns_of
from treasury.lake import Table

COUNTING: Final = "vanished_at IS NULL"
"""SQL condition for stored statements and movements that were not withdrawn."""

STATEMENTS: Final = Table(
    name="statements",
    key=("statement_id",),
    title="Bank statements, each with the proof of its balances",
    columns=columns_of("treasury.statements", "statements"),
)

STATEMENT_ENTRIES: Final = Table(
    name="statement_entries",
    key=("entry_id",),
    title="Movements on bank accounts, one row per transaction detail",
    columns=columns_of("treasury.statements", "statement_entries"),
)

BALANCE_CONFIRMATIONS: Final = Table(
    name="balance_confirmations",
    key=("confirmation_id",),
    title="Balances of bank accounts that a person stated, for days without a statement",
    columns=columns_of("treasury.statements", "balance_confirmations"),
)

TABLES: Final = (STATEMENTS, STATEMENT_ENTRIES, BALANCE_CONFIRMATIONS)
