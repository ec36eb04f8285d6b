"""A handmade exposure: sums, values, limits, ages, cleared amounts and unknowns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from exposure_samples import (
    AFTER,
    END,
    PAR,
    START,
    ZONE,
    account,
    answer,
    at,
    doubted,
    exposed,
    on,
    rates,
    span,
    virtual,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.valuation.exposure.evidence_gaps import gap_spans
from treasury.close.valuation.exposure.exposure_sums import HeldAmount
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure

READ = at(2, 9, month=11)


def row(exposure: ProviderExposure, scope: str) -> dict[str, Any]:
    (found,) = [each for each in exposure.totals.arrow.to_pylist() if each["scope"] == scope]
    return found


def test_sums_are_by_currency_and_in_euros() -> None:
    exposure = exposed(
        span("70.00", at(5)), span("30.50", at(6)), span("100", at(7), currency="USDC"),
        span("9.99", at(8), at(20)),
    )  # fmt: skip
    assert row(exposure, "EUR")["amount"] == Decimal("100.50")
    assert (row(exposure, "USDC")["amount"], row(exposure, "USDC")["value"]) == (100, 90)
    whole = row(exposure, "all")
    assert (whole["amount"], whole["currency"], whole["standing"]) == (
        Decimal("190.50"), "EUR", "no limit",
    )  # fmt: skip
    assert (whole["peak"], whole["peak_at"]) == (Decimal("200.49"), at(8))
    assert exposure.title == "With the provider at the end of 31 Oct: EUR 190.50"
    assert repr(exposure) == f"<{exposure.title}>"


@pytest.mark.acceptance
def test_a_sum_is_rounded_once_and_not_row_by_row() -> None:
    exposure = exposed(
        *(span("0.000001", at(5), currency="USDC", subject_id=str(n)) for n in range(6000))
    )
    assert row(exposure, "USDC")["value"] == row(exposure, "all")["value"] == Decimal("0.01")
    assert {each["value"] for each in exposure.positions.arrow.to_pylist()} == {0}


def test_amounts_without_a_rate_are_counted_separately_and_never_as_zero() -> None:
    exposure = exposed(span("100.00", at(5)), span("2", at(6), currency="ETH"), all="500", ETH="5")
    ether, whole = row(exposure, "ETH"), row(exposure, "all")
    assert (ether["amount"], ether["value"], ether["standing"]) == (2, None, "within")
    assert ether["valued_by"] == "not provable: no file has ETH, and no parity is assumed"
    assert (whole["amount"], whole["not_provable"], whole["in_doubt"]) == (100, 1, None)
    assert whole["standing"] == "not provable"
    assert whole["valued_by"] == "without ETH: no reference rate"
    last = [each for each in exposure.days.arrow.to_pylist() if each["kind"] == "all"][-1]
    assert (last["amount"], last["valued_by"]) == (100, "without ETH: no reference rate")
    (eth,) = [each for each in exposure.ages.arrow.to_pylist() if each["currency"] == "ETH"]
    assert eth["value"] is None


def test_the_maximum_says_if_a_day_had_no_rate() -> None:
    gone = span("100", at(5), at(20), currency="USDC")
    exposure = exposed(span("1.00", at(5)), gone, by=rates({"USDC": PAR["USDC"]}, until=on(7)))
    whole = row(exposure, "all")
    assert whole["peak"] == 91
    assert whole["valued_by"] == "the peak is without USDC: no reference rate"
    assert whole["not_provable"] == 0, "at the instant no amount lacks a rate"


@pytest.mark.parametrize(
    ("limit", "standing", "above"),
    [("99.99", "above", Decimal("0.01")), ("100.00", "within", None), ("100.01", "within", None),
     ("0", "above", Decimal(100))],
)  # fmt: skip
def test_a_limit_is_exceeded_only_above_its_amount(limit: str, standing: str, above: Any) -> None:
    exposure = exposed(span("100.00", at(30)), EUR=limit, all=limit)
    for scope in ("EUR", "all"):
        assert row(exposure, scope)["standing"] == standing
        assert row(exposure, scope)["above_limit"] == above


def test_a_limit_is_met_if_certain_and_doubtful_amounts_are_below_it() -> None:
    spans = (span("100.00", at(5)), doubted("50.00", subject_id="r2"))
    assert row(exposed(*spans, EUR="150.00", all="150.00"), "EUR")["standing"] == "within"
    assert row(exposed(*spans, EUR="150.00", all="150.00"), "all")["standing"] == "within"
    for scope in ("EUR", "all"):
        assert row(exposed(*spans, **{scope: "149.99"}), scope)["standing"] == "not provable"
        assert row(exposed(*spans, **{scope: "99.00"}), scope)["standing"] == "above"
    unknown = (*spans, doubted(None, subject_id="r3"))
    assert row(exposed(*unknown, EUR="1000000"), "EUR")["standing"] == "not provable"
    coins = (*spans, doubted("1", subject_id="r3", currency="ETH"))
    assert row(exposed(*coins, all="1000000", EUR="1000000"), "all")["standing"] == "not provable"
    assert row(exposed(*coins, EUR="1000000"), "EUR")["standing"] == "within"


def test_money_of_an_unknown_currency_makes_every_limit_unprovable() -> None:
    exposure = exposed(
        span("1.00", at(5)), doubted(None, currency="", subject="source"),
        EUR="100", USDC="100", all="100",
    )  # fmt: skip
    assert [each["scope"] for each in exposure.totals.arrow.to_pylist()] == ["EUR", "USDC", "all"]
    assert {each["standing"] for each in exposure.totals.arrow.to_pylist()} == {"not provable"}
    assert {each["not_provable"] for each in exposure.totals.arrow.to_pylist()} == {1}


def test_a_limit_of_an_unused_currency_is_met() -> None:
    exposure = exposed(USDC="10")
    assert (row(exposure, "USDC")["amount"], row(exposure, "USDC")["standing"]) == (0, "within")
    assert len(exposure.positions) == len(exposure.ages) == 0
    assert [each["amount"] for each in exposure.days.arrow.to_pylist()] == [0] * 31
    assert row(exposure, "all")["peak"] is None


def test_days_above_the_limit_are_counted_even_if_the_last_is_below() -> None:
    exposure = exposed(span("60.00", at(5)), span("60.00", at(7), at(10)), EUR="100", all="90.00")
    assert (row(exposure, "EUR")["days_above"], row(exposure, "EUR")["standing"]) == (3, "within")
    assert row(exposure, "all")["days_above"] == 3
    assert row(exposure, "all")["peak"] == 120


def test_ages_count_from_arrival_in_the_days_of_the_rail() -> None:
    exposure = exposed(
        span("1.00", at(30, 0)), span("2.00", at(29), subject_id="r2"),
        span("4.00", at(26), subject_id="r3", began=at(14)),
        span("8", at(30), currency="USDC", subject_id="r4"),
        span("16.00", at(1), kind="custodial balance", subject="balance"),
        span("32.00", at(1), subject_id="r5", began=at(1, month=8)),
    )  # fmt: skip
    ages = [
        (each["age"], each["currency"], each["amount"]) for each in exposure.ages.arrow.to_pylist()
    ]
    assert ages == [
        # 30 October is the last TARGET day.
        ("0 to 1 day", "EUR", 3),
        ("0 to 1 day", "USDC", 8),
        ("11 to 30 days", "EUR", 4),
        ("over 30 days", "EUR", 32),
        ("at call: custodial balance", "EUR", 16),
    ]
    by_amount = {each["amount"]: each for each in exposure.positions.arrow.to_pylist()}
    assert (by_amount[2]["age"], by_amount[2]["clock"]) == (1, "TARGET day")
    assert (by_amount[8]["age"], by_amount[8]["clock"]) == (1, "calendar day")
    assert (by_amount[16]["age"], by_amount[16]["clock"]) == (None, "")


def test_money_that_left_after_the_cut_off_is_mentioned_and_stays_in_the_sum() -> None:
    here = span("70.00", at(30), AFTER, left_at=AFTER, left_by="coins delivered, by the service")
    later = span(
        "30.00", at(30), AFTER + timedelta(days=1), subject_id="r2",
        left_at=AFTER + timedelta(days=1), left_by="paid out",
    )  # fmt: skip
    exposure = exposed(here, later)
    euros = row(exposure, "EUR")
    assert (euros["amount"], euros["cleared"], row(exposure, "all")["cleared"]) == (100, 70, 70)
    by_amount = {each["amount"]: each for each in exposure.positions.arrow.to_pylist()}
    assert by_amount[70]["cleared_at"] == AFTER
    assert by_amount[70]["cleared_by"] == "coins delivered, by the service"
    assert (by_amount[30]["cleared_at"], by_amount[30]["cleared_by"]) == (None, "")


def test_an_open_month_is_reported_up_to_now() -> None:
    exposure = exposed(span("5.00", at(3)), known_at=at(6, 10))
    assert exposure.at == at(6, 10)
    assert exposure.instant == "6 Oct 10:00 CEST"
    days = [each for each in exposure.days.arrow.to_pylist() if each["kind"] == "all"]
    assert [each["day"] for each in days] == [on(day) for day in range(1, 7)]
    assert days[-1]["at"] == at(6, 10)
    before = exposed(span("5.00", at(3, month=9)), known_at=START - timedelta(days=1))
    assert len(before.days) == 0
    assert row(before, "EUR")["amount"] == 5


def test_equal_doubtful_amounts_are_one_row_with_their_sum() -> None:
    lines = [
        doubted("1.50", subject="line", subject_id=f"e{n}", kind="credit not converted",
                reference="VFY-1", since=at(4 + n))
        for n in range(3)
    ]  # fmt: skip
    unknown = doubted(None, subject="line", subject_id="e9", reference="VFY-2")
    exposure = exposed(*lines, unknown)
    first, second = sorted(
        exposure.not_provable.arrow.to_pylist(), key=lambda each: each["reference"]
    )
    assert (first["in_doubt"], first["problem"]) == (Decimal("4.50"), "3 amounts: unknown reason")
    assert first["since"] == at(4)
    assert (second["in_doubt"], second["amount"], second["value"]) == (None, None, None)
    assert row(exposure, "EUR")["amount"] == 0
    assert "2 positions not provable" in exposure.title


codes = st.sampled_from(("EUR", "USDC", "EURC", "ETH"))


@st.composite
def drawn_spans(draw: st.DrawFn) -> list[HeldAmount]:
    spans = []
    for number in range(draw(st.integers(0, 7))):
        since = START + timedelta(hours=draw(st.integers(-48, 24 * 32)))
        until = since + timedelta(hours=draw(st.integers(1, 500))) if draw(st.booleans()) else None
        kind = draw(st.sampled_from(("stuck", "custodial balance", "credit not converted")))
        amount = Decimal(draw(st.integers(1, 10**8))).scaleb(-2)
        own = {"kind": kind, "currency": draw(codes), "subject_id": f"r{number}"}
        spans.append(
            span(amount, since, until, left_at=until, **own)
            if draw(st.booleans())
            else doubted(str(amount), since=since, until=until, **own)
        )
    return spans


@pytest.mark.acceptance
@given(drawn_spans())
def test_all_tables_agree_about_the_same_money(spans: Sequence[HeldAmount]) -> None:
    exposure = exposed(*spans, EUR="1000", all="100000.00")
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for each in exposure.proved.arrow.to_pylist():
        sums[each["currency"]] += each["amount"]
    aged: dict[str, Decimal] = defaultdict(Decimal)
    for each in exposure.ages.arrow.to_pylist():
        aged[each["currency"]] += each["amount"]
    assert aged == sums
    last: dict[str, Decimal] = defaultdict(Decimal)
    for each in exposure.days.arrow.to_pylist():
        if each["day"] == date(2026, 10, 31) and each["kind"] != "all":
            last[each["currency"]] += each["amount"]
    assert last == sums
    worth = sum(
        (Fraction(amount) * Fraction({"EUR": Decimal(1), **PAR}.get(code, Decimal(0)))
         for code, amount in sums.items()), Fraction(0),
    )  # fmt: skip
    totals = {each["scope"]: each for each in exposure.totals.arrow.to_pylist()}
    assert abs(Fraction(totals["all"]["amount"]) - worth) <= Fraction(1, 200)
    for code, each in totals.items():
        if code != "all":
            assert each["amount"] == sums.get(code, 0)
            assert each["cleared"] <= each["amount"] <= (each["peak"] or 0)
    whole_days = [
        each["amount"] for each in exposure.days.arrow.to_pylist() if each["kind"] == "all"
    ]
    assert max(whole_days) <= (totals["all"]["peak"] or 0)
    assert totals["all"]["amount"] == whole_days[-1]
    again = exposed(*reversed(spans), EUR="1000", all="100000.00")
    assert again.totals.arrow.equals(exposure.totals.arrow)
    assert again.days.arrow.equals(exposure.days.arrow)


# Gaps in the evidence


def gaps(
    *,
    read_at: datetime | None = READ,
    at_: datetime = END,
    known_at: datetime = AFTER,
    **tables: Any,
) -> list[tuple[str, str, str]]:
    """Return kind, currency and problem of each gap in the evidence."""
    spans = list(gap_spans(answer(known_at=known_at, **tables), at_, ZONE, read_at))
    assert not any(each.is_proved or each.amount is not None for each in spans)
    return [(each.kind, each.currency, each.problem) for each in spans]


def test_a_month_with_complete_sources_has_no_gap() -> None:
    own = {"statements": [account()]}
    assert gaps(**own, virtual_accounts=[]) == []
    reported = {"statements": [account(), account(source="provider_report", account="BE2")]}
    assert gaps(**reported, virtual_accounts=[virtual()]) == []


def test_services_not_read_since_month_end_are_named() -> None:
    assert gaps(read_at=None) == [("not read", "", "the services have never been read")]
    early = at(30, 9)
    assert gaps(read_at=early) == [("not read", "", "the services were last read 30 Oct 09:00 CET")]
    now = at(20, 9)
    in_time = {"at_": now, "known_at": now, "statements": [account(complete=False,
               missing_from=on(20))]}  # fmt: skip
    assert gaps(read_at=at(18, 9), **in_time) == []
    assert gaps(read_at=at(16, 9), **in_time) == [
        ("not read", "", "the services were last read 16 Oct 09:00 CEST")
    ]


def test_a_past_day_without_a_proved_statement_is_named() -> None:
    late = account(complete=False, missing_from=on(29), name="Operating")
    assert gaps(statements=[late]) == [
        ("fiat in transit", "EUR", "no proved statement shows 29 Oct to 31 Oct")
    ]
    now = at(29, 10)
    assert gaps(statements=[late], at_=now, known_at=now, read_at=now) == []
    later = at(30, 10)
    assert gaps(statements=[late], at_=later, known_at=later, read_at=later) == [
        ("fiat in transit", "EUR", "no proved statement shows 29 Oct to 29 Oct")
    ]
    broken = account(complete=False, missing_from=None)
    assert gaps(statements=[broken])[0][2] == "no proved statement shows 1 Oct to 31 Oct"
    assert gaps(statements=[])[0][:2] == ("fiat in transit", "")


def test_virtual_accounts_without_a_complete_report_are_named() -> None:
    lacking = virtual("NOT PROVABLE: no provider report", currency=None)
    assert gaps(statements=[account()], virtual_accounts=[lacking]) == [
        ("credit not converted", "", "no complete provider report shows the credits")
    ]
    partly = virtual("NOT PROVABLE: provider report incomplete")
    report = account(source="provider_report", complete=False, missing_from=on(20))
    now = at(20, 9)
    both = {"statements": [account(complete=False, missing_from=on(20)), report],
            "virtual_accounts": [partly]}  # fmt: skip
    assert gaps(at_=now, known_at=now, read_at=now, **both) == [], "yesterday is shown"
    assert ("credit not converted", "EUR", "no complete provider report shows the credits") in gaps(
        **both
    )
