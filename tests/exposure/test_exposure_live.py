"""Money with the sandbox's provider as its clock advances: kinds that October lacks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from filled import fill
from view_desk import observe, pay_in, virtual

from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


def by_kind(exposure: ProviderExposure, kind: str) -> list[tuple[Any, ...]]:
    """Return reference, state, amount, and whether it is proved, of each position of a kind."""
    return [
        (row["reference"], row["state"], row["amount"] or row["in_doubt"], row["problem"] == "")
        for row in exposure.positions.arrow.to_pylist()
        if row["kind"] == kind
    ]


def test_money_held_by_the_provider_is_shown_as_blocked_and_stuck(tmp_path: Path) -> None:
    desk = fill(tmp_path, Sandbox(7, scenario="holds-money"))
    exposure = desk.exposure("2026-10")
    assert by_kind(exposure, "blocked") == [("PAY-2026-005322", "BLOCKED", 11500, True)]
    assert [row[1:] for row in by_kind(exposure, "stuck")] == [
        ("MORE THAN WAS ASKED", 50, True), ("DENIED", 45000, True),
        ("NOT PROVABLE", 9200, False), ("NOT PROVABLE", 14000, False),
    ]  # fmt: skip
    denied = [
        row for row in exposure.not_provable.arrow.to_pylist() if row["kind"] == "crypto sent"
    ]
    assert [(row["in_doubt"], row["next_step"]) for row in denied] == [
        (2500, "ask the provider for them")
    ]


class Seen:
    """A desk that is synced daily until 5 November, and its exposures on 4 and 5 November."""

    def __init__(self, folder: Path) -> None:
        company = Sandbox(7)
        account: Mapping[str, Any] = virtual(observe(folder, company))
        self.account = account
        company.clock.advance(days=1)
        observe(folder, company)
        pay_in(company, dict(account), "900.00", instant=False)
        company.clock.set(datetime(2026, 11, 4, 7, 0, tzinfo=UTC))
        desk = observe(folder, company, last=date(2026, 11, 3))
        self.waiting = desk.exposure("2026-11")
        (request,) = desk.sql(
            "SELECT id FROM ramp_requests WHERE payment_reference = 'PAY-2026-005375'"
        ).arrow.to_pylist()
        company.ramp.complete(request["id"])
        company.clock.advance(days=1)
        day = date(2026, 11, 4)
        self.desk: Workspace = observe(folder, company, since=day, last=day)
        self.converted = self.desk.exposure("2026-11")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("seen"))


def coins(exposure: ProviderExposure, reference: str, currency: str) -> Decimal:
    """Return an account's proved custodial balance of a coin."""
    (row,) = (
        row
        for row in exposure.proved.arrow.to_pylist()
        if (row["kind"], row["reference"], row["currency"])
        == ("custodial balance", reference, currency)
    )
    amount: Decimal = row["amount"]
    return amount


@pytest.mark.acceptance
def test_a_credit_is_fiat_until_its_coins_are_in_the_balance_and_never_both(seen: Seen) -> None:
    code = seen.account["reference_code"]
    waiting = [row for row in by_kind(seen.waiting, "credit not converted") if row[3]]
    assert waiting == [(code, "NOT YET CREDITED", 900, True)]
    assert [row for row in by_kind(seen.converted, "credit not converted") if row[3]] == []
    before, after = (
        coins(exposure, "Treasury reserve", "USDC") for exposure in (seen.waiting, seen.converted)
    )
    assert after - before == Decimal("974.658869")


@pytest.mark.acceptance
def test_balances_observed_at_the_queried_instant_count(seen: Seen) -> None:
    totals = {row["scope"]: row["amount"] for row in seen.waiting.currencies.arrow.to_pylist()}
    assert totals["EURC"] == Decimal("199343.86") + Decimal("241842.31")
    assert totals["USDT"] == Decimal("204786.545048") + Decimal("124775.24")
    balances = seen.desk.sql(
        "SELECT asset, sum(total) AS total FROM wallet_balances"
        " WHERE observed_at = (SELECT max(observed_at) FROM wallet_balances) GROUP BY asset"
    ).arrow.to_pylist()
    sums = {row["asset"]: Decimal(0) for row in balances}
    for row in seen.converted.proved.arrow.to_pylist():
        if row["kind"] == "custodial balance":
            sums[row["currency"]] += row["amount"]
    assert sums == {row["asset"]: row["total"] for row in balances}


@pytest.mark.acceptance
def test_movements_cleared_after_the_cut_off_are_mentioned_for_the_month_before(seen: Seen) -> None:
    october = seen.desk.exposure("2026-10")
    (row,) = (row for row in october.proved.arrow.to_pylist() if row["cleared_at"])
    assert (row["reference"], row["amount"], row["cleared_by"]) == (
        "PAY-2026-005375", 13200, "coins delivered, by the service",
    )  # fmt: skip
    assert row["cleared_at"].date() == date(2026, 11, 4)
    totals = {row["scope"]: row for row in october.totals.arrow.to_pylist()}
    assert (totals["EUR"]["amount"], totals["EUR"]["cleared"]) == (Decimal("58067.08"), 13200)
    assert totals["all"]["cleared"] == 13200
    assert "PAY-2026-005375" not in seen.converted.proved.arrow["reference"].to_pylist()


@pytest.mark.acceptance
def test_coins_without_a_rate_of_today_are_named_as_left_out(seen: Seen) -> None:
    lacking = {
        row["currency"] for row in seen.waiting.proved.arrow.to_pylist() if row["value"] is None
    }
    # The bundled ECB history may end before the day of the exposure.
    if lacking:
        assert f"without {', '.join(sorted(lacking))}: no reference rate" in seen.waiting.title
    else:
        assert "no reference rate" not in seen.waiting.title


@pytest.mark.acceptance
def test_without_a_provider_report_no_limit_of_its_currency_is_provable(
    month_end_unreported: Workspace,
) -> None:
    exposure = month_end_unreported.exposure("2026-10")
    rows = [
        row
        for row in exposure.not_provable.arrow.to_pylist()
        if row["subject"] == "virtual_account"
    ]
    assert len(rows) == 4
    assert {(row["kind"], row["currency"], row["in_doubt"]) for row in rows} == {
        ("credit not converted", "EUR", None)
    }
    assert {
        row["in_doubt"] for row in exposure.totals.arrow.to_pylist() if row["currency"] == "EUR"
    } == {None}


@pytest.mark.acceptance
def test_blocked_failed_and_returned_requests_are_exposed_as_the_records_say(
    tmp_path: Path,
) -> None:
    company = Sandbox(7)
    requests = observe(tmp_path, company).sql("SELECT id, payment_reference FROM ramp_requests")
    ids = {row["payment_reference"][-4:]: row["id"] for row in requests.arrow.to_pylist()}
    company.ramp.fund(ids["5358"])
    company.ramp.fund(ids["5402"])
    # Both payments have arrived by now.
    company.clock.set(datetime(2026, 11, 3, 9, 45, tzinfo=UTC))
    company.ramp.fail(ids["5358"])
    company.ramp.block(ids["5402"])
    company.clock.advance(hours=1)
    # Money comes back for a failed request, and for a payment that the service never noticed.
    for number in ("5358", "5364"):
        company.ramp.refund(ids[number], text="returned funds")
    company.clock.set(datetime(2026, 11, 5, 7, 0, tzinfo=UTC))
    exposure = observe(tmp_path, company, last=date(2026, 11, 4)).exposure("2026-11")
    rows = {
        row["reference"][-4:]: (row["kind"], row["amount"], row["in_doubt"], row["problem"])
        for row in exposure.positions.arrow.to_pylist()
        if row["subject"] == "request" or row["kind"] == "stuck"
    }
    back = "a credit of 2026-11-03 may have brought it back"
    assert rows["5402"] == ("blocked", 8000, None, "")
    assert rows["5358"] == ("stuck", None, 15000, back)
    assert rows["5364"] == ("fiat in transit", None, 25000, back)
    days = [
        (row["day"].day, row["amount"])
        for row in exposure.days.arrow.to_pylist()
        if row["kind"] == "blocked"
    ]
    assert days == [(3, 8000), (4, 8000), (5, 8000)]
