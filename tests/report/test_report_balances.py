"""Custodial balances: proved by observations on both sides of a month's end, or in doubt."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from filled import fill

from treasury.close.closing import Closing
from treasury.core.calendar import Month
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

LOOKS = (
    datetime(2026, 11, 30, 22, 30, tzinfo=UTC),
    datetime(2026, 11, 30, 23, 30, tzinfo=UTC),
)
BEFORE_ITS_END = datetime(2026, 12, 31, 22, 30, tzinfo=UTC)
AFTER_ITS_END = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
"""Half an hour before and after the end of December in Brussels; `LOOKS` are around its beginning.
"""
Key = tuple[str, str]


class Desk:
    """A practice workspace that is synced around both ends of December, and again on 1 February."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.company = folder, Sandbox(7)
        self.workspace = fill(folder, self.company)
        (self.account,) = self.workspace.sql(
            "SELECT * FROM virtual_bank_accounts WHERE target_cryptocurrency = 'USDC'"
            " ORDER BY iban LIMIT 1"
        ).arrow.to_pylist()
        for instant in LOOKS:
            self.look(instant)
        self.held = {}
        self.pay_in(datetime(2026, 12, 9, 9, tzinfo=UTC), "1234.56")
        self.look(BEFORE_ITS_END)
        self.workspace.statements.add(
            self.company.write_bank_files(folder / "days", date(2026, 12, 1), date(2026, 12, 30))
        )
        self.held["2026-12"] = self.true_balances()
        self.look(AFTER_ITS_END)
        self.pay_in(datetime(2027, 1, 14, 9, tzinfo=UTC), "500.00")
        self.look(datetime(2027, 2, 1, 8, tzinfo=UTC))

    def look(self, instant: datetime) -> None:
        self.company.clock.set(instant)
        self.workspace = fill(self.folder, self.company)

    def pay_in(self, instant: datetime, amount: str) -> None:
        self.company.clock.set(instant)
        iban, code = self.account["iban"], self.account["reference_code"]
        self.company.banks.sepa_credit(iban=iban, amount=Decimal(amount), text=code, instant=True)

    def true_balances(self) -> dict[Key, Decimal]:
        """Return the balances in the ledger of the practice service, by account and asset."""
        wallets = self.workspace.sql("SELECT id, account_id FROM wallets").arrow.to_pylist()
        of = {row["id"]: row["account_id"] for row in wallets}
        held: dict[Key, Decimal] = defaultdict(Decimal)
        for place, assets in self.company.finance.ledger_balances().items():
            kind, _, rest = place.partition("/")
            if kind == "wallet":
                for asset, amount in assets.items():
                    held[of[rest.partition("/")[0]], asset] += amount
        return dict(held)

    def arrived(self, euros: str) -> Decimal:
        """Return the coins into which a credit of so many euros was converted."""
        (found,) = (
            one for one in self.company.finance.all_arrivals() if one.euros == Decimal(euros)
        )
        return found.coins


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("balances"))


def custodial(closing: Closing) -> dict[Key, dict[str, Any]]:
    rows = closing.balances.arrow.to_pylist()
    return {(row["of"], row["currency"]): row for row in rows if row["kind"] == "custodial"}


def step(workspace: Workspace, month: str, title: str) -> Any:
    return next(one for one in workspace.checklist(month).steps if one.title == title)


def test_balances_observed_around_both_ends_prove_every_balance(desk: Desk) -> None:
    found = custodial(desk.workspace.periods.month("2026-12"))
    assert {key: row["closing"] for key, row in found.items()} == desk.held["2026-12"]
    for row in found.values():
        assert (row["proved"], row["blocks"], row["proved_by"]) == (
            True,
            False,
            "balance intervals",
        )
        assert row["opening"] + row["money_in"] - row["money_out"] == row["closing"]
        assert row["unexplained"] == 0
    own = found[desk.account["account_id"], "USDC"]
    assert own["money_in"] == desk.arrived("1234.56")
    assert not step(desk.workspace, "2026-12", "Balances").blockers


def test_coins_that_may_lie_on_either_side_of_the_end_are_in_doubt_by_their_amount(
    desk: Desk,
) -> None:
    found = custodial(desk.workspace.periods.month("2027-01"))
    own = found.pop((desk.account["account_id"], "USDC"))
    assert {row["proved_by"] for row in found.values()} == {"balance intervals"}
    assert (own["proved"], own["blocks"], own["closing"]) == (False, True, None)
    assert own["opening"] == desk.held["2026-12"][desk.account["account_id"], "USDC"]
    assert own["in_doubt"] == desk.arrived("500.00")
    assert "may lie on either side" in own["problem"]
    (blocker,) = step(desk.workspace, "2027-01", "Balances").blockers
    assert (blocker.amount, blocker.currency) == (desk.arrived("500.00"), "USDC")
    assert ": ask the provider for the balance at the cut-off" in blocker.next_step


def test_until_a_sync_after_its_end_no_month_is_proved(desk: Desk) -> None:
    early = desk.workspace.at("2026-12-31T23:00Z")
    found = custodial(early.periods.month(Month(2026, 12)))
    for row in found.values():
        assert (row["proved"], row["closing"]) == (False, None)
        assert row["problem"] == "no balance was seen after 1 Jan 00:00"
        assert row["next_step"].startswith("run `treasury sync`")
    (blocker,) = step(early, "2026-12", "Sync").blockers
    assert blocker.label == "Services not read after the month's end"
    assert blocker.next_step == "Run `treasury sync`"
    assert not step(desk.workspace, "2026-12", "Sync").blockers
