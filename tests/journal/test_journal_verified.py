"""Decisions are refused on an altered journal, and simultaneous decisions are serialised."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from benchmarks.postgres_server import Server
from treasury.core.errors import ActionRefused, JournalError
from treasury.journal import Actor, Draft, Entry, Head, Journal, chain_guard, journal_store
from treasury.journal.chain import unbroken
from treasury.journal.decision_log import Decided, decide, read_decided

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
CHANGE = 'UPDATE entries SET body = \'{"amount":"99.00"}\' WHERE seq = 2'
CHANGED = "entry 2 was changed after it was written"


def draft(subject: str, kind: str = "match.ignore") -> Draft:
    return Draft(kind, subject, {"amount": "10.00"}, ANNA)


def one_more(journal: Journal, **more: Any) -> list[Entry]:
    return journal.decide(lambda _: [draft("next")], **more)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Return a journal of three entries that this process has verified."""
    journal = Journal(tmp_path, now=lambda: NOON)
    for number in range(3):
        journal.decide(lambda _, n=number: [draft(f"line-{n}")])  # type: ignore[misc]
    yield journal
    journal.close()


@pytest.fixture
def shared(postgresql: Server) -> Iterator[Journal]:
    """Return a journal of three such entries in PostgreSQL."""
    journal = Journal(postgresql.new_url(), now=lambda: NOON)
    for number in range(3):
        journal.append("match.ignore", f"line-{number}", {"amount": "10.00"}, actor=ANNA)
    yield journal
    journal.close()


def by_a_shell(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute(CHANGE)
        connection.commit()


def by_another_process(path: Path) -> None:
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('DROP TRIGGER entries_no_update'); c.execute(sys.argv[2]); c.commit()"
    )
    subprocess.run([sys.executable, "-c", script, str(path), CHANGE], check=True)


def by_its_bytes(path: Path) -> None:
    """Change bytes in place, as a hex editor would; SQLite itself does not notice."""
    content = path.read_bytes()
    place = content.index(b"10.00", content.index(b"line-1"))
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"99.00")


def by_a_copy_put_back_with_its_times(path: Path) -> None:
    status, copy = path.stat(), path.with_name("copy")
    shutil.copy(path, copy)
    by_its_bytes(copy)
    shutil.copyfile(copy, path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "change", [by_a_shell, by_another_process, by_its_bytes, by_a_copy_put_back_with_its_times]
)
def test_altering_an_open_journal_stops_every_decision(
    journal: Journal, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    whole = (tmp_path / "journal.sqlite").read_bytes()
    # From here on SQLite has the pages of the file in memory.
    assert len(journal.entries()) == 3
    change(tmp_path / "journal.sqlite")
    for _ in range(2):
        with pytest.raises(JournalError, match=CHANGED) as caught:
            one_more(journal)
    assert "restore the journal from a copy" in str(caught.value)
    with pytest.raises(JournalError, match=CHANGED):
        journal.append("match.ignore", "next", {}, actor=ANNA)
    assert [entry.subject for entry in journal.entries()] == ["line-0", "line-1", "line-2"]
    assert journal.entries()[1].body == {"amount": "99.00"}
    [noted] = journal.note([draft("A-1", "action.done")])
    assert noted.seq == 4
    with pytest.raises(JournalError, match=CHANGED):
        one_more(journal)
    # The restored file lacks the noted entry.
    (tmp_path / "journal.sqlite").write_bytes(whole)
    with pytest.raises(JournalError, match="entry 4 was noted here"):
        one_more(journal)


def test_a_change_during_a_decision_is_detected(journal: Journal, tmp_path: Path) -> None:
    def build(_: Head) -> list[Draft]:
        by_its_bytes(tmp_path / "journal.sqlite")
        return [draft("next")]

    with pytest.raises(JournalError, match=CHANGED):
        journal.decide(build)
    assert len(journal.entries()) == 3


def test_an_unreadable_entry_is_named(journal: Journal, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET body = '{', at = 'noon' WHERE seq = 3")
        connection.commit()
    with pytest.raises(JournalError, match="entry 3 of the journal cannot be read"):
        journal.entries()
    with pytest.raises(JournalError, match="entry 3 was changed"):
        one_more(journal)
    added, wrong = journal.follow(Head(0, "0" * 64))
    assert ([entry.seq for entry in added], wrong is not None) == ([1, 2], True)
    assert journal.note([draft("A-1", "action.done")])[0].seq == 4


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the numbers of the entries that are checked from here on."""
    seen: list[int] = []

    def look(row: dict[str, Any], before: Head) -> Head:
        seen.append(row["seq"])
        return unbroken(row, before)

    monkeypatch.setattr(chain_guard, "unbroken", look)
    return seen


def test_a_verified_journal_is_reverified_only_after_another_write(
    journal: Journal, tmp_path: Path, looks: list[int]
) -> None:
    one_more(journal)
    one_more(journal, thorough=True)
    journal.note([draft("A-1", "action.done")])
    one_more(journal)
    assert looks == []
    Journal(tmp_path).append("x", "y", {}, actor=BERT)
    assert looks == [1, 2, 3, 4, 5, 6, 7]
    looks.clear()
    one_more(journal)
    assert looks == [1, 2, 3, 4, 5, 6, 7, 8]
    looks.clear()
    one_more(Journal(tmp_path))
    assert looks == [*range(1, 10)]


@pytest.mark.acceptance
def test_a_concurrent_reader_causes_no_reverification(journal: Journal, looks: list[int]) -> None:
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            journal.entries()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(20):
            one_more(journal)
    finally:
        stop.set()
        for reader in readers:
            reader.join(60)
    assert looks == []
    assert journal.verify().seq == 23


@pytest.mark.acceptance
def test_a_shared_journal_is_verified_completely_before_money_moves(
    shared: Journal, looks: list[int]
) -> None:
    one_more(shared)
    assert looks == []
    one_more(shared, thorough=True)
    assert looks == [1, 2, 3, 4]
    looks.clear()
    engine = sa.create_engine(shared._engine.url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE entries DISABLE TRIGGER ALL")
        connection.exec_driver_sql(CHANGE)
    with pytest.raises(JournalError, match=CHANGED):
        one_more(shared, thorough=True)
    # A known fault stops every further decision.
    with pytest.raises(JournalError, match=CHANGED):
        one_more(shared)
    with pytest.raises(JournalError, match=CHANGED):
        shared.append("match.ignore", "next", {}, actor=ANNA)
    assert shared.note([draft("A-1", "action.done")])[0].seq == 6


@pytest.mark.acceptance
def test_a_shared_journal_is_followed_from_its_last_verified_entry(
    shared: Journal, looks: list[int]
) -> None:
    other = Journal(shared._engine.url.render_as_string(hide_password=False))
    one_more(other)
    looks.clear()
    one_more(shared)
    assert looks == [4]
    other.close()


def test_the_second_of_two_deciders_decides_on_the_result_of_the_first(journal: Journal) -> None:
    read: list[int] = []

    def build(decided: Decided) -> tuple[list[Draft], int]:
        read.append(len(decided.entries))
        if len(read) == 1:
            journal.append("match.undo", "line-0", {}, actor=BERT)
        return [draft("mine")], len(decided.entries)

    [mine], plan = decide(journal, build)
    assert (read, plan, mine.seq) == ([3, 4], 4, 5)


def test_an_unrelated_entry_causes_no_second_check(
    journal: Journal,
) -> None:
    read: list[Head] = []

    def build(decided: Decided) -> tuple[list[Draft], None]:
        read.append(decided.head)
        journal.append("action.sending", "A-1", {}, actor=BERT)
        return [draft("mine")], None

    [mine], _ = decide(journal, build)
    assert ([head.seq for head in read], mine.seq) == ([3], 5)


def test_a_refusal_based_on_outdated_data_is_decided_again(journal: Journal) -> None:
    turns = 0

    def build(decided: Decided) -> tuple[list[Draft], None]:
        nonlocal turns
        turns += 1
        if decided.entries[-1].subject != "free":
            if turns == 1:
                journal.append("match.undo", "free", {}, actor=BERT)
            raise ActionRefused("it is taken")
        return [draft("mine")], None

    [mine], _ = decide(journal, build)
    assert (turns, mine.seq) == (2, 5)
    with pytest.raises(ActionRefused, match="it is taken"):
        decide(journal, build)


def test_constant_decisions_by_others_end_in_one_clear_error(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_store, "ATTEMPTS", 3)

    def build(_: Head) -> list[Draft]:
        journal.append("match.undo", "line-0", {}, actor=BERT)
        return [draft("mine")]

    with pytest.raises(JournalError, match="decisions kept coming first; nothing was"):
        journal.decide(build, rests_on=("match.",))
    assert "mine" not in {entry.subject for entry in journal.entries()}


def test_a_decision_without_an_entry_writes_none(journal: Journal) -> None:
    assert decide(journal, lambda decided: ([], len(decided.entries))) == ([], 3)
    assert journal.head().seq == 3


def test_a_refusal_does_not_create_a_missing_journal(tmp_path: Path) -> None:
    def build(_: Head) -> list[Draft]:
        raise ActionRefused("not now")

    with pytest.raises(ActionRefused):
        Journal(tmp_path / "desk").decide(build)
    assert not (tmp_path / "desk").exists()
    assert read_decided(Journal(tmp_path / "desk")).entries == ()
