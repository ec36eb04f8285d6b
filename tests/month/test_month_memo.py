"""A repeated question is answered from a cache, until any of its inputs differs."""

from __future__ import annotations

import os
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from decide_desk import record_steps

from treasury.close import roll_forward
from treasury.close.roll_forward import MonthEnd, RollForward
from treasury.core.calendar import Month
from treasury.core.errors import WorkspaceDamaged
from treasury.journal import Actor
from treasury.matching.engine import memo, pipeline
from treasury.matching.engine.memo import Memo, fingerprint
from treasury.matching.reference_matching import Matches, match_references, read_decisions
from treasury.month import reconciliation as monthly
from treasury.month.reconciliation import Basis
from treasury.month.standing_knowledge import Knowledge, answer_and_knowledge
from treasury.workspace import Workspace

ANNA = Actor("anna", "environment")
MONTH = "2026-10"
OBJECTS = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    return Workspace(tmp_path / "desk")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the name of each step that runs from here on."""
    return record_steps(monkeypatch)


@pytest.mark.acceptance
def test_a_repeated_month_runs_no_step_and_gives_the_same_answer(
    desk: Workspace, ran: list[str]
) -> None:
    first = desk.reconcile(MONTH)
    assert "outcomes" in ran
    ran.clear()
    again = desk.reconcile(MONTH)
    assert ran == []
    for name, table in first.sheets().items():
        assert again.sheets()[name].arrow.equals(table.arrow), name
    assert again.basis is not None


@pytest.mark.acceptance
def test_an_answer_from_before_a_decision_is_not_used(desk: Workspace, ran: list[str]) -> None:
    line = desk.matches.open().arrow.to_pylist()[0]["entry_id"]
    desk.reconcile(MONTH)
    desk.matches.ignore(line, reason="not ours", actor=ANNA)
    ran.clear()
    (line_row,) = [
        row
        for row in desk.reconcile(MONTH).matches.lines.arrow.to_pylist()
        if row["entry_id"] == line
    ]
    assert line_row["outcome"] == "ignored"
    desk.matches.undo(line, actor=ANNA)
    ran.clear()
    (line_row,) = [
        row
        for row in desk.reconcile(MONTH).matches.lines.arrow.to_pylist()
        if row["entry_id"] == line
    ]
    assert line_row["outcome"] != "ignored"
    assert ran == []


@pytest.mark.acceptance
def test_another_month_and_other_rules_run_their_steps(desk: Workspace, ran: list[str]) -> None:
    desk.reconcile(MONTH)
    ran.clear()
    desk.reconcile("2026-09")
    assert "month_lines" in ran
    ran.clear()
    question = desk.question(MONTH)
    rules = msgspec.structs.replace(question.rules, window_days=question.rules.window_days + 1)
    monthly.reconcile_month(desk.snapshot(), msgspec.structs.replace(question, rules=rules))
    assert {"searched_fields", "candidate_clues"} & set(ran)


@pytest.mark.acceptance
def test_a_file_damaged_since_the_last_answer_is_an_error(desk: Workspace) -> None:
    desk.reconcile(MONTH)
    for path in (desk.folder / "lake" / "statement_entries").rglob("*.parquet"):
        size = path.stat().st_size
        os.truncate(path, size // 2)
    with pytest.raises(WorkspaceDamaged):
        desk.reconcile(MONTH)


@pytest.mark.acceptance
def test_a_computation_leaves_no_tables_in_the_snapshot(desk: Workspace) -> None:
    snapshot = desk.snapshot()
    question = desk.question(MONTH)
    before = set(snapshot.sql(OBJECTS)["table_name"].to_pylist())
    monthly.reconcile_month(snapshot, question)
    monthly.awaiting_funds(snapshot, question)
    monthly.requests_at_cut_off(snapshot, question.month, question.zone)
    with snapshot.connection() as connection:
        assert set(connection.sql(OBJECTS).to_arrow_table()["table_name"].to_pylist()) == before


def test_two_connections_of_a_snapshot_do_not_see_each_others_tables(desk: Workspace) -> None:
    snapshot = desk.snapshot()
    with snapshot.connection() as first, snapshot.connection() as second:
        for at, connection in enumerate((first, second)):
            pipeline.load(connection, {"mine": pa.table({"at": [at]})})
        instants = [c.table("mine").to_arrow_table()["at"][0].as_py() for c in (first, second)]
    assert instants == [0, 1]


def test_the_last_answer_is_always_kept_and_earlier_ones_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memo, "MOST", 20)
    answers: Memo[pa.Table] = Memo()
    small, large = pa.table({"n": [1]}), pa.table({"n": list(range(100))})
    for key in "abc":
        assert answers.of(key, lambda: small) is small
    assert answers.of("b", lambda: large) is small
    # The oldest entry was evicted.
    assert answers.of("a", lambda: large) is large
    # The last answer is kept although it is above the limit, until another one follows.
    assert answers.of("a", lambda: small) is large
    assert answers.of("d", lambda: small) is small
    assert answers.of("a", lambda: small) is small
    assert answers.of(None, lambda: large) is large


def test_the_size_of_an_answer_is_computed_once_however_many_are_kept() -> None:
    measured_keys: list[int] = []

    class MeasuredAnswer:
        def __init__(self, key: int) -> None:
            self.key = key

        @property
        def nbytes(self) -> int:
            measured_keys.append(self.key)
            return 1

    answers: Memo[MeasuredAnswer] = Memo()
    for key in range(50):
        answers.of(key, partial(MeasuredAnswer, key))
    assert measured_keys == list(range(50))


def test_large_inputs_have_no_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST", 20)
    small, large = pa.table({"n": [1]}), pa.table({"n": list(range(100))})
    assert fingerprint(large) is None
    assert fingerprint(small) == fingerprint(pa.table({"n": [1]})) != fingerprint(None)


@pytest.mark.acceptance
def test_open_items_are_rolled_forward_once_between_two_ends(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolled: list[str] = []
    real = roll_forward._roll_forward

    def roll(opening: MonthEnd, closing: MonthEnd) -> RollForward:
        rolled.append(str(closing.month))
        return real(opening, closing)

    monkeypatch.setattr(roll_forward, "_roll_forward", roll)
    monkeypatch.setattr(roll_forward, "_ROLLS", Memo())
    first, again = (desk.periods.roll_forward(MONTH) for _ in range(2))
    assert rolled == [MONTH]
    assert again.items.arrow.equals(first.items.arrow)
    desk.matches.ignore(
        desk.matches.open().arrow.to_pylist()[0]["entry_id"], reason="x", actor=ANNA
    )
    desk.periods.roll_forward("2026-09")
    assert rolled == [MONTH, "2026-09"]


@pytest.mark.acceptance
def test_threads_that_ask_at_once_get_the_same_answer(desk: Workspace) -> None:
    line_counts: list[int] = []
    askers = [
        threading.Thread(
            target=lambda: line_counts.append(desk.reconcile(MONTH).lines.arrow.num_rows)
        )
        for _ in range(4)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(set(line_counts)) == 1
    assert len(line_counts) == 4


def everything(desk: Workspace, month: str) -> Knowledge:
    """Return all stored records and their matching, as a question about a month knows them."""
    return answer_and_knowledge(Basis(desk.snapshot(), desk.question(month), desk._decisions()))[1]


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of lines of each separate matching for a month's end."""
    lines: list[int] = []

    def match(booked: pa.Table, *rest: Any, **more: Any) -> Matches:
        lines.append(booked.num_rows)
        return match_references(booked, *rest, **more)

    monkeypatch.setattr(roll_forward, "match_references", match)
    return lines


@pytest.mark.acceptance
def test_a_month_end_with_all_stored_records_is_not_matched_again(
    desk: Workspace, matched: list[int]
) -> None:
    seen = everything(desk, "2026-11")
    assert roll_forward._month_end(seen, Month.parse("2026-11")).positions.num_rows
    assert not matched
    decisions = read_decisions(seen.basis.decisions)
    of_lines = pc.is_in(decisions["entry_id"], seen.lines["entry_id"].combine_chunks())
    again = match_references(
        seen.lines, seen.expectations, decisions=decisions.filter(of_lines), rules=seen.rules
    )
    for name in ("lines", "expectations", "allocations"):
        assert getattr(again, name).arrow.equals(getattr(seen.matches, name).arrow), name
    assert any(seen.lines["line_class"].is_valid().to_pylist())


@pytest.mark.acceptance
def test_a_month_end_with_fewer_lines_or_other_statuses_is_matched_separately(
    desk: Workspace, matched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, november = everything(desk, "2026-11"), Month.parse("2026-11")
    roll_forward._month_end(seen, Month.parse("2026-08"))
    assert len(matched) == 1
    assert matched[0] < seen.lines.num_rows
    then = roll_forward.requests_at_cut_off(seen.snapshot, november, seen.question.zone)
    cancelled = pa.array(["CANCELLED"] * then.num_rows, pa.string())
    place = then.schema.get_field_index("status")
    monkeypatch.setattr(
        roll_forward,
        "requests_at_cut_off",
        lambda *_: then.set_column(place, "status", cancelled),
    )
    roll_forward._month_end(seen, november)
    assert matched[1:] == [seen.lines.num_rows]
