"""The permission to send expires, so a suspended desk sends no action that others have settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from action_practice import OPERATIONS, QUICK, TREASURY, Practice, refused, transfer_fields

from treasury.actions import KINDS, Action, Actions
from treasury.actions.action_states import actions_of
from treasury.actions.execution.sending_fence import SendingFence
from treasury.api import Client
from treasury.api.exchange.transport import Clock
from treasury.core.errors import ActionRefused, JournalError, OutcomeUnknown, SettingsError
from treasury.core.machine.boot_clock import BootTime
from treasury.journal import Actor, Draft
from treasury.month.items import open_actions

FINANCE = "/finance/v1"
CARD = {"type": "p", "reference_id": "ops-usd", "amount": "1.00", "currency": "EUR"}
KEYED: dict[str, dict[str, Any]] = {
    "crypto_transfer.create": transfer_fields(),
    "fiat_transfer.create": {
        "sender_account_id": TREASURY, "receiver_account_id": OPERATIONS, "currency": "EUR",
        "amount": "2.00",
    },
    "account_transfer.create": {
        "source_account_id": TREASURY, "destination_account_id": OPERATIONS, "amount": "3.00",
        "cryptocurrency": "USDC",
    },
    "payment_session.create": {
        "account_id": TREASURY, "in_amount": "5.00", "in_currency": "EUR",
        "out_cryptocurrency": "USDC", "callback_url": "https://callback.test/1",
    },
    "payment_request.create": CARD,
    "virtual_account.create": {
        "account_id": TREASURY, "name": "Pay-in", "in_currency": "EUR",
        "target_cryptocurrency": "USDC",
    },
}  # fmt: skip


class BootClock:
    """A clock moved by the test, like the one that also runs while the machine is suspended."""

    def __init__(self) -> None:
        self.now = BootTime("this boot", 0)

    def __call__(self) -> BootTime:
        return self.now

    def pass_(self, **span: float) -> None:
        milliseconds = timedelta(**span) // timedelta(milliseconds=1)
        self.now = BootTime(self.now.boot, self.now.milliseconds + milliseconds)


Happening = Callable[[], Any]


def once_journaled(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, happening: Happening
) -> None:
    """Run `happening` after the next sending is journaled and before its first byte."""
    extend, happened = practice.journal.extend, list[int]()

    def extended(drafts: list[Draft], **more: Any) -> Any:
        added = extend(drafts, **more)
        if added and drafts[0].kind == "action.sending" and not happened:
            happened.append(1)
            happening()
        return added

    monkeypatch.setattr(practice.journal, "extend", extended)


def once_checked(
    monkeypatch: pytest.MonkeyPatch, happening: Happening, *, of_content: bool = True
) -> None:
    """Run `happening` between a check of the fence and the system call that sends the bytes.

    The headers are checked and sent before the content; `of_content` chooses the check.
    """
    check, happened = SendingFence.before_bytes, list[int]()

    def checked(fence: SendingFence, has_begun: bool) -> None:
        check(fence, has_begun)
        if has_begun is of_content and not happened:
            happened.append(1)
            happening()

    monkeypatch.setattr(SendingFence, "before_bytes", checked)


def between_attempts(practice: Practice, happening: Happening) -> None:
    """Run `happening` while the maker's client waits to retry."""
    assert practice.settings.services is not None
    client = Client(
        practice.settings.services,
        practice.settings.credential("maker"),
        limits=QUICK,
        clock=Clock(sleep=lambda _: happening()),
    )
    practice._clients["maker"] = practice._stack.enter_context(client)


def test_nothing_is_sent_after_the_deadline_by_the_wall_clock(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    once_journaled(practice, monkeypatch, lambda: practice.wall.pass_(seconds=121))
    assert refused(lambda: practice.ines.execute(action.id)) == (
        f"{action.id}: its sending term of 120 s has passed by the wall clock; nothing was sent"
        " - look at its current state, then decide again"
    )
    assert practice.posts() == []
    assert practice.ines.get(action.id).state == "ready"
    assert practice.ines.execute(action.id).state == "done"


def test_nothing_is_sent_after_the_deadline_by_the_clock_that_runs_during_suspend(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, boot = practice.transfer(), BootClock()
    desk = practice.desk("ines", boot=boot)
    once_journaled(practice, monkeypatch, lambda: boot.pass_(seconds=121))
    said = refused(lambda: desk.execute(action.id))
    assert "has passed by the clock that runs during suspend; nothing was sent" in said
    assert practice.posts() == []


def test_nothing_is_sent_by_a_process_that_survived_a_reboot(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, boot = practice.transfer(), BootClock()
    desk = practice.desk("ines", boot=boot)

    def restart() -> None:
        boot.now = BootTime("another boot", 0)

    once_journaled(practice, monkeypatch, restart)
    assert "has passed by a restart of the machine" in refused(lambda: desk.execute(action.id))
    assert practice.posts() == []


def test_nothing_is_sent_after_another_journal_entry_about_the_action(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, nora = practice.transfer(), Actor("nora", "environment")
    once_journaled(
        practice, monkeypatch, lambda: practice.journal.append("remark", action.id, {}, actor=nora)
    )
    said = refused(lambda: practice.ines.execute(action.id))
    assert "the journal has a later entry about it; nothing was sent" in said
    assert practice.posts() == []


def test_an_unreadable_journal_before_the_first_attempt_stops_the_sending(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    monkeypatch.setattr(practice.journal, "newest_about", _raising)
    with pytest.raises(
        JournalError, match=r"the disk is gone, so it is unknown .*; nothing was sent"
    ):
        practice.ines.execute(action.id)
    assert practice.posts() == []
    assert practice.ines.get(action.id).state == "ready"


def _raising(_: str) -> None:
    raise JournalError("the disk is gone")


def test_an_unreadable_journal_before_the_second_attempt_leaves_the_outcome_unknown(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")
    between_attempts(
        practice, lambda: monkeypatch.setattr(practice.journal, "newest_about", _raising)
    )
    with pytest.raises(OutcomeUnknown, match=r"gave no answer, .*the disk is gone"):
        practice.ines.execute(action.id)
    assert practice.ines.get(action.id).state == "unknown"
    assert len(practice.posts()) == len(practice.effects()) == 1


@pytest.mark.parametrize("kind", KEYED)
def test_an_action_takes_effect_once_despite_a_lost_response_and_a_long_sleep(
    practice: Practice, kind: str
) -> None:
    action = practice.approved(kind, **KEYED[kind])
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")

    def sleep() -> None:
        practice.pass_(hours=60)
        practice.forget_keys()

    between_attempts(practice, sleep)
    with pytest.raises(OutcomeUnknown, match="its sending term of 120 s has passed"):
        practice.ines.execute(action.id)
    [settled] = practice.ines.recover()
    assert settled.state == ("done" if KINDS[kind].look_up else "unknown")
    assert len(practice.effects()) == 1


def test_an_action_recovered_while_its_sender_sleeps_is_done_once_and_not_in_doubt(
    practice: Practice,
) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")

    def sleep() -> None:
        practice.pass_(hours=60)
        practice.forget_keys()
        assert practice.jonas.recover(action.id)[0].state == "done"

    between_attempts(practice, sleep)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    done = practice.jonas.get(action.id)
    assert (done.state, done.doubled) == ("done", "")
    assert len(practice.effects()) == 1


def test_a_batch_interrupted_by_sleep_executes_no_action_twice(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [practice.transfer(f"{number}.00").id for number in range(1, 6)]

    def sleep() -> None:
        practice.pass_(hours=60)
        practice.forget_keys()
        practice.jonas.recover()
        for action_id in ids[1:]:
            practice.jonas.execute(action_id)

    once_journaled(practice, monkeypatch, sleep)
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["ready", "done", "done", "done", "done"]
    assert len(practice.effects()) == 4
    practice.ines.execute(ids[0])
    assert len(practice.effects()) == 5


def test_facts_read_before_a_sleep_are_reread(practice: Practice) -> None:
    from treasury.actions.kinds.service_records import ACCOUNT, LiveSource

    boot = [0.0]
    live = LiveSource(lambda: practice.client("maker"), clock=lambda: boot[0])
    assert live.read(ACCOUNT, OPERATIONS).status == "ACTIVE"
    practice.sandbox.finance.suspend_account(OPERATIONS)
    assert live.read(ACCOUNT, OPERATIONS).status == "ACTIVE"
    boot[0] += 6
    assert live.read(ACCOUNT, OPERATIONS).status == "SUSPENDED"


# When others may settle an action


def cut_off(practice: Practice, action: Action, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the sender for good after its entry in the journal and before the first byte."""
    with monkeypatch.context() as patch:
        once_journaled(practice, patch, _interrupt)
        with pytest.raises(KeyboardInterrupt):
            practice.ines.execute(action.id)


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_the_settling_time_starts_when_the_sender_stopped(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", drop="before", times=2)
    once_journaled(practice, monkeypatch, lambda: practice.wall.pass_(seconds=100))
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    sent = len(practice.posts())
    practice.wall.pass_(seconds=119)
    assert practice.jonas.recover() == (practice.ines.get(action.id),)
    assert len(practice.posts()) == sent
    practice.wall.pass_(seconds=1)
    assert practice.jonas.recover()[0].state == "done"


def test_a_list_read_beyond_the_settling_time_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.unknown_transfer(drop="before")
    sent, listing = len(practice.posts()), type(practice.client("maker").finance.transfers)
    iterate = listing.iterate

    def slow(self: Any, *ids: str, **how: Any) -> Iterator[Any]:
        yield from iterate(self, *ids, **how)
        practice.wall.pass_(seconds=30)

    monkeypatch.setattr(listing, "iterate", slow)
    practice.wall.pass_(seconds=100)
    assert "may have been carried out without being listed yet" in refused(
        lambda: practice.jonas.recover(action.id)
    )
    assert len(practice.posts()) == sent
    assert practice.jonas.recover(action.id)[0].state == "done"


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "wallet.create"])
def test_recovering_an_action_that_may_still_be_sent_is_refused_and_names_the_time(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    fields = {"account_id": TREASURY, "chain": "BASE"}
    action = practice.approved(kind, **KEYED.get(kind, fields))
    cut_off(practice, action, monkeypatch)
    # The deadline of QUICK is 30 s.
    until = practice.wall() + timedelta(seconds=120 + 30 + 60)
    assert practice.jonas.settling_until(action.id) == until + timedelta(seconds=30)
    practice.wall.now = until - timedelta(milliseconds=1)
    assert refused(lambda: practice.jonas.recover(action.id)) == (
        f"{action.id} may still be sent by ines; nothing was settled - recover it from"
        f" {until:%Y-%m-%d %H:%M:%S} UTC on"
    )
    assert practice.jonas.recover() == (practice.jonas.get(action.id),)
    assert "is sending, not unknown" in refused(
        lambda: practice.jonas.settle(action.id, carried_out=False, reason="not there")
    )
    # By then an effect is certainly listed.
    practice.wall.now = until + timedelta(seconds=30)
    assert practice.jonas.recover(action.id)[0].state in {"done", "unknown"}


def test_other_named_actions_are_recovered_before_the_early_one_is_refused(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, due = practice.transfer("1.00"), practice.transfer("2.00")
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(due.id)
    cut_off(practice, early, monkeypatch)
    assert "may still be sent" in refused(lambda: practice.jonas.recover(early.id, due.id))
    assert practice.jonas.get(due.id).state == "done"


def test_each_sending_keeps_the_configured_deadline(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = practice.folder / "policy.toml"
    policy.write_text("[recovery]\nterm_seconds = 30\n", "utf-8")
    action = practice.transfer()
    cut_off(practice, action, monkeypatch)
    policy.write_text("", "utf-8")
    [entry] = practice.journal.entries("action.sending")
    assert (entry.body["term_seconds"], entry.body["deadline_seconds"]) == (30, 30)
    assert practice.jonas.settling_until(action.id) == practice.wall() + timedelta(seconds=30 + 120)


@pytest.mark.parametrize("seconds", ["0", "-1", "3601", "1.5"])
def test_an_invalid_deadline_is_refused(practice: Practice, seconds: str) -> None:
    policy = practice.folder / "policy.toml"
    policy.write_text(f"[recovery]\nterm_seconds = {seconds}\n", "utf-8")
    with pytest.raises(SettingsError, match="term_seconds"):
        practice.ines.policy  # noqa: B018 - reading it is the test


def test_a_sending_by_an_earlier_version_gets_the_default_deadline(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    cut_off(practice, action, monkeypatch)
    [entry] = practice.journal.entries("action.sending")
    terms = {"term_seconds", "deadline_seconds", "boot", "boot_milliseconds"}
    earlier = {name: value for name, value in entry.body.items() if name not in terms}
    practice.journal.append("action.sending", action.id, earlier, actor=entry.actor)
    left_at = practice.wall()
    assert practice.jonas.settling_until(action.id) == left_at + timedelta(seconds=240)
    assert practice.jonas.recover()[0].state == "sending"
    practice.wall.pass_(seconds=240)
    assert practice.jonas.recover()[0].state == "done"
    assert len(practice.effects()) == 1


# Repeated keys


@pytest.mark.parametrize("kind", KEYED)
def test_an_expired_key_is_not_repeated_if_its_record_exists(practice: Practice, kind: str) -> None:
    action = practice.approved(kind, **KEYED[kind])
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.forget_keys()
    practice.pass_(minutes=5)
    [settled] = practice.ines.recover()
    assert settled.state == ("done" if KINDS[kind].look_up else "unknown")
    assert len(practice.effects()) == 1


def test_a_stopped_wall_clock_does_not_make_a_key_look_recent(practice: Practice) -> None:
    action, boot = practice.transfer(), BootClock()
    desk = practice.desk("ines", boot=boot)
    practice.sandbox.faults.add(FINANCE, method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        desk.execute(action.id)
    practice.wait()
    boot.pass_(hours=25)
    [left] = desk.recover()
    assert left.why == "OUTCOME UNKNOWN: its key is older than 24 hours; no record shows it"
    assert practice.effects() == []
    # After a restart the boot clock cannot show the key's age, so the wall clock counts.
    boot.now = BootTime("another boot", 0)
    assert desk.recover()[0].state == "done"


def test_a_list_without_keys_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice.unknown_transfer(drop="after")
    practice.wait()
    listing = type(practice.client("maker").finance.transfers)
    iterate = listing.iterate

    def keyless(self: Any, *ids: str, **how: Any) -> Iterator[Any]:
        for record in iterate(self, *ids, **how):
            value = msgspec.structs.replace(record.value, idempotency_key=None)
            yield msgspec.structs.replace(record, value=value)

    monkeypatch.setattr(listing, "iterate", keyless)
    [left] = practice.ines.recover()
    assert left.state == "unknown"
    assert "no listed record shows idempotency_key, so the list does not prove" in left.why
    assert len(practice.effects()) == 1


@pytest.mark.parametrize("hidden", ["name", "target_cryptocurrency"])
def test_a_virtual_account_list_that_hides_compared_fields_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    kind = "virtual_account.create"
    action = practice.approved(kind, **KEYED[kind])
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.forget_keys()
    practice.wait()
    listing = type(practice.client("maker").finance.virtual_bank_accounts)
    read = listing._records

    def sparse(self: Any, reply: Any) -> tuple[Any, ...]:
        return tuple(
            msgspec.structs.replace(
                record, value=msgspec.structs.replace(record.value, **{hidden: None})
            )
            for record in read(self, reply)
        )

    monkeypatch.setattr(listing, "_records", sparse)
    [left] = practice.ines.recover()
    assert left.state == "unknown"
    assert "does not show name, target_cryptocurrency" in left.why
    assert len(practice.effects()) == 1


def test_a_normal_sending_makes_no_extra_requests(practice: Practice) -> None:
    action = practice.transfer()
    before = len(practice.served.requests)
    practice.ines.execute(action.id)
    asked = [f"{method} {path}" for method, path, _ in practice.served.requests[before:]]
    transfers = f"{FINANCE}/accounts/{TREASURY}/transfers"
    assert sum(one.startswith("POST") for one in asked if "token" not in one) == 1
    assert sum(transfers in one for one in asked if one.startswith("GET")) == 1


# Actions that may have been done twice


def settled_and_done_anew(practice: Practice, action: Action) -> Happening:
    """Return a function that settles an action as not carried out, and executes it again."""

    def happening() -> None:
        practice.pass_(hours=60)
        practice.forget_keys()
        assert practice.jonas.recover(action.id)[0].state == "unknown"
        practice.jonas.settle(action.id, carried_out=False, reason="the provider was asked")
        again = practice.jonas.again(action.id)
        practice.ines.approve(again.id)
        assert practice.jonas.execute(again.id).state == "done"

    return happening


def doubled(practice: Practice, monkeypatch: pytest.MonkeyPatch) -> Action:
    """Return an action that was settled and repeated between its last check and its system call."""
    action = practice.transfer()
    once_checked(monkeypatch, settled_and_done_anew(practice, action))
    with pytest.raises(OutcomeUnknown, match="may have been done twice: it was carried out, as re"):
        practice.ines.execute(action.id)
    assert len(practice.effects()) == 2
    return practice.ines.get(action.id)


def items(desk: Actions) -> list[tuple[str, str]]:
    rows = open_actions(desk.list()).to_pylist()
    return [(row["action_id"], row["state"]) for row in rows]


def test_a_response_after_settlement_raises_an_item_until_a_person_settles_it(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = doubled(practice, monkeypatch)
    assert action.state == "done"
    assert "it was refused before that" in action.doubled
    assert items(practice.jonas) == [(action.id, "doubled")]
    assert actions_of(practice.journal.entries("action."))[0].doubled == action.doubled
    with pytest.raises(ActionRefused, match="A-1 is the same, and may have been carried out"):
        practice.ines.propose("crypto_transfer.create", **action.fields)
    with pytest.raises(ActionRefused, match="was carried out, as record"):
        practice.jonas.settle(action.id, carried_out=False, reason="no")
    settled = practice.jonas.settle(
        action.id, carried_out=True, reason="the second one was paid back on 6 November"
    )
    assert (settled.state, settled.doubled, settled.outcome) != ("done", "", None)
    assert settled.outcome is not None
    assert action.outcome is not None
    assert settled.outcome.record == action.outcome.record
    assert settled.outcome.response == action.outcome.response
    assert items(practice.jonas) == []


@pytest.mark.parametrize(("carried_out", "state"), [(False, "refused"), (True, "done")])
def test_bytes_sent_late_without_a_response_raise_the_item_too(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, carried_out: bool, state: str
) -> None:
    action = practice.transfer()
    anew = settled_and_done_anew(practice, action)

    def happening() -> None:
        anew()
        practice.sandbox.faults.add(FINANCE, method="POST", drop="after", times=2)

    once_checked(monkeypatch, happening, of_content=False)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    left = practice.ines.get(action.id)
    assert left.state == "refused"
    assert left.doubled.startswith("it was sent after its term, and got no answer:")
    assert items(practice.jonas) == [(action.id, "doubled")]
    assert practice.jonas.recover() == ()
    settled = practice.jonas.settle(
        action.id, carried_out=carried_out, reason="the provider was asked"
    )
    assert (settled.state, settled.doubled) == (state, "")
    assert items(practice.jonas) == []


@pytest.mark.parametrize("person", ["jonas", "ines"])
def test_a_late_response_about_the_record_already_found_raises_no_doubt(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, person: str
) -> None:
    action = practice.transfer()
    # The person who sends it may have a second notebook open in the same process.
    desk = getattr(practice, person)

    def recovered() -> None:
        practice.wait()
        assert desk.recover(action.id)[0].state == "done"

    once_checked(monkeypatch, recovered)
    done = practice.ines.execute(action.id)
    assert (done.state, done.doubled) == ("done", "")
    assert len(practice.effects()) == 1
