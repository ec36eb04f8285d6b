"""The summary of a month: how far its statements prove it, and what was in transit."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec

from treasury.month.reconciliation import Reconciliation


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The number of declared and of proved accounts.

    `proved_to` is the last day of the month that all accounts with statements are covered to.
    """

    accounts: int
    proved: int
    proved_to: date | None


def proof_of(r: Reconciliation) -> Proof:
    """Return how far the statements prove a month."""
    rows = r.statements.arrow.to_pylist()
    reached = [row["covered_to"] for row in rows if row["statements"]]
    return Proof(
        accounts=len(rows),
        proved=sum(1 for row in rows if row["complete"]),
        proved_to=min((min(to, r.month.last) for to in reached if to), default=None),
    )


def in_transit(r: Reconciliation) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the amounts in transit at the month's end, and those that may have arrived.

    An amount may have arrived if an undecided line may be its arrival. It does not count as in
    transit.
    """
    sure: list[dict[str, Any]] = []
    maybe: list[dict[str, Any]] = []
    for row in r.in_transit.arrow.to_pylist():
        arrived = row["may_have_arrived_on"]
        (maybe if arrived is not None and arrived <= r.month.last else sure).append(row)
    return sure, maybe
