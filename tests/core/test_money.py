"""Amounts are exact, or an error is raised."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.core.errors import InputError
from treasury.core.money import (
    basis_points,
    convert,
    exponent,
    fee_of,
    format_amount,
    half_up,
    is_exact_in,
    net_crypto,
    parse_amount,
    quantize,
    typed_amount,
)

AMOUNTS = st.decimals(
    min_value=Decimal("-1e19"), max_value=Decimal("1e19"), places=18, allow_nan=False
)


@pytest.mark.parametrize(
    ("currency", "decimals"),
    [("EUR", 2), ("VND", 0), ("XOF", 0), ("UGX", 0), ("IQD", 3), ("LYD", 3), ("USDC", 6)],
)
def test_a_currency_has_the_decimals_of_its_list(currency: str, decimals: int) -> None:
    assert exponent(currency) == decimals


@given(AMOUNTS)
def test_digits_are_kept_exactly(amount: Decimal) -> None:
    assert parse_amount(f"{amount:f}") == amount
    assert Decimal(format_amount(amount, "EUR").removeprefix("EUR ").replace(",", "")) == amount


@pytest.mark.parametrize(
    "value",
    ["", "1,234.56", "1.234,56", "NaN", "Infinity", "0x10", "1_000", "٣", "1e9999", "abc", "1.2.3",
     "1e30", "0.1234567890123456789", "100000000000000000000"],
)  # fmt: skip
def test_text_that_is_not_an_amount_is_an_error_and_never_zero(value: str) -> None:
    with pytest.raises(InputError, match="fee"):
        parse_amount(value, name="fee")


@pytest.mark.parametrize("value", ["1e3", "1E+3", " 1e-2 "])
def test_an_exponent_is_accepted_from_machines_and_not_from_people(value: str) -> None:
    assert parse_amount(value) == Decimal(value.strip())
    with pytest.raises(InputError, match=r"balance: .* is not an amount - write it as 1234\.56"):
        typed_amount(value, name="balance")
    assert typed_amount(" -12.50 ") == Decimal("-12.50")


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("1234.56", "1234.56"), ("1,234.56", "1234.56"), ("1.234,56", "1234.56"),
        ("1 234,56", "1234.56"), ("1\u00a0234", "1234"), ("1\u202f234\u202f567", "1234567"),
        ("1'234.5", "1234.5"), ("1,234,567", "1234567"), ("1.234.567", "1234567"), ("0,5", "0.5"),
        ("0.123", "0.123"), ("1234.567", "1234.567"), ("10k", "10000"), ("2,5 K", "2500"),
        ("-1.234,56", "-1234.56"),
    ],
)  # fmt: skip
def test_an_amount_is_read_as_people_type_it(typed: str, amount: str) -> None:
    assert typed_amount(typed) == Decimal(amount)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("1.234", "has two meanings - write 1234 or 1.2340"),
        ("-12,345", "has two meanings - write -12345 or -12.3450"),
        ("1.234k", "has two meanings"), ("k", "is not an amount"), ("1 2 3", "is not an amount"),
        ("12,34,567", "is not an amount"), ("1,234.567.890", "is not an amount"),
        ("10m", "is not an amount"), ("EUR 5", "is not an amount"), ("", "is not an amount"),
        ("٣", "is not an amount"),
    ],
)  # fmt: skip
def test_an_amount_with_two_readings_or_none_is_refused_in_one_line(typed: str, why: str) -> None:
    with pytest.raises(InputError, match=f"^limit: .*{why}"):
        typed_amount(typed, name="limit")


@pytest.mark.parametrize("value", [1.5, True, None, b"1"])
def test_a_float_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="not an exact amount"):
        parse_amount(value)  # type: ignore[arg-type]  # what a careless caller would do


def test_the_worked_examples_are_exact() -> None:
    gross, rate = Decimal(25000), Decimal("0.9231")
    fee = fee_of(gross, Decimal("0.8"), "EUR")
    assert fee == Decimal("200.00")
    assert net_crypto(gross, fee, rate, "USDC") == Decimal("26865.995017")
    assert convert(Decimal(10000), Decimal("0.92"), "EUR") == Decimal("9200.00")
    assert fee_of(Decimal(9200), Decimal("0.8"), "EUR") == Decimal("73.60")
    assert basis_points(fee, gross) == Decimal("80.00")
    assert basis_points(fee, Decimal(0)) is None


def test_the_interpreters_decimal_precision_does_not_matter() -> None:
    with localcontext() as context:
        context.prec = 4
        assert net_crypto(
            Decimal("25000.01"), Decimal("200.01"), Decimal("0.9231"), "USDC"
        ) == Decimal("26865.995017")


def test_amounts_show_at_least_the_decimals_of_their_currency() -> None:
    assert format_amount(Decimal(25000), "EUR") == "EUR 25,000.00"
    assert format_amount(Decimal(10000), "USDC") == "USDC 10,000.000000"
    assert format_amount(Decimal("0.005"), "EUR") == "EUR 0.005"
    assert format_amount(Decimal("-1234.5"), "JPY") == "JPY -1,234.5"
    assert not is_exact_in(Decimal("0.005"), "EUR")
    assert is_exact_in(Decimal("0.50000"), "EUR")
    assert quantize(Decimal("0.005"), "EUR") == Decimal("0.01")


@given(st.integers(-(10**45), 10**45) | st.integers(-99, 99), st.integers(1, 10**40) | st.just(2))
def test_a_ratio_is_rounded_half_up_from_zero(numerator: int, denominator: int) -> None:
    exact = Context(prec=200).divide(Decimal(numerator), Decimal(denominator))
    wanted = exact.quantize(Decimal(1), ROUND_HALF_UP, Context(prec=100))
    assert half_up(numerator, denominator) == wanted
