"""An account without recent statements: balances that a person confirms may cover its months."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from case_desk import OWN, camt, desk, entry

from treasury.core.errors import InputError, NothingStored
from treasury.workspace import Workspace

AUGUST = ("2026-08-01", "2026-08-31")


@pytest.fixture
def dormant(tmp_path: Path) -> Workspace:
    """Return a desk with two accounts: one without a statement after August, one with October's."""
    workspace = desk(tmp_path / "desk")
    moved = entry("7.00", day="2026-08-15")
    workspace.statements.add([camt(tmp_path, moved, closing="107.00", days=AUGUST)])
    second_account = "BE71096123456769"
    settings = workspace.folder / "treasury.toml"
    block = f'\n[[accounts]]\naccount = "{second_account}"\nsource = "own_bank"\n'
    settings.write_text(settings.read_text("utf-8") + block, "utf-8")
    file = camt(tmp_path, entry("1.00"), closing="101.00", name="other.xml")
    file.write_text(file.read_text("utf-8").replace(OWN, second_account), "utf-8")
    workspace = Workspace(workspace.folder)
    workspace.statements.add([file])
    return workspace


def account_row(workspace: Workspace) -> dict[str, Any]:
    rows = workspace.reconcile("2026-10").statements.arrow.to_pylist()
    return next(row for row in rows if row["account"] == OWN)


@pytest.mark.acceptance
def test_a_confirmed_balance_covers_the_days_since_the_last_statement(dormant: Workspace) -> None:
    assert not account_row(dormant)["complete"]
    dormant.statements.confirm(OWN, "107.00", "2026-10-31", source="online banking")
    row = account_row(dormant)
    assert row["complete"]
    assert (row["opening_balance"], row["closing_balance"]) == (Decimal(107), Decimal(107))
    assert not dormant.open_items("2026-10").select(kind="statement_missing")
    (confirmation,) = dormant.sql("SELECT * FROM balance_confirmations").arrow.to_pylist()
    assert (confirmation["source"], confirmation["stated_by"]) == (
        "online banking",
        dormant.journal.who().name,
    )


@pytest.mark.acceptance
def test_a_balance_other_than_the_last_covers_nothing_and_is_reported(dormant: Workspace) -> None:
    dormant.statements.confirm(OWN, "90.00", "2026-10-31", source="online banking")
    assert not account_row(dormant)["complete"]
    rows = dormant.statements.coverage().arrow.to_pylist()
    (row,) = (row for row in rows if row["account"] == OWN)
    assert (
        "2026-09-01 to 2026-10-30 missing: closing EUR 107.00, next confirmed EUR 90.00"
        in (row["gaps"])
    )


@pytest.mark.acceptance
def test_two_equal_confirmations_cover_an_account_without_any_statement(dormant: Workspace) -> None:
    dormant.statements.withdraw("october.xml", reason="another account's")
    dormant.statements.confirm(OWN, "107.00", "2026-09-30", source="letter of the bank")
    assert not account_row(dormant)["complete"]
    dormant.statements.confirm(OWN, "107.00", "2026-11-01", source="letter of the bank")
    row = account_row(dormant)
    assert row["complete"]
    assert row["closing_balance"] == Decimal(107)


@pytest.mark.acceptance
def test_a_month_that_confirmations_cover_is_answered_without_any_line(dormant: Workspace) -> None:
    with pytest.raises(NothingStored, match="nothing is stored for 2026-07"):
        dormant.reconcile("2026-07")
    assert "statement_missing" in {item.kind for item in dormant.open_items("2026-09")}
    dormant.statements.confirm(OWN, "107.00", "2026-10-01", source="letter of the bank")
    answer = dormant.reconcile("2026-09")
    assert len(answer.lines) == 0
    row = next(row for row in answer.statements.arrow.to_pylist() if row["account"] == OWN)
    assert (row["opening_balance"], row["closing_balance"]) == (Decimal(107), Decimal(107))


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("account", "day", "source", "why"),
    [
        ("BE1", "2026-10-31", "x", "account BE1 is not declared"),
        (OWN, "2026-11-03", "x", "2026-11-03 has not ended"),
        (OWN, "31st October", "x", "is not a day"),
        (OWN, "2026-10-31", " ", "needs a source"),
    ],
)
def test_an_invalid_confirmation_is_refused(
    dormant: Workspace, account: str, day: str, source: str, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        dormant.statements.confirm(account, "1.00", day, source=source)
