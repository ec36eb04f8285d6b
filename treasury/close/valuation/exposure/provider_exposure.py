"""Provider exposure: all our money with the provider, at a given time and over a month.

Each amount is a span of time with its evidence. Sums, days, ages, the peak and the comparison with
limits use the same spans. Unproved amounts have separate rows, and no sum includes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.result_words import amount_words, count, moment, noted_html
from treasury.close.valuation.coins.coin_value import rates_of
from treasury.close.valuation.exposure import exposure_sums
from treasury.close.valuation.exposure.custody_spans import CUSTODY, credit_spans, custody_spans
from treasury.close.valuation.exposure.evidence_gaps import gap_spans
from treasury.close.valuation.exposure.exposure_limits import REPORTING, WHOLE
from treasury.close.valuation.exposure.request_spans import request_spans
from treasury.core.calendar import Month
from treasury.core.money import difference, exponent, rounded, total, totals
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.matching.engine.pipeline import compose, in_order, steps_of, stored
from treasury.matching.reference_matching import PACKAGE as MATCHING_PACKAGE
from treasury.month.clocks import end_of, rail_of
from treasury.month.reconciliation import MONTH_PACKAGE, Reconciliation, run_on_matched, synced_at
from treasury.month.treasury_view import conversions_of
from treasury.rates import ReferenceRates

PACKAGE: Final = "treasury.close.valuation.exposure.steps"
_OWN_STEPS: Final = (
    "provider_debits", "provider_requests", "provider_status_changes", "told_payouts",
    "plain_moves", "credits_back",
)  # fmt: skip
READ: Final = (
    *_OWN_STEPS, "balance_levels", "conversion_accounts", "conversion_intervals",
    "conversion_credits", "recorded_rates", "provider_coverage",
)  # fmt: skip
STEPS: Final = stored(
    in_order({**steps_of(MATCHING_PACKAGE), **steps_of(MONTH_PACKAGE), **steps_of(PACKAGE)}, READ)
)
"""The steps that find the movements, and the matching and month steps that these read."""
EXPOSURE: Final = grouped_schema(
    (TEXT, "kind", "reference", "state"),
    (amount_in("currency"), "amount", "in_doubt"),
    (TEXT, "currency"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency"),
    (DATE, "rate_day"),
    (TEXT, "valued_by"),
    (INSTANT, "since"),
    (INTEGER, "age"),
    (TEXT, "clock"),
    (INSTANT, "cleared_at"),
    (TEXT, "cleared_by", "evidence", "problem", "next_step", "subject", "subject_id"),
)
"""One row per amount with the provider at the given time, in `currency`.

`value` is in `value_currency`. A row that cannot be proved has no `amount`, and `problem` is the
reason; `in_doubt` is the amount that may be there, if it is known. `age` counts days of `clock`
since the money came. For money that left before the time of the question, `cleared_at` and
`cleared_by` are when and how.
"""
EXPOSURE_TOTALS: Final = grouped_schema(
    (TEXT, "scope", "currency"),
    (AMOUNT, "amount"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency"),
    (DATE, "rate_day"),
    (TEXT, "valued_by"),
    (amount_in("currency"), "cleared"),
    (INTEGER, "not_provable"),
    (amount_in("currency"), "in_doubt", "peak"),
    (INSTANT, "peak_at"),
    (amount_in("currency"), "limit", "above_limit"),
    (INTEGER, "days_above"),
    (TEXT, "standing"),
)
"""One row per currency, and one of scope `all` in the reporting currency.

A row has the amount at the given time, the part cleared since, the month's peak, and the limit.
`days_above` counts the days that ended above the limit. `not_provable` is the number of excluded
rows that may be in the currency, for `all` also of rows without a reference rate. `in_doubt` is the
largest amount that they may have together, empty if unknown. `standing` is `no limit`, `above`,
`within` if the amount plus all doubt is not above the limit, or else `not provable`.
"""
EXPOSURE_DAYS: Final = grouped_schema(
    (DATE, "day"),
    (INSTANT, "at"),
    (TEXT, "kind", "currency"),
    (AMOUNT, "amount"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency"),
    (DATE, "rate_day"),
    (TEXT, "valued_by"),
)
"""One row per day, kind and currency at the end of the day, and one of kind `all` per day.

The row `all` is in the reporting currency; its `valued_by` lists currencies without a rate.
"""
EXPOSURE_AGES: Final = grouped_schema(
    (TEXT, "age", "currency"),
    (INTEGER, "positions"),
    (AMOUNT, "amount"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency"),
)
"""One row per age and currency of the amounts at the given time.

Custodial balances have one row per currency instead, because they are available at call.
"""
_AGES: Final = (
    (1, "0 to 1 day"), (5, "2 to 5 days"), (10, "6 to 10 days"), (30, "11 to 30 days"),
)  # fmt: skip
_OLDER: Final = "over 30 days"
_AT_CALL: Final = "at call: custodial balance"
_NO_LIMIT, _WITHIN, _ABOVE, _NOT_PROVABLE = "no limit", "within", "above", "not provable"
_ZERO: Final = Decimal(0)
_Row = Mapping[str, Any]


class ProviderExposure(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The money with the provider at the time `at`, and over the month up to then.

    `positions` as in EXPOSURE, `totals` as in EXPOSURE_TOTALS, `days` as in EXPOSURE_DAYS, `ages`
    as in EXPOSURE_AGES. `cleared_to` is the time up to which cleared amounts are known.
    """

    printed: ClassVar[Sequence[str]] = ("totals",)
    key_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "positions": ("kind", "reference", "state", "amount", "in_doubt", "value", "problem"),
        "totals": ("scope", "amount", "value", "not_provable", "in_doubt"),
    }

    month: Month
    at: datetime
    zone: ZoneInfo
    company: str
    environment: str
    cleared_to: datetime
    positions: Table
    totals: Table
    days: Table
    ages: Table
    notes: tuple[str, ...] = ()
    sql: str = ""

    @property
    def proved(self) -> Table:
        """The positions that the sums include."""
        return self._where(self.positions, "problem", "", pc.equal)

    @property
    def not_provable(self) -> Table:
        """The positions that the sums exclude."""
        return self._where(self.positions, "problem", "", pc.not_equal)

    @property
    def whole(self) -> _Row:
        """The row of all money with the provider, in the reporting currency."""
        (row,) = self._where(self.totals, "scope", WHOLE, pc.equal).arrow.to_pylist()
        return row

    @property
    def currencies(self) -> Table:
        """The totals without the row of scope `all`."""
        return self._where(self.totals, "scope", WHOLE, pc.not_equal)

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone

    def _where(self, table: Table, name: str, value: str, compares: Any) -> Table:
        kept = table.arrow.filter(compares(table.arrow[name], value))
        return Table(kept, zone=self.zone)

    @property
    def title(self) -> str:
        """`With the provider at the end of 31 Oct: EUR 71,000.00; 4 positions not provable`."""
        row = self.whole
        doubt = count(len(self.not_provable), "position") + " not provable"
        known = amount_words(row["value"], row["value_currency"])
        proved = self.proved.arrow
        unvalued = proved.filter(pc.is_null(proved["value"]))["currency"].to_pylist()
        words = f"With the provider at {self.instant}: {known}"
        if unvalued:
            words = f"{words}, {_without(set(unvalued), '')}"
        return f"{words}; {doubt}" if len(self.not_provable) else words

    @property
    def instant(self) -> str:
        """The time of the answer in words; a month's end is written as the end of its last day."""
        if self.at == self.month.end(self.zone):
            last = moment(self.at - timedelta(seconds=1), self.zone)
            return f"the end of {last.rpartition(' ')[0].rpartition(' ')[0]}"
        return moment(self.at, self.zone)

    def sheets(self) -> Mapping[str, Table]:
        """Return positions, totals, days and ages by sheet name."""
        return {
            "Provider exposure": self.positions,
            "Exposure totals": self.totals,
            "Exposure by day": self.days,
            "Exposure by age": self.ages,
        }

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        return noted_html(self.title, self.notes, self.totals, self.positions)


def provider_exposure(
    r: Reconciliation, zone: ZoneInfo, limits: pa.Table | None = None
) -> ProviderExposure:
    """Return the money with the provider at the month's end or, if earlier, at the question's time.

    `limits` is as in EXPOSURE_LIMITS. The rates are those of the answer's records.
    """
    spans, plain = ([], []) if r.basis is None else _told(r, zone)
    return exposure_of(spans, r, zone, rates_of(r), limits, plain=plain)


def exposure_positions(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    """Return the positions of `provider_exposure` without their values in another currency."""
    spans, _ = ([], []) if r.basis is None else _told(r, zone)
    at = min(r.month.end(zone), r.as_of)
    draft = _Draft(spans, (), r.month, at, zone=zone, rates=None)
    return pa.Table.from_pylist(draft.positions(r.as_of), schema=EXPOSURE)


def exposure_of(
    spans: Sequence[exposure_sums.HeldAmount],
    r: Reconciliation,
    zone: ZoneInfo,
    rates: ReferenceRates,
    limits: pa.Table | None = None,
    *,
    plain: Sequence[exposure_sums.Move] = (),
) -> ProviderExposure:
    """Return the exposure from spans, for the month and time of an answer.

    `plain` are moves of money that came and left before that time; they have no spans.
    """
    at = min(r.month.end(zone), r.as_of)
    begin = min(r.month.start(zone), at)
    of_month = [span for span in spans if span.until is None or span.until > begin]
    draft = _Draft(of_month, plain, r.month, at, zone=zone, rates=rates)
    positions, days = draft.positions(r.as_of), draft.days()
    totals = draft.totals(positions, days, limits)
    return ProviderExposure(
        month=r.month,
        at=at,
        zone=zone,
        company=r.company,
        environment=r.environment,
        cleared_to=r.as_of,
        positions=pa.Table.from_pylist(positions, schema=EXPOSURE),
        totals=pa.Table.from_pylist(totals, schema=EXPOSURE_TOTALS),
        days=pa.Table.from_pylist(days, schema=EXPOSURE_DAYS),
        ages=pa.Table.from_pylist(draft.ages(positions), schema=EXPOSURE_AGES),
        notes=_NOTES,
        sql=compose(STEPS, "provider_debits"),
    )


_NOTES: Final = (
    "Bank dates have no hour: money leaves us at the start of its day and arrives at the end.",
    "A credit counts as fiat until an observed balance contains its coins.",
    "A payout counts at its net amount from the completion until the bank shows it.",
    "Amounts without proof or reference rate have separate rows and are not included in sums.",
)


def _told(
    r: Reconciliation, zone: ZoneInfo
) -> tuple[list[exposure_sums.HeldAmount], list[exposure_sums.Move]]:
    """Return the spans and plain moves of the money that the provider held, read from an answer.

    An ordinary off-ramp that was paid out by the month's end and before today (`plain_requests`)
    has plain moves instead of spans: a month has many, and none of their money is left at its end.
    """
    assert r.basis is not None
    question = r.basis.question
    with run_on_matched(r.basis, STEPS, *READ) as steps_run:
        connection = steps_run.connection
        steps = {
            name: connection.table(name).to_arrow_table().to_pylist()
            for name in (*_OWN_STEPS, "balance_levels", "conversion_credits")
        }
        conversions = conversions_of(connection, question, steps["conversion_credits"])
        names = dict(connection.execute("SELECT id, name FROM accounts").fetchall())
    steps["balance_levels"] = [
        row
        for row in steps["balance_levels"]
        if row["account_id"] is not None and row["asset"] is not None
    ]
    balances, unclear = custody_spans(steps["balance_levels"], names, zone)
    at = min(r.month.end(zone), r.as_of)
    spans = [
        *gap_spans(r, at, zone, synced_at(r.basis.snapshot)),
        *request_spans(steps, r.rules, zone),
        *credit_spans(steps, conversions, unclear, r.rules, zone),
        *balances,
    ]
    return spans, [exposure_sums.Move(**row) for row in steps["plain_moves"]]


class _Draft:
    """The calculation of an exposure's tables."""

    def __init__(
        self,
        spans: Sequence[exposure_sums.HeldAmount],
        plain: Sequence[exposure_sums.Move],
        month: Month,
        at: datetime,
        *,
        zone: ZoneInfo,
        rates: ReferenceRates | None,
    ) -> None:
        self._spans = spans
        self._moves = exposure_sums.moves_of((span for span in spans if span.is_proved), plain)
        self._month = month
        self._at = at
        self._zone = zone
        self._rates = rates
        self._day = (at - timedelta(microseconds=1)).astimezone(zone).date()
        """The day of `at`; midnight belongs to the day that it ends."""

    # The rows of the positions table.

    def positions(self, known_to: datetime) -> list[dict[str, Any]]:
        """Return a row per amount; rows in doubt for the same reason are combined."""
        spans = exposure_sums.standing(self._spans, self._at)
        rows = []
        doubts: dict[tuple[str, ...], list[exposure_sums.HeldAmount]] = defaultdict(list)
        for span in spans:
            if span.is_proved:
                assert span.amount is not None
                has_left = span.left_at is not None and span.left_at <= known_to
                rows.append(
                    self._stated(span)
                    | {
                        "amount": span.amount,
                        "in_doubt": None,
                        "cleared_at": span.left_at if has_left else None,
                        "cleared_by": span.left_by if has_left else "",
                        **self._worth(span.amount, span.currency, self._day),
                    }
                )
            else:
                own = span.reference if span.subject == "line" else span.subject_id
                key = (span.kind, own, span.currency, span.problem, span.next_step)
                doubts[key].append(span)
        rows += [self._doubted(alike) for _, alike in sorted(doubts.items())]
        names = ("kind", "currency", "since", "reference", "subject_id")
        return sorted(
            rows,
            key=lambda row: (
                row["problem"] != "",
                *(self._at if row[name] is None else row[name] for name in names),
            ),
        )

    def _doubted(self, alike: Sequence[exposure_sums.HeldAmount]) -> dict[str, Any]:
        amounts = [span.amount for span in alike if span.amount is not None]
        first = min(alike, key=lambda span: span.began)
        many = "" if len(alike) == 1 else count(len(alike), "amount") + ": "
        return self._stated(first) | {
            "amount": None,
            "in_doubt": total(amounts) if len(amounts) == len(alike) else None,
            "value": None,
            "value_currency": REPORTING,
            "valued_by": _NOT_PROVABLE,
            "cleared_by": "",
            "problem": f"{many}{first.problem}",
        }

    def _stated(self, first: exposure_sums.HeldAmount) -> dict[str, Any]:
        """Return the columns of a row other than its amounts."""
        rail = rail_of(first.currency)
        has_age = first.kind != CUSTODY and first.subject in ("line", "request")
        began = first.began.astimezone(self._zone).date()
        return {
            "kind": first.kind,
            "reference": first.reference,
            "state": first.state,
            "currency": first.currency,
            "since": None if first.began == exposure_sums.EVER else first.began,
            "age": rail.between(began, self._day) if has_age else None,
            "clock": rail.unit if has_age else "",
            "evidence": first.evidence_in(self._zone),
            "problem": first.problem,
            "next_step": first.next_step,
            "subject": first.subject,
            "subject_id": first.subject_id,
        }

    def _worth(self, amount: Decimal, currency: str, day: date) -> dict[str, Any]:
        if self._rates is None:
            return {}
        value = self._rates.value(amount, currency, day, REPORTING)
        if value is None:
            absence = self._rates.absence(currency, day)
            return {"value": None, "value_currency": REPORTING, "valued_by": absence}
        published = value.rate.day if value.rate.source else None
        return {
            "value": value.amount,
            "value_currency": REPORTING,
            "rate_day": published,
            "valued_by": value.rate.basis or "euros",
        }

    def _rate(self, currency: str, day: date) -> Fraction | None:
        rate = None if self._rates is None else self._rates.rate(currency, REPORTING, day)
        return None if rate is None else rate.rate

    def _exact(self, amounts: Iterable[tuple[Decimal, str]], day: date) -> Fraction:
        """Return the exact total value of amounts; amounts without a rate are left out."""
        rated = ((amount, self._rate(currency, day)) for amount, currency in amounts)
        worth = (Fraction(amount) * rate for amount, rate in rated if rate is not None)
        return sum(worth, Fraction(0))

    # The rows of the days table.

    def days(self) -> list[dict[str, Any]]:
        """Return the amounts at the end of each day of the month up to the given time."""
        ends = [
            (day, min(end_of(day, self._zone), self._at))
            for day in self._month.days()
            if end_of(day - timedelta(days=1), self._zone) < self._at
        ]
        rows: list[dict[str, Any]] = []
        for end in exposure_sums.amounts_by_day(self._moves, ends):
            base = {"day": end.day, "at": end.at}
            rows += [
                base
                | {"kind": kind, "currency": currency, "amount": amount}
                | self._worth(amount, currency, end.day)
                for (kind, currency), amount in sorted(end.amounts.items())
            ]
            amounts = [(amount, currency) for (_, currency), amount in end.amounts.items()]
            value = _rounded(self._exact(amounts, end.day))
            lacking = {currency for _, currency in amounts if self._rate(currency, end.day) is None}
            rows.append(
                base
                | {
                    "kind": WHOLE, "currency": REPORTING, "amount": value, "value": value,
                    "value_currency": REPORTING, "valued_by": _without(lacking, ""),
                }
            )  # fmt: skip
        return rows

    # The rows of the totals table.

    def totals(
        self, positions: Sequence[_Row], days: Sequence[_Row], limits: pa.Table | None
    ) -> list[dict[str, Any]]:
        """Return a row per currency, and one for all."""
        start = self._month.start(self._zone)
        peaks = exposure_sums.currency_peaks(self._moves, start, self._at)
        rows_of_limits = [] if limits is None else limits.to_pylist()
        agreed = {row["scope"]: row["limit"] for row in rows_of_limits}
        rows = []
        currencies = {row["currency"] for row in positions} | peaks.keys() | agreed.keys()
        for currency in sorted(currencies - {WHOLE, ""}):
            own = [row for row in positions if row["currency"] in (currency, "")]
            proved = [row for row in own if not row["problem"]]
            doubts = [row["in_doubt"] for row in own if row["problem"]]
            amount = total(row["amount"] for row in proved)
            in_doubt = None if None in doubts else total(doubts)
            peak = peaks.get(currency)
            day_ends = _day_ends(days, currency)
            rows.append(
                {
                    "scope": currency, "currency": currency, "amount": amount,
                    "cleared": total(row["amount"] for row in proved if row["cleared_at"]),
                    "not_provable": len(doubts), "in_doubt": in_doubt,
                    "peak": peak and peak.amount, "peak_at": peak and peak.at,
                    **self._worth(amount, currency, self._day),
                    **_held(amount, agreed.get(currency), day_ends, in_doubt),
                }
            )  # fmt: skip
        return [*rows, self._whole(rows, positions, days, agreed.get(WHOLE))]

    def _whole(
        self,
        rows: Sequence[_Row],
        positions: Sequence[_Row],
        days: Sequence[_Row],
        limit: Decimal | None,
    ) -> dict[str, Any]:
        value, cleared = (
            _rounded(self._exact(((row[name], row["currency"]) for row in rows), self._day))
            for name in ("amount", "cleared")
        )
        without_rate: set[str] = set()

        def rate_of(currency: str, day: date) -> Fraction | None:
            rate = self._rate(currency, day)
            if rate is None:
                without_rate.add(currency)
            return rate

        start, zone = self._month.start(self._zone), self._zone
        starts = [end_of(day - timedelta(days=1), zone) for day in self._month.days()]
        peak = exposure_sums.value_peak(
            self._moves, start, self._at, day_starts=starts, rate_of=rate_of, zone=zone
        )
        lacking = [row for row in positions if row["value"] is None]
        unvalued = {row["currency"] for row in lacking if not row["problem"]}
        in_doubt = self._in_doubt(lacking)
        words = _without(unvalued, ""), _without(without_rate - unvalued, "the peak is ")
        return {
            "scope": WHOLE,
            "currency": REPORTING,
            "amount": value,
            "value": value,
            "value_currency": REPORTING,
            "valued_by": "; ".join(filter(None, words)),
            "cleared": cleared,
            "not_provable": len(lacking),
            "in_doubt": in_doubt,
            "peak": None if peak is None else _rounded(Fraction(peak.amount)),
            "peak_at": peak and peak.at,
            **_held(value, limit, _day_ends(days, WHOLE), in_doubt),
        }

    def _in_doubt(self, lacking: Iterable[_Row]) -> Decimal | None:
        """Return the largest value that unproved rows may have; None if one of them is unknown."""
        amounts: list[tuple[Decimal, str]] = []
        for row in lacking:
            amount, currency = row["in_doubt"], row["currency"]
            if amount is None or self._rate(currency, self._day) is None:
                return None
            amounts.append((amount, currency))
        return _rounded(self._exact(amounts, self._day))

    # The rows of the ages table.

    def ages(self, positions: Sequence[_Row]) -> list[dict[str, Any]]:
        """Return the proved amounts by age, the latest first, then the custodial balances."""
        order = [words for _, words in _AGES] + [_OLDER, _AT_CALL]
        groups: dict[tuple[int, str], list[Decimal]] = defaultdict(list)
        for row in positions:
            if not row["problem"]:
                age = _AT_CALL
                if row["kind"] != CUSTODY:
                    age = next((words for most, words in _AGES if row["age"] <= most), _OLDER)
                groups[order.index(age), row["currency"]].append(row["amount"])
        return [
            {"age": order[place], "currency": currency, "positions": len(amounts)}
            | {"amount": total(amounts), **self._worth(total(amounts), currency, self._day)}
            for (place, currency), amounts in sorted(groups.items())
        ]


def _without(currencies: Iterable[str], whose: str) -> str:
    """Return `without ETH, POL: no reference rate`; empty if each has one."""
    codes = ", ".join(sorted(currencies))
    return f"{whose}without {codes}: no reference rate" if codes else ""


def _rounded(worth: Fraction) -> Decimal:
    return rounded(worth, exponent(REPORTING))


def _day_ends(days: Iterable[_Row], scope: str) -> list[Decimal]:
    """Return a scope's amount at the end of each day on which it has one."""
    of_scope = (
        (row["day"], row["amount"])
        for row in days
        if scope == (WHOLE if row["kind"] == WHOLE else row["currency"])
    )
    return list(totals(of_scope).values())


def _held(
    amount: Decimal, limit: Decimal | None, day_ends: Iterable[Decimal], in_doubt: Decimal | None
) -> dict[str, Any]:
    """Compare an amount with its limit; `in_doubt` is the maximum that may be there in addition."""
    if limit is None:
        return {"limit": None, "above_limit": None, "days_above": None, "standing": _NO_LIMIT}
    above = difference(amount, limit)
    is_within = in_doubt is not None and total((amount, in_doubt)) <= limit
    return {
        "limit": limit,
        "above_limit": above if above > 0 else None,
        "days_above": sum(1 for day_end in day_ends if day_end > limit),
        "standing": _ABOVE if above > 0 else _WITHIN if is_within else _NOT_PROVABLE,
    }
