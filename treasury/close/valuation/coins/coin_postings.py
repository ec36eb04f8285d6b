"""One coin from its opening through the months: pools, movements per event, and month ends.

A month opens with the closing of the month before. A difference from the value that is recognised
at a month's end either changes the carrying amount for good, or is reversed on the first of the
next month. All amounts are whole cents and all quantities whole units; see `coin_pool`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from functools import reduce
from math import gcd
from typing import Any, Final

import msgspec

from treasury.close.valuation.coins.coin_pool import AveragePool, CoinPool, FifoPool, Lot
from treasury.close.valuation.coins.coin_value import REPORTING, Valued, value_of
from treasury.core.calendar import Month
from treasury.core.money import SCALE, exponent, format_amount
from treasury.rates import ReferenceRates

ENTITY: Final = ""
"""The name of the pool if all coins of the company are one pool."""
_WIDE: Final = Context(prec=80)
_CENTS: Final = exponent(REPORTING)
_RATES: Final = "add a file of rates: `treasury rates add FILE`"
_OPENING: Final = (
    "state what was there in [[coins.openings]] of policy.toml, or add what shows it coming"
)
_OF_EVENT: Final = ("kind", "event_id", "contra", "reference", "source_id")
"""The fields that a movement copies from its event."""
_CONTRA: Final = {
    "cost": "coin impairment",
    "reserves": "coin reserve",
    "profit_and_loss": "coin revaluation",
}
"""The role against which a difference from the value is posted, by kind of measurement."""
_Row = Mapping[str, Any]


class CoinTerms(msgspec.Struct, frozen=True):
    """The measurement of a coin, by the terms that two people put in force."""

    coin: str
    measurement: str
    cost_formula: str
    reversal: str
    pool: str


class StartingLot(msgspec.Struct, frozen=True):
    """Coins of a pool at the end of the month before the first computed one.

    If `acquired_on` is None, it is not a lot but a posted difference from the value. Such a
    difference has no quantity, and is reversed on the first of the month.
    """

    pool: str
    acquired_on: date | None
    quantity: Decimal
    carrying_amount: Decimal


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """The movement of a pool by an event; amounts in the reporting currency, signed by direction.

    `proceeds` and `gain` are set for a disposal with a known price. `contra` is the role against
    which the movement is posted.
    """

    pool: str
    day: date
    kind: str
    quantity: Decimal
    carrying_amount: Decimal
    proceeds: Decimal | None = None
    gain: Decimal | None = None
    event_id: str
    contra: str
    reference: str
    source_id: str
    valued_by: str = ""


class PoolMonth(msgspec.Struct, kw_only=True):
    """A pool over a month, from its opening to its closing.

    opening + reversed + acquired + transferred - disposed + remeasured = closing. Quantities are in
    the unit of `CoinPostings`, amounts in cents.
    """

    pool: str
    opening_quantity: int = 0
    acquired_quantity: int = 0
    transferred_quantity: int = 0
    disposed_quantity: int = 0
    closing_quantity: int = 0
    opening: int = 0
    reversed: int = 0
    acquired: int = 0
    transferred: int = 0
    disposed: int = 0
    remeasured: int = 0
    closing: int = 0
    proceeds: int = 0
    gain: int = 0
    valued: Valued | None = None
    problem: str = ""
    next_step: str = ""

    @property
    def is_tied(self) -> bool:
        """Whether quantities and amounts add up to the closing ones."""
        quantity = self.opening_quantity + self.acquired_quantity + self.transferred_quantity
        amount = self.opening + self.reversed + self.acquired + self.transferred + self.remeasured
        return (
            quantity - self.disposed_quantity == self.closing_quantity
            and amount - self.disposed == self.closing
        )


class _Problem(msgspec.Struct, frozen=True):
    """A pool's problem and next step; `until` is the last month it affects, None if it stays."""

    words: str
    next_step: str
    until: Month | None = None


class _Holding(msgspec.Struct):
    """A pool, the difference to be reversed on the first of the month, and its problems.

    `lacking` is the quantity that left although no record shows its arrival.
    """

    pool: CoinPool
    difference: int = 0
    lacking: int = 0
    problems: list[_Problem] = []


class CoinPostings:
    """The calculation of one coin; `months` and `movements` are those of the last month.

    `unplaced` are the events of all months that belong to no pool. `pools` are names of pools that
    exist even without movements.
    """

    def __init__(
        self,
        terms: CoinTerms,
        rates: ReferenceRates,
        lots: Sequence[StartingLot],
        events: Sequence[_Row],
        pools: Iterable[str] = (),
    ) -> None:
        self._terms = terms
        self._rates = rates
        self._events = events
        self._holdings: dict[str, _Holding] = {}
        self._unit = _unit(
            [*(lot.quantity for lot in lots), *(event["quantity"] for event in events)]
        )
        self.months: dict[str, PoolMonth] = {}
        self.movements: list[Movement] = []
        self.unplaced: list[_Row] = []
        for name in pools:
            self._holding(name)
        for lot in lots:
            holding = self._holding(lot.pool)
            if lot.acquired_on is None:
                holding.difference += _cents(lot.carrying_amount)
            else:
                units = self._units(lot.quantity)
                holding.pool.acquire(Lot(lot.acquired_on, units, _cents(lot.carrying_amount)))

    def through(self, first: Month, last: Month) -> CoinPostings:
        """Process the months from the first to the last, and return self."""
        place, month = 0, first
        while month <= last:
            after = place
            while after < len(self._events) and self._events[after]["happened_on"] <= month.last:
                after += 1
            self._walk(month, self._events[place:after])
            place, month = after, month.next
        return self

    def closing_lots(self, day: date) -> tuple[StartingLot, ...]:
        """Return the pools' lots and differences to be reversed, for the month after the day."""
        rows: list[StartingLot] = []
        for name, holding in self._holdings.items():
            for lot in holding.pool.lots(day):
                quantity, carrying = self.coins(lot.quantity), cents_amount(lot.carrying)
                rows.append(StartingLot(name, lot.acquired_on, quantity, carrying))
            if holding.difference:
                rows.append(StartingLot(name, None, Decimal(0), cents_amount(holding.difference)))
        return tuple(rows)

    # The calculation of one month.

    def _walk(self, month: Month, events: Iterable[_Row]) -> None:
        self.months, self.movements = {}, []
        for name, holding in self._holdings.items():
            # The lots are in whole cents, so this opening equals the previous closing.
            row = self._month(name)
            row.opening_quantity = holding.pool.quantity - holding.lacking
            row.opening = holding.pool.carrying + holding.difference
            if holding.difference:
                self._remeasure(name, "reversed", -holding.difference, month.first)
                holding.difference = 0
        for event in events:
            origin, target = self._placed(event, "from_holder"), self._placed(event, "to_holder")
            match event["kind"]:
                case "acquired" if target is not None:
                    self._acquire(target, event)
                case "disposed" if origin is not None:
                    self._dispose(origin, event)
                case "transferred":
                    if origin is not None and target is not None and origin != target:
                        self._transfer(origin, target, event)
                case _:
                    self.unplaced.append(event)
        for name, holding in self._holdings.items():
            self._end(name, holding, month)

    def _placed(self, event: _Row, side: str) -> str | None:
        """Return the pool on one side of an event; None if it is not known.

        With one pool for the company, every exchange belongs to it, from any wallet.
        """
        is_ours = event["from_holder"] or event["to_holder"] or event["contra"] == "conversion"
        if self._terms.pool == "entity":
            return ENTITY if is_ours else None
        holder: str | None = event[side]
        return holder

    def _acquire(self, name: str, event: _Row) -> None:
        cost = self._consideration(name, event)
        if cost is None:
            return
        units, cents = self._units(event["quantity"]), _cents(cost.amount)
        self._holding(name).pool.acquire(Lot(event["happened_on"], units, cents))
        month = self._month(name)
        month.acquired_quantity += units
        month.acquired += cents
        self._note(name, event, units, cents, valued_by=cost.basis)

    def _dispose(self, name: str, event: _Row) -> None:
        units = self._units(event["quantity"])
        carrying = sum(lot.carrying for lot in self._released(name, units, event["happened_on"]))
        month = self._month(name)
        month.disposed_quantity += units
        month.disposed += carrying
        valued = self._consideration(name, event)
        if valued is None:
            self._note(name, event, -units, -carrying)
            return
        proceeds = _cents(valued.amount)
        month.proceeds += proceeds
        month.gain += proceeds - carrying
        self._note(name, event, -units, -carrying, proceeds=proceeds, valued_by=valued.basis)

    def _transfer(self, origin: str, target: str, event: _Row) -> None:
        lots = self._released(origin, self._units(event["quantity"]), event["happened_on"])
        for lot in lots:
            self._holding(target).pool.acquire(lot)
        units, cents = sum(lot.quantity for lot in lots), sum(lot.carrying for lot in lots)
        for name, sign in ((origin, -1), (target, 1)):
            month = self._month(name)
            gone = self._units(event["quantity"]) if sign < 0 else units
            month.transferred_quantity += sign * gone
            month.transferred += sign * cents
            self._note(name, event, sign * gone, sign * cents)

    def _released(self, name: str, units: int, day: date) -> tuple[Lot, ...]:
        """Release coins from a pool; if it has too few, release all and record the missing ones."""
        holding = self._holding(name)
        available = min(units, holding.pool.quantity)
        holding.lacking += units - available
        return holding.pool.release(available, day) if available else ()

    def _end(self, name: str, holding: _Holding, month: Month) -> None:
        """Measure a pool at the month's end, and set its state for the next month."""
        pool, row, coin = holding.pool, self._month(name), self._terms.coin
        if pool.quantity:
            row.valued = value_of(self._rates, self.coins(pool.quantity), coin, month.last)
            if row.valued is None:
                until = month.next if self._terms.reversal == "next_month" else None
                words = self._rates.absence(coin, month.last)
                holding.problems.append(_Problem(words, _RATES, until))
            else:
                self._measure(name, holding, _cents(row.valued.amount), month.last)
        row.closing_quantity = pool.quantity - holding.lacking
        row.closing = pool.carrying + holding.difference
        holding.problems = [
            each for each in holding.problems if each.until is None or month <= each.until
        ]
        if holding.lacking:
            lacking = format_amount(self.coins(holding.lacking), coin)
            row.problem, row.next_step = f"{lacking} left that no record shows coming", _OPENING
        elif holding.problems:
            row.problem, row.next_step = holding.problems[0].words, holding.problems[0].next_step
        # The next month opens with this closing amount, so its lots in cents must add up to it.
        lots = pool.lots(month.last)
        holding.pool = _empty_pool(self._terms.cost_formula)
        for lot in lots:
            holding.pool.acquire(lot)

    def _measure(self, name: str, holding: _Holding, worth: int, day: date) -> None:
        difference = worth - holding.pool.carrying
        if self._terms.measurement == "cost":
            difference = min(difference, 0)
        if not difference:
            return
        self._remeasure(name, "remeasured", difference, day)
        if self._terms.reversal == "next_month":
            holding.difference = difference
        else:
            holding.pool.restate(worth, day)

    def _remeasure(self, name: str, kind: str, difference: int, day: date) -> None:
        row = self._month(name)
        if kind == "reversed":
            row.reversed += difference
        else:
            row.remeasured += difference
        coin = self._terms.coin
        event = {
            "event_id": f"{kind}:{coin}:{name}:{day}",
            "happened_on": day,
            "kind": kind,
            "contra": _CONTRA[self._terms.measurement],
            "reference": f"{coin} {kind}",
            "source_id": "",
        }
        self._note(name, event, 0, difference)

    # Functions that several steps use.

    def _consideration(self, name: str, event: _Row) -> Valued | None:
        """Return an event's price, else its coins' value; note a problem if there is no rate."""
        amount, unit = event["consideration"], event["currency"]
        if amount is None:
            amount, unit = event["quantity"], self._terms.coin
        valued = value_of(self._rates, amount, unit, event["happened_on"])
        if valued is None:
            words = self._rates.absence(unit, event["happened_on"])
            problem = _Problem(f"{words}: {event['reference']}", _RATES)
            self._holding(name).problems.append(problem)
        return valued

    def _note(
        self,
        name: str,
        event: _Row,
        units: int,
        cents: int,
        *,
        proceeds: int | None = None,
        valued_by: str = "",
    ) -> None:
        self.movements.append(
            Movement(
                **{field: event[field] for field in _OF_EVENT},
                pool=name,
                day=event["happened_on"],
                quantity=self.coins(units),
                carrying_amount=cents_amount(cents),
                proceeds=None if proceeds is None else cents_amount(proceeds),
                gain=None if proceeds is None else cents_amount(proceeds + cents),
                valued_by=valued_by,
            )
        )

    def _holding(self, name: str) -> _Holding:
        if name not in self._holdings:
            self._holdings[name] = _Holding(_empty_pool(self._terms.cost_formula))
        return self._holdings[name]

    def _month(self, name: str) -> PoolMonth:
        self._holding(name)
        if name not in self.months:
            self.months[name] = PoolMonth(pool=name)
        return self.months[name]

    def _units(self, quantity: Decimal) -> int:
        return int(quantity.scaleb(SCALE, _WIDE)) // self._unit

    def coins(self, units: int) -> Decimal:
        """Return a quantity of units as coins."""
        return Decimal(units * self._unit).scaleb(-SCALE, _WIDE)


def _empty_pool(formula: str) -> CoinPool:
    return FifoPool() if formula == "fifo" else AveragePool()


def _unit(quantities: Iterable[Decimal]) -> int:
    """Return the largest unit that divides every quantity, so that the integers stay small."""
    whole = (int(quantity.scaleb(SCALE, _WIDE)) for quantity in quantities)
    return reduce(gcd, whole, 0) or 1


def _cents(amount: Decimal) -> int:
    return int(amount.scaleb(_CENTS, _WIDE))


def cents_amount(cents: int) -> Decimal:
    """Return cents as an amount in the reporting currency."""
    return Decimal(cents).scaleb(-_CENTS, _WIDE)
