"""Later syncs fetch only possible changes, and faults leave the stored data unchanged."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from practice import client_for, contents, lake_in, services_of

from treasury.api import Client
from treasury.core.errors import BadCredentials, ServiceFault, WorkspaceLocked
from treasury.core.settings import Credential
from treasury.extract import SyncReport, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

Own = tuple[Sandbox, Served]


def changes(report: SyncReport) -> dict[str, tuple[int, int, int]]:
    return {
        line.table: (line.new, line.changed, line.vanished)
        for line in report.tables
        if line.table != "wallet_balances" and (line.new or line.changed or line.vanished)
    }


def asked_since(served: Served, count: int) -> list[tuple[str, str]]:
    return [(path, query) for _, path, query in served.requests[count:]]


@pytest.mark.acceptance
def test_a_second_sync_asks_only_for_possible_changes(own: Own, maker: Client, lake: Lake) -> None:
    sandbox, served = own
    sync(maker, lake, sandbox.now)
    before = contents(lake)
    count = len(served.requests)
    assert changes(sync(maker, lake, sandbox.now)) == {}
    asked = asked_since(served, count)
    details = [path for path, _ in asked if path.startswith("/ramp/v1/ramp-requests/")]
    open_ones = lake.snapshot().sql("SELECT id FROM ramp_requests WHERE is_open").to_pylist()
    assert {path.rpartition("/")[2] for path in details} == {
        *(row["id"] for row in open_ones), "pairs",
    }  # fmt: skip
    assert len(details) == len(open_ones) + 2
    lists = [query for path, query in asked if path == "/ramp/v1/ramp-requests"]
    (listing,) = [query for query in lists if "size=1&" not in query]
    # The other two ask for the count, before and after the listing.
    assert len(lists) == 3
    assert "fromDate=2026-11-01" in listing
    after = contents(lake)
    assert len(after.pop("wallet_balances")) == 2 * len(before.pop("wallet_balances"))
    assert after == before


@pytest.mark.acceptance
def test_an_approval_is_seen_and_the_earlier_version_kept(
    own: Own, maker: Client, lake: Lake, tmp_path: Path
) -> None:
    sandbox, served = own
    first = sync(maker, lake, sandbox.now)
    waiting = lake.snapshot().sql(
        "SELECT id, version FROM ramp_requests WHERE status = 'AWAITING_APPROVAL' ORDER BY id"
    )
    request = waiting.to_pylist()[0]
    with client_for(tmp_path, sandbox, served, "checker") as checker:
        checker.ramp.requests.approve(request["id"], version=request["version"])
    report = sync(maker, lake, sandbox.now)
    assert changes(report)["ramp_requests"] == (0, 1, 0)
    assert changes(report)["ramp_request_events"][0] >= 1
    (now,) = (
        lake.snapshot()
        .sql("SELECT status, approved_at, version FROM ramp_requests WHERE id = ?", [request["id"]])
        .to_pylist()
    )
    assert now["status"] == "AWAITING_FUNDS"
    assert now["approved_at"] is not None
    (then,) = (
        lake.snapshot(first.at)
        .sql("SELECT status FROM ramp_requests WHERE id = ?", [request["id"]])
        .to_pylist()
    )
    assert then["status"] == "AWAITING_APPROVAL"


@pytest.mark.acceptance
def test_a_wrong_secret_stores_nothing(own: Own, lake: Lake, tmp_path: Path) -> None:
    sandbox, served = own
    place = tmp_path / "wrong"
    place.write_text("not-the-secret")
    with client_for(tmp_path, sandbox, served) as right:
        sync(right, lake, sandbox.now)
    before = contents(lake)
    wrong = Credential("harbour-maker", f"file:{place}")
    with Client(services_of(served), wrong) as client, pytest.raises(BadCredentials):
        sync(client, lake, sandbox.now)
    assert contents(lake) == before
    assert lake.commits().num_rows == 1


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "path", ["/finance/v1/accounts", "/finance/v1/account-to-account", "/ramp/v1/ramp-requests/"]
)
def test_a_failing_service_leaves_the_stored_data(
    own: Own, maker: Client, lake: Lake, path: str
) -> None:
    sandbox, _ = own
    sync(maker, lake, sandbox.now)
    before = contents(lake)
    sandbox.faults.add(path, status=500, times=1000)
    with pytest.raises(ServiceFault):
        sync(maker, lake, sandbox.now)
    assert contents(lake) == before
    assert lake.commits().num_rows == 1
    sandbox.faults.clear()
    assert changes(sync(maker, lake, sandbox.now)) == {}


@pytest.mark.acceptance
def test_temporary_faults_change_nothing_in_the_result(
    own: Own, maker: Client, lake: Lake, tmp_path: Path
) -> None:
    sandbox, _ = own
    quiet = lake_in(tmp_path / "quiet")
    sync(maker, quiet, sandbox.now)
    sandbox.faults.add("/finance/v1/parties", status=429, retry_after="1", times=2)
    sandbox.faults.add("/ramp/v1/ramp-requests/", status=503, times=5)
    sandbox.faults.add("/finance/v1/accounts/", drop="before", times=3)
    sandbox.faults.add("/ramp/v1/fees", drop="after")
    sandbox.expire_tokens()
    sync(maker, lake, sandbox.now)
    assert contents(lake) == contents(quiet)


@pytest.mark.acceptance
def test_a_forbidden_table_stays_and_is_reported(own: Own, maker: Client, lake: Lake) -> None:
    sandbox, _ = own
    sync(maker, lake, sandbox.now)
    before = contents(lake)
    for path in ("/ramp/v1/fees", "/finance/v1/account-to-account-transfers"):
        sandbox.faults.add(path, status=403)
    report = sync(maker, lake, sandbox.now)
    assert [skipped.table for skipped in report.skipped] == ["fees", "transfers"]
    assert "403" in report.skipped[0].why
    assert changes(report) == {}
    assert contents(lake)["fees"] == before["fees"]


@pytest.mark.acceptance
def test_a_request_with_a_refused_detail_is_stored_from_the_list(
    own: Own, maker: Client, lake: Lake
) -> None:
    sandbox, _ = own
    one = next(r.value for r in maker.ramp.requests.iterate() if r.value.status == "SUCCEEDED")
    sandbox.faults.add(f"/ramp/v1/ramp-requests/{one.id}", status=403)
    report = sync(maker, lake, sandbox.now)
    query = "SELECT has_detail, fiat_amount, version FROM ramp_requests WHERE id = ?"
    (row,) = lake.snapshot().sql(query, [one.id]).to_pylist()
    assert row == {"has_detail": False, "fiat_amount": one.fiat_amount, "version": None}
    assert "1 could not be read in detail" in report.notices[0]
    again = sync(maker, lake, sandbox.now)
    assert changes(again)["ramp_requests"] == (0, 1, 0)
    assert lake.snapshot().sql(query, [one.id]).to_pylist()[0]["has_detail"]


@pytest.mark.acceptance
def test_a_refused_detail_does_not_replace_the_stored_one(
    own: Own, maker: Client, lake: Lake
) -> None:
    sandbox, _ = own
    sync(maker, lake, sandbox.now)
    sandbox.faults.add("/ramp/v1/ramp-requests/", status=403, times=1000)
    assert "ramp_requests" not in changes(sync(maker, lake, sandbox.now))
    rows = lake.snapshot().sql("SELECT id FROM ramp_requests WHERE NOT has_detail")
    assert rows.num_rows == 0


def test_two_simultaneous_syncs_are_refused(own: Own, maker: Client, lake: Lake) -> None:
    sandbox, _ = own
    with lake.writer("sync", sandbox.now), pytest.raises(WorkspaceLocked):
        sync(maker, lake, sandbox.now)


@pytest.mark.acceptance
def test_progress_is_reported_by_one_thread_and_adds_up(
    own: Own, maker: Client, lake: Lake
) -> None:
    told: list[tuple[str, str, int]] = []
    threads: set[int] = set()

    class Told:
        def start(self, task: str, total: int) -> None:
            self.note("start", task, total)

        def advance(self, task: str) -> None:
            self.note("advance", task, 1)

        def finish(self, task: str) -> None:
            self.note("finish", task, 0)

        def note(self, what: str, task: str, count: int) -> None:
            told.append((what, task, count))
            threads.add(threading.get_ident())

    sync(maker, lake, own[0].now, progress=Told())
    assert threads == {threading.get_ident()}
    for task in {task for _, task, _ in told}:
        (total,) = [count for what, name, count in told if (what, name) == ("start", task)]
        assert (
            sum(count for what, name, count in told if (what, name) == ("advance", task)) == total
        )
        assert told.count(("finish", task, 0)) == 1
    assert [count for what, task, count in told if (what, task) == ("start", "ramp_requests")] > [
        100
    ]
