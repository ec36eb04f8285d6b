"""Our matching beside others: the comparison counts what it says, and ours has no wrong match."""

from __future__ import annotations

import sys
from datetime import date, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mangled import draw
from mangled_world import Truth

from benchmarks import peers

BELONGS = Truth("whole", "auto", "r1")


def test_a_score_counts_wrong_right_and_first() -> None:
    score = peers.Score()
    score.add(BELONGS, peers.Answer("r1", "r1"))
    score.add(BELONGS, peers.Answer(None, "r1"))
    score.add(BELONGS, peers.Answer("r2", "r2"))
    score.add(Truth("of none", "never", None), peers.Answer("r2", "r2"))
    score.add(Truth("paid twice", "never", "r1"), peers.Answer("r1", "r1"))
    assert (score.automatic, score.wrong, score.right_first, score.belonging) == (4, 3, 2, 3)
    assert score.row.split() == ["3", "25.0%", "33.3%", "66.7%", "0.0"]


def test_ours_has_no_wrong_match_where_the_others_have(capsys: pytest.CaptureFixture[str]) -> None:
    scores = peers.compare(1, 1)
    assert scores["treasury"].wrong == 0
    assert scores["treasury"].right_first == scores["treasury"].belonging
    assert min(score.wrong for name, score in scores.items() if name != "treasury") > 0


def test_a_matcher_that_is_not_installed_says_so(
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
