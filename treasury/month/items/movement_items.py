"""Open items about moving money: conversions, transfers between own accounts, other transfers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.files.package_files import step_sql
from treasury.core.text import clean
from treasury.month.clocks import CALENDAR, rail_of, reacts_by, stage_of
from treasury.month.items.item_facts import Facts, make_item
from treasury.month.items.open_item import OpenItem
from treasury.month.states import states_of

_CONVERSIONS: Final = states_of("conversion")
_TRANSFERS: Final = states_of("transfer")
"""The states of an own transfer that has an open item."""
_PAYMENTS: Final = step_sql("treasury.month.items.steps", "open_payments")


def conversion_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per row of credits without a proved conversion."""
    for row in _in_states(facts.r.conversions.arrow, tuple(_CONVERSIONS)):
        due = facts.day(row["due"])
        began = facts.day(row["opened_at"])
        if row["fiat"] is None:
            continue
        is_in_time = due is None or facts.today <= due
        is_waiting = row["state"] == "not_yet_credited" and is_in_time
        state = _CONVERSIONS["in_time" if is_waiting else row["state"]]
        since = began or (None if due is None else min(due, facts.month.last))
        place = "/".join((row["account_id"], row["asset"], *sorted(row["entry_ids"])[:1]))
        yield make_item(
            facts,
            state.kind,
            f"conversion:{place}",
            name=f"{clean(row['account'])}, {row['currency']} to {row['asset']}",
            state=state.screen,
            since=since,
            rail=rail_of(row["currency"]),
            due=due,
            amount=row["fiat"],
            currency=row["currency"],
            direction="in",
            next_step=row["next_step"] or "Wait for the service",
            entry_id=row["entry_ids"][0] if len(row["entry_ids"]) == 1 else None,
        )


def own_transfer_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per transfer between our own accounts that lacks a leg."""
    for row in _in_states(facts.r.internal_transfers.arrow, tuple(_TRANSFERS)):
        is_in_time = row["state"] == "under_way" and row["stage"] == "expected"
        state = _TRANSFERS["in_time" if is_in_time else row["state"]]
        yield make_item(
            facts,
            state.kind,
            f"transfer:{row['transfer_id'] or row['out_id'] or row['in_id']}",
            name=f"{clean(row['sent_from'])} to {clean(row['received_by'])}",
            state=state.screen,
            since=row["out_on"] or row["in_on"],
            rail=CALENDAR if row["transfer_id"] else rail_of(row["currency"]),
            due=row["due"],
            amount=row["amount"],
            currency=row["currency"],
            direction="in" if row["out_on"] is None else "out",
            next_step=row["next_step"] or "Wait for it to settle",
            transfer_id=row["transfer_id"],
            entry_id=row["out_id"] or row["in_id"],
        )


def _in_states(table: pa.Table, states: tuple[str, ...]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.filter(
        pc.is_in(table["state"], pa.array(states, pa.string()))
    ).to_pylist()
    return rows


def payment_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per transfer to others that the service has not finished."""
    rules = facts.r.rules
    for row in facts.select(_PAYMENTS, {"end": facts.end}):
        rail = rail_of(row["currency"] if row["kind"] == "fiat" else None)
        since = facts.day(row["began_at"])
        # Every record has the time at which it was first seen.
        assert since is not None
        due = reacts_by(since, rules, rail=rail)
        is_late = stage_of(due, facts.today, rules, rail) != "expected"
        yield make_item(
            facts,
            "payment_late" if is_late else "under_way",
            f"transfer:{row['id']}",
            name=clean(row["merchant_reference"]) or f"{row['kind']} from {clean(row['sender'])}",
            state="LATE" if is_late else "UNDER WAY",
            since=since,
            rail=rail,
            due=due,
            amount=row["amount"],
            currency=row["currency"] or "",
            direction="out",
            transfer_id=row["id"],
        )
