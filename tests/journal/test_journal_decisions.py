"""Decisions about matches, read back from the journal as matching's input table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from treasury.journal import Actor, Journal, decisions
from treasury.journal.decision_history import standing
from treasury.journal.decision_log import read_decided
from treasury.journal.period_history import rules_in_force
from treasury.month.decisions.remark_rows import REQUEST_REMARKS, remark_table

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def decide(journal: Journal, verdict: str, line: str, expectation: str | None, who: str) -> None:
    body = {"entry_id": line, "expectation_id": expectation, "reason": f"{who} says so"}
    journal.append(f"match.{verdict}", line, body, actor=Actor(who, "environment"))


def test_the_latest_decision_on_each_pair_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    decide(journal, "accept", "line-2", "pay-1", "anna")
    decide(journal, "reject", "line-1", "pay-1", "anna")
    decide(journal, "ignore", "line-3", None, "anna")
    decide(journal, "reject", "line-2", "pay-1", "bert")
    decide(journal, "accept", "line-2", "pay-2", "bert")
    journal.append("action.done", "line-1", {}, actor=Actor("anna", "hub"))
    assert [tuple(row.values()) for row in decisions(journal).to_pylist()] == [
        ("line-1", "pay-1", "reject", "anna says so", "anna", NOON, None),
        ("line-2", "pay-1", "reject", "bert says so", "bert", NOON, None),
        ("line-2", "pay-2", "accept", "bert says so", "bert", NOON, None),
        ("line-3", None, "ignore", "anna says so", "anna", NOON, None),
    ]


def test_an_undone_decision_is_void_until_it_is_made_again(tmp_path: Path) -> None:
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


def test_undoing_a_named_decision_restores_the_previous_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    decide(journal, "reject", "line-1", "pay-1", "anna")
    earlier = decisions(journal)
    decide(journal, "accept", "line-1", "pay-2", "bert")
    body = {"entry_id": "line-1", "expectation_id": "pay-2", "undoes": 2}
    journal.append("match.undo", "line-1", body, actor=Actor("anna", "environment"))
    assert decisions(journal).equals(earlier)


def test_a_line_accepted_for_several_expectations_has_a_row_for_each(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    body = {"entry_id": "line-1", "expectation_id": None, "expectation_ids": ["pay-1", "pay-2"]}
    journal.append("match.accept", "line-1", body, actor=Actor("anna", "environment"))
    assert decisions(journal)["expectation_id"].to_pylist() == ["pay-1", "pay-2"]


def test_assigning_a_line_is_not_a_verdict(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    body = {"entry_id": "line-1", "expectation_id": None, "to": "bert", "reason": ""}
    journal.append("match.assign", "line-1", body, actor=Actor("anna", "environment"))
    assert decisions(journal).num_rows == 0
    assert [one.to for one in standing(journal.entries())] == ["bert"]


def test_later_decisions_are_unknown_at_an_earlier_instant(tmp_path: Path) -> None:
    clock = iter([NOON, NOON + timedelta(hours=1), NOON + timedelta(hours=2)])
    journal = Journal(tmp_path, now=lambda: next(clock))
    decide(journal, "ignore", "line-1", None, "anna")
    decide(journal, "undo", "line-1", None, "anna")
    decide(journal, "ignore", "line-2", None, "anna")

    def ignored(hours: int) -> list[str]:
        return decisions(journal, until=NOON + timedelta(hours=hours))["entry_id"].to_pylist()

    assert [ignored(hours) for hours in (-1, 0, 1, 2)] == [[], ["line-1"], [], ["line-2"]]


def test_the_last_remark_on_a_request_counts_until_it_is_undone(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    anna = Actor("anna", "environment")
    journal.append("request.marked_sent", "pay-1", {"reason": "by phone"}, actor=anna)
    journal.append("request.will_not_fund", "pay-2", {"reason": "order fell through"}, actor=anna)
    journal.append("request.undo", "pay-1", {"reason": "wrong one"}, actor=anna)
    assert remark_table(read_decided(journal)).to_pylist() == [
        dict.fromkeys(REQUEST_REMARKS.names)
        | {
            "request_id": "pay-2",
            "mark": "will_not_fund",
            "reason": "order fell through",
            "marked_by": "anna",
            "marked_at": NOON,
        }
    ]


def test_a_request_belongs_to_its_last_file_until_that_is_marked_not_uploaded(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    anna = Actor("anna", "environment")

    def files() -> dict[str, str]:
        rows = remark_table(read_decided(journal)).to_pylist()
        return {row["request_id"]: row["file"] for row in rows if row["file"]}

    made = {"requests": ["pay-1", "pay-2"]}
    journal.append("payment_file.made", "one.xml", made, actor=anna)
    assert files() == {"pay-1": "one.xml", "pay-2": "one.xml"}
    journal.append("request.marked_sent", "pay-1", {"reason": "released"}, actor=anna)
    journal.append("request.not_uploaded", "pay-2", {"reason": "lost"}, actor=anna)
    assert files() == {"pay-1": "one.xml"}
    (row,) = remark_table(read_decided(journal)).to_pylist()
    assert (row["mark"], row["file"], row["filed_by"]) == ("marked_sent", "one.xml", "anna")
    journal.append("request.undo", "pay-1", {"reason": "not yet"}, actor=anna)
    assert files() == {"pay-1": "one.xml"}
    journal.append("payment_file.made", "two.xml", {"requests": ["pay-2"]}, actor=anna)
    assert files() == {"pay-1": "one.xml", "pay-2": "two.xml"}


def test_a_hash_stays_assigned_until_its_last_sending_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    anna = Actor("anna", "environment")

    def after(name: str, **body: object) -> list[tuple[str, str | None]]:
        journal.append(f"action.{name}", "A-1", body, actor=anna)
        rows = remark_table(read_decided(journal)).to_pylist()
        return [(row["request_id"], row["hash_state"]) for row in rows]

    proposed = {"kind": "ramp_request.submit_hash", "target": "pay-1"}
    assert after("proposed", kind="crypto_transfer.create", target="x") == []
    assert after("proposed", **proposed) == [("pay-1", "open")]
    assert after("approved") == [("pay-1", "open")]
    assert after("sending") == [("pay-1", "left")]
    assert after("refused", attempt=1, again=True) == [("pay-1", "open")]
    assert after("sending") == [("pay-1", "left")]
    assert after("unknown") == [("pay-1", "left")]
    assert after("refused", attempt=1) == [("pay-1", "left")]
    assert after("refused", attempt=2) == []
    assert after("proposed", **proposed) == [("pay-1", "open")]
    assert after("lapsed") == []


def test_rules_before_the_first_saved_ones_are_those_they_replaced(tmp_path: Path) -> None:
    clock = iter([NOON, NOON + timedelta(days=1)])
    journal = Journal(tmp_path, now=lambda: next(clock))
    anna = Actor("anna", "environment")
    for number in (1, 2):
        body = {
            "content": {"n": number},
            "before": {"n": number - 1},
            "before_hash": f"h{number - 1}",
        }
        journal.append("rules.saved", f"h{number}", body, actor=anna)

    def in_force(days: int) -> tuple[object, str]:
        found = rules_in_force(journal.entries(), NOON + timedelta(days=days))
        assert found is not None
        return found.content["n"], found.hash

    assert [in_force(days) for days in (-1, 0, 1)] == [(0, "h0"), (1, "h1"), (2, "h2")]
    assert rules_in_force([]) is None
