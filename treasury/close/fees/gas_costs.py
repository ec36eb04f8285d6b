"""The gas that company wallets paid: for requests, for transfers, and for neither.

A gas payment belongs to the request with the same transaction hash, or else to the transfer with
the same hash. It is counted once, even if several records share the hash. It is valued on its day
by the reference rates. Native coins have rates only in a company's own file; gas without a rate is
counted separately, never as zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.result_words import amount_words, count
from treasury.close.valuation.coins.coin_value import REPORTING
from treasury.core.calendar import Months
from treasury.core.money import exponent, rounded, total, totals
from treasury.core.tables.column_types import BOOL, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema, table_of
from treasury.core.tables.table import Table
from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import load, run, steps_of
from treasury.rates import ReferenceRates
from treasury.rates.reference_rates import RateSources

PACKAGE: Final = "treasury.close.fees.steps"
STEPS: Final = tuple(steps_of(PACKAGE)[name] for name in ("gas_hashes", "gas_uses"))
NEITHER: Final = "no request or transfer"
"""The use of gas with a hash of neither a request nor a transfer."""
GAS_PAYMENTS: Final = grouped_schema(
    (TEXT, "month"),
    (DATE, "paid_on"),
    (TEXT, "chain", "transaction_hash", "wallet"),
    (BOOL, "failed"),
    (TEXT, "used_for", "source_id", "reference"),
    (INTEGER, "shared_by"),
    (TEXT, "coin"),
    (amount_in("coin"), "gas"),
    (TEXT, "value_currency"),
    (amount_in("value_currency"), "gas_value"),
    (TEXT, "valued_by", "not_valued"),
)
"""One row per transaction paid by a company wallet: `gas` in `coin`.

`gas_value` is the value of the gas in `value_currency` by the reference rate of the day or time.
`used_for` is `request`, `transfer` or NEITHER. `source_id` and `reference` are those of the first
of the `shared_by` requests or transfers with its hash. `not_valued` is why the gas has no value,
and empty otherwise.
"""
GAS_COSTS: Final = grouped_schema(
    (TEXT, "month", "used_for", "coin"),
    (INTEGER, "payments", "failed"),
    (amount_in("coin"), "gas"),
    (TEXT, "value_currency"),
    (amount_in("value_currency"), "gas_value"),
    (INTEGER, "not_valued"),
)
"""One row per month, use and coin: the total `gas` of `payments` transactions.

`failed` is the number of failed ones. `gas_value` is the value of the gas with a reference rate,
null without any. `not_valued` counts the payments without a rate, which `gas_value` excludes.
"""
_USED_FOR: Final = ("request", "transfer", NEITHER)
_ABSENT: Final = "no reference rate"


class GasCosts(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The cost of gas in a range of months: `each` as in GAS_PAYMENTS, `by_use` as in GAS_COSTS.

    `coins` has the sum per coin. `value` is the value in euros of gas with a reference rate, None
    without any. `rests_on` names the sources of the rates and their last day.
    """

    each: Table
    by_use: Table
    coins: tuple[tuple[str, Decimal], ...]
    value: Decimal | None
    not_valued: int
    rests_on: tuple[str, ...]

    @property
    def title(self) -> str:
        """`ETH 0.0123… on 9 transactions: EUR 28.42; 2 without a reference rate, not included`."""
        if not len(self.each):
            return "no gas"
        paid = " · ".join(amount_words(gas, coin) for coin, gas in self.coins)
        parts = [] if self.value is None else [amount_words(self.value, REPORTING)]
        if self.not_valued:
            parts.append(f"{self.not_valued:,} without a reference rate, not included")
        return f"{paid} on {count(len(self.each), 'transaction')}: {'; '.join(parts)}"


def months_asked(months: Months, zone: ZoneInfo) -> pa.Table:
    """Return a one-row table for the steps: the zone, and the start and end of the months."""
    row = (zone.key, months.first.start(zone), months.last.end(zone))
    return table_of([row], grouped_schema((TEXT, "zone"), (INSTANT, "month_start", "month_end")))


def paid_gas(snapshot: Snapshot, months: Months, zone: ZoneInfo) -> pa.Table:
    """Return the gas payments of these months and their uses; columns of the step `gas_uses`."""
    with snapshot.connection() as connection:
        load(connection, {"asked": months_asked(months, zone)})
        run(connection, STEPS)
        return (
            connection.table("gas_uses")
            .order("paid_at, payment_id, turn, reference, source_id")
            .to_arrow_table()
        )


def gas_payments(uses: pa.Table, rates: ReferenceRates) -> Iterator[dict[str, Any]]:
    """Yield each payment once: as in GAS_PAYMENTS, with its exact value and its reference rate."""
    for _, sharing in groupby(uses.to_pylist(), key=lambda row: row["payment_id"]):
        payment, *others = sharing
        sharers = [payment, *(row for row in others if row["turn"] == payment["turn"])]
        coin, day = payment["coin"], payment["paid_on"]
        worth = rates.value(payment["gas"], coin, day, at=payment["paid_at"])
        absence = ""
        if worth is None:
            absence = rates.absence(coin, day, payment["paid_at"]).replace(
                "not provable", _ABSENT, 1
            )
        is_used = payment["used_for"] is not None
        yield {
            **payment,
            "month": f"{day:%Y-%m}",
            "used_for": payment["used_for"] or NEITHER,
            "source_id": payment["source_id"] or "",
            "reference": payment["reference"] or "",
            "shared_by": len(sharers) if is_used else 0,
            "value_currency": REPORTING,
            "gas_value": None if worth is None else worth.amount,
            "valued_by": "" if worth is None else worth.rate.basis,
            "not_valued": absence,
            "exact": None if worth is None else worth.exact,
            "rate": None if worth is None else worth.rate,
        }


def gas_costs(payments: Iterable[Mapping[str, Any]]) -> GasCosts:
    """Sum the payments of `gas_payments`; each value is rounded once."""
    rows = list(payments)
    groups: dict[tuple[str, int, str], list[Mapping[str, Any]]] = defaultdict(list)
    sources = RateSources()
    for row in rows:
        if row["rate"] is not None:
            sources.add(row["rate"])
        groups[row["month"], _USED_FOR.index(row["used_for"]), row["coin"]].append(row)
    by_use = [
        {
            "month": month,
            "used_for": _USED_FOR[use],
            "coin": coin,
            "payments": len(paid),
            "failed": sum(row["failed"] for row in paid),
            "gas": total(row["gas"] for row in paid),
            "value_currency": REPORTING,
            "gas_value": _value(paid),
            "not_valued": _without_value(paid),
        }
        for (month, use, coin), paid in sorted(groups.items(), key=lambda group: group[0])
    ]
    return GasCosts(
        each=pa.Table.from_pylist(rows, schema=GAS_PAYMENTS),
        by_use=pa.Table.from_pylist(by_use, schema=GAS_COSTS),
        coins=tuple(sorted(totals((row["coin"], row["gas"]) for row in rows).items())),
        value=_value(rows),
        not_valued=_without_value(rows),
        rests_on=sources.words(),
    )


def _value(rows: Iterable[Mapping[str, Any]]) -> Decimal | None:
    """Return the sum of the exact values, rounded once; None without values."""
    exact: list[Fraction] = [row["exact"] for row in rows if row["exact"] is not None]
    return rounded(sum(exact, Fraction(0)), exponent(REPORTING)) if exact else None


def _without_value(rows: Iterable[Mapping[str, Any]]) -> int:
    return sum(row["exact"] is None for row in rows)
