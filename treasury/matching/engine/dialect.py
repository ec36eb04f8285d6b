"""Translate steps to the SQL of another engine, so that the same model runs where the data is.

SQLGlot translates the text. Before that, the parsed step is changed where the engines differ:

- a series whose end is below its start stays empty instead of counting down;
- several lists unnested in one query become one list;
- a group in a replacement is written as in Java;
- a regular expression test keeps its brackets when it becomes an operator;
- QUALIFY, which becomes an outer query, names the inner columns without a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from treasury.core.errors import InputError
from treasury.matching.engine.pipeline import Step

if TYPE_CHECKING:
    from sqlglot import exp

SPARK_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",  # A difference keeps 18 decimals.
    "spark.sql.ansi.enabled": "true",  # Overflows and invalid numbers are errors.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings under which a Spark session gives the same results as DuckDB."""


def render(step: Step, *, called: Mapping[str, str] | None = None) -> str:
    """Return the step's SELECT in Spark's dialect.

    `called` maps tables that the step reads to their names in the other engine. Raises InputError
    if a construct has no equivalent, or SQLGlot is not installed.
    """
    try:
        from sqlglot import ErrorLevel, exp, parse_one
        from sqlglot.errors import SqlglotError
    except ImportError as error:
        raise InputError(
            "the library that writes SQL for other engines is not installed",
            do="install treasury-toolkit[spark]",
        ) from error

    try:
        tree = parse_one(step.sql, read="duckdb")
        for call in tree.find_all(exp.RegexpReplace):
            replacement = call.args["replacement"]
            if replacement.is_string:
                # Group 1 is `$1` in Java, so a literal dollar needs an escape.
                text = replacement.this.replace("$", "\\$")
                replacement.set("this", re.sub(r"\\(\d)", r"$\1", text))
        for qualify in tree.find_all(exp.Qualify):
            _unqualify_outside_windows(qualify)
        for test in list(tree.find_all(exp.RegexpLike)):
            test.replace(exp.Paren(this=test.copy()))
        _zip_unnested(list(tree.find_all(exp.Select)))
        for series in list(tree.find_all(exp.GenerateSeries)):
            # A series from 1 to 0 has no rows in DuckDB; Spark would count down.
            start, end = series.args["start"], series.args["end"]
            is_forwards = exp.LTE(this=start.copy(), expression=end.copy())
            rows = exp.If(this=is_forwards, true=series.copy())
            series.replace(exp.Case(ifs=[rows], default=exp.Array()))
        for table in tree.find_all(exp.Table):
            if called is not None and table.name in step.reads:
                alias = table.alias_or_name
                table.set("this", exp.to_identifier(called[table.name], quoted=True))
                table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        return tree.sql(
            dialect="spark", pretty=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except (SqlglotError, ValueError) as error:
        raise InputError(
            f"the step {step.name!r} has no equivalent in spark: {error}",
            do="write it with constructs that both engines have",
        ) from error


def _zip_unnested(queries: Iterable[exp.Select]) -> None:
    """Unnest several lists of a query as one list of structs: Spark allows one generator each."""
    from sqlglot import exp

    for query in queries:
        columns = [part for part in query.expressions if isinstance(part.unalias(), exp.Explode)]
        if len(columns) > 1:
            lists = exp.ArraysZip(expressions=[part.unalias().this.copy() for part in columns])
            names = [exp.to_identifier(column.alias) for column in columns]
            columns[0].replace(exp.Aliases(this=exp.Inline(this=lists), expressions=names))
            for column in columns[1:]:
                column.pop()


def _unqualify_outside_windows(qualify: exp.Qualify) -> None:
    """Remove the table name of columns outside window functions; the query must select them."""
    from sqlglot import exp

    query = qualify.find_ancestor(exp.Select)
    columns = query.expressions if query is not None else []
    selected = {column.alias_or_name: column.unalias() for column in columns}
    for column in list(qualify.find_all(exp.Column)):
        if column.table and not column.find_ancestor(exp.Window):
            if selected.get(column.name) != column:
                raise ValueError(f"QUALIFY names {column.sql()}, which the query does not select")
            column.set("table", None)
