"""The approvals panel without a browser: the effects of presses on services and journal."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from panel_practice import ON_RAMP, Practice, chosen, confirm, propose, said

from treasury.core.errors import InputError, ServiceFault
from treasury.panels import ApprovalsPanel
from treasury.panels.frames.panel_text import literal

REQUESTS = "/ramp/v1/ramp-requests"


@pytest.fixture
def panel(practice: Practice) -> ApprovalsPanel:
    return practice.workspace.panels.approvals()


@pytest.mark.acceptance
def test_the_list_names_each_amount_and_shows_no_payment_details(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    shown = str(literal(panel.frame()))
    for row in practice.waiting():
        for value in (row["id"], row["payment_reference"], row["created_by"]):
            assert value in shown
        assert not row["deposit_iban"] or row["deposit_iban"] not in shown
    table = panel.frame().table
    assert table is not None
    assert [column.label for column in table.columns] == [
        "Request", "Direction", "Fiat gross", "Fee", "Fiat net", "Crypto",
    ]  # fmt: skip
    first = [line.text for cell in table.rows[0].cells for line in cell]
    assert first[0] == ON_RAMP
    assert first[-4:] == ["EUR 22,000.00", "EUR 176.00", "EUR 21,824.00", "USDC 23,752.720940"]


@pytest.mark.acceptance
def test_two_steps_approve_with_the_checkers_credential(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    request_id = practice.waiting()[0]["id"]
    step = propose(panel)
    assert practice.decisions() == []
    frame = confirm(panel, step)
    assert practice.request(request_id).status == "AWAITING_FUNDS"
    assert practice.events(request_id, "APPROVED") == ["checker@harbourlane.test"]
    assert frame.message is not None
    assert frame.message.role == "status"
    assert "AWAITING_FUNDS, version 2" in said(frame)


@pytest.mark.acceptance
def test_a_request_is_read_once_to_be_shown_and_once_before_it_is_sent(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    place = f"{REQUESTS}/{practice.waiting()[0]['id']}"
    before = len(practice.served.requests)
    confirm(panel, propose(panel))
    calls = [(method, path) for method, path, _ in practice.served.requests[before:]]
    until_sent = calls[: calls.index(("POST", f"{place}/approve")) + 1]
    assert [method for method, path in until_sent if path.startswith(place)] == [
        "GET", "GET", "POST",
    ]  # fmt: skip


@pytest.mark.acceptance
def test_the_confirmed_text_is_journaled_and_shown_afterwards(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    step = propose(panel, reason="agreed on the phone")
    frame = confirm(panel, step)
    (entry,) = practice.journaled("action.sending")
    assert entry.body["text"] == step.text
    assert step.text in said(frame)
    for part in ("EUR 22,000.00", "ana.lyst", "harbour-checker", "version 1", "CET", "0xb7f0"):
        assert part in step.text
    assert "Reason: agreed on the phone" in step.text
    facts = {fact.name: [line.text for line in fact.lines] for fact in step.facts}
    assert facts["Decided by"] == [
        "ana.lyst",
        "claimed: named by an environment variable, unverified",
    ]
    assert facts["Credential"] == ["checker (harbour-checker)"]


@pytest.mark.acceptance
def test_an_off_ramp_is_confirmed_with_the_account_that_it_pays(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    step = propose(panel, number=1)
    assert practice.waiting()[1]["company_bank_account_iban"] in step.text
    assert any("Do not pay: not approved" in note.text for note in step.notes)


@pytest.mark.acceptance
def test_reject_closes_the_request_and_keeps_the_reason(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    request_id = practice.waiting()[0]["id"]
    step = propose(panel, "reject", reason="wrong wallet")
    assert step.tone == "stop"
    confirm(panel, step)
    assert practice.request(request_id).status == "REJECTED"
    assert practice.journaled("action.sending")[0].body["reason"] == "wrong wallet"


@pytest.mark.acceptance
def test_several_are_confirmed_with_a_sum_per_currency(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    names = [row["id"] for row in practice.waiting()]
    panel.press("approve", chosen=tuple(names))
    assert panel.wait()
    step = panel.frame().step
    assert step is not None, panel.frame().message
    assert step.text == "3 requests: 2 with EUR 27,600.00 in all, USDC 7,500.000000."
    (totals,) = [fact for fact in step.facts if fact.name == "Total by currency"]
    assert [line.text for line in totals.lines] == [
        "2 with EUR 27,600.00 in all",
        "USDC 7,500.000000",
    ]


@pytest.mark.acceptance
def test_a_decided_row_is_marked_until_a_sync_removes_it(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    key = chosen(panel)
    frame = confirm(panel, propose(panel))
    assert frame.table is not None
    row = frame.table.rows[0]
    assert not row.may_choose
    assert any(line.text.startswith("Approved by ana.lyst at ") for line in row.cells[0])
    panel.press("approve", chosen=key)
    assert "already decided" in said(panel.frame())
    panel.press("sync")
    assert panel.wait()
    frame = panel.frame()
    assert "Synced" in said(frame)
    assert frame.table is not None
    assert key not in [row.key for row in frame.table.rows]


def test_confirming_again_and_again_sends_once(panel: ApprovalsPanel, practice: Practice) -> None:
    step = propose(panel)
    for _ in range(5):
        panel.press("confirm", step=step.key)
    assert panel.wait()
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert len(practice.decisions()) == 1
    assert len(practice.journaled("action.sending")) == 1


@pytest.mark.acceptance
def test_presses_on_several_threads_send_once(panel: ApprovalsPanel, practice: Practice) -> None:
    step = propose(panel)
    together = threading.Barrier(6)

    def press() -> None:
        together.wait()
        panel.press("confirm", step=step.key)

    threads = [threading.Thread(target=press) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert panel.wait()
    assert len(practice.decisions()) == 1


@pytest.mark.acceptance
def test_the_step_of_another_request_confirms_nothing(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    old = propose(panel)
    panel.press("back")
    new = propose(panel, number=1)
    panel.press("confirm", step=old.key)
    assert panel.frame().step == new
    assert practice.decisions() == []


def test_a_second_panel_on_the_same_request_finds_it_decided(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    other = practice.workspace.panels.approvals()
    mine, theirs = propose(panel), propose(other)
    confirm(panel, mine)
    frame = confirm(other, theirs)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "Nothing was carried out." in said(frame)
    assert "status was AWAITING_APPROVAL, is AWAITING_FUNDS" in said(frame)
    assert len(practice.decisions()) == 1


@pytest.mark.acceptance
def test_a_request_decided_elsewhere_is_reported_at_the_first_step(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    row = practice.waiting()[0]
    with practice.portal("checker") as portal:
        portal.ramp.requests.reject(row["id"], version=row["version"])
    panel.press("approve", chosen=chosen(panel))
    assert panel.wait()
    frame = panel.frame()
    assert frame.step is None
    assert f"{ON_RAMP} is already decided" in said(frame)
    assert "REJECTED by checker@harbourlane.test" in said(frame)
    assert practice.journaled("action.") == []


@pytest.mark.acceptance
def test_a_request_cancelled_before_its_confirmation_is_not_approved(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    row, step = practice.waiting()[0], propose(panel)
    with practice.portal("maker") as portal:
        portal.ramp.requests.cancel(row["id"], version=row["version"])
    frame = confirm(panel, step)
    assert "changed while you looked at it" in said(frame)
    assert "version was 1, is 2" in said(frame)
    assert practice.decisions() == []
    assert practice.journaled("action.") == []


@pytest.mark.acceptance
def test_a_failing_service_is_an_alert_and_can_be_tried_again(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    step = propose(panel)
    practice.company.faults.add(REQUESTS, method="POST", status=500)
    frame = confirm(panel, step)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert said(frame).startswith(f"Look at {ON_RAMP} before deciding again\nIt was sent, and ")
    assert practice.journaled("action.sending")
    assert practice.journaled("action.done") == []
    confirm(panel, propose(panel))
    assert practice.request(practice.waiting()[0]["id"]).status == "AWAITING_FUNDS"


def test_nothing_was_sent_is_shown_if_the_request_cannot_be_read(
    panel: ApprovalsPanel, practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ServiceFault("GET /ramp-requests/{id}: 503", do="run it again later", status=503)

    step = propose(panel)
    monkeypatch.setattr(type(practice.workspace.client("checker").ramp.requests), "get", fails)
    panel.press("back")
    panel.press("approve", chosen=chosen(panel))
    assert panel.wait()
    assert panel.frame().step is None
    assert said(panel.frame()).splitlines()[1] == "Nothing was sent."
    assert practice.decisions() == []
    assert step.key not in str(literal(panel.frame()))


def test_cancel_before_sending_sends_nothing(
    panel: ApprovalsPanel, practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, go_on = threading.Event(), threading.Event()
    requests = type(practice.workspace.client("checker").ramp.requests)
    get = requests.get

    def slow(self: object, *ids: str) -> object:
        reading.set()
        assert go_on.wait(30)
        return get(self, *ids)

    step = propose(panel)
    monkeypatch.setattr(requests, "get", slow)
    panel.press("confirm", step=step.key)
    assert reading.wait(30)
    assert panel.frame().progress is not None
    panel.press("cancel")
    go_on.set()
    assert panel.wait()
    assert said(panel.frame()) == "Cancelled\nNothing was sent."
    assert practice.decisions() == []
    assert practice.journaled("action.") == []
    assert panel.frame().step == step


@pytest.mark.acceptance
def test_clicking_without_a_selection_asks_for_one(panel: ApprovalsPanel) -> None:
    panel.press("approve")
    assert said(panel.frame()).endswith("Next: choose in the list, then press again")


def test_the_rows_the_sql_and_the_relation_equal_the_list(
    panel: ApprovalsPanel, practice: Practice
) -> None:
    ids = [row["id"] for row in practice.waiting()]
    assert [row["id"] for row in panel.rows.arrow.to_pylist()] == ids
    assert [row["id"] for row in practice.workspace.sql(panel.sql).arrow.to_pylist()] == ids
    assert [row[0] for row in panel.relation.project("id").fetchall()] == ids


@pytest.mark.acceptance
def test_pages_show_their_range_and_a_search_covers_all_rows(practice: Practice) -> None:
    panel = practice.workspace.panels.approvals(size=1)
    first = panel.frame()
    assert first.pager is not None
    assert (first.pager.text, first.pager.back, first.pager.on) == ("1 to 1 of 3", False, True)
    panel.press("next")
    last = panel.press("next")
    assert last.pager is not None
    assert (last.pager.text, last.pager.back, last.pager.on) == ("3 to 3 of 3", True, False)
    found = panel.press("search", search=ON_RAMP.lower())
    assert found.table is not None
    assert [row.cells[0][0].text for row in found.table.rows] == [ON_RAMP]
    assert found.pager is not None
    assert found.pager.text == "1 to 1 of 1 found, 3 in all"


def test_a_panel_of_an_earlier_instant_is_refused(practice: Practice) -> None:
    with pytest.raises(InputError, match="cannot act"):
        practice.workspace.at("2026-11-01T09:00Z").panels.approvals()


def test_a_workspace_that_was_never_synced_is_reported(practice: Practice, tmp_path: Path) -> None:
    from treasury.cli.commands.practice import prepare

    empty = prepare(tmp_path / "empty", practice.company, practice.served)
    frame = empty.panels.approvals().frame()
    assert frame.table is None
    assert frame.empty.startswith("No data yet")


def test_widget_state_contains_none_of_the_displayed_data(panel: ApprovalsPanel) -> None:
    propose(panel, number=1)
    state = str(panel.get_state())
    for told in ("PAY-2026", "NL05", "harbour", "EUR 6"):
        assert told not in state
    assert "PAY-2026" not in repr(panel)
