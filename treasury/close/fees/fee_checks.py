"""Fees recalculated by the tier's percentage or the service's calculator, and compared.

If a kind of rounding explains a difference of at most one minor unit, it is named. Any other
difference is marked for a check. The conversion rate is compared with those of the pair's other
requests on the same day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core import money
from treasury.core.tables.column_texts import distinct_rows
from treasury.core.tables.column_types import AMOUNT, INTEGER, TEXT
from treasury.core.tables.csv_output import rows_of
from treasury.core.tables.schemas import grouped_schema, table_of

RATE: Final = pa.decimal128(38, 2)
"""Basis points with two decimals."""
_BEYOND: Final = Decimal(10) ** 36
CHECK: Final = "CHECK"
"""The prefix of a finding that a person must check."""
_OTHERS: Final = grouped_schema(
    (INTEGER, "others_that_day"), (AMOUNT, "rate_of_others"), (RATE, "rate_deviation_bp")
)
_RATED: Final = ["ramp_type", "fiat_currency", "crypto_currency", "completed_on", "exchange_rate"]
"""The columns for comparing rates: requests are compared if all but the last are equal."""

_COMPARED: Final = [
    "request_id", "fiat_gross", "fee", "fee_percentage", "crypto", "tier", *_RATED,
]  # fmt: skip
"""The columns from which a request's fee is calculated and compared."""
_NO_TIER: Final = "tier not determinable"
_PERCENTAGE: Final = "recorded percentage"
_FITTING: Final = pa.decimal256(28, 18)
_LIMIT: Final = Decimal(10) ** 10
"""Amounts from which rows are calculated one by one: products could overflow a column."""
_WHOLE: Final = pa.decimal256(38, 18)
_BATCH: Final = 20_000
"""The number of requests that are converted to Python values at a time."""
_HALF_UP: Final = "half_towards_infinity"
_ROUNDINGS: Final = ((ROUND_UP, "up"), (ROUND_DOWN, "down"), (ROUND_HALF_EVEN, "half to even"))


def fees_computed(
    requests: pa.Table, calculated: Mapping[str, Decimal]
) -> dict[str, pa.ChunkedArray]:
    """Return each request's fee rate, expected fee, its source, the variance and the finding.

    `calculated` has the calculator's fees by request id. Fees are computed by column, except those
    in `calculated` and amounts beyond the column type: these are computed row by row, with the same
    result.
    """
    table = requests.select(_COMPARED).combine_chunks()
    amounts = table["fee"], table["fiat_gross"], table["fee_percentage"]
    is_odd = pc.is_in(table["request_id"], pa.array(calculated, TEXT))
    for amount in amounts:
        is_odd = pc.or_(is_odd, pc.fill_null(pc.greater_equal(pc.abs(amount), _LIMIT), False))
    fee, gross, percentage = (pc.if_else(is_odd, None, own).cast(_FITTING) for own in amounts)
    rate = pc.divide(pc.multiply(fee, Decimal(10_000)), pc.if_else(pc.equal(gross, 0), None, gross))
    codes = table["fiat_currency"].unique()
    exponents = pa.array(map(money.exponent, codes.to_pylist()), pa.int32())
    places = exponents.take(pc.index_in(table["fiat_currency"], codes))
    hundredfold = pc.multiply(gross, percentage)
    expected = pc.round_binary(hundredfold, pc.subtract(places, 2), _HALF_UP)
    by = pc.if_else(pc.equal(table["tier"], _NO_TIER), _PERCENTAGE, table["tier"])
    columns = {
        "rate_bp": pc.round(rate, 2, _HALF_UP).cast(RATE),
        "expected_fee": pc.multiply(expected, Decimal("0.01")).cast(AMOUNT),
        "expected_by": pc.if_else(pc.is_null(hundredfold), "", by),
    }
    odd = [
        (fee_rate(row["fee"], row["fiat_gross"]), *expected_fee(row, calculated))
        for row in _rows(table.filter(is_odd))
    ]
    for name, values in zip(columns, zip(*odd, strict=True), strict=bool(odd)):
        columns[name] = _replaced(columns[name], is_odd, values)
    exact = (column.cast(_WHOLE) for column in (table["fee"], columns["expected_fee"]))
    columns["variance"] = pc.subtract(*exact).cast(AMOUNT)
    for name, column in columns.items():
        table = table.append_column(name, column)
    return {**columns, "finding": _findings(table, places)}


def _findings(table: pa.Table, places: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each fee's finding for its variance; `places` are the currencies' decimals."""
    variance = table["variance"]
    size = pc.abs(variance)
    # Only above a cent and below a thousand, with two decimals, Arrow formats as `finding` does.
    is_short = pc.and_(pc.greater(size, Decimal("0.01")), pc.less(size, 1000))
    size = pc.if_else(pc.and_(is_short, pc.equal(places, 2)), size, None)
    size = pc.if_else(pc.equal(size, pc.round(size, 2)), size, None).cast(pa.decimal128(5, 2))
    side = pc.if_else(pc.greater(variance, 0), "more", "less")
    words = (f"{CHECK}:", table["fiat_currency"], size.cast(TEXT), side, "than")
    told = pc.binary_join_element_wise(*words, table["expected_by"], "gives", " ")
    told = pc.if_else(pc.equal(variance, 0), "as expected", told)
    told = pc.if_else(pc.is_null(variance), "nothing to compare with", told)
    told = pc.if_else(pc.is_null(table["fee"]), "no fee recorded", told)
    return _replaced(told, pc.is_null(told), map(finding, _rows(table.filter(pc.is_null(told)))))


def _replaced(
    column: pa.ChunkedArray, where: pa.ChunkedArray, values: Iterable[Any]
) -> pa.ChunkedArray:
    return pc.replace_with_mask(column, where.combine_chunks(), pa.array(values, column.type))


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the requests of a table as dictionaries, in batches."""
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def fee_rate(fee: Decimal | None, gross: Decimal | None) -> Decimal | None:
    """Return the rate in basis points; None if it is unknown or too large for a column."""
    return None if fee is None or gross is None else _bounded(money.basis_points(fee, gross))


def _bounded(rate: Decimal | None) -> Decimal | None:
    return rate if rate is not None and rate.copy_abs() < _BEYOND else None


def expected_fee(
    row: Mapping[str, Any], calculated: Mapping[str, Decimal]
) -> tuple[Decimal | None, str]:
    """Return the expected fee of a request in its fiat currency, and its source.

    The source is the tier's name, "recorded percentage" or "calculated". It is empty if neither the
    calculator nor a percentage gives a fee. `calculated` has the calculator's fees by request id.
    """
    answer = calculated.get(row["request_id"])
    currency = row["fiat_currency"]
    # The calculator answers in the unit of its input, which is crypto for an off-ramp.
    if answer is not None:
        if row["ramp_type"] != "OFF_RAMP":
            return money.quantize(answer, currency), "calculated"
        rate = row["exchange_rate"]
        return None if rate is None else money.convert(answer, rate, currency), "calculated"
    gross, percentage = row["fiat_gross"], row["fee_percentage"]
    if gross is None or percentage is None:
        return None, ""
    tier = row["tier"] if row["tier"] != _NO_TIER else _PERCENTAGE
    return money.fee_of(gross, percentage, currency), tier


def finding(row: Mapping[str, Any]) -> str:
    """Return the finding on a difference between the recorded and the expected fee."""
    variance, currency = row["variance"], row["fiat_currency"]
    size = money.format_amount(variance.copy_abs(), currency)
    side = "more" if variance > 0 else "less"
    is_small = variance.copy_abs() <= money.minor_unit(currency)
    cause = _rounding(row, row["fee"]) if is_small else ""
    if cause:
        return f"{size} {side}: {cause}"
    return f"{CHECK}: {size} {side} than {row['expected_by']} gives"


def _rounding(row: Mapping[str, Any], fee: Decimal) -> str:
    """Return the kind of rounding that gives the recorded fee, or "" if none does."""
    gross, percentage, currency = row["fiat_gross"], row["fee_percentage"], row["fiat_currency"]
    if gross is None or percentage is None:
        return ""
    crypto, rate, asset = row["crypto"], row["exchange_rate"], row["crypto_currency"] or "?"
    if row["ramp_type"] == "OFF_RAMP" and crypto is not None and rate is not None:
        coins = money.fee_of(crypto, percentage, asset)
        if money.convert(coins, rate, currency) == fee:
            return f"taken as {money.format_amount(coins, asset)} and converted"
    for rounding, word in _ROUNDINGS:
        if money.fee_of(gross, percentage, currency, rounding=rounding) == fee:
            return f"rounded {word}"
    return ""


def rates_of_others(requests: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return columns that compare each request's rate with the pair's other requests of the day.

    They are the number of other requests, their median rate, and the deviation of the request's own
    rate from it in basis points.
    """
    rated, places = distinct_rows(requests, _RATED)
    days: defaultdict[tuple[Any, ...], list[Decimal]] = defaultdict(list)
    for *day, rate, requests_with_it in rows_of(rated):
        if rate is not None:
            days[tuple(day)] += [rate] * requests_with_it
    for rates in days.values():
        rates.sort()
    others = [_others(days[tuple(day)], rate) for *day, rate, _ in rows_of(rated)]
    by_rate = table_of(others, _OTHERS)
    return {name: by_rate[name].take(places) for name in _OTHERS.names}


def _others(
    rates: list[Decimal], rate: Decimal | None
) -> tuple[int, Decimal | None, Decimal | None]:
    if rate is None or len(rates) < 2:
        return 0, None, None
    # This is the exact median of the sorted rates without the one at `own`.
    own = bisect_left(rates, rate)
    half, odd = divmod(len(rates) - 1, 2)
    places = (half,) if odd else (half - 1, half)
    usual = money.mean(rates[at + (at >= own)] for at in places)
    deviation = money.basis_points(money.difference(rate, usual), usual)
    return len(rates) - 1, money.stored(usual), _bounded(deviation)
