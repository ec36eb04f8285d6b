"""The answer of `t.cash()`: position, totals, known flows and forecast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.cash.forecast import FLOORS, FORECAST, floors, forecast
from treasury.close.cash.known_flows import (
    FLOWS,
    NOT_SEEN,
    OVERDUE,
    UNDATED,
    Flow,
    clock_of,
    known_flows,
    own_flows,
    reported_flows,
)
from treasury.close.cash.own_flows import OwnFlow
from treasury.close.cash.position import FUNDS, IN_TRANSIT, OWN_BANKS, funds, month_position
from treasury.close.result_words import amount_words, count, day, moment
from treasury.core.errors import InputError
from treasury.core.money import CURRENCIES, total
from treasury.core.settings import BankAccount
from treasury.core.tables.column_types import INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema, with_units
from treasury.core.tables.table import Table
from treasury.core.wording import FLOW_STATES
from treasury.core.wording import FUNDS as FUNDS_WORDS
from treasury.lake import Snapshot
from treasury.month.funding import short_account
from treasury.month.reconciliation import Reconciliation, synced_at
from treasury.rates import ReferenceRates

LONGEST: Final = 400
"""The most days that a forecast may have."""
VALUES: Final = grouped_schema(
    (TEXT, "funds"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency", "without"),
    (INTEGER, "currencies"),
)
"""One row per kind of funds: its value over all currencies.

`currencies` is the number of currencies in the value, and `without` names those without a reference
rate. The table is empty if no currency for the values was requested.
"""
_FOLLOWS: Final = timedelta(days=31)
"""The time after a month's end within which the known flows follow from its balances."""
_RATE_DAYS: Final = 7
"""The maximum age, in days, of a rate that values an amount of today."""
_DAY: Final = timedelta(days=1)


class Cash(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The cash position at the time `at`, and the forecast of the next `days` calendar days.

    `funds` as in FUNDS, `position` as in POSITION, `forecast` as in FORECAST, `flows` as in FLOWS,
    `floors` as in FLOORS, `values` as in VALUES. `notes` name what the figures leave out.
    """

    printed: ClassVar[Sequence[str]] = ("funds", "forecast")

    key_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "funds": ("funds", "currency", "amount", "proved_to", "not_counted", "value"),
        "position": (
            "funds", "name", "currency", "booked", "booked_on", "proved", "intraday", "pending",
        ),
        "forecast": ("currency", "day", "money_in", "money_out", "balance", "is_lowest"),
        "flows": ("day", "due", "state", "flow", "item", "direction", "amount", "currency"),
        "floors": ("name", "currency", "floor", "lowest", "lowest_on", "verdict"),
        "values": ("funds", "value", "without"),
    }  # fmt: skip

    at: datetime
    zone: ZoneInfo
    days: int
    funds: Table
    position: Table
    forecast: Table
    flows: Table
    floors: Table
    values: Table
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`Cash at 2 Nov 09:00 CET, and the next 14 days`."""
        return f"Cash at {moment(self.at, self.zone)}, and the next {self.days} days"

    @property
    def lowest(self) -> Table:
        """The row with the lowest balance of each currency in the forecast."""
        rows = self.forecast.arrow.filter(self.forecast.arrow["is_lowest"])
        return Table(rows, zone=self.zone, keys=self.key_columns["forecast"])

    @property
    def expected(self) -> Table:
        """The flows that a day of the forecast contains, by day."""
        dated = self.flows.arrow.filter(self.flows.arrow["day"].is_valid())
        order = [(name, "ascending") for name in ("day", "currency", "direction", "item")]
        return self._flows(dated.sort_by(order))

    @property
    def apart(self) -> Table:
        """The flows in no sum.

        They have no date or amount, were not seen though their date has passed, or are later than
        the forecast.
        """
        return self._flows(self.flows.arrow.filter(self.flows.arrow["day"].is_null()))

    def _flows(self, rows: pa.Table) -> Table:
        return Table(rows, zone=self.zone, keys=self.key_columns["flows"])

    def __repr__(self) -> str:
        words = " · ".join(lowest_words(row) for row in self.lowest.arrow.to_pylist())
        return f"<{self.title}: {words or 'no forecast'}>"

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone

    def sheets(self) -> Mapping[str, Table]:
        """Return the tables by sheet name, the totals first."""
        return {
            "Funds": self.funds,
            "Cash position": self.position,
            "Cash forecast": self.forecast,
            "Cash flows": self.flows,
            "Account floors": self.floors,
            "Values": self.values,
        }


def cash_of(
    positions: pa.Table,
    r: Reconciliation | None,
    snapshot: Snapshot | None,
    accounts: Sequence[BankAccount],
    *,
    now: datetime,
    zone: ZoneInfo,
    days: int = 14,
    own: Sequence[OwnFlow] = (),
    rates: ReferenceRates | None = None,
    in_currency: str | None = None,
) -> Cash:
    """Return the answer from a position at `now` and the reconciliation of its month.

    Without a snapshot, only the flows that the position reports are known. `own` are the company's
    own flows. With `in_currency`, amounts are valued by `rates`. Raise InputError if `days` is not
    between 1 and 400.
    """
    number: object = days
    if not isinstance(number, int) or not 1 <= days <= LONGEST:
        raise InputError(f"days: {days} is not between 1 and {LONGEST}", do="give a number of days")
    today, rows = now.astimezone(zone).date(), positions.to_pylist()
    synced = None if snapshot is None else synced_at(snapshot)
    clock = clock_of(rows, today, days, synced, zone)
    flows = [*reported_flows(rows, clock)]
    if snapshot is not None:
        flows += known_flows(r, snapshot, clock) if r is not None else ()
        flows += own_flows(own, snapshot, clock)
    ranks = list(FLOW_STATES)
    flows.sort(
        key=lambda flow: (
            ranks.index(flow.state),
            flow.day or flow.due or date.max,
            flow.currency,
            flow.item,
        )
    )
    totals = funds(positions).to_pylist()
    if in_currency is not None and rates is not None:
        totals = [row | _value(row, rates, today, in_currency) for row in totals]
    return Cash(
        at=now,
        zone=zone,
        days=days,
        funds=pa.Table.from_pylist(totals, schema=FUNDS),
        position=positions,
        forecast=pa.Table.from_pylist(forecast(rows, flows, clock), schema=FORECAST),
        flows=pa.Table.from_pylist(
            [msgspec.structs.asdict(flow) for flow in flows],
            schema=with_units(FLOWS, amount="currency"),
        ),
        floors=pa.Table.from_pylist(floors(rows, flows, clock, accounts), schema=FLOORS),
        values=pa.Table.from_pylist(list(_values(totals, in_currency)), schema=VALUES),
        notes=tuple(_notes(rows, flows, read=r is not None)),
    )


def month_cash(
    r: Reconciliation, balances: pa.Table, zone: ZoneInfo, own: Sequence[OwnFlow] = ()
) -> Cash:
    """Return the funds at a month's end, and the flows that were known at the time of the answer.

    `balances` are the month's, `own` the company's own flows. The answer does not contain later
    movements. More than 31 days after the month's end it has no flows, because they would not
    follow from its balances.
    """
    question = None if r.basis is None else r.basis.question
    asked_on = r.as_of.astimezone(zone).date()
    follows = r.basis is not None and asked_on - r.month.last <= _FOLLOWS
    return cash_of(
        month_position(r, balances),
        r,
        r.basis.snapshot if r.basis is not None and follows else None,
        () if question is None else question.accounts,
        now=r.as_of,
        zone=zone,
        own=own,
    )


def _value(
    row: Mapping[str, Any], rates: ReferenceRates, today: date, in_currency: str
) -> dict[str, Any]:
    """Return the value columns of a row, by the last rate of the past seven days."""
    base: dict[str, Any] = {"value_currency": in_currency}
    if row["amount"] is None:
        return base | {"valued_by": "the amount is not known"}
    if row["currency"] == in_currency:
        return base | {"value": row["amount"], "valued_by": "its own currency"}
    for back in range(_RATE_DAYS + 1):
        on = today - back * _DAY
        worth = rates.value(row["amount"], row["currency"], on, in_currency)
        if worth is not None:
            return base | {
                "value": worth.amount,
                "rate_day": worth.rate.day if worth.rate.source else None,
                "valued_by": worth.rate.basis,
            }
    return base | {"valued_by": f"no reference rate of {row['currency']} in {in_currency}"}


def _values(totals: Sequence[Mapping[str, Any]], in_currency: str | None) -> Iterator[Any]:
    if in_currency is None:
        return
    for kind in FUNDS_WORDS:
        own = [row for row in totals if row["funds"] == kind and row["amount"] is not None]
        valued = [row for row in own if row["value"] is not None]
        if own:
            yield {
                "funds": kind,
                "value": total(row["value"] for row in valued) if valued else None,
                "value_currency": in_currency,
                "currencies": len(valued),
                "without": ", ".join(row["currency"] for row in own if row["value"] is None),
            }


def _notes(
    positions: Sequence[Mapping[str, Any]], flows: Sequence[Flow], *, read: bool
) -> Iterator[str]:
    """Yield what the figures leave out."""
    moving = {flow.currency for flow in flows if flow.counts}
    for row in positions:
        counts = row["currency"] in moving and row["currency"] not in CURRENCIES
        if row["funds"] == OWN_BANKS or (row["funds"] != IN_TRANSIT and counts):
            name = f"{row['name']} {short_account(row['account'])}".strip()
            words = f"{name}, {row['currency']}: {row['problem']}; not in the forecast's balance"
            yield from () if row["proved"] else (words,)
    if not read:
        yield "requests, payouts and transfers are not known: nothing is stored for this month"
    for state, words in (
        (OVERDUE, "overdue: they fall on today"),
        (NOT_SEEN, "expected and not seen: the evidence passes their date without them"),
        (UNDATED, "without a date or an amount: in no sum"),
    ):
        alike = [flow for flow in flows if flow.state == state]
        if alike:
            yield f"{count(len(alike), 'flow')} {words}"


def lowest_words(row: Mapping[str, Any]) -> str:
    """Return `lowest EUR 1,177,434.30 on 9 Nov`, of a row with a currency's lowest balance."""
    return f"lowest {amount_words(row['lowest'], row['currency'])} on {day(row['day'])}"
