"""A journal restored from an older copy can be read, but nothing is added before it is adopted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from treasury.core.errors import JournalError
from treasury.journal import ADOPTED, Actor, Draft, Head, Journal
from treasury.journal.journal_end import NotedEnd

INES = Actor(name="ines", source="environment")


def add(journal: Journal, subject: str, kind: str = "rules.saved") -> None:
    journal.append(kind, subject, {"content": subject}, actor=INES)


@pytest.fixture
def older(tmp_path: Path) -> Journal:
    """Return a journal of three entries, restored to its state after the first."""
    journal = Journal(tmp_path)
    add(journal, "first")
    shutil.copy(tmp_path / "journal.sqlite", tmp_path / "copy.sqlite")
    add(journal, "second")
    add(journal, "third")
    journal.close()
    shutil.copy(tmp_path / "copy.sqlite", tmp_path / "journal.sqlite")
    return journal


def test_an_older_copy_can_be_read_but_takes_no_entry(older: Journal, tmp_path: Path) -> None:
    for journal in (older, Journal(tmp_path)):
        assert [entry.subject for entry in journal.entries()] == ["first"]
        with pytest.raises(JournalError, match="entry 3 was noted here but is missing"):
            add(journal, "another")
        with pytest.raises(JournalError, match="the journal went back"):
            journal.verify()
        lost = journal.lost()
        assert lost is not None
        assert lost.seq == 3
        assert journal.head().seq == 1


def test_an_extended_older_copy_is_detected_too(older: Journal, tmp_path: Path) -> None:
    noted = (tmp_path / "journal.end").read_text("utf-8")
    (tmp_path / "journal.end").unlink()
    # This chain is longer than the noted one, and differs from it.
    for subject in ("a", "b", "c", "d"):
        add(older, subject)
    (tmp_path / "journal.end").write_text(noted, "utf-8")
    with pytest.raises(JournalError, match="the journal went back"):
        add(older, "e")


def test_a_deleted_journal_counts_as_set_back(older: Journal, tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").unlink()
    with pytest.raises(JournalError, match="the journal went back"):
        add(older, "first again")


def test_an_adopted_copy_continues_and_its_own_end_is_noted(older: Journal) -> None:
    older.extend([Draft(ADOPTED, "journal", {"reason": "the disk broke"}, INES)])
    assert older.lost() is None
    add(older, "next")
    assert older.verify().seq == 3


def test_a_newer_copy_and_a_journal_elsewhere_are_accepted(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    add(journal, "first")
    noted = (tmp_path / "journal.end").read_text("utf-8")
    add(journal, "second")
    # A process may be killed after it added an entry and before it noted the end.
    (tmp_path / "journal.end").write_text(noted, "utf-8")
    add(journal, "third")
    other = Journal(f"sqlite:///{tmp_path / 'other.sqlite'}", folder=tmp_path)
    assert other.lost() is None
    add(other, "first")
    assert other.lost() is None


def test_an_earlier_end_never_overwrites_a_later_one(tmp_path: Path) -> None:
    end = NotedEnd(tmp_path, "here")
    seven, two = Head(7, "7" * 64), Head(2, "2" * 64)
    end.note(seven)
    end.note(Head(6, "6" * 64))
    assert end.read() == seven
    end.note(two, instead=True)
    assert end.read() == two


WHOLE = "1:" + "a" * 64 + " journal.sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "", "seven", "7: here", "x:y here", "\x00\udcff", "9" * 5000 + WHOLE[1:],
        "9" * 19 + WHOLE[1:], "\u00b2" + WHOLE[1:], WHOLE.replace("a", "A"),
        WHOLE.replace(" ", "  \n"), WHOLE + "\nand more", WHOLE + "\x00", WHOLE + "x" * 20_000,
        "-" + WHOLE, WHOLE.replace("aa", "\u202e", 1),
    ],
)  # fmt: skip
def test_an_unreadable_noted_end_stops_every_entry(tmp_path: Path, text: str) -> None:
    journal = Journal(tmp_path)
    add(journal, "first")
    (tmp_path / "journal.end").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(JournalError, match="does not contain the end of a journal"):
        add(journal, "second")
    assert journal.head().seq == 1


def _symlink(end: Path, elsewhere: Path) -> None:
    elsewhere.write_bytes(end.read_bytes())
    end.unlink()
    end.symlink_to(elsewhere)


def _dangling(end: Path, elsewhere: Path) -> None:
    end.unlink()
    end.symlink_to(elsewhere)


def _hard_link(end: Path, elsewhere: Path) -> None:
    os.link(end, elsewhere)


def _pipe(end: Path, _: Path) -> None:
    end.unlink()
    os.mkfifo(end)


def _folder(end: Path, _: Path) -> None:
    end.unlink()
    end.mkdir()


def _device(end: Path, _: Path) -> None:
    end.unlink()
    end.symlink_to("/dev/zero")


def _huge(end: Path, _: Path) -> None:
    with end.open("ab") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    "replace", [_symlink, _dangling, _hard_link, _pipe, _folder, _device, _huge]
)
def test_a_noted_end_that_is_not_a_regular_file_stops_every_entry(
    tmp_path: Path, replace: Callable[[Path, Path], None]
) -> None:
    journal, end, elsewhere = Journal(tmp_path), tmp_path / "journal.end", tmp_path / "elsewhere"
    add(journal, "first")
    replace(end, elsewhere)
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    for blocked in (lambda: add(journal, "second"), journal.verify, journal.lost):
        with pytest.raises(JournalError, match="does not contain the end of a journal") as caught:
            blocked()
        assert "remove that file" in str(caught.value)
    assert [entry.subject for entry in journal.entries()] == ["first"]
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before
    end.rmdir() if end.is_dir() else end.unlink()
    add(journal, "second")
    assert journal.verify().seq == 2


def test_an_end_is_never_noted_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    journal = Journal(tmp_path / "desk")
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "journal.end.new").symlink_to(precious)
    add(journal, "first")
    assert precious.read_text() == "mine"
    assert not (tmp_path / "desk" / "journal.end").is_symlink()
    end = NotedEnd(tmp_path / "desk", "journal.sqlite")
    (tmp_path / "desk" / "journal.end").unlink()
    (tmp_path / "desk" / "journal.end").symlink_to(precious)
    end.note(Head(9, "9" * 64), instead=True)
    assert precious.read_text() == "mine"
    assert end.read() == Head(9, "9" * 64)


def test_a_sent_action_is_recorded_even_if_the_noted_end_is_damaged(
    older: Journal, tmp_path: Path
) -> None:
    happened = Draft("action.done", "A-1", {}, INES)
    assert [entry.seq for entry in older.note([happened])] == [2]
    # The journal is still the older copy.
    assert older.lost() is not None
    (tmp_path / "journal.end").write_text("torn")
    assert [entry.seq for entry in older.note([happened])] == [3]
    assert (tmp_path / "journal.end").read_text() == "torn"
