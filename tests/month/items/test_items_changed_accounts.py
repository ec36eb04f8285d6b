"""A request is not to be paid, in any list, if its deposit details differ from earlier payments."""

from __future__ import annotations

from pathlib import Path

import pytest
from decide_desk import copy_of, edit, payable

from treasury.workspace import Workspace

CHANGED = "LT601010012345678901"
"""Another account with the same last characters."""


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


def steps(desk: Workspace) -> dict[str, str]:
    """Return the next step of each request that the morning's screen counts as to be paid."""
    return {item.name: item.next_step for item in desk.status().lists["pay"]}


def test_only_a_request_to_another_account_is_not_to_be_paid(desk: Workspace) -> None:
    before = steps(desk)
    changed, *others = [row for row in payable(desk) if row["currency"] == "EUR"]
    assert set(before.values()) == {"Pay today with this reference"}
    edit(desk, "ramp_requests", "id", changed["request"], deposit_iban=CHANGED)
    after = steps(Workspace(desk.folder))
    assert after[changed["reference"]] == (
        f"Do not pay: the account was {changed['to_account']} before, is {CHANGED};"
        " call the provider first"
    )
    assert len(others) > 1
    assert all(after[row["reference"]] == before[row["reference"]] for row in others)


def test_blanks_in_an_account_change_nothing(desk: Workspace) -> None:
    row = next(row for row in payable(desk) if row["currency"] == "EUR")
    spaced = " ".join(row["to_account"][place : place + 4] for place in range(0, 24, 4))
    edit(desk, "ramp_requests", "id", row["request"], deposit_iban=spaced.lower())
    assert steps(Workspace(desk.folder))[row["reference"]] == "Pay today with this reference"
