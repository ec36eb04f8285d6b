"""Matching with Apache Spark as the engine gives the same rows and errors."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from mangled import draw
from spark_runs import run_on_spark

from treasury import TreasuryError, match_references

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1800)]
LINES, EXPECTATIONS = draw(11, each=2).tables()
DECISIONS = pa.Table.from_pylist(
    [
        {
            "entry_id": entry,
            "expectation_id": expectation,
            "verdict": verdict,
            "reason": "by telephone",
        }
        for entry, expectation, verdict in zip(
            LINES["entry_id"].to_pylist()[:30:10],
            EXPECTATIONS["expectation_id"].to_pylist(),
            ("accept", "reject", "ignore"),
            strict=False,
        )
    ]
)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    """Return the first rows of a table, with one column replaced."""
    few = table.slice(0, len(values))
    return few.set_column(few.schema.get_field_index(name), name, pa.array(values))


WRONG = {
    "lines-column": LINES.drop_columns(["amount"]),
    "lines-float": with_column(LINES, "amount", [1.5, 2.5]),
    "lines-places": with_column(LINES, "amount", [Decimal("1." + "1" * 20), Decimal(2)]),
    "lines-negative": with_column(LINES, "amount", [Decimal("-1.00"), Decimal("2.00")]),
    "lines-twice": with_column(LINES, "entry_id", ["e1", "e1"]),
    "lines-sign": with_column(LINES, "direction", ["CRDT", "credit"]),
    "lines-hours": with_column(LINES, "booking_date", [datetime(2026, 10, 5, 9, tzinfo=UTC), None]),
    "lines-reference": LINES.drop_columns(["end_to_end_id", "creditor_reference", "remittance"]),
    "expectations-blank": with_column(EXPECTATIONS, "expectation_id", ["r1", " "]),
    "expectations-much": with_column(EXPECTATIONS, "amount", [Decimal(10**20 - 1), Decimal(1)]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "wrong").mkdir()
    given = {"lines": LINES, "expectations": EXPECTATIONS, "decisions": DECISIONS}
    given |= {f"wrong/{name}": table for name, table in WRONG.items()}
    for name, table in given.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Any]:
    return run_on_spark("classic", folder)


def assert_same(folder: Path) -> None:
    """Check that Spark wrote the same rows to the folder as DuckDB returns."""
    matches = match_references(LINES, EXPECTATIONS, decisions=DECISIONS)
    for name in ("lines", "expectations", "allocations", "candidates"):
        table = getattr(matches, name)
        rows = ds.dataset(folder / name).to_table().cast(table.schema).to_pylist()
        assert sorted(map(str, rows)) == sorted(map(str, table.to_pylist())), name
        assert rows, name


def test_spark_frames_give_the_same_rows_as_duckdb(folder: Path, said: dict[str, Any]) -> None:
    assert_same(folder / "answer")
    matches = match_references(LINES, EXPECTATIONS, decisions=DECISIONS)
    assert said["counts"] == matches.counts()
    assert said["hash"] == matches.rules_hash


def test_only_the_result_tables_remain(said: dict[str, Any]) -> None:
    answer = ["allocations", "candidates", "expectations", "lines"]
    assert said["left"] == answer
    assert said["schema"] == [*answer[:1], "bank", *answer[1:]]
    assert said["views"] == []
    assert said["few"] == 20


def test_the_session_is_left_unchanged(said: dict[str, Any]) -> None:
    assert said["zone"] == "Asia/Tokyo"


def test_no_existing_file_is_overwritten(folder: Path, said: dict[str, Any]) -> None:
    assert said["again"].startswith(f"StorageError: {folder / 'answer' / 'lines'} is not written")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_in_the_same_words(name: str, said: dict[str, Any]) -> None:
    which = name.partition("-")[0]
    with pytest.raises(TreasuryError) as caught:
        match_references(
            WRONG[name] if which == "lines" else LINES,
            WRONG[name] if which == "expectations" else EXPECTATIONS,
        )
    here = f"{type(caught.value).__name__}: {caught.value}"
    assert said[name] is not None
    # Spark does not number rows.
    if name == "expectations-blank":
        here = here.replace("in row 1", "in a row")
    # The rest of the message quotes a library or a sum, which differ.
    if name in {"lines-places", "expectations-much"}:
        here, said[name] = here.partition("(")[0][:60], said[name].partition("(")[0][:60]
    assert said[name] == here


def test_an_invalid_engine_or_place_is_refused(said: dict[str, Any]) -> None:
    assert said["nowhere"].startswith("InputError: into: on Spark the result is written")
    assert said["no path"].startswith("TableError: lines:")
    assert said["no engine"].startswith("InputError: engine: int is not a Spark session")


def test_a_connect_server_gives_the_same_rows(folder: Path) -> None:
    connected = run_on_spark("connect", folder)
    assert_same(folder / "connected")
    assert connected["module"].startswith("pyspark.sql.connect.")
