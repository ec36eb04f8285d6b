"""Coin pools through their months: opening plus changes equals closing, for any drawn events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from coin_samples import (
    CHOICES,
    FIRST,
    LAST,
    MONTHLY,
    MONTHS,
    RATES,
    event,
    histories,
    terms,
    walked,
)
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.valuation.coins.coin_events import COIN_EVENTS, passed_on
from treasury.close.valuation.coins.coin_postings import CoinPostings, CoinTerms, cents_amount
from treasury.core.calendar import Month
from treasury.core.money import quantize

HIGH = dict.fromkeys(MONTHS, Decimal(10**15))
"""Rates so high that even the smallest unit is worth more than its cost: none is impaired."""


def rounded(amount: Fraction) -> Decimal:
    return Decimal((2 * amount * 100 + 1) // 2).scaleb(-2)


def moved(walk: CoinPostings, name: str) -> Decimal:
    return cents_amount(sum(getattr(month, name) for month in walk.months.values()))


@pytest.mark.acceptance
@given(CHOICES, histories(), MONTHLY)
def test_every_month_ties_and_opens_with_the_previous_closing(
    chosen: CoinTerms, events: list[dict[str, Any]], rates: Mapping[Month, Decimal]
) -> None:
    closings: dict[str, tuple[int, int]] = {}
    unit = walked(chosen, events, rates)
    for last in MONTHS:
        walk = walked(chosen, events, rates, last)
        assert all(month.is_tied and not month.problem for month in walk.months.values())
        ends = {
            name: (walk.coins(month.closing_quantity), month.closing)
            for name, month in walk.months.items()
        }
        for name, month in walk.months.items():
            opening = (walk.coins(month.opening_quantity), month.opening)
            assert opening == closings.get(name, (0, 0))
            lots = [lot for lot in walk.closing_lots(last.last) if lot.pool == name]
            assert sum(lot.carrying_amount for lot in lots) == cents_amount(month.closing)
            assert sum(lot.quantity for lot in lots) == ends[name][0]
        closings = ends
    assert unit.months.keys() == closings.keys()


@pytest.mark.acceptance
@given(CHOICES, histories(), MONTHLY)
def test_gains_and_closing_follow_from_payments_receipts_and_remeasurement(
    chosen: CoinTerms, events: list[dict[str, Any]], rates: Mapping[Month, Decimal]
) -> None:
    walks = [walked(chosen, events, rates, last) for last in MONTHS]
    paid, received = (
        sum((each["consideration"] for each in events if each["kind"] == kind), Decimal(0))
        for kind in ("acquired", "disposed")
    )
    gains = sum((moved(walk, "gain") for walk in walks), Decimal(0))
    remeasured = sum(
        (moved(walk, "reversed") + moved(walk, "remeasured") for walk in walks), Decimal(0)
    )
    assert gains - moved(walks[-1], "closing") == received - paid - remeasured
    booked = [row for walk in walks for row in walk.movements if row.kind == "disposed"]
    assert sum(-row.carrying_amount for row in booked) == sum(moved(w, "disposed") for w in walks)
    assert all(row.gain == row.proceeds + row.carrying_amount for row in booked)  # type: ignore[operator]


@pytest.mark.acceptance
@given(histories(), st.sampled_from(("entity", "wallet")))
def test_fifo_disposes_of_the_oldest_lot_first(events: list[dict[str, Any]], pool: str) -> None:
    """Use one month, so that no closing is rounded in between."""
    month = [each | {"happened_on": min(each["happened_on"], FIRST.last)} for each in events]
    lots: dict[str, list[list[Any]]] = {}
    for each in month:
        origin, target = (
            "" if pool == "entity" else each[side] for side in ("from_holder", "to_holder")
        )
        wanted, taken = each["quantity"], []
        if each["kind"] == "acquired":
            taken = [[each["happened_on"], each["quantity"], Fraction(each["consideration"])]]
        elif each["kind"] == "disposed" or origin != target:
            while wanted:
                lot = lots[origin][0]
                part = min(wanted, lot[1])
                share = lot[2] * Fraction(part) / Fraction(lot[1])
                taken.append([lot[0], part, share])
                lot[1], lot[2], wanted = lot[1] - part, lot[2] - share, wanted - part
                if not lot[1]:
                    del lots[origin][0]
        if each["kind"] != "disposed" and taken:
            lots[target] = sorted([*lots.get(target, []), *taken], key=lambda lot: lot[0])
    walk = walked(terms(formula="fifo", pool=pool), month, HIGH, FIRST)
    for name, closing in walk.months.items():
        exact = sum((lot[2] for lot in lots.get(name, [])), Fraction())
        cents = (
            len([each for each in month if each["kind"] == "transferred"])
            if pool == "wallet"
            else 0
        )
        assert abs(cents_amount(closing.closing) - rounded(exact)) <= Decimal("0.01") * cents
        stated = [lot.quantity for lot in walk.closing_lots(FIRST.last) if lot.pool == name]
        assert stated == [lot[1] for lot in lots.get(name, [])]


@pytest.mark.acceptance
@given(histories())
def test_the_weighted_average_uses_exact_fractions(events: list[dict[str, Any]]) -> None:
    month = [each | {"happened_on": min(each["happened_on"], FIRST.last)} for each in events]
    quantity, amount, taken = Fraction(), Fraction(), []
    for each in month:
        if each["kind"] == "acquired":
            quantity += Fraction(each["quantity"])
            amount += Fraction(each["consideration"])
        elif each["kind"] == "disposed":
            before = rounded(amount)
            amount -= amount * Fraction(each["quantity"]) / quantity
            quantity -= Fraction(each["quantity"])
            taken.append(before - rounded(amount))
    walk = walked(terms(formula="weighted_average"), month, HIGH, FIRST)
    assert cents_amount(walk.months[""].closing) == rounded(amount)
    assert [-row.carrying_amount for row in walk.movements if row.kind == "disposed"] == taken


@pytest.mark.parametrize("measurement", ["cost", "reserves", "profit_and_loss"])
@given(st.sampled_from(("fifo", "weighted_average")), MONTHLY, RATES)
def test_a_difference_becomes_the_new_carrying_amount_or_is_reversed_and_never_counts_twice(
    measurement: str, formula: str, rates: Mapping[Month, Decimal], price: Decimal
) -> None:
    cost = quantize(1000 * price, "EUR")
    bought = [event("acquired", "1000", cost, FIRST.first, target="a")]
    values = [quantize(1000 * rates[month], "EUR") for month in MONTHS]
    for reversal in ("none", "next_month"):
        chosen = terms(measurement, formula, reversal)
        recognised = basis = cost
        for last, value in zip(MONTHS, values, strict=True):
            (month,) = walked(chosen, bought, rates, last).months.values()
            if measurement != "cost":
                expected = value
            elif reversal == "none":
                expected = basis = min(basis, value)
            else:
                expected = min(cost, value)
            recognised += cents_amount(month.reversed + month.remeasured)
            assert cents_amount(month.closing) == recognised == expected
            is_undone = reversal == "next_month" and last != FIRST
            assert month.reversed == (int(cost * 100) - month.opening if is_undone else 0)


def test_own_transfers_move_their_amount_and_dispose_of_nothing() -> None:
    events = [
        event("acquired", "100", "90.00", date(2026, 10, 1), target="a"),
        event("transferred", "40", None, date(2026, 10, 2), origin="a", target="b"),
    ]
    by_wallet = walked(terms(pool="wallet"), events, HIGH).months
    assert (by_wallet["a"].closing, by_wallet["b"].closing) == (5400, 3600)
    assert all(not month.disposed and not month.gain for month in by_wallet.values())
    whole = walked(terms(pool="entity"), events, HIGH)
    assert whole.months[""].closing == 9000
    assert [row.kind for row in whole.movements] == ["acquired"]


def test_coins_that_leave_without_having_arrived_are_a_problem_and_the_rest_continues() -> None:
    events = [
        event("acquired", "100", "90.00", date(2026, 9, 1), target="a"),
        event("disposed", "140", "130.00", date(2026, 9, 2), origin="a"),
        event("acquired", "10", "9.00", date(2026, 10, 2), target="a"),
    ]
    (month,) = walked(terms(), events, HIGH).months.values()
    assert month.problem == "USDC 40.000000 left that no record shows coming"
    assert "[[coins.openings]]" in month.next_step
    assert month.closing == 900


def test_a_month_end_without_a_rate_is_a_problem_while_it_is_needed() -> None:
    bought = [event("acquired", "100", "90.00", date(2026, 8, 1), target="a")]
    later = {LAST.previous: Decimal(1), LAST: Decimal(1)}
    (kept,) = walked(terms("reserves"), bought, later).months.values()
    assert kept.problem == "no reference rate of USDC for 2026-08-31"
    (taken_back,) = walked(terms("reserves", reversal="next_month"), bought, later).months.values()
    assert not taken_back.problem
    before = walked(terms("reserves", reversal="next_month"), bought, later, LAST.previous)
    assert before.months[""].problem == "no reference rate of USDC for 2026-08-31"


def test_coins_without_a_price_cost_the_market_value_of_the_day() -> None:
    rates = dict.fromkeys(MONTHS, Decimal("0.9"))
    events = [
        event("acquired", "100", None, date(2026, 10, 1), target="a"),
        event("disposed", "50", None, date(2026, 10, 2), origin="a"),
    ]
    walk = walked(terms(), events, rates)
    assert [row.carrying_amount for row in walk.movements] == [90, -45]
    assert [row.gain for row in walk.movements] == [None, 0]
    nothing = walked(terms(), events, {}).months[""]
    assert (
        "no reference rate of USDC for 2026-10-01" in nothing.problem or "left" in nothing.problem
    )


@pytest.mark.acceptance
@given(
    st.sampled_from(("cost", "reserves", "profit_and_loss")),
    st.sampled_from(("fifo", "weighted_average")),
    st.sampled_from(("entity", "wallet")),
    histories(),
    MONTHLY,
)
def test_a_reversed_difference_leaves_the_figures_of_coins_that_are_never_remeasured(
    measurement: str,
    formula: str,
    pool: str,
    events: list[dict[str, Any]],
    rates: Mapping[Month, Decimal],
) -> None:
    """Compare each month's acquired, transferred, disposed and realised amounts and its cost."""
    never = terms("cost", formula, "none", pool)
    for last in MONTHS:
        walk = walked(terms(measurement, formula, "next_month", pool), events, rates, last)
        plain = walked(never, events, HIGH, last)
        assert walk.months.keys() == plain.months.keys()
        for name, month in walk.months.items():
            same = plain.months[name]
            for figure in ("acquired", "transferred", "disposed", "proceeds", "gain"):
                assert getattr(month, figure) == getattr(same, figure), (last, figure)
            assert month.closing - month.remeasured == same.closing
            assert month.opening + month.reversed == same.opening
            assert same.remeasured == same.reversed == 0


@pytest.mark.acceptance
@given(CHOICES, histories(), MONTHLY)
def test_with_one_pool_own_transfers_change_nothing(
    chosen: CoinTerms, events: list[dict[str, Any]], rates: Mapping[Month, Decimal]
) -> None:
    whole = terms(chosen.measurement, chosen.cost_formula, chosen.reversal, "entity")
    exchanged = [each for each in events if each["kind"] != "transferred"]
    for last in MONTHS:
        one, other = walked(whole, events, rates, last), walked(whole, exchanged, rates, last)
        assert one.movements == other.movements
        assert moved(one, "closing") == moved(other, "closing")
        assert moved(one, "transferred") == 0


@pytest.mark.acceptance
@given(CHOICES, histories(), MONTHLY)
def test_transfers_between_wallets_balance(
    chosen: CoinTerms, events: list[dict[str, Any]], rates: Mapping[Month, Decimal]
) -> None:
    by_wallet = terms(chosen.measurement, chosen.cost_formula, chosen.reversal, "wallet")
    for last in MONTHS:
        walk = walked(by_wallet, events, rates, last)
        assert moved(walk, "transferred") == 0
        assert sum(month.transferred_quantity for month in walk.months.values()) == 0
        booked = [row for row in walk.movements if row.kind == "transferred"]
        assert sum(row.quantity for row in booked) == 0
        assert all(row.gain is None and row.proceeds is None for row in booked)


@pytest.mark.acceptance
@given(histories())
def test_fifo_over_several_months_equals_a_list_of_lots(events: list[dict[str, Any]]) -> None:
    """Compare with a list of lots, oldest first; each event and closing may round by a cent."""
    lots: list[list[Any]] = []
    for last in MONTHS:
        for each in events:
            if Month.of(each["happened_on"]) != last:
                continue
            if each["kind"] == "acquired":
                lots.append(
                    [each["happened_on"], each["quantity"], Fraction(each["consideration"])]
                )
            left = each["quantity"] if each["kind"] == "disposed" else Decimal(0)
            while left:
                day, quantity, amount = lots.pop(0)
                taken = min(left, quantity)
                left -= taken
                if taken < quantity:
                    rest = amount * Fraction(quantity - taken) / Fraction(quantity)
                    lots.insert(0, [day, quantity - taken, rest])
        walk = walked(terms(formula="fifo"), events, HIGH, last)
        stated = walk.closing_lots(last.last)
        assert [(lot.acquired_on, lot.quantity) for lot in stated] == [
            (day, quantity) for day, quantity, _ in lots
        ]
        exact = rounded(sum((amount for *_, amount in lots), Fraction()))
        rounds = Decimal("0.01") * (len(events) + len(MONTHS))
        assert abs(moved(walk, "closing") - exact) <= rounds
        for lot, (_, _, amount) in zip(stated, lots, strict=True):
            assert abs(Fraction(lot.carrying_amount) - amount) <= Fraction(rounds)


def test_coins_passed_on_within_one_block_arrive_before_they_leave() -> None:
    """The three transfers have the same time, and their ids suggest the opposite order."""
    day = date(2026, 8, 5)
    bought = event("acquired", "100", "90", FIRST.first, target="a", name="0")
    passed = [
        event("transferred", "100", None, day, origin=origin, target=target, name=name)
        for name, origin, target in (("1", "c", "d"), ("2", "b", "c"), ("3", "a", "b"))
    ]
    table = pa.Table.from_pylist([bought, *passed], schema=COIN_EVENTS)
    events = passed_on(table).to_pylist()
    assert [each["event_id"] for each in events] == ["0", "3", "2", "1"]
    walk = walked(terms(pool="wallet"), events, dict.fromkeys(MONTHS, Decimal("0.9")), FIRST)
    assert not any(month.problem for month in walk.months.values())
    assert (walk.months["d"].closing_quantity, walk.months["d"].closing) == (1, 9000)
    circle = [bought, passed[2], passed[1], passed[0] | {"to_holder": "a"}]
    unchanged = pa.Table.from_pylist(circle, schema=COIN_EVENTS)
    assert passed_on(unchanged).equals(unchanged)
    assert passed_on(COIN_EVENTS.empty_table()).num_rows == 0
