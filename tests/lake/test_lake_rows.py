"""The checks of declared tables and of rows, and the content hash of a row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lake_samples import BALANCES, REQUESTS, WALLETS, requests, wallets

from treasury.core.errors import TableError
from treasury.core.tables.column_types import (
    AMOUNT,
    BOOL,
    DATE,
    INSTANT,
    INTEGER,
    TEXT,
    TEXTS,
    Column,
    schema_of,
)
from treasury.lake import Table
from treasury.lake.incoming_rows import conform, with_hash

ID = Column("id", TEXT, "it")


def hashes(table: Table, rows: pa.Table) -> list[str]:
    return with_hash(conform(table, rows), table.volatile)["content_hash"].to_pylist()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"name": "Wallets"}, "snake_case"),
        ({"name": "wallets_history"}, "_history"),
        ({"columns": (ID, ID)}, "twice"),
        ({"columns": (ID, Column("raw", TEXT, ""))}, "the lake adds"),
        ({"key": ("nr",)}, "key column"),
        ({"settles": True}, "is_open"),
        ({"key": ()}, "need a key"),
    ],
)
def test_a_wrong_declaration_fails_at_once(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Table(**{"name": "wallets", "columns": (ID,), **wrong})


def test_a_column_takes_only_types_of_the_lake() -> None:
    with pytest.raises(ValueError, match="double"):
        Column("amount", pa.float64(), "a float")


class Example(msgspec.Struct):
    name: str
    total: Decimal | None
    count: int
    day: date
    at: datetime | None
    is_open: bool
    ids: tuple[str, ...]
    versions: dict[str, int]


def test_a_struct_gives_its_fields_as_columns_and_other_types_as_text() -> None:
    schema = schema_of(Example)
    assert schema.names == [field.name for field in msgspec.structs.fields(Example)]
    assert schema.types == [TEXT, AMOUNT, INTEGER, DATE, INSTANT, BOOL, TEXTS, TEXT]


def test_the_schema_has_the_declared_columns_and_those_of_the_lake() -> None:
    assert REQUESTS.schema.names[-4:] == ["raw", "vanished_at", "content_hash", "valid_from"]
    assert REQUESTS.history_schema.names[-1] == "valid_to"
    assert BALANCES.schema.names == ["wallet_id", "total", "raw", "valid_from"]


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("amount", pa.array([0.1]), "amount is double"),
        ("amount", pa.array([Decimal("1e-19")], pa.decimal256(60, 30)), "does not fit"),
        ("created_at", pa.array([0], pa.timestamp("us")), r"created_at is timestamp\[us\]"),
        ("is_open", pa.array([None], BOOL), "is_open is empty"),
        ("id", pa.array([None], TEXT), "id is empty"),
        ("raw", pa.array([None], TEXT), "raw is empty"),
    ],
)
def test_an_invalid_row_is_named(column: str, values: pa.Array, problem: str) -> None:
    rows = requests(a="OPEN")
    place = rows.column_names.index(column)
    with pytest.raises(TableError, match=problem):
        conform(REQUESTS, rows.set_column(place, column, values))


def test_missing_and_unknown_columns_are_named() -> None:
    with pytest.raises(TableError, match="lack status"):
        conform(REQUESTS, requests(a="OPEN").drop_columns(["status"]))
    with pytest.raises(TableError, match="have colour"):
        conform(REQUESTS, requests(a="OPEN").append_column("colour", pa.array(["red"])))


def test_a_key_that_comes_twice_is_refused() -> None:
    rows = requests(a="OPEN")
    with pytest.raises(TableError, match="the key a appears 2 times"):
        conform(REQUESTS, pa.concat_tables([rows, rows]))


def test_amounts_widen_without_losing_a_digit() -> None:
    rows = requests(a="OPEN")
    narrow = pa.array([Decimal("25000.12")], pa.decimal128(10, 2))
    place = rows.column_names.index("amount")
    conformed = conform(REQUESTS, rows.set_column(place, "amount", narrow))
    assert conformed["amount"].type == AMOUNT
    assert conformed["amount"][0].as_py() == Decimal("25000.12")


def test_the_hash_changes_with_every_column_and_with_raw() -> None:
    base = requests(a="OPEN")
    changes: dict[str, pa.Array] = {
        "status": pa.array(["DONE"]),
        "is_open": pa.array([False]),
        "amount": pa.array([Decimal("0.000000000000000001")], AMOUNT),
        "created_at": pa.array([None], base["created_at"].type),
        "raw": pa.array(["{}"]),
    }
    variants = [base.set_column(base.column_names.index(n), n, v) for n, v in changes.items()]
    seen = {hashes(REQUESTS, rows)[0] for rows in [base, *variants]}
    assert len(seen) == len(changes) + 1


def test_an_empty_column_declared_later_changes_no_hash() -> None:
    wider = Table("requests", (*REQUESTS.columns, Column("late", TEXT, "new")), settles=True)
    rows = requests(a="OPEN", b="DONE")
    assert hashes(wider, rows.append_column("late", pa.nulls(2, TEXT))) == hashes(REQUESTS, rows)


def test_only_volatile_fields_of_raw_are_left_out_of_the_hash() -> None:
    plain, moved = wallets(w={"x": 1.10, "balances": [1]}), wallets(w={"x": 1.10, "balances": [2]})
    other = wallets(w={"x": 1.2, "balances": [1]})
    assert hashes(WALLETS, plain) == hashes(WALLETS, moved)
    assert hashes(WALLETS, plain) != hashes(WALLETS, other)
    assert moved["raw"].to_pylist() == ['{"x": 1.1, "balances": [2]}']


NOTES = Table("notes", (ID, Column("a", TEXT, ""), Column("b", TEXT, "")), key=("id",))
texts = st.one_of(st.none(), st.text(alphabet="a=:;,-1'\"\x00é", max_size=6))


@pytest.mark.acceptance
@given(left=st.tuples(texts, texts), right=st.tuples(texts, texts))
@settings(max_examples=150)
def test_equal_hashes_mean_equal_rows(
    left: tuple[str | None, str | None], right: tuple[str | None, str | None]
) -> None:
    rows = pa.Table.from_pylist(
        [{"id": str(n), "a": a, "b": b, "raw": "{}"} for n, (a, b) in enumerate([left, right])],
        schema=NOTES.row_schema,
    )
    same = rows.set_column(0, "id", pa.array(["k", "k"]))
    one, other = with_hash(same, ())["content_hash"].to_pylist()
    assert (one == other) is (left == right)


MIXED = Table(
    "mixed",
    (
        ID,
        Column("amount", AMOUNT, ""),
        Column("at", INSTANT, ""),
        Column("b", TEXT, ""),
        Column("flag", BOOL, ""),
        Column("marks", TEXTS, ""),
        Column("n", INTEGER, ""),
    ),
)
mixed = st.fixed_dictionaries(
    {
        "id": st.just("k"),
        "amount": st.none() | st.decimals(-9, 9, places=2),
        "at": st.none() | st.datetimes(timezones=st.just(UTC)),
        "b": st.none() | st.text(max_size=3),
        "flag": st.none() | st.booleans(),
        "marks": st.none() | st.lists(st.text(max_size=2), max_size=2),
        "n": st.none() | st.integers(-2, 2),
        "raw": st.just("{}"),
    }
)


@pytest.mark.acceptance
@given(records=st.lists(mixed, min_size=2, max_size=6))
@settings(max_examples=150)
def test_the_hash_of_a_row_depends_on_that_row_only(records: list[dict[str, Any]]) -> None:
    rows = pa.Table.from_pylist(records, schema=MIXED.row_schema)
    together = with_hash(rows, ())["content_hash"].to_pylist()
    alone = [with_hash(rows.slice(n, 1), ())["content_hash"][0].as_py() for n in range(len(rows))]
    assert alone == together
    for n, one in enumerate(records):
        for m, other in enumerate(records):
            assert (together[n] == together[m]) is (one == other)
