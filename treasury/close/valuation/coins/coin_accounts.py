"""Coins at a month's end: carrying amounts and realised gains, or values for disclosure.

A measured coin has a carrying amount in a pool, which is computed month by month; the pool must
equal the proved balances. Other coins are only disclosed, by their proved balances at the month's
last reference rate. That value is an assumption, not a fair value, and is not posted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.result_words import count, day, noted_html
from treasury.close.valuation.coins import coin_events
from treasury.close.valuation.coins.agreed_measurement import COIN_OPENINGS, MEASURED
from treasury.close.valuation.coins.coin_postings import (
    ENTITY,
    CoinPostings,
    CoinTerms,
    PoolMonth,
    StartingLot,
    cents_amount,
)
from treasury.close.valuation.coins.coin_value import REPORTING, Valued, rates_of, value_of
from treasury.core.calendar import Month
from treasury.core.money import format_amount, total
from treasury.core.tables.column_types import AMOUNT, DATE, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.matching.engine.pipeline import compose
from treasury.month.reconciliation import Reconciliation
from treasury.rates import ReferenceRates

COINS: Final = grouped_schema(
    (TEXT, "coin", "pool", "name", "measurement", "cost_formula", "reversal"),
    (AMOUNT, "opening_quantity", "acquired_quantity", "transferred_quantity", "disposed_quantity"),
    (AMOUNT, "closing_quantity"),
    (TEXT, "currency"),
    (amount_in("currency"), "opening"),
    (AMOUNT, "reversed", "acquired", "transferred", "disposed", "remeasured"),
    (amount_in("currency"), "closing"),
    (AMOUNT, "proceeds", "gain", "value", "rate"),
    (DATE, "rate_day"),
    (TEXT, "valued_by", "problem", "next_step"),
)
"""One row per measured coin and pool, and one per balance of a coin that is not measured.

Quantities are in `coin`, amounts in `currency`: opening + reversed + acquired + transferred -
disposed + remeasured = closing. `gain` is the proceeds of disposals less their carrying amount.
`value` is the value of the closing quantity by the month's last reference rate.
"""
COIN_MOVEMENTS: Final = grouped_schema(
    (TEXT, "coin", "pool"),
    (DATE, "day"),
    (TEXT, "kind"),
    (AMOUNT, "quantity"),
    (TEXT, "currency"),
    (AMOUNT, "carrying_amount", "proceeds", "gain"),
    (TEXT, "contra", "reference", "valued_by", "event_id", "source_id"),
)
"""One row per event that moved a pool of a measured coin: signed `quantity` in `coin`.

Amounts are in `currency`. `kind` is acquired, disposed, transferred, reversed or remeasured.
"""
COIN_LOTS: Final = grouped_schema(
    (TEXT, "coin", "pool"),
    (DATE, "month_end", "acquired_on"),
    (AMOUNT, "quantity"),
    (TEXT, "currency"),
    (AMOUNT, "carrying_amount"),
)
"""One row per lot of a pool at a month's end; the next month opens with these lots.

A row without `acquired_on` is the difference of the carrying amount from the pool's lots, to be
reversed on the first of the next month. A pool without coins has one row with zero amounts.
"""
DISCLOSED: Final = "not set: disclosure only"
_ASSUMED: Final = "an assumption, not a fair value"
_LOOK: Final = "look at both: an acquisition, a disposal or an opening is missing or wrong"
_REOPEN: Final = "look at it; if it is correct as it is now, reopen the month that counted it"
_KEEP: Final = 'keep pool = "entity" of [coins] in policy.toml, or reopen the months before'
_UNPLACED: Final = "`treasury coins show --unproved` names each, and what to do"
_ZERO: Final = Decimal(0)
_SUMS: Final = (
    "opening", "reversed", "acquired", "transferred", "disposed", "remeasured", "closing",
    "proceeds", "gain",
)  # fmt: skip
_QUANTITIES: Final = tuple(
    f"{name}_quantity" for name in ("opening", "acquired", "transferred", "disposed", "closing")
)
_Row = Mapping[str, Any]


class CoinHistory(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The openings of a month's coins.

    `measured` and `openings` are terms that two people put in force. `lots` are the closing lots of
    the last closed month, and `events` the events that it counted. Other events up to its end are
    counted in the following month.
    """

    measured: pa.Table = msgspec.field(default_factory=MEASURED.empty_table)
    openings: pa.Table = msgspec.field(default_factory=COIN_OPENINGS.empty_table)
    lots: pa.Table = msgspec.field(default_factory=COIN_LOTS.empty_table)
    events: pa.Table = msgspec.field(default_factory=coin_events.COIN_EVENTS.empty_table)


class CoinAccounts(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The coins of a month: `coins` as in COINS, `movements` as in COIN_MOVEMENTS.

    `unproved` are coins outside of all pools, as in COIN_UNPROVED. `lots` are the openings of the
    next month, as in COIN_LOTS, and `events` the events counted up to the month's end, as in
    COIN_EVENTS. `notes` lists inputs that were not checked or not used, and why.
    """

    month: Month
    coins: Table
    movements: Table
    unproved: Table
    lots: Table
    events: Table
    notes: tuple[str, ...]
    sql: str

    @property
    def measured(self) -> Table:
        """The rows of coins that are measured."""
        return self._of(pc.not_equal)

    @property
    def disclosed(self) -> Table:
        """The rows of coins that are only disclosed."""
        return self._of(pc.equal)

    def _of(self, compares: Callable[[pa.ChunkedArray, str], pa.ChunkedArray]) -> Table:
        coins = self.coins.arrow
        return Table(coins.filter(compares(coins["measurement"], DISCLOSED)))

    @property
    def title(self) -> str:
        """`Coins at 31 October 2026: 1 pool measured, 6 balances disclosed`."""
        measured = count(len(self.measured), "pool")
        disclosed = count(len(self.disclosed), "balance")
        at = f"{day(self.month.last)} {self.month.year}"
        return f"Coins at {at}: {measured} measured, {disclosed} disclosed"

    def sheets(self) -> Mapping[str, Table]:
        """Return pools, movements and coins outside of pools by sheet name."""
        return {"Coins": self.coins, "Movements": self.movements, "Unproved": self.unproved}

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        unproved = (self.unproved,) if len(self.unproved) else ()
        return noted_html(self.title, self.notes, self.coins, *unproved)


def coin_accounts(
    r: Reconciliation,
    zone: ZoneInfo,
    balances: pa.Table,
    history: CoinHistory,
    rates: ReferenceRates | None = None,
) -> CoinAccounts:
    """Return the coins of a month; `balances` as in BALANCES, `rates` by default the answer's."""
    draft = _Draft(r, zone, balances, rates or rates_of(r))
    measured = {row["coin"]: row for row in history.measured.to_pylist()}
    events, crossings = (
        coin_events.COIN_EVENTS.empty_table(),
        coin_events.COIN_CROSSINGS.empty_table(),
    )
    if measured and r.basis is not None:
        events, crossings = coin_events.coin_events(r, zone, r.basis.snapshot)
        events = events.filter(pc.is_in(events["coin"], pa.array(list(measured), TEXT)))
    by_coin: dict[str, list[_Row]] = defaultdict(list)
    for event in events.to_pylist():
        by_coin[event["coin"]].append(event)
    for coin, row in measured.items():
        terms = CoinTerms(*(row[name] for name in CoinTerms.__struct_fields__))
        draft.measure(terms, by_coin[coin], _of_coin(crossings, coin), history)
    draft.disclose(set(measured))
    return CoinAccounts(
        month=r.month,
        coins=pa.Table.from_pylist(draft.coins, schema=COINS),
        movements=pa.Table.from_pylist(draft.movements, schema=COIN_MOVEMENTS),
        unproved=pa.Table.from_pylist(draft.unproved, schema=coin_events.COIN_UNPROVED),
        lots=pa.Table.from_pylist(draft.lots, schema=COIN_LOTS),
        events=events,
        notes=tuple(dict.fromkeys(draft.notes)),
        sql=compose(coin_events.STEPS, "coin_events"),
    )


class _Start(msgspec.Struct, frozen=True):
    """The start of a coin's calculation: its first month, opening lots, and events from then on.

    `vanished` and `changed` are the ids of events that a closed month counted and that are now
    missing or different. The pools are compared with the balances of `holders`, the holders with an
    event, adjusted by `crossings` as in COIN_CROSSINGS.
    """

    first: Month
    lots: tuple[StartingLot, ...]
    events: Sequence[_Row]
    is_stated: bool = False
    vanished: Sequence[str] = ()
    changed: Sequence[str] = ()
    holders: Collection[str] = ()
    crossings: Sequence[_Row] = ()


class _Draft:
    """The rows of a month's coins, collected coin by coin."""

    def __init__(
        self, r: Reconciliation, zone: ZoneInfo, balances: pa.Table, rates: ReferenceRates
    ) -> None:
        self._r = r
        self._zone = zone
        self._rates = rates
        self._last = r.month.last
        self._balances = [row for row in balances.to_pylist() if row["kind"] != "bank"]
        names: dict[str, dict[str, None]] = defaultdict(dict)
        for row in self._balances:
            names[row["of"].lower()][row["name"]] = None
        self._names = {holder: " and ".join(each) for holder, each in names.items()}
        self._names[ENTITY] = r.company
        self._conversions = list(coin_events.unproved_conversions(r, zone))
        self.coins: list[dict[str, Any]] = []
        self.movements: list[_Row] = []
        self.unproved: list[_Row] = []
        self.lots: list[_Row] = []
        self.notes: list[str] = []

    # Calculation of measured coins.

    def measure(
        self,
        terms: CoinTerms,
        events: Sequence[_Row],
        crossings: Sequence[_Row],
        history: CoinHistory,
    ) -> None:
        """Compute a coin's pools to the month's end, and compare them with the proved balances."""
        holders = {e[side] for e in events for side in ("from_holder", "to_holder") if e[side]}
        start = msgspec.structs.replace(
            self._start(terms, events, history), holders=holders, crossings=crossings
        )
        sound = [event for event in start.events if _is_recorded(event)]
        walk = CoinPostings(terms, self._rates, start.lots, sound, self._pools(terms))
        walk.through(start.first, self._r.month)
        for event in start.events:
            if not _is_recorded(event):
                self._unproved_event(terms.coin, event, "its amounts are not recorded", "sync it")
        for event in walk.unplaced:
            lacking = (
                "whether its other side is a wallet of the company is not known"
                if event["kind"] == coin_events.UNTOLD
                else "which wallet it was is not known"
            )
            step = "add the wallet's explorer export: `treasury wallets add`"
            self._unproved_event(terms.coin, event, lacking, step)
        outside = len(start.events) - len(sound) + len(walk.unplaced)
        for name, month in sorted(walk.months.items()):
            self.coins.append(self._measured_row(terms, walk, month, start))
            self._names.setdefault(name, name)
        if outside:
            self._block(terms, f"{count(outside, 'event')} of {terms.coin} in no pool")
        own = {"coin": terms.coin, "currency": REPORTING}
        self.movements += [own | msgspec.structs.asdict(movement) for movement in walk.movements]
        conversions = [row for row in self._conversions if row["coin"] == terms.coin]
        for row in conversions:
            self._unproved(**row)
        converted = {row["holder"] for row in conversions}
        for row in self._balances:
            is_told = row["currency"] != terms.coin or row["of"] in converted
            if not is_told and not _is_proved(row):
                self._unproved_balance(row)
        self._state_lots(terms, walk)

    def _pools(self, terms: CoinTerms) -> tuple[str, ...]:
        """Return the pools that exist without events: the company, or wallets proved to hold it."""
        if terms.pool == "entity":
            return (ENTITY,)
        return tuple(
            row["of"] if row["kind"] == "custodial" else row["of"].lower()
            for row in self._balances
            if row["currency"] == terms.coin and row["proved"] and row["closing"]
        )

    def _block(self, terms: CoinTerms, problem: str) -> None:
        """Add a problem to the coin's pools without one; if there is no pool, add an empty one."""
        rows = [row for row in self.coins if row["coin"] == terms.coin]
        if not rows:
            empty = msgspec.structs.asdict(terms) | {
                "pool": ENTITY,
                "name": self._r.company,
                "currency": REPORTING,
                **dict.fromkeys((*_QUANTITIES, *_SUMS), _ZERO),
                **dict.fromkeys(("valued_by", "problem", "next_step"), ""),
            }
            rows = [empty]
            self.coins.append(empty)
        for row in rows:
            if not row["problem"]:
                row["problem"], row["next_step"] = problem, _UNPLACED

    def _start(self, terms: CoinTerms, events: Sequence[_Row], history: CoinHistory) -> _Start:
        """Return the lots of the last close, else the stated opening, else the recorded events."""
        coin = terms.coin
        closed = _of_coin(history.lots, coin)
        stated = [row for row in _of_coin(history.openings, coin) if row["day"] < self._last]
        if closed:
            ended: date = closed[0]["month_end"]
            counted = {row["event_id"]: row for row in _of_coin(history.events, coin)}
            now = {event["event_id"]: event for event in events if event["happened_on"] <= ended}
            first = Month.of(ended).next
            late = [
                {**event, "happened_on": first.first}
                for event in events
                if event["happened_on"] <= ended and event["event_id"] not in counted
            ]
            for row in stated:
                if row["day"] >= ended:
                    self.notes.append(
                        f"the opening of {coin} at {row['day']} is not used, because"
                        f" {Month.of(ended)} is closed; that month's closing is used instead"
                    )
            after = [event for event in events if event["happened_on"] > ended]
            # If the company is one pool now, it has all lots. Empty pools have no lots.
            lots = tuple(
                StartingLot(
                    ENTITY if terms.pool == "entity" else row["pool"],
                    *(row[name] for name in ("acquired_on", "quantity", "carrying_amount")),
                )
                for row in closed
                if row["quantity"] or row["acquired_on"] is None
            )
            vanished = sorted(counted.keys() - now.keys())
            changed = [
                name
                for name in sorted(counted.keys() & now.keys())
                if _counted_as(counted[name], terms) != _counted_as(now[name], terms)
            ]
            return _Start(first, lots, (*late, *after), vanished=vanished, changed=changed)
        if stated:
            opened = max(row["day"] for row in stated)
            lots = tuple(
                StartingLot(row["pool"], row["day"], row["quantity"], row["carrying_amount"])
                for row in stated
                if row["day"] == opened
            )
            after = [event for event in events if event["happened_on"] > opened]
            return _Start(Month.of(opened).next, lots, after, is_stated=True)
        days = [event["happened_on"] for event in events]
        first = Month.of(min(days)) if days else self._r.month
        return _Start(first, (), events)

    def _measured_row(
        self, terms: CoinTerms, walk: CoinPostings, month: PoolMonth, start: _Start
    ) -> dict[str, Any]:
        problem, step = month.problem, month.next_step
        if not problem and start.vanished:
            problem = (
                f"{count(len(start.vanished), 'event')} that a closed month counted is no longer"
            )
            problem, step = f"{problem} recorded: {clean(start.vanished[0])}", _LOOK
        if not problem and start.changed:
            problem = f"{count(len(start.changed), 'event')} that a closed month counted is"
            problem, step = f"{problem} recorded in another way: {clean(start.changed[0])}", _REOPEN
        if not problem and not month.is_tied:
            problem, step = "opening and movements do not come to the closing", _LOOK
        quantity = walk.coins(month.closing_quantity)
        if not problem and terms.pool == "wallet" and not month.pool and quantity:
            problem, step = (
                "the month before was closed with one pool, and now each wallet is a pool",
                _KEEP,
            )
        if not problem:
            problem = self._against_balances(terms, month.pool, quantity, start)
            step = _LOOK if problem else ""
        return msgspec.structs.asdict(terms) | {
            "pool": month.pool,
            "name": self._names.get(month.pool, month.pool),
            **{name: walk.coins(getattr(month, name)) for name in _QUANTITIES},
            "currency": REPORTING,
            **{name: cents_amount(getattr(month, name)) for name in _SUMS},
            **_value_columns(month.valued),
            "problem": problem,
            "next_step": step,
        }

    def _against_balances(
        self, terms: CoinTerms, pool: str, quantity: Decimal, start: _Start
    ) -> str:
        """Return how a pool differs from the proved balances.

        The text is empty if they are equal or not comparable, or if a surplus of a stated opening
        is listed as unproved.
        """
        coin = terms.coin
        proved: dict[str, list[Decimal]] = defaultdict(list)
        is_entity = terms.pool == "entity"
        unproved: set[str] = set()
        for row in self._balances:
            holder = row["of"].lower()
            if row["currency"] == coin and (is_entity or holder == pool.lower()):
                # An address may hold a coin on several chains; each balance must be proved.
                if _is_proved(row):
                    proved[holder].append(row["closing"])
                else:
                    unproved.add(holder)
        holders = {holder.lower() for holder in (start.holders if is_entity else {pool}) if holder}
        lacking = unproved | (holders - proved.keys())
        if lacking or not proved:
            wallets = count(len(lacking), "wallet")
            self.notes.append(
                f"{coin} is not compared with balances: {wallets} not proved"
                if lacking
                else f"{coin} is not compared with balances: no balance is proved"
            )
            return ""
        crossed = [row for row in start.crossings if is_entity or row["holder"] == pool]
        for row in crossed:
            moved = format_amount(row["quantity"].copy_abs(), coin)
            self.notes.append(
                f"{moved} moved over the month's end and counts when"
                f" {clean(row['reference'])} completes"
            )
        balance = total(amount for amounts in proved.values() for amount in amounts)
        beyond = total((quantity, *(row["quantity"] for row in crossed), balance.copy_negate()))
        if beyond > 0 and start.is_stated and is_entity:
            self._unproved(
                coin=coin, holder=ENTITY, subject="held in no proved wallet", quantity=beyond,
                problem="the opening that is stated has more than the wallets hold",
                next_step="add evidence of the wallets that hold it",
            )  # fmt: skip
            return ""
        if beyond:
            has = format_amount(total((balance, beyond)), coin)
            return f"the pool has {has}, the proved balances {format_amount(balance, coin)}"
        return ""

    def _state_lots(self, terms: CoinTerms, walk: CoinPostings) -> None:
        lots = walk.closing_lots(self._last)
        pools = {lot.pool for lot in lots if lot.acquired_on is not None}
        empty = [
            StartingLot(pool, self._last, _ZERO, _ZERO)
            for pool in sorted(set(walk.months) or {ENTITY})
            if pool not in pools
        ]
        self.lots += [
            {"coin": terms.coin, "month_end": self._last, "currency": REPORTING}
            | msgspec.structs.asdict(lot)
            for lot in (*lots, *empty)
        ]

    def _unproved_event(self, coin: str, event: _Row, problem: str, step: str) -> None:
        self._unproved(
            coin=coin, holder=event["from_holder"] or event["to_holder"] or "",
            subject=f"{event['kind']}, {event['reference']}", quantity=event["quantity"],
            problem=problem, next_step=step,
        )  # fmt: skip

    # Rows of disclosed coins.

    def disclose(self, measured: set[str]) -> None:
        """Add a row per proved balance of a coin that is not measured, and list the unproved."""
        for row in self._balances:
            coin, quantity = row["currency"], row["closing"]
            if coin in measured:
                continue
            if not _is_proved(row):
                self._unproved_balance(row)
                continue
            worth = value_of(self._rates, quantity, coin, self._last)
            self.coins.append(
                {
                    "coin": coin,
                    "pool": row["of"],
                    "name": row["name"],
                    "measurement": DISCLOSED,
                    "closing_quantity": quantity,
                    "currency": REPORTING,
                    **_value_columns(worth),
                    "valued_by": f"{worth.basis}: {_ASSUMED}"
                    if worth
                    else self._rates.absence(coin, self._last),
                    "problem": "",
                    "next_step": "",
                }
            )

    def _unproved_balance(self, row: _Row) -> None:
        self._unproved(
            coin=row["currency"], holder=row["of"], subject=f"balance, {row['name']}",
            quantity=row["in_doubt"], problem=row["problem"], next_step=row["next_step"],
        )  # fmt: skip

    def _unproved(self, *, coin: str, quantity: Decimal | None, **columns: str) -> None:
        """Add coins outside of all pools, with their value at the month's end."""
        worth = quantity and value_of(self._rates, quantity, coin, self._last)
        own = {"coin": coin, "quantity": quantity, "currency": REPORTING}
        self.unproved.append(own | {"value": worth.amount if worth else None, **columns})


def _value_columns(valued: Valued | None) -> _Row:
    """Return the columns of a value and its rate."""
    if valued is None:
        return {"valued_by": ""}
    return {
        "value": valued.amount,
        "rate": valued.rate,
        "rate_day": valued.day,
        "valued_by": valued.basis,
    }


def _of_coin(table: pa.Table, coin: str) -> list[dict[str, Any]]:
    return table.filter(pc.equal(table["coin"], coin)).to_pylist()


def _is_recorded(event: _Row) -> bool:
    """Return whether an event states its coins, and a conversion its price."""
    has_price = event["contra"] != "conversion" or event["consideration"] is not None
    return has_price and event["quantity"] is not None and event["quantity"] > 0


def _counted_as(event: _Row, terms: CoinTerms) -> tuple[Any, ...]:
    """Return the values of an event that change a pool; with pools per wallet, the wallets too."""
    told = tuple(event[name] for name in ("kind", "quantity", "consideration", "currency"))
    sides = {"acquired": ("to_holder",), "disposed": ("from_holder",)}
    holders = sides.get(event["kind"], ("from_holder", "to_holder"))
    return told if terms.pool == "entity" else (*told, *(event[side] for side in holders))


def _is_proved(balance: _Row) -> bool:
    return bool(balance["proved"]) and balance["closing"] is not None
