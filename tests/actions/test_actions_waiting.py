"""A proposed action waits for the people who may still approve it under the current policy."""

from __future__ import annotations

import pytest
from action_practice import Practice, transfer_fields

from treasury.actions import POLICY_FILE, load_policy
from treasury.actions.action_states import actions_of
from treasury.actions.authority.approvers import waiting_for

RULE = '[[rules]]\nkinds = ["crypto_transfer.*"]\n'


def waits_for(practice: Practice, *people: str) -> list[str]:
    """Return those of these people for whom an action waits."""
    actions = actions_of(practice.journal.entries("action."))
    policy = load_policy(practice.folder)
    return [person for person in people if waiting_for(person, actions, policy)]


def propose(practice: Practice, policy: str = "") -> str:
    (practice.folder / POLICY_FILE).write_text(policy, "utf-8")
    return practice.ines.propose("crypto_transfer.create", **transfer_fields()).id


def test_an_action_waits_for_anyone_but_its_maker_until_decided(practice: Practice) -> None:
    action = propose(practice)
    assert waits_for(practice, "ines", "Ines", "jonas", "nora") == ["jonas", "nora"]
    practice.jonas.approve(action)
    assert waits_for(practice, "ines", "jonas", "nora") == []


def test_an_action_for_three_people_waits_for_those_who_have_not_approved(
    practice: Practice,
) -> None:
    action = propose(practice, f"{RULE}people = 3\n")
    practice.jonas.approve(action)
    assert waits_for(practice, "ines", "jonas", "nora") == ["nora"]


@pytest.mark.parametrize(
    ("terms", "waiting"),
    [
        ('approve = ["nora"]\n', ["nora"]),
        ("at_most = {USDC = 50}\n", ["jonas", "nora"]),
        ("", ["jonas", "nora"]),
    ],
)
def test_an_action_waits_for_people_whose_limit_allows_its_amount(
    practice: Practice, terms: str, waiting: list[str]
) -> None:
    propose(practice, f"{RULE}{terms}")
    assert waits_for(practice, "ines", "jonas", "nora") == waiting


def test_a_lowered_limit_leaves_no_possible_approver(practice: Practice) -> None:
    propose(practice)
    (practice.folder / POLICY_FILE).write_text(f"{RULE}at_most = {{USDC = 1}}\n", "utf-8")
    assert waits_for(practice, "jonas", "nora") == []


def test_an_action_waits_although_a_hub_identifies_the_users(practice: Practice) -> None:
    propose(practice)
    hub = '[hub]\napi = "https://hub.example.test/hub/api"\n'
    (practice.folder / POLICY_FILE).write_text(hub, "utf-8")
    assert waits_for(practice, "jonas") == ["jonas"]
