"""Limits of the policy on carrying, accepting and signing, and claimed names in production."""

from __future__ import annotations

import pytest
from signed import ANNA, BERT, LATER, carry_all

from treasury.actions.policies.policy import Policy
from treasury.core.errors import ActionRefused
from treasury.core.money import format_amount
from treasury.journal import Actor
from treasury.month.items.open_item import OpenItem
from treasury.workspace import Workspace

TERMS = {"owner": "carla", "by": LATER, "reason": "carried forward"}
RULE = '[[rules]]\nkinds = ["item.carry"]\n'


def write(desk: Workspace, text: str) -> None:
    (desk.folder / "policy.toml").write_text(text, "utf-8")


def foreseen(desk: Workspace, step: str, actor: Actor) -> str:
    """Return why a step of October's close is refused before it is taken."""
    closing = desk.periods.at_close("2026-10")
    return str(desk.periods.foresee(step, closing, actor=actor).refusal)


@pytest.fixture
def two(desk: Workspace) -> tuple[OpenItem, OpenItem]:
    """Return two items in EUR that block October, the smaller one first."""
    blocking = [
        item
        for item in desk.open_items("2026-10").blocking
        if item.currency == "EUR" and item.amount and item.blocks == "until accepted"
    ]
    one, *_, other = sorted(blocking, key=lambda item: abs(item.amount or 0))
    return one, other


def test_an_item_beyond_the_limit_is_neither_proposed_nor_accepted(
    desk: Workspace, two: tuple[OpenItem, OpenItem]
) -> None:
    small, large = two
    assert small.amount is not None
    limit = abs(small.amount)
    write(desk, f'{RULE}at_most = {{EUR = "{limit}"}}\n')
    before = desk.journal.head()
    with pytest.raises(ActionRefused, match=r"may propose for one item\.carry") as refusal:
        desk.items.carry(small.item_id, large.item_id, **TERMS, month="2026-10", actor=ANNA)
    assert format_amount(limit, "EUR") in str(refusal.value)
    assert desk.journal.head() == before, "nothing was decided, not even about the small item"
    desk.items.carry(small.item_id, **TERMS, month="2026-10", actor=ANNA)
    write(desk, f'{RULE}at_most = {{USDC = "1.00"}}\n')
    with pytest.raises(ActionRefused, match=r"may approve for one item\.carry: EUR 0\.00"):
        desk.items.accept(small.item_id, month="2026-10", actor=BERT)
    write(desk, f'{RULE}approve = ["nora"]\n')
    with pytest.raises(ActionRefused, match=r"bert may not approve item\.carry.*ask nora"):
        desk.items.accept(small.item_id, month="2026-10", actor=BERT)
    (desk.folder / "policy.toml").unlink()
    (item,) = desk.items.accept(small.item_id, month="2026-10", actor=BERT)
    assert item.is_accepted, "without a rule there is no limit"


def test_the_daily_limit_counts_the_items_of_one_call_and_of_calls_before(
    desk: Workspace, two: tuple[OpenItem, OpenItem]
) -> None:
    small, large = two
    assert large.amount is not None
    write(desk, f'{RULE}per_day = {{EUR = "{abs(large.amount)}"}}\n')
    with pytest.raises(ActionRefused, match="more than a person may propose in a day"):
        desk.items.carry(small.item_id, large.item_id, **TERMS, month="2026-10", actor=ANNA)
    desk.items.carry(small.item_id, **TERMS, month="2026-10", actor=ANNA)
    with pytest.raises(ActionRefused, match="more than a person may propose in a day"):
        desk.items.carry(large.item_id, **TERMS, month="2026-10", actor=ANNA)
    (item,) = desk.items.carry(large.item_id, **TERMS, month="2026-10", actor=BERT)
    assert item.proposed_by == "bert"


@pytest.mark.acceptance
def test_a_month_beyond_the_limit_is_neither_prepared_nor_signed(desk: Workspace) -> None:
    carry_all(desk, "2026-10")
    rule = '[[rules]]\nkinds = ["month.close"]\n'
    write(desk, f'{rule}at_most = {{EUR = "1.00"}}\n')
    assert "may propose for one month.close" in foreseen(desk, "prepare", ANNA)
    with pytest.raises(ActionRefused, match=r"may propose for one month\.close: EUR 1"):
        desk.periods.prepare("2026-10", actor=ANNA)
    (desk.folder / "policy.toml").unlink()
    desk.periods.prepare("2026-10", actor=ANNA)
    write(desk, f'{rule}at_most = {{EUR = "1.00"}}\n')
    assert "may approve for one month.close" in foreseen(desk, "sign", BERT)
    with pytest.raises(ActionRefused, match=r"may approve for one month\.close: EUR 1"):
        desk.periods.sign("2026-10", actor=BERT)
    write(desk, f'{rule}approve = ["nora"]\n')
    with pytest.raises(ActionRefused, match=r"bert may not approve month\.close"):
        desk.periods.sign("2026-10", actor=BERT)
    assert desk.periods.sign("2026-10", actor=Actor("nora", "environment")).period is not None


@pytest.mark.acceptance
def test_a_claimed_name_signs_in_production_only_if_the_policy_says_so(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A fixed clock needs the sandbox, so this test treats the sandbox as production.
    check = Policy.check_signer
    monkeypatch.setattr(
        Policy, "check_signer", lambda self, actor, _: check(self, actor, "production")
    )
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    with pytest.raises(
        ActionRefused, match=r"the name bert is claimed, not verified.* in production"
    ):
        desk.periods.sign("2026-10", actor=BERT)
    write(desk, 'identified_by = ["hub", "environment"]\n')
    assert desk.periods.sign("2026-10", actor=BERT).period is not None
