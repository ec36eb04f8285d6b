"""How far the statements of an account reach: the days that a chain of proved statements covers.

That a payment was not made can only be said for covered days. The next statement continues a chain
if it overlaps it, or opens with the balance that the chain closed with and does not skip one: days
without a statement are a weekend, or the bank's counter shows that none is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.lake import DATE, INTEGER, TEXT, TEXTS
from treasury.money import format_amount
from treasury.statements.values import account_number

__all__ = ["COVERAGE", "coverage"]

COVERAGE: Final = pa.schema(
    [
        ("account", TEXT),
        ("source", TEXT),
        ("currency", TEXT),
        ("covered_from", DATE),
        ("covered_to", DATE),
        ("statements", INTEGER),
        ("not_proved", INTEGER),
        ("gaps", TEXTS),
    ]
)
"""A row per account; the days are those of the latest unbroken chain, the gaps lie before it, or
after it up to yesterday."""

_LONGEST_WEEKEND: Final = 5  # Thursday before Easter to the Tuesday after

_NEEDED: Final = (
    "account", "currency", "from_date", "to_date", "opening_date", "closing_date",
    "opening_balance", "closing_balance", "proved", "sequence_number", "format",
)  # fmt: skip


class _Span(msgspec.Struct, frozen=True):
    """What one proved statement, or a chain of them, covers."""

    start: date
    end: date
    opening: Decimal
    closing: Decimal
    currency: str
    sequence: int | None


def coverage(
    statements: pa.Table,
    declared: Mapping[str, str],
    *,
    known: Iterable[str] = (),
    today: date | None = None,
) -> pa.Table:
    """Per declared account (account -> source), how far its proved statements reach.

    `statements` is the lake's table of that name. Accounts with statements that are not declared
    come last, with no source, as do the `known` ones. With `today` the days up to yesterday that no
    statement has yet are named too.
    """
    by_account: dict[str, list[dict[str, object]]] = {}
    for row in statements.select(list(_NEEDED)).to_pylist():
        by_account.setdefault(row["account"] or "", []).append(row)
    sources = {account_number(account): source for account, source in declared.items()}
    others = {account_number(account) for account in known}
    strangers = sorted((by_account.keys() | others) - sources.keys())
    rows = [
        _account(account, sources.get(account), by_account.get(account, []), today)
        for account in (*sources, *strangers)
    ]
    return pa.Table.from_pylist(rows, schema=COVERAGE)


def _account(
    account: str, source: str | None, rows: list[dict[str, object]], today: date | None
) -> dict[str, object]:
    spans = sorted(filter(None, map(_span, rows)), key=lambda s: (s.start, s.end, s.sequence or 0))
    chain, gaps = _chain(spans)
    if today is not None:
        gaps += _since(chain, today)
    currencies = sorted({str(row["currency"]) for row in rows if row["currency"]})
    return {
        "account": account,
        "source": source,
        "currency": ", ".join(currencies) or None,
        "covered_from": chain.start if chain else None,
        "covered_to": chain.end if chain else None,
        "statements": len(rows),
        "not_proved": sum(not row["proved"] for row in rows),
        "gaps": gaps,
    }


def _since(chain: _Span | None, today: date) -> list[str]:
    """What is missing after the last statement: whole days only, today's is not over."""
    if chain is None:
        return ["no proved statement"]
    first, last = chain.end + timedelta(days=1), today - timedelta(days=1)
    return [f"{first} to {last}: no statement yet"] if first <= last else []


def _span(row: dict[str, object]) -> _Span | None:
    start = row["from_date"] or row["opening_date"]
    end = row["to_date"] or row["closing_date"]
    opening, closing = row["opening_balance"], row["closing_balance"]
    if not row["proved"] or not isinstance(end, date):
        return None
    assert isinstance(opening, Decimal)
    assert isinstance(closing, Decimal)
    begin = start if isinstance(start, date) else end
    sequence = row["sequence_number"]
    counter = sequence if isinstance(sequence, int) else None
    return _Span(begin, end, opening, closing, str(row["currency"]), counter)


def _chain(spans: Iterable[_Span]) -> tuple[_Span | None, list[str]]:
    """The latest unbroken chain, and what separates it from the ones before."""
    chain: _Span | None = None
    gaps: list[str] = []
    for span in spans:
        if chain is None:
            chain = span
        elif span.end == chain.end and span.opening == chain.closing:
            chain = msgspec.structs.replace(chain, closing=span.closing, sequence=span.sequence)
        elif span.end <= chain.end:
            continue  # the days are covered already, by a longer statement or the same one again
        elif span.start < chain.end or _follows(chain, span):
            chain = msgspec.structs.replace(span, start=chain.start, opening=chain.opening)
        else:
            gaps.append(_gap(chain, span))
            chain = span
    return chain, gaps


def _follows(before: _Span, after: _Span) -> bool:
    if after.opening != before.closing:
        return False
    days = (after.start - before.end).days
    if days > 1 and before.sequence is not None and after.sequence is not None:
        return after.sequence in {before.sequence + 1, 1}  # counters restart with the year
    return days <= _LONGEST_WEEKEND


def _gap(before: _Span, after: _Span) -> str:
    balances = (
        f"closing {format_amount(before.closing, before.currency)},"
        f" next opening {format_amount(after.opening, after.currency)}"
    )
    first, last = before.end + timedelta(days=1), after.start - timedelta(days=1)
    if last < first:
        return f"between {before.end} and {after.start}: {balances}"
    return f"{first} to {last} missing: {balances}"
