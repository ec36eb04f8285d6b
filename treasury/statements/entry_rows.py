"""Rows of statements and entries that every reader creates, and their conversion to Arrow.

The fields are the columns declared in `statement_tables`, and `raw`, the text as received.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import BOOL, TEXTS
from treasury.lake import Table
from treasury.statements.arrow_columns import column
from treasury.statements.statement_tables import STATEMENT_ENTRIES, STATEMENTS

BATCH: Final = 1024
"""Number of rows of a file in memory at a time."""


class Problem(msgspec.Struct, frozen=True):
    """A note for people about a file; `position` is empty if the note is about the whole file."""

    file_name: str
    position: str
    what: str
    line: int | None = None

    def __str__(self) -> str:
        at = f" line {self.line}" if self.line else ""
        place = f" {self.position}" if self.position else ""
        return f"{self.file_name}{at}{place}: {self.what}"


class StatedColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a statement that are known before its movements are read."""

    file_name: str
    format: str
    message_id: str | None = None
    bank_statement_id: str | None = None
    sequence_number: int | None = None
    account: str | None = None
    account_name: str | None = None
    servicer_bic: str | None = None
    currency: str | None = None
    from_date: date | None = None
    to_date: date | None = None
    created_at: datetime | None = None


class StatementRow(StatedColumns, frozen=True, kw_only=True):
    """A statement that was read; columns.csv explains each field."""

    statement_id: str
    file_sha256: str
    opening_balance: Decimal | None = None
    opening_date: date | None = None
    closing_balance: Decimal | None = None
    closing_date: date | None = None
    balances: Sequence[str] = ()
    entry_count: int = 0
    credit_total: Decimal = Decimal(0)
    debit_total: Decimal = Decimal(0)
    proved: bool = False
    proof: str = ""
    doubt: str | None = None
    added_at: datetime | None = None
    movements_hash: str | None = None
    rivals: Sequence[str] | None = None
    raw: str = ""


class EntryRow(msgspec.Struct, kw_only=True, gc=False):
    """A movement that was read; columns.csv explains each field.

    It is not frozen, because its ids are computed after all other values.
    """

    entry_id: str = ""
    statement_id: str = ""
    ordinal: int = 0
    position: str = ""
    account: str | None = None
    entry_reference: str | None = None
    account_servicer_reference: str | None = None
    message_id: str | None = None
    payment_information_id: str | None = None
    instruction_id: str | None = None
    end_to_end_id: str | None = None
    transaction_id: str | None = None
    uetr: str | None = None
    mandate_id: str | None = None
    amount: Decimal | None = None
    currency: str | None = None
    direction: str = ""
    entry_status: str | None = None
    is_reversal: bool = False
    is_twin: bool = False
    booking_date: date | None = None
    value_date: date | None = None
    balance_after: Decimal | None = None
    remittance: Sequence[str] = ()
    structured_references: Sequence[str] = ()
    additional_information: str | None = None
    counterparty_name: str | None = None
    counterparty_account: str | None = None
    counterparty_agent: str | None = None
    debtor_name: str | None = None
    debtor_account: str | None = None
    debtor_agent: str | None = None
    creditor_name: str | None = None
    creditor_account: str | None = None
    creditor_agent: str | None = None
    ultimate_debtor_name: str | None = None
    ultimate_creditor_name: str | None = None
    bank_transaction_code: str | None = None
    proprietary_code: str | None = None
    return_reason: str | None = None
    original_end_to_end_id: str | None = None
    charges_amount: Decimal | None = None
    charges_currency: str | None = None
    instructed_amount: Decimal | None = None
    instructed_currency: str | None = None
    source_currency: str | None = None
    target_currency: str | None = None
    exchange_rate: Decimal | None = None
    inferred: Sequence[str] = ()
    file_name: str = ""
    raw: str = ""


def entry_batches(rows: Iterable[EntryRow]) -> Iterator[pa.RecordBatch]:
    """Yield the rows as Arrow batches with the columns of `statement_entries` and `raw`."""
    following = iter(rows)
    while batch := list(islice(following, BATCH)):
        yield _batch(STATEMENT_ENTRIES, batch)


def column_batch(parts: Sequence[Mapping[str, Sequence[Any]]]) -> pa.RecordBatch:
    """Return a batch from parts, each a map of columns to values.

    A column that a part lacks is null there, or false or an empty list according to its type.
    """
    schema = STATEMENT_ENTRIES.row_schema
    counts = [len(part["entry_id"]) for part in parts]
    arrays = [_joined(parts, counts, field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _joined(
    parts: Sequence[Mapping[str, Sequence[Any]]], counts: Sequence[int], field: pa.Field
) -> pa.Array:
    empty = _EMPTY.get(field.type)
    if empty is None and not any(field.name in part for part in parts):
        return pa.nulls(sum(counts), field.type)
    columns = [
        part.get(field.name) or [empty] * count for part, count in zip(parts, counts, strict=True)
    ]
    values = columns[0] if len(columns) == 1 else list(chain.from_iterable(columns))
    return column(values, field.type)


_EMPTY: Final[dict[pa.DataType, object]] = {TEXTS: (), BOOL: False}


def statement_table(rows: Sequence[StatementRow]) -> pa.Table:
    """Return the rows as an Arrow table with the columns of `statements` and `raw`."""
    return pa.Table.from_batches([_batch(STATEMENTS, rows)])


def _batch(table: Table, rows: Sequence[msgspec.Struct]) -> pa.RecordBatch:
    schema = table.row_schema
    values = map(attrgetter(*schema.names), rows)
    columns = zip(*values, strict=True) if rows else [()] * len(schema.names)
    arrays = [column(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
