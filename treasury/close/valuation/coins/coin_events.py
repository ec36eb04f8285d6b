"""Proved events by which coins came to the company or left it, each listed once.

SQL steps read requests, transfers and movements on the chain; the coins of a virtual account come
from proved conversions between two balances. As in the accounting, a conversion counts in the month
of the second balance. Within that month its coins count from the first balance on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import in_order, load, needed, run, steps_of
from treasury.month.question_tables import month_days
from treasury.month.reconciliation import MONTH_PACKAGE, Reconciliation

PACKAGE: Final = "treasury.close.valuation.coins.steps"
_TARGETS: Final = ("coin_events", "coin_crossings")
STEPS: Final = in_order({**steps_of(MONTH_PACKAGE), **steps_of(PACKAGE)}, _TARGETS)
"""The steps that find the events in the records, and the month's steps that these read."""
_PROVED: Final = ("proved", "proved_as_group")
COIN_EVENTS: Final = grouped_schema(
    (TEXT, "event_id", "contra", "coin"),
    (AMOUNT, "quantity"),
    (INSTANT, "moment"),
    (DATE, "happened_on"),
    (TEXT, "kind"),
    (AMOUNT, "consideration"),
    (TEXT, "currency", "from_holder", "to_holder", "reference", "source_id"),
)
"""One row per event: `quantity` in `coin`; `consideration` in `currency` is the other side.

`consideration` is null if no service states it. `contra` is the role against which the event is
posted. A holder is the id of a custodial account or the address of a company wallet.
"""
COIN_CROSSINGS: Final = grouped_schema(
    (TEXT, "coin", "holder", "hash", "reference"), (AMOUNT, "quantity")
)
"""One row per difference between a holder's coins at the month's end and the counted events.

These coins moved before the month's end and their request or transfer `reference` completes after
it, or vice versa.
"""
COIN_UNPROVED: Final = grouped_schema(
    (TEXT, "coin", "holder", "subject"),
    (AMOUNT, "quantity"),
    (TEXT, "currency"),
    (AMOUNT, "value"),
    (TEXT, "problem", "next_step"),
)
"""One row per amount of coins outside of all pools: `quantity` in `coin`.

`value` is in `currency` by the month's last reference rate, null without one.
"""
UNTOLD: Final = "untold"
"""The kind of a transfer with an unknown other side, which may be one of our wallets."""
_TURNS: Final = {"acquired": 0, "transferred": 1, "disposed": 2, UNTOLD: 2}
"""The order of kinds for events at the same time: arrivals come before departures."""
_ASK: Final = "ask the provider; next month sync shortly before and after its end"


def coin_events(r: Reconciliation, zone: ZoneInfo, snapshot: Snapshot) -> tuple[pa.Table, pa.Table]:
    """Return every event up to the month's end in counting order, and the differences at its end.

    Columns as in COIN_EVENTS and COIN_CROSSINGS.
    """
    with snapshot.connection() as connection:
        load(connection, {"asked": month_days(r.month, zone)})
        run(connection, STEPS, targets=_TARGETS)
        recorded = connection.table("coin_events").to_arrow_table().cast(COIN_EVENTS)
        crossings = connection.table("coin_crossings").to_arrow_table().cast(COIN_CROSSINGS)
    converted = pa.Table.from_pylist(list(_converted(r, zone)), schema=COIN_EVENTS)
    events = pa.concat_tables([recorded, converted])
    turns = pa.array([_TURNS[kind] for kind in events["kind"].to_pylist()], pa.int8())
    ordered = events.append_column("turn", turns).sort_by(
        [(name, "ascending") for name in ("moment", "turn", "event_id")]
    )
    crossings = crossings.sort_by([(name, "ascending") for name in ("coin", "holder", "hash")])
    return passed_on(ordered.drop_columns("turn")), crossings


def placed_transfers(month: Month, zone: ZoneInfo, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the month's completed transfers from the step `placed_transfers`, by time."""
    with snapshot.connection() as connection:
        load(connection, {"asked": month_days(month, zone)})
        run(connection, needed(STEPS, "placed_transfers"))
        placed = connection.table("placed_transfers").filter(
            f"happened_on BETWEEN DATE '{month.first}' AND DATE '{month.last}'"
        )
        return placed.order("moment, transfer_id").to_arrow_table().to_pylist()


def passed_on(events: pa.Table) -> pa.Table:
    """Order simultaneous transfers so that coins arrive before they are passed on.

    All transactions in a block of a chain have the same time. If transfers form a circle, the first
    event comes first.
    """
    places = pc.indices_nonzero(pc.equal(events["kind"], "transferred"))
    groups: dict[tuple[str, datetime], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for place, row in zip(places.to_pylist(), events.take(places).to_pylist(), strict=True):
        if row["from_holder"] != row["to_holder"]:
            groups[row["coin"], row["moment"]].append((place, row))
    order = list(range(events.num_rows))
    for waiting in groups.values():
        to_come = Counter(row["to_holder"] for _, row in waiting)
        for place in [place for place, _ in waiting]:
            ready = (at for at, (_, row) in enumerate(waiting) if not to_come[row["from_holder"]])
            order[place], row = waiting.pop(next(ready, 0))
            to_come[row["to_holder"]] -= 1
    return events.take(pa.array(order, pa.int64()))


def _converted(r: Reconciliation, zone: ZoneInfo) -> Iterator[dict[str, Any]]:
    """Yield the events of conversions whose quantity and cost are proved by the month's end."""
    end = r.month.end(zone)
    for row in r.conversions.arrow.to_pylist():
        if conversion_problem(row, end) or not row["converted"]:
            continue
        closed_on = row["closed_at"].astimezone(zone).date()
        begun = Month.of(closed_on).start(zone)
        yield {
            "event_id": f"conversion:{row['account_id']}:{row['asset']}"
            f":{row['closed_at']:%Y-%m-%dT%H:%M:%S}",
            "contra": "conversion",
            "coin": row["asset"],
            "quantity": row["converted"],
            "moment": max(row["opened_at"] or begun, begun),
            "happened_on": closed_on,
            "kind": "acquired",
            "consideration": row["fiat"],
            "currency": row["currency"],
            "from_holder": None,
            "to_holder": row["account_id"],
            "reference": f"conversion, {row['account']}",
            "source_id": row["account_id"],
        }


def unproved_conversions(r: Reconciliation, zone: ZoneInfo) -> Iterator[dict[str, Any]]:
    """Yield converted coins that are in no pool at the month's end; columns of COIN_UNPROVED."""
    end = r.month.end(zone)
    for row in r.conversions.arrow.to_pylist():
        problem = conversion_problem(row, end)
        begun = row["opened_at"] or row["closed_at"]
        if problem and row["converted"] and begun < end:
            yield {
                "coin": row["asset"],
                "holder": row["account_id"],
                "subject": f"conversion, {row['account']}",
                "quantity": row["converted"],
                "problem": problem,
                "next_step": row["next_step"] or _ASK,
            }


def conversion_problem(row: Mapping[str, Any], end: datetime) -> str:
    """Return why a conversion's coins have no known cost at `end`; empty if they have one.

    If the second balance is later than `end`, the coins at `end` are unknown.
    """
    if row["closed_at"] is None or row["closed_at"] >= end:
        return "converted between two balances around the month's end: on either side of it"
    if row["state"] not in _PROVED:
        return row["reason"] or "not proved"
    if row["edge_credits"]:
        return f"its cost is not proved: {row['reason']}"
    return "" if row["fiat"] is not None else "its cost is not recorded"
