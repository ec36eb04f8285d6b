"""Answers for earlier times, the changes between two answers, and previews of rules."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, edit, first_line, october
from signed import close_month

from treasury.core.errors import InputError, SettingsError
from treasury.core.tables.table import Table
from treasury.matching.rules import ClassRule, Rules, load_rules
from treasury.month.decisions.rule_changes import Preview
from treasury.month.reconciliation import Reconciliation
from treasury.workspace import RULES_FILE, Workspace

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (
    f"2026-11-{day:02}T08:00:00+00:00" for day in (9, 10, 11, 12)
)
STRICT = '[[classes]]\nname = "nothing"\nline_class = "other_business"\nremittance = "^nothing$"\n'


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    """Return a desk opened a week after its last records, so that times of knowledge differ."""
    return clock_at(copy_of(month_end, tmp_path / "desk"), MONDAY)


@pytest.fixture(scope="module")
def lines(month_end: Workspace) -> list[dict[str, Any]]:
    return october(month_end)


def bytes_of(answer: Reconciliation) -> dict[str, bytes]:
    """Return every field of an answer as text, because Arrow's bytes under nulls are undefined."""
    contents = {}
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if isinstance(value, pa.Table):
            contents[name] = f"{value.schema}\n{value.to_pylist()}".encode()
        elif name not in {"matches", "basis"}:
            contents[name] = repr(value).encode()
    contents["matches"] = (
        b"".join(
            str(getattr(answer.matches, name).arrow.to_pylist()).encode()
            for name in ("lines", "expectations", "allocations", "candidates")
        )
        + answer.matches.rules_hash.encode()
    )
    return contents


@pytest.mark.acceptance
def test_an_earlier_instant_is_answered_the_same_after_records_decisions_and_rules_changed(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    ignored = first_line(lines, "unreferenced")["entry_id"]
    desk.matches.ignore(ignored, reason="settled by phone", actor=ANNA)
    waiting = next(row for row in desk.awaiting_funds().arrow.to_pylist() if row["overdue"])
    desk.funding.marked_sent(waiting["reference"], "paid by phone banking", actor=ANNA)
    then = bytes_of(desk.reconcile("2026-10"))

    later = clock_at(desk, TUESDAY)
    suggested = first_line(lines, "suggested", "on_ramp", "DBIT")
    later.matches.undo(ignored, actor=BERT)
    later.matches.accept(suggested["entry_id"], suggested["reference"], actor=BERT)
    later.funding.undo(waiting["reference"], actor=BERT)
    edit(later, "statement_entries", "entry_id", lines[0]["entry_id"], amount=Decimal("1.00"))
    edit(later, "ramp_requests", "id", waiting["request"], status="CANCELLED")
    double(later, lines[1]["entry_id"])
    rules = later.folder / "new.toml"
    rules.write_text(STRICT)
    later.rules.save(rules, "the company's own rules are no longer needed", actor=BERT)

    now = bytes_of(later.reconcile("2026-10"))
    assert bytes_of(later.at(MONDAY).reconcile("2026-10")) == then
    for name in ("lines", "awaiting_funds", "matches"):
        assert now[name] != then[name], name


@pytest.mark.acceptance
def test_each_change_is_listed_with_its_cause_and_amount(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    before = desk.reconcile("2026-10")
    later = clock_at(desk, TUESDAY)
    decided = first_line(lines, "suggested", "on_ramp", "DBIT")
    later.matches.accept(decided["entry_id"], decided["reference"], actor=ANNA)
    paid = first_line(lines, "matched", "on_ramp")
    edit(later, "ramp_requests", "id", paid["expectation_id"], status="CANCELLED")
    credit = first_line(lines, "matched", "virtual_bank_account")
    edit(later, "statement_entries", "entry_id", credit["entry_id"], remittance=["nothing"])
    twin = double(later, lines[5]["entry_id"], remittance=["nothing of ours"])
    rules = later.folder / "new.toml"
    classed = first_line(lines, "unreferenced")
    rules.write_text(
        (later.folder / RULES_FILE).read_text()
        + '[[classes]]\nname = "odd"\nline_class = "other_business"\n'
        f'counterparty_account = "{classed["counterparty_account"]}"\n'
    )
    later.rules.save(rules, "known by now", actor=ANNA)

    comparison = later.compare(before, later.reconcile("2026-10"))
    moves = {row["entry_id"]: row for row in comparison.arrow.to_pylist()}
    assert moves[decided["entry_id"]]["cause"] == "decision"
    assert (moves[paid["entry_id"]]["cause"], moves[paid["entry_id"]]["to_outcome"]) == (
        "record changed", "conflict",
    )  # fmt: skip
    assert "status was SUCCEEDED, is CANCELLED" in moves[paid["entry_id"]]["why"]
    assert moves[credit["entry_id"]]["cause"] == "line changed"
    assert (moves[twin]["cause"], moves[twin]["from_outcome"]) == ("new statement", None)
    assert moves[classed["entry_id"]]["cause"] == "rule"
    assert moves[classed["entry_id"]]["to_outcome"] == "other_business"
    assert moves[decided["entry_id"]]["to_reference"] == decided["reference"]
    counted: Counter[tuple[str, str]] = Counter()
    for row in comparison.arrow.to_pylist():
        counted[row["currency"], row["cause"]] += row["amount"]
    totals: Counter[tuple[str, str]] = Counter()
    for row in comparison.totals.arrow.to_pylist():
        totals[row["currency"], row["cause"]] += row["amount"]
    assert counted == totals
    assert "lines moved" in repr(comparison)
    assert comparison._repr_html_().count("<table") == 2
    assert list(comparison.to_pandas()["entry_id"]) == comparison.arrow["entry_id"].to_pylist()
    nothing = later.compare(before, desk.at(MONDAY).reconcile("2026-10"))
    assert len(nothing) == 0
    assert "<table" not in nothing._repr_html_()


@pytest.mark.acceptance
def test_two_months_are_not_compared(desk: Workspace) -> None:
    with pytest.raises(InputError, match="compare one month"):
        desk.compare(desk.reconcile("2026-09"), desk.reconcile("2026-10"))
    loose = msgspec.structs.replace(desk.reconcile("2026-10"), basis=None)
    with pytest.raises(InputError, match="does not contain its basis"):
        desk.compare(loose, loose)


@pytest.mark.acceptance
def test_only_answers_for_a_month_are_compared(desk: Workspace) -> None:
    answer = desk.reconcile("2026-10")
    for operand in (None, answer.lines, answer.matches):
        for pair in ((answer, operand), (operand, answer)):
            with pytest.raises(InputError, match="is not a reconciliation - compare two of"):
                desk.compare(*pair)


@pytest.mark.acceptance
def test_a_preview_of_rules_covers_all_stored_records_and_writes_nothing(
    desk: Workspace,
) -> None:
    current = desk.rules.current()
    assert current.classes, "the practice company has its own rules"
    preview = desk.rules.preview(msgspec.structs.replace(current, classes=(), ours_target_days=9))
    rows = preview.lines.arrow.to_pylist()
    assert {row["booking_date"].month for row in rows} >= {9, 10}
    assert {row["from_outcome"] for row in rows} == {"other_business"}
    amount = sum(row["amount"] for row in preview.totals.arrow.to_pylist())
    assert amount == sum(row["amount"] for row in rows) > 0
    assert {row["currency"] for row in preview.totals.arrow.to_pylist()} == {"EUR"}
    each_way: Counter[str] = Counter()
    for row in rows:
        each_way[row["direction"]] += row["amount"]
    totals: Counter[str] = Counter()
    for row in preview.totals.arrow.to_pylist():
        totals[row["direction"]] += row["amount"]
    assert totals == each_way
    assert set(totals) == {"CRDT", "DBIT"}
    was = {row["request"]: row for row in desk.awaiting_funds().arrow.to_pylist()}
    assert len(preview.requests)
    assert all(
        row["due"] != was[row["request"]]["due"] for row in preview.requests.arrow.to_pylist()
    )
    assert len(preview.closed) == 0
    assert "would move" in preview._repr_html_()
    preview_again = desk.rules.preview(current)
    assert (len(preview_again.lines), len(preview_again.requests)) == (0, 0)
    assert desk.rules.current() == current
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_lines_of_a_closed_month_do_not_count_as_moved(desk: Workspace) -> None:
    close_month(desk, "2026-10")
    preview = desk.rules.preview(msgspec.structs.replace(desk.rules.current(), classes=()))
    assert {row["booking_date"].month for row in preview.closed.arrow.to_pylist()} == {10}
    assert 10 not in {row["booking_date"].month for row in preview.lines.arrow.to_pylist()}


def test_a_preview_lists_the_entries_that_a_shorter_list_removes() -> None:
    empty = Table(pa.table({"entry_id": pa.array([], pa.string())}))
    tables = dict.fromkeys(("lines", "totals", "requests", "closed"), empty)
    before = Rules(cut_lengths=(16, 18, 35), structured=("RF", "OGM"))
    preview = Preview(rules=Rules(cut_lengths=(35, 40)), before=before, **tables)
    assert preview.removed == ["cut_lengths no longer has 16, 18", "structured no longer has OGM"]
    assert "cut_lengths no longer has 16, 18" in preview._repr_html_()


@pytest.mark.acceptance
def test_saved_rules_are_in_the_file_and_journaled_with_their_effect(desk: Workspace) -> None:
    before = desk.rules.current()
    path = desk.folder / "new.toml"
    path.write_text("# kept word for word\nwindow_days = 10\n")
    preview = desk.rules.save(path, "ten days are enough", actor=ANNA)
    assert (desk.folder / RULES_FILE).read_text() == path.read_text()
    (entry,) = desk.journal.entries("rules.")
    assert (entry.subject, entry.actor, entry.body["reason"]) == (
        Rules(window_days=10).hash, ANNA, "ten days are enough",
    )  # fmt: skip
    assert msgspec.convert(entry.body["content"], Rules) == Rules(window_days=10)
    assert msgspec.convert(entry.body["before"], Rules) == before
    assert entry.body["effect"]["lines"] == len(preview.lines) > 0
    assert desk.rules.is_journaled()
    (row,) = desk.rules.history().arrow.to_pylist()
    assert (row["saved_by"], row["lines"]) == ("anna", len(preview.lines))
    (desk.folder / RULES_FILE).write_text("window_days = 11\n")
    assert not desk.rules.is_journaled()


@pytest.mark.acceptance
def test_rules_from_python_are_the_same_after_writing_and_reading(desk: Workspace) -> None:
    rules = Rules(
        window_days=12,
        classes=(ClassRule(name='"odd" = 1', line_class="bank_charge", remittance=r"\bfee\b"),),
    )
    desk.rules.save(rules, "from a notebook", actor=ANNA)
    assert load_rules(desk.folder / RULES_FILE) == rules == desk.rules.current()


def test_invalid_rules_change_nothing(desk: Workspace) -> None:
    text = (desk.folder / RULES_FILE).read_text()
    path = desk.folder / "new.toml"
    path.write_text("window_day = 10\n")
    with pytest.raises(SettingsError, match=r"new\.toml: .*window_day"):
        desk.rules.save(path, "a slip", actor=ANNA)
    with pytest.raises(SettingsError, match="does not exist"):
        desk.rules.preview(desk.folder / "none.toml")
    with pytest.raises(InputError, match="needs a reason"):
        desk.rules.save(Rules(), " ", actor=ANNA)
    assert (desk.folder / RULES_FILE).read_text() == text
    assert desk.journal.entries() == []


def test_unreadable_rules_are_not_treated_as_missing_rules(desk: Workspace) -> None:
    (desk.folder / RULES_FILE).unlink(missing_ok=True)
    assert desk.rules.current() == Rules()
    (desk.folder / RULES_FILE).mkdir()
    with pytest.raises(SettingsError, match=r"rules\.toml cannot be read"):
        desk.rules.current()
    with pytest.raises(SettingsError, match=r"rules\.toml cannot be read"):
        desk.reconcile("2026-10")


@pytest.mark.acceptance
def test_case_29_an_interrupted_save_gives_the_same_result_when_rerun(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupt between journal and file; saving again writes the file and adds no entry."""
    from treasury.month.decisions import rule_changes

    class CutOff(Exception):
        pass

    def dies(*_: object) -> None:
        raise CutOff

    rules = Rules(window_days=12)
    with monkeypatch.context() as patch:
        patch.setattr(rule_changes, "durable", SimpleNamespace(write_whole=dies))
        with pytest.raises(CutOff):
            desk.rules.save(rules, "fewer days", actor=ANNA)
    assert not desk.rules.is_journaled(), "the file still holds the earlier rules"
    desk.rules.save(rules, "fewer days", actor=ANNA)
    assert desk.rules.current() == rules
    assert len(desk.journal.entries("rules.")) == 1


BY_TEXT = """\
[[classes]]
name = "sweeps"
line_class = "own_transfer"
direction = "CRDT"
remittance = "sweep"
"""


@pytest.mark.acceptance
def test_a_class_that_no_line_matches_is_not_saved_and_the_doctor_reports_it(
    desk: Workspace,
) -> None:
    path = desk.folder / "new.toml"
    path.write_text(BY_TEXT)
    with pytest.raises(InputError, match="'sweeps' depends on text that payers write, and no line"):
        desk.rules.save(path, "to leave them out", actor=ANNA)
    assert desk.journal.entries() == []
    (desk.folder / RULES_FILE).write_text(BY_TEXT)
    assert desk.reconcile("2026-10").lines.arrow.num_rows
    warnings = [
        health
        for health in desk.doctor().findings
        if health.topic == "rules" and health.state == "optional"
    ]
    sentence = "the class 'sweeps' matches payers' text, and no line matches it"
    assert [health.what for health in warnings] == [sentence]
