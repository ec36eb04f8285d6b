"""A service that answers unlike the sandbox: real answers, changed on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from practice import NO_WAITING, contents, secret_file, services_of

from treasury.api import Client
from treasury.core.errors import UnexpectedResponse
from treasury.extract import SyncReport, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

Change = Callable[[Any], Any]
Calm = tuple[Sandbox, Served]


class Changing(httpx.BaseTransport):
    """A transport that passes the result of every answer on a path to `change`."""

    def __init__(self, path: str, change: Change) -> None:
        self._path = path
        self._change = change
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        response.read()
        if not request.url.path.endswith(self._path):
            return response
        body = json.loads(response.content)
        body["result"] = self._change(body["result"])
        return httpx.Response(200, json=body)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def changed(calm: Calm, folder: Path, path: str, change: Change) -> Iterator[Client]:
    sandbox, served = calm
    with Client(
        services_of(served),
        secret_file(folder, sandbox, "maker"),
        clock=NO_WAITING,
        inner=Changing(path, change),
    ) as client:
        yield client


Sync = Callable[[str, Change], SyncReport]


@pytest.fixture
def sync_with(calm: Calm, lake: Lake, tmp_path: Path) -> Sync:
    def synced(path: str, change: Change) -> SyncReport:
        with changed(calm, tmp_path, path, change) as client:
            return sync(client, lake, calm[0].now)

    return synced


def same(result: Any) -> Any:
    return result


@pytest.mark.acceptance
def test_an_unlisted_record_is_marked_and_kept(sync_with: Sync, lake: Lake) -> None:
    sync_with("/fees", same)
    count = lake.snapshot().sql("SELECT id FROM fees").num_rows
    report = sync_with("/fees", lambda fees: fees[1:])
    (line,) = [line for line in report.tables if line.table == "fees"]
    assert (line.vanished, line.unchanged) == (1, count - 1)
    rows = lake.snapshot().sql("SELECT vanished_at FROM fees").to_pylist()
    assert [row["vanished_at"] for row in rows if row["vanished_at"]] == [report.at]
    assert len(rows) == count


@pytest.mark.acceptance
def test_an_unknown_status_counts_as_open_and_is_reported(sync_with: Sync, lake: Lake) -> None:
    def reversing(transfers: list[dict]) -> list[dict]:
        return [transfer | {"status": "REVERSED"} for transfer in transfers]

    report = sync_with("/account-to-account-transfers", reversing)
    assert report.notices == ("transfers: status 'REVERSED' is not known; it counts as open",)
    rows = lake.snapshot().sql("SELECT DISTINCT is_open FROM transfers WHERE status = 'REVERSED'")
    assert rows.to_pylist() == [{"is_open": True}]


@pytest.mark.acceptance
def test_unknown_fields_stay_in_raw(sync_with: Sync, lake: Lake) -> None:
    sync_with("/company", lambda company: company | {"moon": {"phase": 0.25}})
    (row,) = lake.snapshot().sql("SELECT raw FROM company").to_pylist()
    assert json.loads(row["raw"])["moon"] == {"phase": 0.25}


@pytest.mark.acceptance
def test_a_balance_that_does_not_add_up_is_reported_and_stored_as_stated(
    sync_with: Sync, lake: Lake
) -> None:
    def adding(wallets: list[dict]) -> list[dict]:
        for balance in wallets[0]["balances"]:
            balance["amount"] = {"total": "10.0", "available": "9.0", "reserved": "0.5"}
        return wallets

    report = sync_with("/wallets", adding)
    assert "9.0 available and 0.5 reserved do not add up to 10.0" in report.notices[0]
    assert lake.snapshot().sql("SELECT total FROM wallet_balances WHERE total = 10").num_rows


@pytest.mark.acceptance
def test_bare_balances_are_observed_without_a_wallet(sync_with: Sync, lake: Lake) -> None:
    nothing = [{"asset": "USDC", "amount": {"total": "0", "available": "0", "reserved": "0"}}]
    sync_with("/wallets", lambda wallets: [b for w in wallets for b in w["balances"] or nothing])
    snapshot = lake.snapshot()
    rows = snapshot.sql("SELECT wallet_id, account_id FROM wallet_balances").to_pylist()
    assert rows
    assert all(row["wallet_id"] is None and row["account_id"] for row in rows)
    assert snapshot.sql("SELECT id FROM wallets").num_rows == 0


@pytest.mark.acceptance
def test_parties_listed_without_their_checks_are_read_in_detail(
    sync_with: Sync, lake: Lake, synced: tuple[Lake, SyncReport]
) -> None:
    def shortened(parties: list[dict]) -> list[dict]:
        left_out = {"kycStatus", "kybStatus", "version", "address"}
        return [{k: v for k, v in party.items() if k not in left_out} for party in parties]

    sync_with("/parties", shortened)
    assert contents(lake)["parties"] == contents(synced[0])["parties"]


@pytest.mark.acceptance
def test_a_listed_record_that_comes_twice_is_stored_once(sync_with: Sync, lake: Lake) -> None:
    sync_with("/fiat-currencies", lambda currencies: currencies + currencies)
    rows = lake.snapshot().sql("SELECT id FROM fiat_currencies").to_pylist()
    assert len(rows) == len({row["id"] for row in rows}) == 3


@pytest.mark.acceptance
def test_later_lists_that_ignore_the_date_cause_no_extra_details(
    calm: Calm, sync_with: Sync, lake: Lake
) -> None:
    everything: list[list[dict]] = []

    def listing(requests: list[dict]) -> list[dict]:
        everything.append(requests)
        return requests

    def all_of_them(_requests: list[dict]) -> list[dict]:
        return everything[0]

    sync_with("/ramp-requests", listing)
    count = len(calm[1].requests)
    sync_with("/ramp-requests", all_of_them)
    open_ones = lake.snapshot().sql("SELECT id FROM ramp_requests WHERE is_open").num_rows
    details = [
        path
        for _, path, _ in calm[1].requests[count:]
        if "/ramp-requests/" in path and not path.endswith("pairs")
    ]
    assert len(details) == open_ones


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/fees", lambda fees: [fees[0] | {"percentage": "a lot"}]),
        ("/parties", lambda _: {"id": "not a list"}),
        ("/accounts", lambda accounts: [{"name": a["name"]} for a in accounts]),
        ("/company", lambda _: None),
    ],
)
def test_an_unreadable_response_stores_nothing(
    sync_with: Sync, lake: Lake, path: str, change: Change
) -> None:
    with pytest.raises(UnexpectedResponse, match=path):
        sync_with(path, change)
    assert lake.commits().num_rows == 0
