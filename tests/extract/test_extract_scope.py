"""Syncs with a narrowed scope, and full comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from practice import NO_WAITING, contents, lake_in, secret_file, services_of

from treasury.api import Client
from treasury.core.errors import InputError, ServiceFault
from treasury.extract import SERVICE_TABLES as TABLES
from treasury.extract import Scope, SyncReport, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

Own = tuple[Sandbox, Served]
Change = Callable[[str, dict], dict | None]


class Rewriting(httpx.BaseTransport):
    """A transport that passes successful GET answers to `change`; None becomes a 404."""

    def __init__(self) -> None:
        self.change: Change = lambda _path, body: body
        self.asked: list[str] = []
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        response = self._inner.handle_request(request)
        response.read()
        if request.method != "GET" or not response.is_success:
            return response
        body = self.change(request.url.path, msgspec.json.decode(response.content))
        if body is None:
            errors = [{"code": "NOT_FOUND", "message": "gone"}]
            return httpx.Response(404, json={"success": False, "errors": errors})
        return httpx.Response(200, content=msgspec.json.encode(body))

    def close(self) -> None:
        self._inner.close()


@contextmanager
def rewriting(own: Own, folder: Path) -> Iterator[tuple[Client, Rewriting]]:
    sandbox, served = own
    inner = Rewriting()
    credential = secret_file(folder, sandbox, "maker")
    with Client(services_of(served), credential, clock=NO_WAITING, inner=inner) as client:
        yield client, inner


@pytest.fixture
def desk(calm: Own, tmp_path: Path) -> Iterator[tuple[Client, Rewriting, Lake]]:
    with rewriting(calm, tmp_path) as (client, inner):
        yield client, inner, lake_in(tmp_path)


def only(*tables: str, **scope: Any) -> Scope:
    return Scope(tables=frozenset(tables), **scope)


REQUESTS = only("ramp_requests")


def without(name: str) -> Change:
    """Return a change that removes this request from the ramp service's answers."""

    def change(path: str, body: dict) -> dict | None:
        if path.endswith(name):
            return None
        if path.endswith("/ramp-requests"):
            kept = [row for row in body["result"] if row["id"] != name]
            page = body["pagination"]
            gone = len(body["result"]) - len(kept)
            if page["pageSize"] == 1:
                page["numberOfPages"] -= 1
                page["numberOfElements"] -= 1
            else:
                page["numberOfElements"] -= gone
            return body | {"result": kept}
        return body

    return change


def line(report: SyncReport, table: str) -> tuple[int, int, int]:
    (found,) = [one for one in report.tables if one.table == table]
    return found.new, found.changed, found.vanished


def settled(lake: Lake, order: str) -> dict:
    query = f"SELECT * FROM ramp_requests WHERE NOT is_open ORDER BY created_at {order} LIMIT 1"
    return lake.snapshot().sql(query).to_pylist()[0]


@pytest.mark.acceptance
def test_only_the_named_tables_are_requested_and_written(
    desk: tuple[Client, Rewriting, Lake],
) -> None:
    client, inner, lake = desk
    report = sync(client, lake, Sandbox().now, scope=only("fees", "wallets"))
    assert {one.table for one in report.tables} == {"fees", "wallets", "wallet_balances"}
    asked = {path.partition("/v1/")[2].split("/")[0] for path in inner.asked} - {""}
    assert asked == {"fees", "accounts"}
    filled = {name for name, rows in contents(lake).items() if rows}
    assert filled == {"fees", "wallets", "wallet_balances"}


@pytest.mark.acceptance
@pytest.mark.parametrize("name", [*(table.name for table in TABLES)])
def test_every_table_can_be_synced_alone(
    desk: tuple[Client, Rewriting, Lake], synced: tuple[Lake, SyncReport], name: str
) -> None:
    client, _, lake = desk
    sync(client, lake, Sandbox().now, scope=only(name))
    assert contents(lake)[name] == contents(synced[0])[name]


def test_an_undeclared_table_is_refused(desk: tuple[Client, Rewriting, Lake]) -> None:
    client, inner, lake = desk
    with pytest.raises(InputError, match="no table 'ramps'"):
        sync(client, lake, Sandbox().now, scope=only("ramps"))
    assert inner.asked == []


@pytest.mark.acceptance
def test_a_deleted_request_is_marked_and_kept(desk: tuple[Client, Rewriting, Lake]) -> None:
    client, inner, lake = desk
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    old = settled(lake, "ASC")
    inner.change = without(old["id"])
    report = sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert line(report, "ramp_requests") == (0, 0, 1)
    assert "the whole list was read" in report.notices[0]
    query = "SELECT id, status FROM ramp_requests WHERE vanished_at = ?"
    rows = lake.snapshot().sql(query, [report.at]).to_pylist()
    assert rows == [{"id": old["id"], "status": old["status"]}]
    again = sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert line(again, "ramp_requests") == (0, 0, 0)
    assert again.notices == ()


@pytest.mark.acceptance
def test_a_request_that_reappears_is_unmarked(
    desk: tuple[Client, Rewriting, Lake],
) -> None:
    client, inner, lake = desk
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    before = contents(lake)["ramp_requests"]
    inner.change = without(settled(lake, "ASC")["id"])
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    inner.change = lambda _path, body: body
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert contents(lake)["ramp_requests"] == before


@pytest.mark.acceptance
def test_a_request_that_is_listed_late_is_found_by_the_count(
    desk: tuple[Client, Rewriting, Lake], synced: tuple[Lake, SyncReport]
) -> None:
    client, inner, lake = desk
    inner.change = without(settled(synced[0], "ASC")["id"])
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    inner.change = lambda _path, body: body
    report = sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert line(report, "ramp_requests") == (1, 0, 0)
    assert contents(lake)["ramp_requests"] == contents(synced[0])["ramp_requests"]


@pytest.mark.acceptance
def test_full_comparison_reports_drift(
    desk: tuple[Client, Rewriting, Lake], synced: tuple[Lake, SyncReport]
) -> None:
    client, inner, lake = desk
    late, other = settled(synced[0], "ASC"), settled(synced[0], "DESC")
    inner.change = without(late["id"])
    sync(client, lake, Sandbox().now, scope=REQUESTS)

    def changed(path: str, body: dict) -> dict:
        if path.endswith(other["id"]):
            body["result"]["feePercentage"] = 7
        return body

    inner.change = changed
    report = sync(client, lake, Sandbox().now, scope=only("ramp_requests", full=True))
    assert report.drift is not None
    found = {one.kind: one.examples for one in report.drift}
    assert found == {"changed": (other["id"],), "late": (late["id"],)}
    assert "drift: 1 changed" in str(report)


@pytest.mark.acceptance
def test_full_comparison_without_drift_says_so(desk: tuple[Client, Rewriting, Lake]) -> None:
    client, _, lake = desk
    sync(client, lake, Sandbox().now)
    before = contents(lake)
    report = sync(client, lake, Sandbox().now, scope=Scope(full=True))
    assert report.drift == ()
    assert "the stored records match the services" in str(report)
    after = contents(lake)
    assert {n: r for n, r in after.items() if n != "wallet_balances"} == {
        n: r for n, r in before.items() if n != "wallet_balances"
    }


@pytest.mark.acceptance
def test_full_comparison_marks_unlisted_transfers(
    desk: tuple[Client, Rewriting, Lake],
) -> None:
    client, inner, lake = desk
    sync(client, lake, Sandbox().now, scope=only("transfers"))
    query = "SELECT id, kind FROM transfers WHERE NOT is_open ORDER BY kind, id"
    rows = lake.snapshot().sql(query).to_pylist()
    gone = {row["kind"]: row["id"] for row in rows}

    def change(path: str, body: dict) -> dict | None:
        if path.rpartition("/")[2] in gone.values():
            return None
        if path.endswith("transfers"):
            kept = [row for row in body["result"] if row["id"] not in gone.values()]
            body["pagination"]["numberOfElements"] -= len(body["result"]) - len(kept)
            return body | {"result": kept}
        return body

    inner.change = change
    report = sync(client, lake, Sandbox().now, scope=only("transfers", full=True))
    assert line(report, "transfers") == (0, 0, len(gone))
    assert [one.kind for one in report.drift or ()] == ["vanished"]
    rows = lake.snapshot().sql("SELECT id FROM transfers WHERE vanished_at IS NOT NULL")
    assert {row["id"] for row in rows.to_pylist()} == set(gone.values())


@pytest.mark.acceptance
def test_transfers_no_longer_listed_newest_first_are_all_read_and_reported(
    desk: tuple[Client, Rewriting, Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.extract.transfer_lists.PAGE", 3)
    client, inner, lake = desk
    now = Sandbox().now
    first = sync(client, lake, now, scope=only("transfers"))
    whole = len([path for path in inner.asked if path.endswith("transfers")])

    def later() -> tuple[SyncReport, int]:
        inner.asked = []
        report = sync(client, lake, now, scope=only("transfers"))
        return report, len([path for path in inner.asked if path.endswith("transfers")])

    in_order, few = later()
    assert few < whole
    assert not [notice for notice in in_order.notices if "newest first" in notice]

    def reversed_pages(path: str, body: dict) -> dict:
        return body | {"result": body["result"][::-1]} if path.endswith("transfers") else body

    inner.change = reversed_pages
    report, asked = later()
    assert asked == whole
    told = [notice for notice in report.notices if "is not sorted newest first" in notice]
    assert told
    assert all("it was read completely" in notice for notice in told)
    assert (line(report, "transfers"), line(first, "transfers")[1:]) == ((0, 0, 0), (0, 0))


@pytest.mark.acceptance
def test_since_relists_the_requests_from_that_day(desk: tuple[Client, Rewriting, Lake]) -> None:
    client, inner, lake = desk
    now = Sandbox().now
    first = sync(client, lake, now, scope=only("ramp_requests", since=date(2026, 10, 1)))
    rows = lake.snapshot().sql("SELECT min(created_at) AS first FROM ramp_requests").to_pylist()
    assert rows[0]["first"].date() >= date(2026, 10, 1)
    assert first.notices == ()
    report = sync(client, lake, now, scope=only("ramp_requests", since=date(2026, 9, 1)))
    assert line(report, "ramp_requests")[0] > 0
    # A sync without `since` leaves no gap.
    whole = sync(client, lake, now, scope=REQUESTS)
    assert line(whole, "ramp_requests")[0] > 0
    assert inner.asked


@pytest.mark.acceptance
def test_details_of_older_requests_are_fetched_sync_by_sync(
    desk: tuple[Client, Rewriting, Lake], synced: tuple[Lake, SyncReport]
) -> None:
    client, _, lake = desk
    now = Sandbox().now
    few = only("ramp_requests", details=10)
    report = sync(client, lake, now, scope=few)
    assert "known from the list only" in report.notices[0]
    month = now.replace(day=1, hour=0)
    query = "SELECT id FROM ramp_requests WHERE NOT has_detail AND (is_open OR created_at >= ?)"
    assert lake.snapshot().sql(query, [month]).num_rows == 0
    query = "SELECT id FROM ramp_requests WHERE NOT has_detail"
    waiting = lake.snapshot().sql(query).num_rows
    assert waiting > 10
    sync(client, lake, now + timedelta(hours=1), scope=few)
    assert lake.snapshot().sql(query).num_rows == waiting - 10
    sync(client, lake, now, scope=REQUESTS)
    assert contents(lake)["ramp_requests"] == contents(synced[0])["ramp_requests"]


def test_without_details_the_list_is_stored_and_flagged(
    desk: tuple[Client, Rewriting, Lake],
) -> None:
    client, inner, lake = desk
    sync(client, lake, Sandbox().now, scope=only("ramp_requests", details=0))
    old = settled(lake, "ASC")
    assert (old["has_detail"], old["version"], old["fiat_fee_amount"]) == (False, None, None)
    assert old["payment_reference"]
    assert not [path for path in inner.asked if path.endswith(old["id"])]


@pytest.mark.acceptance
def test_a_sync_that_failed_late_refetches_only_possible_changes(
    desk: tuple[Client, Rewriting, Lake], synced: tuple[Lake, SyncReport], calm: Own, tmp_path: Path
) -> None:
    client, inner, lake = desk
    last = settled(synced[0], "ASC")["id"]

    def failing(path: str, body: dict) -> dict:
        if path.endswith(last):
            raise ServiceFault("broken on purpose")
        return body

    inner.change = failing
    with pytest.raises(ServiceFault):
        sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert lake.commits().num_rows == 0
    inner.change, inner.asked = (lambda _path, body: body), []
    sync(client, lake, Sandbox().now, scope=REQUESTS)
    assert contents(lake)["ramp_requests"] == contents(synced[0])["ramp_requests"]
    events = contents(lake)["ramp_request_events"]
    assert events == contents(synced[0])["ramp_request_events"]
    details = [path for path in inner.asked if "/ramp-requests/" in path]
    assert len(details) < lake.snapshot().sql("SELECT id FROM ramp_requests").num_rows / 2
    assert not list((tmp_path / "staging").iterdir())
