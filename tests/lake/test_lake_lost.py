"""Data that a repair could not restore: named by statement and file, by interval, or given up."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treasury.core.errors import InputError
from treasury.lake import Lake, mark_of
from treasury.workspace import Workspace
from treasury.workspace.upkeep.health_finding import HealthFinding
from treasury.workspace.upkeep.repair_losses import observation_gaps

START = datetime(2026, 11, 2, 8, tzinfo=UTC)


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy of the practice month that the test may damage."""
    shutil.copytree(month_end.folder, tmp_path / "desk")
    return Workspace(tmp_path / "desk")


def lose(desk: Workspace, *tables: str) -> None:
    """Remove every file that ever belonged to these tables."""
    for table in tables:
        for path in (desk.lake.folder / table).rglob("*.parquet"):
            if "_delta_log" not in path.parts:
                path.unlink()


def again(desk: Workspace) -> Workspace:
    return Workspace(desk.folder)


def rows_of(desk: Workspace, *tables: str) -> list[list[dict[str, object]]]:
    """Return the rows of each table without the columns that a repair may change."""
    # The hash of a statement includes the time of its addition.
    kept = "* EXCLUDE (valid_from, added_at, content_hash)"
    return [
        again(desk)
        .sql(
            f"SELECT {kept if t == 'statements' else '* EXCLUDE (valid_from)'} FROM {t} ORDER BY 1"
        )
        .arrow.to_pylist()
        for t in tables
    ]


def missing(findings: Iterable[HealthFinding]) -> list[HealthFinding]:
    return [f for f in findings if (f.topic, f.state) == ("stored files", "missing")]


def marks(desk: Workspace) -> tuple[str, ...]:
    commit = again(desk).lake.last_commit()
    assert commit is not None
    return commit.refetch


def bank_files(desk: Workspace) -> list[Path]:
    return sorted((desk.folder / "bank").glob("*.xml"))


@pytest.mark.acceptance
def test_adding_the_files_again_restores_lost_rows_and_removes_their_marks(desk: Workspace) -> None:
    before = rows_of(desk, "statement_entries", "statements")
    lose(desk, "statement_entries")
    found = missing(again(desk).doctor(repair=True).findings)
    files = sorted({str(row["file_name"]) for row in before[0]})
    assert len(found) == 1
    listed = ", ".join(files[:10])
    assert found[0].what == (
        f"rows of {len(files)} bank statements, read from {listed} and {len(files) - 10} more"
    )
    assert found[0].do == "add these files again: `treasury statements add FILE…`"
    assert {mark.partition("/")[0] for mark in marks(desk)} == {"statement_entries"}
    one, *others = bank_files(desk)
    again(desk).statements.add(one)
    left = marks(desk)
    assert left
    again(desk).statements.add(others)
    assert marks(desk) == ()
    assert missing(again(desk).doctor().findings) == []
    assert rows_of(desk, "statement_entries", "statements") == before


@pytest.mark.acceptance
def test_lost_statements_are_named_by_the_remaining_rows(desk: Workspace) -> None:
    before = rows_of(desk, "statement_entries", "statements")
    with_rows = {row["statement_id"] for row in before[0]}
    lose(desk, "statements")
    again(desk).doctor(repair=True)
    expected = {mark_of("statements", str(one)) for one in with_rows}
    assert set(marks(desk)) - {"statements"} == expected
    again(desk).statements.add(bank_files(desk))
    assert rows_of(desk, "statement_entries", "statements") == before
    assert set(marks(desk)) <= {"statements"}


@pytest.mark.acceptance
def test_an_unnamed_loss_stays_marked_until_a_person_accepts_it(desk: Workspace) -> None:
    lose(desk, "statements", "statement_entries")
    found = missing(again(desk).doctor(repair=True).findings)
    assert [f.do for f in found] == [
        "add the bank files again; when that is done, `treasury doctor --accept-loss statements`"
    ]
    again(desk).statements.add(bank_files(desk))
    assert marks(desk) == ("statements",)
    told = again(desk).doctor(accept_loss=["statements"])
    assert missing(told.findings) == []
    assert marks(desk) == ()
    last = again(desk).sql("SELECT kind, note FROM commits ORDER BY number DESC LIMIT 1")
    assert last.arrow.to_pylist() == [{"kind": "loss accepted", "note": "statements"}]


def test_accepting_a_loss_that_does_not_exist_commits_nothing(desk: Workspace) -> None:
    commits = again(desk).lake.commits().num_rows
    again(desk).doctor(accept_loss=["statements"])
    assert again(desk).lake.commits().num_rows == commits
    with pytest.raises(InputError, match="is it statements"):
        again(desk).doctor(accept_loss=["statement"])


def balances(lake: Lake, hour: int, *, kind: str = "sync", seen: bool = True) -> None:
    table = lake.catalogue["wallet_balances"]
    row = {"wallet_id": "w", "asset": "USDC", "observed_at": START}
    with lake.writer(kind, START + timedelta(hours=hour)) as writer:
        if seen:
            writer.append(table, pa.Table.from_pylist([row], table.row_schema))


@pytest.mark.acceptance
def test_lost_observations_are_named_by_their_intervals(tmp_path: Path) -> None:
    (tmp_path / "treasury.toml").write_text('[workspace]\ncompany = "Test"\n')
    lake = Workspace(tmp_path).lake
    for hour in range(8):
        balances(lake, hour, seen=hour != 5, kind="statements" if hour == 5 else "sync")
    files = {
        row["valid_from"][0].as_py(): path
        for path in (lake.folder / "wallet_balances").rglob("*.parquet")
        if "_delta_log" not in path.parts
        for row in [pq.ParquetFile(path).read(["valid_from"])]
    }
    for hour in (2, 3, 7):
        files[START + timedelta(hours=hour)].unlink()
    desk = Workspace(tmp_path)
    told = missing(desk.doctor(repair=True).findings)
    assert [finding.what.partition(" are permanently")[0] for finding in told] == [
        f"wallet_balances: the observations of {span}"
        for span in (
            "2 syncs between 2026-11-02 09:00:00Z and 2026-11-02 12:00:00Z",
            "one sync between 2026-11-02 14:00:00Z and now",
        )
    ]
    assert marks(desk) == ()
    balances(Workspace(tmp_path).lake, 9)
    gaps = list(observation_gaps(Workspace(tmp_path).snapshot(), "wallet_balances"))
    last = Workspace(tmp_path).lake.last_commit()
    assert last is not None
    assert [(gap.syncs, gap.before) for gap in gaps] == [
        (2, START + timedelta(hours=4)),
        (1, last.at),
    ]


def test_an_undamaged_lake_has_lost_no_observation(month_end: Workspace) -> None:
    assert list(observation_gaps(month_end.snapshot(), "wallet_balances")) == []
