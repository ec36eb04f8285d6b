"""Differences between engines that SQLGlot does not translate are corrected beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from treasury.core.errors import InputError
from treasury.matching.engine.dialect import render
from treasury.matching.engine.pipeline import Step

TREASURY = Path(__file__).resolve().parents[2] / "treasury"
FILES = sorted(path for room in ("matching", "month") for path in (TREASURY / room).rglob("*.sql"))


def written(sql: str) -> str:
    """Return the step for Spark, on one line."""
    return " ".join(render(Step("s", sql)).split())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_step_can_be_written_for_spark(path: Path) -> None:
    assert render(Step(path.stem, path.read_text("utf-8"))).startswith(("SELECT", "WITH"))


def test_a_series_that_would_run_backwards_is_empty() -> None:
    sql = written("SELECT unnest(generate_series(1, n)) AS i FROM t")
    assert "CASE WHEN 1 <= n THEN SEQUENCE(1, n) ELSE ARRAY() END" in sql


def test_a_regular_expression_group_is_written_as_in_java() -> None:
    sql = written(r"SELECT regexp_replace(a, '(x)', '\1$', 'g') AS b FROM t")
    assert r"'$1\\$'" in sql


def test_a_pattern_next_to_a_comparison_keeps_its_parentheses() -> None:
    assert "( a RLIKE 'x' ) <> b" in written("SELECT regexp_matches(a, 'x') <> b AS c FROM t")


def test_lists_that_are_unnested_side_by_side_become_one() -> None:
    sql = written("SELECT k, unnest(a) AS x, unnest(string_split(b, ' ')) AS y FROM t")
    assert "SELECT k, INLINE(ARRAYS_ZIP(a, SPLIT(" in sql
    assert "AS (x, y) FROM t" in sql
    assert "EXPLODE(a) AS x FROM t" in written("SELECT unnest(a) AS x FROM t")


def test_qualify_refers_to_the_output_of_its_query() -> None:
    window = "row_number() OVER (PARTITION BY t.a ORDER BY t.b) = 1"
    assert "WHERE a > 0 AND _w = 1" in written(f"SELECT t.a FROM t QUALIFY t.a > 0 AND {window}")
    with pytest.raises(InputError, match=r"names t\.b, which the query does not select"):
        written(f"SELECT t.a FROM t QUALIFY t.b > 0 AND {window}")


def test_a_step_that_does_not_parse_is_named() -> None:
    with pytest.raises(InputError, match="the step 's' has no equivalent in spark"):
        written("SELECT (")


def test_a_missing_library_is_reported_with_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(InputError, match=r"install treasury-toolkit\[spark\]"):
        written("SELECT 1 AS a")
