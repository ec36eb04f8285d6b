"""`docs/assumptions.md` has a row for everything that the specifications do not show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SPEC = Path(__file__).parents[3] / "shared" / "spec"
PAGE = Path(__file__).parents[2] / "docs" / "assumptions.md"


def not_shown(document: str) -> list[str]:
    """Return each sentence and table cell with ": not shown", up to these words."""
    text = (SPEC / document).read_text("utf-8")
    found = []
    for line in text.splitlines():
        for part in re.split(r"\. |\|", line):
            clause, mark, _ = part.partition(": not shown")
            if mark:
                found.append(re.sub(r"^\d+\. ", "", clause.strip()))
    return found


def rows() -> list[list[str]]:
    lines = PAGE.read_text("utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"
    ]
    return [row for row in cells if set(row[0]) != {"-"}]


@pytest.mark.skipif(
    not SPEC.exists(), reason=f"no folder {SPEC}: not tested that each gap has an assumption"
)
@pytest.mark.parametrize("document", ["finance-service.md", "ramp-service.md"])
def test_every_unverified_assumption_has_a_row(document: str) -> None:
    clauses = not_shown(document)
    assert len(clauses) > 15
    covered = {row[0] for row in rows()}
    assert [clause for clause in clauses if clause not in covered] == []


def test_each_row_states_the_handling_and_how_to_change_it() -> None:
    assert {len(row) for row in rows()} == {3}
    assert all(cell for row in rows() for cell in row)
    names = [row[0] for row in rows() if row[0] != "not shown"]
    assert len(names) == len(set(names))


def test_names_on_the_page_exist() -> None:
    from treasury.api import bodies, models

    named = set(re.findall(r"`((?:bodies|models)\.\w+)`", PAGE.read_text("utf-8")))
    assert len(named) > 5
    homes = {"bodies": bodies, "models": models}
    for name in named:
        home, _, thing = name.partition(".")
        assert hasattr(homes[home], thing), name


def test_files_on_the_page_exist() -> None:
    root = PAGE.parents[1]
    named = set(re.findall(r"`(treasury/[\w/]+\.py)`", PAGE.read_text("utf-8")))
    assert len(named) > 5
    assert [name for name in named if not (root / name).is_file()] == []
