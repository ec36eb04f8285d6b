"""The sync panel without a browser: ages, a partial sync, Cancel, and an error that stays."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from panel_month import rows_of, words
from panel_practice import Practice, said

from treasury.core.errors import InputError
from treasury.extract import SERVICE_TABLES as TABLES
from treasury.panels.frames.syncing import SyncProgress
from treasury.panels.sync_panel import SyncPanel
from treasury.workspace.upkeep.watch import WatchState, _write


@pytest.fixture
def panel(practice: Practice) -> SyncPanel:
    return practice.workspace.panels.sync(size=50)


def commits(practice: Practice) -> int:
    return practice.workspace.sql("SELECT max(number) AS n FROM commits").arrow["n"][0].as_py()


@pytest.mark.acceptance
def test_every_table_of_the_services_has_its_rows_and_age(
    panel: SyncPanel, practice: Practice
) -> None:
    assert {row.key for row in rows_of(panel)} == {table.name for table in TABLES}
    counted = practice.workspace.sql("SELECT count(*) AS n FROM ramp_requests").arrow
    requests = next(row for row in rows_of(panel) if row.key == "ramp_requests")
    assert f"{counted['n'][0].as_py():,}" in words(requests)
    assert "ago" in words(requests)
    assert "Last synced 0 min ago" in "".join(line.text for line in panel.frame().notes)


@pytest.mark.acceptance
def test_a_sync_of_chosen_tables_fetches_only_those(panel: SyncPanel, practice: Practice) -> None:
    before = len(practice.served.requests)
    panel.press("some", chosen=["fees"])
    assert panel.wait()
    assert said(panel.frame()).startswith("Synced")
    asked = [path for _, path, _ in practice.served.requests[before:]]
    assert any("fee" in path for path in asked)
    assert not any("transfers" in path for path in asked)


@pytest.mark.acceptance
def test_a_full_comparison_reports_that_nothing_drifted(panel: SyncPanel) -> None:
    panel.press("full")
    assert panel.wait(120)
    assert "The stored data equals that of the services" in said(panel.frame())


def test_a_cancelled_sync_stores_nothing(
    panel: SyncPanel, practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    start = SyncProgress.start

    def slow(self: SyncProgress, task: str, total: int) -> None:
        begun.set()
        assert go_on.wait(30)
        start(self, task, total)

    monkeypatch.setattr(SyncProgress, "start", slow)
    before = commits(practice)
    panel.press("sync")
    assert begun.wait(30)
    assert panel.frame().progress is not None
    panel.press("cancel")
    go_on.set()
    assert panel.wait()
    assert said(panel.frame()) == "Cancelled\nThe stored data is unchanged."
    assert commits(practice) == before


@pytest.mark.acceptance
def test_the_last_error_stays_in_sight_until_a_sync_works(
    panel: SyncPanel, practice: Practice
) -> None:
    practice.company.faults.add("/ramp/v1/ramp-requests", method="GET", status=403)
    panel.press("some", chosen=["ramp_requests"])
    assert panel.wait()
    frame = panel.frame()
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "The stored data is unchanged." in said(frame)
    later = panel.press("search", search="")
    assert later.banners[0].title.startswith("The sync of ")
    panel.press("sync")
    assert panel.wait()
    assert said(panel.frame()).startswith("Synced")
    assert panel.frame().banners == ()


@pytest.mark.acceptance
def test_a_press_during_a_sync_starts_no_second_sync(
    panel: SyncPanel, practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    start = SyncProgress.start

    def slow(self: SyncProgress, task: str, total: int) -> None:
        begun.set()
        assert go_on.wait(30)
        start(self, task, total)

    monkeypatch.setattr(SyncProgress, "start", slow)
    before = commits(practice)
    panel.press("sync")
    assert begun.wait(30)
    for _ in range(4):
        panel.press("sync")
    go_on.set()
    assert panel.wait()
    assert commits(practice) == before + 1


def test_a_failing_watch_is_shown_as_a_banner(panel: SyncPanel, practice: Practice) -> None:
    at = datetime(2026, 11, 2, 7, tzinfo=UTC)
    state = WatchState(doing="stopped", since=at, pid=1, host="x", parts=(), error="<b>refused</b>")
    _write(practice.workspace.folder, state)
    (banner,) = panel.frame().banners
    assert banner.title == "Watching has an error"
    assert "<b>refused</b>" in banner.lines[0].text


def test_a_panel_of_an_earlier_instant_is_refused(practice: Practice) -> None:
    with pytest.raises(InputError, match="cannot act"):
        practice.workspace.at("2026-11-02T09:00Z").panels.sync()
