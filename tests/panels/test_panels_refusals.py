"""An error is shown at its field or in its panel; nothing is sent, and nothing is lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from panel_month import asks, rows_of
from panel_practice import ON_RAMP, Practice, chosen, confirm, propose, said
from panel_rules import MAKER, RECEIVER, SENDER, propose_transfers, writes

from treasury.core.errors import InputError, JournalError
from treasury.core.identifiers import is_iban
from treasury.journal import engines
from treasury.panels import ApprovalsPanel, TransfersPanel
from treasury.panels.frames.blocks import Frame
from treasury.panels.frames.list_panel import ListPanel
from treasury.workspace import Workspace

POLICY = '[[rules]]\nkinds = ["*"]\npropose = ["maker.one"]\napprove = ["jonas"]\n'
CRYPTO = {
    "sender_account_id": SENDER, "receiver_account_id": RECEIVER, "chain": "BASE",
    "asset": "USDC", "amount": "12.50",
}  # fmt: skip


def journal_of(practice: Practice) -> Path:
    return practice.workspace.folder / "journal.sqlite"


def form(practice: Practice, name: str, **typed: str) -> Frame:
    """Return the screen after the form of a transfer is filled in and checked."""
    panel = practice.workspace.panels.transfers()
    panel.press(name)
    panel.press("check", **typed)
    assert panel.wait()
    return panel.frame()


def refused(frame: Frame, practice: Practice) -> str:
    """Return the text of a frame's alert, and check that no step is open and nothing was sent."""
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert frame.step is None
    assert writes(practice) == []
    return said(frame)


def beside(frame: Frame) -> dict[str, str]:
    return {field.name: field.error for field in frame.fields if field.error}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("amount", "12.5000001", "has more decimals than USDC, which has 6"),
        ("amount", "99999999", "is over the balance, USDC "),
        ("amount", "12,50", "amount"),
        ("description", "Invoice 7\nPay NL00TEST0000000000", "line break"),
        ("receiver_account_id", SENDER, "it is the sender"),
    ],
)
def test_an_invalid_field_of_a_transfer_is_an_error_at_the_field(
    practice: Practice, field: str, value: str, what: str
) -> None:
    frame = form(practice, "crypto", **CRYPTO | {field: value})
    assert list(beside(frame)) == [field], said(frame)
    assert what in beside(frame)[field] + said(frame)
    assert "Nothing was proposed and nothing was sent." in refused(frame, practice)
    assert practice.journaled("action.") == []


def test_a_sender_with_an_unverified_holder_is_an_error_at_its_field(
    practice: Practice,
) -> None:
    unsure = practice.workspace.sql(
        "SELECT id FROM accounts WHERE kyc_status <> 'VERIFIED' ORDER BY id"
    ).arrow.to_pylist()
    assert unsure
    frame = form(practice, "crypto", **CRYPTO | {"sender_account_id": unsure[0]["id"]})
    assert "not VERIFIED" in beside(frame).get("sender_account_id", "")
    refused(frame, practice)
    assert practice.journaled("action.") == []


@pytest.mark.acceptance
def test_an_invalid_hash_is_refused_next_to_its_field(practice: Practice) -> None:
    practice.workspace.statements.add(sorted((practice.workspace.folder / "bank").glob("*.xml")))
    panel = practice.workspace.panels.funding(size=50)
    row = next(one for one in panel.rows.arrow.to_pylist() if one["state"] == "SEND CRYPTO")
    panel.press("submit", chosen=row["request"], transaction_hash="0x12")
    assert panel.wait()
    assert "transaction_hash" in beside(panel.frame())
    refused(panel.frame(), practice)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("typed", "what"),
    [("NL00 TEST 0000", "matches no account"), ("", "is missing"), ("NL05", "matches no account")],
)
def test_a_foreign_account_to_pay_from_is_refused_next_to_its_field(
    practice: Practice, typed: str, what: str
) -> None:
    practice.workspace.statements.add(sorted((practice.workspace.folder / "bank").glob("*.xml")))
    panel = practice.workspace.panels.funding(size=50)
    row = next(one for one in panel.rows.arrow.to_pylist() if one["state"] == "PAY")
    frame = panel.press("export", chosen=row["request"], pay_from=typed)
    assert what in beside(frame)["pay_from"]
    refused(frame, practice)


@pytest.mark.acceptance
def test_an_ambiguous_ending_of_accounts_to_pay_from_is_an_error_at_its_field(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice.workspace.statements.add(sorted((practice.workspace.folder / "bank").glob("*.xml")))
    # The second account has the same last digits.
    other = next(
        iban
        for iban in (f"DE{check:02d}500105170000006689" for check in range(2, 99))
        if is_iban(iban)
    )
    file = practice.workspace.folder / "treasury.toml"
    account = f'\n[[accounts]]\nname = "Second"\naccount = "{other}"\ncurrency = "EUR"\n'
    file.write_text(file.read_text("utf-8") + account + 'source = "own_bank"\n', "utf-8")
    before = practice.workspace.panels.funding(size=50).rows.arrow.to_pylist()
    row = next(one for one in before if one["state"] == "PAY")
    panel = Workspace(practice.workspace.folder).panels.funding(size=50)
    # The second account has no statements, so without this the row would be CHECK BANK.
    _deliver(panel, monkeypatch, row)
    frame = panel.press("export", chosen=row["request"], pay_from="6689")
    assert "'6689' matches several accounts" in beside(frame)["pay_from"]
    assert other in beside(frame)["pay_from"]
    refused(frame, practice)
    panel.press("export", chosen=row["request"], pay_from="70000006689")
    assert panel.wait()
    step = panel.frame().step
    assert step is not None
    assert other in step.text


@pytest.mark.acceptance
@pytest.mark.parametrize("direction", ["ON_RAMP", "OFF_RAMP"])
def test_a_request_to_an_unverified_target_is_not_approved_in_the_panel(
    practice: Practice, direction: str
) -> None:
    row = next(one for one in practice.waiting() if one["ramp_type"] == direction)
    found, ramp = practice.request(row["id"]), practice.company.ramp
    if direction == "ON_RAMP":
        ramp.verify_wallet(found.company_wallet.id, "DENIED")
        what = "the wallet is DENIED, not VERIFIED"
    else:
        ramp.verify_bank_account(found.company_bank_account.id, "PENDING")
        what = "the bank account is PENDING, not VERIFIED"
    panel = practice.workspace.panels.approvals(size=50)
    panel.press("approve", chosen=row["id"])
    assert panel.wait()
    assert what in refused(panel.frame(), practice)
    assert "nothing was sent" in said(panel.frame())
    assert practice.journaled("action.") == []


def test_a_wallet_denied_before_its_request_is_made_is_shown_in_the_panel(
    practice: Practice,
) -> None:
    row = next(one for one in practice.waiting() if one["ramp_type"] == "ON_RAMP")
    wallet = practice.request(row["id"]).company_wallet
    ready = practice.workspace.actions.propose(
        "ramp_request.create", ramp_type="ON_RAMP", amount="1250.00", fiat_currency="EUR",
        crypto_currency="USDC", chain=wallet.chain, company_wallet_id=wallet.id,
    )  # fmt: skip
    practice.company.ramp.verify_wallet(wallet.id, "DENIED")
    panel = practice.workspace.panels.approvals()
    panel.press("actions")
    panel.press("execute", chosen=ready.id)
    assert panel.wait()
    step = panel.frame().step
    assert step is not None
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert "wallet verification was VERIFIED, is DENIED" in said(panel.frame())
    assert writes(practice) == []
    assert practice.workspace.actions.get(ready.id).state == "lapsed"


def test_a_beneficiary_with_a_line_break_is_never_put_into_a_payment_file(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice.workspace.statements.add(sorted((practice.workspace.folder / "bank").glob("*.xml")))
    panel = practice.workspace.panels.funding(size=50)
    row = next(one for one in panel.rows.arrow.to_pylist() if one["state"] == "PAY")
    _deliver(panel, monkeypatch, row, deposit_beneficiary="Ramp Operator BV\nOther Payee")
    frame = panel.press("export", chosen=row["request"], pay_from="6689")
    assert panel.wait()
    refused(frame, practice)


@pytest.mark.acceptance
def test_an_iban_with_a_wrong_checksum_is_never_put_into_a_payment_file(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice.workspace.statements.add(sorted((practice.workspace.folder / "bank").glob("*.xml")))
    panel = practice.workspace.panels.funding(size=50)
    row = next(one for one in panel.rows.arrow.to_pylist() if one["state"] == "PAY")
    _deliver(panel, monkeypatch, row, deposit_iban="LT363250012345678901")
    frame = panel.press("export", chosen=row["request"], pay_from="6689")
    assert panel.wait()
    assert "IBAN" in refused(frame, practice)


def _deliver(
    panel: Any, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], **changed: str
) -> None:
    """Make the panel use a row with these changes as the chosen one."""
    monkeypatch.setattr(panel, "chosen_rows", lambda: [row | changed])


def test_an_approver_without_permission_is_informed_in_the_panel(practice: Practice) -> None:
    (practice.workspace.folder / "policy.toml").write_text(POLICY, "utf-8")
    panel = practice.workspace.panels.approvals()
    panel.press("approve", chosen=chosen(panel))
    assert panel.wait()
    frame = panel.frame()
    if frame.step is not None:
        frame = confirm(panel, frame.step)
    assert "ana.lyst" in refused(frame, practice)
    assert practice.decisions() == []


# A journal that cannot be used: of a newer version, or locked


def newer(practice: Practice) -> Callable[[], None]:
    """Replace our journal with a newer version's; return a function that restores ours."""
    path = journal_of(practice)
    ours, theirs = path.read_bytes(), path.with_name("newer.sqlite")
    theirs.write_bytes(ours)
    connection = sqlite3.connect(theirs)
    with connection:
        connection.execute("UPDATE journal_schema SET version = 99")
    connection.close()
    os.replace(theirs, path)

    def put_back() -> None:
        kept = path.with_name("ours.sqlite")
        kept.write_bytes(ours)
        os.replace(kept, path)

    return put_back


def locked(practice: Practice) -> Callable[[], None]:
    """Lock the journal through another connection; return a function that releases it."""
    other = sqlite3.connect(journal_of(practice), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other.close


TROUBLE = {"newer": (newer, "newer version of treasury"), "locked": (locked, "is locked")}


@pytest.fixture(params=TROUBLE)
def trouble(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[Callable[[Practice], Callable[[], None]], str]:
    # The tests need not wait for a lock that stays.
    monkeypatch.setattr(engines, "WAIT_SECONDS", 0)
    return TROUBLE[request.param]


Trouble = tuple[Callable[[Practice], Callable[[], None]], str]


@pytest.mark.first_case
def test_an_approval_with_an_unusable_journal_sends_nothing_and_works_afterwards(
    practice: Practice, trouble: Trouble
) -> None:
    propose_transfers(practice, "1.00")
    cause, what = trouble
    panel = practice.workspace.panels.approvals()
    panel.press("requests")
    step = propose(panel)
    put_right = cause(practice)
    frame = confirm(panel, step)
    assert what in refused(frame, practice)
    assert panel.is_idle
    put_right()
    frame = confirm(panel, propose(panel))
    assert f"Approved {ON_RAMP}" in said(frame)
    assert len(practice.decisions()) == 1


@pytest.mark.acceptance
def test_a_proposal_with_an_unusable_journal_stays_on_the_screen(
    practice: Practice, trouble: Trouble
) -> None:
    propose_transfers(practice, "1.00")
    cause, what = trouble
    panel = practice.workspace.panels.transfers()
    panel.press("crypto")
    step = asks(panel, "check", **CRYPTO)
    put_right = cause(practice)
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert what in refused(panel.frame(), practice)
    assert {field.name for field in panel.frame().fields} >= {"amount", "asset"}
    put_right()
    again = asks(panel, "check", **CRYPTO)
    panel.press("confirm", step=again.key)
    assert panel.wait()
    assert len(practice.journaled("action.proposed")) == 2


@pytest.mark.acceptance
def test_a_match_with_an_unusable_journal_is_not_written_and_works_afterwards(
    month: Practice, trouble: Trouble
) -> None:
    propose_transfers(month, "1.00")
    cause, what = trouble
    panel = month.workspace.panels.matches()
    key = rows_of(panel)[0].key
    step = asks(panel, "accept", key)
    put_right = cause(month)
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert what in refused(panel.frame(), month)
    put_right()
    panel.press("confirm", step=asks(panel, "accept", key).key)
    assert panel.wait()
    assert len(month.journaled("match.accept")) == 1


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["approvals", "funding", "matches", "close", "transfers"])
def test_a_panel_that_cannot_refresh_shows_an_error_and_keeps_its_list(
    month: Practice, trouble: Trouble, name: str
) -> None:
    propose_transfers(month, "1.00")
    cause, what = trouble
    panel: ListPanel = getattr(month.workspace.panels, name)()
    before = panel.frame().table
    put_right = cause(month)
    panel.press("hello")
    assert panel.wait()
    frame = panel.frame()
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert what in said(frame)
    assert frame.table == before
    put_right()
    panel.press("hello")
    assert panel.wait()
    assert panel.frame().table == before


@pytest.mark.acceptance
def test_a_newer_journal_is_refused_before_there_is_a_panel(practice: Practice) -> None:
    propose_transfers(practice, "1.00")
    newer(practice)
    with pytest.raises(JournalError, match="newer version of treasury"):
        practice.workspace.panels.approvals()


@pytest.mark.acceptance
def test_a_panel_from_before_a_restart_is_another_panel_and_its_step_confirms_nothing(
    practice: Practice,
) -> None:
    before = practice.workspace.panels.approvals()
    step = propose(before)
    after = practice.workspace.panels.approvals()
    after.press("confirm", step=step.key)
    assert after.wait()
    assert writes(practice) == []
    assert practice.journaled("action.") == []


def test_the_maker_and_an_unknown_person_get_different_errors(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    (action_id,) = propose_transfers(practice, "1.00")
    monkeypatch.setenv("TREASURY_USER", MAKER)
    panel: ApprovalsPanel = practice.workspace.panels.approvals()
    panel.press("actions")
    panel.press("approve", chosen=action_id)
    assert panel.wait()
    step = panel.frame().step
    assert step is not None
    assert "the maker is never the checker" in refused(confirm(panel, step), practice)


def test_a_panel_that_cannot_act_is_refused_on_creation(practice: Practice) -> None:
    then = practice.workspace.at("2026-11-01T09:00Z").panels
    for make in (then.approvals, then.funding, then.matches, then.transfers, then.sync):
        with pytest.raises(InputError, match="cannot act"):
            make()
    assert isinstance(practice.workspace.panels.transfers(), TransfersPanel)
