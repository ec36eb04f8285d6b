"""The cost of conversions by the reference rates: the stated fee, and a difference in the rate.

Both sides of a conversion are valued on its day. Their difference is the stated fee plus a
difference from the reference rate. That difference contains the provider's spread and the market's
movement since the rate was published. Only a rate with a time near the conversion excludes the
movement: the difference is then called *in the rate*, otherwise it is named after the publisher.
Values are integer numerators over the denominator of their rates until they are shown. So each
figure is rounded once, and a month with many conversions is fast (see `benchmarks.close`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from operator import add, sub
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.result_words import amount_words, count
from treasury.close.valuation.coins.coin_events import conversion_problem
from treasury.close.valuation.coins.coin_value import REPORTING
from treasury.core.money import SCALE, exponent, half_up, rounded
from treasury.core.tables.column_texts import distinct_rows
from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.csv_output import rows_of
from treasury.core.tables.decimal_columns import decimal_column, whole_numbers
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema, table_of
from treasury.core.tables.table import Table
from treasury.core.wording import DIRECTIONS
from treasury.month.reconciliation import Reconciliation
from treasury.rates import ReferenceRate, ReferenceRates
from treasury.rates.rate_table import BANK, OWN
from treasury.rates.reference_rates import RateSources

REQUEST: Final = "request"
VIRTUAL_ACCOUNT: Final = "virtual account"
_BASIS_POINTS: Final = pa.decimal128(38, 2)
_BEYOND: Final = 10**19
"""Maximum amount, so that differences of amounts fit into a table too."""
_LONGEST: Final = timedelta(days=7)
"""Maximum time between two balances; if it is longer, the conversion's day is unknown."""

_MARKET: Final = "(spread and market movement)"
IN_THE_RATE: Final = "in the rate"
TO_REFERENCE: Final = f"difference to the ECB reference {_MARKET}"
TO_OWN_RATE: Final = f"difference to the company's rate {_MARKET}"
TO_ASSUMED_RATE: Final = f"difference to the assumed rate {_MARKET}"
TO_SEVERAL: Final = f"difference to the reference {_MARKET}"
"""The name of a difference from company and ECB rates together, and of a sum of several kinds."""

_BY_PUBLISHER: Final = {
    frozenset[str](): TO_ASSUMED_RATE,
    frozenset({BANK}): TO_REFERENCE,
    frozenset({OWN}): TO_OWN_RATE,
    frozenset({BANK, OWN}): TO_SEVERAL,
}

_VALUES: Final = (
    (TEXT, "value_currency"),
    (
        amount_in("value_currency"),
        "given_value",
        "received_value",
        "cost",
        "stated_fee",
        "reference_difference",
    ),
)
COST: Final = grouped_schema(
    *_VALUES,
    (_BASIS_POINTS, "cost_bp", "reference_difference_bp"),
    (TEXT, "difference_is", "valued_by", "not_valued"),
)
"""The cost of a conversion, in `value_currency`.

`cost` is the value given less the value received. It consists of `stated_fee` and
`reference_difference`, each rounded separately. `cost_bp` is relative to the value given, and
`reference_difference_bp` to the value converted, which excludes a fee taken before the conversion.
`difference_is` is the kind of difference, `valued_by` the rates and their day. `not_valued` is why
a conversion has no value, and empty otherwise.
"""
CONVERSION_COSTS: Final = grouped_schema(
    (TEXT, "source", "source_id", "reference", "month"),
    (DATE, "converted_on"),
    (TEXT, "pair"),
    (amount_in("given_currency"), "given"),
    (TEXT, "given_currency"),
    (amount_in("received_currency"), "received"),
    (TEXT, "received_currency"),
    *COST,
)
"""One row per conversion: a completed request, or one inferred from virtual accounts' balances."""
COSTS_BY_PAIR: Final = grouped_schema(
    (TEXT, "month", "pair"),
    (INTEGER, "conversions"),
    *_VALUES,
    (_BASIS_POINTS, "cost_bp", "reference_difference_bp", "lowest_bp", "highest_bp"),
    (TEXT, "difference_is"),
    (INTEGER, "not_valued"),
)
"""One row per month, pair and kind of difference: the sums of the `conversions` with a value.

A pair without any value has one row without sums. `lowest_bp` and `highest_bp` are the smallest and
largest difference in basis points. `not_valued` counts the pair's conversions without a value,
which the sums exclude; it is in the pair's first row only.
"""
NOT_VALUED: Final = [
    "converted_on", "source", "reference", "pair", "given", "given_currency", "received",
    "received_currency", "not_valued",
]  # fmt: skip
"""The columns shown for a conversion without a value."""


RECORDED: Final = grouped_schema(
    (TEXT, "source", "source_id", "reference", "month"),
    (DATE, "day"),
    (INSTANT, "at"),
    (BOOL, "is_on_ramp"),
    (AMOUNT, "fiat"),
    (TEXT, "fiat_currency"),
    (AMOUNT, "fee", "crypto"),
    (TEXT, "crypto_currency", "problem"),
)
"""One row per conversion as recorded: its amounts and its `day`.

`fiat` is the amount that left or entered an account. Fiat that was given includes the fee; fiat
that was received does not. `at` is the time, if it is known. `problem` is why it cannot be valued
at any rate.
"""
_Asked = tuple[str, str, date, datetime | None]
"""Fiat currency, coin, day, and the time if there are rates with a time."""


class CostSum(msgspec.Struct, frozen=True):
    """The sums of conversions with a value, in the reporting currency.

    `difference_is` is the kind of difference, or TO_SEVERAL if the conversions have several kinds.
    """

    conversions: int
    cost: Decimal
    stated_fee: Decimal
    reference_difference: Decimal
    reference_difference_bp: Decimal | None
    difference_is: str


class ConversionCosts(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The cost of conversions in a range of months.

    `each` has a row per conversion, as in CONVERSION_COSTS. `by_pair` is as in COSTS_BY_PAIR.
    `sums` are the totals, separately for differences in the rate. `rests_on` names the sources of
    the rates, their last day, and the assumptions.
    """

    each: Table
    by_pair: Table
    sums: tuple[CostSum, ...]
    not_valued: int
    rests_on: tuple[str, ...]

    @property
    def without_value(self) -> Table:
        """The conversions without a value and the reason; no sum includes them."""
        each = self.each.arrow
        return Table(each.filter(pc.not_equal(each["not_valued"], "")).select(NOT_VALUED))

    @property
    def title(self) -> str:
        """`EUR 120.00 on 5 conversions: stated fee EUR 80.00, in the rate EUR 40.00 (35.00 bp)`."""
        parts = [
            f"{amount_words(sums.cost, REPORTING)} on {count(sums.conversions, 'conversion')}:"
            f" stated fee {amount_words(sums.stated_fee, REPORTING)}, {sums.difference_is}"
            f" {amount_words(sums.reference_difference, REPORTING)}"
            + ("" if (bp := sums.reference_difference_bp) is None else f" ({bp:,.2f} bp)")
            for sums in self.sums
        ]
        if self.not_valued:
            parts.append(f"{count(self.not_valued, 'conversion')} without a value, not included")
        return " · ".join(parts) or "no conversion"


def request_conversions(requests: pa.Table) -> pa.Table:
    """Return the requests of a fee table as conversions, in order; columns as in RECORDED."""
    is_on_ramp, is_off_ramp = (
        pc.fill_null(pc.equal(requests["direction"], DIRECTIONS[name]), False)
        for name in ("ON_RAMP", "OFF_RAMP")
    )
    columns = {
        "source": pa.repeat(REQUEST, requests.num_rows),
        "source_id": requests["request_id"],
        "reference": pc.fill_null(requests["reference"], ""),
        "month": requests["month"],
        "day": requests["completed_on"],
        "at": requests["completed_at"],
        "is_on_ramp": is_on_ramp,
        "fiat": pc.if_else(is_on_ramp, requests["fiat_gross"], requests["fiat_net"]),
        "fiat_currency": requests["fiat_currency"],
        "fee": requests["fee"],
        "crypto": requests["crypto"],
        "crypto_currency": pc.fill_null(requests["crypto_currency"], "?"),
        "problem": pc.if_else(pc.or_(is_on_ramp, is_off_ramp), "", "unknown direction"),
    }
    return pa.table([columns[name] for name in RECORDED.names], schema=RECORDED)


def account_conversions(r: Reconciliation, *, is_last: bool = True) -> pa.Table:
    """Return the month's conversions of virtual accounts, including unproved ones, as in RECORDED.

    An interval between two balances counts in the month in which it ends. `is_last` says whether
    this is the last requested month. An interval around its end is included as unproved; in earlier
    months such an interval is left out, because it counts in the next month.
    """
    zone = ZoneInfo("UTC") if r.basis is None else r.basis.question.zone
    start, end = r.month.start(zone), r.month.end(zone)
    rows = []
    for row in r.conversions.arrow.to_pylist():
        closed_at, opened_at = row["closed_at"], row["opened_at"]
        is_closed = closed_at is not None and closed_at < end
        is_before = closed_at is not None and closed_at <= start
        if not row["converted"] or is_before or not (is_closed or is_last):
            continue
        problem = conversion_problem(row, end)
        if not problem and (opened_at is None or closed_at - opened_at > _LONGEST):
            problem = f"not provable: its day is not known within {_LONGEST.days} days"
        rows.append(
            {
                "source": VIRTUAL_ACCOUNT,
                "source_id": row["account_id"],
                "reference": row["account"],
                "month": str(r.month),
                "day": closed_at.astimezone(zone).date() if is_closed else None,
                "is_on_ramp": True,
                "fiat": row["fiat"],
                "fiat_currency": row["currency"] or "?",
                "fee": Decimal(0),
                "crypto": row["converted"],
                "crypto_currency": row["asset"],
                "problem": problem,
            }
        )
    return pa.Table.from_pylist(rows, schema=RECORDED)


def conversion_costs(recorded: pa.Table, rates: ReferenceRates) -> ConversionCosts:
    """Value each conversion by the rates, and sum them; `recorded` is as in RECORDED."""
    appraisal = _Appraisal(rates)
    values = appraisal.values_of(recorded)
    currencies = recorded["fiat_currency"], recorded["crypto_currency"]
    pairs = pc.if_else(
        recorded["is_on_ramp"],
        pc.binary_join_element_wise(*currencies, " → "),
        pc.binary_join_element_wise(*reversed(currencies), " → "),
    )
    keys = list(zip(recorded["month"].to_pylist(), pairs.to_pylist(), strict=True))
    without = Counter(key for key, why in zip(keys, values.not_valued, strict=True) if why)
    places: defaultdict[tuple[tuple[str, str], str, int], list[int]] = defaultdict(list)
    for place, (row, terms) in enumerate(zip(values.rows, values.terms, strict=True)):
        places[keys[row], terms.difference_is, terms.denominator].append(place)
    groups: defaultdict[tuple[str, str, str], _Sum] = defaultdict(_Sum)
    for (key, difference_is, denominator), own in places.items():
        groups[*key, difference_is].add(values, own, denominator)
    sums: defaultdict[bool, _Sum] = defaultdict(_Sum)
    kinds: defaultdict[bool, set[str]] = defaultdict(set)
    for (_, _, difference_is), group in groups.items():
        sums[difference_is == IN_THE_RATE].include(group)
        kinds[difference_is == IN_THE_RATE].add(difference_is)
    return ConversionCosts(
        each=_each(recorded, pairs, values),
        by_pair=table_of(_pair_rows(groups, without), COSTS_BY_PAIR),
        sums=tuple(sums[is_in].whole(difference_of_sum(kinds[is_in])) for is_in in sorted(sums)),
        not_valued=without.total(),
        rests_on=appraisal.sources.words(),
    )


class _Values:
    """The values given and received in conversions, as numerators over their rates' denominators.

    `rows` are the row numbers of conversions with a value; all other lists are in this order.
    `converted` is the converted part, without a fee taken beforehand. `not_valued` has the reason
    for each conversion without a value, and is empty for the others.
    """

    def __init__(self, conversions: int) -> None:
        self.not_valued = [""] * conversions
        self.rows: list[int] = []
        self.terms: list[_Terms] = []
        self.given: list[int] = []
        self.received: list[int] = []
        self.fee: list[int] = []
        self.converted: list[int] = []

    @cached_property
    def cost(self) -> list[int]:
        """The value given less the value received."""
        return list(map(sub, self.given, self.received))

    @cached_property
    def difference(self) -> list[int]:
        """The cost less the stated fee."""
        return list(map(sub, self.cost, self.fee))

    @cached_property
    def difference_bp(self) -> list[int | None]:
        """The difference in hundredths of a basis point of the converted value."""
        return list(map(_basis_points, self.difference, self.converted))

    def cents(self, numerators: Sequence[int]) -> list[int]:
        """Return values in minor units of the reporting currency, each rounded once."""
        unit = 10 ** exponent(REPORTING)
        return [
            half_up(number * unit, terms.denominator)
            for number, terms in zip(numerators, self.terms, strict=True)
        ]


class _Appraisal:
    """The valuation of conversions; the rates of a pair are computed once per day or time."""

    def __init__(self, rates: ReferenceRates) -> None:
        self._rates = rates
        self.sources = RateSources()

    def values_of(self, recorded: pa.Table) -> _Values:
        """Return the values of conversions, and why some have none."""
        values = _Values(recorded.num_rows)
        asked, places = self._asked(recorded)
        read = cache(self._read)
        amounts = (whole_numbers(recorded[name]) for name in ("fiat", "fee", "crypto"))
        others = (recorded[name].to_pylist() for name in ("is_on_ramp", "problem"))
        rows = enumerate(zip(places, *amounts, *others, strict=True))
        for row, (place, fiat, fee, crypto, is_on_ramp, problem) in rows:
            lacking = problem or _lacking(fiat, fee, crypto, asked[place][2])
            terms, values.not_valued[row] = (None, lacking) if lacking else read(*asked[place])
            if terms is None:
                continue
            fiat_value = fiat * terms.fiat
            fee_value = fee * terms.fiat
            coin_value = crypto * terms.coin
            if max(abs(fiat_value), abs(coin_value), abs(fee_value)) >= terms.beyond:
                values.not_valued[row] = "not provable: its amounts are beyond what any table holds"
                continue
            values.rows.append(row)
            values.terms.append(terms)
            values.given.append(fiat_value if is_on_ramp else coin_value)
            values.received.append(coin_value if is_on_ramp else fiat_value)
            values.fee.append(fee_value)
            values.converted.append(fiat_value - fee_value if is_on_ramp else coin_value)
        return values

    def _asked(self, recorded: pa.Table) -> tuple[list[_Asked], list[int]]:
        """Return the distinct pairs, days and times that need rates, and each row's place there."""
        pair = ["fiat_currency", "crypto_currency"]
        codes = {code for name in pair for code in recorded[name].unique().to_pylist()}
        with_instants = set(filter(self._rates.has_instants, codes))
        by = [*pair, "day", "at"] if with_instants else [*pair, "day"]
        rated, places = distinct_rows(recorded, by)
        asked = [
            (fiat, coin, day, None if with_instants.isdisjoint((fiat, coin)) else at[0])
            for fiat, coin, day, *at, _ in rows_of(rated)
        ]
        return asked, places.to_pylist()

    def _read(
        self, fiat: str, coin: str, day: date, at: datetime | None
    ) -> tuple[_Terms | None, str]:
        rates, absences = [], []
        for code in (fiat, coin):
            rate = self._rates.rate(code, REPORTING, day, at)
            if rate is None:
                absences.append(self._rates.absence(code, day, at))
            else:
                rates.append(rate)
        if absences:
            return None, "; ".join(absences)
        for rate in rates:
            self.sources.add(rate)
        return _Terms.of(*rates), ""


def _lacking(fiat: int | None, fee: int | None, crypto: int | None, day: date | None) -> str:
    """Return which input of a conversion's value is missing; usually empty."""
    if fiat is None or fee is None or crypto is None:
        stated = (("fiat", fiat), ("fee", fee), ("crypto", crypto))
        missing = " and no ".join(name for name, amount in stated if amount is None)
        return f"not provable: no {missing} amount is recorded"
    return "not provable: its day is not known" if day is None else ""


def difference_against(rates: Iterable[ReferenceRate]) -> str:
    """Return the name of the difference from these rates."""
    published = [rate for rate in rates if rate.source]
    if published and all(rate.has_instant for rate in published):
        return IN_THE_RATE
    return _BY_PUBLISHER[frozenset(name for rate in published for name in rate.publishers)]


def difference_of_sum(names: Iterable[str]) -> str:
    """Return the name of the summed differences; either all or none are *in the rate*."""
    (name, *others) = set(names)
    return TO_SEVERAL if others else name


class _Terms(msgspec.Struct, frozen=True):
    """The rates of a pair as numerators over one denominator, and the words for them."""

    fiat: int
    coin: int
    denominator: int
    difference_is: str
    valued_by: str
    beyond: int
    """Maximum numerator, so that the amounts and their differences fit into a table."""

    @classmethod
    def of(cls, fiat: ReferenceRate, coin: ReferenceRate) -> _Terms:
        denominator = fiat.rate.denominator * coin.rate.denominator * 10**SCALE
        return cls(
            fiat=fiat.rate.numerator * coin.rate.denominator,
            coin=coin.rate.numerator * fiat.rate.denominator,
            denominator=denominator,
            difference_is=difference_against((fiat, coin)),
            valued_by="; ".join(filter(None, dict.fromkeys((fiat.basis, coin.basis)))),
            beyond=_BEYOND * denominator,
        )


class _Sum:
    """Exact sums of conversion values: numerators by denominator."""

    def __init__(self) -> None:
        self.conversions = 0
        self.differences: list[int] = []
        self._parts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)

    def add(self, values: _Values, places: Sequence[int], denominator: int) -> None:
        """Add conversions whose values have the same denominator."""
        self.conversions += len(places)
        part = self._parts[denominator]
        summed = (values.given, values.received, values.fee, values.converted)
        for at, numerators in enumerate(summed):
            part[at] += sum(numerators[place] for place in places)
        points = (values.difference_bp[place] for place in places)
        self.differences += [difference for difference in points if difference is not None]

    def include(self, other: _Sum) -> None:
        """Add another sum, without its list of differences."""
        self.conversions += other.conversions
        for denominator, part in other._parts.items():
            self._parts[denominator] = list(map(add, self._parts[denominator], part))

    def exact(self) -> list[Fraction]:
        """Return the totals given, received, taken as fee, and converted."""
        parts = [Fraction(0)] * 4
        for denominator, part in self._parts.items():
            parts = [parts[at] + Fraction(number, denominator) for at, number in enumerate(part)]
        return parts

    def whole(self, difference_is: str) -> CostSum:
        """Return the sums rounded for display."""
        _, _, cost, fee, difference, _, difference_bp = self.cells()
        return CostSum(self.conversions, cost, fee, difference, difference_bp, difference_is)

    def cells(self) -> tuple[Any, ...]:
        """Return the columns from `given_value` to the basis points, each rounded once."""
        given, received, fee, converted = self.exact()
        cost, places = given - received, exponent(REPORTING)
        amounts = [rounded(exact, places) for exact in (given, received, cost, fee, cost - fee)]
        shares = ((cost, given), (cost - fee, converted))
        ratios = [Fraction(part, whole) if whole else Fraction(0) for part, whole in shares]
        points = [
            _basis_points(ratio.numerator, ratio.denominator if whole > 0 else 0)
            for ratio, (_, whole) in zip(ratios, shares, strict=True)
        ]
        return (*amounts, *map(_in_points, points))


def _each(recorded: pa.Table, pairs: pa.ChunkedArray, values: _Values) -> pa.Table:
    """Return the conversions with their costs; columns as in CONVERSION_COSTS."""
    valued = pa.array(values.rows, pa.int64())
    places = pc.index_in(pa.array(range(recorded.num_rows), pa.int64()), valued)

    def of_valued(numbers: Sequence[int | None], name: str) -> pa.Array:
        """Return a column with these values for valued conversions, null for the others."""
        kind, digits = COST.field(name).type, 2 if name.endswith("_bp") else exponent(REPORTING)
        return decimal_column(numbers, digits, kind).take(places)

    def words_of(texts: Iterable[str]) -> pa.Array:
        return pc.fill_null(pa.array(texts, TEXT).take(places), "")

    amounts = {
        "given_value": values.given,
        "received_value": values.received,
        "cost": values.cost,
        "stated_fee": values.fee,
        "reference_difference": values.difference,
    }
    cost_bp = list(map(_basis_points, values.cost, values.given))

    def side(on_ramp: str, other: str) -> pa.ChunkedArray:
        return pc.if_else(recorded["is_on_ramp"], recorded[on_ramp], recorded[other])

    columns = {
        **{name: recorded[name] for name in ("source", "source_id", "reference", "month")},
        "converted_on": recorded["day"],
        "pair": pairs,
        "given": side("fiat", "crypto"),
        "given_currency": side("fiat_currency", "crypto_currency"),
        "received": side("crypto", "fiat"),
        "received_currency": side("crypto_currency", "fiat_currency"),
        "value_currency": pa.repeat(REPORTING, recorded.num_rows),
        **{name: of_valued(values.cents(own), name) for name, own in amounts.items()},
        "cost_bp": of_valued(cost_bp, "cost_bp"),
        "reference_difference_bp": of_valued(values.difference_bp, "reference_difference_bp"),
        "difference_is": words_of(terms.difference_is for terms in values.terms),
        "valued_by": words_of(terms.valued_by for terms in values.terms),
        "not_valued": pa.array(values.not_valued, TEXT),
    }
    table = pa.table([columns[name] for name in CONVERSION_COSTS.names], schema=CONVERSION_COSTS)
    return table.combine_chunks()


def _pair_rows(
    groups: Mapping[tuple[str, str, str], _Sum], without: Mapping[tuple[str, str], int]
) -> list[tuple[Any, ...]]:
    """Return the sums by month and pair in order, including pairs without any value."""
    rows = []
    counted: set[tuple[str, str]] = set()
    valued = {(month, pair) for month, pair, _ in groups}
    for month, pair, difference_is in sorted({*groups, *((*key, "") for key in without)}):
        key = (month, pair)
        own = groups.get((month, pair, difference_is))
        if own is None:
            if key in valued:
                # The pair has rows with sums in this month. The first of them has the number of its
                # conversions without a value.
                continue
            rows.append((*key, 0, REPORTING, *(None,) * 9, "", without[key]))
            continue
        number = 0 if key in counted else without.get(key, 0)
        counted.add(key)
        bounds = (min(own.differences), max(own.differences)) if own.differences else (None, None)
        told = (*own.cells(), *map(_in_points, bounds))
        rows.append((*key, own.conversions, REPORTING, *told, difference_is, number))
    return rows


def _basis_points(part: int, whole: int) -> int | None:
    """Return `part` of `whole` in hundredths of a basis point.

    Return None if `whole` is not positive, or if no column can hold the result.
    """
    is_told = whole > 0 and abs(part) < 10**30 * whole
    return half_up(part * 1_000_000, whole) if is_told else None


def _in_points(hundredths: int | None) -> Decimal | None:
    return None if hundredths is None else Decimal(f"{hundredths}E-2")
