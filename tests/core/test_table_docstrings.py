"""The examples in `Table`'s docstrings run on the practice company's data."""

from __future__ import annotations

from doctest import DocTestFinder
from pathlib import Path

import pytest

from treasury.core.tables import table
from treasury.workspace import Workspace

EXAMPLES = [
    (test.name, example) for test in DocTestFinder().find(table) for example in test.examples
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_runs_and_shows_its_result(
    month_end: Workspace,
    name: str,
    example: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Some examples write files.
    monkeypatch.chdir(tmp_path)
    source, expected = example.source, example.want.strip()  # type: ignore[attr-defined]
    shown = eval(source, {"t": month_end, "r": month_end.reconcile("2026-10")})
    assert repr(shown) == expected if expected else shown is not None, name


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6
