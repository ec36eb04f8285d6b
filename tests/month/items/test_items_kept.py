"""The open items are computed once for equal facts, and again as soon as a fact differs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pytest
from items_october import facts_of, line, row_of

from treasury.close.balances import month_balances
from treasury.close.closing import Closing
from treasury.month.items import Facts, open_items
from treasury.month.items.item_facts import STALE_AFTER
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


def with_answer(facts: Facts, **changed: Any) -> Facts:
    return msgspec.structs.replace(facts, r=msgspec.structs.replace(facts.r, **changed))


def test_equal_facts_give_the_same_items(october: Closing) -> None:
    facts = facts_of(october, lines=[line()], basis=True)
    again = with_answer(facts, as_of=facts.r.as_of + timedelta(seconds=1))
    first, second = open_items(facts), open_items(again)
    assert first.items == second.items
    assert all(one is other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("name", ["balances", "late", "corrections", "moved", "actions", "ledger"])
def test_facts_that_differ_in_a_table_are_not_alike(october: Closing, name: str) -> None:
    facts = facts_of(october, lines=[line()], basis=True)
    table = getattr(facts, name)
    schema = pa.schema([("any", pa.string())]) if table is None else table.schema
    one_more = pa.Table.from_pylist([row_of(schema)], schema=schema)
    assert facts.is_alike(msgspec.structs.replace(facts, zone=facts.zone))
    assert not facts.is_alike(msgspec.structs.replace(facts, **{name: one_more}))


def test_facts_of_another_answer_or_day_are_not_alike(october: Closing) -> None:
    facts = facts_of(october, lines=[line()], basis=True)
    assert not facts.is_alike(with_answer(facts, lines=facts.r.lines.arrow.slice(0)))
    assert not facts.is_alike(with_answer(facts, basis=None))
    assert not facts.is_alike(with_answer(facts, as_of=facts.r.as_of + timedelta(days=1)))
    read = msgspec.structs.replace(facts, synced_at=facts.r.as_of - STALE_AFTER)
    assert not read.is_alike(with_answer(read, as_of=read.r.as_of + timedelta(microseconds=1)))
    assert not facts.is_alike(msgspec.structs.replace(facts, journal_problem="altered"))


def test_balances_are_computed_once_for_each_answer_and_zone(october: Closing) -> None:
    r, zone = october.r, october.zone
    balances = month_balances(r, zone)
    later = msgspec.structs.replace(r, as_of=r.as_of + timedelta(seconds=1))
    assert month_balances(later, zone) is balances
    without_lines = msgspec.structs.replace(r, lines=r.lines.arrow.slice(0, 0))
    assert month_balances(without_lines, zone).to_pylist() != balances.to_pylist()
    assert month_balances(r, ZoneInfo("Asia/Tokyo")) is not balances
    assert month_balances(r, zone).to_pylist() == balances.to_pylist()
