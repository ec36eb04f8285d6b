"""Kept runs: databases that keep the rows of steps, and rerun only the steps that must change."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pytest
from decide_desk import ANNA, copy_of, double, record_steps
from pain_samples import payment, report

from treasury.core.errors import TreasuryError
from treasury.journal.decision_history import decision_table, standing
from treasury.journal.decision_log import read_decided
from treasury.matching.engine import pipeline
from treasury.matching.engine.memo import Memo
from treasury.month import kept_run
from treasury.month import reconciliation as monthly
from treasury.workspace import Workspace

MONTHS = ("2026-09", "2026-10")
OWN = "NL05TEST0417164300"


def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discard every kept run and every cached answer."""
    kept_run._IDLE_RUNS.clear()
    for name in ("_ANSWERS", "_MATCHED", "_FUNDS"):
        monkeypatch.setattr(monthly, name, Memo())


def decide_something(desk: Workspace, draw: random.Random) -> None:
    """Make a random decision about a line that needs a person, or undo a random decision."""
    row = draw.choice(desk.matches.open().arrow.to_pylist())
    line, suggestion = row["entry_id"], row["suggestion"]
    match draw.choice(("accept", "reject", "ignore", "undo") if suggestion else ("ignore", "undo")):
        case "accept":
            desk.matches.accept(line, suggestion, reason="drawn", actor=ANNA)
        case "reject":
            desk.matches.reject(line, suggestion, reason="drawn", actor=ANNA)
        case "ignore":
            desk.matches.ignore(line, reason="drawn", actor=ANNA)
        case _:
            stand = desk.matches.list().arrow.to_pylist()
            if stand:
                desk.matches.undo(draw.choice(stand)["entry_id"], actor=ANNA)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in range(2, 8))]
)
def test_a_kept_run_gives_the_results_of_a_new_one_for_drawn_inputs(
    seed: int, month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, draw = copy_of(month_end, tmp_path / "desk"), random.Random(seed)
    question = desk.question(MONTHS[1])
    drawn_rules = msgspec.structs.replace(
        question.rules, window_days=3, over_tolerance=draw.randint(0, 9)
    )
    for _ in range(4):
        try:
            decide_something(desk, draw)
        except TreasuryError:
            # A decision that the desk refuses has no effect.
            continue
        month = desk.question(draw.choice(MONTHS))
        question_drawn = msgspec.structs.replace(
            month, rules=draw.choice((question.rules, drawn_rules))
        )
        decisions = decision_table(standing(read_decided(desk.journal).entries))

        def answer() -> monthly.Reconciliation:
            return monthly.reconcile_month(desk.snapshot(), question_drawn, decisions)  # noqa: B023

        again = answer()
        runs = dict(kept_run._IDLE_RUNS)
        nothing_kept(monkeypatch)
        anew = answer()
        for name, table in anew.sheets().items():
            assert again.sheets()[name].arrow.equals(table.arrow), name
        for name, table in anew.matches.sheets().items():
            assert again.matches.sheets()[name].arrow.equals(table.arrow), name
        kept_run._IDLE_RUNS.clear()
        kept_run._IDLE_RUNS.update(runs)


@pytest.mark.acceptance
def test_a_decision_runs_only_the_steps_that_depend_on_it(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = copy_of(month_end, tmp_path / "desk")
    row = next(row for row in desk.matches.open().arrow.to_pylist() if row["suggestion"])
    names = record_steps(monkeypatch)
    desk.matches.accept(row["entry_id"], row["suggestion"], reason="seen", actor=ANNA)
    desk.matches.look()
    assert {"accepted_pairs", "outcomes", "allocations"} <= set(names)
    assert not {"bank_lines", "slashed_tokens", "lines", "damaged_codes", "slip_candidates"} & set(
        names
    )
    assert len(names) < len(monthly.MATCHING) / 2


def test_a_run_that_ended_in_an_error_is_not_used_again(month_end: Workspace) -> None:
    snapshot = month_end.snapshot()
    with kept_run.kept_run(snapshot) as first:
        pass
    with kept_run.kept_run(snapshot) as second:
        assert second is first

    def fails() -> None:
        with kept_run.kept_run(snapshot):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    with kept_run.kept_run(snapshot) as third, kept_run.kept_run(snapshot) as fourth:
        # A run in use is never shared.
        assert first is not third is not fourth


def test_an_inlined_step_shows_current_rows() -> None:
    through = pipeline.Step(
        "through", "-- This step is a view\nSELECT n + 1 AS n FROM given", is_stored=False
    )
    total = pipeline.Step("total", "SELECT count(*) AS n FROM through")
    none = pa.table({"n": pa.array([], pa.int64())})
    for amounts in ((pa.table({"n": [1]}), none, pa.table({"n": [1, 2]})),
                    (none, pa.table({"n": [1, 2, 3]}), none)):  # fmt: skip
        with duckdb.connect() as connection:
            run = kept_run.Run(connection)
            for amount in amounts:
                run.give({"given": amount})
                run.bring((through, total))
                table = run.table("total", "n")
                assert table["n"].to_pylist() == [amount.num_rows]


def test_a_step_takes_the_place_of_a_table_given_for_it_though_neither_has_a_row() -> None:
    """The empty table given as `paid` lacks the column `amount`, which only the step `paid` has."""
    paid = pipeline.Step("paid", "SELECT n, n AS amount FROM given WHERE n < 0")
    first = pipeline.Step("first", "SELECT n FROM paid")
    later = pipeline.Step("later", "SELECT amount FROM paid UNION ALL SELECT n FROM given")
    with duckdb.connect() as connection:
        run = kept_run.Run(connection)
        run.give({"given": pa.table({"n": [1]}), "paid": pa.table({"n": pa.array([], pa.int64())})})
        run.bring([first])
        run.bring((paid, first, later))
        assert run.table("later", "amount")["amount"].to_pylist() == [1]


def test_a_run_that_is_forgotten_is_not_used_again(month_end: Workspace) -> None:
    snapshot = month_end.snapshot()
    with kept_run.kept_run(snapshot) as first:
        pass
    kept_run.forget_runs()
    with kept_run.kept_run(snapshot) as second:
        assert second is not first


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a copy of the practice desk with a kept run for October only."""
    copied = copy_of(month_end, tmp_path / "desk")
    nothing_kept(monkeypatch)
    copied.reconcile(MONTHS[1])
    return copied


def answered(desk: Workspace, folder: Path, status: str) -> None:
    """Commit a bank's answer to a payment, in a table that no step of a month reads."""
    path = folder / f"{status}.xml"
    path.write_text(report(payment("PAY-1", status), original="FILE-1", message_id=status))
    desk.statements.add(path)


@pytest.mark.acceptance
def test_a_run_survives_a_commit_of_a_table_that_its_steps_do_not_read(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = record_steps(monkeypatch)
    for answers, status in enumerate(("ACTC", "ACSP"), 1):
        answered(desk, tmp_path, status)
        again = desk.reconcile(MONTHS[1])
        snapshot = desk.snapshot()
        with kept_run.kept_run(snapshot) as run:
            for table in snapshot.views():
                stored = sorted(map(str, snapshot.table(table).to_pylist()))
                on_run = run.connection.table(table).to_arrow_table().to_pylist()
                assert sorted(map(str, on_run)) == stored, table
            assert run.connection.table("payment_statuses").shape[0] == answers
            assert run.connection.table("commits").shape[0] == snapshot.table("commits").num_rows
        assert names == []
        assert again.known_at == snapshot.table("commits")["at"][-1].as_py()
    nothing_kept(monkeypatch)
    anew = desk.reconcile(MONTHS[1])
    assert names != []
    for name, table in anew.sheets().items():
        assert again.sheets()[name].arrow.equals(table.arrow), name


@pytest.mark.acceptance
def test_a_run_ends_with_a_commit_of_a_table_that_a_step_has_read(
    desk: Workspace, tmp_path: Path
) -> None:
    line = desk.reconcile(MONTHS[1]).lines.arrow.to_pylist()[0]["entry_id"]
    with kept_run.kept_run(desk.snapshot()) as before:
        pass
    double(desk, line)
    with kept_run.kept_run(desk.snapshot()) as after:
        assert after is not before

    kept_run.forget_runs()
    with kept_run.kept_run(desk.snapshot()) as before:
        # No step has run, so it is not known which tables the run depends on.
        pass
    answered(desk, tmp_path, "RCVD")
    with kept_run.kept_run(desk.snapshot()) as after:
        assert after is not before

    answers = pipeline.Step("answers", "SELECT count(*) AS n FROM payment_statuses")
    with kept_run.kept_run(desk.snapshot()) as before:
        before.bring([answers])
    answered(desk, tmp_path, "ACTC")
    with kept_run.kept_run(desk.snapshot()) as after:
        after.bring([answers])
        assert after.table("answers", "n")["n"].to_pylist() == [2]
        assert after is not before


@pytest.mark.acceptance
def test_a_run_that_may_not_be_copied_is_replaced_by_a_new_one(
    desk: Workspace, month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.reconcile(MONTHS[1])
    with kept_run.kept_run(desk.snapshot()) as first:
        pass
    answered(desk, tmp_path, "ACTC")
    for path in (desk.folder / "lake" / "payment_statuses").rglob("*.parquet"):
        content = path.read_bytes()
        # Damage rows that no step reads.
        path.write_bytes(content[:8] + bytes(600) + content[608:])
    with pytest.raises(TreasuryError):
        desk.snapshot().table("payment_statuses")
    with kept_run.kept_run(desk.snapshot()) as second:
        assert second is not first
    assert desk.reconcile(MONTHS[1]).lines.arrow.equals(before.lines.arrow)

    monkeypatch.setattr(kept_run, "FEW", 1)
    other = copy_of(month_end, tmp_path / "other")
    other.reconcile(MONTHS[1])
    run = kept_run.Run(other.snapshot().connection())
    run.keys = other.snapshot().keys() or {}
    run.bring(monthly.STEPS[:1])
    answered(other, tmp_path, "ACSP")
    snapshot = other.snapshot()
    # The changed table has too many rows to be copied.
    assert not run.may_go_on(snapshot, snapshot.keys() or {})
    monkeypatch.undo()
    assert run.may_go_on(snapshot, snapshot.keys() or {})
    run.close()


@pytest.mark.acceptance
def test_a_confirmed_balance_changes_the_covered_days_of_a_kept_run(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_run.kept_run(desk.snapshot()) as before:
        covered = before.connection.table("covered").to_arrow_table()
    desk.statements.confirm(OWN, "1.00", "2026-11-01", source="read", actor=ANNA)
    again = desk.reconcile(MONTHS[1])
    with kept_run.kept_run(desk.snapshot()) as after:
        assert after is before
        assert not after.connection.table("covered").to_arrow_table().equals(covered)
    nothing_kept(monkeypatch)
    anew = desk.reconcile(MONTHS[1])
    for name, table in anew.sheets().items():
        assert again.sheets()[name].arrow.equals(table.arrow), name
