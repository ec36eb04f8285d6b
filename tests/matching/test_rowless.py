"""A step is skipped only if it would have no rows, so results do not change."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from mangled import draw
from sqlglot import exp

from treasury.matching import reference_matching as matching
from treasury.matching.engine import pipeline
from treasury.matching.engine.pipeline import load, run
from treasury.matching.engine.rowless import AGGREGATES, is_rowless
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import match_references
from treasury.matching.rules import ClassRule, Rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.month import reconciliation as monthly


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM empty",
        "SELECT x, count(*) FROM empty GROUP BY x",
        "SELECT e.x FROM empty AS e JOIN filled AS f ON f.x = e.x",
        "SELECT e.x FROM filled AS f CROSS JOIN empty AS e",
        "SELECT e.x FROM empty AS e LEFT JOIN filled AS f ON f.x = e.x",
        "SELECT f.x FROM filled AS f SEMI JOIN empty AS e ON e.x = f.x",
        "SELECT e.x FROM empty AS e ANTI JOIN filled AS f ON f.x = e.x",
        "SELECT x FROM empty UNION ALL SELECT x FROM (SELECT DISTINCT x FROM empty) AS e",
        "WITH filled AS (SELECT x FROM empty) SELECT x FROM filled",
        "WITH a AS (SELECT x FROM empty), b AS (SELECT x FROM a) SELECT x FROM b",
        "SELECT x, row_number() OVER (ORDER BY x) AS place FROM empty",
        "SELECT x, (SELECT max(x) FROM filled) AS most FROM empty",
    ],
)
def test_a_query_over_empty_tables_has_no_row(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> None:
    assert is_rowless(connection, sql, {"empty"})
    assert not is_rowless(connection, sql, set())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM empty",
        "SELECT coalesce(max(x), 0) AS most FROM empty",
        "SELECT 1 AS one",
        "SELECT f.x FROM filled AS f LEFT JOIN empty AS e ON f.x = e.x",
        "SELECT f.x FROM filled AS f FULL JOIN empty AS e ON f.x = e.x",
        "SELECT f.x FROM filled AS f ANTI JOIN empty AS e ON e.x = f.x",
        "SELECT x FROM filled WHERE x NOT IN (SELECT x FROM empty)",
        "SELECT x FROM empty UNION ALL SELECT x FROM filled",
        "SELECT x FROM filled EXCEPT SELECT x FROM empty",
        "WITH empty AS (SELECT x FROM filled) SELECT x FROM empty",
        "SELECT x FROM (SELECT count(*) AS x FROM empty) AS e",
        "SELECT x FROM (VALUES (1)) AS given (x)",
    ],
)
def test_a_query_that_may_have_a_row_is_run(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> None:
    assert not is_rowless(connection, sql, {"empty"})


@pytest.mark.acceptance
def test_every_aggregate_that_a_step_uses_is_known() -> None:
    used = {
        aggregate.sql(dialect="duckdb").partition("(")[0].lower()
        for step in monthly.STEPS
        for aggregate in sqlglot.parse_one(step.sql, dialect="duckdb").find_all(exp.AggFunc)
        if not isinstance(aggregate.parent, exp.Window)
    }
    assert {"count", "sum", "max", "min"} <= used <= AGGREGATES


@pytest.mark.acceptance
def test_a_step_declared_empty_is_empty(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """With few lines at a time, different steps have no rows."""
    world = draw(1)
    lines, expectations = world.tables()
    rowless_steps, left_out = 0, set()
    for start in range(0, min(lines.num_rows, 60), 10):
        with duckdb.connect(config={"threads": 1}) as fresh:
            tables = {
                "lines": read_table(lines.slice(start, 10), LINES, name="lines"),
                "expectations": read_table(expectations, EXPECTATIONS, name="expectations"),
                "decisions": read_table(None, DECISIONS, name="decisions"),
                **NOTHING_SETTLED,
                **matching.rule_tables(Rules()),
            }
            load(fresh, tables)
            rowless = {name for name, table in tables.items() if not table.num_rows}
            for step in matching.STEPS:
                # A step that is run alone is not skipped: no table is known to be empty.
                run(fresh, [step])
                rows = fresh.table(step.name).limit(1).fetchall()
                if is_rowless(connection, step.sql, rowless):
                    assert not rows, step.name
                    left_out.add(step.name)
                if not rows:
                    rowless.add(step.name)
                rowless_steps += 1
    assert len(left_out) > 30
    assert rowless_steps > 500


@pytest.mark.acceptance
def test_skipping_steps_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, expectations = draw(3).tables()
    few = lines.slice(0, 5)
    left_out = match_references(few, expectations), match_references(few, expectations)
    monkeypatch.setattr(pipeline, "is_rowless", lambda *_: False)
    whole = match_references(few, expectations)
    for answer in left_out:
        assert answer.sheets() == whole.sheets()


def test_lines_of_a_month_have_the_columns_that_matching_takes() -> None:
    """Months and matches share a cache with the step's text as key, so the columns must agree."""
    (lines,) = (step for step in monthly.STEPS if step.name == "lines")
    columns = sqlglot.parse_one(lines.sql, dialect="duckdb").named_selects
    assert columns == [field.name for field in LINES]


def test_no_class_rule_is_tried_on_a_line_with_a_whole_reference(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """The invalid pattern fails if it is tried on a line."""
    (classed,) = (step for step in monthly.STEPS if step.name == "classed_lines")
    rule = dict.fromkeys(ClassRule.__struct_fields__) | {"name": "odd", "remittance": "("}
    line = {"entry_id": "a", "direction": "DBIT", "is_reversal": False, "return_reason": None}
    texts = ("source", "account", "bank_transaction_code", "counterparty_account")
    line |= dict.fromkeys((*texts, "counterparty_name")) | {"remittance": "HLT-1"}
    rules = {"turn": 0, "meets_credits": True, **rule}
    load(
        connection,
        {
            "bank_lines": _texts_of(line, is_reversal=pa.bool_()),
            "class_rules": _texts_of(rules, turn=pa.int64(), meets_credits=pa.bool_()),
            "whole_references": pa.table({"entry_id": ["a"]}),
        },
    )
    run(connection, [classed])
    assert connection.table("classed_lines").shape[0] == 0
    connection.execute("DELETE FROM whole_references")
    connection.execute("DROP TABLE classed_lines")
    with pytest.raises(duckdb.InvalidInputException, match="missing"):
        run(connection, [classed])


def _texts_of(row: dict[str, object], **types: pa.DataType) -> pa.Table:
    schema = pa.schema([(name, types.get(name, pa.string())) for name in row])
    return pa.Table.from_pylist([row], schema=schema)


@pytest.mark.parametrize("step", {s.name: s for s in (*matching.STEPS, *monthly.STEPS)}.values())
def test_the_declared_inputs_of_a_step_are_those_the_parser_finds(step: pipeline.Step) -> None:
    with duckdb.connect() as connection:
        try:
            found = connection.get_table_names(step.sql)
        # Without the tables, DuckDB refuses a set operation with `*`.
        except duckdb.BinderException:
            found = {
                table.name for table in sqlglot.parse_one(step.sql, "duckdb").find_all(exp.Table)
            }
            found -= {cte.alias for cte in sqlglot.parse_one(step.sql, "duckdb").find_all(exp.CTE)}
    assert found == step.reads
