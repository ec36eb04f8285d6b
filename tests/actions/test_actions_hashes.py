"""A reused transaction hash needs a second person; in a one-person workspace, a reason."""

from __future__ import annotations

import pytest
from action_practice import PAYOUT, Practice, refused, request_fields

from treasury.actions import POLICY_FILE
from treasury.actions.action_states import DROPPED, OPEN, actions_of
from treasury.actions.transaction_hashes import STANDS_ON
from treasury.core.errors import InputError
from treasury.journal.decision_history import standing_hashes

HASH = "0x" + "1f" * 32
SUBMIT = "ramp_request.submit_hash"


def off_ramp(practice: Practice, amount: str) -> str:
    """Return the id of an off-ramp request that awaits its coins."""
    fields = request_fields(
        ramp_type="OFF_RAMP", amount=amount, company_wallet_id=None, company_bank_account_id=PAYOUT
    )
    made = practice.ines.execute(practice.ines.propose("ramp_request.create", **fields).id)
    assert made.outcome is not None
    request = made.outcome.record
    practice.jonas.execute(practice.jonas.propose("ramp_request.approve", request_id=request).id)
    return request


@pytest.fixture
def paid(practice: Practice) -> str:
    """Return the id of an off-ramp request with a submitted hash."""
    request = off_ramp(practice, "250")
    first = practice.ines.propose(SUBMIT, request_id=request, transaction_hash=HASH)
    assert (first.state, first.needed) == ("ready", 1)
    assert practice.ines.execute(first.id).state == "done"
    return request


def test_a_hash_assigned_to_another_request_needs_a_second_person(
    practice: Practice, paid: str
) -> None:
    reference = practice.client("viewer").ramp.requests.get(paid).value.payment_reference
    second = off_ramp(practice, "300")
    given = HASH.upper().replace("0X", "0x")
    action = practice.ines.propose(SUBMIT, request_id=second, transaction_hash=given)
    assert (action.state, action.needed) == ("proposed", 2)
    assert f"LOOK: the hash stands on {reference} already" in action.text
    assert next(one.value for one in action.facts if one.name == STANDS_ON) == reference
    assert "never the checker" in refused(lambda: practice.ines.approve(action.id))
    assert "waits for 1 more" in refused(lambda: practice.ines.execute(action.id))
    practice.jonas.approve(action.id)
    assert practice.ines.execute(action.id).state == "done"


def test_a_one_person_policy_still_needs_a_second_person_for_a_reused_hash(
    practice: Practice, paid: str
) -> None:
    rule = '[[rules]]\nkinds = ["ramp_request.*"]\npeople = 1\n'
    (practice.folder / POLICY_FILE).write_text(rule, "utf-8")
    second = off_ramp(practice, "300")
    action = practice.ines.propose(SUBMIT, request_id=second, transaction_hash=HASH)
    assert (action.state, action.needed) == ("proposed", 2)


def test_a_one_person_desk_gives_a_reason_for_a_reused_hash_and_is_marked(
    practice: Practice, paid: str
) -> None:
    second = off_ramp(practice, "300")
    (practice.folder / POLICY_FILE).write_text("one_person = true\n", "utf-8")
    with pytest.raises(InputError, match="reason: is missing, and the hash stands on PAY-"):
        practice.ines.propose(SUBMIT, request_id=second, transaction_hash=HASH)
    action = practice.ines.propose(
        SUBMIT, request_id=second, transaction_hash=HASH, reason="one payment for both"
    )
    assert action.state == "ready"
    for words in ("LOOK: the hash stands on", "has one person", "Reason: one payment for both"):
        assert words in action.text


def test_a_hash_assigned_to_another_request_meanwhile_lapses_the_action(
    practice: Practice,
) -> None:
    first, second = off_ramp(practice, "250"), off_ramp(practice, "300")
    early = practice.ines.propose(SUBMIT, request_id=first, transaction_hash=HASH)
    late = practice.ines.propose(SUBMIT, request_id=second, transaction_hash=HASH)
    assert (early.needed, late.needed) == (1, 2)
    practice.jonas.approve(late.id)
    practice.ines.execute(late.id)
    assert "the hash stands on was no other request" in refused(
        lambda: practice.ines.execute(early.id)
    )
    assert practice.ines.get(early.id).state == "lapsed"


def test_a_hash_stays_assigned_unless_its_action_is_dropped(practice: Practice) -> None:
    """`standing_hashes`, which funding reads, agrees with the states of the actions."""

    def agree() -> list[str]:
        acts = practice.journal.entries("action.")
        given = {
            action.target: action
            for action in actions_of(acts)
            if action.kind == SUBMIT and action.state not in DROPPED
        }
        hashes = standing_hashes(acts)
        assert {name: one.seq for name, one in hashes.items()} == {
            name: action.seq for name, action in given.items()
        }
        words = {"open": OPEN, "done": {"done"}}
        assert all(given[name].state in words[one.state] for name, one in hashes.items())
        return [one.state for one in hashes.values()]

    first, second = off_ramp(practice, "250"), off_ramp(practice, "300")
    assert agree() == []
    action = practice.ines.propose(SUBMIT, request_id=first, transaction_hash=HASH)
    assert agree() == ["open"]
    practice.ines.withdraw(action.id, reason="another")
    assert agree() == []
    action = practice.ines.propose(SUBMIT, request_id=first, transaction_hash=HASH)
    assert practice.ines.execute(action.id).state == "done"
    assert agree() == ["done"]
    waiting = practice.ines.propose(SUBMIT, request_id=second, transaction_hash=HASH)
    assert agree() == ["done", "open"]
    practice.jonas.approve(waiting.id)
    assert agree() == ["done", "open"]
    practice.ines.execute(waiting.id)
    assert agree() == ["done", "done"]
    sent = [entry for entry in practice.journal.entries("action.") if entry.kind != "action.done"]
    assert [one.state for one in standing_hashes(sent).values()] == ["left", "left"]
