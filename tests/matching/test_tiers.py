"""`tiers.csv` is the only declaration of the tiers; the rules and the SQL steps read it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import sqlglot
from sqlglot import exp

import treasury
from treasury.matching.reference_matching import STEPS, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.tiers import TIERS, Needs

ROOT = Path(treasury.__file__).parent
_TEXT = re.compile(r"'((?:[^']|'')*)'")


def texts(path: Path) -> set[str]:
    """Return the quoted texts of an SQL file."""
    return set(_TEXT.findall(re.sub(r"--[^\n]*", "", path.read_text("utf-8"))))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.sql")), ids=lambda path: path.stem)
def test_no_sql_file_spells_the_name_of_a_tier(path: Path) -> None:
    assert texts(path).isdisjoint(tier.name for tier in TIERS)


def test_no_python_file_lists_the_names_of_tiers() -> None:
    quoted = [f'"{tier.name}"' for tier in TIERS]
    listing = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if sum(name in path.read_text("utf-8") for name in quoted) > 1
    ]
    assert listing == []


def test_each_tier_names_the_step_that_gives_it() -> None:
    steps = {step.name for step in STEPS}
    given_by = [tier.given_by for tier in TIERS]
    assert set(given_by) <= steps
    assert len(set(given_by)) == len(given_by)
    assert len({tier.name for tier in TIERS}) == len(TIERS)


def test_steps_give_rows_only_tiers_that_are_declared() -> None:
    given = {
        name
        for step in STEPS
        for name in re.findall(r"'(\w+)' (?:END )?AS given_by", step.sql)
        + re.findall(r"given_by = '(\w+)'", step.sql)
    }
    assert given == {tier.given_by for tier in TIERS}


def needs_asked(sql: str) -> set[str]:
    """Return the texts with which a step compares the needs of a tier."""
    asked = set()
    for node in sqlglot.parse_one(sql, read="duckdb").find_all(exp.EQ, exp.NEQ, exp.In, exp.Case):
        if node.this is None or "needs" not in {c.name for c in node.this.find_all(exp.Column)}:
            continue
        compared = [node.this, node.args.get("expression"), *node.expressions]
        compared += [each.this for each in node.args.get("ifs", ())]
        for part in filter(None, compared):
            asked |= {text.name for text in part.find_all(exp.Literal) if text.is_string}
    return asked


@pytest.mark.acceptance
def test_steps_ask_only_for_needs_that_a_tier_may_have() -> None:
    asked = set().union(*(needs_asked(step.sql) for step in STEPS))
    assert asked == set(get_args(Needs))
    assert {tier.needs for tier in TIERS} == set(get_args(Needs))


def test_the_steps_read_the_tiers_as_they_are_declared() -> None:
    rows = rule_tables(Rules())["tiers"].to_pylist()
    assert [row["name"] for row in rows] == [tier.name for tier in TIERS]
    assert [row["rank"] for row in rows] == sorted(tier.rank for tier in TIERS)
