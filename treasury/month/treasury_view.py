"""The tables of a month that SQL alone cannot make: with due dates, implied rates or sentences.

They are made from the rows of the SQL steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.tables.column_types import AMOUNT
from treasury.core.text import clean
from treasury.month.conversion import CONVERSIONS, Conversion, conversion_rows
from treasury.month.differences import DIFFERENCES, TELLERS, Today, difference_rows
from treasury.month.internal import INTERNAL_TRANSFERS, internal_transfer_rows
from treasury.month.question import Question

READ_FOR_VIEW: Final = (
    *TELLERS,
    "own_transfers",
    "account_transfers",
    "in_transit",
    "conversion_accounts",
    "conversion_intervals",
    "conversion_credits",
    "recorded_rates",
    "provider_coverage",
)
"""The steps that supply the rows of the tables."""

_Rows = list[dict[str, Any]]


def view_of(connection: duckdb.DuckDBPyConnection, question: Question) -> dict[str, pa.Table]:
    """Return a month's conversions, differences, own transfers and money in transit, by name.

    The steps READ_FOR_VIEW must have run on the connection.
    """
    month, zone, rules = question.month, question.zone, question.rules
    credit_rows = _rows(connection, "conversion_credits")
    proofs = conversions_of(connection, question, credit_rows)
    start, end = month.start(zone), month.end(zone)
    of_month = [
        row
        for row in proofs
        if (row.closed_at is None or row.closed_at > start)
        and (row.opened_at is None or row.opened_at < end)
    ]
    transfers = internal_transfer_rows(
        _rows(connection, "own_transfers"),
        _rows(connection, "account_transfers"),
        month=month,
        today=question.today,
        rules=rules,
    )
    today = Today(question.today, month.last, zone, rules)
    steps = {name: _rows(connection, name) for name in TELLERS}
    in_transit = connection.table("in_transit").to_arrow_table()
    return {
        "conversions": _table(of_month, CONVERSIONS),
        "differences": _table(difference_rows(steps, of_month, transfers, today), DIFFERENCES),
        "internal_transfers": _table(transfers, INTERNAL_TRANSFERS),
        "in_transit": _with_credits(in_transit, proofs, credit_rows, question),
    }


def conversions_of(
    connection: duckdb.DuckDBPyConnection, question: Question, credit_rows: _Rows | None = None
) -> list[Conversion]:
    """Return the conversions of all accounts in any month, and credits not converted yet.

    `credit_rows` are the rows of the step `conversion_credits`; they are read if it is None.
    """
    return conversion_rows(
        _rows(connection, "conversion_accounts"),
        _rows(connection, "conversion_intervals"),
        _rows(connection, "conversion_credits") if credit_rows is None else credit_rows,
        _rows(connection, "recorded_rates"),
        _rows(connection, "provider_coverage"),
        until=question.month.last,
        rules=question.rules,
        zone=question.zone,
    )


def _with_credits(
    in_transit: pa.Table,
    proofs: Iterable[Conversion],
    credits: _Rows,  # noqa: A002 - what a bank calls them
    question: Question,
) -> pa.Table:
    """Add the virtual accounts' credits that were certainly not converted at the month's end."""
    by_id = {(row["account_id"], row["asset"], row["entry_id"]): row for row in credits}
    end = question.month.end(question.zone)
    more: _Rows = []
    for proof in proofs:
        arrived = None
        if proof.state in {"proved", "proved_as_group"}:
            if proof.edge_credits or proof.opened_at is None or proof.opened_at < end:
                continue
            assert proof.closed_at is not None
            arrived = proof.closed_at.astimezone(question.zone).date()
        elif proof.state not in _WHERE_NOW:
            continue
        for entry in proof.entry_ids:
            credit = by_id[proof.account_id, proof.asset, entry]
            if credit["booking_date"] <= question.month.last:
                more.append(
                    {
                        "what": "virtual-account credit, not converted",
                        "reference": credit["reference"],
                        "left_on": credit["booking_date"],
                        "amount": credit["amount"],
                        "currency": credit["currency"],
                        "where_now": _WHERE_NOW.get(proof.state, "converted after month end"),
                        "arrived_on": arrived,
                    }
                )
    added = pa.Table.from_pylist(more, schema=in_transit.schema)
    table: pa.Table = pa.concat_tables([in_transit, added])
    return table.sort_by([(name, "ascending") for name in ("currency", "left_on", "reference")])


_WHERE_NOW = {
    "not_yet_credited": "service: not converted yet",
    "held_kyc": "service: held until the holder is verified (inferred)",
}


def _rows(connection: duckdb.DuckDBPyConnection, step: str) -> _Rows:
    return connection.table(step).to_arrow_table().to_pylist()


def _table(rows: Iterable[msgspec.Struct], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([msgspec.structs.asdict(row) for row in rows], schema=schema)


def booked_credits(ibans: pa.ChunkedArray, lines: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the number and sum of the month's credits of each virtual IBAN, matched or not."""
    booked = lines.filter(pc.equal(lines["direction"], "CRDT"))
    grouped = booked.select(["account", "amount"]).group_by("account")
    sums = grouped.aggregate([("amount", "count"), ("amount", "sum")]).to_pylist()
    by_account = {row["account"]: row for row in sums}
    by_iban = [by_account.get(iban, {}) for iban in ibans.to_pylist()]
    counts = [row.get("amount_count", 0) for row in by_iban]
    amounts = [row.get("amount_sum", Decimal(0)) for row in by_iban]
    return {
        "credits": pa.chunked_array([pa.array(counts, pa.int64())]),
        "amount": pa.chunked_array([pa.array(amounts, AMOUNT)]),
    }


def unread_statements(proofs: pa.Table) -> list[str]:
    """Return the accounts without statements up to the month's end, with the first missing day."""
    return [
        f"{clean(row['name'] or row['account'])} from {row['missing_from']:%-d %b}"
        for row in proofs.to_pylist()
        if not row["complete"] and row["missing_from"] is not None
    ]
