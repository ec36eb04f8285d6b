"""The package keeps its agreed shape: names, folders, small helpers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHAPE = runpy.run_path(str(ROOT / "tools" / "shape.py"))
is_vague = SHAPE["is_vague"]
PUBLIC_STEPS = {"lines", "expectations", "allocations", "candidates", "outcomes", "funding"}
"""The inputs and results of `match_references`, and the query that `Reconciliation.sql` shows."""


@pytest.fixture(scope="module")
def shape() -> Any:
    return SHAPE["measure"]()


def test_at_most_one_name_in_a_hundred_is_a_vague_word(shape: Any) -> None:
    vague = sorted(name for name in shape.bindings if is_vague(name))
    assert shape.vague_share <= 1, vague


def test_private_functions_that_are_used_once_do_not_grow_in_number(shape: Any) -> None:
    """Never raise this limit, only lower it."""
    assert shape.used_once_share <= 8.0, shape.used_once


def test_a_folder_holds_at_most_15_modules(shape: Any) -> None:
    assert {folder: number for folder, number in shape.folders.items() if number > 15} == {}


def test_a_folder_holds_at_most_15_queries(shape: Any) -> None:
    assert shape.query_folders
    full = {folder: number for folder, number in shape.query_folders.items() if number > 15}
    assert full == {}


def test_a_step_has_a_name_of_two_words_or_is_a_public_input_or_result(shape: Any) -> None:
    names = {path.stem for path in shape.queries if "sandbox" not in path.parts}
    assert {name for name in names if "_" not in name} == PUBLIC_STEPS


def test_a_public_class_name_occurs_once(shape: Any) -> None:
    # One class is the result that analysts use, the other declares a table of the lake.
    assert shape.repeated_classes == ["Table"]


def test_a_module_name_occurs_once() -> None:
    package = ROOT / "treasury"
    names = [
        path.stem
        for path in package.rglob("*.py")
        if path.name not in {"__init__.py", "__main__.py"}
        and "sandbox" not in path.parts
        and path.parent.name != "commands"  # A command's module is named after the command.
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_module_is_outside_a_room() -> None:
    assert {path.stem for path in (ROOT / "treasury").glob("*.py")} == {"__init__", "__main__"}


def test_a_vague_word_is_distinguished_from_a_name() -> None:
    assert all(map(is_vague, ("found", "_told", "SHOWN", "Held", "one")))
    assert not any(map(is_vague, ("found_lines", "HeldCommit", "statement", "oneness")))
