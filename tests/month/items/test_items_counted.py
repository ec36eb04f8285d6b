"""Money that is in several rows of the list is counted in only one of them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from items_october import action, difference, facts_of, items_of, line, moved, waiting

from treasury.close.closing import Closing
from treasury.core.money import total
from treasury.matching.reference_matching import Matches
from treasury.month.items import OpenItems, open_items
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


def listed(october: Closing, pairs: list[tuple[str, str]], **rows: Any) -> OpenItems:
    """Return the items if each line may pay the request of its pair, the likeliest pair first."""
    facts = facts_of(october, **rows)
    candidates = facts.r.matches.candidates.arrow.schema.empty_table().to_pylist()
    for rank, (entry, request) in enumerate(pairs, 1):
        candidates.append({"entry_id": entry, "expectation_id": request, "rank": rank})
    table = pa.Table.from_pylist(candidates, schema=facts.r.matches.candidates.arrow.schema)
    matches: Matches = msgspec.structs.replace(facts.r.matches, candidates=table)
    r = msgspec.structs.replace(facts.r, matches=matches)
    return open_items(msgspec.structs.replace(facts, r=r))


def counted(items: OpenItems) -> dict[str, str | None]:
    return {item.item_id: item.counted_in for item in items}


def test_a_request_is_counted_in_the_line_that_may_pay_it(october: Closing) -> None:
    items = listed(
        october,
        [("e1", "r2")],
        lines=[line(amount=Decimal(500))],
        differences=[difference("NEEDS DECISION")],
    )
    assert counted(items) == {"line:e1": None, "request:r2": "line:e1"}
    assert total(item.counted_amount for item in items if item.counted_amount) == 500


def test_a_line_counts_no_more_requests_than_its_amount_pays(october: Closing) -> None:
    two = [difference("NEEDS DECISION", request_id=name) for name in ("r2", "r3")]
    pairs = [("e1", "r2"), ("e1", "r3")]
    one = listed(october, pairs, lines=[line(amount=Decimal(500))], differences=two)
    assert counted(one) == {"line:e1": None, "request:r2": "line:e1", "request:r3": None}
    both = listed(october, pairs, lines=[line(amount=Decimal(1000))], differences=two)
    assert counted(both) == {"line:e1": None, "request:r2": "line:e1", "request:r3": "line:e1"}


def test_a_line_of_another_currency_counts_no_request(october: Closing) -> None:
    items = listed(
        october,
        [("e1", "r2")],
        lines=[line(currency="USD")],
        differences=[difference("NEEDS DECISION")],
    )
    assert counted(items) == {"line:e1": None, "request:r2": None}


def test_an_action_on_a_request_that_a_line_counts_is_counted_there_too(october: Closing) -> None:
    items = listed(
        october,
        [("e1", "r1")],
        lines=[line()],
        awaiting_funds=[waiting("CHECK BANK")],
        actions=[action("proposed", request_id="r1")],
    )
    assert counted(items) == {
        "line:e1": None,
        "request:r1": "line:e1",
        "action:A-1": "line:e1",
    }


def test_an_item_counted_nowhere_else_counts_itself(october: Closing) -> None:
    items = items_of(
        october, moved=[moved()], actions=[action("proposed", request_id="not listed")]
    )
    assert set(counted(items).values()) == {None}


def test_a_request_made_in_a_month_and_approved_later_belongs_to_the_month(
    month_end: Workspace, october: Closing
) -> None:
    last = october.r.month.end(october.zone)
    (first, *_) = month_end.sql(
        "SELECT id FROM ramp_requests WHERE is_open AND status = 'AWAITING_APPROVAL'"
        " ORDER BY created_at"
    ).arrow.to_pylist()
    row = waiting(request=first["id"], approved=last)
    items = open_items(facts_of(october, basis=True, awaiting_funds=[row])).by_id
    item = items[f"request:{first['id']}"]
    assert (item.kind, item.month, item.since) == ("to_pay", "2026-10", date(2026, 10, 30))
