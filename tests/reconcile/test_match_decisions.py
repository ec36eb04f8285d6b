"""What people decided comes before what the references say."""

from __future__ import annotations

from decimal import Decimal

import pytest
from match_tables import expectation, line, match, outcome, state

from treasury.errors import TableError

CODE = "PAY-2026-004417"


def decision(verdict: str, expectation_id: str | None = "r", entry: str = "a") -> dict[str, object]:
    named = {"entry_id": entry, "expectation_id": expectation_id}
    return named | {"verdict": verdict, "reason": "checked"}


def test_an_accepted_suggestion_is_matched() -> None:
    rows, wanted = [line("a", "100", "PAY-2026-00441")], [expectation("r", CODE, "100")]
    assert outcome(match(rows, wanted))["outcome"] == "suggested"
    matches = match(rows, wanted, [decision("accept")])
    assert outcome(matches)["outcome"] == "matched"
    assert "checked" in outcome(matches)["reason"]
    assert state(matches)["state"] == "received"


def test_a_person_may_settle_two_codes() -> None:
    wanted = [expectation("r", CODE, "100"), expectation("s", "VFY-8M3T-407")]
    rows = [line("a", "100", f"{CODE} VFY-8M3T-407")]
    matches = match(rows, wanted, [decision("accept", "s")])
    assert (outcome(matches)["outcome"], outcome(matches)["expectation_id"]) == ("matched", "s")


def test_a_rejected_pair_is_no_candidate_any_more() -> None:
    rows, wanted = [line("a", "100", "PAY-2026 004417")], [expectation("r", CODE, "100")]
    matches = match(rows, wanted, [decision("reject")])
    assert outcome(matches)["outcome"] == "unreferenced"
    assert matches.candidates.num_rows == 0


def test_an_ignored_line_keeps_the_reason_and_receives_nothing() -> None:
    rows, wanted = [line("a", "100", CODE)], [expectation("r", CODE, "100")]
    matches = match(rows, wanted, [decision("ignore", None)])
    assert (outcome(matches)["outcome"], outcome(matches)["reason"]) == ("ignored", "checked")
    assert state(matches)["received"] == Decimal(0)


def test_a_line_accepted_twice_is_refused_by_name() -> None:
    rows = [line("a", "100", "x")]
    wanted = [expectation("r", CODE, "100"), expectation("s", "VFY-8M3T-407")]
    with pytest.raises(TableError, match="decisions: entry_id 'a'"):
        match(rows, wanted, [decision("accept", "r"), decision("accept", "s")])
