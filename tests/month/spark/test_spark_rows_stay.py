"""Rows that are fetched from Spark, and steps inlined in their readers; Spark does not run."""

from __future__ import annotations

import ast
from pathlib import Path

from treasury.matching import reference_matching as matching
from treasury.matching import spark
from treasury.matching.engine.pipeline import Step, needed
from treasury.matching.spark.spark_run import only_readers
from treasury.month import spark as month_spark
from treasury.month.reconciliation import READ_FOR_ANSWER, STEPS

FETCHES = {"collect", "first", "head", "take", "tail", "toArrow", "toLocalIterator", "toPandas"}
"""Calls that bring rows to this process."""
FETCHED = {
    ("spark_inputs", "read_spark_table", "head"),  # one of the refused rows
    ("spark_inputs", "read_spark_table", "toArrow"),  # no rows, only the types
    ("spark_matching", "_inputs", "head"),  # counts, sums, and one of the refused rows
    ("spark_matching", "_inputs", "toArrow"),  # a person's decisions
    ("spark_matching", "counts", "collect"),
    ("spark_month", "_answer", "toArrow"),  # the month's own answer
    ("spark_month", "_inputs", "toArrow"),  # statements that count, for the question
    ("spark_run", "first_row", "head"),
}


def test_only_counts_and_a_months_answer_are_fetched_into_this_process() -> None:
    folders = map(Path, (*spark.__path__, *month_spark.__path__))
    calls = set()
    for file in (file for folder in folders for file in folder.glob("*.py")):
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls |= {
                    (file.stem, function.name, call.func.attr)
                    for call in ast.walk(function)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr in FETCHES
                }
    assert calls == FETCHED


def test_a_step_that_is_read_once_has_one_reader() -> None:
    steps = (
        Step("once", "SELECT a FROM given"),
        Step("twice", "SELECT a FROM given"),
        Step("through", "SELECT a FROM twice", is_stored=False),
        Step("by_itself", "SELECT l.a FROM given AS l"),
        Step("answer", "SELECT o.a FROM once AS o JOIN through AS t ON t.a = o.a"),
        Step("end", "SELECT l.a FROM by_itself AS l JOIN by_itself AS r ON r.a = l.a"),
        Step("last", "SELECT a FROM through UNION ALL SELECT a FROM answer"),
    )
    readers = {name: reader.name for name, reader in only_readers(steps, ["last"]).items()}
    assert readers == {"once": "answer", "answer": "last"}


def test_the_input_of_an_unstored_answer_is_never_inlined() -> None:
    steps = (
        Step("base", "SELECT a FROM given"),
        Step("answer", "SELECT a FROM base", is_stored=False),
    )
    assert only_readers(steps, ["answer"]) == {}


def test_neither_an_answer_nor_a_step_with_two_readers_is_inlined() -> None:
    month = needed(STEPS, *READ_FOR_ANSWER, *matching.RESULTS)
    for steps, answers in (
        (matching.STEPS, matching.RESULTS),
        (month, (*READ_FOR_ANSWER, *matching.RESULTS)),
    ):
        readers = only_readers(steps, answers)
        assert not readers.keys() & {*answers}
        assert readers
        for name, reader in readers.items():
            assert [step.name for step in steps if name in step.reads] == [reader.name]
