"""The funding panel without a browser: payable requests, and the effects of presses."""

from __future__ import annotations

import pytest
from funding_presses import IBAN, ask, confirm, copies, files, rows, shown
from panel_practice import Practice, said

from treasury.core.errors import InputError
from treasury.panels import FundingPanel
from treasury.panels.frames.blocks import Text
from treasury.panels.frames.panel_text import literal

HASH = "0x" + "ab" * 32


@pytest.fixture
def panel(paying: Practice) -> FundingPanel:
    return paying.workspace.panels.funding(size=50)


@pytest.mark.acceptance
def test_a_payable_request_shows_each_detail_with_a_copy_button(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "PAY")[0]
    told = paying.request(row["request"])
    bank = told.deposit_bank_account
    assert copies(shown(panel, row["request"])) == {
        "reference": told.payment_reference,
        "beneficiary": bank.beneficiary,
        "IBAN": bank.iban,
        "BIC": bank.bic,
        "amount": f"{told.fiat_amount:.2f}",
    }


@pytest.mark.acceptance
def test_a_request_that_must_not_be_paid_shows_no_details(panel: FundingPanel) -> None:
    others = [row for row in panel.rows.arrow.to_pylist() if not row["payable"]]
    assert others
    assert {"PAY", "SEND CRYPTO"}.isdisjoint(row["state"] for row in others)
    for row in others:
        one = shown(panel, row["request"])
        assert copies(one) == {}
        assert IBAN not in str(one)


def test_a_request_to_check_at_the_bank_is_never_payable(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = practice.workspace.panels.funding(size=50)  # no statement was added
    doubtful = rows(panel, "CHECK BANK")
    assert doubtful
    assert rows(panel, "PAY") == []
    assert IBAN not in str(literal(panel.frame()))
    sent = files(panel, monkeypatch)
    frame = ask(panel, "export", doubtful[0]["request"], pay_from="6689")
    assert "only PAY is payable" in said(frame)
    assert frame.step is None
    assert sent == []


@pytest.mark.acceptance
def test_changed_deposit_details_are_shown_in_red_before_payment(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "PAY")[0]
    assert panel.frame().banners == ()
    (changed,) = paying.drive("change_deposit", requestId=row["request"])
    iban = changed["depositBankAccount"]["iban"]
    paying.workspace.sync()
    again = paying.workspace.panels.funding(size=50)
    (banner,) = again.frame().banners
    assert (banner.title, banner.role) == (
        "Deposit details differ from the last ones paid",
        "alert",
    )
    assert any(
        line.text.startswith(f"{row['reference']}: IBAN was {IBAN}, is {iban}")
        for line in banner.lines
    )
    assert copies(shown(again, row["request"]))["IBAN"] == iban
    others = {line.text.partition(":")[0] for line in banner.lines if ":" in line.text}
    assert others == {row["reference"]}


@pytest.mark.acceptance
def test_a_missing_account_to_pay_from_is_an_error_at_its_field(panel: FundingPanel) -> None:
    row = rows(panel, "PAY")[0]
    frame = ask(panel, "export", row["request"])
    (field,) = [one for one in frame.fields if one.name == "pay_from"]
    assert field.error.startswith("is missing; give one of ")
    words = dict(field.choices)
    assert words["BE45539951876689"] == "BE45539951876689, EUR 251,686.06 on 31 Oct 2026"
    assert len(words) > 1
    frame = ask(panel, "export", row["request"], pay_from="9999")
    (field,) = [one for one in frame.fields if one.name == "pay_from"]
    assert "matches no account" in field.error


@pytest.mark.acceptance
def test_marked_sent_is_a_remark_and_not_evidence(panel: FundingPanel, paying: Practice) -> None:
    row = rows(panel, "PAY")[0]
    frame = ask(panel, "sent", row["request"])
    (field,) = [one for one in frame.fields if one.name == "reason"]
    assert field.error == "is missing; give the source of your information"
    assert paying.journaled("request.") == []
    before = copies(shown(panel, row["request"]))
    ask(panel, "sent", row["request"], reason="released at the bank")
    (entry,) = paying.journaled("request.marked_sent")
    assert (entry.subject, entry.body["reason"]) == (row["request"], "released at the bank")
    assert entry.body["facts"]["payment_reference"] == before["reference"]
    now = shown(panel, row["request"])
    assert now.cells[3][0] == Text("PAY", "strong")
    assert any("Remark, no evidence: marked sent by ana.lyst" in line.text for line in now.cells[3])
    assert copies(now) == {}
    frame = ask(panel, "export", row["request"], pay_from="6689")
    assert "undo the remark first" in said(frame)
    ask(panel, "undo", row["request"])
    assert copies(shown(panel, row["request"])) == before


@pytest.mark.acceptance
def test_an_off_ramp_shows_its_chain_and_takes_its_transaction_hash(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "SEND CRYPTO")[0]
    one = shown(panel, row["request"])
    assert Text("USDC on BASE only", "strong") in one.cells[1]
    assert copies(one)["address"] == row["to_account"]
    frame = ask(panel, "submit", row["request"], transaction_hash="0x12")
    (field,) = [field for field in frame.fields if field.name == "transaction_hash"]
    assert "0x and 64 hexadecimal digits" in field.error
    assert "Nothing was sent." in said(frame)
    frame = ask(panel, "submit", row["request"], transaction_hash=HASH)
    assert frame.step is not None, said(frame)
    assert paying.request(row["request"]).blockchain_transaction_hash in {None, ""}
    text = frame.step.text
    confirm(panel)
    assert paying.request(row["request"]).blockchain_transaction_hash == HASH
    (entry,) = paying.journaled("action.proposed")
    assert entry.body["text"] == text


@pytest.mark.acceptance
def test_a_hash_used_on_another_request_needs_a_second_person(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "SEND CRYPTO")[0]
    (used,) = paying.workspace.sql(
        "SELECT payment_reference AS name, blockchain_transaction_hash AS hash FROM ramp_requests"
        " WHERE ramp_type = 'OFF_RAMP' AND status = 'SUCCEEDED' AND deposit_wallet_chain = 'BASE'"
        " ORDER BY name LIMIT 1"
    ).arrow.to_pylist()
    frame = ask(panel, "submit", row["request"], transaction_hash=used["hash"])
    assert frame.step is not None, said(frame)
    look = f"LOOK: the hash stands on {used['name']} already"
    assert (frame.step.tone, frame.step.notes) == ("stop", (Text(look, "warn"),))
    assert frame.step.buttons[-1].label == "Confirm and propose"
    assert "Proposed, nothing sent: waiting for a second person" in said(confirm(panel))
    assert not paying.request(row["request"]).blockchain_transaction_hash
    (waiting,) = rows(panel, "HASH PROPOSED")
    assert waiting["request"] == row["request"]
    assert "do not send the coins again" in waiting["next_step"]
    assert not copies(shown(panel, row["request"]))
    everything = paying.workspace.awaiting_funds().arrow.to_pylist()
    (listed,) = [one for one in everything if one["state"] == "HASH PROPOSED"]
    assert listed["marked"] == "hash given by ana.lyst, 2 Nov"
    (item,) = paying.workspace.open_items("2026-10").select(kind="hash_proposed")
    assert (item.subject_id, item.state) == (row["request"], "HASH PROPOSED")
    (paying.workspace.folder / "policy.toml").write_text("one_person = true\n", "utf-8")
    frame = ask(panel, "submit", row["request"], transaction_hash=used["hash"])
    assert frame.step is None
    (field,) = [field for field in frame.fields if field.name == "reason"]
    assert "the hash stands on" in field.error


@pytest.mark.acceptance
def test_confirming_a_hash_again_and_again_submits_once(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "SEND CRYPTO")[0]
    step = ask(panel, "submit", row["request"], transaction_hash=HASH).step
    assert step is not None
    for _ in range(5):
        panel.press("confirm", step=step.key)
    assert panel.wait()
    assert len(paying.journaled("action.sending")) == 1


@pytest.mark.acceptance
def test_details_that_differ_from_the_last_ones_paid_raise_the_banner(
    paying: Practice, panel: FundingPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.panels import payable_requests

    assert panel.frame().banners == ()
    monkeypatch.setattr(
        payable_requests,
        "_PAID",
        payable_requests._PAID.replace("deposit_iban, ", "'X' AS deposit_iban, ", 1),
    )
    other = paying.workspace.panels.funding(size=50)
    (banner,) = other.frame().banners
    assert banner.title == "Deposit details differ from the last ones paid"
    told = "\n".join(line.text for line in banner.lines)
    assert f"IBAN was X, is {IBAN}, since PAY-" in told
    row = rows(other, "PAY")[0]
    assert any(line.text.startswith("CHANGED: ") for line in shown(other, row["request"]).cells[1])
    frame = ask(other, "export", row["request"], pay_from="6689")
    assert frame.step is None
    assert "has new payment details (IBAN was X" in said(frame)
    assert paying.journaled("payment_file.made") == []


@pytest.mark.acceptance
def test_nothing_is_payable_before_the_approval_despite_known_details(
    panel: FundingPanel, paying: Practice
) -> None:
    query = (
        "SELECT id, deposit_iban FROM ramp_requests"
        " WHERE status = 'AWAITING_APPROVAL' AND ramp_type = 'ON_RAMP'"
    )
    waiting = paying.workspace.sql(query).arrow.to_pylist()
    assert waiting
    assert all(row["deposit_iban"] == IBAN for row in waiting)
    listed = {row["request"]: row for row in paying.workspace.awaiting_funds().arrow.to_pylist()}
    for row in waiting:
        assert not listed.get(row["id"], {"to_account": ""})["to_account"]
        assert row["id"] not in {one["request"] for one in rows(panel, "PAY")}


@pytest.mark.acceptance
def test_details_that_are_not_active_are_never_payable(
    panel: FundingPanel, paying: Practice
) -> None:
    row = rows(panel, "PAY")[0]
    paying.drive("change_deposit", requestId=row["request"], active=False)
    frame = ask(panel, "export", row["request"], pay_from="6689")
    assert frame.step is None
    assert "active was yes, is no" in said(frame)
    paying.workspace.sync()
    again = paying.workspace.panels.funding(size=50)
    (stopped,) = [
        one for one in rows(again, "DETAILS INACTIVE") if one["request"] == row["request"]
    ]
    assert not stopped["payable"]
    assert "do not pay" in stopped["next_step"]
    assert copies(shown(again, row["request"])) == {}
    frame = ask(again, "export", row["request"], pay_from="6689")
    assert frame.step is None
    assert "only PAY is payable" in said(frame)
    kinds = {item["kind"] for item in paying.workspace.open_items().arrow.to_pylist()}
    assert "deposit_inactive" in kinds


@pytest.mark.acceptance
def test_a_panel_of_an_earlier_instant_is_refused(practice: Practice) -> None:
    with pytest.raises(InputError, match="cannot act"):
        practice.workspace.at("2026-11-01T09:00Z").panels.funding()


@pytest.mark.acceptance
def test_widget_state_contains_none_of_the_displayed_data(panel: FundingPanel) -> None:
    state = str(panel.get_state()) + repr(panel)
    for told in ("PAY-2026", "LT35", "Ramp Operator", "25,000"):
        assert told not in state
