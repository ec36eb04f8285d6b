"""Open items of what a sync cannot have seen, and of records that their service no longer lists.

A full comparison with the services marks what it lacks. Such a record may have been settled, moved
or lost; nobody pays it, and its provider is asked. Its item stands for any other of the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from treasury.extract.completeness import named_nowhere, reference_gaps
from treasury.ground.sql_files import step_sql
from treasury.items.item_facts import Facts, make_item
from treasury.items.open_item import OpenItem
from treasury.reconcile.clocks import rail_of
from treasury.text import clean

__all__ = ["unlisted_items", "unseen_items"]


_UNLISTED: Final = step_sql("treasury.items.steps", "unlisted_records")
_FINDINGS: Final = """
SELECT finding_id, kind, table_name, subject, listed, held, why, valid_from AS since
FROM sync_findings WHERE vanished_at IS NULL ORDER BY finding_id
"""
_FINDING_KINDS: Final = {
    "count": ("counts_differ", "NOT ALL HELD"),
    "refused": ("list_refused", "NOT READ"),
    "field": ("field_new", "NOT KNOWN"),
}


def unseen_items(facts: Facts) -> Iterator[OpenItem]:
    """An item for each thing that the syncs up to the question could not see, or do not know."""
    if facts.r.basis is None:
        return
    snapshot = facts.r.basis.snapshot
    for row in snapshot.select(_FINDINGS).to_pylist():
        kind, state = _FINDING_KINDS[row["kind"]]
        name = f"{row['table_name']} {clean(row['subject'])}".strip()
        others: dict[str, Any] = {}
        if row["kind"] == "count":
            name = f"{name}: {row['listed']:,} counted, {row['held']:,} held"
        elif row["kind"] == "refused":
            others = {"next_step": f"{clean(row['why'])}: read it with a credential that may"}
        yield make_item(
            facts, kind, "source", row["finding_id"], name=name, state=state,
            since=_since(facts, row), **others,
        )  # fmt: skip
    for row in named_nowhere(snapshot):
        yield make_item(
            facts,
            "named_nowhere",
            "source",
            f"{row['missing_from']}/{row['id']}",
            name=f"{row['missing_from']} {clean(row['id'])}, named by {row['named_by']}",
            state="NOT LISTED",
            since=_since(facts, row),
        )
    for row in reference_gaps(snapshot):
        span = row["first"] if row["missing"] == 1 else f"{row['first']} to {row['last']}"
        yield make_item(
            facts,
            "reference_gap",
            "source",
            f"references/{row['first']}",
            name=clean(span),
            state="NOT LISTED",
            since=_since(facts, row),
        )


def _since(facts: Facts, row: Mapping[str, Any]) -> date | None:
    """The day on which it was stored first."""
    return facts.day(row["since"])


def unlisted_items(facts: Facts) -> Iterator[OpenItem]:
    """An item for each request and transfer of the month or before that is no longer listed."""
    if facts.r.basis is None:
        return
    end = facts.month.end(facts.zone)
    for row in facts.r.basis.snapshot.select(_UNLISTED, {"end": end}).to_pylist():
        lacked_on = facts.day(row["vanished_at"])
        assert lacked_on is not None  # the query asks for it
        yield make_item(
            facts,
            "vanished",
            row["subject"],
            row["id"],
            name=clean(row["name"]),
            state="NOT LISTED",
            since=min(lacked_on, facts.month.last),
            rail=rail_of(row["currency"]),
            amount=row["amount"],
            currency=row["currency"] or "",
            direction=row["direction"],
            next_step=f"{clean(row['status'])} when it was last listed: ask the provider what "
            "became of it; do not pay it",
            request_id=row["id"] if row["subject"] == "request" else None,
            transfer_id=row["id"] if row["subject"] == "transfer" else None,
        )
