"""Late items: facts about a closed month that became known later and post to an open month.

Late items are lines booked in a closed month that were added or withdrawn later, lines that a later
statement changed or left out, returns of payments of a closed month, and later decisions on its
lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal.chain import Entry
from treasury.journal.period_history import Period
from treasury.lake import changes
from treasury.month.decisions.corrections import late_decisions, posted_to
from treasury.month.standing_knowledge import Knowledge

LATE_ITEMS: Final = grouped_schema(
    (TEXT, "change", "entry_id", "month", "posts_to"),
    (INSTANT, "known_from"),
    (DATE, "booking_date"),
    (TEXT, "account", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "outcome", "what", "original_id"),
    (INSTANT, "closed_at"),
    (INTEGER, "close_entry"),
)
"""One row per late item. `posts_to` is the open month to which it posts.

`month` is the closed month of the line, or of the returned payment; `close_entry` is the journal
entry of its close. `change` is `new`, `changed`, `gone`, `returned` (`original_id` came back) or
`decided`.
"""

_FIELDS: Final = frozenset(
    {
        "amount", "currency", "direction", "booking_date", "remittance", "structured_references",
        "end_to_end_id", "counterparty_name", "counterparty_account",
    }
)  # fmt: skip
_OF_LINE: Final = ("entry_id", "booking_date", "direction", "amount", "currency")
_SUPERSEDED: Final = ("entry_status", "SUPERSEDED")


def late_items(
    knowledge: Knowledge, closed: Mapping[str, Period], entries: Iterable[Entry]
) -> pa.Table:
    """Return every late item, by month and time of knowledge; columns as in LATE_ITEMS."""
    if not closed:
        return LATE_ITEMS.empty_table()
    rows = [
        *_net(_since_close(knowledge, closed)),
        *_returned(knowledge, closed),
        *(
            _row(knowledge, each.line, closed[each.month], closed, each.at)
            | {"change": "decided", "what": each.summary, "posts_to": each.posts_to}
            for each in late_decisions(knowledge, closed, entries)
        ),
    ]
    rows.sort(key=lambda row: (row["month"], row["known_from"], row["entry_id"], row["change"]))
    return pa.Table.from_pylist(rows, schema=LATE_ITEMS)


def _since_close(knowledge: Knowledge, closed: Mapping[str, Period]) -> Iterable[dict[str, Any]]:
    """Yield the lines of closed months that were added, changed or removed since their close."""
    first = min(period.close.known_at for period in closed.values())
    changed_fields: dict[tuple[str, datetime], list[dict[str, Any]]] = {}
    for change in changes(knowledge.snapshot, "statement_entries", first).to_pylist():
        changed_fields.setdefault((change["entry_id"], change["changed_at"]), []).append(change)
    entries = _entries(knowledge, {entry for entry, _ in changed_fields})
    for (entry, at), fields in changed_fields.items():
        row = entries.get(entry)
        period = None if row is None else closed.get(str(Month.of(row["booking_date"])))
        if row is None or period is None or at <= period.close.known_at:
            continue
        change, words = _change_words(fields)
        if change:
            yield _row(knowledge, row, period, closed, at) | {"change": change, "what": words}


def _net(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the net change of each line in the month that it posts to.

    A line is added and removed alternately. After an even number of changes it is as it was; after
    an odd number the last change is the difference.
    """
    moves: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["known_from"], row["entry_id"])):
        if row["change"] == "changed":
            yield row
        else:
            moves.setdefault((row["entry_id"], row["posts_to"]), []).append(row)
    yield from (of_one[-1] for of_one in moves.values() if len(of_one) % 2)


def _change_words(fields: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the kind of a change, and its words; both are empty if no item is needed."""
    if any(field["change"] == "new" for field in fields):
        return "new", "arrived after the close"
    if any(field["change"] == "back" for field in fields):
        return "new", "its statement had been withdrawn and was added again"
    if any(field["change"] == "vanished" for field in fields):
        return "gone", "its statement was withdrawn"
    if any((field["field"], field["after"]) == _SUPERSEDED for field in fields):
        return "gone", "a later statement does not contain it"
    if any((field["field"], field["before"]) == _SUPERSEDED for field in fields):
        return "new", "a later statement contains it again"
    changed = [
        f"{field['field']} was {field['before']}, is {field['after']}"
        for field in fields
        if field["field"] in _FIELDS
    ]
    return ("changed", "; ".join(changed)) if changed else ("", "")


def _returned(knowledge: Knowledge, closed: Mapping[str, Period]) -> Iterable[dict[str, Any]]:
    """Yield the returns of closed months' payments; the returns themselves post to open months."""
    pairs = knowledge.returns.select(["return_id", "original_id"]).to_pylist()
    ids = {name for pair in pairs for name in pair.values()}
    lines = knowledge.line_rows(ids)
    since = knowledge.known_from(ids)
    for pair in pairs:
        back, original = lines[pair["return_id"]], lines[pair["original_id"]]
        home = closed.get(str(_posted(original, since, closed)))
        posts_to = _posted(back, since, closed)
        if home is not None and str(posts_to) not in closed:
            row = _row(knowledge, back, home, closed, since[back["entry_id"]])
            yield row | {
                "change": "returned",
                "what": f"brings back the payment of {original['booking_date']}",
                "original_id": pair["original_id"],
                "posts_to": str(posts_to),
            }


def _posted(
    row: Mapping[str, Any], since: Mapping[str, datetime], closed: Mapping[str, Period]
) -> Month:
    return posted_to(row["booking_date"], since.get(row["entry_id"]), closed)


def _row(
    knowledge: Knowledge,
    row: Mapping[str, Any],
    period: Period,
    closed: Mapping[str, Period],
    at: datetime,
) -> dict[str, Any]:
    outcome = knowledge.outcomes.get(row["entry_id"])
    return {name: row[name] for name in _OF_LINE} | {
        "month": period.month,
        "posts_to": str(posted_to(row["booking_date"], at, closed)),
        "known_from": at,
        "account": row.get("statement_account") or row["account"],
        "outcome": outcome and outcome["outcome"],
        "original_id": None,
        "closed_at": period.closed_at,
        "close_entry": period.entry.seq,
    }


def _entries(knowledge: Knowledge, ids: set[str]) -> dict[str, dict[str, Any]]:
    """Return the lines with these ids on our own accounts, as they are now, superseded or not."""
    rows = knowledge.snapshot.select(
        step_sql("treasury.close.steps", "entries_of_ids"), {"ids": sorted(ids)}
    ).to_pylist()
    own_accounts = {plain_account(account.account) for account in knowledge.question.accounts}
    return {row["entry_id"]: row for row in rows if plain_account(row["account"]) in own_accounts}
