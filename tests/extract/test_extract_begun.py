"""Empty tables: their first rows are written as Parquet before the lock is taken."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treasury.core.errors import StorageError, TableError
from treasury.core.tables.column_types import BOOL, TEXT, Column
from treasury.extract import fetched_rows
from treasury.extract.fetched_rows import FetchedRows
from treasury.lake import Lake, Table
from treasury.lake.store import parquet
from treasury.lake.upkeep.file_check import damages, whole_rows

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def declared(name: str) -> Table:
    columns = (
        Column("id", TEXT, "id"),
        Column("status", TEXT, "status"),
        Column("is_open", BOOL, "whether it can still change"),
    )
    return Table(name=name, key=("id",), title="a table", columns=columns, settles=True)


ORDERS, EVENTS = declared("orders"), declared("events")
NAMES = (ORDERS.name, EVENTS.name)


def rows_with(status: str, *ids: str) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"id": name, "status": status, "is_open": status == "open", "raw": f'"{name}{status}"'}
            for name in ids
        ],
        schema=ORDERS.row_schema,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path, (ORDERS, EVENTS))


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    return tmp_path / "staging"


@pytest.fixture
def fetched(lake: Lake, staging: Path) -> Iterator[FetchedRows]:
    with closing(FetchedRows(*lake.base("sync", NOW), staging)) as fetched:
        yield fetched


def write(lake: Lake, fetched: FetchedRows) -> dict[str, tuple[int, int]]:
    with lake.writer("sync", fetched.now) as writer:
        counts = fetched.write(writer, NAMES)
    return {name: (of["new"], of["changed"]) for name, of in counts.items()}


def stored(lake: Lake, table: str = "orders") -> list[tuple[str, str, datetime]]:
    query = f"SELECT id, status, valid_from FROM {table} ORDER BY id"
    return [tuple(row.values()) for row in lake.snapshot().sql(query).to_pylist()]


def begun(staging: Path) -> list[Path]:
    return sorted(staging.rglob("*.parquet"))


@pytest.mark.acceptance
def test_the_first_rows_of_a_table_are_written_without_the_lock_and_moved_under_it(
    lake: Lake, fetched: FetchedRows, staging: Path
) -> None:
    fetched.upsert(ORDERS, rows_with("open", "1", "2"))
    fetched.upsert(ORDERS, rows_with("settled", "3"))
    assert [path.parent.name for path in begun(staging)] == ["is_open=false", "is_open=true"]
    with lake.writer("sync", fetched.now) as writer:
        assert fetched.write(writer, NAMES)["orders"]["new"] == 3
        writer.join_small_files()
        assert begun(staging) == []
    assert stored(lake) == [("1", "open", NOW), ("2", "open", NOW), ("3", "settled", NOW)]
    assert damages(lake) == []


def test_rows_that_waited_for_another_commit_count_from_their_own_commit(
    lake: Lake, fetched: FetchedRows
) -> None:
    fetched.upsert(ORDERS, rows_with("open", "1"))
    fetched.upsert(ORDERS, rows_with("settled", "2"))
    with lake.writer("statements", LATER):
        pass
    assert write(lake, fetched) == {"orders": (2, 0)}
    at = lake.commits()["at"].to_pylist()[-1]
    assert at > LATER
    assert stored(lake) == [("1", "open", at), ("2", "settled", at)]


@pytest.mark.first_case
@pytest.mark.parametrize("other", [False, True], ids=["alone", "after another commit"])
def test_the_later_version_of_a_repeated_record_counts(
    lake: Lake, fetched: FetchedRows, *, other: bool
) -> None:
    fetched.upsert(ORDERS, rows_with("open", "1", "2"))
    fetched.upsert(ORDERS, rows_with("settled", "2", "3"))
    fetched.upsert(ORDERS, rows_with("open", "4"))
    if other:
        with lake.writer("statements", LATER):
            pass
    assert write(lake, fetched) == {"orders": (4, 1)}
    assert [row[:2] for row in stored(lake)] == [
        ("1", "open"),
        ("2", "settled"),
        ("3", "settled"),
        ("4", "open"),
    ]
    assert stored(lake, "orders_history") == []


@pytest.mark.acceptance
def test_dependent_rows_refer_to_the_new_rows_before_them(
    lake: Lake, fetched: FetchedRows, staging: Path
) -> None:
    fetched.upsert(ORDERS, rows_with("open", "1"))
    fetched.upsert(EVENTS, rows_with("open", "a"), after_change=True)
    assert write(lake, fetched) == {"orders": (1, 0), "events": (1, 0)}
    with closing(FetchedRows(*lake.base("sync", LATER), staging)) as again:
        again.upsert(ORDERS, rows_with("open", "1"))
        again.upsert(EVENTS, rows_with("open", "b"), after_change=True)
        assert write(lake, again) == {"orders": (0, 0)}
    assert [row[0] for row in stored(lake, "events")] == ["a"]


@pytest.mark.acceptance
def test_a_complete_list_after_the_first_rows_marks_missing_records(
    lake: Lake, fetched: FetchedRows
) -> None:
    fetched.upsert(ORDERS, rows_with("open", "1", "2"))
    fetched.vanish(ORDERS, ["1"])
    fetched.upsert(ORDERS, rows_with("open", "2", "3"), complete=True)
    write(lake, fetched)
    query = "SELECT id FROM orders WHERE vanished_at IS NULL ORDER BY id"
    assert lake.snapshot().sql(query)["id"].to_pylist() == ["2", "3"]


@pytest.mark.parametrize("other", [False, True], ids=["alone", "after another commit"])
def test_files_of_a_killed_sync_are_not_part_of_the_next(
    lake: Lake, fetched: FetchedRows, staging: Path, *, other: bool
) -> None:
    # The process is killed after this.
    fetched.upsert(ORDERS, rows_with("open", "left"))
    with closing(FetchedRows(*lake.base("sync", NOW), staging)) as following:
        following.upsert(ORDERS, rows_with("open", "1"))
        if other:
            with lake.writer("statements", LATER):
                pass
        write(lake, following)
    assert [row[0] for row in stored(lake)] == ["1"]
    assert list(staging.iterdir()) == []


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Limit the length of every file to 8,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("complete", [False, True], ids=["a table begins", "rows that wait"])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_and_leaves_no_file(
    lake: Lake, staging: Path, monkeypatch: pytest.MonkeyPatch, *, complete: bool
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 1_000)
    monkeypatch.setattr(fetched_rows, "IN_MEMORY", 1)

    def fill() -> None:
        with closing(FetchedRows(*lake.base("sync", NOW), staging)) as fetched:
            for _ in range(8):
                ids = [str(uuid4()) for _ in range(500)]
                fetched.upsert(ORDERS, rows_with("open", *ids), complete=complete)

    with pytest.raises(StorageError, match="cannot be written"):
        fill()
    assert list(staging.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if "parquet" in thread.name]


def test_rows_are_read_back_in_groups_of_any_size(tmp_path: Path) -> None:
    rows = rows_with("open", *map(str, range(25)))
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=10)
    read = [part.num_rows for part, _ in whole_rows(tmp_path / "rows.parquet", None)]
    assert read == [10, 10, 5]


def test_observations_are_never_written_as_records(lake: Lake, fetched: FetchedRows) -> None:
    looks = msgspec.structs.replace(EVENTS, kind="observations", settles=False)
    fetched.upsert(looks, rows_with("open", "1"))
    with pytest.raises(TableError, match="holds observations"):
        write(lake, fetched)


@pytest.mark.parametrize("left", ["file", "link"])
def test_a_file_in_place_of_the_folder_does_not_stop_a_sync(
    lake: Lake, staging: Path, left: str
) -> None:
    staging.mkdir()
    odd = staging / "begun-left"
    odd.write_text("left") if left == "file" else odd.symlink_to(staging.parent)
    with closing(FetchedRows(*lake.base("sync", NOW), staging)) as fetched:
        fetched.upsert(ORDERS, rows_with("open", "1"))
        write(lake, fetched)
    assert stored(lake) == [("1", "open", NOW)]


def test_an_error_stores_nothing_and_leaves_no_file(lake: Lake, staging: Path) -> None:
    def fail() -> None:
        with closing(FetchedRows(*lake.base("sync", NOW), staging)) as fetched:
            fetched.upsert(ORDERS, rows_with("open", "1"))
            with lake.writer("sync", fetched.now) as writer:
                fetched.write(writer, NAMES)
                raise RuntimeError("too late")

    with pytest.raises(RuntimeError, match="too late"):
        fail()
    assert lake.commits().num_rows == 0
    assert list(staging.iterdir()) == []
    with closing(FetchedRows(*lake.base("sync", NOW), staging)) as fetched:
        fetched.upsert(ORDERS, rows_with("open", "1"))
        write(lake, fetched)
    assert stored(lake) == [("1", "open", NOW)]
