"""The table of states: every state makes an item of a known kind, and only a few may be paid."""

from __future__ import annotations

from typing import get_args

import pytest

from treasury.month.items.item_kinds import KINDS
from treasury.month.states import FUNDING_STATES, PAYABLE, Source, states_of, waiting_on


@pytest.mark.parametrize("source", get_args(Source))
def test_every_state_makes_an_item_of_a_known_kind(source: Source) -> None:
    states = states_of(source)
    assert states
    kinds = {state.kind for state in states.values()}
    late = {state.late_kind for state in states.values()} - {""}
    assert kinds | late <= KINDS.keys()


def test_only_states_that_are_our_turn_may_be_paid() -> None:
    assert {"PAY", "REJECTED", "RETURNED", "SEND CRYPTO"} == PAYABLE
    assert PAYABLE < waiting_on("ours") < FUNDING_STATES.keys()
    assert {KINDS[FUNDING_STATES[name].kind].turn for name in PAYABLE} == {"us"}


def test_a_request_in_a_payment_file_may_not_be_paid() -> None:
    assert not PAYABLE & waiting_on("bank's")
    assert not PAYABLE & waiting_on("service's")
