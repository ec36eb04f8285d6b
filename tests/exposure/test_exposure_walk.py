"""Amounts at a given time, at each day's end and at the peak: sums over the same spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from exposure_samples import END, OCTOBER, START, ZONE, at, span
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.valuation.exposure.exposure_sums import (
    HeldAmount,
    amounts_by_day,
    currency_peaks,
    moves_of,
    standing,
    value_peak,
)
from treasury.month.clocks import end_of

ENDS = [(day, end_of(day, ZONE)) for day in OCTOBER.days()]
DAY_STARTS = [end_of(day - timedelta(days=1), ZONE) for day in OCTOBER.days()]
RATES = {"EUR": Fraction(1), "USDC": Fraction(9, 10), "EURC": Fraction(1)}

# Times around midnight, so that many spans begin and end exactly at a day's end.
instants = st.builds(
    lambda day, minutes: START + timedelta(days=day, minutes=minutes),
    st.integers(-3, 34),
    st.sampled_from((-60, 0, 0, 1, 60, 720)),
)


@st.composite
def drawn_spans(draw: st.DrawFn) -> list[HeldAmount]:
    spans = []
    for _ in range(draw(st.integers(0, 8))):
        since = draw(instants)
        until = draw(st.none() | instants.filter(lambda later, since=since: later > since))
        amount = Decimal(draw(st.integers(1, 10**9))).scaleb(-2)
        currency = draw(st.sampled_from(("EUR", "USDC", "EURC")))
        kind = draw(st.sampled_from(("fiat in transit", "stuck", "custodial balance")))
        began = since - timedelta(hours=draw(st.integers(0, 1)))
        spans.append(span(amount, since, until, kind=kind, currency=currency, began=began))
    return spans


def by_hand(spans: Iterable[HeldAmount], instant: datetime) -> dict[str, Decimal]:
    """Sum the amounts by currency that are open at an instant, one span at a time."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for each in spans:
        has_come = each.since < instant or (each.since == instant and each.began < instant)
        if has_come and (each.until is None or instant < each.until):
            assert each.amount is not None
            sums[each.currency] += each.amount
    return dict(sums)


def worth(sums: dict[str, Decimal]) -> Fraction:
    return sum((Fraction(amount) * RATES[code] for code, amount in sums.items()), Fraction(0))


@pytest.mark.acceptance
@given(drawn_spans())
def test_each_days_amounts_are_the_sum_of_open_amounts_at_its_end(spans: list[HeldAmount]) -> None:
    for day_end in amounts_by_day(moves_of(spans), ENDS):
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for (_, currency), amount in day_end.amounts.items():
            assert amount > 0
            sums[currency] += amount
        assert dict(sums) == by_hand(spans, day_end.at)
        stands = standing(spans, day_end.at)
        assert sum((each.amount or 0 for each in stands), Decimal(0)) == sum(sums.values())


@pytest.mark.acceptance
@given(drawn_spans())
def test_the_maximum_is_at_least_every_days_value_and_was_reached(spans: list[HeldAmount]) -> None:
    peaks = currency_peaks(moves_of(spans), START, END)
    for day_end in amounts_by_day(moves_of(spans), ENDS):
        for currency, amount in by_hand(spans, day_end.at).items():
            assert amount <= peaks[currency].amount
    for currency, peak in peaks.items():
        is_end = peak.at == END
        stood = by_hand(spans, END if is_end else peak.at + timedelta(microseconds=1))
        assert stood[currency] == peak.amount
        assert START <= peak.at <= END


@pytest.mark.acceptance
@given(drawn_spans())
def test_the_maximum_in_value_is_at_least_every_days_value(spans: list[HeldAmount]) -> None:
    peak = value_peak(
        moves_of(spans),
        START,
        END,
        day_starts=DAY_STARTS,
        rate_of=lambda code, _: RATES[code],
        zone=ZONE,
    )
    values = [worth(by_hand(spans, end)) for _, end in ENDS]
    assert max(values) <= (peak.amount if peak else 0)
    if peak is not None:
        assert worth(by_hand(spans, peak.at + timedelta(microseconds=1))) == peak.amount


def test_amounts_that_arrive_and_leave_at_one_instant_are_never_counted_together() -> None:
    handed_on = [
        span("60", START, at(10)),
        span("60", at(10), None, kind="payout outstanding", began=START),
    ]
    assert currency_peaks(moves_of(handed_on), START, END)["EUR"].amount == 60
    for instant in (at(10), at(10) + timedelta(microseconds=1)):
        assert [each.kind for each in standing(handed_on, instant)] == ["payout outstanding"]
    before = at(10) - timedelta(microseconds=1)
    assert [each.kind for each in standing(handed_on, before)] == ["fiat in transit"]
    day = [(at(10).date(), at(10))]
    assert amounts_by_day(moves_of(handed_on), day)[0].amounts == {
        ("payout outstanding", "EUR"): 60
    }


def test_a_balance_observed_at_the_queried_instant_counts() -> None:
    levels = [
        span("60", START, at(10), kind="custodial balance", is_level=True),
        span("50", at(10), None, kind="custodial balance", is_level=True),
    ]
    assert [each.amount for each in standing(levels, at(10))] == [50]
    assert [each.amount for each in standing(levels[1:], at(10))] == [50]
    assert standing([span("7", at(10))], at(10)) == [], "later arrivals do not count"


def test_money_at_the_cut_off_instant_belongs_to_the_next_month() -> None:
    assert standing([span("1", END), span("2", START, END)], END) == []
    assert currency_peaks(moves_of([span("1", END)]), START, END) == {}
    (last,) = amounts_by_day(moves_of([span("1", END), span("2", START, END)]), ENDS[-1:])
    assert last.amounts == {}


def test_a_maximum_within_a_day_is_found() -> None:
    spans = [span("50", START), span("900", at(14, 9), at(14, 17))]
    assert currency_peaks(moves_of(spans), START, END)["EUR"].amount == 950
    assert currency_peaks(moves_of(spans), START, END)["EUR"].at == at(14, 9)
    assert {
        end.amounts["fiat in transit", "EUR"] for end in amounts_by_day(moves_of(spans), ENDS)
    } == {50}


def test_a_higher_rate_on_the_next_day_sets_the_maximum_without_a_movement() -> None:
    rate = {at(5).date(): Fraction(1), at(6).date(): Fraction(2)}
    peak = value_peak(
        moves_of([span("10", START, currency="USDC")]), START, END, day_starts=DAY_STARTS,
        rate_of=lambda _, day: rate.get(day, Fraction(1)), zone=ZONE,
    )  # fmt: skip
    assert peak is not None
    assert (peak.amount, peak.at) == (20, at(6, 0))


def test_a_day_of_25_hours_ends_by_its_time_zone() -> None:
    # 23:30 on 25 October in Brussels, 24.5 hours after the day began, because clocks went back.
    night = at(26, 0) - timedelta(minutes=30)
    (day_end,) = amounts_by_day(
        moves_of([span("5", night)]), [end for end in ENDS if end[0].day == 25]
    )
    assert day_end.at == at(26, 0)
    assert day_end.at - at(25, 0) == timedelta(hours=25)
    assert day_end.amounts == {("fiat in transit", "EUR"): 5}
