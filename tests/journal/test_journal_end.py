"""A journal that was put back from an older copy is read, and nothing is added to it unasked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from treasury.errors import JournalError
from treasury.journal import ADOPTED, Actor, Draft, Head, Journal
from treasury.journal.end import NotedEnd

INES = Actor(name="ines", source="environment")


def add(journal: Journal, subject: str, kind: str = "rules.saved") -> None:
    journal.append(kind, subject, {"content": subject}, actor=INES)


@pytest.fixture
def older(tmp_path: Path) -> Journal:
    """A journal of three entries, put back as it was after the first."""
    journal = Journal(tmp_path)
    add(journal, "first")
    shutil.copy(tmp_path / "journal.sqlite", tmp_path / "copy.sqlite")
    add(journal, "second")
    add(journal, "third")
    journal.close()
    shutil.copy(tmp_path / "copy.sqlite", tmp_path / "journal.sqlite")
    return journal


def test_an_older_copy_is_read_and_takes_no_entry(older: Journal, tmp_path: Path) -> None:
    for journal in (older, Journal(tmp_path)):
        assert [entry.subject for entry in journal.entries()] == ["first"]
        with pytest.raises(JournalError, match="its entry 3 was noted here and is not in it"):
            add(journal, "another")
        with pytest.raises(JournalError, match="the journal went back"):
            journal.verify()
        lost = journal.lost()
        assert lost is not None
        assert lost.seq == 3
        assert journal.head().seq == 1


def test_one_that_went_on_from_the_older_copy_is_found_too(older: Journal, tmp_path: Path) -> None:
    noted = (tmp_path / "journal.end").read_text("utf-8")
    (tmp_path / "journal.end").unlink()
    for subject in ("a", "b", "c", "d"):  # another chain, and longer than the one that was noted
        add(older, subject)
    (tmp_path / "journal.end").write_text(noted, "utf-8")
    with pytest.raises(JournalError, match="the journal went back"):
        add(older, "e")


def test_a_journal_that_is_gone_altogether_has_gone_back(older: Journal, tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").unlink()
    with pytest.raises(JournalError, match="the journal went back"):
        add(older, "first again")


def test_an_adopted_copy_goes_on_and_its_own_end_is_noted(older: Journal) -> None:
    older.extend([Draft(ADOPTED, "journal", {"reason": "the disk broke"}, INES)])
    assert older.lost() is None
    add(older, "next")
    assert older.verify().seq == 3


def test_a_newer_copy_and_a_journal_elsewhere_are_nothing_to_refuse(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    add(journal, "first")
    noted = (tmp_path / "journal.end").read_text("utf-8")
    add(journal, "second")
    (tmp_path / "journal.end").write_text(noted, "utf-8")  # killed before the end was noted
    add(journal, "third")
    other = Journal(f"sqlite:///{tmp_path / 'other.sqlite'}", folder=tmp_path)
    assert other.lost() is None
    add(other, "first")
    assert other.lost() is None


def test_an_earlier_end_is_never_noted_over_a_later_one(tmp_path: Path) -> None:
    end = NotedEnd(tmp_path, "here")
    end.note(Head(7, "seven"))
    end.note(Head(6, "six"))
    assert end.read() == Head(7, "seven")
    end.note(Head(2, "two"), instead=True)
    assert end.read() == Head(2, "two")


@pytest.mark.parametrize("text", ["", "seven", "7: here", "x:y here", "\x00\xff"])
def test_a_noted_end_that_does_not_read_stops_every_entry(tmp_path: Path, text: str) -> None:
    journal = Journal(tmp_path)
    add(journal, "first")
    (tmp_path / "journal.end").write_bytes(text.encode("latin-1"))
    with pytest.raises(JournalError, match="does not hold the end of a journal"):
        add(journal, "second")
    assert journal.head().seq == 1
