"""Every step uses only SQL with the same meaning in DuckDB and Spark, and no floats.

Each rule names a construct that gave other rows, no rows or an error on one of the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from mangled import draw
from sqlglot import exp

from treasury import Workspace
from treasury.close import roll_forward
from treasury.close.fees import gas_costs
from treasury.close.ledger import accounting
from treasury.close.valuation.coins import coin_events
from treasury.close.valuation.exposure import provider_exposure
from treasury.matching import reference_matching as matching
from treasury.matching.engine.pipeline import (
    Step,
    in_order,
    load,
    read_in_turn,
    run,
    steps_of,
)
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.month import reconciliation as monthly
from treasury.month.settle.unsettled_run import SETTLE_STEPS
from treasury.month.trace import lookup, tracer
from treasury.workspace.upkeep import dictionary

ROOT = Path(__file__).resolve().parents[2] / "treasury"
FILES = sorted(
    path for path in ROOT.glob("**/*.sql") if not {"journal", "sandbox"} & set(path.parts)
)
"""Every SQL file except those of the journal and the sandbox, which use another database."""
FLOATS = {"DOUBLE", "FLOAT", "REAL"}

Rule = Callable[[exp.Expression], bool]


def is_ordered(node: exp.Expression) -> bool:
    """Return whether this aggregate depends on the order of rows."""
    inside = isinstance(node, exp.AggFunc) and isinstance(node.this, exp.Order)
    return inside or isinstance(node, exp.WithinGroup)


def is_any_row(node: exp.Expression) -> bool:
    """Return whether this is a value of an arbitrary row; a sorted list of all is allowed."""
    names = (exp.First, exp.Last, exp.AnyValue, exp.ArrayAgg, exp.GroupConcat)
    return isinstance(node, names) and not isinstance(node.parent, exp.Window | exp.ArraySort)


def is_finer_than_a_day(node: exp.Expression) -> bool:
    is_difference = isinstance(node, exp.DateDiff | exp.TimestampDiff)
    return is_difference and str(node.args.get("unit")).upper().strip("'") != "DAY"


def is_first_only(node: exp.Expression) -> bool:
    """Return whether this replaces only the first occurrence."""
    if not isinstance(node, exp.RegexpReplace):
        return False
    modifiers = node.args.get("modifiers")
    return "g" not in (modifiers.name if modifiers is not None else "")


def is_wide_product(node: exp.Expression) -> bool:
    """Return whether a product may overflow: a factor is neither a whole number nor narrow."""
    if not isinstance(node, exp.Mul):
        return False
    return not all(_is_narrow(factor.unnest()) for factor in (node.left, node.right))


def _is_narrow(factor: exp.Expression) -> bool:
    if isinstance(factor, exp.Literal):
        return factor.is_int
    if not isinstance(factor, exp.Cast):
        return False
    kind = factor.to
    digits = int(kind.expressions[0].name) if kind.expressions else 38
    is_whole = kind.is_type(*exp.DataType.INTEGER_TYPES)
    return is_whole or (kind.is_type("decimal") and digits <= 28)


def is_float(node: exp.Expression) -> bool:
    if isinstance(node, exp.DataType):
        return node.this.name in FLOATS
    is_decimal = isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower()
    return is_decimal or isinstance(node, exp.Div | exp.Avg | exp.Sqrt | exp.Ln | exp.Exp)


def is_nested_unnest(node: exp.Expression) -> bool:
    """Return whether rows are made inside an expression; Spark allows only a whole column."""
    is_made = isinstance(node, exp.Explode | exp.Unnest) and not isinstance(
        node.parent, exp.From | exp.Join | exp.Lateral
    )
    holder = node.parent.parent if isinstance(node.parent, exp.Alias) else node.parent
    return is_made and not isinstance(holder, exp.Select)


def is_asked_of_the_window(node: exp.Expression) -> bool:
    """Return whether QUALIFY has a subquery; engines look up its columns in different tables."""
    return isinstance(node, exp.Qualify) and node.find(exp.Select) is not None


def is_compared_row_by_row(node: exp.Expression) -> bool:
    """Return whether DuckDB uses a nested loop for the condition of this outer join."""
    if not isinstance(node, exp.Join) or not node.side or node.args.get("on") is None:
        return False
    joined, asked = node.this.alias_or_name, node.args["on"].unnest()
    parts = asked.flatten() if isinstance(asked, exp.And) else [asked]
    return not all(_is_of_both_sides(part.unnest(), joined) for part in parts)


def _is_of_both_sides(part: exp.Expression, joined: str) -> bool:
    """Return whether a condition compares the joined table with others or uses it alone."""
    if not isinstance(part, exp.Predicate) or not isinstance(part, exp.Binary):
        return _tables(part) <= {joined}
    left, right = _tables(part.left), _tables(part.right)
    return left | right <= {joined} or (
        bool(left and right) and ((left == {joined}) ^ (right == {joined}))
    )


def _tables(node: exp.Expression) -> set[str]:
    return {column.table for column in node.find_all(exp.Column)}


def is_called(node: exp.Expression, *names: str) -> bool:
    """Return whether this calls one of these functions, which SQLGlot does not know."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


RULES: dict[str, Rule] = {
    "an aggregate over ordered rows": is_ordered,
    "a value of any row": is_any_row,
    "rows numbered by unnest": lambda n: isinstance(n, exp.Unnest) and bool(n.args.get("offset")),
    "a difference finer than a day": is_finer_than_a_day,
    "a replacement without 'g'": is_first_only,
    "an ASOF join": lambda n: isinstance(n, exp.Join) and str(n.args.get("method")) == "ASOF",
    "a list comprehension": lambda n: isinstance(n, exp.Comprehension),
    "an intersection of lists": lambda n: (
        isinstance(n, exp.ArrayIntersect) or is_called(n, "list_intersect", "array_intersect")
    ),
    "a slice": lambda n: isinstance(n, exp.Slice),
    "a function that SQLGlot does not know": lambda n: isinstance(n, exp.Anonymous),
    "a clock or a random value": lambda n: (
        isinstance(
            n, exp.CurrentTimestamp | exp.CurrentDate | exp.CurrentTime | exp.Rand | exp.Uuid
        )
        or is_called(n, "now", "get_current_time", "setseed")
    ),
    "a float": is_float,
    "a product of wide factors": is_wide_product,
    "rows made inside an expression": is_nested_unnest,
    "a subquery in QUALIFY": is_asked_of_the_window,
    "an outer join of every row with every row": is_compared_row_by_row,
}


def broken(sql: str) -> Iterator[str]:
    """Yield the names of the rules that a query breaks; a name may recur."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for node in tree.walk():
        yield from (name for name, rule in RULES.items() if rule(node))
    # `len` measures both texts and lists, but is parsed as a function of texts only.
    yield from ("len" for token in sqlglot.tokenize(sql, read="duckdb") if token.text == "len")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_step_uses_only_sql_that_both_engines_read_alike(path: Path) -> None:
    assert sorted(set(broken(path.read_text("utf-8")))) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_step_is_one_query_with_a_header(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("-- ")
    queries = sqlglot.parse(text, read="duckdb")
    assert len(queries) == 1
    assert isinstance(queries[0], exp.Query)


STANDING_ALONE = (
    "treasury.close.steps",
    "treasury.close.cash.steps",
    "treasury.month.decisions.steps",
    "treasury.workspace.steps",
    "treasury.extract.steps",
    "treasury.month.items.steps",
    "treasury.panels.queries",
    "treasury.month.queries",
    "treasury.statements.store.steps",
    "treasury.month.trace.queries",
    "treasury.month.explain",
)

MODEL = (
    *matching.STEPS,
    *monthly.STEPS,
    *SETTLE_STEPS,
    *tracer.TRACE_STEPS,
    lookup.CHOSEN,
    *steps_of(roll_forward.PACKAGE).values(),
    *steps_of(accounting.PACKAGE).values(),
    *steps_of(coin_events.PACKAGE).values(),
    *steps_of(provider_exposure.PACKAGE).values(),
    *steps_of(gas_costs.PACKAGE).values(),
    *(step for package in STANDING_ALONE for step in steps_of(package).values()),
)


def test_every_file_is_a_step_of_a_model() -> None:
    # Views of records are not part of a model.
    steps = {path.stem for path in FILES if "views" not in path.parts}
    assert steps == {step.name for step in MODEL}


@pytest.mark.parametrize("step", {step.name: step for step in MODEL}.values(), ids=lambda s: s.name)
def test_the_declared_inputs_of_a_step_are_the_tables_it_selects_from(step: Step) -> None:
    tree = sqlglot.parse_one(step.sql, read="duckdb")
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    assert step.reads == {table.name for table in tree.find_all(exp.Table)} - own


@pytest.mark.parametrize("steps", [matching.STEPS, monthly.STEPS], ids=["matching", "month"])
def test_every_step_comes_after_its_inputs(steps: tuple[Step, ...]) -> None:
    names = [step.name for step in steps]
    for place, step in enumerate(steps):
        assert not step.reads & set(names[place:]), step.name


def test_steps_that_read_each_other_are_refused_with_their_names() -> None:
    steps = {name: Step(name, f"SELECT * FROM {read}") for name, read in ("ab", "ba")}
    with pytest.raises(ValueError, match="a > b > a"):
        in_order(steps, ["a"])


def test_rows_are_freed_once_no_step_reads_them() -> None:
    steps = (
        Step("first", "SELECT * FROM given"),
        Step("shown", "SELECT * FROM first", is_stored=False),
        Step("second", "SELECT * FROM shown"),
        Step("last", "SELECT * FROM second", is_stored=False),
        Step("beside", "SELECT * FROM first"),
    )
    with duckdb.connect() as connection:
        load(connection, {"given": pa.table({"n": [1]})})
        run(connection, steps, targets=["last"])
        assert connection.table("last").fetchall() == [(1,)]
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert sorted(tables) == [("given",), ("second",)]


def test_results_are_read_in_order_and_their_inputs_are_freed() -> None:
    steps = (
        Step("joined", "SELECT n FROM given JOIN beside USING (n)"),
        Step("one", "SELECT n FROM joined", is_stored=False),
        Step("raised", "SELECT n + 1 AS n FROM beside"),
        Step("two", "SELECT n FROM raised", is_stored=False),
        Step("unread", "SELECT 1 AS n"),
    )
    with duckdb.connect() as connection:
        load(connection, {"given": pa.table({"n": [2, 1]})})
        connection.register("beside", pa.table({"n": [1, 2, 3]}))
        results = read_in_turn(
            connection, steps, {"one": "n", "two": "n DESC"}, loaded=["given"], in_place=["beside"]
        )
        left = connection.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL"
            " SELECT view_name FROM duckdb_views() WHERE NOT internal AND view_name = 'beside'"
        ).fetchall()
    assert {name: table["n"].to_pylist() for name, table in results.items()} == {
        "one": [1, 2],
        "two": [4, 3, 2],
    }
    assert left == []


def test_step_names_differ_from_each_other_and_from_table_names() -> None:
    """A step with the name of a lake table would hide the table from later steps."""
    names = [step.name for step in MODEL[len(matching.STEPS) :]]
    assert len(names) == len(set(names))
    stored = [table.name for group in dictionary.GROUPS for table in group.tables]
    tables = {*stored, *(f"{name}_history" for name in stored)}
    assert tables > {"statements", "ramp_requests"}
    assert tables.isdisjoint(names)
    assert tables.isdisjoint(step.name for step in matching.STEPS)


@pytest.mark.parametrize(
    ("rule", "sql"),
    [
        ("an aggregate over ordered rows", "SELECT list(a ORDER BY b) FROM t"),
        ("a value of any row", "SELECT first(a) FROM t"),
        ("a value of any row", "SELECT any_value(a) FROM t"),
        ("a value of any row", "SELECT string_agg(a, ',') FROM t"),
        ("a value of any row", "SELECT list_contains(array_agg(a), 'x') FROM t"),
        ("rows numbered by unnest", "SELECT * FROM unnest([1]) WITH ORDINALITY"),
        ("a difference finer than a day", "SELECT date_diff('hour', a, b) FROM t"),
        ("a replacement without 'g'", "SELECT regexp_replace(a, 'x', 'y') FROM t"),
        ("an ASOF join", "SELECT * FROM t ASOF JOIN s ON t.a >= s.a"),
        ("a list comprehension", "SELECT [x + 1 FOR x IN a] FROM t"),
        ("an intersection of lists", "SELECT list_intersect(a, b) FROM t"),
        ("a slice", "SELECT a[1:2] FROM t"),
        ("a function that SQLGlot does not know", "SELECT nobody_knows(a) FROM t"),
        ("a clock or a random value", "SELECT now()"),
        ("a clock or a random value", "SELECT random()"),
        ("a float", "SELECT a / 2 FROM t"),
        ("a float", "SELECT avg(a) FROM t"),
        ("a float", "SELECT CAST(a AS DOUBLE) FROM t"),
        ("a float", "SELECT 1e3"),
        ("a product of wide factors", "SELECT a * b FROM t"),
        ("a product of wide factors", "SELECT CAST(a AS DECIMAL(38, 18)) * 2 FROM t"),
        ("rows made inside an expression", "SELECT upper(unnest(a)) FROM t"),
        ("a subquery in QUALIFY", "SELECT a FROM t QUALIFY a < (SELECT b FROM s)"),
        (
            "an outer join of every row with every row",
            "SELECT * FROM t LEFT JOIN s ON s.a = t.a AND (s.b = t.b OR s.c = t.c)",
        ),
        (
            "an outer join of every row with every row",
            "SELECT * FROM t LEFT JOIN s ON s.a = t.a AND contains(s.b, t.b)",
        ),
        (
            "an outer join of every row with every row",
            "SELECT * FROM t JOIN r ON r.a = t.a LEFT JOIN s ON s.a = t.a AND r.b = t.b",
        ),
        ("len", "SELECT len(a) FROM t"),
    ],
)
def test_the_lint_reports_each_violation(rule: str, sql: str) -> None:
    assert rule in broken(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(a AS DECIMAL(18, 2)) * CAST(b AS DECIMAL(18, 8)) FROM t",
        "SELECT date_diff('day', a, b), regexp_replace(a, 'x', 'y', 'g'), length(a) FROM t",
        "SELECT a, unnest(string_split(b, ' ')) AS c FROM t",
        "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT * FROM t LEFT JOIN s ON s.a = t.a AND s.b < t.b AND s.c AND s.d IN (1, 2)",
    ],
)
def test_the_lint_accepts_valid_steps(sql: str) -> None:
    assert list(broken(sql)) == []


def hold_no_floats(connection: duckdb.DuckDBPyConnection, steps: tuple[Step, ...]) -> None:
    """Check that no column of an executed step is a float."""
    for step in steps:
        for name, kind, *_ in connection.execute(f"DESCRIBE {step.sql}").fetchall():
            assert not FLOATS & set(kind.replace("[", " ").split()), (step.name, name, kind)


@pytest.mark.acceptance
def test_no_column_of_the_matching_is_a_float() -> None:
    lines, expectations = draw(1, each=1).tables()
    tables = {
        "lines": read_table(lines, LINES, name="lines"),
        "expectations": read_table(expectations, EXPECTATIONS, name="expectations"),
        "decisions": read_table(None, DECISIONS, name="decisions"),
        **NOTHING_SETTLED,
        **matching.rule_tables(Rules()),
    }
    with duckdb.connect() as connection:
        load(connection, tables)
        run(connection, matching.STEPS)
        hold_no_floats(connection, matching.STEPS)


def test_no_column_of_the_month_is_a_float(month_end: Workspace) -> None:
    question = month_end.question("2026-10")
    with monthly.run_on_question(month_end.snapshot(), question, None) as steps_run:
        hold_no_floats(steps_run.connection, monthly.STEPS)


def test_no_column_of_the_provider_exposure_is_a_float(month_end: Workspace) -> None:
    question, steps = month_end.question("2026-10"), provider_exposure.STEPS
    with monthly.run_on_question(month_end.snapshot(), question, None, steps) as steps_run:
        hold_no_floats(steps_run.connection, steps)
