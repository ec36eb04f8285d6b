"""What does not fit in memory waits on disk, where nobody else reads it or trips over it."""

import os
import stat
import tempfile
from pathlib import Path

import duckdb
import pytest

from treasury.errors import StorageError
from treasury.lake import engine


def spilled(connection: duckdb.DuckDBPyConnection) -> set[Path]:
    """The folders of what a connection has on disk after it made more than fits in memory."""
    connection.execute("SET memory_limit = '64MB'")
    connection.execute("SET threads = 1")
    engine.lock_down(connection, [])
    connection.execute(
        "CREATE TEMP TABLE many AS SELECT i, repeat('x', 50) || i AS s FROM range(1500000) t(i)"
    )
    found = connection.execute("SELECT path FROM duckdb_temporary_files()").fetchall()
    return {Path(path).parent for (path,) in found}


@pytest.mark.parametrize("taken", [None, 0o755, 0o700], ids=["new", "open to all", "ours"])
def test_what_does_not_fit_in_memory_waits_where_only_this_user_reads_and_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int | None
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    if taken is not None:
        (temporary / f"treasury-spill-{os.getuid()}").mkdir(mode=taken)
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    engine._folder_of_its_own.cache_clear()
    with engine.connect() as other, engine.connect() as connection:
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
    engine._folder_of_its_own.cache_clear()


def test_a_connection_that_needs_no_disk_leaves_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with engine.connect() as connection:
        connection.execute("SELECT 1")
    (base,) = tmp_path.iterdir()
    assert list(base.iterdir()) == []


def test_where_there_is_no_folder_for_temporary_files_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(StorageError, match="no folder for temporary files: No such file") as said:
        engine.connect()
    assert "TMPDIR" in str(said.value)
