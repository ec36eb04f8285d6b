"""The cost of the first screen, counted in executed steps, fetched rows and planned queries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from treasury.close import closing as closing_module
from treasury.core.tables import query_checks
from treasury.matching.engine import pipeline
from treasury.matching.engine.memo import Memo
from treasury.month import kept_run, treasury_view
from treasury.month import reconciliation as monthly
from treasury.workspace import Workspace


@pytest.fixture
def desk(month_end: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return the practice workspace with empty caches, as in a new process."""
    kept_run.forget_runs()
    for name in ("_ANSWERS", "_MATCHED", "_FUNDS", "_AT_CUT_OFF"):
        monkeypatch.setattr(monthly, name, Memo())
    monkeypatch.setattr(pipeline, "_COLUMNS", {})
    return Workspace(month_end.folder)


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, place: int) -> Counter[Any]:
    """Return a counter of a function's later calls, by its argument at `place`."""
    calls: Counter[Any] = Counter()
    real = getattr(module, name)

    def call(*arguments: Any) -> Any:
        argument = arguments[place]
        calls[argument.name if isinstance(argument, pipeline.Step) else argument] += 1
        return real(*arguments)

    monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.acceptance
def test_each_step_runs_once_and_its_rows_are_fetched_once(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_runs = counted(monkeypatch, kept_run, "make", 1)
    alone = counted(monkeypatch, pipeline, "make", 1)
    read = counted(monkeypatch, treasury_view, "_rows", 1)
    desk.status("2026-10")
    assert in_runs == Counter(step.name for step in monthly.STEPS)
    assert not alone
    assert read["conversion_credits"] == 1
    assert set(read.values()) == {1}


@pytest.mark.acceptance
def test_our_own_queries_are_planned_only_once(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = counted(monkeypatch, query_checks, "check_reads", 1)
    desk.status("2026-10")
    desk.snapshot().table("transfers")
    assert not checked
    desk.sql("SELECT 1 AS one")
    assert list(checked) == ["SELECT 1 AS one"]


@pytest.mark.acceptance
def test_waiting_times_of_payments_are_computed_only_when_shown(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = counted(monkeypatch, closing_module, "funding_waits", 1)
    desk.status("2026-10")
    assert not asked
    closing = desk.periods.month("2026-10")
    assert len(closing.waits) > 0
    assert closing.waits is closing.waits
