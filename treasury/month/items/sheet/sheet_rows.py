"""The rows of the decision sheet: an open item's facts, its choices, and its hash.

The hash covers all facts in the row, and the last journal entry about the item. If one of them
changes, a choice made in the row is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import format_amount
from treasury.core.tables.column_texts import value_text
from treasury.core.text import clean
from treasury.core.wording import group_words
from treasury.journal.decision_history import NOT_UPLOADED, files_made
from treasury.journal.decision_log import Decided
from treasury.month.decisions.batch_debits import orders_paid
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON
from treasury.month.decisions.verdict_facts import expectation_facts, line_facts
from treasury.month.items.open_item import OpenItem
from treasury.month.items.open_items import OpenItems
from treasury.month.standing_knowledge import Knowledge
from treasury.statements.pain.file_ids import FileIds

_MOST_CANDIDATES: Final = 10
"""Maximum number of candidates of a line in a row."""
ACTS: Final = {
    "accept": "Accept",
    "accept_group": "Accept the group of equal payments",
    "reject": "Reject",
    "ignore": "Close: it belongs to nothing that is expected",
    "assign": "Hand to the owner who is named",
    "marked_sent": "Marked as sent",
    "will_not_fund": "Will not be funded",
    NOT_UPLOADED: "The payment file was not uploaded",
    "carry": "Carry past the close",
    "accept_carry": "Accept that it is carried",
}
"""The possible choices, with the words that a row's hash covers."""
_SHOWN_LABELS: Final = {ACTS["ignore"]: "Ignore: it belongs to nothing that is expected"}
"""The words on the sheet, if they differ from the label that is hashed."""
SHOWN_ACTS: Final = {act: _SHOWN_LABELS.get(label, label) for act, label in ACTS.items()}
"""The possible choices, with their words in the sheet."""
_REMARKS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("overdue", "to_pay", "check_bank", "coins_overdue", "coins_to_send", "returned",
         "rejected", "rejected_unproved", "account_changed"),
        ("marked_sent", "will_not_fund"),
    ),
    **dict.fromkeys(("deposit_inactive", "awaiting_approval"), ("will_not_fund",)),
    **dict.fromkeys(("in_file", "file_not_debited"), (NOT_UPLOADED,)),
}  # fmt: skip
"""The remarks that make sense for a request, by the kind of its item."""
_OF_ITEM: Final = (
    "item_id", "kind", "state", "name", "amount", "currency", "direction", "since", "due", "blocks",
    "request_id", "entry_id", "transfer_id", "remark", "proposed_by", "accepted_by", "owner",
    "expected_by",
)  # fmt: skip


class SheetChoice(msgspec.Struct, frozen=True):
    """A choice in a row: its label, its kind of decision (a key of ACTS), and its expectations.

    The label is part of the row's hash, so it stays the same when its words on the sheet change.
    """

    label: str
    act: str
    expectations: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The choice as current sheets show it; older sheets show the label."""
        return _SHOWN_LABELS.get(self.label, self.label)


class DecisionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row: an open item with its facts as text, its choices, and the hash of the row."""

    item: OpenItem
    bank_says: str
    candidates: str
    choices: tuple[SheetChoice, ...]
    seen: str


class _Matching(msgspec.Struct, frozen=True):
    """The matching of one line: its facts, its outcome, and its candidates, best first."""

    line: Mapping[str, Any]
    outcome: Mapping[str, Any]
    candidates: tuple[dict[str, Any], ...]


def decision_rows(
    items: OpenItems, knowledge: Knowledge, decided: Decided
) -> Mapping[str, DecisionRow]:
    """Return a row for each item by its id, in the order of the list."""
    lines = _lines(items, knowledge)
    groups = groups_until(items.month, knowledge)
    files = {
        file.message_id: file.name
        for made in files_made(decided.entries).values()
        for file in made
        if file.message_id
    }
    file_ids = FileIds(files)
    last = {entry.subject: entry.seq for entry in decided.entries}
    rows = {}
    for item in items:
        seen = lines.get(item.entry_id or "") if item.item_id == f"line:{item.entry_id}" else None
        choices = tuple(_choices(item, seen))
        group = groups.get(item.entry_id or "") if seen is not None else None
        if seen is not None:
            for message in sorted(file_ids.named(seen.line).whole):
                choices = (*_of_file(knowledge, decided, seen.line, files[message]), *choices)
        if group is not None:
            label = f"{ACTS['accept_group']}: {group_words(len(group))}"
            choices = (SheetChoice(label, "accept_group", (group[item.entry_id or ""],)), *choices)
        # The subjects by which journal entries refer to the item.
        subjects = (item.item_id, item.entry_id, item.request_id)
        shown = {
            "desk": [knowledge.question.company, knowledge.question.environment],
            "month": str(items.month),
            "item": {name: value_text(getattr(item, name)) for name in _OF_ITEM},
            "line": None if seen is None else line_facts(seen.line),
            "outcome": None if seen is None else [seen.outcome["outcome"], seen.outcome["reason"]],
            "candidates": [
                [
                    expectation_facts(candidate["record"]),
                    value_text(candidate["record"]["remaining"]),
                    candidate["reason"],
                ]
                for candidate in (() if seen is None else seen.candidates)
            ],
            "choices": choices,
            "decided": max(last.get(name, 0) for name in subjects if name),
        }
        if group is not None:
            shown["group"] = dict(group)
        rows[item.item_id] = DecisionRow(
            item=item,
            bank_says="" if seen is None else _bank_words(seen.line),
            candidates="" if seen is None else " | ".join(map(_candidate_words, seen.candidates)),
            choices=choices,
            seen=hashlib.sha256(msgspec.json.encode(shown)).hexdigest(),
        )
    return rows


def groups_until(month: Month, knowledge: Knowledge) -> Mapping[str, Mapping[str, str]]:
    """Return the groups of equal payments that are booked by the month's end."""
    groups = knowledge.matches.groups()
    lines = knowledge.line_rows(groups)
    return {
        name: group
        for name, group in groups.items()
        if all(lines[other]["booking_date"] <= month.last for other in group)
    }


def _lines(items: OpenItems, knowledge: Knowledge) -> Mapping[str, _Matching]:
    """Return the matching of the items' lines that need a person."""
    ids = [item.entry_id for item in items if item.entry_id and item.subject == "line"]
    candidates = knowledge.matches.candidates.arrow
    chosen = candidates.filter(pc.is_in(candidates["entry_id"], pa.array(ids, pa.string())))
    by_line: dict[str, list[dict[str, Any]]] = {}
    for row in chosen.sort_by([("rank", "ascending"), ("expectation_id", "ascending")]).to_pylist():
        by_line.setdefault(row["entry_id"], []).append(row)
    lines = {}
    for name, line in knowledge.line_rows(ids).items():
        outcome = knowledge.outcomes[name]
        if outcome["outcome"] not in NEEDS_A_PERSON:
            continue
        found = by_line.get(name, [])
        best = outcome["expectation_id"]
        if best is not None and all(row["expectation_id"] != best for row in found):
            # A referenced expectation is not a candidate if a fact contradicts it.
            found.insert(0, {"expectation_id": best, "reason": outcome["reason"]})
        lines[name] = _Matching(
            line,
            outcome,
            tuple(
                row | {"record": knowledge.expectation_rows[row["expectation_id"]]}
                for row in found[:_MOST_CANDIDATES]
            ),
        )
    return lines


def _choices(item: OpenItem, seen: _Matching | None) -> Iterator[SheetChoice]:
    """Yield the choices for an item; none if it cannot be decided in a sheet."""
    if seen is not None:
        names = _names([candidate["record"] for candidate in seen.candidates])
        for act in ("accept", "reject"):
            for name, candidate in zip(names, seen.candidates, strict=True):
                yield SheetChoice(f"{ACTS[act]}: {name}", act, (candidate["expectation_id"],))
        yield SheetChoice(ACTS["ignore"], "ignore")
        yield SheetChoice(ACTS["assign"], "assign")
    if item.subject == "request" and item.request_id:
        for mark in _REMARKS.get(item.kind, ()):
            yield SheetChoice(ACTS[mark], mark)
    if item.blocks == "until accepted" and not item.is_accepted:
        if item.proposed_by is not None:
            yield SheetChoice(ACTS["accept_carry"], "accept_carry")
        yield SheetChoice(ACTS["carry"], "carry")


def _of_file(
    knowledge: Knowledge, decided: Decided, line: Mapping[str, Any], name: str
) -> Iterator[SheetChoice]:
    """Yield the choice that a debit belongs to a payment file, if that is possible."""
    try:
        paid = orders_paid(
            knowledge, decided.entries, line["entry_id"], name, reason="", accepted=()
        )
    except (ActionRefused, InputError):
        # The debit does not fit the file, so it is decided like any other line.
        return
    yield SheetChoice(f"{ACTS['accept']}: payment file {clean(name)}", "accept", paid)


def _names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each record: its code, with the id if codes are equal."""
    codes = [clean(record["code"]) for record in records]
    return [
        code if code and codes.count(code) == 1 else f"{code} {record['expectation_id']}".strip()
        for code, record in zip(codes, records, strict=True)
    ]


def _candidate_words(candidate: Mapping[str, Any]) -> str:
    """Return a candidate with its expected amount and the reason for it."""
    record = candidate["record"]
    parts = [
        f"{_worth(record, 'amount')} expected",
        f"{_worth(record, 'remaining')} still open",
        clean(record["status"]),
    ]
    name = clean(record["code"] or record["expectation_id"])
    return f"{name}: {', '.join(filter(None, parts))}; {clean(candidate['reason'])}"


def _worth(record: Mapping[str, Any], name: str) -> str:
    amount: Decimal | None = record[name]
    return "any amount" if amount is None else format_amount(amount, record["currency"])


def _bank_words(line: Mapping[str, Any]) -> str:
    """Return the bank's details of a line, without its amount and counterparty name."""
    texts = (
        f"booked {line['booking_date']} on {clean(line['account'])}",
        clean(line["counterparty_account"]),
        clean(line["remittance"]),
        clean(line["creditor_reference"]),
        clean(line["end_to_end_id"]),
    )
    return "; ".join(filter(None, texts))
