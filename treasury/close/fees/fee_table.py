"""Fees of the requests completed in a range of months, each in its own currency, and their rates.

Amounts are as the service recorded them. The effective rate is calculated from exact decimals: the
fee over the gross amount of the requests with a recorded fee. Every sum is per fiat currency, so
currencies are never added together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.fees.conversion_costs import (
    COST,
    ConversionCosts,
    account_conversions,
    conversion_costs,
    request_conversions,
)
from treasury.close.fees.fee_checks import CHECK, RATE, fee_rate, fees_computed, rates_of_others
from treasury.close.fees.gas_costs import GasCosts, gas_costs, gas_payments, months_asked, paid_gas
from treasury.close.result_words import amount_words, count
from treasury.close.valuation.coins.coin_value import rates_of
from treasury.core.calendar import Month, Months
from treasury.core.errors import InputError
from treasury.core.money import difference
from treasury.core.tables.column_texts import wide
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import is_it, one_of
from treasury.core.wording import DIRECTIONS
from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import load, run, steps_of
from treasury.month.reconciliation import MONTH_PACKAGE, Reconciliation

ZERO: Final = Decimal(0)

REQUESTS: Final = grouped_schema(
    (TEXT, "request_id", "reference", "month"),
    (DATE, "completed_on"),
    (TEXT, "direction", "pair", "chain", "bank_account", "fiat_currency"),
    (AMOUNT, "fiat_gross", "fee", "fiat_net"),
    (TEXT, "crypto_currency"),
    (AMOUNT, "crypto", "exchange_rate", "fee_percentage"),
    (RATE, "rate_bp"),
    (TEXT, "tier"),
    (amount_in("fiat_currency"), "expected_fee"),
    (TEXT, "expected_by"),
    (amount_in("fiat_currency"), "variance"),
    (TEXT, "finding"),
    (INTEGER, "others_that_day"),
    (AMOUNT, "rate_of_others"),
    (RATE, "rate_deviation_bp"),
    (INSTANT, "completed_at"),
)
"""One row per completed request: its recorded columns and its recalculated fee."""
GROUPS: Final = ("month", "direction", "pair", "chain", "bank_account", "tier")
"""The columns by which sums can be grouped, in addition to the fiat currency."""
_ALSO_CALLED: Final = {"network": "chain", "ramp_type": "direction"}
_BY: Final = ("ramp_type", *(name for name in GROUPS if name != "direction"), "network")
"""The names that the error message of `Fees.by` offers."""
SUMS: Final = grouped_schema(
    (TEXT, "fiat_currency"),
    (INTEGER, "requests"),
    (AMOUNT, "fiat_gross", "fee", "fiat_net"),
    (RATE, "rate_bp"),
    (INTEGER, "without_fee"),
    (amount_in("fiat_currency"), "expected_fee", "variance"),
    (INTEGER, "without_expected", "to_check"),
)
TREND: Final = grouped_schema(
    (TEXT, "month"), *SUMS, (amount_in("fiat_currency"), "fee_change"), (RATE, "rate_change_bp")
)


class FeeTotal(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over requests in one fiat currency; `rate_bp` is over the requests with a fee.

    `expected` is over the requests with a calculable fee, and `variance` over those that also have
    a recorded fee. `without_expected` counts the requests without a calculable fee. `to_check`
    counts the variances that no rounding explains. The fields are in the order of SUMS.
    """

    currency: str
    requests: int = 0
    gross: Decimal = ZERO
    fee: Decimal = ZERO
    net: Decimal = ZERO
    rate_bp: Decimal | None = None
    without_fee: int = 0
    expected: Decimal = ZERO
    variance: Decimal = ZERO
    without_expected: int = 0
    to_check: int = 0

    @property
    def words(self) -> str:
        """Words such as `EUR 1,912.40 on 18 completed requests`."""
        paid_for = count(self.requests, "completed request")
        return f"{amount_words(self.fee, self.currency)} on {paid_for}"

    @property
    def row(self) -> dict[str, Any]:
        """The sums as a row with the columns of SUMS."""
        return dict(zip(SUMS.names, msgspec.structs.astuple(self), strict=True))


class Fees(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The fees of a range of months: a row per request in `requests`, and sums.

    Gross, fee, net, expected fee and variance (recorded less expected) are in `fiat_currency`,
    crypto in `crypto_currency`; rates are in basis points. `accruals` are requests funded by the
    end of the last month and not completed by then. `sql` is the SQL of the requests.

    Each request also has the cost of its conversion by the reference rates, in `value_currency`:
    `given_value` less `received_value` is `cost`, which is `stated_fee` plus
    `reference_difference`. `not_valued` is why a request has no value. `costs` sums them by month
    and pair, with the proved conversions of virtual accounts. `gas` is the gas that company wallets
    paid in these months, for requests, for transfers and for neither. `recorded` are the requests
    without costs. `answers` returns the reconciled months in order; it is called when costs or gas
    are needed.

    >>> t.fees("2026-10").by("ramp_type", "pair")
    """

    printed: ClassVar[Sequence[str]] = ("totals", "trend")

    months: Months
    recorded: Table
    accruals: Table
    sql: str
    answers: Callable[[], Sequence[Reconciliation]]
    zone: ZoneInfo | None = None
    """The reporting time zone."""

    def time_zone(self) -> ZoneInfo | None:
        """Return the reporting time zone."""
        return self.zone

    @property
    def title(self) -> str:
        """`Fees of October 2026: EUR 1,912.40 on 18 completed requests`."""
        parts = [sums.words for sums in self.by_currency()]
        return f"Fees of {self.months.title}: {' · '.join(parts) or 'no request completed'}"

    @cached_property
    def requests(self) -> Table:
        """A row per completed request: its record, recalculated fee, and conversion cost."""
        table = self.recorded.arrow
        for name in COST.names:
            cost = self.costs.each.arrow[name].slice(0, len(self.recorded))
            table = table.append_column(name, cost)
        return Table(table, zone=self.zone, title="Fee requests")

    @cached_property
    def costs(self) -> ConversionCosts:
        """The cost of the conversions by requests and by virtual accounts."""
        *earlier, last = self.answers()
        recorded = [
            request_conversions(self.recorded.arrow),
            *(account_conversions(r, is_last=False) for r in earlier),
            account_conversions(last),
        ]
        return conversion_costs(pa.concat_tables(recorded), rates_of(last))

    @cached_property
    def gas(self) -> GasCosts:
        """The gas that company wallets paid, valued by the reference rates."""
        last = self.answers()[-1]
        if last.basis is None:
            return gas_costs(())
        uses = paid_gas(last.basis.snapshot, self.months, last.basis.question.zone)
        return gas_costs(gas_payments(uses, rates_of(last)))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The requests as dictionaries."""
        return self.requests.arrow.to_pylist()

    @cached_property
    def totals(self) -> Table:
        """The sums by month, ramp type, pair and tier."""
        return self.by("month", "direction", "pair", "tier")

    def by(self, *names: str) -> Table:
        """Return the sums by fiat currency and further columns.

        Parameters
        ----------
        names
            Columns to group by: month, ramp_type, pair, chain, bank_account, tier. `direction`
            means ramp_type, and `network` means chain.

        Returns
        -------
        Table
            A row per group with these columns and those of SUMS; amounts are in `fiat_currency`,
            rates in basis points.

        Raises
        ------
        InputError
            If a name is none of these.

        Examples
        --------
        >>> t.fees("2026-10").by("ramp_type", "pair")
        """
        names = tuple(_ALSO_CALLED.get(name, name) for name in names)
        strange = [name for name in names if name not in GROUPS]
        if strange:
            raise InputError(
                f"fees cannot be summed by {strange[0]!r:.40}{is_it(strange[0], _BY)}",
                do=one_of(strange[0], _BY),
            )
        schema = pa.schema([*((name, TEXT) for name in names), *SUMS])
        keys = ("fiat_currency", *names)
        rows = [
            dict(zip(keys, key, strict=True)) | sums.row
            for key, sums in _summed(self.recorded.arrow, keys)
        ]
        return Table(pa.Table.from_pylist(rows, schema=schema))

    @cached_property
    def sums(self) -> tuple[FeeTotal, ...]:
        """The sums of all months, one per fiat currency."""
        return tuple(sums for _, sums in _summed(self.recorded.arrow, ("fiat_currency",)))

    def by_currency(self) -> list[FeeTotal]:
        """Return the sums of all months, one per fiat currency."""
        return list(self.sums)

    @cached_property
    def trend(self) -> Table:
        """The sums of each month by currency, and the change from the month before.

        A month without requests has zero sums. `fee_change` is in the fiat currency,
        `rate_change_bp` in basis points.
        """
        groups = dict(_summed(self.recorded.arrow, ("fiat_currency", "month")))
        rows: list[dict[str, Any]] = []
        for currency in sorted({key[0] for key in groups}):
            before: FeeTotal | None = None
            for month in self.months:
                sums = groups.get((currency, str(month)), FeeTotal(currency=currency))
                rows.append({"month": str(month), **sums.row, **_change(sums, before)})
                before = sums
        return Table(pa.Table.from_pylist(rows, schema=TREND), title="Trend")

    @property
    def to_check(self) -> Table:
        """The requests with a fee that differs from the expected one beyond rounding."""
        findings = self.recorded.arrow["finding"]
        return Table(self.requests.arrow.filter(pc.starts_with(findings, CHECK)))

    def sheets(self) -> Mapping[str, Table]:
        """Return the requests, sums, trend, costs, gas and accruals by sheet name."""
        return {
            "Requests": self.requests,
            "Sums": self.totals,
            "Trend": self.trend,
            "Conversion costs": self.costs.by_pair,
            "Conversions valued": self.costs.each,
            "Gas": self.gas.by_use,
            "Gas payments": self.gas.each,
            "Accruals": self.accruals,
        }

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        titles = ("Month", "Direction", "Pair", "Tier")
        sums = ("Requests", "Gross", "Fee", "Net", "Rate, bp", "Check")
        rows = []
        for row in self.totals.arrow.to_pylist():
            currency = row["fiat_currency"]
            amounts = (
                amount_words(row[name], currency) for name in ("fiat_gross", "fee", "fiat_net")
            )
            rate = "" if row["rate_bp"] is None else f"{row['rate_bp']:,.2f}"
            words = (row[title.lower()] for title in titles)
            rows.append((*words, row["requests"], *amounts, rate, row["to_check"] or ""))
        numbers = range(len(titles), len(titles) + len(sums))
        return html_grid(rows, (*titles, *sums), self.title, to_right=numbers)


def fees_of(r: Reconciliation, *, calculated: Mapping[str, Decimal] | None = None) -> Fees:
    """Return the fees of a reconciled month; `calculated` are the calculator's fees by request."""
    return Fees(
        months=Months(r.month, r.month),
        recorded=_requests(r.fee_requests.arrow, calculated or {}),
        accruals=r.fee_accruals,
        sql=r.sql(STEP),
        answers=lambda: (r,),
        zone=r.zone,
    )


def fees_between(
    snapshot: Snapshot,
    r: Reconciliation,
    first: Month,
    zone: ZoneInfo,
    *,
    calculated: Mapping[str, Decimal] | None = None,
    earlier: Callable[[], Sequence[Reconciliation]] = tuple,
) -> Fees:
    """Return the fees from the month `first` to the reconciled month, with the latter's accruals.

    `earlier` returns the earlier reconciled months, for the conversions of their virtual accounts.
    """
    months = Months(first, r.month)
    with snapshot.connection() as connection:
        load(connection, {"asked": months_asked(months, zone)})
        run(connection, [steps_of(MONTH_PACKAGE)[STEP]])
        recorded = connection.table(STEP).to_arrow_table()
    return Fees(
        months=months,
        recorded=_requests(recorded, calculated or {}),
        accruals=r.fee_accruals,
        sql=r.sql(STEP),
        answers=lambda: (*earlier(), r),
        zone=r.zone,
    )


def calculated_fees(
    fees: Fees, ask: Callable[[Decimal, str], Decimal | None]
) -> dict[str, Decimal]:
    """Return the calculator's fees by request id, according to today's fee table.

    `ask` gets a gross amount and the direction. It returns the fee in the unit of the amount (fiat
    for ON_RAMP, crypto for OFF_RAMP) or None, and is called once per amount and direction. Requests
    without a gross amount or a fee are left out.
    """
    fee_of_question = cache(ask)
    answers: dict[str, Decimal] = {}
    for row in fees.requests.arrow.select(_QUESTION).to_pylist():
        on_ramp = row["direction"] == DIRECTIONS["ON_RAMP"]
        gross = row["fiat_gross"] if on_ramp else row["crypto"]
        if gross is not None:
            fee = fee_of_question(gross, "ON_RAMP" if on_ramp else "OFF_RAMP")
            if fee is not None:
                answers[row["request_id"]] = fee
    return answers


STEP: Final = "fee_requests"


_QUESTION: Final = ["request_id", "direction", "fiat_gross", "crypto"]


def _requests(recorded: pa.Table, calculated: Mapping[str, Decimal]) -> pa.Table:
    """Return the requests with their calculated columns; columns as in REQUESTS."""
    fiat = _or_unknown(recorded["fiat_currency"])
    recorded = recorded.set_column(
        recorded.schema.get_field_index("fiat_currency"), "fiat_currency", fiat
    )
    crypto = _or_unknown(recorded["crypto_currency"])
    columns = {name: recorded[name] for name in REQUESTS.names if name in recorded.column_names}
    direction = recorded["ramp_type"]
    for name, word in DIRECTIONS.items():
        direction = pc.if_else(pc.fill_null(pc.equal(direction, name), False), word, direction)
    columns |= {
        "month": pc.strftime(recorded["completed_on"], "%Y-%m"),
        "direction": direction,
        "pair": pc.if_else(
            pc.fill_null(pc.equal(recorded["ramp_type"], "ON_RAMP"), False),
            pc.binary_join_element_wise(fiat, crypto, " → "),
            pc.binary_join_element_wise(crypto, fiat, " → "),
        ),
        "chain": recorded["crypto_chain"],
        **fees_computed(recorded, calculated),
        **rates_of_others(recorded),
    }
    return pa.table([columns[name] for name in REQUESTS.names], schema=REQUESTS).combine_chunks()


def _or_unknown(currency: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a currency column with question marks for missing codes."""
    recorded = pc.fill_null(currency, "")
    return pc.if_else(pc.equal(recorded, ""), "?", recorded)


_SUMMED: Final = ("fiat_gross", "fee", "fiat_net", "expected_fee", "variance")


def _summed(requests: pa.Table, names: tuple[str, ...]) -> list[tuple[tuple[str, ...], FeeTotal]]:
    """Return the sums grouped and sorted by `names`, of which the first is the fiat currency."""
    keys = {name: pc.fill_null(requests[name], "") for name in names}
    has_fee = pc.is_valid(requests["fee"])
    nothing = pa.scalar(None, AMOUNT)
    columns = keys | {name: wide(requests[name]) for name in _SUMMED}
    columns["gross_with_fee"] = wide(pc.if_else(has_fee, requests["fiat_gross"], nothing))
    columns["check"] = pc.starts_with(requests["finding"], CHECK)
    groups = (
        pa.table(columns)
        .group_by(list(names))
        .aggregate(
            [
                *((name, "sum") for name in (*_SUMMED, "gross_with_fee", "check")),
                ([], "count_all"),
                ("fee", "count"),
                ("expected_fee", "count"),
            ]
        )
    )
    # The sum is null if no row of the group has an amount.
    rows: list[dict[str, Any]] = [
        {name: ZERO if value is None else value for name, value in row.items()}
        for row in groups.to_pylist()
    ]
    sums = [
        (
            tuple(row[name] for name in names),
            FeeTotal(
                currency=row[names[0]],
                requests=row["count_all"],
                without_fee=row["count_all"] - row["fee_count"],
                gross=row["fiat_gross_sum"],
                fee=row["fee_sum"],
                net=row["fiat_net_sum"],
                rate_bp=fee_rate(row["fee_sum"], row["gross_with_fee_sum"]),
                expected=row["expected_fee_sum"],
                variance=row["variance_sum"],
                without_expected=row["count_all"] - row["expected_fee_count"],
                to_check=row["check_sum"],
            ),
        )
        for row in rows
    ]
    return sorted(sums, key=lambda keyed: keyed[0])


def _change(sums: FeeTotal, before: FeeTotal | None) -> dict[str, Decimal]:
    if before is None:
        return {}
    changes = {"fee_change": difference(sums.fee, before.fee)}
    if sums.rate_bp is not None and before.rate_bp is not None:
        changes["rate_change_bp"] = difference(sums.rate_bp, before.rate_bp)
    return changes
