"""Data beyond the memory limit is spilled to private files that no other process disturbs."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pytest
from lake_samples import CATALOGUE, REQUESTS, day, requests

from treasury.core.errors import StorageError
from treasury.core.tables import duckdb_engine
from treasury.lake import Lake, engine, snapshot

MOST = 1 << 30
HALF = MOST // 2


def spilled(connection: duckdb.DuckDBPyConnection) -> set[Path]:
    """Return the spill folders of a connection after it exceeded its memory."""
    connection.execute("SET memory_limit = '64MB'")
    connection.execute("SET threads = 1")
    engine.lock_down(connection, [])
    connection.execute(
        "CREATE TEMP TABLE many AS SELECT i, repeat('x', 50) || i AS s FROM range(1500000) t(i)"
    )
    found = connection.execute("SELECT path FROM duckdb_temporary_files()").fetchall()
    return {Path(path).parent for (path,) in found}


@pytest.mark.acceptance
@pytest.mark.parametrize("taken", [None, 0o755, 0o700], ids=["new", "open to all", "ours"])
def test_data_beyond_memory_spills_to_a_private_folder_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int | None
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    if taken is not None:
        (temporary / f"treasury-spill-{os.getuid()}").mkdir(mode=taken)
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    duckdb_engine._folder_of_its_own.cache_clear()
    with duckdb_engine.connect() as other, duckdb_engine.connect() as connection:
        (folder,) = spilled(connection)
        (another,) = spilled(other)
        assert folder != another
        assert folder.parent.parent == temporary
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        connection.close()
        assert not folder.exists()
        assert other.execute("SELECT count(DISTINCT s) FROM many").fetchall() == [(1500000,)]
    assert not another.exists()
    assert os.listdir(here) == []
    duckdb_engine._folder_of_its_own.cache_clear()


def test_a_connection_that_needs_no_disk_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with duckdb_engine.connect() as connection:
        connection.execute("SELECT 1")
    (base,) = tmp_path.iterdir()
    assert list(base.iterdir()) == []


def test_a_missing_folder_for_temporary_files_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StorageError, match="no folder for temporary files: No such file") as said:
        duckdb_engine.connect()
    assert "TMPDIR" in str(said.value)


def test_a_workspace_spills_to_its_folder_and_removes_files_of_ended_processes(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    here, elsewhere = f"{duckdb_engine._HOST}-{ended.pid}-0", f"other-{ended.pid}-0"
    for left in (here, elsewhere):
        (workspace / "spill" / left).mkdir(parents=True)
    (workspace / "spill").chmod(0o700)
    with duckdb_engine.connect(workspace=workspace) as connection:
        (folder,) = spilled(connection)
        assert folder.parent == workspace / "spill"
    assert os.listdir(workspace / "spill") == [elsewhere]


@pytest.mark.first_case
@pytest.mark.parametrize("mode", [None, 0o755], ids=["not there", "open to all"])
def test_without_a_private_folder_of_the_workspace_the_temporary_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if mode is not None:
        spill = tmp_path / "workspace" / "spill"
        spill.mkdir(parents=True)
        spill.chmod(mode)
    with duckdb_engine.connect(workspace=tmp_path / "workspace") as connection:
        (folder,) = spilled(connection)
    assert folder.parent == tmp_path / f"treasury-spill-{os.getuid()}"


def test_a_database_holds_no_more_than_is_declared() -> None:
    with duckdb_engine.connect() as connection:
        ((held,),) = connection.execute(duckdb_engine._MOST).fetchall()
    assert held <= duckdb_engine.MEMORY


@pytest.mark.acceptance
def test_a_large_snapshot_spills_to_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path, CATALOGUE)
    with lake.writer("sync", day(0)) as writer:
        writer.upsert(REQUESTS, requests(a="OPEN"))
    spill = "SELECT current_setting('temp_directory')"
    ((folder,),) = lake.snapshot().connection().execute(spill).fetchall()
    assert not Path(folder).is_relative_to(tmp_path)
    monkeypatch.setattr(snapshot, "FEW", 0)
    ((folder,),) = lake.snapshot().connection().execute(spill).fetchall()
    assert Path(folder).parent == tmp_path / "spill"


class _Relation:
    """A relation that fails while the database's memory limit is below `needs` bytes.

    `held` has the limit at each attempt.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, needs: int) -> None:
        self.connection = connection
        self.needs = needs
        self.held: list[int] = []

    def to_arrow_table(self) -> pa.Table:
        self.held.append(most_of(self.connection))
        if self.held[-1] < self.needs:
            raise duckdb.OutOfMemoryException("Out of Memory Error")
        return pa.table({"n": [1]})


def most_of(connection: duckdb.DuckDBPyConnection) -> int:
    query = "SELECT parse_formatted_bytes(current_setting('memory_limit'))"
    ((most,),) = connection.execute(query).fetchall()
    return int(most)


@pytest.mark.parametrize(
    ("needs", "held"),
    [(0, [HALF]), (HALF + 1, [HALF, MOST])],
    ids=["half suffices", "more is needed"],
)
def test_a_large_database_is_read_with_half_its_memory_if_possible(
    needs: int, held: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_engine, "MEMORY", MOST)
    with duckdb_engine.connect() as connection:
        relation = _Relation(connection, needs)
        assert duckdb_engine.read_beside(connection, cast("Any", relation)).num_rows == 1
        assert relation.held == held
        assert most_of(connection) == MOST


def test_a_query_beyond_all_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "MEMORY", MOST)
    with duckdb_engine.connect() as connection, pytest.raises(duckdb.OutOfMemoryException):
        duckdb_engine.read_beside(connection, cast("Any", _Relation(connection, MOST + 1)))
