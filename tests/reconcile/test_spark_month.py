"""A month on Apache Spark, on the lake's own files: the answer that DuckDB gives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from test_spark_engine import run_on_spark

from treasury import TreasuryError, Workspace

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1800)]
DESK = Path(__file__).with_name("spark_month_desk.py")


@pytest.fixture(scope="module")
def practice(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("practice")
    shutil.copytree(month_end.folder, folder / "practice")
    return run_on_spark("practice", folder, DESK)


def test_the_answer_is_duckdbs_table_by_table(practice: dict[str, Any]) -> None:
    assert practice["differences"] == []
    assert practice["rows"] > 400
    assert practice["counts"][0] == practice["counts"][1]
    assert practice["is partial"]


def test_everything_matched_is_written_where_it_is_said(practice: dict[str, Any]) -> None:
    assert practice["written"] == []
    assert practice["folder"] == ["allocations", "candidates", "expectations", "lines"]


def test_nothing_is_left_in_the_workspace(practice: dict[str, Any]) -> None:
    assert practice["left"] == []
    assert practice["mode"] == "0o700"


def test_what_cannot_be_answered_is_refused_in_the_same_words(
    practice: dict[str, Any], month_end: Workspace
) -> None:
    for name, desk, month in (
        ("nothing yet", month_end.at("2026-11-01T07:59Z"), "2026-10"),
        ("too early", month_end, "2027-10"),
        ("long ago", month_end, "2001-10"),
    ):
        with pytest.raises(TreasuryError) as caught:
            desk.reconcile(month)
        assert practice[name] == f"{type(caught.value).__name__}: {caught.value}"


def test_a_drawn_company_is_answered_alike(tmp_path: Path) -> None:
    drawn = run_on_spark("drawn", tmp_path, DESK)
    assert drawn["differences"] == []
    assert drawn["left"] == []
    assert drawn["rows"] > 10
    assert drawn["decided"] > 0


def test_every_form_of_table_is_read_as_it_was_at_a_commit_and_an_instant(tmp_path: Path) -> None:
    tables = run_on_spark("lake", tmp_path, DESK)
    assert [name for name, (_, alike) in tables.items() if not alike] == []
    assert tables["now: requests"][0] == 3
    assert tables["first commit: requests"][0] == tables["between: requests"][0] == 2
    assert tables["now: requests_history"][0] == 1
    assert tables["now: never"][0] == tables["before: requests"][0] == 0
