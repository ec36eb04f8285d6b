from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, fee, reconciliation

from treasury.core.errors import InputError
from treasury.report import Tied, fees_of, tie_invoice

FEES = fees_of(
    reconciliation(
        fee_requests=[
            fee(),
            fee(request_id="r2", reference="PAY-2026-004418", fee=Decimal("17.30")),
            fee(request_id="r3", reference=None, fiat_currency="GBP", fee=Decimal(5)),
        ]
    )
)


def tied(tmp_path: Path, *lines: str, head: str = "reference,fee,currency,vat") -> Tied:
    path = tmp_path / "invoice.csv"
    path.write_text("\n".join([head, *lines]), "utf-8")
    return tie_invoice(FEES, path)


def findings(result: Tied) -> dict[str, str]:
    return {row["reference"]: row["finding"] for row in result.lines.arrow.to_pylist()}


def test_an_invoice_that_ties_agrees_with_vat_listed_separately(tmp_path: Path) -> None:
    result = tied(
        tmp_path,
        "pay-2026-004417,200.00,EUR,42.00",
        "PAY-2026-004418,17.30,EUR,3.63",
        "r3,5,gbp,",
    )
    assert result.agrees
    assert [tuple(row.values()) for row in result.totals.arrow.to_pylist()] == [
        ("EUR", 2, Decimal("217.30"), Decimal("217.30"), 0, Decimal("45.63"), 0),
        ("GBP", 1, 5, 5, 0, 0, 0),
    ]


def test_every_gap_on_either_side_is_named(tmp_path: Path) -> None:
    result = tied(
        tmp_path,
        "PAY-2026-004417,200.01,EUR,",
        "PAY-2026-004417,200.00,EUR,",
        "PAY-2026-009999,1,EUR,",
        "r3,5,EUR,",
    )
    assert not result.agrees
    found = [(row["reference"], row["finding"]) for row in result.lines.arrow.to_pylist()]
    assert found == [
        ("PAY-2026-004417", "EUR 0.01 more than recorded"),
        ("PAY-2026-004417", "on the invoice more than once"),
        ("PAY-2026-004418", "recorded, not on the invoice"),
        ("PAY-2026-009999", "on the invoice, but no such request was completed in these months"),
        ("r3", "recorded in another currency"),
        ("r3", "recorded, not on the invoice"),
    ]


NAMES = ("PAY-2026-004417", "PAY-2026-004418", "r2", "r3", "PAY-2026-009999")


@pytest.mark.acceptance
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.decimals(0, 1000, places=2),
            st.sampled_from(("EUR", "GBP", "USD")),
        ),
        max_size=8,
    )
)
def test_each_recorded_fee_counts_once_in_its_currency_for_any_invoice(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, Decimal, str]]
) -> None:
    result = tied(
        tmp_path_factory.mktemp("tied"), *(f"{name},{fee},{unit}," for name, fee, unit in lines)
    )
    recorded = {row["currency"]: row["recorded"] for row in result.totals.arrow.to_pylist()}
    assert {unit: sum_ for unit, sum_ in recorded.items() if sum_} == {
        sums.currency: sums.fee for sums in FEES.by_currency()
    }
    for row in result.totals.arrow.to_pylist():
        assert row["difference"] == row["invoiced"] - row["recorded"]
        assert row["invoiced"] == sum(fee for _, fee, unit in lines if unit == row["currency"])


def test_a_second_line_for_a_request_is_charged_in_full(tmp_path: Path) -> None:
    result = tied(tmp_path, "PAY-2026-004417,200,EUR,", "PAY-2026-004417,200,EUR,")
    euro = result.totals.arrow.to_pylist()[0]
    assert (euro["invoiced"], euro["recorded"], euro["difference"]) == (
        400,
        Decimal("217.30"),
        Decimal("182.70"),
    )


def test_any_usual_delimiter_and_order_of_columns_is_accepted(tmp_path: Path) -> None:
    result = tied(tmp_path, "EUR;200;PAY-2026-004417", head="\ufeffCurrency;Fee;Reference")
    assert findings(result)["PAY-2026-004417"] == "agrees"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('PAY-1,"1.234,56",EUR,', r"invoice\.csv, line 2, fee: '1.234,56' is not a number"),
        (",1,EUR,", r"invoice\.csv, line 2: reference is empty"),
        ("PAY-1,1", r"invoice\.csv, line 2: currency is empty"),
        ('PAY-1,"1,EUR,', r"invoice\.csv, line 2: unexpected end of data"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tied(tmp_path, line)


def test_a_file_without_its_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: has no column 'fee'.*reference, fee, currency"):
        tied(tmp_path, head="reference,amount,currency")
    with pytest.raises(InputError, match="has 'fee' twice"):
        tied(tmp_path, head="reference,fee,fee,currency")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    path.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        tie_invoice(FEES, path)
    with pytest.raises(InputError, match="cannot be read"):
        tie_invoice(FEES, tmp_path)


def test_outside_text_is_escaped(tmp_path: Path) -> None:
    result = tied(tmp_path, f"{HOSTILE},1,EUR,", "$5 and $6,1,EUR,")
    assert "<img" not in result._repr_html_()
    assert "$" not in result._repr_html_()
