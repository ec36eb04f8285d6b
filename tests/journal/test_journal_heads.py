"""Heads kept elsewhere: published, read back, and compared with the journal."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from treasury.core.errors import InputError, JournalError, StorageError
from treasury.journal import Actor, Head, Journal
from treasury.journal.chain import FIRST, read_head
from treasury.journal.kept_heads import head_line, publish_head, read_heads

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
ANNA = Actor("anna", "system")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "desk", now=lambda: NOON)


def test_heads_are_published_to_a_file_or_folder_and_read_back(
    journal: Journal, tmp_path: Path
) -> None:
    file, folder = tmp_path / "heads.txt", tmp_path / "heads"
    folder.mkdir()
    heads = []
    for month in ("2026-09", "2026-10"):
        entry = journal.append("period.close", month, {}, actor=ANNA)
        heads.append(Head(entry.seq, entry.hash))
        for place in (file, folder):
            publish_head(place, entry, f"close of {month}")
            publish_head(place, entry, f"close of {month}")  # a repeated run
    assert file.read_text().splitlines()[1] == (
        f"2:{heads[1].hash} 2026-11-02T12:00:00Z close of 2026-10"
    )
    assert read_heads(file) == read_heads(folder) == heads
    assert len(list(folder.iterdir())) == 2
    last = journal.last()
    assert last is not None
    assert read_head(head_line(last).split()[0]) == heads[1]
    assert journal.verify(*read_heads(file)) == heads[1]


@pytest.mark.acceptance
def test_the_first_missing_head_is_named(journal: Journal, tmp_path: Path) -> None:
    heads = []
    for number in range(4):
        entry = journal.append("x", str(number), {}, actor=ANNA)
        heads.append(Head(entry.seq, entry.hash))
    other = Journal(tmp_path / "other", now=lambda: NOON)
    other.append("x", "0", {}, actor=ANNA)
    for number in range(3):
        other.append("x", f"other {number}", {}, actor=ANNA)
    with pytest.raises(JournalError, match="entry 2 was noted"):
        other.verify(heads[3], heads[1], heads[0])
    assert other.verify(heads[0]).seq == 4
    with pytest.raises(JournalError, match="entry 5 was noted"):
        journal.verify(Head(5, "a" * 64))


def test_a_missing_place_is_an_error_and_is_not_created(journal: Journal, tmp_path: Path) -> None:
    entry = journal.append("x", "y", {}, actor=ANNA)
    missing = tmp_path / "not mounted" / "heads.txt"
    with pytest.raises(StorageError, match="head cannot be written"):
        publish_head(missing, entry, "close")
    assert not missing.parent.exists()


def test_a_truncated_line_invalidates_only_itself(journal: Journal, tmp_path: Path) -> None:
    file = tmp_path / "heads.txt"
    file.write_text("1:abc")
    publish_head(file, journal.append("x", "y", {}, actor=ANNA), "close")
    assert len(file.read_text().splitlines()) == 2
    with pytest.raises(InputError, match="line 1: 1:abc is not the end of a journal"):
        read_heads(file)


@pytest.mark.parametrize(
    "content", ["export PATH=/usr/bin\n", "ssh-ed25519 AAAA ines\n", "#!/bin/sh\nexit 0\n", "1\n"]
)
def test_a_head_is_not_added_to_a_file_with_other_content(
    journal: Journal, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "profile"
    file.write_text(content)
    entry = journal.append("x", "y", {}, actor=ANNA)
    with pytest.raises(StorageError, match=r"profile is not a file of heads.*publish_head"):
        publish_head(file, entry, "close")
    assert file.read_text() == content


@pytest.mark.parametrize(
    "text", ["", "seven", "1", f"-1:{FIRST}", f"{'9' * 5000}:{FIRST}", f"²:{FIRST}", "1:zz", "1:"]
)
def test_an_invalid_head_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not the end of a journal"):
        read_head(text)


def test_a_pipe_an_empty_file_and_bytes_are_refused_as_heads(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_text("# nothing yet\n\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("pipe", "empty", "bytes"):
        with pytest.raises(InputError, match=r"cannot be read|contains no head"):
            read_heads(tmp_path / name)


def test_a_head_is_published_only_to_a_regular_file(journal: Journal, tmp_path: Path) -> None:
    entry, folder = journal.append("x", "y", {}, actor=ANNA), tmp_path / "heads"
    folder.mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (folder / f"{entry.seq:09}-{entry.hash[:16]}.head").symlink_to("/dev/zero")
    for name, kind in {"pipe": "a pipe", "zero": "a device", "heads": "a device"}.items():
        with pytest.raises(StorageError, match=f"cannot be written to .*: is {kind}, not a file"):
            publish_head(tmp_path / name, entry, "close")
