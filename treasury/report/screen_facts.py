"""The facts of the first screen as rows: what the screen says in words, for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from treasury.close.closing import Closing
from treasury.close.month_proof import in_transit, proof_of
from treasury.lake import AMOUNT, INTEGER, TEXT
from treasury.money import total

__all__ = ["FACTS", "screen_facts"]

FACTS: Final = pa.schema(
    [
        ("month", TEXT),
        ("fact", TEXT),
        ("name", TEXT),
        ("items", INTEGER),
        ("amount", AMOUNT),
        ("coming", AMOUNT),
        ("going", AMOUNT),
        ("currency", TEXT),
        ("turn", TEXT),
        ("blocking", INTEGER),
        ("oldest", INTEGER),
        ("clock", TEXT),
        ("command", TEXT),
    ]
)
"""`fact` is the line of the screen; `items` counts, `blocking` are those that block the close.

`amount` is empty where some of it comes in and some goes out: `coming` and `going` are its parts.
"""


def screen_facts(closing: Closing) -> pa.Table:
    """Statements, bank lines, open items, money in transit, fees and the close; as in FACTS."""
    month = str(closing.r.month)
    rows = [{"month": month, **row} for row in _facts(closing)]
    return pa.Table.from_pylist(rows, schema=FACTS)


def _facts(closing: Closing) -> Iterator[dict[str, Any]]:
    r, proof = closing.r, proof_of(closing.r)
    yield {"fact": "statements", "name": "accounts", "items": proof.accounts}
    yield {"fact": "statements", "name": "proved", "items": proof.proved}
    for outcome, lines in r.counts().items():
        yield {"fact": "bank lines", "name": outcome, "items": lines}
    for group in closing.items.groups:
        yield {
            "fact": "open",
            "name": group.words.name,
            "items": group.items,
            "amount": group.amount,
            "coming": group.coming,
            "going": group.going,
            "currency": group.currency or None,
            "turn": group.turn,
            "blocking": group.blocking,
            "oldest": group.oldest,
            "clock": group.clock,
            "command": group.words.command,
        }
    if not closing.is_unread:
        yield from _money(closing)
    state = "closed" if closing.period is not None else "open"
    blocking = len(closing.items.blocking)
    yield {"fact": "close", "name": state, "items": len(closing.items), "blocking": blocking}


def _money(closing: Closing) -> Iterator[dict[str, Any]]:
    sure, maybe = in_transit(closing.r)
    for name, rows in (("sure", sure), ("may have arrived", maybe)):
        for currency in sorted({row["currency"] for row in rows}):
            amounts = [row["amount"] for row in rows if row["currency"] == currency]
            stated = [amount for amount in amounts if amount is not None]
            yield {
                "fact": "in transit",
                "name": name,
                "items": len(amounts),
                "amount": total(stated) if stated else None,
                "currency": currency,
            }
    for sums in closing.fees.by_currency():
        yield {
            "fact": "fees",
            "name": "completed requests",
            "items": sums.requests,
            "amount": sums.fee,
            "currency": sums.currency,
        }
