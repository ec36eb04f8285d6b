"""What conversions cost by the reference rates: the stated fee, and what the rate itself took.

What was given and what was received are valued on the day of the conversion. Their difference is
the stated fee and a difference to the reference, which has the provider's spread and what the
market did since the rate was published. Only rates that were given with an instant near the
conversion's own tell the two apart. Numerators over one denominator stay whole numbers until an
amount is shown: a month has many conversions, and each figure is rounded once (`benchmarks.close`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.coins.coin_events import conversion_problem
from treasury.close.coins.coin_value import REPORTING
from treasury.close.result_words import DIRECTIONS, amount_words, count
from treasury.lake import AMOUNT, DATE, INTEGER, TEXT
from treasury.money import SCALE, exponent, rounded_ratio, whole_units
from treasury.rates import ReferenceRate, ReferenceRates
from treasury.reconcile.monthly import Reconciliation

__all__ = [
    "CONVERSION_COSTS", "COST", "COSTS_BY_PAIR", "IN_THE_RATE", "NOT_VALUED", "REQUEST",
    "TO_REFERENCE", "VIRTUAL_ACCOUNT", "ConversionCosts", "CostSum", "RecordedConversion",
    "account_conversions", "conversion_costs", "request_conversions",
]  # fmt: skip

IN_THE_RATE: Final = "in the rate"
TO_REFERENCE: Final = "difference to the ECB reference (spread and market movement)"
"""What a difference is called: the first only where rates with an instant gave it."""
REQUEST: Final = "request"
VIRTUAL_ACCOUNT: Final = "virtual account"
_BASIS_POINTS: Final = pa.decimal128(38, 2)
_BEYOND: Final = 10**19
"""Amounts up to this, and their differences, fit into a table."""
_LONGEST: Final = timedelta(days=7)
"""A conversion between two balances that lie further apart has no day that a rate could be of."""

_VALUES: Final = [
    ("value_currency", TEXT),
    ("given_value", AMOUNT),
    ("received_value", AMOUNT),
    ("cost", AMOUNT),
    ("stated_fee", AMOUNT),
    ("reference_difference", AMOUNT),
]
COST: Final = pa.schema(
    [
        *_VALUES,
        ("cost_bp", _BASIS_POINTS),
        ("reference_difference_bp", _BASIS_POINTS),
        ("difference_is", TEXT),
        ("valued_by", TEXT),
        ("not_valued", TEXT),
    ]
)
"""What a conversion cost, in `value_currency`: `cost` is the value given less the value received,
and is made up of `stated_fee` and `reference_difference`, each rounded by itself. `cost_bp` is of
the value given, `reference_difference_bp` of the value that was converted: without the fee where
it was taken before. `difference_is` names the difference, `valued_by` the rates and their day;
`not_valued` says why a conversion has no value, and is empty for one that has."""
_DIFFERENCE_BP: Final = COST.get_field_index("reference_difference_bp")
CONVERSION_COSTS: Final = pa.schema(
    [
        ("source", TEXT),
        ("source_id", TEXT),
        ("reference", TEXT),
        ("month", TEXT),
        ("converted_on", DATE),
        ("pair", TEXT),
        ("given", AMOUNT),
        ("given_currency", TEXT),
        ("received", AMOUNT),
        ("received_currency", TEXT),
        *COST,
    ]
)
"""A row a conversion: a completed request, or what the balances of a virtual account prove."""
COSTS_BY_PAIR: Final = pa.schema(
    [
        ("month", TEXT),
        ("pair", TEXT),
        ("conversions", INTEGER),
        *_VALUES,
        ("cost_bp", _BASIS_POINTS),
        ("reference_difference_bp", _BASIS_POINTS),
        ("lowest_bp", _BASIS_POINTS),
        ("highest_bp", _BASIS_POINTS),
        ("difference_is", TEXT),
        ("not_valued", INTEGER),
    ]
)
"""A row a month, pair and kind of difference: sums of the `conversions` that have a value, and the
least and the most of their differences in basis points. `not_valued` counts those without one,
which are in no sum."""
NOT_VALUED: Final = [
    "converted_on", "source", "reference", "pair", "given", "given_currency", "received",
    "received_currency", "not_valued",
]  # fmt: skip
"""What is shown of a conversion without a value."""


class RecordedConversion(msgspec.Struct, frozen=True, kw_only=True):
    """A conversion as it is recorded: what was given for what on which day.

    `fiat` is what went in or came out of an account: with the fee where it is given, without it
    where it is received. `at` is the instant, where one is known; `problem` says why it cannot be
    valued, whatever the rates.
    """

    source: str
    source_id: str
    reference: str
    month: str
    day: date | None
    at: datetime | None
    is_on_ramp: bool
    fiat: Decimal | None
    fiat_currency: str
    fee: Decimal | None
    crypto: Decimal | None
    crypto_currency: str
    problem: str = ""

    @property
    def pair(self) -> str:
        """`EUR → USDC`: what was given for what."""
        pair = (self.fiat_currency, self.crypto_currency)
        return " → ".join(pair if self.is_on_ramp else reversed(pair))


class _Valued(msgspec.Struct, frozen=True):
    """The values of a conversion as numerators over one denominator, and what they rest on."""

    denominator: int
    given: int
    received: int
    fee: int
    converted: int
    difference_is: str
    valued_by: str

    @property
    def cost(self) -> int:
        return self.given - self.received

    @property
    def difference(self) -> int:
        return self.cost - self.fee

    def difference_bp(self) -> Decimal | None:
        """The difference to the reference in basis points of what was converted."""
        return _basis_points(self.difference, self.converted)


class CostSum(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of some conversions that have a value, in the reporting currency."""

    conversions: int
    cost: Decimal
    stated_fee: Decimal
    reference_difference: Decimal
    reference_difference_bp: Decimal | None
    difference_is: str


class ConversionCosts(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the conversions of some months cost. `each` as in CONVERSION_COSTS, a row each.

    `by_pair` as in COSTS_BY_PAIR; `sums` has the whole, a sum for each kind of difference.
    `rests_on` names the sources of the rates, the last day that was taken, and what is assumed.
    """

    each: pa.Table
    by_pair: pa.Table
    sums: tuple[CostSum, ...]
    not_valued: int
    rests_on: tuple[str, ...]

    @property
    def without_value(self) -> pa.Table:
        """The conversions without a value, and why; in no sum."""
        return self.each.filter(pc.not_equal(self.each["not_valued"], "")).select(NOT_VALUED)

    @property
    def title(self) -> str:
        """`EUR 120.00 on 5 conversions: EUR 80.00 stated fee, EUR 40.00 (35.00 bp) …`."""
        parts = [
            f"{amount_words(sums.cost, REPORTING)} on {count(sums.conversions, 'conversion')}:"
            f" stated fee {amount_words(sums.stated_fee, REPORTING)}, {sums.difference_is}"
            f" {amount_words(sums.reference_difference, REPORTING)}"
            + ("" if (bp := sums.reference_difference_bp) is None else f" ({bp:,.2f} bp)")
            for sums in self.sums
        ]
        if self.not_valued:
            parts.append(f"{count(self.not_valued, 'conversion')} without a value, in no sum")
        return " · ".join(parts) or "no conversion"


def request_conversions(requests: pa.Table) -> Iterator[RecordedConversion]:
    """The requests of a fee table as conversions, in their order."""
    names = (
        "request_id", "reference", "month", "completed_on", "completed_at", "direction", "fee",
        "fiat_gross", "fiat_net", "fiat_currency", "crypto", "crypto_currency",
    )  # fmt: skip
    columns = [requests[name].to_pylist() for name in names]
    for (
        request, reference, month, day, at, direction, fee, gross, net, fiat, crypto, coin,
    ) in zip(*columns, strict=True):  # fmt: skip
        on_ramp = direction == DIRECTIONS["ON_RAMP"]
        yield RecordedConversion(
            source=REQUEST, source_id=request, reference=reference or "", month=month, day=day,
            at=at, is_on_ramp=on_ramp, fiat=gross if on_ramp else net, fiat_currency=fiat, fee=fee,
            crypto=crypto, crypto_currency=coin or "?",
            problem="" if on_ramp or direction == DIRECTIONS["OFF_RAMP"] else "unknown direction",
        )  # fmt: skip


def account_conversions(r: Reconciliation, *, is_last: bool = True) -> Iterator[RecordedConversion]:
    """What virtual accounts converted by the month's end, and what of it is not proved.

    An interval between two balances counts in the month in which it closes. One around the month's
    end is told of the last month that is asked for alone, for it counts in the next.
    """
    zone = ZoneInfo("UTC") if r.basis is None else r.basis.question.zone
    start, end = r.month.start(zone), r.month.end(zone)
    for row in r.conversions.to_pylist():
        closed_at, opened_at = row["closed_at"], row["opened_at"]
        is_closed = closed_at is not None and closed_at < end
        if not row["converted"] or (closed_at is not None and closed_at <= start):
            continue
        if not is_closed and not is_last:
            continue
        problem = conversion_problem(row, end)
        if not problem and (opened_at is None or closed_at - opened_at > _LONGEST):
            problem = f"not provable: its day is not known within {_LONGEST.days} days"
        yield RecordedConversion(
            source=VIRTUAL_ACCOUNT,
            source_id=row["account_id"],
            reference=row["account"],
            month=str(r.month),
            day=closed_at.astimezone(zone).date() if is_closed else None,
            at=None,
            is_on_ramp=True,
            fiat=row["fiat"],
            fiat_currency=row["currency"] or "?",
            fee=Decimal(0),
            crypto=row["converted"],
            crypto_currency=row["asset"],
            problem=problem,
        )


def conversion_costs(
    exchanges: Iterable[RecordedConversion], rates: ReferenceRates
) -> ConversionCosts:
    """Each conversion valued by the rates, and the sums by month and pair."""
    appraisal = _Appraisal(rates)
    rows: list[tuple[Any, ...]] = []
    groups: dict[tuple[str, str, str], _Sum] = defaultdict(_Sum)
    sums: dict[str, _Sum] = defaultdict(_Sum)
    without: Counter[tuple[str, str]] = Counter()
    for exchange in exchanges:
        valued, absence = appraisal.value(exchange)
        cells = _cost_cells(valued, absence)
        rows.append((*_recorded_cells(exchange), *cells))
        if valued is None:
            without[exchange.month, exchange.pair] += 1
        else:
            difference_bp = cells[_DIFFERENCE_BP]
            groups[exchange.month, exchange.pair, valued.difference_is].add(valued, difference_bp)
            sums[valued.difference_is].add(valued, difference_bp)
    return ConversionCosts(
        each=_table(rows, CONVERSION_COSTS),
        by_pair=_table(_pair_rows(groups, without), COSTS_BY_PAIR),
        sums=tuple(sums[name].whole(name) for name in sorted(sums)),
        not_valued=without.total(),
        rests_on=appraisal.rests_on,
    )


class _Appraisal:
    """Values of conversions; each pair of rates is worked out once a day, or once an instant."""

    def __init__(self, rates: ReferenceRates) -> None:
        self._rates = rates
        self._dated: dict[tuple[str, str, date], tuple[_Terms | None, str]] = {}
        self._is_daily: dict[tuple[str, str], bool] = {}
        self._last_days: dict[str, date] = {}
        self._assumptions: set[str] = set()

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The sources of the rates that were taken, each to its last day, and the assumptions."""
        sources = [f"{source}, to {day}" for source, day in sorted(self._last_days.items())]
        return (*sources, *(f"assumed: {assumed}" for assumed in sorted(self._assumptions)))

    def value(self, exchange: RecordedConversion) -> tuple[_Valued | None, str]:
        """The values of a conversion, or why it has none."""
        fiat, crypto, fee = exchange.fiat, exchange.crypto, exchange.fee
        if exchange.problem:
            return None, exchange.problem
        recorded = (("fiat", fiat), ("fee", fee), ("crypto", crypto))
        missing = [name for name, amount in recorded if amount is None]
        if fiat is None or crypto is None or fee is None:
            return None, f"not provable: no {' and no '.join(missing)} amount is recorded"
        if exchange.day is None:
            return None, "not provable: its day is not known"
        terms, absence = self._terms_of(exchange, exchange.day)
        if terms is None:
            return None, absence
        fiat_value = whole_units(fiat) * terms.fiat
        fee_value = whole_units(fee) * terms.fiat
        coin_value = whole_units(crypto) * terms.coin
        if exchange.is_on_ramp:
            given, received, converted = fiat_value, coin_value, fiat_value - fee_value
        else:
            given, received, converted = coin_value, fiat_value, coin_value
        largest = max(map(abs, (given, received, fee_value)))
        if largest >= _BEYOND * terms.denominator:
            return None, "not provable: its amounts are beyond what any table holds"
        valued = _Valued(
            terms.denominator, given, received, fee_value, converted, terms.difference_is,
            terms.valued_by,
        )  # fmt: skip
        return valued, ""

    def _terms_of(self, exchange: RecordedConversion, day: date) -> tuple[_Terms | None, str]:
        pair = exchange.fiat_currency, exchange.crypto_currency
        if pair not in self._is_daily:
            self._is_daily[pair] = not any(map(self._rates.has_instants, pair))
        if exchange.at is not None and not self._is_daily[pair]:
            return self._read(*pair, day, exchange.at)
        key = (*pair, day)
        if key not in self._dated:
            self._dated[key] = self._read(*key, None)
        return self._dated[key]

    def _read(
        self, fiat: str, coin: str, day: date, at: datetime | None
    ) -> tuple[_Terms | None, str]:
        rates = [self._rates.rate(code, REPORTING, day, at) for code in (fiat, coin)]
        absences = [
            self._rates.absence(code, day)
            for code, rate in zip((fiat, coin), rates, strict=True)
            if rate is None
        ]
        known = [rate for rate in rates if rate is not None]
        if absences:
            return None, "; ".join(absences)
        for rate in known:
            if rate.source:
                last = self._last_days.get(rate.source, rate.day)
                self._last_days[rate.source] = max(last, rate.day)
            if rate.assumption:
                self._assumptions.add(rate.assumption)
        return _Terms.of(*known), ""


class _Terms(msgspec.Struct, frozen=True):
    """The rates of a pair as numerators over one denominator, and what they rest on."""

    fiat: int
    coin: int
    denominator: int
    difference_is: str
    valued_by: str

    @classmethod
    def of(cls, fiat: ReferenceRate, coin: ReferenceRate) -> _Terms:
        published = [rate for rate in (fiat, coin) if rate.source]
        has_instants = bool(published) and all(rate.has_instant for rate in published)
        return cls(
            fiat=fiat.rate.numerator * coin.rate.denominator,
            coin=coin.rate.numerator * fiat.rate.denominator,
            denominator=fiat.rate.denominator * coin.rate.denominator * 10**SCALE,
            difference_is=IN_THE_RATE if has_instants else TO_REFERENCE,
            valued_by="; ".join(filter(None, dict.fromkeys((fiat.basis, coin.basis)))),
        )


class _Sum:
    """The values of some conversions, exact: whole numbers by their denominator."""

    def __init__(self) -> None:
        self.conversions = 0
        self.differences: list[Decimal] = []
        self._parts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)

    def add(self, valued: _Valued, difference_bp: Decimal | None) -> None:
        self.conversions += 1
        part = self._parts[valued.denominator]
        part[0] += valued.given
        part[1] += valued.received
        part[2] += valued.fee
        part[3] += valued.converted
        if difference_bp is not None:
            self.differences.append(difference_bp)

    def exact(self, difference_is: str) -> _Valued:
        """The sums over one denominator."""
        sums = [Fraction(0)] * 4
        for denominator, part in self._parts.items():
            sums = [sums[at] + Fraction(value, denominator) for at, value in enumerate(part)]
        common = 1
        for exact in sums:
            common *= exact.denominator
        numerators = [exact.numerator * (common // exact.denominator) for exact in sums]
        given, received, fee, converted = numerators
        return _Valued(common, given, received, fee, converted, difference_is, "")

    def whole(self, difference_is: str) -> CostSum:
        """The sums as a person reads them."""
        exact = self.exact(difference_is)
        return CostSum(
            conversions=self.conversions,
            cost=_amount(exact.cost, exact),
            stated_fee=_amount(exact.fee, exact),
            reference_difference=_amount(exact.difference, exact),
            reference_difference_bp=exact.difference_bp(),
            difference_is=difference_is,
        )


def _recorded_cells(exchange: RecordedConversion) -> tuple[Any, ...]:
    sides = [
        (exchange.fiat, exchange.fiat_currency),
        (exchange.crypto, exchange.crypto_currency),
    ]
    given, received = sides if exchange.is_on_ramp else reversed(sides)
    return (
        exchange.source, exchange.source_id, exchange.reference, exchange.month, exchange.day,
        exchange.pair, *given, *received,
    )  # fmt: skip


def _cost_cells(valued: _Valued | None, absence: str) -> tuple[Any, ...]:
    """What stands in the columns of COST."""
    if valued is None:
        return (REPORTING, *(None,) * 7, "", "", absence)
    return (*_value_cells(valued), valued.difference_is, valued.valued_by, "")


def _value_cells(valued: _Valued) -> tuple[Any, ...]:
    """The values, rounded once each, and the basis points."""
    values = (valued.given, valued.received, valued.cost, valued.fee, valued.difference)
    return (
        REPORTING,
        *(_amount(value, valued) for value in values),
        _basis_points(valued.cost, valued.given),
        valued.difference_bp(),
    )


def _pair_rows(
    groups: Mapping[tuple[str, str, str], _Sum], without: Mapping[tuple[str, str], int]
) -> list[tuple[Any, ...]]:
    """The sums by month and pair in order; a pair without any value has a row of its own."""
    rows = []
    counted: set[tuple[str, str]] = set()
    for month, pair, difference_is in sorted({*groups, *((*key, "") for key in without)}):
        key = (month, pair)
        own = groups.get((month, pair, difference_is))
        if own is None:
            if any((month, pair, name) in groups for name in (IN_THE_RATE, TO_REFERENCE)):
                continue  # counted beside the sums
            rows.append((*key, 0, REPORTING, *(None,) * 9, "", without[key]))
            continue
        number = 0 if key in counted else without.get(key, 0)
        counted.add(key)
        exact = own.exact(difference_is)
        bounds = (min(own.differences), max(own.differences)) if own.differences else (None, None)
        rows.append((*key, own.conversions, *_value_cells(exact), *bounds, difference_is, number))
    return rows


def _amount(numerator: int, valued: _Valued) -> Decimal:
    return rounded_ratio(numerator, valued.denominator, exponent(REPORTING))


def _basis_points(part: int, whole: int) -> Decimal | None:
    """`part` of `whole`; None where nothing is whole, or so little that no column holds it."""
    is_told = whole > 0 and abs(part) < 10**30 * whole
    return rounded_ratio(part * 10_000, whole, 2) if is_told else None


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
