"""Coin events and rates, handmade or drawn at random, and the calculation through their months."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import strategies as st

from treasury.close.valuation.coins.coin_postings import CoinPostings, CoinTerms
from treasury.core.calendar import Month
from treasury.core.money import product, quantize

FIRST, LAST = Month.parse("2026-08"), Month.parse("2026-10")
MONTHS = (FIRST, FIRST.next, LAST)


class Rate(NamedTuple):
    rate: Fraction
    day: date
    basis: str = "test"


class Value(NamedTuple):
    amount: Decimal
    rate: Rate


class Rates(NamedTuple):
    """A stand-in for reference rates: one rate per month, none for months not listed."""

    by_month: Mapping[Month, Decimal]

    def value(self, amount: Decimal, currency: str, day: date) -> Value | None:
        assert currency == "USDC"
        rate = self.by_month.get(Month.of(day))
        if rate is None:
            return None
        return Value(quantize(product(amount, rate), "EUR"), Rate(Fraction(rate), day))

    def absence(self, currency: str, day: date) -> str:
        return f"no reference rate of {currency} for {day}"


def terms(
    measurement: str = "cost",
    formula: str = "fifo",
    reversal: str = "none",
    pool: str = "entity",
) -> CoinTerms:
    return CoinTerms("USDC", measurement, formula, reversal, pool)


def event(
    kind: str,
    quantity: Decimal | str,
    consideration: Decimal | str | None,
    day: date,
    *,
    origin: str | None = None,
    target: str | None = None,
    name: str = "",
) -> dict[str, Any]:
    """Return an event of USDC at noon (UTC) of a day; its consideration is in EUR."""
    return {
        "event_id": name or f"{kind}:{day}:{quantity}",
        "contra": "conversion",
        "coin": "USDC",
        "quantity": Decimal(quantity),
        "moment": datetime(day.year, day.month, day.day, 12, tzinfo=UTC),
        "happened_on": day,
        "kind": kind,
        "consideration": None if consideration is None else Decimal(consideration),
        "currency": None if consideration is None else "EUR",
        "from_holder": origin,
        "to_holder": target,
        "reference": name,
        "source_id": name,
    }


def walked(
    chosen: CoinTerms,
    events: Sequence[dict[str, Any]],
    rates: Mapping[Month, Decimal],
    last: Month = LAST,
) -> CoinPostings:
    """Compute the months of the pools up to `last`, and return the result."""
    until = [each for each in events if each["happened_on"] <= last.last]
    return CoinPostings(chosen, Rates(rates), (), until).through(FIRST, last)


WALLETS = ("a", "b", "c")
QUANTITIES = st.integers(1, 10**9).map(lambda units: Decimal(units).scaleb(-6))
AMOUNTS = st.integers(0, 10**7).map(lambda cents: Decimal(cents).scaleb(-2))
RATES = st.integers(1, 3 * 10**6).map(lambda parts: Decimal(parts).scaleb(-6))
CHOICES = st.builds(
    terms,
    st.sampled_from(("cost", "reserves", "profit_and_loss")),
    st.sampled_from(("fifo", "weighted_average")),
    st.sampled_from(("none", "next_month")),
    st.sampled_from(("entity", "wallet")),
)
MONTHLY = st.fixed_dictionaries(dict.fromkeys(MONTHS, RATES))


@st.composite
def histories(draw: st.DrawFn, most: int = 15) -> list[dict[str, Any]]:
    """Draw events of three months in order, in which no wallet gives more than it has."""
    held = dict.fromkeys(WALLETS, Decimal(0))
    day, events = FIRST.first, []
    for place in range(draw(st.integers(1, most))):
        day = min(day + timedelta(days=draw(st.integers(0, 9))), LAST.last)
        full = [wallet for wallet in WALLETS if held[wallet]]
        kind = draw(
            st.sampled_from(("acquired", "disposed", "transferred") if full else ("acquired",))
        )
        name = f"{kind} {place}"
        if kind == "acquired":
            target, quantity = draw(st.sampled_from(WALLETS)), draw(QUANTITIES)
            held[target] += quantity
            events.append(event(kind, quantity, draw(AMOUNTS), day, target=target, name=name))
            continue
        origin = draw(st.sampled_from(full))
        units = int(held[origin].scaleb(6))
        quantity = Decimal(draw(st.integers(1, units))).scaleb(-6)
        held[origin] -= quantity
        target, amount = None, draw(AMOUNTS)
        if kind == "transferred":
            target, amount = draw(st.sampled_from(WALLETS)), None
            held[target] += quantity
        events.append(event(kind, quantity, amount, day, origin=origin, target=target, name=name))
    return events
