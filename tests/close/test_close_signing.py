"""Preparing and signing a close: two people, withdrawals, interruptions, decisions in between."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, clock_at, double, first_line
from openpyxl import load_workbook
from signed import carry_all

from treasury.close import sign_off
from treasury.close.period_pins import basis_of, reconcile
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor, Journal
from treasury.lake import Lake
from treasury.month.items import OpenItems
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace


@pytest.mark.acceptance
def test_a_month_is_prepared_once_every_blocking_item_is_proposed_to_be_carried(
    desk: Workspace,
) -> None:
    with pytest.raises(ActionRefused, match=r"2026-10 is not prepared: .*Suggested: \d+, "):
        desk.periods.prepare("2026-10", actor=ANNA)
    assert (desk.journal.entries(), desk.lake.pins()) == ([], [])
    carry_all(desk, "2026-10")
    closing = desk.periods.prepare("2026-10", actor=ANNA)
    assert closing.preparation is not None
    close = closing.preparation.close
    assert (close.prepared_by, close.reviewed_by, close.reason) == ("anna", "", None)
    assert close.list_hash == closing.items.hash
    (pin,) = desk.lake.pins()
    assert (pin.commit.number, pin.why) == (close.commit, "close of 2026-10")
    assert close.head.seq == closing.preparation.entry.seq - 1
    assert close.rules_hash == desk.rules.current().hash
    assert [row["state"] for row in desk.periods.list().arrow.to_pylist()] == ["prepared"]
    signs = (
        "prepared by anna, 2 Nov 09:00 CET; a second person signs: treasury close 2026-10 --sign"
    )
    assert signs in desk.status("2026-10")
    again = desk.periods.prepare("2026-10", actor=BERT)
    assert again.preparation == closing.preparation, "viewing does not prepare again"
    with pytest.raises(
        ActionRefused, match=f"commit {close.commit} is needed: the close of 2026-10"
    ):
        desk.lake.unpin(close.commit)


@pytest.mark.acceptance
def test_case_32_the_preparer_cannot_sign_in_any_spelling_of_the_name(desk: Workspace) -> None:
    with pytest.raises(ActionRefused, match="2026-10 is not prepared"):
        desk.periods.sign("2026-10", actor=BERT)
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    head = desk.journal.head()
    for name in ("anna", " Anna ", "ANNA", "\uff41nna", "\u0430nn\u0430"):
        with pytest.raises(ActionRefused, match="anna prepared 2026-10, and the preparer does not"):
            desk.periods.sign("2026-10", actor=Actor(name, "environment"))
    assert desk.journal.head() == head
    period = desk.periods.sign("2026-10", actor=BERT).period
    assert period is not None
    assert (period.close.prepared_by, period.close.reviewed_by) == ("anna", "bert")
    assert (period.close.alone, period.entry.seq) == (False, head.seq + 1)
    assert desk.journal.entries("period.close")[0].actor == BERT
    assert desk.periods.get("2026-10") == period


@pytest.mark.acceptance
def test_one_person_signs_alone_if_allowed_and_every_page_shows_it(
    desk: Workspace, tmp_path: Path
) -> None:
    (desk.folder / "policy.toml").write_text("one_person = true\n", "utf-8")
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    closing = desk.periods.sign("2026-10", actor=ANNA)
    assert closing.period is not None
    assert closing.period.close.alone
    words = "closed by anna, signed alone, not reviewed, 2 Nov 09:00"
    assert words in desk.status("2026-10")
    assert words in str(desk.checklist("2026-10"))
    pack = desk.close("2026-10", tmp_path / "pack")
    page = pack.report.read_text("utf-8")
    assert '<p class="flag alone">signed alone, not reviewed</p>' in page
    assert '@bottom-center { content: "signed alone, not reviewed";' in page
    assert "reviewed by" not in page.replace("Reviewed by", "")
    header = load_workbook(pack.workbook)["Lines"].oddHeader.left.text
    assert header.endswith("signed alone, not reviewed")
    assert b'"alone": true' in (pack.folder / "evidence.json").read_bytes()
    assert verify_pack(pack.folder).holds
    (row,) = desk.periods.list().arrow.to_pylist()
    assert (row["reviewed_by"], row["signed_alone"]) == (None, True)


@pytest.mark.acceptance
def test_facts_that_arrive_after_the_preparation_are_late_items(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    carry_all(desk, "2026-10")
    prepared = desk.periods.prepare("2026-10", actor=ANNA)
    later = clock_at(desk, "2026-11-03T08:00:00+00:00")
    late = double(later, lines[0]["entry_id"], booking_date=date(2026, 10, 29))
    closing = later.periods.sign("2026-10", actor=BERT)
    assert closing.r.lines.arrow.equals(prepared.r.lines.arrow)
    assert late not in closing.r.lines.arrow["entry_id"].to_pylist()
    assert [row["entry_id"] for row in later.periods.late().arrow.to_pylist()] == [late]
    assert later.periods.verify("2026-10").answer.lines.arrow.equals(prepared.r.lines.arrow)


@pytest.mark.acceptance
def test_acceptances_after_the_preparation_count_and_a_missing_one_stops_the_signature(
    desk: Workspace,
) -> None:
    carry_all(desk, "2026-10")
    item = desk.open_items("2026-10").where(lambda one: one.is_accepted).items[0]
    terms = {"owner": "dora", "by": "2027-01-31", "reason": "another owner"}
    desk.items.carry(item.item_id, **terms, actor=ANNA)
    desk.periods.prepare("2026-10", actor=ANNA)
    with pytest.raises(ActionRefused, match=r"2026-10 is not signed: .* not accepted") as refused:
        desk.periods.sign("2026-10", actor=BERT)
    assert "treasury items accept ITEM… --month 2026-10; `treasury items list 2026-10`" in str(
        refused.value
    )
    desk.items.accept(item.item_id, actor=BERT)
    closing = desk.periods.sign("2026-10", actor=BERT)
    assert closing.items.by_id[item.item_id].owner == "dora"
    assert desk.open_items("2026-10").by_id[item.item_id].accepted_by == "bert"
    assert desk.periods.verify("2026-10").answer.lines.arrow.num_rows


@pytest.mark.acceptance
def test_the_next_month_lists_a_carried_item_that_waits_for_acceptance_in_the_month_before(
    desk: Workspace,
) -> None:
    carry_all(desk, "2026-10")
    of_october = desk.open_items("2026-10").where(
        lambda item: item.is_accepted and item.item_id.endswith("/2026-10")
    )
    (item, *_) = of_october
    terms = {"owner": "dora", "by": "2027-01-31", "reason": "another owner"}
    desk.items.carry(item.item_id, **terms, actor=ANNA)
    later = clock_at(desk, "2026-12-01T08:00:00+00:00")
    assert item.item_id not in later.open_items("2026-11").by_id

    def standing() -> tuple[str, str]:
        rows = later.items.list("2026-11").arrow.to_pylist()
        (row,) = (row for row in rows if row["item_id"] == item.item_id)
        return row["standing"], row["name"]

    assert standing() == ("waits for a second person, in 2026-10", item.name)
    later.items.accept(item.item_id, month="2026-10", actor=BERT)
    assert standing() == ("carried, in 2026-10", item.name)
    clock_at(desk, "2026-11-02T08:00:00+00:00").periods.prepare("2026-10", actor=ANNA)
    clock_at(desk, "2026-11-02T08:00:00+00:00").periods.sign("2026-10", actor=BERT)
    assert standing() == ("not open in 2026-11", None)


@pytest.mark.acceptance
def test_a_list_that_cannot_be_recomputed_is_not_signed(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    monkeypatch.setattr(OpenItems, "hash", "0" * 64)
    with pytest.raises(
        ActionRefused, match="differs from what anna prepared: its list of open items"
    ):
        desk.periods.sign("2026-10", actor=BERT)
    assert desk.journal.entries("period.close") == []


@pytest.mark.acceptance
def test_a_withdrawn_preparation_is_not_signed_and_the_month_can_be_prepared_again(
    desk: Workspace,
) -> None:
    with pytest.raises(ActionRefused, match="2026-10 is not prepared"):
        desk.periods.withdraw("2026-10", "a mistake", actor=BERT)
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    with pytest.raises(InputError, match="needs a reason"):
        desk.periods.withdraw("2026-10", " ", actor=BERT)
    desk.periods.withdraw("2026-10", "a statement is missing", actor=BERT)
    with pytest.raises(ActionRefused, match="2026-10 is not prepared"):
        desk.periods.sign("2026-10", actor=BERT)
    anew = desk.periods.prepare("2026-10", actor=BERT)
    assert anew.preparation is not None
    assert anew.preparation.close.prepared_by == "bert"


@pytest.mark.acceptance
def test_a_person_without_the_required_identity_neither_prepares_nor_signs(
    desk: Workspace,
) -> None:
    carry_all(desk, "2026-10")
    (desk.folder / "policy.toml").write_text('identified_by = ["system"]\n', "utf-8")
    with pytest.raises(ActionRefused, match="anna is identified by the environment only"):
        desk.periods.prepare("2026-10", actor=ANNA)
    (desk.folder / "policy.toml").unlink()
    desk.periods.prepare("2026-10", actor=ANNA)
    (desk.folder / "policy.toml").write_text('identified_by = ["system"]\n', "utf-8")
    with pytest.raises(ActionRefused, match="bert is identified by the environment only"):
        desk.periods.sign("2026-10", actor=BERT)
    with pytest.raises(ActionRefused, match="bert is identified by the environment only"):
        desk.periods.withdraw("2026-10", "a mistake", actor=BERT)


@pytest.mark.acceptance
def test_case_29_an_interrupted_close_gives_the_same_result_when_rerun(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupt each write: the pin, the preparation, the answers and the signature."""

    class CutOff(Exception):
        pass

    def dies(*_: object, **__: object) -> None:
        raise CutOff

    def prepare() -> Any:
        return Workspace(desk.folder).periods.prepare("2026-10", actor=ANNA)

    def sign() -> Any:
        return Workspace(desk.folder).periods.sign("2026-10", actor=BERT)

    carry_all(desk, "2026-10")
    before = desk.journal.head()
    for verb, places in ((prepare, ((Lake, "pin"), (Journal, "extend"))), (sign, SIGNING)):
        for place, name in places:
            with monkeypatch.context() as patch:
                patch.setattr(place, name, dies)
                with pytest.raises(CutOff):
                    verb()
        verb()
    first = desk.periods.get("2026-10")
    assert sign().period == first, "its answer was lost; it is closed"
    kinds = [entry.kind for entry in desk.journal.entries(since=before.seq)]
    assert kinds == ["period.prepare", "period.close"]
    assert len(desk.lake.pins()) == 1


SIGNING = ((sign_off, "write_answers"), (Journal, "extend"))


@pytest.mark.acceptance
def test_a_decision_during_the_close_is_considered_before_the_month_is_closed(
    desk: Workspace, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = first_line(lines, "unreferenced")["entry_id"]
    real, pins = Lake.pin, []

    def pin(self: Lake, *given: Any, **more: Any) -> Any:
        if not pins:
            pins.append(1)
            Workspace(desk.folder).matches.ignore(line, reason="meanwhile", actor=BERT)
        return real(self, *given, **more)

    carry_all(desk, "2026-10")
    monkeypatch.setattr(Lake, "pin", pin)
    prepared = desk.periods.prepare("2026-10", actor=ANNA).preparation
    assert prepared is not None
    kinds = [entry.kind for entry in desk.journal.entries()][-2:]
    assert kinds == ["match.ignore", "period.prepare"]
    assert prepared.close.head.seq == prepared.entry.seq - 1
    basis = basis_of(desk.journal, desk.lake, prepared.close)
    answer = {row["entry_id"]: row["outcome"] for row in reconcile(basis).lines.arrow.to_pylist()}
    assert answer[line] == "ignored"
