"""An action is carried out at most once, and its outcome is returned and journaled."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from action_practice import (
    MORNING,
    OPERATIONS,
    TREASURY,
    Practice,
    refused,
    request_fields,
    transfer_fields,
)

from treasury.actions import Action
from treasury.core.errors import (
    ActionRefused,
    Forbidden,
    InvalidRequest,
    JournalError,
    OutcomeUnknown,
    ServiceUnreachable,
    SettingsError,
)
from treasury.journal import Actor, Draft, Journal

APPROVE, REJECT = "ramp_request.approve", "ramp_request.reject"
REQUESTS = "/ramp/v1/ramp-requests"
TRANSFERS = "/finance/v1/accounts"


def test_an_action_is_journaled_at_approval_sending_and_response(practice: Practice) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request, reason="invoice 2211")
    done = practice.jonas.execute(ready.id)
    assert done.outcome is not None
    assert (done.outcome.how, done.outcome.status) == ("answered", "AWAITING_FUNDS")
    assert done.outcome.service_user == "checker@harbourlane.test"
    assert practice.kinds() == ["proposed", "sending", "done"]
    sending = practice.journal.entries("action.sending")[0]
    assert sending.actor == Actor("jonas", "environment")
    assert sending.body["body"] == '{"version":1}'
    assert sending.body["text"] == ready.text
    assert "Reason: invoice 2211" in ready.text
    assert (sending.body["credential"], sending.body["client_id"]) == ("checker", "harbour-checker")
    assert practice.jonas.unsettled() == ()
    practice.journal.verify()


def test_a_second_execution_is_refused_and_sends_nothing(practice: Practice) -> None:
    ready = practice.transfer()
    practice.ines.execute(ready.id)
    assert "was already carried out by ines; nothing was sent" in refused(
        lambda: practice.jonas.execute(ready.id)
    )
    assert len(practice.posts()) == 1


def test_only_one_of_many_simultaneous_executions_succeeds(practice: Practice) -> None:
    ready, outcomes = practice.transfer(), list[str]()

    def click(person: str) -> None:
        desk = practice.desk(person)
        try:
            outcomes.append(desk.execute(ready.id).state)
        except ActionRefused as error:
            outcomes.append(str(error))

    practice.client("maker")
    clicks = [threading.Thread(target=click, args=(f"p{n}",)) for n in range(5)]
    for thread in clicks:
        thread.start()
    for thread in clicks:
        thread.join(60)
    assert outcomes.count("done") == 1
    assert all("nothing was sent" in one for one in outcomes if one != "done")
    assert (len(practice.posts()), len(practice.effects())) == (1, 1)


def test_production_without_write_permission_sends_nothing_and_keeps_the_action_ready(
    practice: Practice,
) -> None:
    ready = practice.transfer()
    services = practice.settings.services
    assert services is not None
    practice.settings = msgspec.structs.replace(
        practice.settings, services=msgspec.structs.replace(services, environment="production")
    )
    practice._clients.clear()
    with pytest.raises(ActionRefused, match="writing is not allowed"):
        practice.ines.execute(ready.id)
    assert practice.posts() == []
    assert practice.ines.get(ready.id).state == "ready"


def test_an_action_of_a_batch_sees_the_effect_of_the_previous_one(practice: Practice) -> None:
    practice.sandbox.finance.suspend_account(OPERATIONS)
    first, second = (
        practice.approved("account.reactivate", account_id=OPERATIONS) for _ in range(2)
    )
    practice.ines.execute_all([first.id, second.id])
    assert [practice.ines.get(one.id).state for one in (first, second)] == ["done", "lapsed"]
    assert len(practice.posts()) == 1


def test_a_changed_fact_lapses_the_approval_and_is_named(practice: Practice) -> None:
    ready = practice.transfer()
    practice.sandbox.finance.suspend_account(OPERATIONS)
    with pytest.raises(ActionRefused, match="receiver status was ACTIVE, is SUSPENDED"):
        practice.ines.execute(ready.id)
    lapsed = practice.ines.get(ready.id)
    assert lapsed.state == "lapsed"
    assert practice.journal.entries("action.lapsed")[0].body["moved"] == [
        {"fact": "receiver status", "was": "ACTIVE", "now": "SUSPENDED"}
    ]
    practice.sandbox.finance.account_status(OPERATIONS, "ACTIVE")
    again = practice.ines.again(lapsed.id)
    assert (again.state, again.fields) == ("proposed", lapsed.fields)
    assert practice.posts() == []


def test_a_request_decided_elsewhere_lapses(practice: Practice) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request)
    practice.client("checker").ramp.requests.reject(request, version=1)
    with pytest.raises(ActionRefused, match="status was AWAITING_APPROVAL, is REJECTED"):
        practice.jonas.execute(ready.id)
    assert len(practice.posts()) == 1


def test_a_version_bump_without_changes_is_reread_and_the_action_continues(
    practice: Practice,
) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request)
    seen = practice.client("maker").ramp.requests.get(request).value
    bump_version(practice, request, seen.amount)
    done = practice.jonas.execute(ready.id)
    assert done.outcome is not None
    assert done.outcome.version == 4
    assert practice.journal.entries("action.sending")[-1].body["body"] == '{"version":3}'


def bump_version(practice: Practice, request: str, amount: Any) -> None:
    """Change the amount and change it back, which gives a version two higher with equal facts."""
    requests = practice.client("maker").ramp.requests
    first = requests.change_amount(request, amount=amount + 1, version=1).value
    requests.change_amount(request, amount=amount, version=first.version or 0)


def test_a_version_bump_between_reading_and_sending_is_reread(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request)
    amount = practice.client("maker").ramp.requests.get(request).value.amount
    extend, bumped = practice.journal.extend, list[int]()

    def extend_and_bump(drafts: list[Draft], **more: Any) -> Any:
        added = extend(drafts, **more)
        if drafts[0].kind == "action.sending" and not bumped:
            bumped.append(1)
            bump_version(practice, request, amount)
        return added

    monkeypatch.setattr(practice.journal, "extend", extend_and_bump)
    assert practice.jonas.execute(ready.id).state == "done"
    assert practice.kinds() == ["proposed", "sending", "refused", "sending", "done"]
    assert practice.effects().count(f"POST {REQUESTS}/{request}/approve") == 1


def test_an_insufficient_balance_keeps_the_action_ready(practice: Practice) -> None:
    available = practice.client("viewer").finance.wallets.list(
        transfer_fields()["sender_account_id"]
    )
    whole = available.items[0].value.balances[0].holding().available
    assert whole is not None
    first, second = practice.transfer(str(whole - 5)), practice.transfer("10.00")
    practice.ines.execute(first.id)
    assert "over the balance" in refused(lambda: practice.ines.execute(second.id))
    assert practice.ines.get(second.id).state == "ready"
    assert len(practice.posts()) == 1


@pytest.mark.parametrize("name", ["maker", "viewer"])
def test_a_role_without_permission_to_approve_gets_an_error(practice: Practice, name: str) -> None:
    [request] = practice.awaiting()
    only = {name: practice.settings.credentials[name]}
    alone = practice.desk("jonas", settings=msgspec.structs.replace(
        practice.settings, credentials=only))  # fmt: skip
    ready = alone.propose(APPROVE, request_id=request)
    with pytest.raises(ActionRefused, match=f"harbour-{name} may not approve PAY.*403"):
        alone.execute(ready.id)
    assert alone.get(ready.id).state == "refused"


@pytest.mark.parametrize(
    ("credential", "said"),
    [("checker", "The creator may not approve it."), ("maker", "Not allowed.")],
)
def test_the_creator_is_referred_to_the_portal(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, credential: str, said: str
) -> None:
    from treasury.actions.execution import outcomes as answers

    def refuse(*_: object) -> None:
        raise Forbidden(f"403 FORBIDDEN: {said}", code="FORBIDDEN", status=403)

    [request] = practice.awaiting()
    only = {credential: practice.settings.credentials[credential]}
    alone = practice.desk("jonas", settings=msgspec.structs.replace(
        practice.settings, credentials=only))  # fmt: skip
    ready = alone.propose(APPROVE, request_id=request)
    monkeypatch.setattr(answers, "post", refuse)
    with pytest.raises(ActionRefused) as caught:
        alone.execute(ready.id)
    assert str(caught.value).startswith("This credential created PAY-")
    assert str(caught.value).endswith("approve in the provider's portal, then sync")
    assert said in practice.journal.entries("action.refused")[0].body["service"]


def test_a_versioned_write_is_read_back_if_its_response_is_lost(practice: Practice) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request)
    practice.sandbox.faults.add(f"{REQUESTS}/{request}/approve", drop="after")
    done = practice.jonas.execute(ready.id)
    assert done.outcome is not None
    assert (done.outcome.how, done.outcome.status) == ("read back", "AWAITING_FUNDS")
    assert len(practice.posts()) == 1


def test_a_request_lost_before_its_effect_leaves_the_outcome_unknown(practice: Practice) -> None:
    [request] = practice.awaiting()
    ready = practice.jonas.propose(APPROVE, request_id=request)
    practice.sandbox.faults.add(f"{REQUESTS}/{request}/approve", drop="before")
    with pytest.raises(OutcomeUnknown, match="the service shows it as AWAITING_APPROVAL"):
        practice.jonas.execute(ready.id)
    assert practice.jonas.get(ready.id).state == "unknown"
    [settled] = practice.jonas.recover()
    assert settled.outcome is not None
    assert (settled.state, settled.outcome.how) == ("done", "sent again")
    assert practice.effects() == [f"POST {REQUESTS}/{request}/approve"]


def test_a_refusal_by_the_service_is_journaled_and_raised_unchanged(practice: Practice) -> None:
    ready = practice.transfer()
    practice.sandbox.faults.add(TRANSFERS, method="POST", status=400)
    with pytest.raises(InvalidRequest):
        practice.ines.execute(ready.id)
    assert practice.ines.get(ready.id).state == "refused"
    assert practice.ines.unsettled() == ()


def test_an_unsent_action_becomes_ready_again(practice: Practice) -> None:
    ready = practice.approved("payment_request.create", type="p", reference_id="ops-usd",
                              amount="1.00", currency="EUR")  # fmt: skip
    practice.sandbox.faults.add("/finance/v1/payment-requests", method="POST", status=429, times=9,
                                retry_after="0")  # fmt: skip
    with pytest.raises(Exception, match="429"):
        practice.ines.execute(ready.id)
    assert practice.ines.get(ready.id).state == "ready"
    practice.sandbox.faults.clear()
    assert practice.ines.execute(ready.id).state == "done"
    assert len(practice.effects()) == 1


def test_a_missing_secret_is_reported_before_sending(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = practice.approved("payment_request.create", type="p", reference_id="ops-usd",
                              amount="1.00", currency="EUR")  # fmt: skip
    monkeypatch.delenv("TEST_MAKER_SECRET")
    practice._clients.clear()
    with pytest.raises(SettingsError, match="TEST_MAKER_SECRET is not set"):
        practice.ines.execute(ready.id)
    assert practice.ines.get(ready.id).state == "ready"
    assert practice.posts() == []


class Failing(Journal):
    """A journal that fails to write the outcome of a sending."""

    def extend(self, drafts: Any, **more: Any) -> Any:
        if any(draft.kind in {"action.done", "action.refused"} for draft in drafts):
            raise JournalError("the disk is full")
        return super().extend(drafts, **more)


def test_a_failure_to_journal_the_response_reports_that_it_was_sent(
    practice: Practice, tmp_path: Path
) -> None:
    failing = practice.desk("jonas", journal=Failing(tmp_path, now=lambda: MORNING))
    [request] = practice.awaiting()
    ready = failing.propose(APPROVE, request_id=request)
    with pytest.raises(JournalError, match=r"\(done\) was sent, and that could not be journaled"):
        failing.execute(ready.id)
    [left] = practice.jonas.unsettled()
    assert (left.id, left.state) == (ready.id, "sending")
    practice.wait()
    [settled] = practice.jonas.recover()
    assert settled.outcome is not None
    assert settled.outcome.how == "read back"


def test_an_action_that_cannot_be_journaled_is_not_sent(practice: Practice, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    broken = practice.desk("ines", journal=Journal(tmp_path / "file" / "x"))
    with pytest.raises(JournalError):
        broken.propose("payment_request.create", type="p", reference_id="ops-usd", amount="1.00",
                       currency="EUR")  # fmt: skip
    assert practice.posts() == []


# Batches


def several(practice: Practice, count: int) -> list[str]:
    ids = [
        practice.ines.propose("crypto_transfer.create", **transfer_fields(f"{n}.00")).id
        for n in range(1, count + 1)
    ]
    practice.jonas.approve(*ids)
    return ids


def test_several_actions_are_confirmed_once_with_totals_by_currency(practice: Practice) -> None:
    ids = [practice.ines.propose("crypto_transfer.create", **transfer_fields("10.5")).id,
           practice.ines.propose("crypto_transfer.create", **transfer_fields("0.25")).id,
           practice.ines.propose("payment_request.create", type="p", reference_id="ops-usd",
                                 amount="3.00", currency="EUR").id,
           practice.ines.propose("company_wallet.create", address="0x" + "cd" * 20,
                                 chain="BASE").id]  # fmt: skip
    shown = practice.jonas.batch(*ids)
    assert shown.text == "4 actions: 1 of EUR 3.00, 2 of USDC 10.750000, 1 without an amount."
    practice.jonas.approve(*ids, shown=shown, reason="all checked")
    assert {practice.jonas.get(one).state for one in ids} == {"ready"}
    assert [e.actor.name for e in practice.journal.entries("action.approved")] == ["jonas"] * 4


def test_a_batch_is_approved_as_a_whole_or_not_at_all(practice: Practice) -> None:
    one = practice.ines.propose("crypto_transfer.create", **transfer_fields("1.00"))
    own = practice.jonas.propose("crypto_transfer.create", **transfer_fields("2.00"))
    shown = practice.jonas.batch(one.id)
    assert "is not what was confirmed" in refused(
        lambda: practice.jonas.approve(one.id, own.id, shown=shown)
    )
    assert "the maker is never the checker" in refused(
        lambda: practice.jonas.approve(one.id, own.id)
    )
    assert practice.jonas.get(one.id).state == "proposed"


def test_several_actions_are_each_executed_once(practice: Practice) -> None:
    ids = several(practice, 3)
    steps: list[tuple[int, int]] = []
    ran = practice.ines.execute_all(ids, progress=lambda done, of: steps.append((done, of)))
    assert [one.action.state for one in ran] == ["done"] * 3
    assert steps == [(0, 3), (1, 3), (2, 3)]
    assert practice.kinds()[-6:] == ["sending", "done"] * 3
    assert len(practice.effects()) == 3
    ran = practice.ines.execute_all(ids)
    assert all("already carried out" in str(one.error) for one in ran)
    assert len(practice.posts()) == 3


def test_an_error_in_one_action_does_not_stop_the_others(practice: Practice) -> None:
    ids = several(practice, 3)
    practice.ines.withdraw(ids[1], "not yet")
    practice.sandbox.faults.add(TRANSFERS, method="POST", status=400)
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["refused", "withdrawn", "done"]
    assert [one.error is None for one in ran] == [False, False, True]


def test_unattempted_actions_stay_ready_when_the_service_fails(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.actions.execution import outcomes as answers
    from treasury.actions.execution import pinned_call

    ids = several(practice, 3)
    real, calls = pinned_call.post, list[int]()

    def post(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ServiceUnreachable("no answer")
        return real(*given)

    monkeypatch.setattr(answers, "post", post)
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["done", "ready"]
    assert isinstance(ran[1].error, ServiceUnreachable)
    assert practice.kinds().count("sending") == 2
    monkeypatch.undo()
    assert [o.action.state for o in practice.ines.execute_all(ids[1:])] == ["done", "done"]
    assert len(practice.effects()) == 3


def test_an_interrupted_action_of_a_batch_is_unknown_and_not_ready(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.actions.execution import outcomes as answers
    from treasury.actions.execution import pinned_call

    ids = several(practice, 4)
    real, calls = pinned_call.post, list[int]()

    def post(*given: Any) -> Any:
        calls.append(1)
        answer = real(*given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(answers, "post", post)
    with pytest.raises(KeyboardInterrupt):
        practice.ines.execute_all(ids)
    states = [practice.jonas.get(one).state for one in ids]
    assert states == ["done", "sending", "ready", "ready"]
    monkeypatch.undo()
    practice.wait()
    [settled] = practice.jonas.recover()
    assert (settled.id, settled.state) == (ids[1], "done")
    practice.ines.execute_all(ids[2:])
    assert len(practice.effects()) == 4


def test_a_batch_stops_at_an_unknown_outcome(practice: Practice) -> None:
    ids = several(practice, 3)
    practice.sandbox.faults.add(TRANSFERS, method="POST", drop="after", times=2)
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["unknown"]
    practice.ines.recover()
    assert [one.action.state for one in practice.ines.execute_all(ids[1:])] == ["done"] * 2
    assert len(practice.effects()) == 3


def test_actions_of_a_batch_use_up_balances(practice: Practice) -> None:
    wallets = practice.client("viewer").finance.wallets.list(TREASURY)
    whole = wallets.items[0].value.balances[0].holding().available
    assert whole is not None
    ids = [practice.transfer(str(whole - 5)).id, practice.transfer("10.00").id]
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["done", "ready"]
    assert "over the balance" in str(ran[1].error)


def test_a_confirmed_one_step_execution_uses_its_nonce_once(
    practice: Practice,
) -> None:
    [request] = practice.awaiting()
    shown = practice.jonas.draft(REJECT, live=True, request_id=request, reason="twice")
    assert practice.kinds() == []
    done = practice.jonas.carry_out(shown, nonce="n1")
    assert (done.state, done.text) == ("done", shown.text)
    with pytest.raises(ActionRefused, match="status was AWAITING_APPROVAL, is REJECTED"):
        practice.jonas.carry_out(shown, nonce="n1")
    two = practice.ines.draft("crypto_transfer.create", **transfer_fields())
    with pytest.raises(ActionRefused, match="needs 2 people: nothing was sent"):
        practice.ines.carry_out(two, nonce="n2")
    assert len(practice.posts()) == 1


def test_a_nonce_is_valid_for_one_proposal(practice: Practice) -> None:
    shown = practice.ines.draft("crypto_transfer.create", **transfer_fields())
    [first] = practice.ines.propose_drafts(shown, nonce="n")
    assert "already decided" in refused(lambda: practice.ines.propose_drafts(shown, nonce="n"))
    assert [one.id for one in practice.ines.list()] == [first.id]


def test_every_desk_lists_the_same_actions(practice: Practice) -> None:
    made: list[Action] = [practice.transfer("1.00"), practice.transfer("2.00")]
    practice.ines.execute(made[0].id)
    told = [[(a.id, a.state, a.text) for a in practice.desk(name).list()] for name in "ab"]
    assert told[0] == told[1]
    assert [a.id for a in practice.jonas.list(state="ready")] == [made[1].id]
    assert practice.jonas.list(kind="wallet.create") == ()


def test_a_created_request_names_the_service_user(practice: Practice) -> None:
    made = practice.ines.execute(
        practice.ines.propose("ramp_request.create", **request_fields()).id
    )
    assert made.outcome is not None
    assert made.outcome.decided_by == "ines"
    assert made.outcome.status == "AWAITING_APPROVAL"
