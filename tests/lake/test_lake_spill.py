"""What does not fit in memory waits on disk, where nobody else reads it and nobody trips over it."""

import os
import stat
from pathlib import Path

import pytest

from treasury.lake import engine


def test_what_does_not_fit_in_memory_waits_in_a_private_folder_and_not_in_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with engine.connect() as connection:
        connection.execute("SET memory_limit = '64MB'")
        connection.execute("SET threads = 1")
        engine.lock_down(connection, [])
        connection.execute(
            "CREATE TEMP TABLE many AS SELECT i, repeat('x', 50) || i AS s FROM range(1500000) t(i)"
        )
        spilled = connection.execute("SELECT path, size FROM duckdb_temporary_files()").fetchall()
        folders = {Path(path).parent for path, _ in spilled}
        modes = {stat.S_IMODE(folder.stat().st_mode) for folder in folders}
    assert sum(size for _, size in spilled) > 0
    assert tmp_path not in {parent for folder in folders for parent in (folder, *folder.parents)}
    assert modes == {0o700}
    assert os.listdir(tmp_path) == []
    assert not any(Path(path).exists() for path, _ in spilled)
