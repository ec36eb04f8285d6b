"""SQL over a snapshot: its limits, and its errors for altered files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from lake_samples import EXACT, REQUESTS, START, copied_lake, put, requests, small_lake, statuses

from treasury.core.errors import InputError, QueryError, TreasuryError, WorkspaceDamaged
from treasury.core.tables import duckdb_engine, query_checks
from treasury.lake import Lake, Snapshot


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = small_lake(tmp_path_factory.mktemp("ready"))
    put(lake, 0, requests(a="OPEN", b="DONE"))
    return lake.workspace


@pytest.fixture
def lake(ready: Path, tmp_path: Path) -> Lake:
    return copied_lake(ready, tmp_path / "desk's")


@pytest.mark.acceptance
def test_values_are_bound_by_name_and_by_place(lake: Lake) -> None:
    snapshot = lake.snapshot()
    hostile = "'; DROP VIEW requests; --"
    assert snapshot.sql("SELECT $x AS x", {"x": hostile})["x"].to_pylist() == [hostile]
    assert snapshot.sql("SELECT id FROM requests WHERE status = ?", ["DONE"]).to_pylist() == [
        {"id": "b"}
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1;",
        "WITH a AS (SELECT 1 AS n) SELECT n FROM a ORDER BY n -- why not",
        "DESCRIBE requests",
        "SHOW TABLES",
        "SUMMARIZE requests",
        "PIVOT requests ON status IN ('OPEN', 'DONE') USING count(*)",
        "FROM requests SELECT raw->>'$.status' AS s",
    ],
)
def test_read_only_queries_are_run(lake: Lake, query: str) -> None:
    assert lake.snapshot().sql(query).num_rows > 0


@pytest.mark.first_case
@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
        "WITH a AS MATERIALIZED (COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)) FROM a",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
        "SELECT 1; COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
        "FROM query('WITH a AS (COPY (SELECT 1) TO ''{file}'' (USE_TMP_FILE false)) FROM a')",
        "COPY (SELECT 1) TO '{other}'",
        "WITH a AS (DELETE FROM commits RETURNING *) SELECT * FROM a",
        "DELETE FROM commits",
        "DROP VIEW requests",
        "CREATE TABLE mine AS SELECT 1",
        "ATTACH '{other}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET TimeZone = 'Asia/Tokyo'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM enable_logging(level => 'trace')",
        "SELECT * FROM Enable_Logging('x')",
        "SELECT (SELECT count(*) FROM arrow_scan(1, 2, 3))",
        "WITH a AS (FROM requests, query('SELECT 1')) FROM a",
        "SELECT list_transform([1], x -> (SELECT count(*) FROM truncate_duckdb_logs()))",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "FROM query_table(['requests'])",
        f"SELECT {'abs(' * 900}1{')' * 900}",
        "SELECT getenv('HOME')",
        "SELECT * FROM lake",
        "SELECT nothing FROM requests",
        "SELECT 'x'::INTEGER",
        "SELEC 1",
        "",
    ],
)
def test_every_other_statement_is_refused_and_writes_nothing(
    lake: Lake, tmp_path: Path, query: str
) -> None:
    snapshot = lake.snapshot()
    file = Path(snapshot.files("requests")[0])
    before = file.read_bytes()
    text = query.format(file=str(file).replace("'", "''"), other=tmp_path / "other")
    with pytest.raises(QueryError) as caught:
        snapshot.sql(text)
    assert caught.value.do
    assert file.read_bytes() == before
    assert not (tmp_path / "other").exists()
    assert snapshot.sql("SELECT number FROM commits").num_rows == 1


def test_a_query_may_use_read_only_table_functions(lake: Lake) -> None:
    snapshot = lake.snapshot()
    assert snapshot.sql("FROM range(3)").num_rows == 3
    assert snapshot.sql("SELECT * FROM requests, UNNEST([1, 2]) AS n(n)").num_rows % 2 == 0
    assert snapshot.sql("FROM pragma_table_info('requests')").num_rows
    assert snapshot.sql("SELECT key FROM json_each('{\"a\": 1}')").to_pylist() == [{"key": "a"}]


def test_instants_are_utc_on_every_thread(lake: Lake) -> None:
    snapshot = lake.snapshot()
    seen: list[object] = []

    def read() -> None:
        row = snapshot.sql("SELECT created_at::VARCHAR AS t, amount FROM requests LIMIT 1")
        seen.extend(row.to_pylist())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == [{"t": "2026-11-02 08:00:00+00", "amount": EXACT}] * 4


def test_a_private_connection_has_the_views_and_no_other_file(lake: Lake) -> None:
    with lake.snapshot().connection() as connection:
        connection.execute("CREATE TEMP TABLE step AS SELECT max(amount) AS s FROM requests")
        assert connection.execute("SELECT s FROM step").fetchall() == [(EXACT,)]
        with pytest.raises(Exception, match="disabled by configuration"):
            connection.execute("SELECT * FROM read_text('/etc/passwd')")


@pytest.mark.acceptance
def test_files_are_those_of_the_pinned_version(lake: Lake) -> None:
    snapshot = lake.snapshot()
    before = snapshot.files(REQUESTS)
    put(lake, 1, requests(a="DONE"))
    assert snapshot.files("requests") == before
    assert set(lake.snapshot().files("requests")) != set(before)
    assert all(Path(file).suffix == ".parquet" for file in before)


def test_an_instant_without_a_time_zone_is_refused(lake: Lake) -> None:
    with pytest.raises(InputError, match="time zone"):
        lake.snapshot(at=START.replace(tzinfo=None))


def test_a_missing_file_is_named(lake: Lake) -> None:
    file = Path(lake.snapshot().files("requests")[-1])
    file.unlink()
    with pytest.raises(WorkspaceDamaged, match=f"{file.name} is missing"):
        small_lake(lake.folder.parent).snapshot().sql("SELECT sum(amount) FROM requests")
    with pytest.raises(WorkspaceDamaged, match=file.name):
        put(lake, 1, requests(a="DONE", b="OPEN"))


@pytest.mark.parametrize("damage", ["short", "zeros"])
def test_a_corrupt_file_is_named(lake: Lake, damage: str) -> None:
    for name in lake.snapshot().files("requests"):
        size = Path(name).stat().st_size
        Path(name).write_bytes(b"\0" * (size if damage == "zeros" else size // 2))
    with pytest.raises(WorkspaceDamaged, match=r"\.parquet"):
        small_lake(lake.folder.parent).snapshot().sql("SELECT sum(amount) FROM requests")


def test_a_lost_log_is_named(lake: Lake) -> None:
    for entry in (lake.folder / "requests" / "_delta_log").iterdir():
        entry.unlink()
    with pytest.raises(WorkspaceDamaged, match="requests"):
        statuses(small_lake(lake.folder.parent).snapshot())
    with pytest.raises(TreasuryError, match="requests"):
        put(small_lake(lake.folder.parent), 1, requests(a="DONE"))


def test_a_lost_commit_file_is_named(lake: Lake) -> None:
    for file in (lake.folder / "commits").glob("*.parquet"):
        file.unlink()
    with pytest.raises(WorkspaceDamaged, match="commits"):
        lake.snapshot().sql("FROM requests")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[duckdb.DuckDBPyConnection]:
    """Return a list that collects the databases opened from here on."""
    databases: list[duckdb.DuckDBPyConnection] = []
    connect = duckdb_engine.connect

    def counted(**options: Any) -> duckdb.DuckDBPyConnection:
        databases.append(connect(**options))
        return databases[-1]

    monkeypatch.setattr(duckdb_engine, "connect", counted)
    return databases


@pytest.mark.acceptance
def test_the_queries_of_a_snapshot_share_one_database(
    lake: Lake, opened: list[duckdb.DuckDBPyConnection]
) -> None:
    snapshot = lake.snapshot()
    assert statuses(snapshot) == statuses(snapshot) == {"a": "OPEN", "b": "DONE"}
    with snapshot.connection() as connection:
        assert connection.execute("SELECT count(*) FROM commits").fetchone() == (1,)
    assert len(opened) == 1
    put(lake, 1, requests(a="DONE"))
    opened.clear()
    assert statuses(snapshot)["a"] == "OPEN"
    assert opened == []
    assert statuses(lake.snapshot())["a"] == "DONE"
    assert len(opened) == 1


def test_tables_added_to_a_snapshot_are_private(lake: Lake) -> None:
    def beside(number: int) -> Snapshot:
        return lake.snapshot().beside({"answers": lambda: pa.table({"number": [number]})})

    first, second = beside(1), beside(2)
    for snapshot, number in ((first, 1), (second, 2), (first, 1)):
        assert snapshot.table("answers").to_pylist() == [{"number": number}]
    with pytest.raises(QueryError, match="answers"):
        lake.snapshot().sql("FROM answers")


def test_our_own_query_runs_unchanged(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_checks, "check_reads", None)
    rows = lake.snapshot().select(
        "SELECT id FROM requests WHERE status = $status", {"status": "DONE"}
    )
    assert rows.to_pylist() == [{"id": "b"}]
    with pytest.raises(QueryError, match="nothing"):
        lake.snapshot().select("SELECT id FROM nothing")
