"""A journal that was altered or lacks a signature takes no decisions, and doctor reports it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from decide_desk import ANNA, BERT, copy_of
from signed import close_month

from treasury.actions.authority.enrolment import enrol_key
from treasury.actions.policies.policy import POLICY_FILE
from treasury.core.errors import ActionRefused, JournalError
from treasury.core.settings import JournalPlace
from treasury.journal import Journal
from treasury.journal.signing import make_key
from treasury.matching.rules import Rules
from treasury.panels.steps.filed_payments import note_file
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def decided(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with a verdict, a remark and a closed month; tests copy it or only read it."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("decided") / "desk")
    line, *_ = desk.matches.open().arrow["entry_id"].to_pylist()
    desk.matches.ignore(line, reason="the bank's own charge", actor=ANNA)
    desk.funding.marked_sent(_waiting(desk), "paid by phone", actor=ANNA)
    close_month(desk, "2026-09")
    return desk


@pytest.fixture(params=["before it is opened", "while it is open"])
def edited(request: pytest.FixtureRequest, decided: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy with its first journal entry changed by SQL."""
    desk = copy_of(decided, tmp_path / "desk")
    if request.param == "while it is open":
        desk.funding.will_not_fund(_waiting(desk), "no longer wanted", actor=BERT)
    with closing(sqlite3.connect(desk.folder / "journal.sqlite")) as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET actor = 'bert' WHERE seq = 1")
        connection.commit()
    return desk


def _waiting(desk: Workspace) -> str:
    """Return the reference of a payable request without a remark."""
    remarked = desk.funding.list().arrow["request_id"].to_pylist()
    rows = desk.awaiting_funds().arrow.to_pylist()
    return next(
        row["reference"] for row in rows if row["state"] == "PAY" and row["request"] not in remarked
    )


def _ignore(desk: Workspace) -> object:
    line = desk.matches.open().arrow["entry_id"].to_pylist()[0]
    return desk.matches.ignore(line, reason="a charge", actor=ANNA)


VERBS: dict[str, Callable[[Workspace], object]] = {
    "match ignore": _ignore,
    "match undo": lambda desk: desk.matches.undo(
        desk.matches.list().arrow["entry_id"].to_pylist()[0], actor=ANNA
    ),
    "remark": lambda desk: desk.funding.marked_sent(_waiting(desk), "paid", actor=ANNA),
    "prepare": lambda desk: desk.periods.prepare("2026-10", actor=ANNA),
    "sign": lambda desk: desk.periods.sign("2026-10", actor=BERT),
    "carry": lambda desk: desk.items.carry(
        desk.open_items("2026-10").select(kind="overdue").items[0].item_id,
        owner="carla", by="2027-01-01", reason="asked", actor=ANNA,
    ),
    "reopen": lambda desk: desk.periods.reopen("2026-09", "a line came", actor=ANNA),
    "rules": lambda desk: desk.rules.save(Rules(), "as in the contract", actor=ANNA),
    "payment file": lambda desk: note_file(desk.journal, "pay.xml", ["R-1"], {}, nonce="one"),
}  # fmt: skip


@pytest.mark.acceptance
@pytest.mark.parametrize("verb", VERBS)
def test_an_altered_journal_can_be_read_but_refuses_decisions(edited: Workspace, verb: str) -> None:
    before, rules = edited.journal.entries(), (edited.folder / "rules.toml").read_bytes()
    with pytest.raises(JournalError, match="entry 1 was changed after it was written") as caught:
        VERBS[verb](edited)
    assert "restore the journal from a copy" in str(caught.value)
    assert edited.journal.entries() == before
    assert edited.reconcile("2026-10").lines.arrow.num_rows > 0
    assert edited.matches.list().arrow.num_rows == 1
    assert (edited.folder / "rules.toml").read_bytes() == rules


@pytest.mark.first_case
def test_the_doctor_reports_an_altered_journal(edited: Workspace, decided: Workspace) -> None:
    report = edited.doctor()
    (finding,) = (health for health in report.findings if health.topic == "journal")
    assert (finding.state, report.damaged) == ("damaged", True)
    assert "entry 1 was changed" in finding.what
    assert "restore the journal from a copy" in finding.do
    (whole,) = (health for health in decided.doctor().findings if health.topic == "journal")
    entries = len(decided.journal.entries())
    assert (whole.state, whole.what) == ("ok", f"{entries} entries, each unchanged")


@pytest.fixture
def signing(decided: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a copy that requires signatures from now on; anna can sign her entries."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = copy_of(decided, tmp_path / "desk")
    before = decided.journal.head().seq
    (desk.folder / POLICY_FILE).write_text(f"signed = true\nsigned_after = {before}\n", "utf-8")
    enrol_key(desk.folder, "anna", make_key(JournalPlace().key).public)
    return desk


def _slip_in(desk: Workspace) -> None:
    """Add an unsigned entry that keeps the chain intact, as a person with write access could."""
    with closing(Journal(desk.folder)) as journal:
        journal.append("match.comment", "x", {}, actor=BERT)


@pytest.mark.acceptance
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_a_journal_with_a_missing_signature(
    signing: Workspace, verb: str
) -> None:
    signing.funding.marked_sent(_waiting(signing), "paid", actor=ANNA)
    _slip_in(signing)
    before, rules = signing.journal.entries(), (signing.folder / "rules.toml").read_bytes()
    unsigned = rf"entry {len(before)} by bert is not signed .*: unsigned"
    with pytest.raises(JournalError, match=unsigned):
        VERBS[verb](signing)
    assert signing.journal.entries() == before
    assert (signing.folder / "rules.toml").read_bytes() == rules


@pytest.mark.acceptance
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("prepare", "sign")])
def test_every_verb_signs_and_without_a_key_none_decides(signing: Workspace, verb: str) -> None:
    next_seq = signing.journal.head().seq + 1
    VERBS[verb](signing)
    assert signing.journal.signatures()[next_seq].state == "valid"
    key = JournalPlace().key.removeprefix("file:")
    Path(key).expanduser().unlink()
    reopened = Workspace(signing.folder)
    with pytest.raises(ActionRefused, match="anna cannot sign: there is no signing key here"):
        reopened.funding.marked_sent(_waiting(reopened), "paid", actor=ANNA)
    assert reopened.journal.head().seq == next_seq


@pytest.mark.acceptance
def test_doctor_reports_the_missing_signature_and_the_missing_signing_key(
    signing: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def journal_findings() -> list[tuple[str, str]]:
        report = Workspace(signing.folder).doctor().findings
        return [(health.state, health.what) for health in report if health.topic == "journal"]

    entries = signing.journal.head().seq
    whole = f"{entries} entries, each unchanged and signed as the policy requires"
    assert journal_findings() == [("ok", whole)]
    monkeypatch.setenv("TREASURY_USER", "bert")
    [_, (state, problem)] = journal_findings()
    assert (state, "bert cannot sign: the key here is that of anna" in problem) == ("missing", True)
    _slip_in(signing)
    [(state, problem), _] = journal_findings()
    unsigned = f"entry {entries + 1} by bert is not signed"
    assert (state, unsigned in problem) == ("damaged", True)
    (signing.folder / POLICY_FILE).write_text("signed = 7\n", "utf-8")
    [(state, problem)] = journal_findings()
    assert (state, POLICY_FILE in problem) == ("missing", True)


@pytest.mark.acceptance
def test_the_doctor_names_the_remedy_for_an_unreadable_noted_end(
    decided: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(decided, tmp_path / "desk")
    (desk.folder / "journal.end").write_text("9" * 5000)
    (finding,) = (health for health in desk.doctor().findings if health.topic == "journal")
    assert finding.state == "damaged"
    assert "remove that file" in finding.do
