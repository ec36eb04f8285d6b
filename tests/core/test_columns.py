"""Operations on columns give the same results as on single values."""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treasury.core.money import plain_digits
from treasury.core.tables.column_texts import (
    clean_column,
    column_texts,
    distinct_rows,
    plain_amounts,
    value_text,
    wide,
)
from treasury.core.text import clean

LARGEST = Decimal("99999999999999999999.999999999999999999")
WIDE = Context(prec=80)
SMALLEST = LARGEST.copy_negate()
amounts = st.lists(
    st.none()
    | st.decimals(SMALLEST, LARGEST, places=18)
    | st.decimals(-1000, 1000, places=2)
    | st.sampled_from([Decimal(0), Decimal("1E-18"), Decimal("-1E-18"), LARGEST, SMALLEST])
)
texts = st.lists(
    st.none()
    | st.text()
    | st.sampled_from(["", " ", "a  b", " a", "a ", "a · b", "a\u00a0b", "a\x1fb", "\u202eab", "é"])
)


@given(amounts, st.sampled_from([2, 18]))
@example([Decimal(0), Decimal("1E-18"), Decimal("-0.50"), Decimal(100), None, LARGEST], 18)
def test_a_column_of_amounts_is_formatted_like_single_amounts(
    values: list[Decimal | None], scale: int
) -> None:
    kept = [
        one
        for one in values
        if one is None or one == one.quantize(Decimal(1).scaleb(-2), context=WIDE)
    ]
    kind = pa.decimal128(38, scale)
    column = pa.chunked_array([pa.array(kept if scale == 2 else values, kind)])
    stored = column.to_pylist()
    plain = [None if one is None else plain_digits(one) for one in stored]
    assert plain_amounts(column).to_pylist() == plain
    assert column_texts(column) == [value_text(one) for one in stored]


@pytest.mark.acceptance
@given(st.lists(st.none() | st.integers(-(10**18), 10**18)), texts)
def test_other_columns_are_shown_like_single_values(
    numbers: list[int | None], words: list[str | None]
) -> None:
    for values, kind in ((numbers, pa.int64()), (words, pa.string()), (numbers, pa.decimal128(19))):
        column = pa.chunked_array([pa.array(values, kind)])
        assert column_texts(column) == [value_text(one) for one in column.to_pylist()]


@given(texts)
def test_a_column_of_texts_is_cleaned_like_single_texts(values: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(values, pa.string())])
    assert clean_column(column).to_pylist() == [
        None if one is None else clean(one) for one in values
    ]


def test_a_sum_of_the_largest_amounts_is_exact() -> None:
    column = pa.chunked_array([pa.array([LARGEST] * 3, pa.decimal128(38, 18))])
    table = pa.table({"key": ["a"] * 3, "amount": wide(column)})
    (row,) = table.group_by("key").aggregate([("amount", "sum")]).to_pylist()
    assert row["amount_sum"] == Decimal("299999999999999999999.999999999999999997")


@given(st.lists(st.tuples(st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 2))))
def test_distinct_rows_are_counted_and_each_row_is_mapped(
    rows: list[tuple[str | None, int | None]],
) -> None:
    halves = [
        pa.table({"word": pa.array(words, pa.string()), "number": pa.array(numbers, pa.int64())})
        for part in (rows[:3], rows[3:])
        for words, numbers in [tuple(zip(*part, strict=True)) or ((), ())]
    ]
    distinct, places = distinct_rows(pa.concat_tables(halves), ["word", "number"])
    counted = [(row["word"], row["number"], row["count"]) for row in distinct.to_pylist()]
    assert [counted[place][:2] for place in places.to_pylist()] == rows
    assert {row[:2]: row[2] for row in counted} == Counter(rows)
    assert len(counted) == len(set(rows))
