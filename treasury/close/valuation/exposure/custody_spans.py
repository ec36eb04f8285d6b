"""Money in accounts at the provider: coins in custody, and credits not yet converted to coins.

A balance at a time is the last observed balance, changed by the known movements since. If two
observations show a conversion between them, the lower of the two levels is certain and the rest is
in doubt. A credit counts as fiat until an observed balance contains its coins, so that no money
counts twice. If the known movements take out more coins than were certain, coins of credits must
have come and left unseen. From then until the next observation, the balance and the account's
credits for this coin are in doubt and do not count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from treasury.close.balances import PROVED, is_observation, level_of
from treasury.close.result_words import moment
from treasury.close.valuation.exposure.exposure_sums import HeldAmount, doubted, lasting
from treasury.core.money import difference, total
from treasury.matching.rules import Rules
from treasury.month.clocks import end_of, rail_of, reacts_by
from treasury.month.conversion import Conversion
from treasury.month.differences import CONVERSION_STATES

_Row = Mapping[str, Any]
_Balance = tuple[str, str]
"""An account's id, and the asset."""

CUSTODY: Final = "custodial balance"
CREDIT: Final = "credit not converted"
_ZERO: Final = Decimal(0)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_WAITING: Final = {state: CONVERSION_STATES[state] for state in ("not_yet_credited", "held_kyc")}
_ASK: Final = "ask the provider; next time sync shortly before and after"
_FULL: Final = "run `treasury sync --full`; if the amount stays missing, ask the provider"
_RANK: Final = {"matched": 0, "suggested": 1, "unreferenced": 2, "duplicate": 3, "conflict": 4}
"""The order of preference among several rows for the same share of a line."""
_MAY_BE_ELSEWHERE: Final = ("conflict", "decided otherwise")
"""Outcomes of credits that may never become coins of the account that they reached."""


class Unclear(msgspec.Struct, frozen=True):
    """A period in which it is unknown which credits of an account were converted or had left."""

    since: datetime
    until: datetime


def custody_spans(
    balance_levels: Iterable[_Row], names: Mapping[str, str], zone: ZoneInfo
) -> tuple[list[HeldAmount], dict[_Balance, list[Unclear]]]:
    """Return every custodial balance over time, and the unclear periods of each balance.

    `names` are the accounts' names by id.
    """
    spans: list[HeldAmount] = []
    unclear: dict[_Balance, list[Unclear]] = {}
    levels: dict[_Balance, list[_Row]] = defaultdict(list)
    for row in balance_levels:
        levels[row["account_id"], row["asset"]].append(row)
    for balance, rows in sorted(levels.items()):
        teller = _Teller(balance, names.get(balance[0]) or balance[0], rows, zone)
        spans += teller.spans()
        unclear[balance] = teller.unclear
    return spans, unclear


class _Teller:
    """The calculation of one balance's spans, from its first observation on."""

    def __init__(self, balance: _Balance, name: str, rows: Sequence[_Row], zone: ZoneInfo) -> None:
        self.unclear: list[Unclear] = []
        self._account, self._asset = balance
        self._name = name
        self._rows = sorted(rows, key=lambda row: (row["moment"], row["is_observed"]))
        self._zone = zone

    def spans(self) -> Iterator[HeldAmount]:
        places = [place for place, row in enumerate(self._rows) if is_observation(row)]
        for first, last in zip(places, [*places[1:], None], strict=bool(places)):
            yield from self._between(first, last)

    def _between(self, first: int, last: int | None) -> Iterator[HeldAmount]:
        """Yield the spans from one observation to the next, or to the last known movement."""
        opening = self._rows[first]
        closing = None if last is None else self._rows[last]
        begin, end = opening["moment"], None if closing is None else closing["moment"]
        if end is not None and end <= begin:
            return
        if closing is not None and closing["unstated"] != opening["unstated"]:
            yield self._doubt(begin, end, None, "a transfer states no amount", _FULL)
            return
        level = level_of(opening)
        converted = _ZERO if closing is None else difference(level_of(closing), level)
        sure = total((level, min(converted, _ZERO)))
        seen = f"balance seen {moment(begin, self._zone)}"
        if end is not None:
            seen = f"balances seen {moment(begin, self._zone)} and {moment(end, self._zone)}"
        moves = [row for row in self._rows[first + 1 : last] if not row["is_observed"]]
        bounds = [(begin, opening), *((row["moment"], row) for row in moves)]
        for at, (since, row) in enumerate(bounds):
            until = bounds[at + 1][0] if at + 1 < len(bounds) else end
            if until is not None and until <= since:
                continue
            amount = total((sure, row["known_in"], row["known_out"].copy_negate()))
            if row["unstated"] != opening["unstated"]:
                yield self._doubt(since, until, None, "a transfer states no amount", _FULL)
                return
            if amount < 0:
                problem = "more left than the balance before held: coins of credits came unseen"
                yield self._doubt(since, end, abs(converted) or None, problem, _ASK)
                self.unclear.append(Unclear(since, end or _NEVER))
                yield from self._converted(opening, closing, since, converted)
                return
            if amount:
                moved = "" if not at else f"; known moves to {moment(since, self._zone)}"
                later = "" if end is not None else "; no later balance was seen"
                yield self._span(since, until, amount, evidence=f"{seen}{moved}{later}")
        yield from self._converted(opening, closing, end, converted)

    def _converted(
        self, opening: _Row, closing: _Row | None, until: datetime | None, converted: Decimal
    ) -> Iterator[HeldAmount]:
        """Yield the unexplained difference between two observations, from the first one on."""
        begin = opening["moment"]
        if not converted or closing is None or until == begin:
            return
        between = f"{moment(begin, self._zone)} and {moment(closing['moment'], self._zone)}"
        words = "converted" if converted > 0 else "lost from the balance"
        problem = f"{words} between {between}: it may lie on either side"
        yield self._doubt(begin, until, abs(converted), problem, _ASK)

    def _span(
        self, since: datetime, until: datetime | None, amount: Decimal | None, **columns: Any
    ) -> HeldAmount:
        return HeldAmount(
            kind=CUSTODY, subject="balance", subject_id=f"{self._account}/{self._asset}",
            reference=self._name, state=columns.pop("state", ""), amount=amount,
            currency=self._asset, since=since, until=until, began=since, is_level=True, **columns,
        )  # fmt: skip

    def _doubt(
        self, since: datetime, until: datetime | None, amount: Decimal | None, problem: str,
        next_step: str,
    ) -> HeldAmount:  # fmt: skip
        return self._span(
            since, until, amount, state="NOT PROVABLE", is_proved=False, problem=problem,
            next_step=next_step,
        )  # fmt: skip


# Virtual account credits as spans.


def credit_spans(
    steps: Mapping[str, Sequence[_Row]],
    conversions: Sequence[Conversion],
    unclear: Mapping[_Balance, Sequence[Unclear]],
    rules: Rules,
    zone: ZoneInfo,
) -> Iterator[HeldAmount]:
    """Yield every credit of a virtual account, from its booking on.

    A credit ends when a balance contains its coins, or when it is sent back. `steps` has the rows
    of `balance_levels`, `conversion_credits` and `credits_back`.
    """
    named, unnamed = _named(conversions), _unnamed(conversions)
    observed: dict[_Balance, list[datetime]] = defaultdict(list)
    for row in steps["balance_levels"]:
        if is_observation(row):
            observed[row["account_id"], row["asset"]].append(row["moment"])
    for row in _once(steps["conversion_credits"]):
        balance = row["account_id"], row["asset"]
        since = datetime.combine(row["booking_date"], time(), zone)
        span = HeldAmount(
            kind=CREDIT, subject="line", subject_id=row["entry_id"],
            reference=row["reference"] or row["entry_id"], state="", amount=row["amount"],
            currency=row["currency"], since=since, until=None, began=since,
            evidence=f"credited {row['booking_date']}, by the provider's report",
        )  # fmt: skip
        own = named.get((*balance, row["entry_id"]), _Named())
        shown = sorted(observed[balance])
        if own.converted is None and own.perhaps is None and own.waits is None:
            looks = shown if row["outcome"] in _MAY_BE_ELSEWHERE else unnamed.get(balance, ())
            own.perhaps = next((at for at in looks if at > since), None)
        # A contradicted credit has no time by which it should be converted, so it stays open.
        resolved = None
        if row["outcome"] != "conflict":
            # The first balance after the credit's due time must contain its coins.
            day = reacts_by(row["booking_date"], rules, rail=rail_of(row["currency"]))
            place = bisect_left(shown, end_of(day, zone))
            resolved = shown[place] if place < len(shown) else None
        for part in _of_credit(span, own, resolved):
            yield from _where_clear(part, unclear.get(balance, ()))
    yield from _went_back(steps["credits_back"], zone)


class _Named(msgspec.Struct):
    """The evidence about a credit from conversions.

    `converted` is the time of the balance that certainly contains the credit's coins, `perhaps` the
    time of the first balance that may contain them, `waits` the state of a credit that waits.
    `not_shown` is true if a person assigned the credit to the account, and the account's balances
    do not show it.
    """

    converted: datetime | None = None
    perhaps: datetime | None = None
    waits: str | None = None
    not_shown: bool = False


def _named(conversions: Iterable[Conversion]) -> dict[tuple[str, str, str], _Named]:
    named: dict[tuple[str, str, str], _Named] = defaultdict(_Named)
    for row in conversions:
        for entry in row.entry_ids:
            of = named[row.account_id, row.asset, entry]
            if row.state in PROVED:
                of.converted = row.closed_at
            elif row.state in _WAITING:
                of.waits = _WAITING[row.state]
            else:
                of.not_shown = True
        for entry in row.edge_ids:
            of = named[row.account_id, row.asset, entry]
            if of.perhaps is None or (row.closed_at is not None and row.closed_at < of.perhaps):
                of.perhaps = row.closed_at
    return named


def _unnamed(conversions: Iterable[Conversion]) -> dict[_Balance, list[datetime]]:
    """Return the times of balances that may contain credits which could not be identified."""
    moments: dict[_Balance, list[datetime]] = defaultdict(list)
    for row in conversions:
        if row.state == "not_provable" and row.closed_at is not None:
            moments[row.account_id, row.asset].append(row.closed_at)
    return {balance: sorted(at) for balance, at in moments.items()}


def _once(credits_: Iterable[_Row]) -> list[_Row]:
    """Return one row per line, that of the surest outcome, or all its rows if several matched."""
    ordered = sorted(
        credits_,
        key=lambda row: (row["entry_id"], _RANK.get(row["outcome"], len(_RANK)), row["account_id"]),
    )
    once: list[_Row] = []
    for row in ordered:
        before = once[-1] if once else None
        is_share = before is not None and row["outcome"] == before["outcome"] == "matched"
        if before is None or before["entry_id"] != row["entry_id"] or is_share:
            once.append(row)
    return once


def _of_credit(span: HeldAmount, own: _Named, resolved: datetime | None) -> Iterator[HeldAmount]:
    """Yield the credit's spans, ended by a conversion, or in doubt where one may have ended it."""
    converted = own.converted
    left_by = "" if converted is None else "converted: its coins are in the balance"
    if own.not_shown:
        problem = "assigned to this account by a person; its balances do not show it"
        yield doubted(span, problem, "look at the decision again: undo it, or ask the provider")
    elif own.perhaps is not None and (converted is None or own.perhaps < converted):
        until = converted or (None if resolved is None else max(resolved, own.perhaps))
        known = replace(span, left_at=until, left_by=left_by)
        yield from lasting(replace(known, until=own.perhaps))
        maybe = replace(known, since=max(own.perhaps, span.since), until=until)
        yield from lasting(
            doubted(maybe, "it may be in the balance, or not yet be converted", _ASK)
        )
    else:
        known = replace(span, until=converted, left_at=converted, left_by=left_by)
        yield from lasting(replace(known, state=own.waits or ""))


def _where_clear(span: HeldAmount, unclear: Sequence[Unclear]) -> Iterator[HeldAmount]:
    """Yield the span in parts; the parts in which its account's balance is unclear are in doubt."""
    if not span.is_proved:
        yield span
        return
    at = span.since
    for dark in unclear:
        if dark.until <= at or (span.until is not None and dark.since >= span.until):
            continue
        yield from lasting(replace(span, since=at, until=max(dark.since, at)))
        dark_until = None if dark.until == _NEVER else dark.until
        ends = min(filter(None, (dark_until, span.until)), default=None)
        problem = "coins of the account's credits came and left between two balances"
        dark_span = replace(span, since=max(dark.since, at), until=ends)
        yield from lasting(doubted(dark_span, problem, _ASK))
        if ends is None:
            return
        at = ends
    yield from lasting(replace(span, since=at))


def _went_back(rows: Iterable[_Row], zone: ZoneInfo) -> Iterator[HeldAmount]:
    for row in rows:
        since = datetime.combine(row["booking_date"], time(), zone)
        back = end_of(row["back_on"], zone)
        yield from lasting(
            HeldAmount(
                kind=CREDIT, subject="line", subject_id=row["entry_id"],
                reference=row["entry_id"], state="SENT BACK", amount=row["amount"],
                currency=row["currency"], since=since, until=back, began=since, left_at=back,
                left_by=f"sent back to its payer on {row['back_on']}",
                evidence=f"credited {row['booking_date']}, by the provider's report",
            )
        )  # fmt: skip
