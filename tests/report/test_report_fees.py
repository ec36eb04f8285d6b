from __future__ import annotations

from datetime import date
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, OWN, fee, reconciliation

from treasury.core.calendar import Months
from treasury.core.errors import InputError
from treasury.report import Fees, calculated_fees, fees_of


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
    (row,) = fees(fee()).requests.arrow.to_pylist()
    assert row["direction"] == "on-ramp"
    assert row["pair"] == "EUR → USDC"
    assert (row["fiat_gross"], row["fee"], row["fiat_net"]) == (25_000, 200, 24_800)
    assert row["crypto"] == Decimal("26865.995017")
    assert row["rate_bp"] == Decimal("80.00")


def test_totals_are_by_direction_pair_and_tier() -> None:
    rows = fees(fee(), fee(request_id="r3", fee=Decimal(100)), OFF_RAMP).totals.arrow.to_pylist()
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
    assert result.totals.arrow["without_fee"].to_pylist() == [1]


def test_a_zero_fee_has_no_rate() -> None:
    assert fees(fee(fiat_gross=Decimal(0), fee=Decimal(0))).requests.arrow[
        "rate_bp"
    ].to_pylist() == [None]


def test_accruals_are_listed_separately() -> None:
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
    assert result.accruals.arrow.to_pylist() == [accrual]
    assert result.by_currency()[0].fee == 200


def test_pandas_gets_exact_decimals() -> None:
    exact = Decimal("1234567890123456789.123456789012345678")
    frame = fees(fee(crypto=exact)).to_pandas()
    assert frame["crypto"].iloc[0] == exact
    assert str(frame["completed_on"].iloc[0]) == "2026-10-13 00:00:00"


def test_outside_text_is_escaped_in_a_notebook() -> None:
    shown = fees(fee(tier=f"{HOSTILE} $5 and $6"))._repr_html_()
    assert "<img" not in shown
    assert "$" not in shown


amounts = st.decimals(min_value=0, max_value=10**16, places=18)


@pytest.mark.acceptance
@given(st.lists(st.tuples(amounts, amounts, st.sampled_from(["ON_RAMP", "OFF_RAMP"]))))
def test_the_totals_tie_to_the_requests(rows: list[tuple[Decimal, Decimal, str]]) -> None:
    result = fees(*(fee(fiat_gross=g, fee=f, ramp_type=way) for g, f, way in rows))
    for name in ("fiat_gross", "fee"):
        assert (
            pc.sum(result.totals.arrow[name]).as_py() == pc.sum(result.requests.arrow[name]).as_py()
        )
    assert sum(total.requests for total in result.by_currency()) == len(rows)


def test_a_fee_is_computed_again_from_its_tier() -> None:
    (row,) = fees(fee()).requests.arrow.to_pylist()
    assert (row["expected_fee"], row["expected_by"]) == (200, "on-ramp tier 1")
    assert (row["variance"], row["finding"]) == (0, "as expected")


def test_a_percentage_outside_the_tiers_is_named_as_recorded() -> None:
    (row,) = fees(fee(tier="tier not determinable")).requests.arrow.to_pylist()
    assert (row["expected_fee"], row["expected_by"]) == (200, "recorded percentage")


@pytest.mark.parametrize(
    ("recorded", "text"),
    [
        ("0.13", "as expected"),
        ("0.12", "EUR 0.01 less: rounded down"),
        ("0.14", "CHECK: EUR 0.01 more than on-ramp tier 1 gives"),
        ("3.13", "CHECK: EUR 3.00 more than on-ramp tier 1 gives"),
    ],
)
def test_a_cent_is_explained_by_its_rounding_or_flagged(recorded: str, text: str) -> None:
    result = fees(fee(fiat_gross=Decimal("15.63"), fee=Decimal(recorded)))
    (row,) = result.rows
    assert row["finding"] == text
    assert len(result.to_check) == text.startswith("CHECK")


def test_an_off_ramp_fee_taken_in_crypto_explains_its_cent() -> None:
    odd = fee(
        ramp_type="OFF_RAMP",
        crypto=Decimal("108.648649"),
        exchange_rate=Decimal("0.925"),
        fee_percentage=Decimal("1.5"),
        fiat_gross=Decimal("100.02"),
        fee=Decimal("1.51"),
    )
    assert fees(odd).rows[0]["finding"] == "EUR 0.01 more: taken as USDC 1.629730 and converted"


def test_the_calculators_answer_is_marked_calculated_and_converted_for_an_off_ramp() -> None:
    result = fees_of(
        reconciliation(fee_requests=[fee(), {**OFF_RAMP, "exchange_rate": Decimal("0.92")}]),
        calculated={"r1": Decimal("210.00"), "r2": Decimal("80.000000")},
    )
    by_id = {row["request_id"]: row for row in result.rows}
    assert by_id["r1"]["expected_by"] == "calculated"
    assert by_id["r1"]["finding"] == "CHECK: EUR 10.00 less than calculated gives"
    assert (by_id["r2"]["expected_fee"], by_id["r2"]["finding"]) == (
        Decimal("73.60"),
        "as expected",
    )


def test_the_calculator_is_called_once_per_amount_in_the_unit_of_the_direction() -> None:
    asked: list[tuple[Decimal, str]] = []

    def ask(amount: Decimal, way: str) -> Decimal | None:
        asked.append((amount, way))
        return None if way == "OFF_RAMP" else Decimal(200)

    said = calculated_fees(fees(fee(), fee(request_id="r9"), OFF_RAMP), ask)
    assert asked == [(25_000, "ON_RAMP"), (10_000, "OFF_RAMP")]
    assert said == {"r1": 200, "r9": 200}


def test_a_rate_is_compared_with_the_others_of_its_pair_and_day() -> None:
    rates = ("0.9", "0.9231", "0.95", "1.8")
    rows = [fee(request_id=f"r{n}", exchange_rate=Decimal(r)) for n, r in enumerate(rates)]
    elsewhere = fee(request_id="r7", exchange_rate=Decimal(3), completed_on=date(2026, 10, 14))
    found = {row["request_id"]: row for row in fees(*rows, elsewhere).rows}
    assert found["r3"]["rate_of_others"] == Decimal("0.9231")
    assert found["r3"]["rate_deviation_bp"] == Decimal("9499.51")
    assert found["r0"]["rate_of_others"] == Decimal("0.95")
    assert (found["r7"]["others_that_day"], found["r7"]["rate_deviation_bp"]) == (0, None)


def test_the_rate_of_others_keeps_every_digit() -> None:
    longest = Decimal("99999999999999999999.123456789012345677")
    lower = longest.next_minus(Context(prec=38))
    rows = [fee(request_id=f"r{n}", exchange_rate=r) for n, r in enumerate((longest, lower, lower))]
    found = {row["request_id"]: row for row in fees(*rows).rows}
    assert (found["r0"]["rate_of_others"], found["r1"]["rate_of_others"]) == (lower, longest)


def test_sums_are_by_any_group_and_always_by_currency() -> None:
    result = fees(fee(), fee(fiat_currency="GBP"), OFF_RAMP)
    rows = result.by("bank_account", "chain").arrow.to_pylist()
    assert [(r["fiat_currency"], r["bank_account"], r["requests"]) for r in rows] == [
        ("EUR", OWN, 2),
        ("GBP", OWN, 1),
    ]
    with pytest.raises(InputError, match="'colour'"):
        result.by("colour")


def test_the_trend_has_every_month_and_its_change() -> None:
    months = Months.parse("2026-08..2026-10")
    rows = [
        {**row, "month": f"2026-{month}", "fee": Decimal(amount)}
        for row, month, amount in zip(
            fees(fee(), fee(), fee(fiat_currency="GBP")).rows,
            ("08", "10", "10"),
            ("100", "250", "7"),
            strict=True,
        )
    ]
    some = Fees(
        months=months,
        recorded=pa.Table.from_pylist(rows, schema=fees().recorded.arrow.schema),
        accruals=pa.table({}),
        sql="",
        answers=lambda: (reconciliation(),),
    )
    shown = [
        (r["fiat_currency"], r["month"], r["fee"], r["fee_change"], r["rate_change_bp"])
        for r in some.trend.arrow.to_pylist()
    ]
    assert shown == [
        ("EUR", "2026-08", 100, None, None),
        ("EUR", "2026-09", 0, -100, None),
        ("EUR", "2026-10", 250, 250, None),
        ("GBP", "2026-08", 0, None, None),
        ("GBP", "2026-09", 0, 0, None),
        ("GBP", "2026-10", 7, 7, None),
    ]


def test_the_workbook_has_every_request_and_keeps_text_as_text(tmp_path: Path) -> None:
    path = fees(fee(tier='=HYPERLINK("http://x")')).to_excel(tmp_path / "fees.xlsx")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == [
        "Requests",
        "Sums",
        "Trend",
        "Conversion costs",
        "Conversions valued",
        "Gas",
        "Gas payments",
        "Accruals",
    ]
    cells = {head.value: value for head, value in zip(*book["Requests"].iter_rows(), strict=True)}
    book.close()
    assert cells["tier"].value == '=HYPERLINK("http://x")'
    assert cells["tier"].data_type == "s"
    assert cells["fee"].value == 200
