"""Fees computed by column equal fees computed request by request."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from report_samples import fee, reconciliation

from treasury.close.fees.fee_checks import expected_fee, fee_rate, finding
from treasury.core.money import EXPONENTS, difference, exponent, fee_of
from treasury.report import fees_of

CURRENCIES = ("EUR", "EUR", "EUR", "HUF", "JPY", "KWD", "USDC", "ETH", "XYZ", "", None)
PERCENTAGES = (
    None,
    "0",
    "0.8",
    "0.5",
    "1.5",
    "-0.8",
    "0.000000000000000001",
    "12.345678901",
    "100",
)
LIMIT = 10**28
"""The amount, in units of the eighteenth decimal, from which fees are computed one by one."""


def amount(random: Random) -> Decimal | None:
    """Return a random amount, often an edge case: None, zero, half a cent or 37 digits."""
    units = random.choice(
        (
            random.randrange(10**7) * 10**16,  # cents
            random.randrange(-(10**5), 10**5) * 5 * 10**14,  # halves of a cent, below zero too
            random.randrange(10**5) * 10**18,
            random.randrange(10**23),
            random.choice((0, 1, -1, LIMIT, LIMIT - 1, 1 - LIMIT, -LIMIT)),
            random.randrange(-(10**37), 10**37),
        )
    )
    return None if random.random() < 0.05 else Decimal(f"{units}E-18")


def drawn(random: Random, number: int) -> dict[str, Any]:
    """Return a random request; its fee is mostly near the expected one."""
    currency, gross = random.choice(CURRENCIES), amount(random)
    percentage = random.choice(PERCENTAGES)
    share = None if percentage is None else Decimal(percentage)
    taken = amount(random)
    if gross is not None and share is not None and random.random() < 0.7:
        step = Decimal(random.choice((0, 0, 1, -1, 2, -3, 250, 99_999, 100_000, 123_456_789)))
        off = step.scaleb(-exponent(currency or "?") - random.choice((0, 0, 0, 1)))
        taken = difference(fee_of(gross, share, currency or "?"), off.quantize(Decimal("1e-18")))
    return fee(
        request_id=f"r{number}",
        ramp_type=random.choice(("ON_RAMP", "OFF_RAMP")),
        fiat_currency=currency,
        crypto_currency=random.choice(("USDC", "ETH", None)),
        fiat_gross=gross,
        fee=taken,
        fee_percentage=share,
        crypto=random.choice((None, Decimal("108.648649"))),
        exchange_rate=random.choice((None, Decimal("0.925"), Decimal("1.1"))),
        tier=random.choice(("on-ramp tier 1", "tier not determinable", None)),
        completed_on=date(2026, 10, random.randrange(1, 4)),
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_column_of_fees_equals_fees_computed_one_by_one(seed: int) -> None:
    random = Random(seed)
    drawn_rows = [drawn(random, number) for number in range(2_000)]
    calculated = {"r3": Decimal("2.345"), "r4": Decimal(0), "r1999": Decimal("1.005")}
    recorded = fees_of(reconciliation(fee_requests=drawn_rows), calculated=calculated).recorded
    seen = set()
    for row, found in zip(drawn_rows, recorded.arrow.to_pylist(), strict=True):
        request = {**row, "fiat_currency": row["fiat_currency"] or "?"}
        computed, by = expected_fee(request, calculated)
        taken = request["fee"]
        words = "no fee recorded" if taken is None else "nothing to compare with"
        variance = None
        if taken is not None and computed is not None:
            variance = difference(taken, computed)
            words = "as expected"
            if variance:
                words = finding({**request, "variance": variance, "expected_by": by})
        assert found["rate_bp"] == fee_rate(taken, request["fiat_gross"])
        assert (found["expected_fee"], found["expected_by"]) == (computed, by)
        assert (found["variance"], found["finding"]) == (variance, words)
        seen.add((words.partition(" ")[0], exponent(request["fiat_currency"])))
    assert seen >= {(start, places) for start in ("CHECK:", "as") for places in (0, 2, 3, 6, 18)}


def test_no_currency_has_more_decimals_than_a_column() -> None:
    assert set(EXPONENTS.values()) <= set(range(19))
