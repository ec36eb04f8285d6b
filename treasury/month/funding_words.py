"""The table of requests that wait for their funds, with the sentences written once per group.

A hundred thousand waiting requests differ in reference, amount and time, but hardly in their
sentences. The database groups them by every column that the sentences may depend on, `funding_rows`
writes the sentences for one request per group, and the table joins them to each request's own
columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, date, timedelta, tzinfo
from decimal import Decimal
from functools import partial
from itertools import chain, repeat
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.files.package_files import step_sql
from treasury.core.money import total
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import TEXT
from treasury.core.text import clean
from treasury.lake.snapshot import Snapshot
from treasury.matching.engine.pipeline import load
from treasury.matching.rules import Rules
from treasury.month.funding import ACCOUNT_CHANGED, FUNDING, funding_rows, remarks_by_request
from treasury.month.states import PAYABLE
from treasury.statements.pain.file_ids import FileIds
from treasury.statements.pain.order_answers import order_answer, stored_statuses
from treasury.statements.pain.status_tables import PAYMENT_STATUSES

READ_FOR_FUNDING: Final = ("funding", "open_debits")
"""The steps that supply the rows of the table."""
STORED_FOR_FUNDING: Final = (PAYMENT_STATUSES.name,)
"""The tables of the lake that are read in addition to the steps."""
_DAY: Final = timedelta(days=1)
"""A bank in another time zone may book a file's debit this long before the file's day."""
_ALIKE: Final = step_sql("treasury.month.queries", "funding_alike")
"""The query that groups requests by all columns that it does not list as a request's own."""
_SPOKEN_FOR: Final = """\
SELECT f.* FROM funding AS f JOIN funding_alike AS a ON a.spoken_for = f.request_id
"""
_TABLE: Final = step_sql("treasury.month.queries", "funding_table")
CHANGED_ACCOUNTS: Final = step_sql("treasury.month.queries", "changed_accounts")


def with_answers(
    connection: duckdb.DuckDBPyConnection, remarks: Mapping[str, dict[str, Any]], zone: tzinfo
) -> dict[str, dict[str, Any]]:
    """Return the remarks by request, each with `answers`, the bank's answers to its payments.

    `answers` has a pair per payment: the time at which its file was made, and the bank's answer or
    None. Times are in `zone`, in which bank days are counted. `debited` is the last day of a debit
    that may belong to one of the files and that no person has assigned yet. If no payment file has
    an id, the remarks are returned unchanged.
    """
    messages = {name for row in remarks.values() for name in row["order_messages"] or () if name}
    if not messages:
        return dict(remarks)
    by_message = stored_statuses(partial(duckdb_engine.rows, connection), messages)
    for status in chain.from_iterable(by_message.values()):
        if status["created_at"] is not None:
            status["created_at"] = status["created_at"].astimezone(zone)
    debited = debit_days(connection, remarks, messages)
    answered = {}
    for request, row in remarks.items():
        columns = (
            row[name] or () for name in ("orders_made", "order_messages", "order_references")
        )
        ordered = (row.get(name) or repeat(None) for name in ("order_amounts", "order_accounts"))
        names = row.get("payees_accepted") or repeat(())
        alone = row.get("rejections_alone") or repeat(False)
        orders = zip(zip(*columns, strict=True), *ordered, names, alone, strict=False)
        answers = [
            (
                made.astimezone(zone),
                order_answer(
                    by_message.get(message, ()),
                    message,
                    reference,
                    made=made,
                    amount=amount,
                    payee_iban=account or "",
                    accepted=accepted,
                    rejections_alone=is_alone,
                ),
            )
            for (made, message, reference), amount, account, accepted, is_alone in orders
        ]
        days = [debited[name] for name in row["order_messages"] or () if name in debited]
        answered[request] = {**row, "answers": answers, "debited": max(days, default=None)}
    return answered


def debit_days(
    connection: duckdb.DuckDBPyConnection,
    remarks: Mapping[str, Mapping[str, Any]],
    messages: AbstractSet[str],
) -> dict[str, date]:
    """Return for each payment file, by its id, the last day of a debit that may belong to it.

    A debit may belong to a file if it contains the id or parts of the id. A debit without a class
    may also belong to a file if it has exactly the file's total and is at most a day earlier than
    the file. A debit with a class does not belong to a file if it is smaller than each of the
    file's payments: banks name a file in the fees they charge for it.
    """
    ordered: dict[str, list[Decimal | None]] = {}
    made: dict[str, date] = {}
    for row in remarks.values():
        names = row["order_messages"] or ()
        amounts, days = row.get("order_amounts") or repeat(None), row["orders_made"] or ()
        for name, amount, at in zip(names, amounts, days, strict=False):
            if name:
                ordered.setdefault(name, []).append(amount)
                made[name] = min(made.get(name, at.date()), at.date())
    stated = {
        name: amounts
        for name, given in ordered.items()
        if len(amounts := [amount for amount in given if amount is not None]) == len(given)
    }
    sums = {name: total(amounts) for name, amounts in stated.items()}
    debited: dict[str, date] = {}
    file_ids = FileIds(messages)
    for line in connection.table("open_debits").order("booking_date").to_arrow_table().to_pylist():
        amount, day = line["amount"], line["booking_date"]
        alike = {
            name
            for name, expected in sums.items()
            if line["line_class"] is None and amount == expected and day >= made[name] - _DAY
        }
        for name in file_ids.named(line).perhaps | alike:
            least = min(stated.get(name, (Decimal(),)))
            if line["line_class"] is None or amount >= least:
                debited[name] = day
    return debited


def funding_table(
    connection: duckdb.DuckDBPyConnection,
    rules: Rules,
    today: date,
    remarks: pa.Table | None,
    zone: tzinfo = UTC,
) -> pa.Table:
    """Return the rows of `funding_rows` as a table with the columns of FUNDING.

    They are sorted by days overdue, longest first, then by currency and by amount, largest first.
    """
    by_request = with_answers(connection, remarks_by_request(remarks), zone)
    load(connection, {"funding_marked": pa.table({"request_id": pa.array(by_request, TEXT)})})
    connection.execute(f"CREATE OR REPLACE TEMP TABLE funding_alike AS {_ALIKE}")
    spoken_for: list[dict[str, Any]] = connection.sql(_SPOKEN_FOR).to_arrow_table().to_pylist()
    rows = funding_rows(spoken_for, rules, today, by_request)
    funding = pa.Table.from_pylist([msgspec.structs.asdict(row) for row in rows], schema=FUNDING)
    load(connection, {"funding_worded": funding})
    return connection.sql(_TABLE).to_arrow_table().cast(FUNDING)


def checked_account(row: Mapping[str, Any], paid: Mapping[str, str]) -> tuple[str, str]:
    """Return the state and next step of a row of FUNDING, with its account compared.

    `paid` has the account paid before, by the id of a request with another account
    (CHANGED_ACCOUNTS). A payable state is then ACCOUNT CHANGED. Both accounts are shown in full,
    because their last characters may be equal. If the request is marked as sent, its next step
    stays: to ask the colleague who marked it.
    """
    state, step = row["state"], row["next_step"]
    if row["request"] not in paid or state not in PAYABLE:
        return state, step
    if row["marked"]:
        return ACCOUNT_CHANGED, step
    return ACCOUNT_CHANGED, clean(
        f"Do not pay: the account was {paid[row['request']]} before, is {row['to_account']}; call"
        " the provider on a number you know; if it confirms the account, pay by hand and mark it as"
        " sent"
    )


def with_changed_accounts(rows: pa.Table, snapshot: Snapshot | None) -> pa.Table:
    """Return the rows; a request to an account other than the one paid before is not payable.

    `rows` have the columns of FUNDING. The state of the request is ACCOUNT CHANGED instead of a
    payable one, because money that is sent to a thief's account is lost. Closes hash the table
    without this state, so every list of what to pay adds it.
    """
    if snapshot is None or PAYABLE.isdisjoint(rows["state"].to_pylist()):
        return rows
    paid = {row["id"]: row["paid_account"] for row in snapshot.select(CHANGED_ACCOUNTS).to_pylist()}
    if not paid:
        return rows
    read = rows.select(["request", "state", "next_step", "to_account", "marked"]).to_pylist()
    states, steps = zip(*(checked_account(row, paid) for row in read), strict=True)
    for name, values in (("state", states), ("next_step", steps)):
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, TEXT))
    return rows
