"""The matching function on Apache Spark: the same steps, checks and rows, on the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.errors import TableError
from treasury.matching.engine.pipeline import compose, needed
from treasury.matching.input_tables import EXPECTATIONS, LINES
from treasury.matching.reference_matching import (
    OUTCOMES,
    SIGN,
    STANDING,
    STEPS,
    UNIQUE,
    read_decisions,
    require_tables,
    rule_tables,
)
from treasury.matching.rules import Rules, check_rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.matching.spark.spark_inputs import read_spark_table
from treasury.matching.spark.spark_run import SparkRun, session_of, side_by_side, spark_settings

_ANSWERS: Final = {
    "lines": "outcomes",
    "expectations": "expectation_states",
    "allocations": "allocations",
    "candidates": "candidates",
}
"""The result tables that are written to `into`, each with the step that gives its rows."""
KEPT: Final = tuple(_ANSWERS)


class SparkMatches(msgspec.Struct, frozen=True, eq=False):
    """The outcome of every line and the state of every expectation, as tables written by Spark.

    The columns are those of `Matches`; amounts are in the line's currency. `sql` is the composed
    query that computes the outcomes, in DuckDB's dialect; `rules_hash` is the hash of the applied
    rules.
    """

    lines: Any
    expectations: Any
    allocations: Any
    candidates: Any
    sql: str
    rules_hash: str

    def counts(self) -> dict[str, int]:
        """Return the number of lines with each outcome, including outcomes without lines."""
        rows = self.lines.groupBy("outcome").count().collect()
        return dict.fromkeys(OUTCOMES, 0) | {row["outcome"]: row["count"] for row in rows}


def match_references(
    lines: Any,
    expectations: Any,
    *,
    decisions: Any = None,
    rules: Rules | None = None,
    engine: Any,
    into: str | Path,
) -> SparkMatches:
    """Match bank lines to expectations on a Spark cluster, as `treasury.match_references` does.

    Parameters
    ----------
    lines, expectations
        As in `treasury.match_references`; also Spark DataFrames, names of Spark tables, or paths
        that the cluster can read.
    decisions
        People's verdicts on lines; default: none.
    rules
        The settings of matching; default: `Rules()`.
    engine
        A Spark session or its address.
    into
        Where the result is written: a folder that the cluster can write, or a schema of its
        catalog.

    Returns
    -------
    SparkMatches
        The same four tables as `Matches`, on Spark.

    Raises
    ------
    TableError
        If a table is not valid, as in `treasury.match_references`.
    SettingsError
        If the rules are not valid.
    InputError
        If `engine` is not a Spark session or its address, or no Spark answers there.
    StorageError
        If `into` cannot be written, or already has one of the tables.
    """
    require_tables(lines, expectations)
    rules = Rules() if rules is None else check_rules(rules)
    session = session_of(engine)
    with spark_settings(session):
        run = SparkRun(session, into, STEPS, _ANSWERS.values())
        try:
            run.require_free(KEPT)
            run.give(_inputs(run, lines, expectations, decisions, rules))
            run.bring(STEPS)
            return kept_matches(run, rules)
        finally:
            run.end()


def kept_matches(run: SparkRun, rules: Rules) -> SparkMatches:
    """Write the results of a run to its `into`, and return them."""
    written = side_by_side(lambda name: run.keep(name, run.table(_ANSWERS[name])), KEPT)
    answers = dict(zip(KEPT, written, strict=True))
    sql = compose(needed(STEPS, "outcomes"), "outcomes")
    return SparkMatches(**answers, sql=sql, rules_hash=rules.hash)


def _inputs(
    run: SparkRun, lines: Any, expectations: Any, decisions: Any, rules: Rules
) -> dict[str, Any]:
    tables = {
        "lines": read_spark_table(run, lines, LINES, "lines"),
        "expectations": read_spark_table(run, expectations, EXPECTATIONS, "expectations"),
    }
    tables["lines"] = tables["lines"].fillna({"is_reversal": False})
    sizes, sums = [], []
    for name, key, do in (
        ("lines", "entry_id", SIGN),
        ("expectations", "expectation_id", STANDING),
    ):
        rows = tables[name]
        looked_for = "count(*)", f"min(IF(amount <= 0, {key}, NULL))", "sum(ceil(amount))"
        size, wrong, total = rows.selectExpr(*looked_for).head()
        if wrong is not None:
            raise TableError(f"{name}: the amount of {wrong!r:.80} is not positive", do=do)
        sizes.append(size)
        sums.append(total or 0)
    run.suit(max(sizes))
    for name, key in (("lines", "entry_id"), ("expectations", "expectation_id")):
        twice = tables[name].groupBy(key).count().where("count > 1").head()
        if twice is not None:
            raise TableError(f"{name}: {key} {twice[0]!r:.80} occurs more than once", do=UNIQUE)
    if sum(sums) >= 10**20:
        raise TableError(
            f"lines and expectations: all amounts together are {sum(sums):.2E}, more than can be"
            " added",
            do="correct the wrong amount, or match the lines in parts",
        )
    # People's decisions are few, so they are checked on this machine.
    if hasattr(decisions, "toArrow"):
        decisions = decisions.toArrow()
    small: dict[str, pa.Table] = {
        "decisions": read_decisions(decisions),
        **NOTHING_SETTLED,
        **rule_tables(rules),
    }
    return tables | small
