from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, fee, reconciliation

from treasury.report import Fees, fees_of


def fees(*rows: dict[str, Any]) -> Fees:
    return fees_of(reconciliation(fee_requests=rows))


OFF_RAMP = fee(
    request_id="r2",
    ramp_type="OFF_RAMP",
    fiat_gross=Decimal("9200.00"),
    fee=Decimal("73.60"),
    fiat_net=Decimal("9126.40"),
    crypto=Decimal("10000.000000"),
    tier="off-ramp tier 1",
)


def test_amounts_are_named_and_the_rate_is_the_fee_over_gross() -> None:
    (row,) = fees(fee()).requests.to_pylist()
    assert row["direction"] == "on-ramp"
    assert row["pair"] == "EUR → USDC"
    assert (row["fiat_gross"], row["fee"], row["fiat_net"]) == (25_000, 200, 24_800)
    assert row["crypto"] == Decimal("26865.995017")
    assert row["rate_bp"] == Decimal("80.00")


def test_totals_are_by_direction_pair_and_tier() -> None:
    rows = fees(fee(), fee(request_id="r3", fee=Decimal(100)), OFF_RAMP).totals.to_pylist()
    shown = [
        (row["direction"], row["pair"], row["tier"], row["requests"], row["fee"], row["rate_bp"])
        for row in rows
    ]
    assert shown == [
        ("off-ramp", "USDC → EUR", "off-ramp tier 1", 1, Decimal("73.60"), Decimal("80.00")),
        ("on-ramp", "EUR → USDC", "on-ramp tier 1", 2, Decimal(300), Decimal("60.00")),
    ]
    assert {row["month"] for row in rows} == {"2026-10"}


def test_currencies_are_never_summed_together() -> None:
    result = fees(fee(), fee(fiat_currency="GBP", fee=Decimal(5)))
    assert [(t.currency, t.fee, t.requests) for t in result.by_currency()] == [
        ("EUR", 200, 1),
        ("GBP", 5, 1),
    ]
    assert result.title == (
        "Fees of October 2026: EUR 200.00 on 1 completed request · GBP 5.00 on 1 completed request"
    )


def test_a_request_without_a_recorded_fee_does_not_lower_the_rate() -> None:
    result = fees(fee(), fee(fee=None))
    (total,) = result.by_currency()
    assert (total.requests, total.without_fee, total.gross) == (2, 1, 50_000)
    assert total.rate_bp == Decimal("80.00")
    assert result.totals["without_fee"].to_pylist() == [1]


def test_a_fee_of_nothing_has_no_rate() -> None:
    assert fees(fee(fiat_gross=Decimal(0), fee=Decimal(0))).requests["rate_bp"].to_pylist() == [
        None
    ]


def test_accruals_are_kept_apart() -> None:
    accrual = {
        "request_id": "r7",
        "reference": "PAY-7",
        "ramp_type": "ON_RAMP",
        "status": "PROCESSING",
        "fiat_currency": "EUR",
        "fiat_gross": Decimal(10),
        "fee": Decimal(1),
    }
    result = fees_of(reconciliation(fee_requests=[fee()], fee_accruals=[accrual]))
    assert result.accruals.to_pylist() == [accrual]
    assert result.by_currency()[0].fee == 200


def test_pandas_gets_exact_decimals() -> None:
    exact = Decimal("1234567890123456789.123456789012345678")
    frame = fees(fee(crypto=exact)).to_pandas()
    assert frame["crypto"].iloc[0] == exact
    assert frame["completed_on"].iloc[0] == date(2026, 10, 13)


def test_outside_text_is_escaped_in_a_notebook() -> None:
    shown = fees(fee(tier=f"{HOSTILE} $5 and $6"))._repr_html_()
    assert "<img" not in shown
    assert "$" not in shown


amounts = st.decimals(min_value=0, max_value=10**16, places=18)


@given(st.lists(st.tuples(amounts, amounts, st.sampled_from(["ON_RAMP", "OFF_RAMP"]))))
def test_the_totals_tie_to_the_requests(rows: list[tuple[Decimal, Decimal, str]]) -> None:
    result = fees(*(fee(fiat_gross=g, fee=f, ramp_type=way) for g, f, way in rows))
    for name in ("fiat_gross", "fee"):
        assert pc.sum(result.totals[name]).as_py() == pc.sum(result.requests[name]).as_py()
    assert sum(total.requests for total in result.by_currency()) == len(rows)
