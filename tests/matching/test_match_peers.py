"""The comparison with other matchers counts correctly, and ours has no wrong match."""

from __future__ import annotations

import sys
from datetime import date, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from habits_world import draw_habits
from mangled import draw
from mangled_world import Truth

from benchmarks import peers, peers_habits

BELONGS = Truth("whole", "auto", "r1")


def test_a_score_counts_wrong_right_and_first_ranked() -> None:
    score = peers.Score()
    score.add(BELONGS, peers.Answer("r1", "r1"))
    score.add(BELONGS, peers.Answer(None, "r1"))
    score.add(BELONGS, peers.Answer("r2", "r2"))
    score.add(Truth("of none", "never", None), peers.Answer("r2", "r2"))
    score.add(Truth("paid twice", "never", "r1"), peers.Answer("r1", "r1"))
    assert (score.automatic, score.wrong, score.right_first, score.belonging) == (4, 3, 2, 3)
    assert score.row.split() == ["3", "25.0%", "33.3%", "66.7%", "0.0"]


@pytest.mark.acceptance
def test_our_matcher_makes_no_wrong_match_where_others_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = peers.compare(1, 1)
    assert scores["treasury"].wrong == 0
    assert scores["treasury"].right_first == scores["treasury"].belonging
    assert min(score.wrong for name, score in scores.items() if name != "treasury") > 0


@pytest.mark.acceptance
def test_a_missing_matcher_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "SPLINK", Path("nowhere"))
    peers.main(1, 1)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 6
    assert "not installed: run tools/peers" in printed[-1]


def test_splink_gets_every_line_and_expectation_in_whole_cents() -> None:
    world = draw(3, 1)
    lines, expectations = peers.linked_lines(world), peers.linked_expectations(world)
    assert (lines.num_rows, expectations.num_rows) == (len(world.lines), len(world.expectations))
    cents = lines["cents"].to_pylist()
    assert all(c == row["amount"] * 100 for c, row in zip(cents, world.lines, strict=True))
    first = world.expectations[0]["opened_at"]
    assert isinstance(first, datetime)
    assert date.fromordinal(expectations["day"].to_pylist()[0]) == first.date()


def test_splink_gets_the_settled_lines_and_no_label_of_the_last_month() -> None:
    habits = draw_habits(1, payers=12, months=4)
    settled = peers_habits.settled_lines(habits, 4)
    assert set(settled["unique_id"].to_pylist()) == habits.last_month
    references = peers_habits.references(habits, 4)
    ids = {row["expectation_id"]: row for row in habits.world.expectations}
    assert set(references["expectation"].to_pylist()) <= set(ids)
    paid = {
        row["expectation_id"]
        for row in habits.decisions.to_pylist()
        if ids[row["expectation_id"]]["amount"] is not None
    }
    assert paid.isdisjoint(references["expectation"].to_pylist())
    truths = {habits.world.truths[line].expectation_id for line in habits.last_month} - {None}
    assert len(truths - set(references["expectation"].to_pylist())) <= len(truths) // 20


@pytest.mark.acceptance
def test_without_splink_the_payments_without_a_reference_are_still_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers_habits, "SPLINK", Path("nowhere"))
    peers_habits.main(1, 1)
    printed = capsys.readouterr().out.splitlines()
    assert printed[2].split()[:3] == [peers_habits.OURS, "0", "0"]
    assert sum("not installed: run tools/peers" in row for row in printed) == 2
