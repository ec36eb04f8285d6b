"""A request is not to be paid, in any list, if its deposit details differ from earlier payments."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from decide_desk import copy_of, edit, payable

from treasury.cli import treasury
from treasury.core.money import format_amount
from treasury.month.states import PAYABLE
from treasury.workspace import Workspace

CHANGED = "LT601010012345678901"
"""Another account with the same last characters."""


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


def steps(desk: Workspace, row: str) -> dict[str, str]:
    """Return the next step of each request that a row of the morning's screen counts."""
    return {item.name: item.next_step for item in desk.status().lists[row]}


def amounts(desk: Workspace, row: str) -> Decimal:
    """Return the euros that a row of the morning's screen adds up."""
    items = desk.status().lists[row]
    return sum((item.amount or Decimal() for item in items if item.currency == "EUR"), Decimal())


def to_pay(desk: Workspace) -> str:
    (note,) = (word for word in str(desk.awaiting_funds()).splitlines() if "to pay now" in word)
    return note


def test_only_a_request_to_another_account_is_not_to_be_paid(desk: Workspace) -> None:
    before = steps(desk, "pay")
    to_pay_before = amounts(desk, "pay")
    changed, *others = [row for row in payable(desk) if row["currency"] == "EUR"]
    waiting = desk.awaiting_funds().arrow.to_pylist()
    euros = [row for row in waiting if row["currency"] == "EUR" and row["state"] in PAYABLE]
    in_all = sum((row["send"] for row in euros), Decimal())
    after_euros = [row for row in euros if row["state"] == "PAY"]
    assert set(before.values()) == {"Pay today with this reference"}
    edit(desk, "ramp_requests", "id", changed["request"], deposit_iban=CHANGED)
    desk = Workspace(desk.folder)
    after, name = steps(desk, "pay"), changed["reference"]
    assert len(others) > 1
    assert after == {row: step for row, step in before.items() if row != name}
    assert amounts(desk, "pay") == to_pay_before - changed["send"]
    step = (
        f"Do not pay: the account was {changed['to_account']} before, is {CHANGED}; call the"
        " provider on a number you know; if it confirms the account, pay by hand and mark it as"
        " sent"
    )
    assert steps(desk, "fix")[name] == step
    (item,) = desk.open_items(kind="account_changed")
    assert (item.name, item.state, item.is_blocking) == (name, "ACCOUNT CHANGED", True)

    # The note also counts returned and rejected payments, which the screen counts as to be fixed.
    left = format_amount(in_all - changed["send"], "EUR")
    only_pay = format_amount(to_pay_before - changed["send"], "EUR")
    assert f"in all to pay now: {left}" in to_pay(desk)
    (row,) = desk.awaiting_funds().where(state="ACCOUNT CHANGED").arrow.to_pylist()
    assert (row["request"], row["next_step"]) == (changed["request"], step)
    assert desk.trace(name).next_step == f"ACCOUNT CHANGED: {step}"

    # The month's table shows the same; the values that a close hashes are as before.
    month = desk.reconcile("2026-10").awaiting_funds
    assert f"in all to pay now: {left}" in str(month)
    (shown,) = [row for row in month.to_arrow().to_pylist() if row["reference"] == name]
    (stored,) = [row for row in month.arrow.to_pylist() if row["reference"] == name]
    assert (shown["state"], shown["next_step"]) == ("ACCOUNT CHANGED", step)
    assert stored["state"] == "PAY"

    printed = CliRunner().invoke(treasury, ["-w", str(desk.folder), "awaiting-funds"]).output
    assert f"ACCOUNT CHANGED: 1, {format_amount(changed['send'], 'EUR')}" in printed
    assert f"PAY: {len(after_euros) - 1}, {only_pay}" in printed
    assert " ".join(printed.split()).count(f"is {CHANGED}, since") == 1

    panel = desk.panels.funding(size=50)
    (row,) = [row for row in panel.rows.arrow.to_pylist() if row["request"] == changed["request"]]
    assert (row["payable"], row["deposit_iban"]) == (False, None)
    panel.press("export", chosen=[changed["request"]])
    assert "has new payment details" in str(panel.frame().message)

    desk.funding.marked_sent(name, "the provider confirmed it by phone, paid by hand")
    assert steps(Workspace(desk.folder), "fix")[name].startswith("Marked sent by ")


def test_blanks_in_an_account_change_nothing(desk: Workspace) -> None:
    row = next(row for row in payable(desk) if row["currency"] == "EUR")
    spaced = " ".join(row["to_account"][place : place + 4] for place in range(0, 24, 4))
    edit(desk, "ramp_requests", "id", row["request"], deposit_iban=spaced.lower())
    after = steps(Workspace(desk.folder), "pay")
    assert after[row["reference"]] == "Pay today with this reference"
