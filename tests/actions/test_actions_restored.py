"""A workspace restored from an older copy does not repeat later actions.

Each kind is approved, backed up and carried out. Five days and many records later, when the
provider has forgotten every key, it is tried again from the copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from action_practice import OPERATIONS, PAYOUT, TREASURY, Practice, refused, transfer_fields
from test_actions_kinds import CREATES
from test_actions_onboarding import FIELDS, fields_of

from treasury.actions import KINDS, Action, Actions
from treasury.actions.kinds import service_records
from treasury.api.bodies import NewAccountToAccountTransfer, NewCryptoTransfer, NewFiatTransfer
from treasury.core.errors import ActionRefused, OutcomeUnknown, TreasuryError

pytestmark = pytest.mark.long_file

LISTED_NOWHERE = ("payment_session.create", "payment_request.create")
LISTED = (
    "crypto_transfer.create", "fiat_transfer.create", "account_transfer.create",
    "virtual_account.create", "wallet.create", "ramp_request.create", "party.create",
)  # fmt: skip
"""Kinds whose effect appears as an equal record in a list."""


def wanted(practice: Practice, kind: str) -> dict[str, Any]:
    """Return valid fields for a kind, after creating the records that they need."""
    if kind in CREATES:
        return CREATES[kind]
    if kind in FIELDS:
        return fields_of(practice, kind)
    if kind == "account.reactivate":
        practice.sandbox.finance.suspend_account(OPERATIONS)
        return {"account_id": OPERATIONS}
    [request] = practice.awaiting()
    more = {"amount": "77.50"} if kind == "ramp_request.change_amount" else {}
    if kind == "ramp_request.submit_hash":
        made = practice.ines.execute(
            practice.ines.propose(
                "ramp_request.create", ramp_type="OFF_RAMP", amount="250", fiat_currency="EUR",
                crypto_currency="USDC", company_bank_account_id=PAYOUT,
            ).id
        )  # fmt: skip
        assert made.outcome is not None
        request = made.outcome.record
        practice.jonas.execute(
            practice.jonas.propose("ramp_request.approve", request_id=request).id
        )
        more = {"transaction_hash": "0x" + "1f" * 32}
    return {"request_id": request} | more


class Restored:
    """A workspace, and an earlier copy that can replace it."""

    def __init__(self, practice: Practice, copy: Path) -> None:
        self.practice = practice
        self._copy = copy

    def back_up(self) -> None:
        self.practice.journal.close()
        shutil.copytree(self.practice.folder, self._copy)

    def put_back(self) -> Actions:
        """Replace the folder with the copy, as a restore does."""
        self.practice.journal.close()
        shutil.rmtree(self.practice.folder)
        shutil.copytree(self._copy, self.practice.folder)
        return self.practice.beside(self.practice.folder)[0]

    def done_since(
        self, action: Action, then: Callable[[str], object] = lambda _: None
    ) -> tuple[str, Actions]:
        """Execute an action after the backup, restore, and return its record and a new desk."""
        self.back_up()
        done = self.practice.ines.execute(action.id)
        assert done.outcome is not None
        then(done.outcome.record)
        self.days_later()
        return done.outcome.record, self.put_back()

    def days_later(self, records_made: int = 3) -> None:
        """Let five days pass with other transfers; the provider forgets every key."""
        maker = self.practice.client("maker").finance
        for number in range(records_made):
            self.practice.pass_(days=5 / records_made)
            body = {"receiver_account_id": OPERATIONS, "description": f"other {number}"}
            maker.transfers.crypto(
                TREASURY, NewCryptoTransfer(amount="1.00", chain="BASE", asset="USDC", **body)
            )
            maker.transfers.fiat(TREASURY, NewFiatTransfer(amount="1.00", currency="EUR", **body))
            maker.account_to_account_transfers.create(
                NewAccountToAccountTransfer(
                    source_account_id=TREASURY, destination_account_id=OPERATIONS,
                    amount="1.00", cryptocurrency="USDC",
                )
            )  # fmt: skip
        self.practice.forget_keys()


@pytest.fixture
def restored(practice: Practice, tmp_path_factory: pytest.TempPathFactory) -> Restored:
    return Restored(practice, tmp_path_factory.mktemp("older") / "copy")


def ready(practice: Practice, kind: str) -> Action:
    """Return a ready action of the kind, approved by permitted people."""
    fields = wanted(practice, kind)
    if kind == "ramp_request.approve":
        return practice.jonas.propose(kind, **fields)
    return practice.approved(kind, **fields)


@pytest.mark.parametrize("kind", KINDS)
def test_an_action_executed_after_the_backup_is_not_executed_again_from_it(
    restored: Restored, kind: str
) -> None:
    practice = restored.practice
    action = ready(practice, kind)
    _, desk = restored.done_since(action)
    done = len(practice.effects())
    assert desk.get(action.id).state == "ready"
    with pytest.raises(TreasuryError):
        desk.execute(action.id)
    assert len(practice.effects()) == done


@pytest.mark.parametrize("kind", LISTED)
def test_the_existing_record_is_named_in_errors_and_new_proposals(
    restored: Restored, kind: str
) -> None:
    action = ready(restored.practice, kind)
    record, desk = restored.done_since(action)
    assert record in refused(lambda: desk.execute(action.id))
    assert desk.get(action.id).state == "lapsed"
    again = desk.again(action.id)
    assert record in again.text.partition("LOOK: just like it at the service")[2]


@pytest.mark.parametrize("kind", [kind for kind in LISTED if kind != "wallet.create"])
def test_an_existing_record_is_found_in_a_list_with_an_unexpected_order(
    restored: Restored, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    practice = restored.practice
    action = ready(practice, kind)
    record, desk = restored.done_since(action)
    store, done = practice.sandbox._world.store, len(practice.effects())
    page = store.page
    monkeypatch.setattr(store, "page", lambda *of, **how: page(*of, **how | {"descending": False}))
    assert record in refused(lambda: desk.execute(action.id))
    assert len(practice.effects()) == done


def test_a_withdrawn_and_reproposed_action_is_looked_up_equally_far_back(
    restored: Restored,
) -> None:
    action = restored.practice.transfer()
    record, desk = restored.done_since(action)
    desk.withdraw(action.id)
    again = desk.propose("crypto_transfer.create", **transfer_fields())
    assert record in again.text


def test_a_request_rejected_since_the_backup_is_not_created_again(restored: Restored) -> None:
    practice = restored.practice
    action = ready(practice, "ramp_request.create")

    def reject(request: str) -> None:
        refusal = practice.jonas.propose("ramp_request.reject", request_id=request)
        practice.jonas.execute(refusal.id)

    record, desk = restored.done_since(action, reject)
    assert record in refused(lambda: desk.execute(action.id))


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "account_transfer.create"])
def test_a_transfer_that_failed_after_the_backup_is_found_before_resending(
    restored: Restored, kind: str
) -> None:
    action = ready(restored.practice, kind)
    fail = restored.practice.sandbox.finance.fail_transfer
    record, desk = restored.done_since(action, fail)
    said = refused(lambda: desk.execute(action.id))
    assert f"is {record} of 2026-11-02 08:00 UTC (FAILED)" in said


@pytest.mark.parametrize("kind", LISTED_NOWHERE)
def test_an_unlisted_action_goes_to_a_person_once_its_key_may_have_expired(
    practice: Practice, kind: str
) -> None:
    action = practice.approved(kind, **CREATES[kind])
    # A call sent now may arrive when the key is a day old.
    practice.pass_(hours=23, minutes=58)
    said = refused(lambda: practice.ines.execute(action.id))
    assert (
        "remembers a key for 24 hours, which are over or nearly over, and the service does not list"
        in said
    )
    assert "look for it in the provider's portal; if it is not there, `treasury acti" in said
    assert practice.ines.get(action.id).state == "lapsed"
    assert practice.posts() == []
    again = practice.ines.again(action.id)
    if again.state == "proposed":
        practice.jonas.approve(again.id)
    assert practice.ines.execute(again.id).state == "done"
    assert len(practice.effects()) == 1


def test_the_lifetime_of_a_key_is_a_setting(practice: Practice) -> None:
    (practice.folder / "policy.toml").write_text("[recovery]\nkey_retention_hours = 72\n", "utf-8")
    kind = "payment_request.create"
    action = practice.approved(kind, **CREATES[kind])
    practice.pass_(hours=71)
    assert practice.ines.execute(action.id).state == "done"
    older = practice.approved(kind, **CREATES[kind] | {"amount": "1.00"})
    practice.pass_(hours=72)
    assert "a key for 72 hours, which" in refused(lambda: practice.ines.execute(older.id))


def test_a_key_dated_in_the_future_has_an_unknown_age(practice: Practice) -> None:
    kind = "payment_request.create"
    action = practice.approved(kind, **CREATES[kind])
    # The machine's clock is set back.
    practice.now = practice.now.replace(year=2025)
    said = refused(lambda: practice.ines.execute(action.id))
    assert "which is later than now, so its age is unknown" in said


def test_an_old_key_does_not_block_if_the_list_shows_no_effect(
    practice: Practice,
) -> None:
    action = practice.transfer()
    practice.pass_(days=30)
    assert practice.ines.execute(action.id).state == "done"
    assert len(practice.effects()) == 1


def test_a_forbidden_list_leaves_the_outcome_to_the_key_and_then_to_a_person(
    practice: Practice,
) -> None:
    young, old = practice.transfer("1.00"), practice.transfer("2.00")
    path = f"/finance/v1/accounts/{TREASURY}/transfers"
    practice.sandbox.faults.add(path, method="GET", status=403, times=9)
    assert practice.ines.execute(young.id).state == "done"
    practice.pass_(days=2)
    said = refused(lambda: practice.ines.execute(old.id))
    assert "which are over or nearly over, and no list can show it" in said
    assert practice.ines.get(old.id).state == "lapsed"
    assert len(practice.effects()) == 1


def test_an_endless_list_is_not_read_forever(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = practice.ines.propose("ramp_request.create", **CREATES["ramp_request.create"])
    monkeypatch.setattr(service_records, "MOST_RECORDS", 2)
    with pytest.raises(ActionRefused, match="more than 2 ramp requests were made since"):
        practice.ines.execute(old.id)
    assert practice.ines.get(old.id).state == "ready"
    assert practice.posts() == []


def test_an_unordered_list_is_read_to_its_end_up_to_a_limit(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = practice.ines.propose("ramp_request.create", **CREATES["ramp_request.create"])
    store = practice.sandbox._world.store
    page = store.page
    monkeypatch.setattr(store, "page", lambda *of, **how: page(*of, **how | {"descending": False}))
    count = page("ramp_request", {}).total
    monkeypatch.setattr(service_records, "MOST_RECORDS", count - 1)
    with pytest.raises(ActionRefused, match="ramp requests are listed in no order, some of them"):
        practice.ines.execute(old.id)
    monkeypatch.setattr(service_records, "MOST_RECORDS", count)
    assert practice.ines.execute(old.id).state == "done"


LISTED_KEYED = tuple(kind for kind in LISTED if KINDS[kind].safety == "keyed")


def cut_off(practice: Practice, kind: str, **fields: Any) -> Action:
    """Return an action of unknown outcome after its requests were lost."""
    action = practice.approved(kind, **fields or wanted(practice, kind))
    practice.sandbox.faults.add("/finance/v1", method="POST", drop="before", times=9)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.sandbox.faults.clear()
    return practice.ines.get(action.id)


def done_anew(practice: Practice, action: Action) -> str:
    """Settle an action an hour later as not carried out, repeat it, and return the new record."""
    practice.pass_(hours=1)
    practice.jonas.settle(action.id, carried_out=False, reason="the provider was asked")
    again = practice.ines.again(action.id)
    if again.state == "proposed":
        practice.jonas.approve(again.id)
    done = practice.ines.execute(again.id)
    assert done.outcome is not None
    return done.outcome.record


@pytest.mark.parametrize("kind", LISTED_KEYED)
def test_an_unknown_action_of_a_backup_is_not_resent_if_an_equal_one_was_done_since(
    restored: Restored, kind: str
) -> None:
    practice = restored.practice
    action, before = cut_off(practice, kind), len(practice.effects())
    restored.back_up()
    record = done_anew(practice, action)
    desk = restored.put_back()
    [left] = desk.recover(action.id)
    assert (left.state, len(practice.effects())) == ("unknown", before + 1)
    assert f"just like it at the service there is {record} of 2026-11-02 09:00 UTC" in left.why
    assert desk.recover(action.id)[0] == left


@pytest.mark.parametrize("kind", LISTED_NOWHERE)
def test_an_unlisted_action_is_not_resent_from_a_backup(restored: Restored, kind: str) -> None:
    practice = restored.practice
    action, before = cut_off(practice, kind), len(practice.effects())
    restored.back_up()
    done_anew(practice, action)
    [left] = restored.put_back().recover(action.id)
    assert (left.state, left.why) == (
        "unknown",
        "OUTCOME UNKNOWN: the service does not list these records",
    )
    assert len(practice.effects()) == before + 1


@pytest.mark.parametrize("kind", LISTED_KEYED)
def test_an_equal_action_of_another_workspace_leaves_the_outcome_unknown(
    practice: Practice, kind: str, tmp_path: Path
) -> None:
    action, before = cut_off(practice, kind), len(practice.effects())
    ines, jonas = practice.beside(tmp_path / "elsewhere")
    practice.pass_(hours=1)
    other = ines.propose(kind, **action.fields)
    if other.state == "proposed":
        jonas.approve(other.id)
    assert ines.execute(other.id).state == "done"
    assert practice.ines.recover(action.id)[0].state == "unknown"
    assert len(practice.effects()) == before + 1


def test_a_record_shown_before_approval_does_not_stop_a_retry(
    practice: Practice,
) -> None:
    maker = practice.client("maker").finance.transfers
    body = {k: v for k, v in transfer_fields().items() if k != "sender_account_id"}
    shown = maker.crypto(TREASURY, NewCryptoTransfer(**body)).value.id
    practice.sandbox.clock.advance(hours=1)
    action = cut_off(practice, "crypto_transfer.create", **transfer_fields())
    assert shown in action.text
    practice.wait()
    assert practice.ines.recover(action.id)[0].state == "done"


def test_a_forbidden_list_leaves_the_outcome_unknown_until_it_is_readable(
    practice: Practice,
) -> None:
    action = cut_off(practice, "crypto_transfer.create")
    practice.wait()
    path = f"/finance/v1/accounts/{TREASURY}/transfers"
    practice.sandbox.faults.add(path, method="GET", status=403, times=1)
    assert practice.ines.recover(action.id)[0].state == "unknown"
    assert practice.effects() == []
    assert practice.ines.recover(action.id)[0].state == "done"
    assert len(practice.effects()) == 1


def test_an_older_proposal_of_another_week_is_not_looked_up(practice: Practice) -> None:
    first = practice.transfer()
    practice.ines.withdraw(first.id)
    practice.pass_(days=7)
    maker = practice.client("maker").finance.transfers
    practice.sandbox.clock.advance(hours=1)
    body = {k: v for k, v in transfer_fields().items() if k != "sender_account_id"}
    made = maker.crypto(TREASURY, NewCryptoTransfer(**body)).value.id
    practice.pass_(days=7)
    assert made not in practice.ines.propose("crypto_transfer.create", **transfer_fields()).text
