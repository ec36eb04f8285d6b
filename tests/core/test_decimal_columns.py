"""Decimal columns made from integers equal decimals created one by one."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.core.tables.column_types import AMOUNT
from treasury.core.tables.decimal_columns import decimal_column, whole_numbers

NUMBERS = st.lists(st.none() | st.integers(-(10**21), 10**21), max_size=20)


@given(NUMBERS, st.integers(0, 6))
def test_a_column_holds_each_number_in_its_unit(numbers: list[int | None], places: int) -> None:
    column = decimal_column(numbers, places + 2, AMOUNT)
    exact = [None if n is None else Decimal(n).scaleb(-places - 2) for n in numbers]
    assert column.to_pylist() == exact
    assert column.type == AMOUNT


def test_a_number_outside_the_type_is_refused() -> None:
    for number in (10**9, 10**30):  # Numbers that fit 64 bits, and larger ones.
        with pytest.raises(pa.ArrowInvalid):
            decimal_column([number], 2, pa.decimal128(8, 2))


WHOLE = st.integers(1 - 10**38, 10**38 - 1) | st.integers(-9, 9) | st.just(2**64)


@given(st.lists(WHOLE, max_size=20), st.integers(0, 20))
def test_a_column_returns_each_number_at_any_position(numbers: list[int], start: int) -> None:
    exact = [Decimal(f"{number}E-18") for number in numbers]
    column = pa.chunked_array([pa.array(exact, AMOUNT), pa.array(exact[::-1], AMOUNT)])
    assert whole_numbers(column.slice(start)) == [*numbers, *numbers[::-1]][start:]
