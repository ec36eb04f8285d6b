"""What a month's head says: how far its statements prove it, and what was on its way."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec

from treasury.month.reconciliation import Reconciliation


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the declared accounts are proved for the month, and to which day all are."""

    accounts: int
    proved: int
    proved_to: date | None


def proof_of(r: Reconciliation) -> Proof:
    """How far the statements prove a month."""
    rows = r.statements.arrow.to_pylist()
    reached = [row["covered_to"] for row in rows if row["statements"]]
    return Proof(
        accounts=len(rows),
        proved=sum(1 for row in rows if row["complete"]),
        proved_to=min((min(to, r.month.last) for to in reached if to), default=None),
    )


def in_transit(r: Reconciliation) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was in transit when the month ended, and what may have arrived by then.

    The second are those for which some line that needs a decision may be the arrival: they are not
    counted as in transit.
    """
    sure: list[dict[str, Any]] = []
    maybe: list[dict[str, Any]] = []
    for row in r.in_transit.arrow.to_pylist():
        arrived = row["may_have_arrived_on"]
        (maybe if arrived is not None and arrived <= r.month.last else sure).append(row)
    return sure, maybe
