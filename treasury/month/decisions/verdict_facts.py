"""The facts of a decision as its author saw them, and later changes to these facts.

A decision about a bank line stays in force. If the line or the expectation changes later, the
change is shown with both values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from treasury.core.tables.column_texts import value_text
from treasury.core.text import service_code
from treasury.matching.rules import Rules

_LINE: Final = (
    "account",
    "amount",
    "currency",
    "direction",
    "booking_date",
    "counterparty_account",
)
_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance", "counterparty_name")
_EXPECTATION: Final = ("kind", "code", "amount", "currency", "direction", "account", "status")
_ABSENT: Final = {
    "line": "no statement contains the line any more",
    "request": "the record is gone",
}


def line_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts about a bank line that a decision stores; its texts are stored as a hash."""
    texts = msgspec.json.encode([row[name] for name in _TEXTS])
    return {name: value_text(row[name]) for name in _LINE} | {
        "texts": hashlib.sha256(texts).hexdigest()
    }


def expectation_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts about an expectation that a decision stores."""
    return {name: value_text(row[name]) for name in _EXPECTATION}


def contradicts(status: str | None, rules: Rules) -> bool:
    """Return whether a record in this status can no longer be paid."""
    return service_code((status or "").strip()) in rules.contradicting_codes


def moved(
    then: Mapping[str, Any],
    line: Mapping[str, str] | None,
    expectations: Mapping[str, Mapping[str, str]],
    rules: Rules,
) -> list[str]:
    """Return the facts that have changed, such as `amount was 100.00, is 120.00`.

    `then` are the facts that the decision stored. Statuses change often, so a status is returned
    only if the new one contradicts the decision.
    """
    moves = list(_differences(then.get("line") or {}, line, _ABSENT["line"]))
    for name, facts in (then.get("expectations") or {}).items():
        now = expectations.get(name)
        came_to_contradict = (
            now is not None
            and contradicts(now["status"], rules)
            and not contradicts(facts.get("status"), rules)
        )
        changes = [
            change
            for change in _differences(facts, now, _ABSENT["request"])
            if not change.startswith("status ") or came_to_contradict
        ]
        moves += [f"{facts.get('code') or name}: {change}" for change in changes]
    return moves


def _differences(
    then: Mapping[str, str], now: Mapping[str, str] | None, absent_words: str
) -> Iterable[str]:
    if now is None:
        yield absent_words
        return
    for name, value in then.items():
        if name == "texts" and value != now.get(name):
            yield "texts changed"
        elif value != now.get(name):
            yield f"{name} was {value or 'none'}, is {now.get(name) or 'none'}"
