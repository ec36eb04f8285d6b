"""The explanation of one bank line: every stage in words and as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result
from decide_desk import ANNA, copy_of
from match_tables import arrow, expectation, line

import treasury.matching
from treasury import Workspace
from treasury.cli import treasury as command
from treasury.core.errors import InputError, NothingStored
from treasury.core.files.package_files import package_rows
from treasury.core.tables import duckdb_engine
from treasury.matching.engine.pipeline import load, run
from treasury.matching.input_tables import EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import STEPS, read_decisions, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.matching.tiers import TIERS
from treasury.month.explain.explainer import explanation_of
from treasury.month.explain.line_explanation import LineExplanation

BRUSSELS = ZoneInfo("Europe/Brussels")
HOSTILE = "<script>alert(1)</script> \x1b[31m$x$ PAY-2026-004417"
A, B = "PAY-2026-004417", "PAY-2026-004418"

Row = dict[str, Any]


def explained(entry_id: str, lines: Sequence[Row], expectations: Sequence[Row]) -> LineExplanation:
    """Match some lines, and explain one of them."""
    tables = {
        "lines": read_table(arrow(lines), LINES, name="lines"),
        "expectations": read_table(arrow(expectations), EXPECTATIONS, name="expectations"),
        "decisions": read_decisions(None),
    }
    with duckdb_engine.connect(one_thread=True) as connection:
        load(connection, {**tables, **NOTHING_SETTLED, **rule_tables(Rules())})
        run(connection, STEPS)
        connection.execute("CREATE TEMP VIEW bank_lines AS FROM lines")
        connection.execute(
            "CREATE TEMP TABLE line_deciders"
            " (entry_id VARCHAR, decided_by VARCHAR, decided_at TIMESTAMPTZ)"
        )
        return explanation_of(connection, entry_id, BRUSSELS)


def doubts(explanation: LineExplanation) -> dict[int | None, str]:
    """Return the questions that are in doubt, each with its reason (the last, if several)."""
    rows = explanation.questions.arrow.to_pylist()
    return {row["number"]: row["answer"] for row in rows if row["is_doubt"]}


def says(explanation: LineExplanation, stage: str) -> list[str]:
    """Return the sentences of a stage of the explanation."""
    rows = explanation.stages.arrow.to_pylist()
    return [row["says"] for row in rows if row["stage"] == stage]


def call(workspace: Workspace, *words: str) -> Result:
    return CliRunner().invoke(command, ["--workspace", str(workspace.folder), *words])


def test_a_proved_line_shows_that_no_question_contradicts_it() -> None:
    explanation = explained(
        "a", [line("a", "100", f"Invoice 7 {A}")], [expectation("r1", A, "100")]
    )
    assert (explanation.outcome, explanation.expectation_id) == ("matched", "r1")
    assert says(explanation, "text") == [f"Invoice 7 {A}", f"INVOICE 7 {A}"]
    (reading,) = explanation.readings.arrow.to_pylist()
    assert (reading["reference"], reading["words"]) == (A, "whole reference")
    assert set(explanation.questions.arrow["answer"].to_pylist()) == {"no doubt"}
    assert explanation.questions.arrow["number"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    assert says(explanation, "allocation") == ["EUR 100.00"]
    assert says(explanation, "outcome") == ["whole reference"]


QUESTIONED: dict[int, tuple[list[Row], list[Row], str]] = {
    1: (
        [line("a", "9", "invoice PAY-2026-00441, 7")],
        [expectation("r1", "PAY-2026-00441", "100"), expectation("r2", A, "100")],
        f"the text may also read {A}",
    ),
    2: (
        [line("a", "100", f"{A} PAY-2026-00 5528")],
        [expectation("r1", A, "100"), expectation("r2", "PAY-2026-005528", "100")],
        "the text may also read PAY-2026-005528",
    ),
    3: (
        [line("a", "100", "FV/11/2/2026")],
        [expectation("r1", "FV/1/12/2026", "100")],
        "its digits are grouped otherwise than in FV/1/12/2026",
    ),
    4: (
        [line("a", "77", A)],
        [expectation("r1", A, "50"), expectation("r2", B, "77")],
        "it is more than what remains, from a payer who is not known for it",
    ),
    5: (
        [line("a", "90", A, counterparty_name="Zeta Works")],
        [expectation("r1", A, "100", counterparty_name="Bert Loods")],
        "its payer has another name",
    ),
    6: (
        [line("a", "90", "20004008")],
        [expectation("r1", "20004008", "100")],
        "it may be no reference at all",
    ),
    7: (
        [line("a", "77", A)],
        [expectation("r1", A, "50"), expectation("r2", B, "77")],
        f"{B}, with a near code, expects exactly this amount",
    ),
}
"""For each question: lines, expectations, and the reason why line `a` needs a person."""


@pytest.mark.first_case
@pytest.mark.parametrize("number", QUESTIONED)
def test_a_doubt_is_shown_next_to_its_question(number: int) -> None:
    lines, expectations, why = QUESTIONED[number]
    explanation = explained("a", lines, expectations)
    assert explanation.outcome == "suggested"
    assert doubts(explanation)[number] == why
    assert f"{number} " in str(explanation)


def test_each_question_has_its_words_and_its_folder() -> None:
    root = Path(treasury.matching.__file__).parent / "doubts"
    rows = package_rows("treasury.matching", "doubts/questions.csv")
    assert [int(row["number"]) for row in rows] == [*QUESTIONED]
    assert {row["folder"] for row in rows} == {
        path.name for path in root.iterdir() if path.is_dir()
    }


@pytest.mark.acceptance
def test_without_a_reference_no_question_is_asked() -> None:
    explanation = explained("a", [line("a", "33", "thanks")], [expectation("r1", A, "100")])
    assert explanation.outcome == "unreferenced"
    assert says(explanation, "reading") == ["the text contains no expected code"]
    assert says(explanation, "questions") == ["not applicable: no reading could prove the line"]
    assert says(explanation, "outcome") == ["no reference"]


@pytest.mark.acceptance
def test_a_reading_states_the_proof_of_its_tier() -> None:
    lines = [line("a", "250", "invoice PAY-2026 005528")]
    expected = [expectation("r2", "PAY-2026-005528", "250")]
    (rejoined,) = [row for row in explained("a", lines, expected).readings.arrow.to_pylist()
                   if row["needs"] != "person"]  # fmt: skip
    proves = {tier.words: tier.proves for tier in TIERS}
    assert rejoined["proves"] == proves[rejoined["words"]]
    assert rejoined["needs"] == "amount_or_payer"


@pytest.mark.acceptance
def test_a_return_and_its_payment_name_each_other() -> None:
    lines = [
        line("a", "100", A, 6, direction="DBIT", end_to_end_id="E2E-77"),
        line("b", "90", None, 20, return_reason="AC04", original_reference="E2E-77"),
    ]
    expected = [expectation("r1", A, "100", direction="DBIT")]
    back, paid = (explained(name, lines, expected) for name in ("b", "a"))
    assert (back.outcome, paid.outcome) == ("returned", "matched")
    clue = "found by the reference of the payment"
    assert says(back, "return") == [
        f"EUR 90.00 of the payment of EUR 100.00 of 6 Oct 2026, a; {clue}"
    ]
    assert says(paid, "return") == [f"EUR 90.00 on 20 Oct 2026 with b; {clue}"]
    assert back.returns.arrow.to_pylist() == paid.returns.arrow.to_pylist()
    (row,) = back.returns.arrow.to_pylist()
    assert (row["return_id"], row["original_id"], row["amount"]) == ("b", "a", 90)
    assert not explained("a", lines[:1], expected).returns.arrow.num_rows


def test_an_omitted_line_is_explained_as_omitted() -> None:
    fee = line("a", "8", A, line_class="bank_charge")
    explanation = explained("a", [fee], [expectation("r1", A, "8")])
    assert says(explanation, "questions") == ["not applicable: the line takes no part in matching"]
    assert "Bank charge" in str(explanation)


def test_outside_text_stays_text_and_80_columns_are_enough() -> None:
    explanation = explained("a", [line("a", "90", HOSTILE * 9)], [expectation("r1", A, "100")])
    assert "<script" not in explanation._repr_html_()
    assert "$x" not in explanation._repr_html_()
    assert "\x1b" not in str(explanation)
    assert max(map(len, str(explanation).splitlines())) <= 80


@pytest.mark.acceptance
def test_every_kind_of_line_of_a_month_is_explained(month_end: Workspace) -> None:
    seen = set()
    for row in month_end.reconcile("2026-10").lines.arrow.to_pylist():
        if (row["outcome"], row["tier"]) not in seen:
            seen.add((row["outcome"], row["tier"]))
            explanation = month_end.explain(row["entry_id"], month="2026-10")
            assert (explanation.outcome, explanation.reason) == (row["outcome"], row["reason"])
            assert explanation.expectation_id == row["expectation_id"]
            assert max(map(len, str(explanation).splitlines())) <= 80
    assert len(seen) > 6


@pytest.mark.acceptance
def test_a_decision_is_explained_with_its_author(month_end: Workspace, tmp_path: Path) -> None:
    desk = copy_of(month_end, tmp_path / "desk")
    name = next(
        row["entry_id"]
        for row in desk.matches.open().arrow.to_pylist()
        if row["outcome"] == "unreferenced"
    )
    desk.matches.ignore(name, reason="paid back by hand", actor=ANNA)
    explanation = desk.explain(name)
    assert explanation.outcome == "ignored"
    assert "decided by: anna on 2026-11-0" in str(explanation)


@pytest.mark.acceptance
def test_the_rows_of_one_step_are_shown_for_a_line(month_end: Workspace) -> None:
    row = month_end.reconcile("2026-10").lines.arrow.slice(0, 1).to_pylist()[0]
    name = row["entry_id"]
    (found,) = month_end.step_rows(name, "outcomes", month="2026-10").arrow.to_pylist()
    assert (found["entry_id"], found["reason"]) == (name, row["reason"])
    output = call(month_end, "explain", name, "--step", "outcomes", "--format", "json")
    assert [each["entry_id"] for each in json.loads(output.stdout)] == [name]
    assert not month_end.step_rows(name, "linked_returns").arrow.num_rows
    with pytest.raises(InputError, match=r"no step 'outcome'; is it outcomes\?"):
        month_end.step_rows(name, "outcome")
    with pytest.raises(InputError, match="the step code_heads has no column with the id of a line"):
        month_end.step_rows(name, "code_heads")


@pytest.mark.acceptance
def test_an_unknown_line_is_refused_with_the_nearest_id(month_end: Workspace) -> None:
    name = month_end.reconcile("2026-10").lines.arrow["entry_id"][0].as_py()
    assert month_end.explain(name[:20]).entry_id.startswith(name[:20])
    wrong = ("0" if name[0] != "0" else "1") + name[1:]
    output = call(month_end, "explain", wrong)
    assert isinstance(output.exception, InputError)
    assert output.exception.what == f"there is no bank line {wrong!r}"
    assert output.exception.do == f"the nearest id is {name}"
    with pytest.raises(InputError, match="there is no bank line"):
        month_end.explain(name[:3])


@pytest.mark.acceptance
def test_a_line_outside_the_named_month_is_refused(month_end: Workspace) -> None:
    name = month_end.reconcile("2026-10").lines.arrow["entry_id"][0].as_py()
    with pytest.raises(NothingStored, match="no bank line is stored for 2020-01"):
        month_end.explain(name, month="2020-01")
    with pytest.raises(InputError, match="was booked on 2026-10-01, not in 2026-09"):
        month_end.explain(name, month="2026-09")


@pytest.mark.acceptance
def test_the_command_prints_the_words_or_the_rows(month_end: Workspace) -> None:
    name = month_end.reconcile("2026-10").lines.arrow["entry_id"][0].as_py()
    output = call(month_end, "explain", name, "--month", "2026-10")
    assert output.exit_code == 0, output.output
    assert output.output == f"{month_end.explain(name)}\n"
    rows = json.loads(call(month_end, "explain", name, "--format", "json").stdout)
    assert [row["stage"] for row in rows][-1] == "outcome"
