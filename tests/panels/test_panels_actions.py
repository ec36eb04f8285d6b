"""Actions of every kind in the approvals panel, and several decided with one confirmation."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from panel_practice import Practice, said

from treasury.actions.execution.sending import Sender
from treasury.core.errors import JournalError
from treasury.panels import ApprovalsPanel
from treasury.panels.frames.blocks import Frame, StepBlock

SENDER = "f5520527-134b-49e6-ac6e-833cf327cb46"
RECEIVER = "aaaa0793-25d6-433b-ae47-6f2de3994601"
MAKER = "maker.one"


def proposed(practice: Practice, *amounts: str, by: str = MAKER) -> list[str]:
    """Propose transfers of USDC; return the ids of the actions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", by)
        return [
            practice.workspace.actions.propose(
                "crypto_transfer.create", sender_account_id=SENDER, receiver_account_id=RECEIVER,
                chain="BASE", asset="USDC", amount=amount,
            ).id
            for amount in amounts
        ]  # fmt: skip


def actions_of(practice: Practice) -> ApprovalsPanel:
    panel = practice.workspace.panels.approvals()
    panel.press("actions")
    return panel


def ask(panel: ApprovalsPanel, verb: str, *keys: str, **typed: str) -> Frame:
    panel.press(verb, chosen=keys, **typed)
    assert panel.wait()
    return panel.frame()


def step_of(frame: Frame) -> StepBlock:
    assert frame.step is not None, frame.message
    return frame.step


def confirm(panel: ApprovalsPanel) -> Frame:
    panel.press("confirm", step=step_of(panel.frame()).key)
    assert panel.wait()
    return panel.frame()


def sent(practice: Practice) -> list[str]:
    return [
        path
        for method, path, _ in practice.served.requests
        if "/transfers" in path and method == "POST"
    ]


def keys(frame: Frame) -> list[str]:
    return [] if frame.table is None else [row.key for row in frame.table.rows]


@pytest.mark.acceptance
def test_several_are_approved_with_one_confirmation_that_totals_them(practice: Practice) -> None:
    ids = proposed(practice, "100.00", "250.50")
    panel = actions_of(practice)
    step = step_of(ask(panel, "approve", *ids))
    assert "2 of USDC 350.500000" in step.text
    assert list(step.items) == [e.body["text"] for e in practice.journaled("action.proposed")]
    assert practice.journaled("action.approved") == []
    frame = confirm(panel)
    assert "Approved 2, 2 ready" in said(frame)
    assert [e.subject for e in practice.journaled("action.approved")] == ids
    assert sent(practice) == []


def test_a_ready_action_is_executed_once_however_often_it_is_confirmed(
    practice: Practice,
) -> None:
    ids = proposed(practice, "100.00", "250.50")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)
    confirm(panel)
    step = step_of(ask(panel, "execute", *ids))
    for _ in range(5):
        panel.press("confirm", step=step.key)
    assert panel.wait()
    assert "Carried out: 2 done" in said(panel.frame())
    assert len(sent(practice)) == 2
    assert keys(panel.frame()) == []


@pytest.mark.acceptance
def test_the_maker_is_informed_that_another_person_must_approve(practice: Practice) -> None:
    ids = proposed(practice, "100.00", by="ana.lyst")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)
    frame = confirm(panel)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "the maker is never the checker; nothing was approved" in said(frame)
    assert practice.journaled("action.approved") == []


def test_a_rejection_without_a_reason_is_an_error_at_the_field(practice: Practice) -> None:
    ids = proposed(practice, "100.00")
    panel = actions_of(practice)
    frame = ask(panel, "reject", *ids)
    assert [field.error for field in frame.fields] == [
        "is missing; give a reason; it is kept in the journal"
    ]
    ask(panel, "reject", *ids, reason="wrong receiver")
    confirm(panel)
    (entry,) = practice.journaled("action.rejected")
    assert entry.body["reason"] == "wrong receiver"


@pytest.mark.acceptance
def test_a_verb_is_refused_for_an_unsuitable_state(practice: Practice) -> None:
    ids = proposed(practice, "100.00")
    frame = ask(actions_of(practice), "execute", *ids)
    assert "is proposed, and “" in said(frame)
    assert frame.step is None


@pytest.mark.acceptance
def test_an_action_changed_since_display_is_not_approved(practice: Practice) -> None:
    ids = proposed(practice, "100.00")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", MAKER)
        practice.workspace.actions.withdraw(ids[0])
    frame = confirm(panel)
    assert "is withdrawn, not waiting for approval; nothing was approved" in said(frame)
    assert practice.journaled("action.approved") == []


@pytest.mark.acceptance
def test_an_unknown_outcome_is_recovered_in_two_steps(practice: Practice) -> None:
    ids = proposed(practice, "100.00")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)
    confirm(panel)
    path = f"/finance/v1/accounts/{SENDER}/transfers/crypto"
    for _ in range(10):
        practice.company.faults.add(path, method="POST", status=500)
    ask(panel, "execute", *ids)
    frame = confirm(panel)
    assert practice.workspace.actions.get(ids[0]).state != "ready"
    assert keys(frame) == ids
    practice.company.faults.clear()
    step = step_of(ask(panel, "recover", *ids))
    assert "nothing is sent that could take effect twice" in step.text
    assert f"{ids[0]} may have been carried out without being listed yet" in said(confirm(panel))
    assert practice.workspace.actions.get(ids[0]).state == "unknown"
    policy = practice.workspace.folder / "policy.toml"
    policy.write_text("[recovery]\nsettling_seconds = 0\n", "utf-8")
    ask(panel, "recover", *ids)
    confirm(panel)
    assert practice.workspace.actions.get(ids[0]).state == "done"


@pytest.mark.acceptance
def test_cancelling_leaves_unattempted_actions_ready(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = proposed(practice, *(f"1.{n:02}" for n in range(5)))
    panel = practice.workspace.panels.approvals(size=100)
    panel.press("actions")
    ask(panel, "approve", *ids)
    confirm(panel)
    actions, first, go_on = practice.workspace.actions, threading.Event(), threading.Event()
    execute = Sender.execute

    def slow(self: Sender, action_id: str, *more: Any) -> Any:
        done = execute(self, action_id, *more)
        first.set()
        assert go_on.wait(60)
        return done

    monkeypatch.setattr(Sender, "execute", slow)
    step = step_of(ask(panel, "execute", *ids))
    panel.press("confirm", step=step.key)
    assert first.wait(60)
    panel.press("cancel")
    go_on.set()
    assert panel.wait()
    assert said(panel.frame()).startswith("Cancelled after 1")
    assert "4 not tried: still ready; nothing was sent" in said(panel.frame())
    assert len(sent(practice)) == 1
    assert len(actions.list(state="ready")) == 4


@pytest.mark.acceptance
def test_several_requests_are_approved_with_one_confirmation(practice: Practice) -> None:
    waiting = practice.waiting()
    panel = practice.workspace.panels.approvals()
    step = step_of(ask(panel, "approve", *(row["id"] for row in waiting)))
    assert "2 with EUR 27,600.00 in all" in step.text
    assert "USDC 7,500.000000" in step.text
    assert practice.decisions() == []
    frame = confirm(panel)
    assert "Approved 3 requests: 3 done" in said(frame)
    assert list(step.items) == [e.body["text"] for e in practice.journaled("action.proposed")]
    assert len(practice.decisions()) == 3
    assert {practice.request(row["id"]).status for row in waiting} == {"AWAITING_FUNDS"}


@pytest.mark.acceptance
def test_an_already_decided_request_of_several_is_omitted_and_named(practice: Practice) -> None:
    waiting = practice.waiting()
    first = waiting[0]
    with practice.portal("checker") as portal:
        portal.ramp.requests.reject(first["id"], version=first["version"])
    panel = practice.workspace.panels.approvals()
    step = step_of(ask(panel, "approve", *(row["id"] for row in waiting)))
    assert len(step.items) == 2
    assert any("Left out: Already REJECTED" in note.text for note in step.notes)


def test_a_choice_spans_pages_and_counts_the_rows_on_others(practice: Practice) -> None:
    ids = [row["id"] for row in practice.waiting()]
    panel = practice.workspace.panels.approvals(size=1)
    panel.press("next", chosen=ids[0])
    frame = panel.press("next", chosen=ids[1])
    assert frame.pager is not None
    assert frame.pager.text == "3 to 3 of 3 · 2 chosen on other pages"
    assert len(step_of(ask(panel, "approve")).items) == 2


@pytest.mark.acceptance
def test_the_download_has_every_row_and_nothing_a_spreadsheet_runs(practice: Practice) -> None:
    proposed(practice, "100.00")
    panel = practice.workspace.panels.approvals(size=1)
    lines = panel.csv().splitlines()
    assert len(lines) == 1 + len(practice.waiting())
    panel.press("actions")
    head, line = panel.csv().splitlines()
    assert head.startswith('"id","kind","state","text","amount"')
    assert ',"100.00"' in line


@pytest.mark.acceptance
def test_an_approver_without_permission_gets_an_error_and_approves_nothing(
    practice: Practice,
) -> None:
    ids = proposed(practice, "100.00")
    policy = '[[rules]]\nkinds = ["*"]\npropose = ["maker.one"]\napprove = ["jonas"]\n'
    (practice.workspace.folder / "policy.toml").write_text(policy, "utf-8")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)
    frame = confirm(panel)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "ana.lyst" in said(frame)
    assert practice.journaled("action.approved") == []


@pytest.mark.acceptance
def test_an_unwritable_journal_is_reported_and_nothing_is_lost(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = proposed(practice, "100.00")
    panel = actions_of(practice)
    ask(panel, "approve", *ids)

    def locked(*_: object, **__: object) -> None:
        raise JournalError("the journal is locked by another program", do="run it again")

    with monkeypatch.context() as patch:
        patch.setattr(type(practice.workspace.journal), "extend", locked)
        frame = confirm(panel)
    assert "the journal is locked by another program" in said(frame)
    assert practice.journaled("action.approved") == []
    ask(panel, "approve", *ids)
    assert "Approved 1, 1 ready" in said(confirm(panel))


@pytest.mark.acceptance
def test_a_panel_older_than_the_decision_shows_the_current_state(practice: Practice) -> None:
    ids = proposed(practice, "100.00")
    stale, fresh = actions_of(practice), actions_of(practice)
    ask(fresh, "approve", *ids)
    confirm(fresh)
    frame = ask(stale, "approve", *ids)
    assert frame.step is None
    assert "A-1 is ready, and “" in said(frame)
