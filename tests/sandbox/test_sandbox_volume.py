"""A company with very many records: complete, reproducible, and with no slow page.

The cost is counted in steps of the database, not in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_http import plain_client

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox, Volume
from treasury.sandbox.state.store import COLUMNS, Store, service_record
from treasury.sandbox.story.volume import Past

VOLUME = Volume(12_000, 30_000)


@pytest.fixture(scope="module")
def big() -> Iterator[Sandbox]:
    sandbox = Sandbox(7, volume=VOLUME)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def caller(big: Sandbox, caller_of: Any) -> Iterator[Any]:
    with big.serve() as served, plain_client(20) as http:
        yield caller_of(big, served, http, "viewer")


def store_of(sandbox: Sandbox) -> Store:
    return sandbox._world.store


# The records


@pytest.mark.acceptance
def test_the_requested_number_of_records_is_added_to_the_story(big: Sandbox) -> None:
    def count(kind: str, sandbox: Sandbox) -> int:
        return store_of(sandbox).page(kind, {}, limit=0).total

    story = Sandbox(7)
    kinds = ("ramp_request", "transfer", "account_transfer")
    more = {kind: count(kind, big) - count(kind, story) for kind in kinds}
    assert more["ramp_request"] == VOLUME.requests
    assert more["transfer"] + more["account_transfer"] == VOLUME.transfers
    assert min(more.values()) > 0
    assert big.truth() == story.truth()
    assert big.bank_files() == story.bank_files()
    assert big.finance.ledger_balances() == story.finance.ledger_balances()


@pytest.mark.acceptance
def test_the_stored_fields_of_a_record_equal_its_bodies(big: Sandbox) -> None:
    store = store_of(big)
    columns = ", ".join(c for c in COLUMNS if c != "item")
    rows = store.db.execute(
        f"select {columns}, position from records where detail = '' and position % 37 = 0"
    ).fetchall()
    assert len(rows) == (VOLUME.requests + VOLUME.transfers) // 37
    past = Past(big._world.cast, 7, VOLUME)
    for *stored, position in rows:
        if stored[0] == "ramp_request":
            made = past.request(position - 1)
        else:
            made = service_record(past.transfer(position - 1 - VOLUME.requests))
        assert [getattr(made, c) for c in COLUMNS if c != "item"] == stored
        page = store.page(stored[0], {"id": [stored[1]]})
        assert page.items == [made.item]
        assert store.detail(*stored[:2]) == made.detail


def test_references_and_ids_are_unique_and_depend_only_on_the_seed() -> None:
    def texts(seed: int) -> list[tuple[str, str]]:
        store = store_of(Sandbox(seed, volume=Volume(301, 303)))
        query = "select id, reference from records where detail = '' order by position"
        return store.db.execute(query).fetchall()

    first = texts(7)
    assert first == texts(7)
    assert first != texts(8)
    assert len({given for given, _ in first}) == 604
    assert len({reference for _, reference in first if reference}) == 301


@pytest.mark.acceptance
def test_generated_records_have_the_shape_of_the_others(caller: Any) -> None:
    shapes: dict[bool, set[frozenset[str]]] = {True: set(), False: set()}
    for order in ("ASC", "DESC"):
        query = {"status": "SUCCEEDED", "sortOn": "createdAt", "sortOrder": order, "size": 40}
        for item in caller.ramp("/ramp-requests", **query).json()["result"]:
            told = caller.ramp(f"/ramp-requests/{item['id']}").json()["result"]
            assert {told[name] for name in ("status", "paymentReference")} <= set(item.values())
            shape = frozenset((told["rampType"], *told, *item))
            shapes[item["createdAt"] < "2026"].add(shape)
    assert shapes[True] == shapes[False]
    assert len(shapes[True]) == 2


@pytest.mark.acceptance
def test_a_volume_survives_a_restart_and_cannot_change(tmp_path: Path) -> None:
    first = Sandbox(7, state=tmp_path, volume=Volume(50, 60))
    items = store_of(first).page("ramp_request", {}, limit=5).items
    first.close()
    again = Sandbox(7, state=tmp_path, volume=Volume(50, 60))
    assert store_of(again).page("ramp_request", {}, limit=5).items == items
    again.close()
    with pytest.raises(InputError, match="of volume 50,60") as refused:
        Sandbox(7, state=tmp_path)
    assert "--volume 50,60" in str(refused.value.do)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "-1,2", "a,b", "1,²", "9999999,1"])
def test_an_invalid_volume_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Volume.parse(text)


# The cost of a page

LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "as entered": ("ramp_request", {}),
    "oldest first": ("ramp_request", {"sort": ["created_at"]}),
    "newest first": ("ramp_request", {"sort": ["created_at"], "descending": True}),
    "last changed": ("ramp_request", {"sort": ["updated_at"], "descending": True}),
    "by reference": ("ramp_request", {"sort": ["reference"]}),
    "by id": ("ramp_request", {"sort": ["id"]}),
    "of a status": ("ramp_request", {"where": {"status": ["SUCCEEDED"]}, "sort": ["created_at"]}),
    "of two statuses": (
        "ramp_request",
        {"where": {"status": ["SUCCEEDED", "FAILED"]}, "sort": ["created_at"]},
    ),
    "of a status as entered": ("ramp_request", {"where": {"status": ["SUCCEEDED"]}}),
    "of a type": ("ramp_request", {"where": {"type": ["ON_RAMP"]}, "sort": ["created_at"]}),
    "of some days": (
        "ramp_request",
        {"between": ("2024-03-01", "2025-11-01"), "sort": ["created_at"]},
    ),
    "of some days, newest first": (
        "ramp_request",
        {"between": ("2024-03-01", "2025-11-01"), "sort": ["created_at"], "descending": True},
    ),
    "sent or received": ("transfer", {"members": ("owner", "peer"), "sort": ["created_at"]}),
    "sent": ("transfer", {"members": ("owner",), "sort": ["created_at"]}),
    "received and failed or not": (
        "transfer",
        {
            "members": ("owner", "peer"),
            "where": {"status": ["COMPLETED", "FAILED"]},
            "sort": ["created_at"],
            "descending": True,
        },
    ),
}


class Steps:
    """A counter of the database's work, in units of five instructions of SQLite."""

    def __init__(self, store: Store) -> None:
        self.count, self._store = 0, store
        store.db.set_progress_handler(self._step, 5)

    def _step(self) -> None:
        self.count += 1

    def of(self, **asked: Any) -> int:
        before = self.count
        assert len(self._store.page(limit=100, **asked).items) == 100
        return self.count - before


@pytest.mark.parametrize("name", LISTS)
def test_a_later_page_costs_at_most_twice_the_first(big: Sandbox, name: str) -> None:
    store, (kind, asked) = store_of(big), LISTS[name]
    account = big._world.cast.virtual_accounts[0].account_id
    asked = {"kind": kind, "where": {}} | asked
    if "members" in asked:
        asked["members"] = dict.fromkeys(asked["members"], account)
    total = store.page(**asked, limit=0).total
    assert total > 5000
    steps, last = Steps(store), total // 100 * 100 - 100
    # The first call for a late page caches where pages begin.
    store.page(**asked, offset=last, limit=100)
    first = steps.of(**asked, offset=0)
    for offset in (100, total // 200 * 100, last):
        assert steps.of(**asked, offset=offset) <= 2 * first
    store.db.set_progress_handler(None, 0)


@pytest.mark.acceptance
@pytest.mark.parametrize("name", LISTS)
def test_the_pages_together_are_the_whole_list(big: Sandbox, name: str) -> None:
    store, (kind, asked) = store_of(big), LISTS[name]
    account = big._world.cast.virtual_accounts[0].account_id
    asked = {"kind": kind, "where": {}} | asked
    if "members" in asked:
        asked["members"] = dict.fromkeys(asked["members"], account)
    ids = [json.loads(item)["id"] for item in store.page(**asked).items]
    assert len(set(ids)) == len(ids)
    for size in (7, 100, 999):
        for offset in (0, size, len(ids) // 2 // size * size, len(ids) // size * size):
            page = store.page(**asked, offset=offset, limit=size)
            assert page.total == len(ids)
            expected = ids[offset : offset + size]
            assert [json.loads(item)["id"] for item in page.items] == expected


@pytest.mark.acceptance
def test_the_next_page_shows_a_write(speak: Any, http: httpx.Client) -> None:
    sandbox = Sandbox(7, volume=Volume(6000, 0))
    waiting = {"status": "AWAITING_APPROVAL", "sortOn": "createdAt"}
    with sandbox.serve() as served:
        checker = speak(sandbox, served, http, "checker")
        before = checker.ramp("/ramp-requests", **waiting).json()
        every = checker.ramp("/ramp-requests", page=60, sortOn="createdAt").json()
        request = before["result"][0]["id"]
        version = checker.ramp(f"/ramp-requests/{request}").json()["result"]["version"]
        assert checker.decide(f"{request}/reject", {"version": version}).status_code == 200
        after = checker.ramp("/ramp-requests", **waiting).json()
        assert [i["id"] for i in before["result"][1:]] == [i["id"] for i in after["result"]]
        assert checker.ramp("/ramp-requests", page=60, sortOn="createdAt").json() == every


@pytest.mark.acceptance
@given(
    st.lists(st.sampled_from(["SUCCEEDED", "CANCELLED", "FAILED", "BLOCKED", "x"]), max_size=5),
    st.booleans(),
    st.integers(0, 70),
    st.integers(1, 250),
)
def test_any_page_of_any_statuses_is_a_slice_of_the_sorted_list(
    big: Sandbox, statuses: list[str], descending: bool, number: int, size: int
) -> None:
    store = store_of(big)
    marks = ", ".join("?" * len(statuses)) or "null"
    way = "desc" if descending else "asc"
    rows = store.db.execute(
        f"select id from records where kind = 'ramp_request' and status in ({marks})"
        f" order by created_at {way}, position {way}",
        statuses,
    ).fetchall()
    page = store.page(
        "ramp_request", {"status": statuses}, sort=["created_at"], descending=descending,
        offset=number * size, limit=size,
    )  # fmt: skip
    assert page.total == len(rows)
    expected = [given for (given,) in rows[number * size : (number + 1) * size]]
    assert [json.loads(item)["id"] for item in page.items] == expected
