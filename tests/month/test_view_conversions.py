"""Conversions of euros to coins, inferred from balances, compared with the sandbox's real ones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from filled import fill
from hypothesis import given, settings
from hypothesis import strategies as st
from view_desk import observe, pay_in, rows, virtual

from treasury import Workspace
from treasury.core.money import implied_rate, net_crypto
from treasury.matching.rules import Rules
from treasury.month.conversion import Conversion, conversion_rows
from treasury.month.reconciliation import Reconciliation
from treasury.sandbox import Sandbox
from treasury.sandbox.story.rates import Quotes

ZONE = ZoneInfo("Europe/Brussels")


def told_conversions(
    workspace: Workspace, company: Sandbox
) -> dict[tuple[str, str], list[Decimal]]:
    """Return the sums of the real conversions, in coins and euros, by account and asset."""
    accounts = {
        row["id"]: (row["account_id"], row["target_cryptocurrency"])
        for row in workspace.sql("SELECT * FROM virtual_bank_accounts").arrow.to_pylist()
    }
    sums: dict[tuple[str, str], list[Decimal]] = {}
    for line in company.truth():
        about = line["expectation"]
        if not about or about["kind"] != "virtual_bank_account":
            continue
        if line["returned"] or line["contradiction"]:
            continue
        account, asset = accounts[about["id"]]
        euros, booked = Decimal(line["amount"]), date.fromisoformat(line["booking_date"])
        day = booked if line["unbroken"] else booked + timedelta(days=2)
        coins = net_crypto(euros, Decimal(0), Quotes().rate(asset, day), asset)
        total = sums.setdefault((account, asset), [Decimal(0), Decimal(0)])
        total[0] += coins
        total[1] += euros
    return sums


def since_the_first_observe(r: Reconciliation, account: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an account's conversions since the first sync, or without an opening balance."""
    first = datetime(2026, 11, 2, 8, tzinfo=UTC)
    conversions = rows(r.conversions, account_id=account["account_id"])
    return [row for row in conversions if row["opened_at"] is None or row["opened_at"] >= first]


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in (8, 9))]
)
def test_inferred_conversions_equal_the_real_ones(seed: int, tmp_path: Path) -> None:
    company = Sandbox(seed)
    workspace = fill(tmp_path, company)
    conversions = workspace.reconcile("2026-10").conversions.arrow.to_pylist()
    truth = told_conversions(workspace, company)
    assert {(row["account_id"], row["asset"]) for row in conversions} == set(truth)
    for row in conversions:
        coins, euros = truth[row["account_id"], row["asset"]]
        assert row["state"] == "proved_as_group", row
        assert row["converted"] == coins
        assert row["opening"] == 0
        assert row["closing"] - row["known_in"] + row["known_out"] == coins
        assert row["rate_low"] <= row["implied_rate_to"] <= row["rate_high"]
        real = implied_rate(euros, coins)
        assert real is not None
        assert row["implied_rate"] <= real <= row["implied_rate_to"]
        if row["asset"] == "EURC":
            assert row["fiat"] == euros
            assert row["edge_credits"] == 0


@pytest.mark.acceptance
def test_case_38_without_a_provider_report_nothing_is_proved(
    month_end_unreported: Workspace,
) -> None:
    conversions = month_end_unreported.reconcile("2026-10").conversions.arrow.to_pylist()
    assert len(conversions) == 4
    assert {row["state"] for row in conversions} == {"not_provable"}
    assert all("no provider report" in row["reason"] for row in conversions)
    assert all(row["converted"] > 0 for row in conversions)


@pytest.mark.acceptance
def test_one_credit_between_two_syncs_is_proved_with_its_rate(tmp_path: Path) -> None:
    company = Sandbox(7)
    account = virtual(observe(tmp_path, company))
    company.clock.advance(days=1)
    observe(tmp_path, company)
    pay_in(company, account, "1234.56")
    company.clock.advance(days=1)
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    (row,) = since_the_first_observe(r, account)
    (arrival,) = company.finance.all_arrivals()
    assert row["state"] == "proved"
    assert (row["credits"], row["fiat"], row["converted"]) == (1, arrival.euros, arrival.coins)
    assert abs(row["implied_rate"] - arrival.rate) < Decimal("0.000001")
    assert row["next_step"] == ""


@pytest.mark.acceptance
def test_several_credits_between_two_syncs_are_proved_as_a_group(tmp_path: Path) -> None:
    company = Sandbox(8)
    account = virtual(observe(tmp_path, company), "EURC")
    for amount in ("310.10", "5020.00", "77.77"):
        pay_in(company, account, amount)
    company.clock.advance(days=2)
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    (row,) = since_the_first_observe(r, account)
    assert (row["state"], row["credits"], row["edge_credits"]) == ("proved_as_group", 3, 0)
    assert row["fiat"] == row["converted"] == Decimal("5407.87")
    assert row["implied_rate"] == row["implied_rate_to"] == 1


@pytest.mark.acceptance
def test_a_credit_reads_not_yet_credited_until_a_balance_holds_it(tmp_path: Path) -> None:
    company = Sandbox(7)
    account = virtual(observe(tmp_path, company))
    company.clock.advance(days=1)
    observe(tmp_path, company)
    pay_in(company, account, "900.00", instant=False)
    company.clock.set(datetime(2026, 11, 4, 7, 0, tzinfo=UTC))
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    (row,) = since_the_first_observe(r, account)
    assert (row["state"], row["fiat"]) == ("not_yet_credited", Decimal("900.00"))
    assert row["next_step"] == "Wait, then sync"
    (transit,) = rows(r.in_transit, what="virtual-account credit, not converted")
    assert transit["amount"] == Decimal("900.00")
    company.clock.advance(days=1)
    day = date(2026, 11, 4)
    r = observe(tmp_path, company, since=day, last=day).reconcile("2026-11")
    (row,) = since_the_first_observe(r, account)
    assert (row["state"], row["fiat"]) == ("proved", Decimal("900.00"))
    assert not rows(r.in_transit, what="virtual-account credit, not converted")


@pytest.mark.acceptance
def test_money_held_for_an_identity_check_is_labelled_inferred(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    account = virtual(workspace)
    (party,) = workspace.sql(
        "SELECT party_id FROM party_roles WHERE account_id = ?", [account["account_id"]]
    ).arrow.to_pylist()
    company.clock.advance(days=1)
    observe(tmp_path, company)
    company.finance.kyc(party["party_id"], "PENDING")
    pay_in(company, account, "640.00")
    company.clock.advance(days=1)
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    (row,) = rows(r.conversions, state="held_kyc")
    assert row["fiat"] == Decimal("640.00")
    assert "inferred" in row["reason"]
    (difference,) = rows(r.differences, state="HELD BY KYC")
    assert (difference["amount"], difference["currency"]) == (Decimal("640.00"), "EUR")
    company.finance.kyc(party["party_id"], "VERIFIED")
    company.clock.advance(hours=1)
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    assert not rows(r.conversions, state="held_kyc")
    assert rows(r.conversions, state="proved", fiat=Decimal("640.00"))


# Conversions computed from handmade rows

OPENED = datetime(2026, 10, 1, 8, tzinfo=UTC)
ACCOUNT = {
    "account_id": "a", "account_name": "Sales", "asset": "USDC", "currency": "EUR",
    "kyc_status": "VERIFIED", "opened_at": datetime(2026, 5, 1, tzinfo=UTC),
}  # fmt: skip
RATES = [
    {
        "asset": "USDC", "currency": "EUR", "quoted_on": date(2026, 10, 1),
        "lowest": Decimal("0.92"), "highest": Decimal("0.93"),
    }
]  # fmt: skip
USUAL = Rules()
REPORT = {"currency": "EUR", "covered_from": date(2026, 5, 1), "covered_to": date(2026, 12, 31)}


def credit(name: str, day: date, amount: Decimal, **more: Any) -> dict[str, Any]:
    """Return a matched credit in EUR on an account that converts to USDC."""
    return {
        "account_id": "a", "asset": "USDC", "currency": "EUR", "entry_id": name,
        "booking_date": day, "amount": amount, "outcome": "matched", "is_instant": False,
        "is_decided": False,
    } | more  # fmt: skip


def interval(closed: datetime, converted: Decimal, opened: datetime = OPENED) -> dict[str, Any]:
    """Return the period between two observed balances, with the coins that came in it."""
    zero = Decimal(0)
    return {
        "account_id": "a", "asset": "USDC", "opened_at": opened, "closed_at": closed,
        "opening": zero, "closing": converted, "known_in": zero, "known_out": zero,
        "converted": converted, "is_incomplete": False,
    }  # fmt: skip


def walk(
    intervals: list[dict[str, Any]],
    credits: list[dict[str, Any]],  # noqa: A002 - what a bank calls them
    *,
    rates: list[dict[str, Any]] = RATES,
    report: dict[str, Any] = REPORT,
    rules: Rules = USUAL,
) -> list[Conversion]:
    """Return the conversions of an account, computed from intervals and credits."""
    observation = {"observed_at": intervals[-1]["closed_at"] if intervals else None}
    return conversion_rows(
        [ACCOUNT | observation], intervals, credits, rates, [report],
        until=date(2026, 12, 31), rules=rules, zone=ZONE,
    )  # fmt: skip


NEXT_WEEK = datetime(2026, 10, 9, 8, tzinfo=UTC)


def test_a_rate_beyond_the_band_is_never_proved() -> None:
    credits = [credit("c", date(2026, 10, 2), Decimal("930.00"))]  # noqa: A001
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], credits)
    assert (row.state, row.implied_rate) == ("proved", Decimal("0.93"))
    (row,) = walk([interval(NEXT_WEEK, Decimal(970))], credits)
    assert (row.state, row.implied_rate) == ("rate_outside_band", Decimal("0.95876289"))
    (row,) = walk(
        [interval(NEXT_WEEK, Decimal(970))], credits, rules=Rules(conversion_band=Decimal(4))
    )
    assert row.state == "proved"


def test_case_19_a_tolerance_never_hides_a_fee_where_coins_are_one_to_one() -> None:
    pair = Rules(one_to_one=("EUR/USDC",))
    credits = [credit("c", date(2026, 10, 2), Decimal("1000.00"))]  # noqa: A001
    (row,) = walk([interval(NEXT_WEEK, Decimal("1000.000000"))], credits, rules=pair)
    assert (row.state, row.implied_rate) == ("proved", 1)
    (row,) = walk([interval(NEXT_WEEK, Decimal("999.999999"))], credits, rules=pair)
    assert row.state == "rate_outside_band"


def many(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return sixteen credits of one account, EUR 70,756.03 in all, and the given ones."""
    usual = [credit(f"c{n:02}", date(2026, 10, 2), Decimal(4_500)) for n in range(14)]
    last = [
        credit("p", date(2026, 10, 5), Decimal(4_000)),
        credit("q", date(2026, 10, 6), Decimal("3756.03")),
    ]
    return [*usual, *last, *more]


def placed(rows: list[Conversion]) -> dict[str, str]:
    """Return each credit that certainly belongs to a conversion, with the conversion's state."""
    return {name: row.state for row in rows for name in row.entry_ids}


@pytest.mark.parametrize(
    ("rules", "coins"),
    [
        (Rules(conversion_band=Decimal(1)), "76081.75"),
        (Rules(one_to_one=("EUR/USDC",)), "70756.03"),
    ],
    ids=["within a band", "one to one"],
)
def test_a_credit_given_to_the_wrong_account_affects_no_other_credit(
    rules: Rules, coins: str
) -> None:
    rates = [RATES[0] | {"lowest": Decimal("0.93"), "highest": Decimal("0.93")}]
    moved = [interval(NEXT_WEEK, Decimal(coins))]
    before = walk(moved, many(), rates=rates, rules=rules)
    wrong = credit("x", date(2026, 10, 2), Decimal(1_575), is_decided=True)
    after = walk(moved, many(wrong), rates=rates, rules=rules)
    assert set(placed(before).values()) == {"proved_as_group"}
    assert placed(after) == placed(before) | {"x": "not_shown"}
    (row,) = [row for row in after if row.state == "not_shown"]
    assert (row.fiat, row.credits) == (Decimal(1_575), 1)
    assert "given to this account by a person" in row.reason


def test_a_credit_given_to_the_account_that_converted_it_is_proved_with_the_others() -> None:
    one_to_one = Rules(one_to_one=("EUR/USDC",))
    right = credit("x", date(2026, 10, 2), Decimal(1_575), is_decided=True)
    wrong = credit("y", date(2026, 10, 2), Decimal(99), is_decided=True)
    moved = [interval(NEXT_WEEK, Decimal("72331.03"))]
    assert {row.state for row in walk(moved, many(), rules=one_to_one)} == {"rate_outside_band"}
    for given_ones in ((right, wrong), (wrong, right)):
        states = placed(walk(moved, many(*given_ones), rules=one_to_one))
        assert states["x"] == states["q"] == "proved_as_group"
        assert states["y"] == "not_shown"


def test_a_credit_that_a_person_gave_elsewhere_may_still_be_where_it_arrived() -> None:
    one_to_one = Rules(one_to_one=("EUR/USDC",))
    for outcome in ("conflict", "decided otherwise"):
        arrived = credit("x", date(2026, 10, 2), Decimal(1_575), outcome=outcome)
        states = placed(
            walk([interval(NEXT_WEEK, Decimal("70756.03"))], many(arrived), rules=one_to_one)
        )
        assert "x" not in states
        assert set(states.values()) == {"proved_as_group"}


def test_two_credits_of_one_amount_are_not_distinguished() -> None:
    credits = [credit(name, date(2026, 10, 8), Decimal("930.00")) for name in "ab"]  # noqa: A001
    (row, *_) = walk([interval(NEXT_WEEK, Decimal(1000))], credits)
    assert (row.state, row.entry_ids, row.edge_ids) == ("proved_as_group", [], ["a", "b"])


def test_nothing_is_proved_outside_the_report() -> None:
    credits = [credit("c", date(2026, 10, 2), Decimal("930.00"))]  # noqa: A001
    short = REPORT | {"covered_to": date(2026, 10, 7)}
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], credits, report=short)
    assert (row.state, row.reason) == (
        "not_provable", "the provider's report reaches to 7 Oct 2026 only",
    )  # fmt: skip
    late = REPORT | {"covered_from": date(2026, 10, 2)}
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], credits, report=late)
    assert row.state == "not_provable"
    nothing = REPORT | {"covered_from": None, "covered_to": None}
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], credits, report=nothing)
    assert row.state == "not_provable"


def test_coins_that_no_credit_explains_may_be_a_session_and_are_not_provable() -> None:
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], [])
    assert row.state == "not_provable"
    assert "payment sessions and payment requests" in row.reason
    (row,) = walk([interval(NEXT_WEEK, Decimal(-5))], [])
    assert row.state == "not_provable"
    assert "USDC 5.000000 lower" in row.reason
    unstated = interval(NEXT_WEEK, Decimal(1000)) | {"is_incomplete": True, "converted": None}
    (row,) = walk([unstated], [credit("c", date(2026, 10, 2), Decimal("930.00"))])
    assert row.state == "not_provable"
    (row,) = walk([interval(NEXT_WEEK, Decimal(1000))], [], rates=[])
    assert "no rate of USDC in EUR is recorded" in row.reason


def test_a_credit_without_its_reference_has_48_clock_hours() -> None:
    # 23 October 2026 is a Friday; the clocks go back on Sunday morning.
    day = date(2026, 10, 23)
    unnamed = [credit("c", day, Decimal("930.00"), outcome="unreferenced")]
    quiet = interval(datetime(2026, 10, 25, 21, 59, tzinfo=UTC), Decimal(0))
    (row,) = walk([quiet], unnamed)
    assert row.due == datetime(2026, 10, 25, 22, tzinfo=UTC)
    assert row.next_step == "Wait, then sync"
    quiet = interval(datetime(2026, 10, 25, 22, 1, tzinfo=UTC), Decimal(0))
    (row,) = walk([quiet], unnamed)
    assert row.next_step == "Ask the provider where they are"


moments = st.integers(0, 20 * 24 * 4).map(lambda n: OPENED + timedelta(minutes=15 * n))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, datetime], list[datetime]]:
    """Draw credits, conversion times (some credits have none), and observation times."""
    credits, converted = [], {}  # noqa: A001
    for number in range(draw(st.integers(1, 6))):
        day = OPENED.date() + timedelta(days=draw(st.integers(1, 14)))
        amount = Decimal(draw(st.integers(10_00, 5000_00))) / 100
        instant = draw(st.booleans())
        name = f"c{number}"
        credits.append(credit(name, day, amount, is_instant=instant))
        begin = datetime.combine(day, datetime.min.time(), ZONE).astimezone(UTC)
        hours = draw(st.integers(1, 23 if instant else 40))
        if draw(st.integers(0, 9)):
            converted[name] = begin + timedelta(hours=hours)
    moments_observed = sorted(draw(st.sets(moments, min_size=1, max_size=8)))
    return credits, converted, moments_observed


@settings(max_examples=150)
@given(histories(), st.integers(9200, 9300))
def test_the_stated_facts_about_a_credit_are_true(
    history: tuple[list[dict[str, Any]], dict[str, datetime], list[datetime]], pips: int
) -> None:
    """In any order of conversions, a proof names only credits that were already converted."""
    credits, converted, moments_observed = history  # noqa: A001
    rate = Decimal(pips) / 10000
    coins = {c["entry_id"]: net_crypto(c["amount"], Decimal(0), rate, "USDC") for c in credits}
    observations = [OPENED, *(moment for moment in moments_observed if moment > OPENED)]
    intervals = []
    for opened, closed in pairwise(observations):
        moved = sum(
            (coins[name] for name, at in converted.items() if opened < at <= closed), Decimal(0)
        )
        if moved or closed == observations[-1]:
            intervals.append(interval(closed, moved, opened))
    for row in walk(intervals, credits):
        if row.state == "proved":
            (name,) = row.entry_ids
            assert row.opened_at is not None
            assert row.closed_at is not None
            assert converted[name] <= row.closed_at
        if row.state == "proved_as_group" and row.converted is not None:
            assert row.rate_low is not None
            assert row.closed_at is not None
            for name in row.entry_ids:
                assert converted[name] <= row.closed_at
