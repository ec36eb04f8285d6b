"""Every model gives the same rows on Apache Spark as on DuckDB, step by step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import sqlglot
from habits_world import draw_habits
from mangled import draw
from sqlglot import exp

from treasury import Workspace
from treasury.lake import Snapshot
from treasury.matching import reference_matching as matching
from treasury.matching.engine.dialect import SPARK_SETTINGS, render
from treasury.matching.engine.pipeline import Step, load, run
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.matching.spark.spark_run import spark_columns
from treasury.month import reconciliation as monthly
from treasury.month.kept_run import Run
from treasury.month.trace import lookup, tracer

TRACED = (*monthly.STEPS, *tracer.TRACE_STEPS, lookup.CHOSEN)
"""A month's steps, and the steps that look a payment up."""
# Spark starts in about twenty seconds, but needs minutes on a busy machine.
pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-spark" / "bin" / "python"
RUNNER = Path(__file__).with_name("spark_runner.py")
LOCAL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
"""Settings for small tables on one machine: one partition, no compiled code, no web interface."""


class Model(msgspec.Struct, frozen=True):
    """Steps, the DuckDB connection with their results, and the folder of Spark's plan and rows."""

    steps: tuple[Step, ...]
    connection: duckdb.DuckDBPyConnection
    folder: Path


class Input(msgspec.Struct, frozen=True):
    """An input table for Spark: its Parquet files, their partitioning and its columns."""

    files: list[str]
    columns: str
    base: str | None = None


@pytest.fixture(scope="module")
def models(
    month_end: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Model]]:
    """Run both models on both engines, with a single Spark session."""
    assert PYTHON.exists(), "Apache Spark is not installed; run tools/spark"
    assert shutil.which("java"), "Spark needs Java; on Debian: apt-get install default-jre-headless"
    with ExitStack() as stack:
        snapshot, question = month_end.snapshot(), month_end.question("2026-10")
        found_run = stack.enter_context(monthly.run_on_question(snapshot, question, None))
        trace_all(found_run)
        month = found_run.connection
        steps_by_name = {
            "matching": Model(
                matching.STEPS, stack.enter_context(matched()), tmp_path_factory.mktemp("matching")
            ),
            "month": Model(TRACED, month, tmp_path_factory.mktemp("month")),
        }
        for number, model in enumerate(steps_by_name.values()):
            plan(model, number, snapshot if model.connection is month else None)
        run_on_spark([model.folder for model in steps_by_name.values()])
        yield steps_by_name


def trace_all(month: Run) -> None:
    """Run the steps that look up payments on a month's results, without a filter."""
    month.bring(tracer.TRACE_STEPS)
    every = "SELECT DISTINCT kind, id FROM traceable_names"
    month.give({"wanted": month.connection.sql(every).to_arrow_table()})
    month.bring((lookup.CHOSEN,))


def matched() -> duckdb.DuckDBPyConnection:
    """Return a connection on which a world has been matched.

    The world has decisions of each verdict, and payers without a reference in the last month.
    """
    world, habits = draw(11, each=3), draw_habits(1, payers=8, months=3)
    for row in habits.world.lines:
        row["entry_id"] = f"habit-{row['entry_id']}"
    lines, expectations = (
        pa.concat_tables(both, promote_options="permissive")
        for both in zip(world.tables(), habits.world.tables(), strict=True)
    )
    rows = [
        {"entry_id": row["entry_id"], "expectation_id": expectation["expectation_id"]}
        | {"verdict": verdict, "reason": "by telephone"}
        for row, expectation, verdict in zip(
            world.lines[:30:10], world.expectations, ("accept", "reject", "ignore"), strict=False
        )
    ]
    rows += [
        row | {"entry_id": f"habit-{row['entry_id']}", "reason": "by telephone"}
        for row in habits.decisions.select(["entry_id", "expectation_id", "verdict"]).to_pylist()
    ]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    tables = {
        "lines": read_table(lines, LINES, name="lines"),
        "expectations": read_table(expectations, EXPECTATIONS, name="expectations"),
        "decisions": read_table(pa.Table.from_pylist(rows), DECISIONS, name="decisions"),
        **NOTHING_SETTLED,
        **matching.rule_tables(Rules()),
    }
    load(connection, tables)
    run(connection, matching.STEPS)
    return connection


def plan(model: Model, number: int, snapshot: Snapshot | None) -> None:
    """Write Spark's plan, which reads stored tables from the snapshot's own files."""
    inputs = {name: source(model, name, snapshot) for name in sorted(inputs_of(model.steps))}
    targets = {
        "number": number,
        "settings": SPARK_SETTINGS | LOCAL | {"spark.sql.warehouse.dir": str(model.folder / "own")},
        "inputs": {name: msgspec.structs.asdict(table) for name, table in inputs.items()},
        "steps": [[step.name, render(step)] for step in model.steps],
    }
    (model.folder / "plan.json").write_text(json.dumps(targets), "utf-8")


def source(model: Model, name: str, snapshot: Snapshot | None) -> Input:
    """Describe an input table; write it as Parquet if the snapshot has no files for it."""
    table = model.connection.table(name).to_arrow_table()
    stored = snapshot.stored().get(name) if snapshot is not None else None
    if stored is not None and stored.files:
        files = [file.path for file in stored.files]
        divided = [Path(path).parents[1] for path in files if "=" in Path(path).parent.name]
        return Input(files, spark_columns(table.schema), str(divided[0]) if divided else None)
    path = model.folder / f"{name}.parquet"
    pq.write_table(table, path)
    return Input([str(path)], spark_columns(table.schema))


def inputs_of(steps: tuple[Step, ...]) -> set[str]:
    """Return the names of the input tables of steps."""
    trees = [sqlglot.parse_one(step.sql, read="duckdb") for step in steps]
    read = {table.name for tree in trees for table in tree.find_all(exp.Table)}
    within = {cte.alias for tree in trees for cte in tree.find_all(exp.CTE)}
    return read - within - {step.name for step in steps}


def run_on_spark(folders: list[Path]) -> None:
    """Run every plan in one session of Spark's own environment."""
    completed = subprocess.run(
        [PYTHON, RUNNER, *folders],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(PYTHON)},
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-4000:]


def in_order(table: pa.Table, schema: pa.Schema) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a table with these columns, cast to their types."""
    assert table.column_names == schema.names
    rows = zip(*(column.to_pylist() for column in table.cast(schema).columns), strict=True)
    return sorted(rows, key=lambda row: tuple((value is None, str(value)) for value in row))


@pytest.mark.parametrize(
    ("name", "step"),
    [("matching", step.name) for step in matching.STEPS]
    + [("month", step.name) for step in TRACED],
)
def test_a_step_gives_the_same_rows(models: dict[str, Model], name: str, step: str) -> None:
    model = models[name]
    table = model.connection.table(step).to_arrow_table()
    spark = ds.dataset(model.folder / "rows" / step).to_table()
    assert in_order(spark, table.schema) == in_order(table, table.schema)


OWN = {"asked", "class_rules", "covered", "declared_accounts", "statement_proofs"}
LENGTHS = {"code_lengths", "body_lengths", "part_lengths", "serial_lengths", "halves"}
SMALL = OWN | LENGTHS | {*matching.rule_tables(Rules()), "code_initials", "search_bounds"}
"""Tables that do not grow with the number of lines: rules, our own accounts, lengths and first
characters of codes."""


@pytest.mark.parametrize("name", ["matching", "month"])
def test_no_step_joins_every_row_with_every_row(models: dict[str, Model], name: str) -> None:
    """Joins without equal columns are allowed if one side is always small."""
    products = json.loads((models[name].folder / "products.json").read_text("utf-8"))
    large = [
        [step, sides] for step, sides in products if not any(set(side) <= SMALL for side in sides)
    ]
    assert large == []
    assert products, "the cross join of code lengths is one"


def test_the_inputs_contain_enough_rows(models: dict[str, Model]) -> None:
    """Two empty results are always equal."""
    for name, steps in {
        "matching": (
            "outcomes",
            "candidates",
            "allocations",
            "damaged_codes",
            "rejoined_codes",
            "linked_returns",
        ),
        "month": (
            "month_lines",
            "candidates",
            "funding",
            "in_transit",
            "fee_totals",
            "trace_choices",
            "wanted_choices",
        ),
    }.items():
        for step in steps:
            assert models[name].connection.table(step).shape[0] > 0, (name, step)
