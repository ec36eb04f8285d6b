"""The wording and formats of results, in one place for all screens.

It puts codes, dates, amounts and accounts into words for people, and makes invisible characters in
outside text visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.core.calendar import day_words
from treasury.core.identifiers import plain_account
from treasury.core.money import format_amount, totals
from treasury.core.tables.table import Table
from treasury.core.text import clean, safe_html
from treasury.core.wording import LINE_CLASSES, OUTCOMES, instant_words
from treasury.month.funding import short_account
from treasury.month.items import OpenItem
from treasury.month.reconciliation import Reconciliation

_ENVIRONMENTS: Final = {
    "sandbox": "SANDBOX, no real money",
    "staging": "STAGING, no real money",
    "production": "",
}
_CONTRADICTIONS: Final = {
    "account: ": "wrong account: ",
    "currency: ": "wrong currency: ",
    "direction: ": "wrong direction: ",
    "status: ": "the request is ",
}
_OTHER_LINE: Final = re.compile(
    r"(?P<how>brings back (?:a part of )?the payment of|came back on|moved the other way on)"
    r" (?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\b"
)
_ACCOUNT: Final = re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{8,30}\b", re.ASCII)


def count(number: int, noun: str) -> str:
    """Return words such as `1 item` or `12 items`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def day(value: date | None, year: int | None = None) -> str:
    """Return a day such as `30 Oct`; empty for None.

    The year is added if `year` is given and differs.
    """
    return day_words(value, with_year=value is not None and year not in {None, value.year})


def moment(instant: datetime | None, zone: ZoneInfo, year: int | None = None) -> str:
    """Return a time such as `29 Oct 09:20 CET` in the zone; empty for None."""
    if instant is None:
        return ""
    local = instant.astimezone(zone)
    return f"{day(local.date(), year)} {instant_words(local, '%H:%M')}"


def amount_words(amount: Decimal | None, currency: str | None) -> str:
    """Return an amount such as `EUR 25,000.00`, or words for a missing amount."""
    if amount is None:
        return "amount not recorded"
    return clean(format_amount(amount, currency or "?"))


def amounts_words(amounts: Iterable[tuple[Decimal | None, str]]) -> str:
    """Return the sum per currency, such as `EUR 25,000.00 · USDC 10,000.000000`."""
    amounts = tuple(amounts)
    sums = totals((currency, amount) for amount, currency in amounts if amount is not None)
    parts = [amount_words(sums[currency], currency) for currency in sorted(sums)]
    unknown = sum(amount is None for amount, _ in amounts)
    if unknown:
        parts.append(f"{unknown} without a recorded amount")
    return " · ".join(parts)


def carried_words(item: OpenItem, year: int) -> str:
    """Return words such as `carried: anna and bert for carla, by 30 Nov`.

    Before the second person agrees, return who proposed to carry the item; empty without a
    proposal. For an item below the agreed limits, return words that say so.
    """
    if not item.is_material:
        return "below the agreed limit"
    if item.proposed_by is None or item.expected_by is None:
        return ""
    if item.accepted_by is None:
        return clean(f"proposed by {item.proposed_by}, waits for a second person")
    people = (
        item.proposed_by if item.accepted_alone else f"{item.proposed_by} and {item.accepted_by}"
    )
    alone = ", signed alone" if item.accepted_alone else ""
    return clean(f"carried: {people} for {item.owner}{alone}, by {day(item.expected_by, year)}")


def environment_words(environment: str) -> str:
    """Return a warning if the figures are not from production; empty in production."""
    return _ENVIRONMENTS.get(environment, clean(environment).upper())


def title_words(r: Reconciliation, zone: ZoneInfo) -> str:
    """Return the title `October 2026 · Harbour Lane NV · SANDBOX, no real money · known at …`."""
    known_at = f"known at {moment(r.known_at, zone, r.month.year)}"
    parts = (r.month.title, clean(r.company), environment_words(r.environment), known_at)
    return " · ".join(part for part in parts if part)


LINES_NOT_KNOWN: Final = "not known: the statements of the month are not complete"


def are_lines_known(r: Reconciliation) -> bool:
    """Return whether the month's lines are known: some exist, or complete statements show none."""
    complete = r.statements.arrow["complete"].to_pylist()
    return any(r.counts().values()) or (bool(complete) and all(complete))


def bank_lines_words(r: Reconciliation) -> str:
    """Return `412 = 361 matched + 9 suggested + …`, without empty parts.

    Zero is stated only if the statements of every declared account are complete.
    """
    if not are_lines_known(r):
        return LINES_NOT_KNOWN
    counts = r.counts()
    total = f"{sum(counts.values()):,}"
    return f"{total} = {outcome_counts(counts)}" if any(counts.values()) else total


def outcome_counts(counts: Mapping[str, int]) -> str:
    """Return the numbers of bank lines by outcome, such as `361 matched + 9 suggested`."""
    return " + ".join(
        f"{counts[name]:,} {word.lower()}" for name, word in OUTCOMES.items() if counts.get(name)
    )


def outcome_word(line: Mapping[str, Any]) -> str:
    """Return the outcome of a month's line in words for people."""
    if line["line_class"]:
        return LINE_CLASSES.get(line["line_class"], clean(line["line_class"]))
    outcome: str = line["outcome"]
    reason = reason_words(line["reason"] or "")
    match outcome:
        case "unreferenced" if line["account"] != plain_account(line["statement_account"]):
            return f"Unreferenced; reached virtual IBAN {clean(short_account(line['account']))}"
        case "conflict":
            # A reason is stored with codes and whole account numbers; people read words.
            for prefix, words in _CONTRADICTIONS.items():
                if reason.startswith(prefix):
                    reason = words + reason.removeprefix(prefix)
                    break
            shortened = _ACCOUNT.sub(lambda match: short_account(match[0]), reason)
            return f"Conflict, {shortened}"
        case "ignored":
            return f"Ignored: {reason}"
        case "returned":
            return f"Returned{reason.removeprefix('returned')}"
        case "matched" if reason.startswith("accepted"):
            return f"Matched, {reason}"
        case _:
            return OUTCOMES.get(outcome, clean(outcome))


def noted_html(title: str, notes: Iterable[str], *tables: Table) -> str:
    """Return the HTML of a title, notes and tables for a notebook."""
    items = "".join(f"<li>{safe_html(note)}</li>" for note in notes)
    head = f"<p class='tex2jax_ignore'>{safe_html(title)}</p><ul>{items}</ul>"
    return head + "".join(table._repr_html_() for table in tables)


def reason_words(reason: str) -> str:
    """Return a line's reason with its direction codes and days put into words."""

    def dated_words(match: re.Match[str]) -> str:
        try:
            return f"{match['how']} {day(date.fromisoformat(match['day']))}"
        except ValueError:
            return match[0]

    dated = _OTHER_LINE.sub(dated_words, reason)
    return clean(dated.replace("CRDT", "money in").replace("DBIT", "money out"))
