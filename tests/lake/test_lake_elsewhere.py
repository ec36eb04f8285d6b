"""The same tables in any DuckDB, in any Delta reader, and for many processes at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from lake_samples import (
    BALANCES,
    CATALOGUE,
    EXACT,
    KEPT,
    REQUESTS,
    balances,
    content,
    copied_lake,
    day,
    put,
    requests,
    small_lake,
)

from treasury.core.errors import InputError, QueryError, StorageError, WorkspaceDamaged
from treasury.core.tables.column_types import AMOUNT
from treasury.lake import Lake, lake_status
from treasury.lake.store import disk
from treasury.workspace import Workspace

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = small_lake(tmp_path_factory.mktemp("ready"))
    for number, status in enumerate(("OPEN", "HELD", "DONE")):
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, requests(a=status, b="OPEN"))
            writer.append(BALANCES, balances(str(number)))
    return lake.workspace


@pytest.fixture
def lake(ready: Path, tmp_path: Path) -> Lake:
    return copied_lake(ready, tmp_path)


@pytest.mark.acceptance
def test_a_plain_duckdb_sees_every_view_of_the_last_commit(lake: Lake, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "treasury.duckdb"), read_only=True) as plain:
        plain.execute("SET TimeZone = 'UTC'")
        for name, rows in content(lake).items():
            seen = plain.sql(f"SELECT * FROM {name} ORDER BY ALL").to_arrow_table()
            assert seen.to_pylist() == rows, name
        assert plain.sql('SELECT max("number") FROM commits').fetchall() == [(3,)]
        kinds = plain.sql("SELECT DISTINCT table_type FROM information_schema.tables").fetchall()
        assert kinds == [("VIEW",)]
        told = plain.sql("SELECT DISTINCT comment FROM duckdb_views() WHERE NOT internal")
        assert told.fetchall() == [("commit 3 of 2026-11-04 08:00:00Z",)]


@pytest.mark.acceptance
def test_a_plain_duckdb_sees_the_lake_of_a_workspace_that_was_named_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with small_lake(Path("desk")).writer("sync", day(0)) as writer:
        writer.upsert(REQUESTS, requests(a="OPEN"))
    monkeypatch.chdir("/")
    with duckdb.connect(str(tmp_path / "desk" / "treasury.duckdb"), read_only=True) as plain:
        assert plain.sql("SELECT count(*) FROM requests").fetchall() == [(1,)]
    assert small_lake(tmp_path / "desk").unpublished() == ""


@pytest.mark.acceptance
def test_a_process_with_the_file_open_keeps_its_commit_during_a_refresh(
    lake: Lake, tmp_path: Path
) -> None:
    with duckdb.connect(str(tmp_path / "treasury.duckdb"), read_only=True) as plain:
        assert plain.sql("SELECT count(*) FROM balances").fetchall() == [(3,)]
        script = (
            f"import sys; sys.path.insert(0, {str(HERE)!r}); from pathlib import Path\n"
            "from lake_samples import BALANCES, balances, day, small_lake\n"
            "with small_lake(Path(sys.argv[1])).writer('sync', day(9)) as writer:\n"
            "    writer.append(BALANCES, balances('9'))\n"
        )
        subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)
        assert plain.sql("SELECT count(*) FROM balances").fetchall() == [(3,)]
    with duckdb.connect(str(tmp_path / "treasury.duckdb"), read_only=True) as plain:
        assert plain.sql("SELECT count(*) FROM balances").fetchall() == [(4,)]
    assert [path.name for path in tmp_path.glob(".treasury*")] == []


def test_a_commit_is_valid_although_its_views_could_not_be_written(
    lake: Lake, tmp_path: Path
) -> None:
    (tmp_path / "treasury.duckdb").unlink()
    (tmp_path / "treasury.duckdb").mkdir()
    with pytest.raises(StorageError, match="the commit is stored; free"):
        put(lake, 5, requests(z="OPEN"))
    assert small_lake(tmp_path).snapshot().sql("SELECT id FROM requests WHERE id = 'z'").num_rows
    (tmp_path / "treasury.duckdb").rmdir()
    put(lake, 6, requests(z="DONE"))
    assert (tmp_path / "treasury.duckdb").is_file()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with two wallet balances, one of which uses all 38 digits."""
    (tmp_path / "treasury.toml").write_text('[workspace]\ncompany = "Test"\n')
    workspace = Workspace(tmp_path)
    table = workspace.lake.catalogue["wallet_balances"]
    seen = [
        {"wallet_id": "w", "asset": "USDC", "total": total, "observed_at": day(0)}
        for total in (EXACT, Decimal("0.1"))
    ]
    with workspace.lake.writer("sync", day(0)) as writer:
        writer.append(table, pa.Table.from_pylist(seen, table.row_schema))
    return workspace


def test_polars_takes_a_table_in_one_call_and_keeps_every_digit(workspace: Workspace) -> None:
    frame = pl.DataFrame(workspace.table("wallet_balances"))
    assert frame.schema["total"] == pl.Decimal(38, 18)
    assert frame.schema["valid_from"] == pl.Datetime("us", "Europe/Brussels")
    assert set(frame["total"].to_list()) == {EXACT, Decimal("0.1")}
    assert frame["total"].sum() == Decimal("12345678901234567890.223456789012345678")


@pytest.mark.acceptance
def test_polars_reads_the_stored_table_itself(workspace: Workspace) -> None:
    frame = pl.read_delta(str(workspace.lake.folder / "wallet_balances"))
    assert set(frame["total"].to_list()) == {EXACT, Decimal("0.1")}


@pytest.mark.acceptance
def test_pandas_takes_a_table_in_one_call_and_keeps_every_digit(workspace: Workspace) -> None:
    frame = workspace.table("wallet_balances").to_pandas()
    assert set(frame["total"]) == {EXACT, Decimal("0.1")}
    assert not [name for name, kind in frame.dtypes.items() if kind.kind == "f"]


@pytest.mark.acceptance
def test_arrow_takes_a_table_in_one_call_and_keeps_every_digit(workspace: Workspace) -> None:
    table = pa.table(workspace.table("wallet_balances"))
    assert table.equals(workspace.table("wallet_balances").to_arrow())
    assert table.schema.field("total").type == AMOUNT
    assert pc.sum(table["total"]).as_py() == Decimal("12345678901234567890.223456789012345678")


@pytest.mark.acceptance
def test_deltas_own_reader_reads_the_committed_versions(lake: Lake) -> None:
    snapshot = lake.snapshot()
    assert snapshot.commit is not None
    put(lake, 7, requests(a="OPEN", z="OPEN"))
    for name, version in snapshot.commit.versions.items():
        delta = DeltaTable(lake.folder / name, version=version).to_pyarrow_table()
        names = snapshot.table(name).column_names
        theirs = delta.select(names).sort_by([(names[0], "ascending")]).to_pylist()
        ours = snapshot.table(name).sort_by([(names[0], "ascending")]).to_pylist()
        assert sorted(map(str, theirs)) == sorted(map(str, ours)), name


@pytest.mark.acceptance
def test_a_table_or_its_history_is_read_by_name(lake: Lake) -> None:
    snapshot = lake.snapshot()
    assert snapshot.table("requests").num_rows == 2
    assert snapshot.table("requests_history").num_rows == 2
    assert snapshot.table("commits").num_rows == 3
    with pytest.raises(InputError, match="is it requests"):
        snapshot.table("reqests")
    with pytest.raises(InputError, match="no table"):
        snapshot.table("x; DROP VIEW requests")


READER = """
import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path
from lake_samples import small_lake
lake = small_lake(Path(sys.argv[2]))
seen = 0
sys.stdout.write("ready\\n"); sys.stdout.flush()
while True:
    snapshot = lake.snapshot()
    query = "SELECT max(number) AS n, (SELECT count(*) FROM balances) AS b,"
    query += " (SELECT max(status) FROM requests WHERE id = 'a') AS s FROM commits"
    row = snapshot.sql(query).to_pylist()[0]
    assert row["b"] == row["n"], row  # one balance is added by each commit
    assert row["s"] == f"S{row['n']}", row  # the status names the last commit
    assert row["n"] >= seen, row
    seen = row["n"]
    if seen == int(sys.argv[3]):
        break
sys.stdout.write("done\\n")
"""


@pytest.mark.acceptance
def test_readers_in_other_processes_see_whole_commits_while_one_writes(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    last = 30

    def commit(number: int) -> None:
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, requests(a=f"S{number}"))
            writer.append(BALANCES, balances(str(number)))

    commit(1)
    command = [sys.executable, "-c", READER, str(HERE), str(tmp_path), str(last)]
    readers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        for number in range(2, last + 1):
            commit(number)
        for reader in readers:
            out, errors = reader.communicate(timeout=100)
            assert (out, reader.returncode) == ("done\n", 0), errors
    finally:
        for reader in readers:
            reader.kill()


PLAIN = """
import sys, duckdb
seen = 0
sys.stdout.write("ready\\n"); sys.stdout.flush()
while seen < int(sys.argv[2]):
    with duckdb.connect(sys.argv[1], read_only=True) as plain:
        row = plain.sql("SELECT max(number), (SELECT count(*) FROM balances),"
            " (SELECT max(status) FROM requests WHERE id = 'a') FROM commits").fetchone()
    assert row[1] == row[0] and row[2] == f"S{row[0]}" and row[0] >= seen, (row, seen)
    seen = row[0]
sys.stdout.write("done\\n")
"""


@pytest.mark.acceptance
def test_a_plain_duckdb_in_another_process_sees_whole_commits_while_one_writes(
    tmp_path: Path,
) -> None:
    lake, last = Lake(tmp_path, CATALOGUE, commits_kept=KEPT), 3 * KEPT

    def commit(number: int) -> None:
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, requests(a=f"S{number}"))
            writer.append(BALANCES, balances(str(number)))

    commit(1)
    command = [sys.executable, "-c", PLAIN, str(tmp_path / "treasury.duckdb"), str(last)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            for number in range(2, last + 1):
                commit(number)
            out, errors = reader.communicate(timeout=100)
        finally:
            reader.kill()
    assert (out, reader.returncode) == ("done\n", 0), errors


@pytest.mark.acceptance
def test_status_counts_rows_files_and_runs(lake: Lake) -> None:
    lake.pin("closed", datetime(2026, 11, 5, tzinfo=UTC))
    status = lake_status(lake)
    assert (status.commits, status.pinned, status.refetch) == (3, (1 + 2,), ())
    assert status.last_runs == {"sync": day(2)}
    tables = {row["table"]: row for row in status.tables.arrow.to_pylist()}
    assert (tables["requests"]["rows"], tables["requests"]["earlier_versions"]) == (2, 2)
    assert tables["balances"]["files"] == 3
    assert tables["requests"]["bytes"] < tables["requests"]["kept_bytes"] < status.size
    assert "commits  3; last: sync at 2026-11-04 08:00:00Z" in str(status)
    assert "pinned 3;" in str(status)


def test_status_of_an_empty_lake(tmp_path: Path) -> None:
    status = lake_status(small_lake(tmp_path))
    assert (status.commit, status.commits, status.size, len(status.tables)) == (None, 0, 0, 0)


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        ("ENOSPC", "the disk is full - free disk space"),
        ("EROFS", "the disk is read-only - use a folder on another disk"),
        ("EACCES", "you have no permission to write there - get the right"),
    ],
)
def test_a_disk_error_is_reported_plainly(tmp_path: Path, number: str, problem: str) -> None:
    import errno

    code = getattr(errno, number)
    with pytest.raises(StorageError, match=problem), disk.writing(tmp_path):
        raise OSError(code, os.strerror(code))


READ_ONLY = """
import json, os, sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path
from lake_samples import REQUESTS, day, requests, small_lake, statuses
from treasury.core.errors import StorageError
lake = small_lake(Path(sys.argv[2]))
statuses(lake.snapshot())  # this imports the modules that are imported on first use
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
seen = statuses(small_lake(Path(sys.argv[2])).snapshot())
try:
    with lake.writer("sync", day(8)) as writer:
        writer.upsert(REQUESTS, requests(a="OPEN"))
except StorageError as error:
    print(json.dumps([seen, str(error)]))
"""


@pytest.mark.acceptance
def test_a_read_only_folder_can_be_read_and_is_reported(lake: Lake, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as elsewhere:
        desk = Path(shutil.copytree(tmp_path, Path(elsewhere) / "desk"))
        folders = [desk, *(path for path in desk.rglob("*") if path.is_dir())]
        Path(elsewhere).chmod(0o755)
        for path in desk.rglob("*"):
            path.chmod(0o555)
        desk.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(HERE), str(desk)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        for path in folders:
            path.chmod(0o755)
    assert done.stdout, done.stderr
    seen, error = json.loads(done.stdout)
    assert seen == {"a": "DONE", "b": "OPEN"}
    assert "cannot be locked for writing" in error
    assert "use a local folder that you may write to" in error


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(b"no database"), "cannot be opened"),
        (lambda path: None, "shows the files of another folder"),
    ],
    ids=["missing", "garbage", "moved"],
)
def test_a_misleading_file_of_views_is_reported_and_rewritten(
    workspace: Workspace, tmp_path: Path, damage: Callable[[Path], object], problem: str
) -> None:
    desk = tmp_path / "moved"
    shutil.copytree(workspace.folder, desk, ignore=shutil.ignore_patterns("moved"))
    damage(desk / "treasury.duckdb")
    told = [f for f in Workspace(desk).doctor().findings if f.topic == "treasury.duckdb"]
    assert [(f.state, f.what.partition(" (")[0]) for f in told] == [("missing", f"it {problem}")]
    told = [f for f in Workspace(desk).doctor(repair=True).findings if f.topic == "treasury.duckdb"]
    assert [f.state for f in told] == ["repaired"]
    assert not [f for f in Workspace(desk).doctor().findings if f.topic == "treasury.duckdb"]
    shutil.rmtree(workspace.folder / "lake")
    with duckdb.connect(str(desk / "treasury.duckdb"), read_only=True) as plain:
        assert plain.sql("SELECT count(*) FROM wallet_balances").fetchall() == [(2,)]


def test_a_file_that_makes_a_query_fail_is_named(workspace: Workspace) -> None:
    with pytest.raises(QueryError, match="reads 'x' as a number"):
        Workspace(workspace.folder).sql("SELECT 'x'::INTEGER FROM commits")
    path = Path(workspace.snapshot().files("wallet_balances")[0])
    stored = bytearray(path.read_bytes())
    place = stored.index(b"USDC")
    stored[place - 16 : place] = b"\xff" * 16
    path.write_bytes(stored)
    with pytest.raises(WorkspaceDamaged, match=re.escape(str(path))):
        Workspace(workspace.folder).sql("SELECT * FROM wallet_balances")
