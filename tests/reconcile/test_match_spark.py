"""Every model gives the same rows on Apache Spark as on DuckDB, step by step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import sqlglot
from mangled import draw
from sqlglot import exp

from treasury import Workspace
from treasury.lake import Snapshot
from treasury.reconcile import matching, monthly
from treasury.reconcile.dialect import SPARK_SETTINGS, render
from treasury.reconcile.inputs import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.reconcile.pipeline import Step, load, run
from treasury.reconcile.rules import Rules

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-spark" / "bin" / "python"
RUNNER = Path(__file__).with_name("spark_runner.py")
LOCAL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
"""Small tables on one machine, and nothing that listens beyond it."""


@pytest.fixture(scope="session", autouse=True)
def _spark() -> None:
    assert PYTHON.exists(), "Apache Spark is not installed; run tools/spark"
    assert shutil.which("java"), "Spark needs Java; on Debian: apt-get install default-jre-headless"


def run_on_spark(
    folder: Path, steps: tuple[Step, ...], inputs: Mapping[str, list[str]]
) -> dict[str, pa.Table]:
    """The rows of each step, as Spark wrote them."""
    plan: dict[str, Any] = {
        "settings": SPARK_SETTINGS | LOCAL | {"spark.sql.warehouse.dir": str(folder / "warehouse")},
        "inputs": inputs,
        "steps": [[step.name, render(step)] for step in steps],
    }
    (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    done = subprocess.run(
        [PYTHON, RUNNER, folder],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(PYTHON)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {step.name: ds.dataset(folder / "rows" / step.name).to_table() for step in steps}


def written(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, list[str]]:
    """Each table as a Parquet file."""
    found = {}
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        pq.write_table(table, path)
        found[name] = [str(path)]
    return found


def in_order(table: pa.Table, schema: pa.Schema) -> list[tuple[Any, ...]]:
    """The rows of a table with these columns, sorted, in the same types."""
    assert table.column_names == schema.names
    rows = zip(*(column.to_pylist() for column in table.cast(schema).columns), strict=True)
    return sorted(rows, key=lambda row: tuple((value is None, str(value)) for value in row))


def hold_together(
    connection: duckdb.DuckDBPyConnection, steps: tuple[Step, ...], spark: dict[str, pa.Table]
) -> None:
    """Compare every step's rows, from a DuckDB connection on which they have run."""
    for step in steps:
        table = connection.table(step.name).to_arrow_table()
        assert in_order(spark[step.name], table.schema) == in_order(table, table.schema), step.name


def inputs_of(steps: tuple[Step, ...]) -> set[str]:
    """The tables that steps read and do not make."""
    read = {
        table.name
        for step in steps
        for table in sqlglot.parse_one(step.sql, read="duckdb").find_all(exp.Table)
    }
    made = {step.name for step in steps}
    within = {
        cte.alias
        for step in steps
        for cte in sqlglot.parse_one(step.sql, read="duckdb").find_all(exp.CTE)
    }
    return read - made - within


def stored_files(snapshot: Snapshot, name: str) -> list[str]:
    """The Parquet files of a table in this snapshot, without those of its history."""
    stored = snapshot.stored().get(name)
    return [file.path for file in stored.files] if stored else []


def test_matching_gives_the_same_rows(tmp_path: Path) -> None:
    world = draw(11, each=3)
    lines, expectations = world.tables()
    entry, wanted = world.lines[0]["entry_id"], world.expectations[0]["expectation_id"]
    decision = {"entry_id": entry, "expectation_id": wanted, "verdict": "reject", "reason": "no"}
    tables = {
        "lines": read_table(lines, LINES, what="lines"),
        "expectations": read_table(expectations, EXPECTATIONS, what="expectations"),
        "decisions": read_table(pa.Table.from_pylist([decision]), DECISIONS, what="decisions"),
        **matching.rule_tables(Rules()),
    }
    spark = run_on_spark(tmp_path, matching.STEPS, written(tmp_path, tables))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        load(connection, tables)
        run(connection, matching.STEPS)
        hold_together(connection, matching.STEPS, spark)


def test_the_month_gives_the_same_rows(month_end: Workspace, tmp_path: Path) -> None:
    """Spark reads the snapshot's own Parquet files; the rest is what the question brings."""
    snapshot = month_end.snapshot()
    question = month_end._question("2026-10")
    with monthly._answered(snapshot, question, None) as connection:
        needed = inputs_of(monthly.STEPS)
        files = {name: stored_files(snapshot, name) for name in needed}
        given = {
            name: connection.table(name).to_arrow_table() for name in needed if not files[name]
        }
        inputs = {name: paths for name, paths in files.items() if paths}
        spark = run_on_spark(tmp_path, monthly.STEPS, inputs | written(tmp_path, given))
        hold_together(connection, monthly.STEPS, spark)
