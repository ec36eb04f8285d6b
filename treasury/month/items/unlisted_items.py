"""Open items about records that a sync could not see, or that their service no longer lists.

A full comparison with the services marks missing records. The service may have settled, moved or
lost such a record. It must not be paid until the provider has explained it. The item replaces any
other item about the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treasury.core.files.package_files import step_sql
from treasury.core.text import clean
from treasury.extract.completeness import named_nowhere, reference_gaps
from treasury.month.items.item_facts import Facts, make_item, money_of
from treasury.month.items.open_item import OpenItem
from treasury.month.states import states_of

_UNLISTED: Final = step_sql("treasury.month.items.steps", "unlisted_records")
_FINDINGS: Final = step_sql("treasury.month.items.steps", "standing_findings")
_FOUND: Final = states_of("finding")


def unseen_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per sync finding, record that is only named, and gap in the references.

    A sync finding is, for example, an unknown field. A record is only named if another record
    refers to it and no list contains it.
    """
    if facts.r.basis is None:
        return
    snapshot = facts.r.basis.snapshot
    for row in snapshot.select(_FINDINGS).to_pylist():
        state = _FOUND[row["kind"]]
        name = f"{row['table_name']} {clean(row['subject'])}".strip()
        others: dict[str, Any] = {}
        if row["kind"] == "count":
            name = f"{name}: {row['listed']:,} counted, {row['held']:,} held"
        elif row["kind"] == "refused":
            others = {
                "next_step": f"{clean(row['why'])}: read it with a credential that may read it"
            }
        yield _source_item(
            facts, state.kind, row["finding_id"], row, name=name, state=state.screen, **others
        )
    for row in named_nowhere(snapshot):
        place, record = row["missing_from"], clean(row["id"])
        name = f"{place} {record}, named by {row['named_by']}"
        yield _source_item(facts, "named_nowhere", f"{place}/{row['id']}", row, name=name)
    for row in reference_gaps(snapshot):
        span = row["first"] if row["missing"] == 1 else f"{row['first']} to {row['last']}"
        place = f"references/{row['first']}"
        yield _source_item(facts, "reference_gap", place, row, name=clean(span))


def _source_item(
    facts: Facts,
    kind: str,
    place: str,
    row: Mapping[str, Any],
    state: str = "NOT LISTED",
    **others: Any,
) -> OpenItem:
    """Return the item for a finding; it began on the day on which the finding was stored."""
    since = facts.day(row["since"])
    return make_item(facts, kind, f"source:{place}", state=state, since=since, **others)


def unlisted_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per request or transfer, of the month or before, that is no longer listed."""
    for row in facts.select(_UNLISTED, {"end": facts.end}):
        lacked_on = facts.day(row["vanished_at"])
        # The query returns only records that are no longer listed, so the day is set.
        assert lacked_on is not None
        yield make_item(
            facts,
            "vanished",
            f"{row['subject']}:{row['id']}",
            name=clean(row["name"]),
            state="NOT LISTED",
            since=min(lacked_on, facts.month.last),
            **money_of(row),
            direction=row["direction"],
            next_step=f"{clean(row['status'])} when it was last listed: ask the provider "
            "what became of it; do not pay it",
            request_id=row["id"] if row["subject"] == "request" else None,
            transfer_id=row["id"] if row["subject"] == "transfer" else None,
        )
