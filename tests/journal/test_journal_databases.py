"""The journal's guarantees hold on SQLite and on PostgreSQL, and through every migration."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from benchmarks.postgres_server import Server
from treasury.core.errors import ActionRefused, JournalError
from treasury.journal import ADOPTED, Actor, Draft, Head, Journal, engines, journal_store
from treasury.journal.chain import FIRST
from treasury.journal.journal_schema import SCHEMA_VERSION, entries

ANNA = Actor("anna", "environment")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
VERSION_1 = Path(__file__).parent / "data" / "version_1.sqlite"
HEAD_OF_VERSION_1 = "3459e452311901470c3d16594d0128070b3d2048f737db3bceb8830879309521"


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    journal = Journal(url, now=lambda: NOON)
    yield journal
    journal.close()


@pytest.fixture
def run(url: str) -> Callable[..., None]:
    """Return a function that runs SQL as in the database's own shell."""
    engine = sa.create_engine(url, poolclass=NullPool)

    def statements(*several: str) -> None:
        with engine.begin() as connection:
            for statement in several:
                connection.exec_driver_sql(statement)

    return statements


def disarm(run: Callable[..., None], url: str) -> None:
    """Remove the triggers, as a deliberate attacker can."""
    names = ("entries_no_update", "entries_no_delete", "entries_in_order")
    if url.startswith("sqlite"):
        run(*(f"DROP TRIGGER {name}" for name in names))
    else:
        run("ALTER TABLE entries DISABLE TRIGGER ALL")


@pytest.mark.first_case
def test_entries_are_returned_in_order_with_every_digit(journal: Journal) -> None:
    body = {"amount": Decimal("25000.100000000000000001"), "text": "\u202e é \x00 '\"", "n": None}
    journal.append("match.accept", "a", body, actor=ANNA, nonce="n1")
    journal.append("action.done", "b", {}, actor=ANNA)
    first, second = journal.entries()
    assert first.body == {"amount": "25000.100000000000000001", "text": body["text"], "n": None}
    assert (first.seq, first.at, second.prev_hash) == (1, NOON, first.hash)
    assert [e.seq for e in journal.entries("match.")] == [1]
    assert [e.seq for e in journal.entries(since=1)] == [2]
    assert journal.verify() == journal.head()


def test_a_nonce_is_valid_for_one_entry(journal: Journal) -> None:
    journal.append("x", "y", {}, actor=ANNA, nonce="n")
    with pytest.raises(ActionRefused, match="already decided: x for y by anna"):
        journal.append("x", "z", {}, actor=ANNA, nonce="n")
    assert len(journal.entries()) == 1


def test_a_nonce_is_valid_for_one_of_several_entries_added_together(journal: Journal) -> None:
    drafts = [Draft("x", "1", {}, ANNA, "n"), Draft("x", "2", {}, ANNA, "n")]
    with pytest.raises(ActionRefused, match="already decided: x for 1 by anna"):
        journal.extend(drafts)
    assert journal.head().seq == 0


def test_several_entries_are_added_together_or_not_at_all(journal: Journal) -> None:
    journal.append("x", "y", {}, actor=ANNA, nonce="taken")
    drafts = [Draft("x", "1", {}, ANNA), Draft("x", "2", {}, ANNA, "taken")]
    with pytest.raises(ActionRefused):
        journal.extend(drafts)
    assert journal.head().seq == 1
    added = journal.extend(drafts[:1] * 3)
    assert added is not None
    assert [entry.seq for entry in added] == [2, 3, 4]
    journal.verify()


def test_an_entry_is_added_only_after_the_head_that_was_read(journal: Journal) -> None:
    head = journal.head()
    journal.append("x", "y", {}, actor=ANNA)
    assert journal.extend([Draft("x", "late", {}, ANNA)], after=head) is None
    assert journal.extend([Draft("x", "in time", {}, ANNA)], after=journal.head())
    assert [entry.subject for entry in journal.entries()] == ["y", "in time"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET kind = 'z'",
        "DELETE FROM entries WHERE seq = 1",
        (
            "INSERT INTO entries SELECT seq + 7, at, kind, subject, actor, actor_source, body, 'q',"
            " prev_hash, hash, assurance, public_key, signature FROM entries WHERE seq = 1"
        ),
    ],
)
def test_the_database_refuses_an_accidental_change(
    journal: Journal, run: Callable[..., None], statement: str
) -> None:
    for number in range(2):
        journal.append("x", "y", {"n": number}, actor=ANNA)
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        run(statement)
    assert journal.verify().seq == 2


def test_replacing_a_row_and_emptying_the_table_are_refused_too(
    journal: Journal, url: str, run: Callable[..., None]
) -> None:
    journal.append("x", "y", {}, actor=ANNA)
    statement = "TRUNCATE entries"
    if url.startswith("sqlite"):
        statement = "INSERT OR REPLACE INTO entries SELECT * FROM entries"
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        run(statement)
    assert journal.verify().seq == 1


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE entries SET body = '{}' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE entries SET actor = 'bert' WHERE seq = 3", "entry 3 was changed"),
        ("DELETE FROM entries WHERE seq = 2", "entry 2 is missing"),
    ],
)
def test_a_deliberate_change_is_detected_by_the_chain(
    journal: Journal, url: str, run: Callable[..., None], statement: str, found: str
) -> None:
    for number in range(3):
        journal.append("x", "y", {"n": number}, actor=ANNA)
    disarm(run, url)
    run(statement)
    with pytest.raises(JournalError, match=found):
        journal.verify()


def test_threads_add_to_one_chain(journal: Journal) -> None:
    def add(name: str) -> None:
        for number in range(5):
            journal.append("x", name, {"n": number}, actor=ANNA)

    threads = [threading.Thread(target=add, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert journal.verify().seq == 20


@pytest.mark.acceptance
def test_processes_append_to_one_chain_and_only_one_wins_a_nonce(
    journal: Journal, url: str
) -> None:
    script = (
        "import sys; from treasury.journal import Actor, Journal\n"
        "from treasury.core.errors import ActionRefused\n"
        "journal, actor = Journal(sys.argv[1]), Actor('p', 'system')\n"
        "for n in range(5): journal.append('x', sys.argv[2], {}, actor=actor)\n"
        "try: journal.append('x', 'y', {}, actor=actor, nonce='one')\n"
        "except ActionRefused: print('refused')\n"
        "journal.close()\n"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, url, str(number)], stdout=subprocess.PIPE, text=True
        )
        for number in range(3)
    ]
    said = [run.communicate(timeout=120)[0] for run in runs]
    assert sorted(said) == ["", "refused\n", "refused\n"]
    assert journal.verify().seq == 16


@pytest.mark.first_case
def test_a_locked_database_is_a_clear_error_and_loses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "WAIT_SECONDS", 1)
    impatient = Journal(url, now=lambda: NOON)
    impatient.append("x", "y", {}, actor=ANNA)
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.connect() as other:
        if url.startswith("sqlite"):
            raw = other.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.isolation_level = None
            raw.execute("BEGIN EXCLUSIVE")
        else:
            other.exec_driver_sql("LOCK TABLE entries IN EXCLUSIVE MODE")
        with pytest.raises(JournalError, match="is locked: another process"):
            impatient.append("x", "y", {}, actor=ANNA)
        if url.startswith("sqlite"):
            raw.execute("ROLLBACK")
    assert impatient.append("x", "y", {}, actor=ANNA).seq == 2
    impatient.close()


def test_a_journal_of_a_newer_version_is_left_unchanged(
    journal: Journal, url: str, run: Callable[..., None]
) -> None:
    journal.append("x", "y", {}, actor=ANNA)
    run(f"UPDATE journal_schema SET version = {SCHEMA_VERSION + 1}")
    newer = Journal(url)
    with pytest.raises(JournalError, match=r"newer version of treasury \(schema 5\)"):
        newer.append("x", "y", {}, actor=ANNA)
    with pytest.raises(JournalError, match="newer version"):
        newer.entries()
    newer.close()


def test_a_journal_of_version_1_is_migrated_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copyfile(VERSION_1, path)
    with closing(sqlite3.connect(path)) as before:
        rows = before.execute("SELECT * FROM entries ORDER BY seq").fetchall()
        assert before.execute("SELECT version FROM journal_schema").fetchall() == [(1,)]
    journal = Journal(tmp_path, now=lambda: NOON)
    head = journal.verify()
    assert (head.seq, head.hash) == (6, HEAD_OF_VERSION_1)
    with closing(sqlite3.connect(path)) as now:
        added = now.execute("SELECT * FROM entries ORDER BY seq").fetchall()
        assert added == [(*row, None, None, None) for row in rows]
        assert now.execute("SELECT version FROM journal_schema").fetchall() == [(SCHEMA_VERSION,)]
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            now.execute("INSERT OR REPLACE INTO entries SELECT * FROM entries")
    assert journal.append("x", "y", {}, actor=ANNA).seq == 7
    journal.close()


def test_entries_of_version_2_keep_their_hash_and_newer_ones_name_the_identity_level(
    journal: Journal, run: Callable[..., None], url: str
) -> None:
    journal.append("x", "y", {}, actor=ANNA)
    journal.close()
    row = {
        "seq": 1,
        "at": NOON.isoformat(),
        "kind": "action.proposed",
        "subject": "A-1",
        "actor": "anna",
        "actor_source": "hub",
        "body": '{"n":1}',
        "nonce": None,
        "prev_hash": FIRST,
    }
    digest = "9de815fbbcc34741e5e82248a60f89646cf0f957d7fa5d0703d88dfd57e4f74f"
    disarm(run, url)
    run(
        "DELETE FROM entries",
        *(f"ALTER TABLE entries DROP COLUMN {n}" for n in ("assurance", "public_key", "signature")),
        "UPDATE journal_schema SET version = 2",
    )
    columns = ", ".join((*row, "hash"))
    values = ", ".join("NULL" if v is None else f"'{v}'" for v in (*row.values(), digest))
    run(f"INSERT INTO entries ({columns}) VALUES ({values})")
    older = Journal(url, now=lambda: NOON)
    assert older.verify().hash == digest
    older.append("x", "z", {}, actor=Actor("anna", "hub", "verified"))
    older.append("x", "z", {}, actor=Actor("anna", "hub"))
    assert [entry.actor.assurance for entry in older.entries()] == [
        "unstated",
        "verified",
        "claimed",
    ]
    assert older.verify().seq == 3
    older.close()


def test_an_empty_shared_database_of_version_1_is_migrated(
    postgresql: Server,
) -> None:
    url = postgresql.new_url()
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        entries.metadata.create_all(connection)
        connection.exec_driver_sql("INSERT INTO journal_schema VALUES (1)")
    journal = Journal(url, now=lambda: NOON)
    journal.append("x", "y", {}, actor=ANNA)
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE entries")
    assert journal.verify().seq == 1
    journal.close()


def test_a_migration_that_would_lose_a_row_is_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(VERSION_1, tmp_path / "journal.sqlite")
    from treasury.journal import journal_schema

    bad = ({}, {"sqlite": ("DROP TRIGGER entries_no_delete", "DELETE FROM entries WHERE seq = 6")})
    monkeypatch.setattr(journal_schema, "STEPS", bad)
    journal = Journal(tmp_path)
    with pytest.raises(JournalError, match="would have lost an entry"):
        journal.entries()
    journal.close()
    monkeypatch.undo()
    whole = Journal(tmp_path)
    assert whole.verify().hash == HEAD_OF_VERSION_1
    whole.close()


def test_a_journal_replaced_by_a_copy_is_reread(tmp_path: Path) -> None:
    journal = Journal(tmp_path, now=lambda: NOON)
    journal.append("x", "1", {}, actor=ANNA)
    shutil.copyfile(tmp_path / "journal.sqlite", tmp_path / "copy")
    journal.append("x", "2", {}, actor=ANNA)
    (tmp_path / "journal.sqlite").unlink()
    (tmp_path / "copy").rename(tmp_path / "journal.sqlite")
    assert [entry.subject for entry in journal.entries()] == ["1"]
    assert journal.append(ADOPTED, "journal", {}, actor=ANNA).seq == 2
    assert journal.append("x", "3", {}, actor=ANNA).seq == 3
    journal.close()


def test_a_server_that_is_not_there_is_a_clear_error_without_the_password(
    tmp_path: Path,
) -> None:
    from treasury.core.settings import Secret

    journal = Journal(
        f"postgresql+psycopg://anna@/none?host={tmp_path}", password=Secret("topsecret")
    )
    with pytest.raises(JournalError, match="cannot be used") as caught:
        journal.entries()
    assert "topsecret" not in str(caught.value)
    journal.close()


def test_the_newest_entry_about_a_subject_is_read_by_an_index(journal: Journal, url: str) -> None:
    assert journal.newest_about("A-1") is None
    journal.append("action.proposed", "A-1", {}, actor=ANNA)
    last = journal.append("remark", "A-1", {}, actor=ANNA)
    journal.append("action.proposed", "A-2", {}, actor=ANNA)
    assert journal.newest_about("A-1") == Head(last.seq, last.hash)
    assert journal.newest_about("A-3") is None
    if url.startswith("sqlite"):
        query = "SELECT seq, hash FROM entries WHERE subject = 'A-1' ORDER BY seq DESC LIMIT 1"
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            [plan] = connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
        assert "USING INDEX ix_entries_subject (subject=?)" in plan[-1]


def test_desks_time_their_sendings_by_the_database_servers_clock(
    journal: Journal, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WrongClock(datetime):
        """A machine's clock that is years behind."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime(2001, 1, 1, tzinfo=tz)

    journal.append("remark", "A-1", {}, actor=ANNA)
    for module in (journal_store, engines):
        monkeypatch.setattr(module, "datetime", WrongClock)
    years = {"sqlite": 2001, "postgresql": datetime.now(UTC).year}
    assert journal.wall_clock().year == years[url.partition("+")[0].partition(":")[0]]
    assert journal.wall_clock().utcoffset() == timedelta()


def test_the_servers_clock_is_reread_after_a_possible_sleep(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot, asked = [100.0], list[int]()
    monkeypatch.setattr(engines, "boot_seconds", lambda: boot[0])
    with closing(Journal(postgresql.new_url(), now=lambda: NOON)) as journal:
        reading = journal._reading

        def counted() -> Any:
            asked.append(1)
            return reading()

        monkeypatch.setattr(journal, "_reading", counted)
        first = journal.wall_clock()
        boot[0] += 10
        assert journal.wall_clock() == first + timedelta(seconds=10)
        assert len(asked) == 1
        boot[0] += 3600  # a suspend that the server's clock does not show here
        assert journal.wall_clock() < first + timedelta(seconds=60)
        assert len(asked) == 2
        boot[0] -= 1
        journal.wall_clock()
        assert len(asked) == 3


def test_a_slow_reading_of_the_servers_clock_is_discarded(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the query is unknown if the process was stopped during it."""
    boot = [100.0]
    monkeypatch.setattr(engines, "boot_seconds", lambda: boot[0])
    with closing(Journal(postgresql.new_url(), now=lambda: NOON)) as journal:
        reading = journal._reading

        def stopped() -> Any:
            boot[0] += 50
            return reading()

        monkeypatch.setattr(journal, "_reading", stopped)
        first = journal.wall_clock()
        assert journal.wall_clock() - first < timedelta(seconds=30)
