"""Two months of the practice company that earlier versions closed with unlisted open money."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from click.testing import CliRunner
from drawn_company import DrawnCompany, drawn_company

from treasury.cli import treasury
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused
from treasury.month.items import OpenItems
from treasury.report import month_screen

pytestmark = pytest.mark.long_file

OPEN_IN_BOTH = {
    "PAY-2026-005349": ("payout_missing", Decimal("7829.08"), "EUR"),
    "PAY-2026-005001": ("blocked", Decimal(32_000), "EUR"),
    "PAY-2026-005326": ("blocked", Decimal(11_500), "EUR"),
}
STUCK = {"PAY-2026-005375": (Decimal(13_200), "EUR"), "PAY-2026-005379": (Decimal(6_100), "USDC")}
NEVER_FUNDED = ("PAY-2026-005358", "PAY-2026-005386", "PAY-2026-005402", "PAY-2026-005390")
LEGS = [Decimal("43078.68"), Decimal("59448.57")]
"""Amounts of two late transfers between own accounts, USDC 102,527.25 in all."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrawnCompany]:
    """Play October and November; every line that needs a person is decided in both."""
    with drawn_company(7, tmp_path_factory.mktemp("played") / "desk") as company:
        requests = {request.payment_reference: request.id for request in company.requests}
        company.desk.sync()
        company.desk.statements.add(sorted((company.folder / "bank").glob("*.xml")))
        company.decide(1)
        for name in NEVER_FUNDED:
            company.desk.funding.will_not_fund(name, "not wanted any more")
        for name in ("PAY-2026-005364", "PAY-2026-005351"):
            company.company.ramp.receive(requests[name])
            company.company.ramp.complete(requests[name])
        company.end_november()
        company.decide(1)
        yield company


def of_request(items: OpenItems, name: str) -> tuple[str, Decimal | None, str]:
    (item,) = [item for item in items.select(subject="request") if item.name == name]
    return item.kind, item.amount, item.currency


@pytest.mark.parametrize("month", ["2026-10", "2026-11"])
def test_open_items_are_listed_in_both_months(played: DrawnCompany, month: str) -> None:
    items = played.desk.open_items(month)
    for name, row in OPEN_IN_BOTH.items():
        assert of_request(items, name) == row
    for name, (amount, currency) in STUCK.items():
        assert of_request(items, name) == ("stuck", amount, currency)
    for name in NEVER_FUNDED:
        assert of_request(items, name)[0] == "will_not_fund"
    legs = items.select(kind="transfer_late")
    assert sorted(item.amount for item in legs if item.amount in LEGS) == LEGS
    (rest,) = items.select(subject="line")
    assert (rest.kind, rest.amount) == ("more_than_expected", Decimal(50))
    assert len(items.blocking) >= 3


def test_the_close_is_blocked_and_the_first_screen_names_the_blocking_items(
    played: DrawnCompany,
) -> None:
    closing = played.desk.periods.month(Month(2026, 11))
    screen = month_screen(closing)
    assert f" {len(closing.items.blocking)} of {len(closing.items)} open items block it" in screen
    for label in ("Payout or delivery missing", "Own transfer past its time"):
        assert label in screen
    assert "nothing" not in screen


@pytest.mark.parametrize(
    ("month", "missing"),
    [
        ("2026-10", "2, EUR 7,829.08 in, 0.01 out"),
        ("2026-11", "3, EUR 7,829.08 in, 12.01 out"),
    ],
)
def test_neither_month_is_prepared_before_carrying_its_items_is_accepted(
    played: DrawnCompany, month: str, missing: str
) -> None:
    """November adds EUR 12.00: the provider completed a request that was funded EUR 12.00 short."""
    with pytest.raises(ActionRefused, match=f"{month} is not prepared: ") as refused:
        played.desk.periods.prepare(month)
    assert f"Payout or delivery missing: {missing}" in str(refused.value)
    assert "Own transfer past its time" in str(refused.value)
    assert played.desk.periods.list().arrow.to_pylist() == []


def test_the_shell_lists_each_open_item_of_november(played: DrawnCompany) -> None:
    done = CliRunner().invoke(
        treasury, ["-w", str(played.folder), "exceptions", "--month", "2026-11", "--format", "csv"]
    )
    assert done.exit_code == 0
    for name in (*OPEN_IN_BOTH, *STUCK, *NEVER_FUNDED):
        assert done.stdout.count(name) >= 1
