"""The stored result of upserts and appends, and what readers see then and later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lake_samples import (
    BALANCES,
    CATALOGUE,
    EXACT,
    REQUESTS,
    START,
    WALLETS,
    balances,
    content,
    day,
    put,
    requests,
    small_lake,
    statuses,
    wallets,
)

from treasury.core.errors import InputError, StorageError, TableError
from treasury.core.tables.column_types import TEXT, Column
from treasury.lake import Changes, Lake, Table


@pytest.mark.acceptance
def test_new_changed_and_unchanged_rows_are_counted(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    assert put(lake, 0, requests(a="OPEN", b="OPEN")) == Changes(new=2)
    assert put(lake, 1, requests(a="DONE", b="OPEN", c="OPEN")) == Changes(
        new=1, changed=1, unchanged=1
    )
    assert statuses(lake.snapshot()) == {"a": "DONE", "b": "OPEN", "c": "OPEN"}


@pytest.mark.acceptance
def test_unchanged_rows_write_no_table(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="DONE"))
    before = lake.snapshot().commit
    put(lake, 1, requests(a="OPEN", b="DONE"))
    after = lake.snapshot().commit
    assert before is not None
    assert after is not None
    assert after.versions == before.versions
    assert (before.number, after.number) == (1, 2)


@pytest.mark.acceptance
def test_a_superseded_version_is_kept_with_its_observation_time(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    put(lake, 1, requests(a="DONE"))
    query = "SELECT status, valid_from, valid_to, raw FROM requests_history"
    assert lake.snapshot().sql(query).to_pylist() == [
        {
            "status": "OPEN",
            "valid_from": day(0),
            "valid_to": day(1),
            "raw": '{"id": "a", "status": "OPEN"}',
        }
    ]


@pytest.mark.acceptance
def test_records_are_read_as_known_at_an_instant(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    put(lake, 1, requests(a="HELD", b="OPEN"))
    put(lake, 2, requests(a="DONE"))
    moment = timedelta(microseconds=1)
    assert statuses(lake.snapshot(at=day(0) - moment)) == {}
    assert statuses(lake.snapshot(at=day(0))) == {"a": "OPEN"}
    assert statuses(lake.snapshot(at=day(1) - moment)) == {"a": "OPEN"}
    assert statuses(lake.snapshot(at=day(1))) == {"a": "HELD", "b": "OPEN"}
    assert statuses(lake.snapshot(at=day(9))) == statuses(lake.snapshot())
    then = lake.snapshot(at=day(1)).sql("SELECT status FROM requests_history").to_pylist()
    assert then == [{"status": "OPEN"}]
    assert lake.snapshot(at=day(1)).sql("SELECT number FROM commits").num_rows == 2


@pytest.mark.acceptance
def test_a_settled_record_that_changes_again_is_found(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="DONE", b="DONE"))
    assert put(lake, 1, requests(a="OPEN")) == Changes(changed=1)
    assert statuses(lake.snapshot()) == {"a": "OPEN", "b": "DONE"}
    assert lake.snapshot().sql("SELECT id FROM requests WHERE is_open").to_pylist() == [{"id": "a"}]


@pytest.mark.acceptance
def test_a_record_missing_from_a_complete_listing_is_marked_and_kept(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="DONE"))
    assert put(lake, 1, requests(a="OPEN"), complete=True) == Changes(unchanged=1, vanished=1)
    assert put(lake, 2, requests(a="OPEN"), complete=True) == Changes(unchanged=1)
    query = "SELECT id, vanished_at FROM requests ORDER BY id"
    assert lake.snapshot().sql(query).to_pylist() == [
        {"id": "a", "vanished_at": None},
        {"id": "b", "vanished_at": day(1)},
    ]
    assert lake.snapshot(at=day(0)).sql(query)["vanished_at"].null_count == 2
    assert put(lake, 3, requests(a="OPEN", b="DONE"), complete=True).changed == 1
    assert lake.snapshot().sql(query)["vanished_at"].null_count == 2


@pytest.mark.acceptance
def test_two_upserts_in_one_commit_leave_one_version(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    with lake.writer("sync", day(1)) as writer:
        writer.upsert(REQUESTS, requests(a="HELD", b="OPEN"))
        writer.upsert(REQUESTS, requests(a="DONE", b="DONE"))
    snapshot = lake.snapshot()
    assert statuses(snapshot) == {"a": "DONE", "b": "DONE"}
    assert snapshot.sql("SELECT status FROM requests_history").to_pylist() == [{"status": "OPEN"}]


def test_many_small_batches_become_one_file_and_one_version(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    with lake.writer("sync", START) as writer:
        for number in range(30):
            writer.upsert(REQUESTS, requests(**{f"r{number}": "DONE", f"o{number}": "OPEN"}))
            writer.append(BALANCES, balances(str(number)))
        assert lake.snapshot().commit is None
    snapshot = lake.snapshot()
    assert len(statuses(snapshot)) == 60
    files = [path for table in (REQUESTS, BALANCES) for path in snapshot.files(table)]
    assert [pq.ParquetFile(path).num_row_groups for path in files] == [1, 1, 1]
    assert snapshot.commit is not None
    assert snapshot.commit.versions == {"requests": 0, "balances": 0}
    rows = snapshot.sql("SELECT is_open, count(*) AS n FROM requests GROUP BY ALL").to_pylist()
    assert sorted((row["is_open"], row["n"]) for row in rows) == [(False, 30), (True, 30)]


def test_a_repeated_key_in_the_first_commit_leaves_its_last_version(
    tmp_path: Path,
) -> None:
    lake = small_lake(tmp_path)
    with lake.writer("sync", START) as writer:
        assert writer.upsert(REQUESTS, requests(a="OPEN", b="OPEN")) == Changes(new=2)
        assert writer.upsert(REQUESTS, requests(c="OPEN")) == Changes(new=1)
        again = writer.upsert(REQUESTS, requests(a="DONE", b="OPEN", d="DONE"))
        assert again == Changes(new=1, changed=1, unchanged=1)
        assert writer.upsert(REQUESTS, requests(a="DONE", d="DONE", e="OPEN"), complete=True) == (
            Changes(new=1, unchanged=2, vanished=2)
        )
        assert writer.vanish(REQUESTS, pa.table({"id": ["e"]})) == 1
    snapshot = lake.snapshot()
    everything = {"a": "DONE", "b": "OPEN", "c": "OPEN", "d": "DONE", "e": "OPEN"}
    assert statuses(snapshot) == everything
    gone = snapshot.sql("SELECT id FROM requests WHERE vanished_at IS NOT NULL ORDER BY id")
    assert gone["id"].to_pylist() == ["b", "c", "e"]
    assert snapshot.sql("SELECT * FROM requests_history").num_rows == 0


PAIRS = Table("pairs", (Column("a", TEXT, ""), Column("b", TEXT, "")), key=("a", "b"))


def test_a_key_of_several_columns_is_compared_within_a_commit_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [PAIRS])
    rows = pa.table({"a": ["x", "x"], "b": ["1", "2"], "raw": ["{}", "{}"]})
    with lake.writer("sync", START) as writer:
        assert writer.upsert(PAIRS, rows) == Changes(new=2)
        assert writer.upsert(PAIRS, rows.slice(1)) == Changes(unchanged=1)
    assert lake.snapshot().sql("SELECT * FROM pairs").num_rows == 2


def test_files_of_a_failed_commit_are_removed(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="DONE"))
    before = set(lake.folder.rglob("*.parquet"))

    def failing() -> None:
        with lake.writer("sync", day(1)) as writer:
            writer.upsert(REQUESTS, requests(c="OPEN", d="DONE"))
            assert set(lake.folder.rglob("*.parquet")) > before
            raise TableError("no", do="nothing")

    with pytest.raises(TableError):
        failing()
    assert set(lake.folder.rglob("*.parquet")) == before


@pytest.mark.acceptance
def test_a_hash_of_an_earlier_rule_alone_makes_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def earlier(rows: pa.Table, _volatile: tuple[str, ...]) -> pa.Table:
        texts = [f"{place:032x}" for place in range(rows.num_rows)]
        return rows.append_column("content_hash", pa.array(texts, TEXT))

    lake = small_lake(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("treasury.lake.writer.with_hash", earlier)
        put(lake, 0, requests(a="OPEN", b="DONE", c="DONE", d="OPEN"))
    again = requests(a="OPEN", b="DONE", c="HELD")
    assert put(lake, 1, again, complete=True) == Changes(changed=1, unchanged=2, vanished=1)
    assert put(lake, 2, again, complete=True) == Changes(unchanged=3)
    history = lake.snapshot().sql("SELECT id, status FROM requests_history ORDER BY id")
    assert history.to_pylist() == [{"id": "c", "status": "DONE"}, {"id": "d", "status": "OPEN"}]


def test_a_full_file_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.lake.store.parquet.LARGEST", 1)
    monkeypatch.setattr("treasury.lake.store.parquet.GROUP_ROWS", 1)
    lake = small_lake(tmp_path)
    with lake.writer("sync", START) as writer:
        # Each row group must be on disk before the writer gets the next one.
        for name in "abcd":
            writer.upsert(REQUESTS, requests(**{name: "DONE"}))
    assert len(lake.snapshot().files(REQUESTS)) == 2
    assert statuses(lake.snapshot()) == dict.fromkeys("abcd", "DONE")


@pytest.mark.acceptance
def test_observations_are_added_each_time(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for number in range(2):
        with lake.writer("sync", day(number)) as writer:
            assert writer.append(BALANCES, balances("1.5", "2")) == 2
    query = "SELECT count(*) AS n FROM balances"
    assert lake.snapshot().sql(query)["n"][0].as_py() == 4
    assert lake.snapshot(at=day(0)).sql(query)["n"][0].as_py() == 2


def test_records_and_observations_are_not_mixed_up(tmp_path: Path) -> None:
    with small_lake(tmp_path).writer("sync", START) as writer:
        with pytest.raises(TableError, match="upsert"):
            writer.append(REQUESTS, requests(a="OPEN"))
        with pytest.raises(TableError, match="append"):
            writer.upsert(BALANCES, balances("1"))


def test_amounts_and_raw_come_back_digit_for_digit(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    raw = '{"amount":1.10,"name":"Ünïcode \\u0000 \\"quoted\\"",\n "big":123456789012345678901.5}'
    rows = requests(a="OPEN")
    put(lake, 0, rows.set_column(rows.column_names.index("raw"), "raw", pa.array([raw])))
    back = lake.snapshot().sql("SELECT amount, raw, created_at FROM requests").to_pylist()
    assert back == [{"amount": EXACT, "raw": raw, "created_at": START}]


@pytest.mark.acceptance
def test_a_writer_reads_the_previous_commit(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="DONE"))
    with lake.writer("sync", day(1)) as writer:
        writer.upsert(REQUESTS, requests(a="DONE"))
        rows = writer.read(REQUESTS, ["id", "status"], where="is_open")
        assert rows.to_pylist() == [{"id": "a", "status": "OPEN"}]
        assert writer.read(WALLETS).num_rows == 0


def test_instants_of_commits_only_increase(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for _ in range(3):
        with lake.writer("sync", START) as writer:
            assert writer.now >= START
    instants = lake.commits()["at"].to_pylist()
    assert instants == [START + timedelta(microseconds=n) for n in range(3)]
    with pytest.raises(InputError, match="time zone"), lake.writer("x", START.replace(tzinfo=None)):
        pass


def test_a_column_declared_later_reads_as_null_and_then_fills(tmp_path: Path) -> None:
    put(small_lake(tmp_path), 0, requests(a="OPEN", b="DONE"))
    wider = Table("requests", (*REQUESTS.columns, Column("late", TEXT, "new")), settles=True)
    lake = Lake(tmp_path, [wider, WALLETS, BALANCES])
    query = "SELECT id, late, valid_from FROM requests ORDER BY id"
    assert lake.snapshot().sql(query)["late"].null_count == 2
    with lake.writer("sync", day(1)) as writer:
        rows = requests(a="OPEN").append_column("late", pa.array(["x"]))
        assert writer.upsert(wider, rows) == Changes(changed=1)
    assert lake.snapshot().sql(query).to_pylist() == [
        {"id": "a", "late": "x", "valid_from": day(1)},
        {"id": "b", "late": None, "valid_from": day(0)},
    ]
    with pytest.raises(StorageError, match="late"):
        put(small_lake(tmp_path), 2, requests(a="DONE"))


@pytest.mark.acceptance
def test_a_changed_balance_makes_no_new_version_of_its_wallet(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for number in range(2):
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(WALLETS, wallets(w={"id": "w", "balances": [number]}))
    assert lake.snapshot().sql("SELECT valid_from FROM wallets").to_pylist() == [
        {"valid_from": day(0)}
    ]


words = st.sampled_from(["OPEN", "HELD", "DONE"])
batches = st.lists(st.dictionaries(st.sampled_from("abcd"), words, max_size=4), max_size=4)


@pytest.mark.acceptance
@given(batches=batches)
@settings(max_examples=12)
def test_every_instant_reads_like_a_replay_up_to_it(
    batches: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake = small_lake(tmp_path_factory.mktemp("lake"))
    known: dict[str, str] = {}
    for number, batch in enumerate(batches):
        put(lake, number, requests(**batch))
    for number, batch in enumerate(batches):
        known |= batch
        assert statuses(lake.snapshot(at=day(number))) == dict(sorted(known.items()))


def test_an_empty_lake_has_every_table_typed_and_empty(tmp_path: Path) -> None:
    lake = Lake(tmp_path, CATALOGUE)
    snapshot = lake.snapshot()
    assert snapshot.commit is None
    assert all(rows == [] for rows in content(lake).values())
    assert snapshot.sql("SELECT * FROM requests").schema == REQUESTS.schema
    assert snapshot.sql("SELECT * FROM wallets_history").schema == WALLETS.history_schema
    assert snapshot.sql("SELECT sum(amount) AS s FROM requests")["s"].to_pylist() == [None]
    assert lake.commits().num_rows == 0


def named(*columns: str, **more: Any) -> Table:
    return Table("pets", tuple(Column(name, TEXT, name) for name in ("id", *columns)), **more)


def from_raw(names: Sequence[str], raws: Sequence[str]) -> dict[str, pa.Array]:
    found = [json.loads(raw) for raw in raws]
    return {name: pa.array([one.get(name) for one in found], TEXT) for name in names}


def test_a_column_declared_later_is_filled_from_the_records_as_received(tmp_path: Path) -> None:
    raw = '{"id": "%s", "name": "%s", "colour": "%s"}'
    rows = [("a", "Ann", "red"), ("b", "Bo", "blue")]
    first, later = named("name"), named("name", "colour", reread=from_raw)

    def stored(table: Table, hour: int, rows: list[tuple[str, str, str]]) -> Changes:
        lake = Lake(tmp_path, [table])
        given = [
            {"id": a, "name": b, "raw": raw % (a, b, c)} | ({"colour": c} if table is later else {})
            for a, b, c in rows
        ]
        with lake.writer("sync", START + timedelta(hours=hour)) as writer:
            return writer.upsert(table, pa.Table.from_pylist(given, schema=table.row_schema))

    assert stored(first, 0, rows) == Changes(new=2)
    assert stored(first, 1, [("a", "Anna", "red"), rows[1]]) == Changes(changed=1, unchanged=1)
    assert stored(later, 2, [("a", "Anna", "red"), ("b", "Bo", "green")]) == Changes(
        changed=1, unchanged=1
    )
    snapshot = Lake(tmp_path, [later]).snapshot()
    now = snapshot.sql("SELECT id, colour FROM pets ORDER BY id").to_pylist()
    assert now == [{"id": "a", "colour": "red"}, {"id": "b", "colour": "green"}]
    past = snapshot.sql("SELECT name, colour FROM pets_history ORDER BY name").to_pylist()
    assert past == [{"name": "Ann", "colour": "red"}, {"name": "Bo", "colour": "blue"}]
