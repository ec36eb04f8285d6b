"""Other commits while a sync calls the services: stored at once, and not mixed with the sync."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from practice import client_for, contents, histories, lake_in

from treasury.api import Client
from treasury.core.errors import CommitOvertaken, WorkspaceLocked
from treasury.extract import TABLES, SyncReport, fetched_rows, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

Own = tuple[Sandbox, Served]
ACCOUNTS = next(table for table in TABLES if table.name == "accounts")


def kinds(lake: Lake) -> list[str]:
    return [str(kind) for kind in lake.commits()["kind"].to_pylist()]


def once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does the work at its first call only."""
    waiting = [work]

    def turn() -> None:
        if waiting:
            waiting.pop()()

    return turn


@pytest.mark.acceptance
def test_data_stored_during_a_sync_stays_and_is_visible_at_once(
    calm: Own, synced: tuple[Lake, SyncReport], tmp_path: Path
) -> None:
    lake, shown = lake_in(tmp_path), list[list[str]]()

    def work() -> None:
        with lake.writer("statements", calm[0].now):
            pass
        shown.append(kinds(lake_in(tmp_path)))

    with client_for(tmp_path, *calm) as client:
        report = sync(client, lake, calm[0].now, meanwhile=once(work))
    assert shown == [["statements"]]
    assert kinds(lake) == ["statements", "sync"]
    instants = lake.commits()["at"].to_pylist()
    assert instants == sorted(set(instants))
    assert report.at == instants[-1]
    assert contents(lake) == contents(synced[0])
    assert report.tables == synced[1].tables


@pytest.mark.acceptance
def test_a_later_sync_supersedes_the_same_rows_with_other_commits_in_between(
    own: Own, maker: Client, tmp_path: Path
) -> None:
    sandbox, _ = own
    lake = lake_in(tmp_path / "a")
    sync(maker, lake, sandbox.now)
    other = lake_in(shutil.copytree(lake.workspace, tmp_path / "b"))
    open_ones = lake.snapshot().sql(
        "SELECT id FROM ramp_requests WHERE status = 'PROCESSING' ORDER BY id"
    )
    sandbox.ramp.complete(open_ones["id"][0].as_py())

    def work() -> None:
        with other.writer("statements", sandbox.now):
            pass

    sync(maker, lake, sandbox.now)
    sync(maker, other, sandbox.now, meanwhile=once(work))
    assert kinds(other) == ["sync", "statements", "sync"]
    assert (contents(other), histories(other)) == (contents(lake), histories(lake))
    assert histories(lake)["ramp_requests_history"]


def test_service_rows_written_meanwhile_are_not_overwritten(
    calm: Own, calm_maker: Client, synced: tuple[Lake, SyncReport], tmp_path: Path
) -> None:
    sandbox, _ = calm
    lake = lake_in(shutil.copytree(synced[0].workspace, tmp_path / "desk"))
    before = contents(lake)

    # A pull from another desk and a repair write service rows like this.
    def work() -> None:
        with lake.writer("repair", sandbox.now) as writer:
            keys = lake.snapshot().sql("SELECT id FROM accounts ORDER BY id LIMIT 1")
            writer.vanish(ACCOUNTS, pa.table({"id": keys["id"]}))

    with pytest.raises(CommitOvertaken, match="accounts: another process wrote"):
        sync(calm_maker, lake, sandbox.now, meanwhile=once(work))
    assert kinds(lake) == ["sync", "repair"]
    assert contents(lake)["ramp_requests"] == before["ramp_requests"]
    sync(calm_maker, lake, sandbox.now)
    assert contents(lake)["accounts"] == before["accounts"]


@pytest.mark.acceptance
def test_the_second_of_two_syncs_is_refused_while_the_first_reads(
    calm: Own, calm_maker: Client, lake: Lake
) -> None:
    sandbox, _ = calm

    def work() -> None:
        with pytest.raises(WorkspaceLocked, match="another process is writing to"):
            sync(calm_maker, lake_in(lake.workspace), sandbox.now)

    sync(calm_maker, lake, sandbox.now, meanwhile=once(work))
    assert kinds(lake) == ["sync"]


@pytest.mark.acceptance
def test_a_sync_waits_for_another_writer_once_everything_is_fetched(
    calm: Own, calm_maker: Client, lake: Lake
) -> None:
    sandbox, _ = calm
    holds, ends = threading.Event(), threading.Event()

    def hold() -> None:
        with lake_in(lake.workspace).locked("statements"):
            holds.set()
            ends.wait(60)

    holder = threading.Thread(target=hold)

    def work() -> None:
        holder.start()
        holds.wait(60)
        threading.Timer(3, ends.set).start()

    sync(calm_maker, lake, sandbox.now, meanwhile=once(work))
    holder.join()
    assert kinds(lake) == ["sync"]


@pytest.mark.acceptance
def test_rows_beyond_the_memory_limit_wait_on_disk_and_are_removed(
    calm: Own,
    synced: tuple[Lake, SyncReport],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetched_rows, "IN_MEMORY", 1)
    lake = lake_in(tmp_path)
    with client_for(tmp_path, *calm) as client:
        sync(client, lake, calm[0].now)
    assert contents(lake) == contents(synced[0])
    assert list((tmp_path / "staging").iterdir()) == []
