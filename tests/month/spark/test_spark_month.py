"""A month on Apache Spark from the lake's own files gives DuckDB's answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark_runs import PYTHON, run_on_spark

from benchmarks.spark_cluster import connect_server
from treasury import TreasuryError, Workspace

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1800)]
DESK = Path(__file__).with_name("spark_month_desk.py")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the workspace that `treasury demo` makes, with payments and the bank's answers."""
    folder = tmp_path_factory.mktemp("practice") / "practice"
    treasury = [sys.executable, "-m", "treasury.cli", "-w", str(folder), "demo"]
    subprocess.run(treasury, cwd=folder.parent, check=True, capture_output=True)
    return Workspace(folder)


@pytest.fixture(scope="module")
def practice(desk: Workspace) -> dict[str, Any]:
    return run_on_spark("practice", desk.folder.parent, DESK)


def test_spark_and_duckdb_give_the_same_tables(practice: dict[str, Any]) -> None:
    assert practice["differences"] == []
    assert practice["rows"] > 400
    assert practice["counts"][0] == practice["counts"][1]
    assert practice["is partial"]


def test_results_are_written_to_the_named_place_only(practice: dict[str, Any]) -> None:
    assert practice["written"] == []
    assert practice["folder"] == ["allocations", "candidates", "expectations", "lines"]


def test_no_file_is_left_in_the_workspace(practice: dict[str, Any]) -> None:
    assert practice["left"] == []
    assert practice["mode"] == "0o700"


def test_an_impossible_question_is_refused_in_the_same_words(
    practice: dict[str, Any], desk: Workspace
) -> None:
    for name, asked, month in (
        ("nothing yet", desk.at("2026-11-01T07:59Z"), "2026-10"),
        ("too early", desk, "2027-10"),
        ("long ago", desk, "2001-10"),
    ):
        with pytest.raises(TreasuryError) as caught:
            asked.reconcile(month)
        assert practice[name] == f"{type(caught.value).__name__}: {caught.value}"


def test_spark_reads_the_banks_answers_to_a_payment_file(
    practice: dict[str, Any], desk: Workspace
) -> None:
    assert practice["differences"] == []
    words = " ".join(map(str, desk.reconcile("2026-10").awaiting_funds.arrow.to_pylist()))
    assert "REJECTED" in words
    assert "WITH THE BANK" in words


def test_spark_reads_the_lake_in_its_home(practice: dict[str, Any]) -> None:
    assert practice["home"] == []
    assert practice["no home"].startswith("StorageError: the cluster does not find the lake (")
    assert "[engine] lake" in practice["no home"]


def test_the_installed_command_uses_a_local_spark_and_a_server(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the command in a separate process, which imports little before Spark."""
    (spark,) = PYTHON.parents[1].glob("lib/python3.*/site-packages/pyspark")
    monkeypatch.setenv("SPARK_HOME", str(spark))

    def told(*engine: str) -> str:
        run = subprocess.run(
            [PYTHON.with_name("treasury"), "-w", desk.folder, "reconcile", "--month", "2026-10",
             "--format", "csv", *engine],
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(PYTHON)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr[-4000:]
        return run.stdout

    with_duckdb = told()
    assert with_duckdb.count("\n") > 400
    assert told("--engine", "local[1]") == with_duckdb
    with connect_server(tmp_path, "2g") as address:
        assert told("--engine", address) == with_duckdb


def test_a_drawn_company_is_answered_alike(tmp_path: Path) -> None:
    drawn = run_on_spark("drawn", tmp_path, DESK)
    assert drawn["differences"] == []
    assert drawn["left"] == []
    assert drawn["rows"] > 10
    assert drawn["decided"] > 0


def test_every_form_of_table_is_read_as_of_a_commit_and_an_instant(tmp_path: Path) -> None:
    tables = run_on_spark("lake", tmp_path, DESK)
    assert [name for name, (_, alike) in tables.items() if not alike] == []
    assert tables["now: requests"][0] == 3
    assert tables["first commit: requests"][0] == tables["between: requests"][0] == 2
    assert tables["now: requests_history"][0] == 1
    assert tables["now: never"][0] == tables["before: requests"][0] == 0
