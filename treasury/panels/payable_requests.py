"""Requests that wait for funds, with the deposit details from the service.

Details are shown only for requests that may be paid. They are hidden if the request is not
approved, if the bank may already show the payment, if a colleague marked it as sent, or if the
details are inactive at the service. Every detail is compared with the details of the last payment,
because money paid to a changed account can be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from treasury.core.files.package_files import package_rows, step_sql
from treasury.core.identifiers import plain_account
from treasury.core.tables.column_types import TEXT
from treasury.core.text import clean
from treasury.lake import Snapshot
from treasury.month.states import PAYABLE
from treasury.panels.frames.query_pages import ArrowTables, QuerySource

_DETAILS: Final = package_rows("treasury.panels", "deposit_details.csv")
DETAILS: Final = {row["column"]: row["name"] for row in _DETAILS}
"""Every column of the deposit details, and its name on screen."""
SHOWN_DETAILS: Final = {
    row["column"]: "" if row["use"] == "shown" else row["name"]
    for row in _DETAILS
    if row["use"] != "compared"
}
"""The label of each detail's Copy button; empty for a bank's name, which no form asks for."""
_ACCOUNTS: Final = frozenset(row["column"] for row in _DETAILS if row["use"] == "account")
_COLUMNS: Final = ", ".join(DETAILS)


def _query(name: str, **parts: str) -> str:
    """Return a query with the declared columns filled in."""
    return step_sql("treasury.panels.queries", name).format(columns=_COLUMNS, **parts)


def _packed(alias: str) -> str:
    return "{" + ", ".join(f"'{name}': {alias}.{name}" for name in DETAILS) + "}"


_WORDED: Final = pa.schema([("id", TEXT), ("words", TEXT)])
_OPEN: Final = _query("open_details")
_PAID: Final = _query("paid_details")
_BEFORE: Final = _query("first_details")
_CHANGED: Final = f"""\
SELECT was, now, name, list(id) AS ids
FROM (
    SELECT o.id, {_packed("b")} AS was, {_packed("o")} AS now, NULL AS name
    FROM open AS o JOIN before AS b ON b.id = o.id
    UNION ALL
    SELECT o.id, {_packed("p")}, {_packed("o")}, coalesce(p.name, '')
    FROM open AS o JOIN paid AS p ON p.ramp_type = o.ramp_type AND p.line = o.line
)
WHERE was IS DISTINCT FROM now
GROUP BY was, now, name
"""  # noqa: S608 - declared column names
_TABLE: Final = _query(
    "payable_requests",
    details=", ".join(f"CASE WHEN w.payable THEN o.{name} END AS {name}" for name in DETAILS),
)


def payable_table(waiting: pa.Table, source: QuerySource | Snapshot) -> pa.Table:
    """Return the rows of `waiting` (columns of FUNDING) with deposit details, in order.

    Adds the columns of DETAILS (null for requests that must not be paid), `asset`, `payable`,
    `differs` (how the details differ from those of the last payment, or from their first values),
    `first_time` (no payment to these details before) and `number` (the position of the row).
    """
    numbers = pa.array(range(waiting.num_rows), pa.int64())
    tables = ArrowTables(
        waiting=waiting.append_column("number", numbers),
        open=source.sql(_OPEN),
        paid=source.sql(_PAID),
        before=source.sql(_BEFORE),
        payable_states=pa.table({"state": sorted(PAYABLE)}),
    )
    # The changes of each request, and since when. A change from the first details comes first, and
    # is said once if the details paid last were the same.
    since: dict[str, dict[str, list[str]]] = {}
    compared = tables.sql(_CHANGED).to_pylist()
    for row in sorted(compared, key=lambda row: row["name"] is not None):
        when = "we first saw it" if row["name"] is None else f"{clean(row['name'])} was paid"
        # There is no change if only blanks differ.
        changes = changed_details(row["was"], row["now"])
        for request in row["ids"]:
            for change in changes:
                since.setdefault(request, {}).setdefault(change, []).append(when)
    words = {
        request: "; ".join(f"{change}, since {' and '.join(whens)}" for change, whens in of.items())
        for request, of in since.items()
    }
    tables.add(worded=pa.table({"id": [*words], "words": [*words.values()]}, schema=_WORDED))
    return tables.sql(_TABLE)


def changed_details(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return `IBAN was LT35…, is LT99…` for each changed detail; blanks in accounts are ignored."""
    return [
        f"{name} was {_detail_text(was[column])}, is {_detail_text(now[column])}"
        for column, name in DETAILS.items()
        if _plain(column, was[column]) != _plain(column, now[column])
    ]


def _detail_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(None if value is None else str(value)) or "not given"


def _plain(column: str, value: object) -> str:
    text = "" if value is None else str(value)
    return plain_account(text) if column in _ACCOUNTS else text
