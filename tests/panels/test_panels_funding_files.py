"""The funding panel's payment files: made once, from current data, again only after a rejection."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from funding_presses import IBAN, ask, confirm, copies, files, rows, shown
from lxml import etree
from pain_samples import payment, report
from panel_practice import Practice, said

from treasury.actions.payment_orders import NAMESPACE
from treasury.core.errors import JournalError
from treasury.journal import Actor, Entry
from treasury.month.decisions.remarks import LIABILITY
from treasury.panels import FundingPanel
from treasury.panels.frames.blocks import Text
from treasury.workspace import Workspace


@pytest.fixture
def panel(paying: Practice) -> FundingPanel:
    return paying.workspace.panels.funding(size=50)


def leave(panel: FundingPanel, paying: Practice) -> tuple[dict[str, Any], Entry]:
    """Make a payment file of the first payable row; return the row and the file's entry."""
    row = rows(panel, "PAY")[0]
    ask(panel, "export", row["request"], pay_from="6689")
    confirm(panel)
    (entry,) = paying.journaled("payment_file.made")
    return row, entry


def sent_amount(row: dict[str, Any]) -> str:
    return f"{row['send']:.2f}"


def answered(desk: Workspace, folder: Path, filed: dict[str, Any], status: str, hour: int) -> None:
    """Add the bank's answer to the one payment of a file, at an hour of 30 October."""
    (_, iban), amount = filed["payees"][0], f"{Decimal(filed['amounts'][0]):.2f}"
    path = folder / f"answer-{hour}.xml"
    path.write_text(
        report(
            payment(filed["references"][0], status, amount=amount, iban=iban),
            original=filed["message_id"],
            message_id=f"BANK-{hour}",
            at=f"2026-10-30T{hour:02}:00:00Z",
        )
    )
    desk.statements.add(path)


@pytest.mark.acceptance
def test_selected_requests_are_exported_as_a_payment_file(
    panel: FundingPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = rows(panel, "PAY")
    sent = files(panel, monkeypatch)
    frame = ask(panel, "export", *(row["request"] for row in paid), pay_from="6689")
    assert frame.step is not None, said(frame)
    assert len(frame.step.items) == len(paid)
    assert sent == []
    confirm(panel)
    text = "".join(part["text"] for part in sent)
    assert sent[-1]["last"]
    root: Any = etree.fromstring(text.encode())
    space = {"p": NAMESPACE}
    ids = [one.text for one in root.findall(".//p:EndToEndId", space)]
    assert ids == [row["reference"] for row in paid]
    assert {one.text for one in root.findall(".//p:CdtrAcct//p:IBAN", space)} == {IBAN}
    total = sum(row["send"] for row in paid)
    assert root.find(".//p:CtrlSum", space).text == f"{total:.2f}"


@pytest.mark.acceptance
def test_a_payment_in_a_file_is_marked_wherever_it_could_be_paid_again(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = rows(panel, "PAY")[:2]
    sent = files(panel, monkeypatch)
    ask(panel, "export", first["request"], pay_from="6689")
    confirm(panel)
    (entry,) = paying.journaled("payment_file.made")
    text = "".join(part["text"] for part in sent)
    assert entry.body["requests"] == [first["request"]]
    assert entry.body["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert first["reference"] in entry.body["orders"][0]
    now = shown(panel, first["request"])
    assert now.cells[3][:2] == (
        Text("IN FILE", "warn"),
        Text("Wait for the debit; do not pay twice"),
    )
    assert f"left in {entry.subject} by ana.lyst" in str(now)
    assert copies(now) == {}
    assert IBAN not in str(now)
    assert not any(line.look == "strong" and line.text == "PAY" for line in now.cells[3])
    assert copies(shown(panel, second["request"])) != {}

    colleague = Workspace(paying.workspace.folder).panels.funding(size=50)
    frame = ask(colleague, "export", first["request"], second["request"], pay_from="6689")
    assert frame.step is None
    assert f"{first['reference']} is in a payment file" in said(frame)
    assert "first mark the file as not uploaded" in said(frame)


@pytest.mark.acceptance
def test_a_payment_is_shown_as_in_a_file_until_that_is_reported_not_uploaded(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, desk = rows(panel, "PAY")[0], paying.workspace
    before = copies(shown(panel, row["request"]))
    ask(panel, "export", row["request"], pay_from="6689")
    confirm(panel)
    (waiting,) = [
        one for one in desk.awaiting_funds().arrow.to_pylist() if one["request"] == row["request"]
    ]
    assert (waiting["state"], waiting["next_step"]) == (
        "IN FILE",
        "Wait for the debit; do not pay twice",
    )
    item = desk.open_items("2026-10").by_id[f"request:{row['request']}"]
    assert (item.kind, item.state, item.turn, item.is_blocking) == (
        "in_file",
        "IN FILE",
        "bank",
        False,
    )
    assert "left in payments-" in item.remark
    assert item.item_id in desk.status().listed("bank").by_id
    assert "IN FILE" in str(desk.trace(row["reference"]))
    (shown_there,) = [
        one
        for one in desk.panels.close("2026-10").rows.arrow.to_pylist()
        if one["request_id"] == row["request"]
    ]
    assert shown_there["state"] == "IN FILE"

    ask(panel, "not_funded", row["request"], reason="changed our mind")
    assert "may be paid by it" in said(panel.frame())
    ask(panel, "not_uploaded", row["request"], reason="the bank refused the file")
    assert "cannot withdraw it or any of its payments" in said(panel.frame())
    assert paying.journaled("request.not_uploaded") == []
    monkeypatch.setenv("TREASURY_USER", "bert")
    ask(panel, "not_uploaded", row["request"], reason="the bank refused the file")
    (entry,) = paying.journaled("request.not_uploaded")
    assert (entry.subject, entry.body["reason"]) == (row["request"], "the bank refused the file")
    assert copies(shown(panel, row["request"])) == before
    assert rows(panel, "IN FILE") == []
    ask(panel, "not_uploaded", row["request"], reason="again")
    assert "is in no payment file" in said(panel.frame())


def test_a_rejected_payment_is_paid_again_once_in_a_file_with_another_id(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paying.act_at("2026-10-29T16:00:00Z")
    sent, desk = files(panel, monkeypatch), paying.workspace
    row, first = leave(panel, paying)
    assert first.body["references"] == [row["reference"]]
    assert f"<MsgId>{first.body['message_id']}</MsgId>" in sent[0]["text"]
    for status, state in (("ACCP", "WITH THE BANK"), ("RJCT", "REJECTED")):
        answer = tmp_path / f"{status}.xml"
        answer.write_text(
            report(
                payment(
                    row["reference"], status, amount=sent_amount(row), iban=row["deposit_iban"]
                ),
                original=first.body["message_id"],
                message_id=status,
                at="2026-10-30T09:00:00Z" if status == "ACCP" else "2026-10-30T10:00:00Z",
            )
        )
        desk.statements.add(answer)
        panel.refresh()
        assert shown(panel, row["request"]).cells[3][0].text == state
        if state == "WITH THE BANK":
            assert copies(shown(panel, row["request"])) == {}
            ask(panel, "export", row["request"], pay_from="6689")
            assert "is in a payment file" in said(panel.frame())
    assert copies(shown(panel, row["request"])) != {}
    other = Workspace(desk.folder).panels.funding(size=50)
    for one in (panel, other):
        assert ask(one, "export", row["request"], pay_from="6689").step is not None
    confirm(panel)
    confirm(other)
    assert "no file was made" in said(other.frame())
    again = paying.journaled("payment_file.made")[1:]
    assert len(again) == 1
    assert again[0].body["message_id"] != first.body["message_id"]
    assert shown(panel, row["request"]).cells[3][0].text == "IN FILE"


@pytest.mark.acceptance
def test_a_rejected_file_reported_not_uploaded_is_made_again_under_another_id(
    panel: FundingPanel, paying: Practice, tmp_path: Path
) -> None:
    paying.act_at("2026-10-29T16:00:00Z")
    row, first = leave(panel, paying)
    desk = paying.workspace
    answered(desk, tmp_path, first.body, "RJCT", 9)
    desk.funding.not_uploaded(row["request"], "it was rejected", actor=Actor("bert", "environment"))
    panel.refresh()
    ask(panel, "export", row["request"], pay_from="6689")
    confirm(panel)
    again = paying.journaled("payment_file.made")[-1]
    assert again.body["message_id"] != first.body["message_id"]
    # The bank's answer to the first file does not count for the second one.
    assert shown(panel, row["request"]).cells[3][0].text == "IN FILE"


def test_a_bank_answer_before_the_confirmation_prevents_the_file(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paying.act_at("2026-10-29T16:00:00Z")
    row, first = leave(panel, paying)
    desk = paying.workspace
    answered(desk, tmp_path, first.body, "RJCT", 9)
    panel.refresh()
    assert ask(panel, "export", row["request"], pay_from="6689").step is not None
    answered(desk, tmp_path, first.body, "ACSP", 10)
    sent = files(panel, monkeypatch)
    frame = confirm(panel)
    assert f"{row['reference']} is left in payments-" in said(frame)
    assert sent == []
    assert len(paying.journaled("payment_file.made")) == 1


@pytest.mark.acceptance
def test_files_of_one_second_have_different_names(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = paying.workspace.settings.now()
    monkeypatch.setattr(type(paying.workspace.settings), "now", lambda _: now)
    first, second = rows(panel, "PAY")[:2]
    for row in (first, second):
        ask(panel, "export", row["request"], pay_from="6689")
        sent = files(panel, monkeypatch)
        confirm(panel)
    names = [entry.subject for entry in paying.journaled("payment_file.made")]
    assert names == [f"payments-{now:%Y-%m-%d-%H%M%S}.xml", f"payments-{now:%Y-%m-%d-%H%M%S}-2.xml"]
    assert sent[-1]["name"] == names[1]
    colleague = Actor("bert", "environment")
    taken = paying.workspace.funding.void_file(names[0], "lost", actor=colleague)
    assert taken == [first["request"]]
    panel.refresh()
    assert shown(panel, second["request"]).cells[3][0].text == "IN FILE"


@pytest.mark.acceptance
def test_only_one_of_two_simultaneous_files_for_a_request_is_made(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows(panel, "PAY")[0]
    other = Workspace(paying.workspace.folder).panels.funding(size=50)
    for one in (panel, other):
        assert ask(one, "export", row["request"], pay_from="6689").step is not None
    confirm(panel)
    sent = files(other, monkeypatch)
    frame = confirm(other)
    assert "some requests are already in payments-" in said(frame)
    assert sent == []
    assert len(paying.journaled("payment_file.made")) == 1


@pytest.mark.acceptance
def test_a_request_marked_as_sent_meanwhile_is_in_no_file(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows(panel, "PAY")[0]
    assert ask(panel, "export", row["request"], pay_from="6689").step is not None
    Workspace(paying.workspace.folder).funding.marked_sent(row["reference"], "paid by phone")
    sent = files(panel, monkeypatch)
    frame = confirm(panel)
    assert "ana.lyst remarked on some of the requests meanwhile; no file was made" in said(frame)
    assert sent == []
    assert paying.journaled("payment_file.made") == []


@pytest.mark.acceptance
def test_a_file_that_cannot_be_journaled_does_not_leave(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows(panel, "PAY")[0]
    step = ask(panel, "export", row["request"], pay_from="6689").step
    sent = files(panel, monkeypatch)

    def full(*_: object, **__: object) -> None:
        raise JournalError("the disk is full", do="make room")

    with monkeypatch.context() as patch:
        patch.setattr(paying.workspace.journal, "extend", full)
        assert "the disk is full" in said(confirm(panel))
    assert sent == []
    # The step is still on screen, so a person can confirm it again.
    assert panel.frame().step == step
    confirm(panel)
    assert sent[-1]["last"]


@pytest.mark.acceptance
def test_a_file_is_made_from_the_services_current_data(
    panel: FundingPanel, paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows(panel, "PAY")[0]
    requests = type(paying.workspace.client("viewer").ramp.requests)
    get = requests.get

    def elsewhere(self: object, *ids: str) -> Any:
        import msgspec

        record = get(self, *ids)  # type: ignore[arg-type]  # the method, unbound
        bank = msgspec.structs.replace(record.value.deposit_bank_account, iban="BE19539708204912")
        value = msgspec.structs.replace(record.value, deposit_bank_account=bank)
        return msgspec.structs.replace(record, value=value)

    monkeypatch.setattr(requests, "get", elsewhere)
    frame = ask(panel, "export", row["request"], pay_from="6689")
    assert frame.step is None
    assert f"IBAN was {IBAN}, is BE19539708204912" in said(frame)
    assert "Nothing was paid." in said(frame)


@pytest.mark.acceptance
def test_a_close_match_is_accepted_by_a_person_who_did_not_make_the_file(
    panel: FundingPanel, paying: Practice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paying.act_at("2026-10-29T16:00:00Z")
    row = rows(panel, "PAY")[0]
    ask(panel, "export", row["request"], pay_from="6689")
    confirm(panel)
    (entry,) = paying.journaled("payment_file.made")
    assert entry.body["payees"] == [[row["deposit_beneficiary"], row["deposit_iban"]]]
    assert entry.body["answers"] == "all"
    answer = tmp_path / "answer.xml"
    ordered = {"amount": sent_amount(row), "iban": row["deposit_iban"]}
    told = payment(row["reference"], "RVMC", text="Another Operator", **ordered)
    answer.write_text(report(told, original=entry.body["message_id"], at="2026-10-30T08:00:00Z"))
    paying.workspace.statements.add(answer)
    panel.press("hello")
    frame = ask(panel, "payee", row["request"], reason="called them")
    assert frame.step is None
    assert frame.message is not None
    assert "and cannot accept" in frame.message.lines[0].text

    monkeypatch.setenv("TREASURY_USER", "bert")
    frame = ask(panel, "payee", row["request"], reason="called them")
    assert frame.step is not None
    assert [line.text for fact in frame.step.facts[:2] for line in fact.lines] == [
        row["deposit_beneficiary"], "Another Operator",
    ]  # fmt: skip
    assert LIABILITY in [note.text for note in frame.step.notes]
    assert paying.journaled("payment_file.payee_accepted") == []
    # If the bank names someone else before the confirmation, the step is refused.
    for name, hour in (("Some Third", 9), ("Another Operator", 10)):
        told = payment(row["reference"], "RVMC", text=name, **ordered)
        said_at = {"message_id": f"B{hour}", "at": f"2026-10-30T{hour:02}:00:00Z"}
        answer.write_text(report(told, original=entry.body["message_id"], **said_at))
        paying.workspace.statements.add(answer)
        if name == "Some Third":
            assert "has changed since you compared it" in said(confirm(panel))
            assert paying.journaled("payment_file.payee_accepted") == []
    message = confirm(panel).message
    assert message is not None
    assert message.title == "Accepted Another Operator by bert"
    (accepted,) = paying.journaled("payment_file.payee_accepted")
    assert (accepted.actor.name, accepted.body["iban"]) == ("bert", row["deposit_iban"])
    assert "was accepted" in rows(panel, "WITH THE BANK")[0]["answer"]
