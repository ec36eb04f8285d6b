"""People's verdicts on bank lines: cases 26 to 30, and 35."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, edit, first_line, line_of, october

from treasury.core.errors import ActionRefused, InputError
from treasury.matching.rules import Rules
from treasury.month.decisions.verdict_facts import contradicts
from treasury.workspace import Workspace


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(month_end: Workspace) -> Lines:
    """Return October's lines before any decision."""
    return october(month_end)


@pytest.fixture
def suggested(lines: Lines) -> dict[str, Any]:
    """Return a line that is suggested for an on-ramp request."""
    return first_line(lines, "suggested", "on_ramp", "DBIT")


@pytest.fixture(scope="module")
def waiting(month_end: Workspace) -> str:
    """Return the reference of a request that waits for our payment."""
    rows = month_end.awaiting_funds().arrow.to_pylist()
    return next(row["reference"] for row in rows if row["state"] == "PAY")


@pytest.mark.acceptance
def test_an_accepted_suggestion_is_matched_with_who_when_why_and_the_facts(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    journaled = desk.matches.accept(line, reference, reason="as on the invoice", actor=ANNA)
    after = line_of(desk, line)
    assert (after["outcome"], after["expectation_id"]) == ("matched", suggested["expectation_id"])
    assert (after["decided_by"], after["decided_at"]) == ("anna", desk.now())
    assert "as on the invoice" in after["reason"]
    (entry,) = desk.journal.entries("match.")
    assert (entry.seq, entry.kind, entry.subject, entry.actor) == (
        journaled.seq, "match.accept", line, ANNA,
    )  # fmt: skip
    assert entry.body["expectation_id"] == suggested["expectation_id"]
    assert entry.body["facts"]["line"]["amount"] == f"{suggested['amount']:.2f}"
    assert entry.body["facts"]["expectations"][suggested["expectation_id"]]["code"] == reference
    assert entry.body["seen"]["outcome"] == "suggested"
    (listed,) = desk.matches.list().arrow.to_pylist()
    assert (listed["verb"], listed["reference"], listed["moved"]) == ("accept", reference, "")


@pytest.mark.acceptance
def test_lines_and_records_are_found_by_the_beginning_of_their_ids(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    journaled = desk.matches.accept(line[:8], reference.replace("-", "").lower(), actor=ANNA)
    assert journaled.entry_id == line
    with pytest.raises(InputError, match="no bank line 'zzzzzzzz'"):
        desk.matches.accept("zzzzzzzz", reference)
    with pytest.raises(InputError, match="no request or virtual account 'PAY-9'"):
        desk.matches.reject(line, "PAY-9")
    assert len(desk.journal.entries()) == 1


@pytest.mark.acceptance
def test_a_rejected_suggestion_is_not_suggested_again(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    wrong = suggested["expectation_id"]
    desk.matches.reject(line, reference, actor=ANNA)
    assert wrong not in {
        row["expectation_id"]
        for row in desk.reconcile("2026-10").matches.candidates.arrow.to_pylist()
        if row["entry_id"] == line
    }


@pytest.mark.acceptance
def test_a_line_closed_with_a_reason_is_no_longer_open(desk: Workspace, lines: Lines) -> None:
    line = first_line(lines, "unreferenced")["entry_id"]
    with pytest.raises(InputError, match="needs a reason"):
        desk.matches.ignore(line, reason=" ", actor=ANNA)
    desk.matches.ignore(line, reason="a refund that was settled by phone", actor=ANNA)
    assert line_of(desk, line)["outcome"] == "ignored"
    assert line not in desk.matches.open().arrow["entry_id"].to_pylist()


@pytest.mark.acceptance
def test_a_matched_line_is_not_closed_or_undone_without_a_reason(
    desk: Workspace, lines: Lines
) -> None:
    line = first_line(lines, "matched", "on_ramp")
    with pytest.raises(ActionRefused, match="looks unpaid"):
        desk.matches.ignore(line["entry_id"], reason="x", actor=ANNA)
    with pytest.raises(ActionRefused, match="state in the reason why"):
        desk.matches.reject(line["entry_id"], line["reference"], actor=ANNA)
    desk.matches.reject(line["entry_id"], line["reference"], reason="theirs", actor=ANNA)
    assert line_of(desk, line["entry_id"])["outcome"] != "matched"


@pytest.mark.acceptance
def test_a_line_handed_to_a_colleague_stays_open_under_their_name(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    desk.matches.assign(line, "bert", reason="knows the supplier", actor=ANNA)
    rows = {row["entry_id"]: row for row in desk.matches.open().arrow.to_pylist()}
    assert rows[line]["assigned_to"] == "bert"
    assert rows[line]["suggestion"] == reference
    desk.matches.accept(line, reference, actor=BERT)
    with pytest.raises(ActionRefused, match="already decided"):
        desk.matches.assign(line, "carla", actor=ANNA)


@pytest.mark.acceptance
def test_a_contrary_decision_must_be_undone_first(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    desk.matches.reject(line, reference, reason="another supplier", actor=ANNA)
    with pytest.raises(ActionRefused, match=r"anna decided it .*: reject for .* \(another supp"):
        desk.matches.accept(line, reference, actor=BERT)
    desk.matches.ignore(line, reason="not ours", actor=BERT)
    with pytest.raises(ActionRefused, match=r"bert decided it .*: ignore"):
        desk.matches.reject(line, "PAY-2026-004417", actor=ANNA)
    assert [entry.kind for entry in desk.journal.entries()] == ["match.reject", "match.ignore"]


@pytest.mark.acceptance
def test_a_conflict_is_accepted_only_with_a_reason(desk: Workspace, lines: Lines) -> None:
    line = next(
        row
        for row in lines
        if row["outcome"] == "conflict" and row["reference"] and row["reason"].startswith("status")
    )
    with pytest.raises(ActionRefused, match="conflict: status"):
        desk.matches.accept(line["entry_id"], line["reference"], actor=ANNA)
    desk.matches.accept(
        line["entry_id"], line["reference"], reason="they took it after all", actor=ANNA
    )
    assert line_of(desk, line["entry_id"])["outcome"] == "matched"


@pytest.mark.acceptance
def test_accepting_more_than_the_expected_rest_requires_a_reason(
    desk: Workspace, lines: Lines
) -> None:
    """Two lines that are accepted in one call also count together."""
    duplicate = first_line(lines, "duplicate")
    with pytest.raises(ActionRefused, match=r"duplicate.*is more than the EUR 0\.00 still expect"):
        desk.matches.accept(duplicate["entry_id"], duplicate["reference"], actor=ANNA)
    first, second = rivals(lines)
    pairs = [(row["entry_id"], first["reference"]) for row in (first, second)]
    with pytest.raises(ActionRefused, match=r"more than the EUR 0\.00 still expected"):
        desk.matches.accept_many(pairs, actor=ANNA)
    assert desk.journal.entries() == []
    desk.matches.accept_many(pairs[:1], actor=ANNA)
    with pytest.raises(ActionRefused, match=r"more than the EUR 0\.00 still expected"):
        desk.matches.accept(*pairs[1], actor=ANNA)


def rivals(lines: Lines) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two suggested off-ramp lines of one amount; either may pay the first one's request."""
    by_amount: dict[Decimal, dict[str, Any]] = {}
    for row in lines:
        if row["outcome"] == "suggested" and row["kind"] == "off_ramp":
            if row["amount"] in by_amount:
                return by_amount[row["amount"]], row
            by_amount[row["amount"]] = row
    raise AssertionError("the company has no such pair")


@pytest.mark.acceptance
def test_another_currency_is_refused_and_another_direction_needs_a_reason(
    desk: Workspace, lines: Lines, suggested: dict[str, Any]
) -> None:
    line = first_line(lines, "suggested", "off_ramp")["entry_id"]
    with pytest.raises(ActionRefused, match=r"it is CRDT, PAY-.* expects DBIT"):
        desk.matches.accept(line, suggested["reference"], actor=ANNA)
    edit(desk, "ramp_requests", "id", suggested["expectation_id"], fiat_currency="USD")
    with pytest.raises(ActionRefused, match=r"is in EUR, but PAY-.* is in USD"):
        desk.matches.accept(line, suggested["reference"], reason="it must be", actor=ANNA)
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_case_35_an_accepted_refund_reopens_the_refunded_record(
    desk: Workspace, lines: Lines
) -> None:
    refund = first_line(lines, "suggested", "on_ramp", "CRDT")
    desk.matches.accept(refund["entry_id"], refund["reference"], actor=ANNA)
    line_outcome = line_of(desk, refund["entry_id"])
    assert (line_outcome["outcome"], line_outcome["matched_amount"]) in {
        ("returned", None),
        ("matched", None),
    }
    state = {
        row["expectation_id"]: row["received"]
        for row in desk.reconcile("2026-10").matches.expectations.arrow.to_pylist()
    }
    assert state[refund["expectation_id"]] == 0


@pytest.mark.acceptance
def test_case_27_undo_restores_the_earlier_state_exactly(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]

    def state() -> list[Any]:
        answer = desk.reconcile("2026-10")
        tables = [answer.lines, answer.matches.expectations, answer.awaiting_funds]
        return [table.arrow for table in tables]

    first = state()
    desk.matches.assign(line, "bert", actor=ANNA)
    desk.matches.accept(line, reference, actor=BERT)
    accepted = state()
    assert accepted != first
    undone = desk.matches.undo(line, reason="too early", actor=ANNA)
    assert undone.verb == "undo"
    assert state() == first
    assert [row["verb"] for row in desk.matches.list().arrow.to_pylist()] == ["assign"]
    desk.matches.undo(line, actor=ANNA)
    assert desk.matches.list().arrow.to_pylist() == []
    with pytest.raises(ActionRefused, match="there is no decision on the line"):
        desk.matches.undo(line, actor=ANNA)


@pytest.mark.acceptance
def test_case_28_a_dry_run_writes_nothing(
    desk: Workspace, suggested: dict[str, Any], waiting: str
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    planned = desk.matches.accept(line, reference, actor=ANNA, dry_run=True)
    assert (planned.seq, planned.by) == (None, "anna")
    desk.matches.assign(line, "bert", actor=ANNA, dry_run=True)
    desk.matches.ignore(line, reason="x", actor=ANNA, dry_run=True)
    desk.funding.marked_sent(waiting, "by phone", actor=ANNA, dry_run=True)
    terms = {"owner": "carla", "by": "2026-11-30", "reason": "asked"}
    desk.items.carry(f"line:{line}", **terms, actor=ANNA, dry_run=True)
    desk.rules.preview(Rules(window_days=1))
    assert desk.journal.entries() == []
    assert not (desk.folder / "journal.sqlite").exists()
    assert desk.lake.pins() == []


@pytest.mark.acceptance
def test_case_26_a_persons_match_survives_rerun_reimport_and_rule_change(
    desk: Workspace, month_end: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    desk.matches.accept(line, reference, actor=ANNA)
    assert line_of(desk, line)["outcome"] == "matched"
    desk.statements.add(sorted((month_end.folder / "bank").glob("*.xml")))
    assert line_of(desk, line)["outcome"] == "matched"
    everything = desk.folder / "everything.toml"
    everything.write_text(
        '[[classes]]\nname = "all"\nline_class = "other_business"\nremittance = "."\n'
    )
    desk.rules.save(everything, "to see what is left", actor=ANNA)
    line_outcome = line_of(desk, line)
    assert (line_outcome["outcome"], line_outcome["line_class"]) == ("matched", None)
    assert desk.matches.list().arrow.to_pylist()[0]["moved"] == ""


@pytest.mark.acceptance
def test_case_26_an_upstream_edit_flags_the_decision_and_keeps_it(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    expectation = suggested["expectation_id"]
    desk.matches.accept(line, reference, actor=ANNA)
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    edit(later, "statement_entries", "entry_id", line, amount=Decimal("8849.00"))
    edit(later, "ramp_requests", "id", expectation, fiat_amount=Decimal(9000), status="CANCELLED")
    assert line_of(later, line)["outcome"] == "matched"
    (row,) = later.matches.list().arrow.to_pylist()
    for change in (
        "amount was 8850.00, is 8849.00",
        f"{reference}: amount was 8850.00, is 9000.00",
        f"{reference}: status was SUCCEEDED, is CANCELLED",
    ):
        assert change in row["moved"]
    assert desk.at("2026-11-02T12:00Z").matches.list().arrow.to_pylist()[0]["moved"] == ""


@pytest.mark.acceptance
def test_case_26_no_month_is_prepared_with_a_decision_on_changed_facts(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    desk.matches.accept(suggested["entry_id"], suggested["reference"], actor=ANNA)
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    edit(later, "ramp_requests", "id", suggested["expectation_id"], fiat_amount=Decimal(9000))
    with pytest.raises(ActionRefused, match="Decided on facts that have changed: 1"):
        later.periods.prepare("2026-10", actor=ANNA)


@pytest.mark.acceptance
def test_case_26_ordinary_progress_of_a_status_flags_no_decision(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    expectation = suggested["expectation_id"]
    desk.matches.accept(line, reference, actor=ANNA)
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    edit(later, "ramp_requests", "id", expectation, status="PROCESSING")
    assert later.matches.list().arrow.to_pylist()[0]["moved"] == ""


@pytest.mark.acceptance
def test_a_decision_on_a_line_that_left_its_statement_can_be_undone(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    desk.matches.accept(line, reference, actor=ANNA)
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    edit(later, "statement_entries", "entry_id", line, entry_status="SUPERSEDED")
    assert (
        later.matches.list().arrow.to_pylist()[0]["moved"]
        == "no statement contains the line any more"
    )
    later.matches.undo(line, actor=BERT)
    assert later.matches.list().arrow.to_pylist() == []


@pytest.mark.acceptance
def test_case_29_an_interrupted_verb_gives_the_same_result_when_rerun(
    desk: Workspace, lines: Lines
) -> None:
    chosen = [row["entry_id"] for row in lines if row["outcome"] == "unreferenced"][:3]
    first = desk.matches.ignore(*chosen[:2], reason="closed by hand", actor=ANNA)
    again = desk.matches.ignore(*chosen, reason="closed by hand", actor=ANNA)
    assert again[:2] == first
    assert len(desk.journal.entries()) == 3


@pytest.mark.acceptance
def test_case_30_notebooks_that_decide_a_line_at_once_journal_one_decision(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    """Four threads decide a line in two ways: one way wins, and two threads are refused."""
    line, reference = suggested["entry_id"], suggested["reference"]
    start, refused = threading.Barrier(4), []

    def decide(number: int) -> None:
        own = Workspace(desk.folder)
        start.wait()
        try:
            if number % 2:
                own.matches.ignore(line, reason=f"hand {number}", actor=ANNA)
            else:
                own.matches.accept(line, reference, reason=f"hand {number}", actor=BERT)
        except ActionRefused as refusal:
            refused.append(str(refusal))

    hands = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    entries = desk.journal.entries("match.")
    assert len(entries) == 1
    assert len(refused) == 2, "repeating the same verdict is not refused"
    assert all("already decided" in text for text in refused)
    desk.journal.verify()


@pytest.mark.acceptance
def test_case_30_two_lines_for_one_request_are_not_both_accepted(
    desk: Workspace, suggested: dict[str, Any]
) -> None:
    """Each line fits alone; if both are accepted at the same time, the second is refused."""
    line, reference = suggested["entry_id"], suggested["reference"]
    request = suggested["expectation_id"]
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    twin = double(later, line)
    waiting = threading.Barrier(2)
    refused: list[str] = []

    def decide(entry: str) -> None:
        own = Workspace(later.folder)
        waiting.wait()
        try:
            own.matches.accept(entry, request, actor=ANNA)
        except ActionRefused as refusal:
            refused.append(str(refusal))

    hands = [threading.Thread(target=decide, args=(entry,)) for entry in (line, twin)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert len(later.journal.entries("match.accept")) == 1
    assert len(refused) == 1
    assert f"EUR 0.00 still expected for {reference}" in refused[0]


def test_an_earlier_view_decides_nothing(
    desk: Workspace, suggested: dict[str, Any], waiting: str
) -> None:
    line, reference = suggested["entry_id"], suggested["reference"]
    then = desk.at("2026-11-02T12:00Z")
    with pytest.raises(InputError, match="no decisions can be made"):
        then.matches.accept(line, reference, actor=ANNA)
    with pytest.raises(InputError, match="no decisions can be made"):
        then.funding.marked_sent(waiting, "by phone", actor=ANNA)
    with pytest.raises(InputError, match="no decisions can be made"):
        then.rules.save(Rules(), "as before", actor=ANNA)
    with pytest.raises(InputError, match="no decisions can be made"):
        then.periods.prepare("2026-10", actor=ANNA)
    assert desk.journal.entries() == []


@pytest.mark.parametrize("status", ["ON_HOLD", "on-hold", " On-Hold "])
def test_a_status_contradicts_in_every_spelling_as_in_matching(status: str) -> None:
    assert contradicts(status, Rules(contradicting_statuses=("on-hold",)))
    assert contradicts(status, Rules(contradicting_statuses=(" ON_HOLD",)))
    assert not contradicts(status, Rules())
