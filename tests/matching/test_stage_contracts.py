"""Each stage of matching keeps to the contract in the README of its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from stage_example import run_example

import treasury.matching
from treasury.matching.engine.pipeline import needed
from treasury.matching.reference_matching import RESULTS, STEPS

ROOT = Path(treasury.matching.__file__).parent
STAGE_OF = {path.stem: path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.sql")}
STAGES = sorted(set(STAGE_OF.values()))
MOST_LINES = 30
_NAME = re.compile(r"`(\w+)`")


def contract(stage: str) -> str:
    return (ROOT / stage / "README.md").read_text("utf-8")


def stated_inputs(stage: str) -> set[str]:
    (takes,) = re.findall(r"^Takes (.+)$", contract(stage), re.MULTILINE)
    return set(_NAME.findall(takes))


def stated_outputs(stage: str) -> list[str]:
    lines = re.findall(r"^- (`.+?): ", contract(stage), re.MULTILINE)
    return [name for line in lines for name in _NAME.findall(line)]


def inputs(stage: str) -> set[str]:
    """Return the tables that the stage's steps read from other stages."""
    steps = [step for step in STEPS if STAGE_OF[step.name] == stage]
    return {name for step in steps for name in step.reads if STAGE_OF.get(name) != stage}


@pytest.fixture(scope="module")
def example() -> Iterator[duckdb.DuckDBPyConnection]:
    with run_example() as connection:
        yield connection


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_reads_the_inputs_of_its_contract(stage: str) -> None:
    assert inputs(stage) == stated_inputs(stage)


@pytest.mark.parametrize("stage", STAGES)
def test_other_stages_read_only_the_outputs_of_a_contract(stage: str) -> None:
    read = {name for other in STAGES if other != stage for name in inputs(other)} | set(RESULTS)
    stated = stated_outputs(stage)
    assert sorted(stated) == sorted(name for name in read if STAGE_OF.get(name) == stage)


@pytest.mark.parametrize("stage", STAGES)
def test_a_contract_fits_on_one_screen(stage: str) -> None:
    assert len(contract(stage).splitlines()) <= MOST_LINES


@pytest.mark.parametrize("stage", STAGES)
def test_the_example_of_a_contract_holds_three_rows_of_its_table(
    stage: str, example: duckdb.DuckDBPyConnection
) -> None:
    _, head, _, *rows = re.split(r"\n+", contract(stage).strip().split("\n## ")[-1])
    (step,) = _NAME.findall(contract(stage).split("\n## ")[-1].splitlines()[0])
    assert STAGE_OF[step] == stage
    table = example.table(step).select(", ".join(_cells(head)))
    known = {tuple(map(_text, row)) for row in table.fetchall()}
    assert len(rows) == 3
    assert {tuple(_cells(row)) for row in rows} <= known


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return "" if value is None else str(value)


def test_an_unknown_target_step_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no step 'lines_without_step'"):
        needed(STEPS, "outcomes", "lines_without_step")
