"""Attached files are in the journal's database, covered by its chain, and can be removed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from treasury.core.errors import JournalError
from treasury.journal import Actor, Draft, Journal
from treasury.journal.journal_schema import ATTACHED, ERASED

INES, JONAS = Actor("ines", "environment"), Actor("jonas", "environment")
CONTENT = b"%PDF-1.7 " + b"a customer's letter " * 5_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    journal = Journal(url)
    journal.extend([Draft(ATTACHED, "line:e1", {"sha256": DIGEST}, INES, content=CONTENT)])
    yield journal
    journal.close()


@pytest.fixture
def run(url: str) -> Callable[[str], None]:
    """Return a function that runs SQL as in the database's own shell."""
    engine = sa.create_engine(url, poolclass=NullPool)

    def statement(text: str) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql(text)

    return statement


def remove(journal: Journal) -> None:
    journal.extend([Draft(ERASED, DIGEST, {}, JONAS, erases=DIGEST)])


def test_a_file_is_stored_once_and_every_desk_with_the_journal_has_it(
    journal: Journal, url: str
) -> None:
    journal.extend([Draft(ATTACHED, "line:e2", {"sha256": DIGEST}, INES, content=CONTENT)])
    colleague = Journal(url)
    assert colleague.file_content(DIGEST) == CONTENT
    assert colleague.file_content("0" * 64) is None
    assert colleague.verify() == journal.head()
    colleague.close()


def test_a_file_is_neither_changed_nor_deleted_without_its_removal(
    journal: Journal, run: Callable[[str], None]
) -> None:
    for statement in ("DELETE FROM attached_files", "UPDATE attached_files SET content = content"):
        with pytest.raises(sa.exc.DBAPIError, match="attached files"):
            run(statement)
    assert journal.file_content(DIGEST) == CONTENT


def test_verification_finds_a_changed_and_a_missing_file(
    journal: Journal, run: Callable[[str], None], url: str
) -> None:
    if url.startswith("sqlite"):
        run("DROP TRIGGER attached_files_no_update")
        run("DROP TRIGGER attached_files_no_delete")
    else:
        run("ALTER TABLE attached_files DISABLE TRIGGER ALL")
    run("UPDATE attached_files SET content = 'forged'")
    with pytest.raises(JournalError, match="was changed after it was stored"):
        journal.verify()
    with pytest.raises(JournalError, match="was changed after it was stored"):
        journal.file_content(DIGEST)
    run("DELETE FROM attached_files")
    with pytest.raises(JournalError, match="the file that entry 1 of the journal attached"):
        journal.verify()


def test_a_removed_file_is_deleted_and_its_entries_stay(journal: Journal) -> None:
    remove(journal)
    assert journal.file_content(DIGEST) is None
    assert [entry.kind for entry in journal.entries()] == [ATTACHED, ERASED]
    assert journal.verify().seq == 2
    # The same file may be attached again, and must then be there.
    journal.extend([Draft(ATTACHED, "line:e2", {"sha256": DIGEST}, INES, content=CONTENT)])
    assert journal.file_content(DIGEST) == CONTENT
    assert journal.verify().seq == 3


def test_no_file_of_a_sqlite_journal_contains_removed_bytes(tmp_path: Path) -> None:
    def places(folder: Path) -> list[str]:
        return [path.name for path in folder.iterdir() if b"customer's" in path.read_bytes()]

    journal = Journal(tmp_path / "desk")
    journal.extend([Draft(ATTACHED, "line:e1", {"sha256": DIGEST}, INES, content=CONTENT)])
    # A copy of the folder is a backup.
    backup = Path(shutil.copytree(tmp_path / "desk", tmp_path / "backup"))
    assert Journal(backup).file_content(DIGEST) == CONTENT
    assert places(tmp_path / "desk") == ["journal.sqlite"]
    remove(journal)
    assert places(tmp_path / "desk") == []
    journal.append("x", "y", {}, actor=INES)
    assert places(tmp_path / "desk") == []
