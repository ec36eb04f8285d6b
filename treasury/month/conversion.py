"""Conversions of fiat money to coins that no endpoint lists, inferred from balances.

The part of a balance change that no known transfer explains was converted. Booking dates and the
service's processing times decide which credits must or may belong to the change. A credit is
certain only if every explanation contains it. If there are few credits, every combination of them
is tried; if there are many, only consecutive runs in the order of their due times. The implied rate
is fiat divided by coins. It combines rate and fee, because the service states neither.

A credit that a person assigned to an account joins that account's queue only if this makes no other
credit less certain. Otherwise it is reported as not shown in any balance, so that a wrong
assignment changes nothing else.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate, combinations
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import is_target_day
from treasury.core.money import format_amount, implied_rate, product, total
from treasury.core.tables.column_types import schema_of
from treasury.core.tables.schemas import with_units
from treasury.matching.rules import Rules
from treasury.month.clocks import end_of, placed_by, rail_of, reacts_by

UNLOCKED: Final = ("VERIFIED", "NOT_REQUIRED")
_NEARBY: Final = timedelta(days=7)
"""Maximum time between an interval and a recorded rate that is compared with it."""
_PROVED: Final = ("proved", "proved_as_group")
_WAITING: Final = ("not_yet_credited", "held_kyc")
_AT_MOST: Final = 12
"""Maximum number of credits that are tried in every combination."""
_NO_LIST: Final = "payment sessions and payment requests have no list and may be in it"

_MEASURED: Final = (
    "opened_at", "closed_at", "opening", "closing", "known_in", "known_out", "converted",
)  # fmt: skip

_Row = Mapping[str, Any]


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """Fiat money converted to coins, or waiting for it, between two observations of a balance.

    `converted` and the balances are in `asset`, `fiat` is in `currency`. `credits` is the number of
    bank lines in the row; `edge_credits` of them may or may not belong to it. `fiat` is the sum of
    the credits, and in a proved row the largest sum that explains the change. The implied rate is
    fiat per coin. It ranges from `implied_rate`, for the smallest such sum, to `implied_rate_to`,
    for the largest.
    """

    state: str
    account_id: str
    account: str
    asset: str
    currency: str
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    known_in: Decimal | None = None
    known_out: Decimal | None = None
    converted: Decimal | None = None
    credits: int = 0
    edge_credits: int = 0
    fiat: Decimal | None = None
    implied_rate: Decimal | None = None
    implied_rate_to: Decimal | None = None
    rate_low: Decimal | None = None
    rate_high: Decimal | None = None
    due: datetime | None = None
    reason: str
    next_step: str
    entry_ids: list[str] = []
    """The ids of the bank lines that certainly belong to the row."""
    edge_ids: list[str] = []
    """The ids of further bank lines that may belong to the row."""


CONVERSIONS: Final = with_units(
    schema_of(Conversion),
    **dict.fromkeys(("opening", "closing", "known_in", "known_out", "converted"), "asset"),
    fiat="currency",
)


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A credit and the period in which it may become coins.

    `latest` is None if the credit may never be converted.
    """

    entry_id: str
    booked: date
    amount: Decimal
    earliest: datetime
    latest: datetime | None


class _Explained(msgspec.Struct, frozen=True):
    """The sets of credits that may explain a balance change.

    An explanation is a set of credits with matching fiat. The credits `sure` are in every
    explanation, `maybe` in some. `least` and `most` are the smallest and the largest fiat sum of an
    explanation. `late` is true if no explanation contains every credit that was due.
    """

    sure: list[Pending]
    maybe: list[Pending]
    least: Decimal
    most: Decimal
    late: bool = False


def conversion_rows(
    accounts: Iterable[_Row],
    intervals: Iterable[_Row],
    credits: Iterable[_Row],  # noqa: A002 - what a bank calls them
    rates: Iterable[_Row],
    coverage: Iterable[_Row],
    *,
    until: date,
    rules: Rules,
    zone: ZoneInfo,
) -> list[Conversion]:
    """Return each account's conversions, oldest first, then its credits that are not converted.

    The rows are those of the steps `conversion_accounts`, `conversion_intervals`,
    `conversion_credits`, `recorded_rates` and `provider_coverage`. Credits booked up to `until`
    that no balance shows yet are in separate rows. Credits that are contradicted, ignored or
    assigned elsewhere are in no such row, because they may never be converted.
    """
    of_balance = _grouped(intervals, "account_id", "asset")
    of_credits = _grouped(credits, "account_id", "asset")
    of_pair = _grouped(rates, "asset", "currency")
    reports = {row["currency"]: row for row in coverage}
    rows: list[Conversion] = []
    for account in accounts:
        balance = (account["account_id"], account["asset"])
        walk = _Balance(
            account,
            of_balance.get(balance, ()),
            of_pair.get((account["asset"], account["currency"]), ()),
            reports.get(account["currency"]),
            rules,
            zone,
            until,
        )
        own = of_credits.get(balance, ())
        surely = [_pending(row, rules, zone) for row in own if not row["is_decided"]]
        decided = [_pending(row, rules, zone) for row in own if row["is_decided"]]
        apart = _unfitting_credits(walk.conversions, surely, sorted(decided, key=_turn))
        apart_ids = {credit.entry_id for credit in apart}
        fitting = [credit for credit in decided if credit.entry_id not in apart_ids]
        rows += [*walk.conversions([*surely, *fitting]), *walk.not_shown(apart)]
    return rows


def _unfitting_credits(
    rows_of: Callable[[list[Pending]], list[Conversion]],
    queue: list[Pending],
    decided: list[Pending],
) -> list[Pending]:
    """Return the person-assigned credits that contradict the proof of other credits.

    If every other credit is proved with all of these, none is returned. Otherwise they are
    tried one by one: a credit fits if all others are proved with it, or else if it makes none of
    the others less certain.
    """
    if not decided:
        return []
    if _all_proved(_standing(rows_of([*queue, *decided])), queue):
        return []
    fitting, before = queue, _standing(rows_of(queue))
    for has_to_prove in (True, False):
        for credit in (each for each in decided if each not in fitting):
            after = _standing(rows_of([*fitting, credit]))
            if has_to_prove:
                fits = _all_proved(after, fitting)
            # A proved credit must stay proved, and no credit may start to wait.
            else:
                ids = [proved.entry_id for proved in fitting]
                fits = all(after.get(entry, 1) >= before.get(entry, 1) for entry in ids)
            if fits:
                fitting, before = [*fitting, credit], after
    return [credit for credit in decided if credit not in fitting]


def _all_proved(standing: Mapping[str, int], queue: Iterable[Pending]) -> bool:
    return all(standing.get(credit.entry_id) == 2 for credit in queue)


def _standing(rows: Iterable[Conversion]) -> dict[str, int]:
    """Map each credit to 2 if a proved conversion contains it, certainly or possibly.

    Credits that certainly have not been converted yet map to 0. Others are left out.
    """
    standing: dict[str, int] = {}
    for row in rows:
        if row.state in _PROVED:
            standing |= dict.fromkeys((*row.entry_ids, *row.edge_ids), 2)
        elif row.state in _WAITING:
            standing |= dict.fromkeys(row.entry_ids, 0)
    return standing


def _grouped(rows: Iterable[_Row], *names: str) -> dict[tuple[Any, ...], list[_Row]]:
    groups: dict[tuple[Any, ...], list[_Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def _pending(row: _Row, rules: Rules, zone: ZoneInfo) -> Pending:
    booked: date = row["booking_date"]
    match row["outcome"]:
        case "matched" if not row["is_decided"]:
            day = reacts_by(booked, rules, rail=rail_of(row["currency"]), instant=row["is_instant"])
            latest: datetime | None = end_of(day, zone)
        case "conflict" | "decided otherwise":
            latest = None
        case _:
            latest = placed_by(booked, rules, zone)
    return Pending(
        entry_id=row["entry_id"],
        booked=booked,
        amount=row["amount"],
        earliest=end_of(booked - timedelta(days=1), zone),
        latest=latest,
    )


def _turn(credit: Pending) -> tuple[bool, datetime, date, str]:
    """Return the sort key for the order in which credits are expected to be converted."""
    return (
        credit.latest is None,
        credit.latest or credit.earliest,
        credit.booked,
        credit.entry_id,
    )


class _Balance(msgspec.Struct):
    """One balance from its first to its last observation, with the credits that feed it.

    Credits in `edge` may or may not have been converted; those in `waiting` have not been.
    """

    account: _Row
    intervals: Sequence[_Row]
    rates: Sequence[_Row]
    report: _Row | None
    rules: Rules
    zone: ZoneInfo
    until: date
    edge: list[Pending] = []
    waiting: list[Pending] = []

    def conversions(self, queue: Iterable[Pending]) -> list[Conversion]:
        """Return the conversions, and the queued credits that certainly were not converted."""
        self.edge, self.waiting = [], sorted(queue, key=_turn)
        if self.report is None:
            return [self._unreported(), *self._waiting_rows()]
        # One row per interval with a change that no known transfer explains.
        moved = [row for row in self.intervals if row["is_incomplete"] or row["converted"]]
        return [*[self._proof(row) for row in moved], *self._waiting_rows()]

    def _unreported(self) -> Conversion:
        """Return the unproved change of an account without a provider's report."""
        amounts: dict[str, Any] = {}
        if self.intervals:
            amounts = {name: self.intervals[0][name] for name in ("opened_at", "opening")}
            amounts |= {name: self.intervals[-1][name] for name in ("closed_at", "closing")}
            for name in ("known_in", "known_out", "converted"):
                stated = [row[name] for row in self.intervals]
                amounts[name] = None if None in stated else total(stated)
        return self._row(
            "not_provable",
            "no provider report shows the credits",
            "Ask the provider for a report of the account behind the virtual IBANs",
            **amounts,
        )

    def _waiting_rows(self) -> list[Conversion]:
        """Return a row for the overdue unconverted credits, then one for those still in time.

        The last observation of the balance decides which credits are overdue.
        """
        observed_at: datetime | None = self.account["observed_at"]
        overdue: list[Pending] = []
        under_way: list[Pending] = []
        for credit in self.waiting:
            if credit.latest is not None and credit.booked <= self.until:
                is_overdue = observed_at is not None and credit.latest <= observed_at
                (overdue if is_overdue else under_way).append(credit)
        return [self._waiting_row(batch, observed_at) for batch in (overdue, under_way) if batch]

    def _waiting_row(self, batch: list[Pending], observed_at: datetime | None) -> Conversion:
        due = min(c.latest for c in batch if c.latest is not None)
        kyc = self.account["kyc_status"]
        overdue = observed_at is not None and due <= observed_at
        state, reason = "not_yet_credited", "the last balance observed does not hold them yet"
        step = "Ask the provider where they are" if overdue else "Wait, then sync"
        if observed_at is None:
            reason, step = "no balance was ever observed", "Sync"
        elif kyc is not None and kyc not in UNLOCKED:
            state = "held_kyc"
            reason = f"held, as inferred: the holder's check says {kyc}"
            step = "Have the holder's identity check completed"
        elif all(c.earliest >= observed_at for c in batch):
            reason, step = "no balance was observed since they were booked", "Sync"
        return self._row(
            state,
            reason,
            step,
            closed_at=observed_at,
            credits=len(batch),
            fiat=total(c.amount for c in batch),
            due=due,
            entry_ids=[c.entry_id for c in batch],
        )

    def not_shown(self, credits_apart: Iterable[Pending]) -> list[Conversion]:
        """Return a row per credit that people assigned to the account but that its balances lack.

        Credits booked after `until` have no row.
        """
        return [
            self._row(
                "not_shown",
                "given to this account by a person; its balances do not hold it with the others",
                "Look at the decision again: undo it, or ask the provider where the coins went",
                closed_at=self.account["observed_at"],
                credits=1,
                fiat=credit.amount,
                due=credit.latest,
                entry_ids=[credit.entry_id],
            )
            for credit in credits_apart
            if credit.booked <= self.until
        ]

    def _proof(self, interval: _Row) -> Conversion:
        opened, closed, coins = interval["opened_at"], interval["closed_at"], interval["converted"]
        measured: dict[str, Any] = {name: interval[name] for name in _MEASURED}
        # Credits that were due earlier may have been converted then; no record can show it.
        self.edge = [c for c in self.edge if c.latest is None or c.latest > opened]
        pool = [*self.edge, *(c for c in self.waiting if c.earliest < closed)]
        if interval["is_incomplete"]:
            return self._unproved(
                pool, "a balance or the amount of a transfer is not stated", measured
            )
        if coins < 0:
            lost = format_amount(-coins, self.account["asset"])
            reason = f"the balance is {lost} lower than what is known to have moved"
            return self._row(
                "not_provable", reason, "Ask the provider what left the wallet", **measured
            )
        gap = self._uncovered(opened, closed)
        if gap is not None:
            return self._unproved(pool, gap, measured, "Add the provider's report, then look again")
        band = self._band(opened, closed)
        if band is None:
            asset, currency = self.account["asset"], self.account["currency"]
            reason = f"no rate of {asset} in {currency} is recorded to hold it against"
            return self._unproved(pool, reason, measured)
        measured |= {"rate_low": band[0], "rate_high": band[1]}
        window = (product(coins, band[0]), product(coins, band[1]))
        must = [c for c in pool if c.latest is not None and c.latest <= closed]
        explained = _explained(pool, window, must, len(self.edge))
        if explained is None:
            return self._unexplained(pool, must, measured)
        return self._proved(pool, explained, measured)

    def _proved(
        self, pool: list[Pending], explained: _Explained, measured: dict[str, Any]
    ) -> Conversion:
        coins = measured["converted"]
        reasons = ["later than the service says"] if explained.late else []
        if explained.maybe:
            reasons.append(f"{_credits(len(explained.maybe))} may be in it or not")
        self._settle(pool, explained.sure, explained.maybe)
        return self._row(
            "proved" if len(explained.sure) == 1 and not explained.maybe else "proved_as_group",
            "; ".join(reasons),
            "",
            credits=len(explained.sure) + len(explained.maybe),
            edge_credits=len(explained.maybe),
            fiat=explained.most,
            implied_rate=implied_rate(explained.least, coins),
            implied_rate_to=implied_rate(explained.most, coins),
            entry_ids=[c.entry_id for c in explained.sure],
            edge_ids=[c.entry_id for c in explained.maybe],
            **measured,
        )

    def _unexplained(
        self, pool: list[Pending], must: list[Pending], measured: dict[str, Any]
    ) -> Conversion:
        """Return the row for a change that no credits explain.

        The provider's report may be incomplete, no credits exist, or the rate is implausible.
        """
        closed: datetime = measured["closed_at"]
        assert self.report is not None
        reaches: date = self.report["covered_to"]
        if reaches < closed.astimezone(self.zone).date():
            reason = f"the provider's report reaches to {reaches:%-d %b %Y} only; {_NO_LIST}"
            return self._unproved(
                pool, reason, measured, "Add the provider's report, then look again"
            )
        batch = must or pool
        if not batch:
            return self._row(
                "not_provable",
                f"no credit explains it; {_NO_LIST}",
                "Look for a payment session or a payment request of that amount",
                **measured,
            )
        self._settle(pool, [], batch)
        fiat = total(c.amount for c in batch)
        rate = implied_rate(fiat, measured["converted"])
        return self._row(
            "rate_outside_band",
            f"{_credits(len(batch))} over these coins is outside what was recorded; {_NO_LIST}",
            "Ask the provider which credits were converted, and at what rate and fee",
            credits=len(batch),
            edge_credits=len(batch),
            fiat=fiat,
            implied_rate=rate,
            implied_rate_to=rate,
            edge_ids=[c.entry_id for c in batch],
            **measured,
        )

    def _unproved(
        self,
        pool: list[Pending],
        reason: str,
        measured: dict[str, Any],
        step: str = "Ask the provider",
    ) -> Conversion:
        """Return an unproved row; each credit in `pool` then counts as possibly converted."""
        self._settle(pool, [], pool)
        return self._row("not_provable", reason, step, **measured)

    def _settle(self, pool: list[Pending], sure: list[Pending], maybe: list[Pending]) -> None:
        """Remove the converted credits and set aside the possibly converted ones."""
        converted = {c.entry_id for c in sure}
        open_ = {c.entry_id for c in (*self.edge, *maybe)} - converted
        self.waiting = [c for c in self.waiting if c.entry_id not in converted | open_]
        self.edge = [c for c in pool if c.entry_id in open_]

    def _uncovered(self, opened: datetime, closed: datetime) -> str | None:
        """Return why the provider's report may lack credits of an interval, or None."""
        assert self.report is not None
        if self.report["covered_to"] is None:
            return "no statement of the provider's report is proved"
        began: datetime | None = self.account["opened_at"]
        first = max(opened, began) if began is not None else opened
        covered_from: date = self.report["covered_from"]
        if covered_from > first.astimezone(self.zone).date():
            return f"the provider's report begins on {covered_from:%-d %b %Y}"
        finished = closed.astimezone(self.zone).date() - timedelta(days=1)
        while not is_target_day(finished):
            finished -= timedelta(days=1)
        reaches: date = self.report["covered_to"]
        if reaches < finished:
            return f"the provider's report reaches to {reaches:%-d %b %Y} only"
        return None

    def _band(self, opened: datetime, closed: datetime) -> tuple[Decimal, Decimal] | None:
        """Return the lowest and the highest plausible fiat per coin.

        They are the rates recorded around the interval, or the nearest one, widened by the band
        that the rules allow. If the rules declare the pair one to one, both are 1. Return None if
        no rate is recorded.
        """
        if f"{self.account['currency']}/{self.account['asset']}" in self.rules.one_to_one:
            return Decimal(1), Decimal(1)
        if not self.rates:
            return None
        first, last = (opened - _NEARBY).date(), (closed + _NEARBY).date()
        about = [row for row in self.rates if first <= row["quoted_on"] <= last]
        about = about or [min(self.rates, key=lambda row: abs(row["quoted_on"] - closed.date()))]
        share = self.rules.conversion_band / 100
        return (
            product(min(row["lowest"] for row in about), 1 - share),
            product(max(row["highest"] for row in about), 1 + share),
        )

    def _row(self, state: str, reason: str, next_step: str, **columns: Any) -> Conversion:
        return Conversion(
            state=state,
            account_id=self.account["account_id"],
            account=self.account["account_name"] or self.account["account_id"],
            asset=self.account["asset"],
            currency=self.account["currency"],
            reason=reason,
            next_step=next_step,
            **columns,
        )


def _credits(count: int) -> str:
    return f"{count} credit{'' if count == 1 else 's'}"


def _explained(
    pool: Sequence[Pending],
    window: tuple[Decimal, Decimal],
    must: Sequence[Pending],
    edge: int,
) -> _Explained | None:
    """Return the sets of credits with a sum within the fiat window, or None if no set fits.

    Up to `_AT_MOST` credits are tried in every combination. If there are more, only consecutive
    runs that start among the first `edge` credits, or right after them, are tried. Explanations
    that contain all of `must` are preferred; the others are late. A credit is sure only if every
    explanation contains it, including the late ones.
    """
    due = frozenset(pool.index(c) for c in must)
    if len(pool) <= _AT_MOST:
        sets = [
            (frozenset(places), amount)
            for size in range(1, len(pool) + 1)
            for places in combinations(range(len(pool)), size)
            if window[0] <= (amount := total(pool[place].amount for place in places)) <= window[1]
        ]
        on_time = [(members, amount) for members, amount in sets if due <= members]
    else:
        sets = _stretches(pool, window, edge, 0)
        on_time = _stretches(pool, window, edge, max(due, default=-1) + 1)
    chosen = on_time or sets
    if not chosen:
        return None
    in_all = frozenset.intersection(*(members for members, _ in sets))
    in_some = frozenset.union(*(members for members, _ in chosen)) - in_all
    return _Explained(
        [pool[place] for place in sorted(in_all)],
        [pool[place] for place in sorted(in_some)],
        min(amount for _, amount in chosen),
        max(amount for _, amount in chosen),
        late=not on_time,
    )


_Sets: TypeAlias = list[tuple[frozenset[int], Decimal]]


def _stretches(
    pool: Sequence[Pending], window: tuple[Decimal, Decimal], edge: int, at_least: int
) -> _Sets:
    """Return, for each first credit, the shortest and the longest run with a sum in the window.

    A run has at least one credit and contains all credits before the place `at_least`, from its
    first one on.
    """
    sums = [Decimal(0), *accumulate((c.amount for c in pool), lambda a, b: total((a, b)))]
    sets: _Sets = []
    for first in range(edge + 1):
        low = bisect_left(sums, total((sums[first], window[0])))
        high = bisect_right(sums, total((sums[first], window[1]))) - 1
        low = max(low, first + 1, at_least)
        for last in sorted({low, high}) if low <= high else ():
            sets.append((frozenset(range(first, last)), sums[last] - sums[first]))
    return sets
