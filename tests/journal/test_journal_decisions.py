"""Decisions about matches, read back from the journal as the table that the matching takes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from treasury.journal import Actor, Journal, decisions

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def decide(journal: Journal, verdict: str, line: str, expectation: str | None, who: str) -> None:
    body = {"entry_id": line, "expectation_id": expectation, "reason": f"{who} says so"}
    journal.append(f"match.{verdict}", line, body, actor=Actor(who, "environment"))


def test_the_latest_word_on_each_pair_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    decide(journal, "accept", "line-2", "pay-1", "anna")
    decide(journal, "reject", "line-1", "pay-1", "anna")
    decide(journal, "ignore", "line-3", None, "anna")
    decide(journal, "reject", "line-2", "pay-1", "bert")
    decide(journal, "accept", "line-2", "pay-2", "bert")
    journal.append("action.done", "line-1", {}, actor=Actor("anna", "hub"))
    assert [tuple(row.values()) for row in decisions(journal).to_pylist()] == [
        ("line-1", "pay-1", "reject", "anna says so", "anna", NOON),
        ("line-2", "pay-1", "reject", "bert says so", "bert", NOON),
        ("line-2", "pay-2", "accept", "bert says so", "bert", NOON),
        ("line-3", None, "ignore", "anna says so", "anna", NOON),
    ]


def test_an_undone_decision_is_gone_until_it_is_taken_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    decide(journal, "ignore", "line-1", None, "anna")
    decide(journal, "undo", "line-1", None, "bert")
    assert decisions(journal).num_rows == 0
    decide(journal, "ignore", "line-1", None, "bert")
    assert decisions(journal)["decided_by"].to_pylist() == ["bert"]


def test_no_journal_means_no_decisions(tmp_path: Path) -> None:
    table = decisions(Journal(tmp_path / "none"))
    assert table.num_rows == 0
    assert "verdict" in table.column_names
