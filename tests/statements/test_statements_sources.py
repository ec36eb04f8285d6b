"""Sources of files: folders, patterns, archives, standard input, and refused ones."""

import gzip
import io
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from camt_samples import document, entry, statement, write

from treasury.core.errors import StatementError
from treasury.lake import Lake
from treasury.statements import (
    TABLES,
    add_statements,
    read_batches,
    read_file,
    read_statements,
)

CAMT = document(statement(entry("1.00"), closing="101.00"))
MT = (
    ":20:X\n:25:BE68539007547034\n:28C:1/1\n:60F:C261001EUR1,00\n:61:261015C1,00NMSC\n"
    ":62F:C261031EUR2,00\n-\n"
)


def packed(**members: str | bytes) -> bytes:
    """Return a ZIP archive of these members; `__` in a name means a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def test_the_format_is_detected_from_the_content_and_not_the_name(tmp_path: Path) -> None:
    assert read_file(write(tmp_path, CAMT, "a.sta")).format == "camt.053"
    assert read_file(write(tmp_path, MT, "b.xml")).format == "MT940"
    assert read_file(write(tmp_path, "\r\n \ufeff" + MT, "c.csv")).format == "MT940"


def test_folders_patterns_and_archives_are_expanded(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    write(tmp_path / "in", CAMT, "a.xml")
    write(tmp_path / "in" / "deep", gzip.compress(MT.encode()), "b.sta.gz")
    write(tmp_path / "in", packed(c__xml=CAMT, d__sta=MT), "z.zip")
    write(tmp_path / "in", "not a statement", "readme.txt")
    write(tmp_path / "in", CAMT, ".hidden.xml")
    reading = read_statements([tmp_path / "in"])
    assert [file.name for file in reading.files] == ["a.xml", "b.sta", "z.zip/c.xml", "z.zip/d.sta"]
    assert [problem.file_name for problem in reading.skipped] == ["readme.txt"]
    assert read_statements([str(tmp_path / "in" / "*.xml")]).entries.arrow.num_rows == 1


def test_a_file_given_by_name_must_exist_and_be_a_statement(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="not a bank statement"):
        read_statements([write(tmp_path, "not a statement", "readme.txt")])
    with pytest.raises(StatementError, match="no such file"):
        read_statements([str(tmp_path / "*.nothing")])


@pytest.mark.parametrize(
    "content",
    [CAMT.encode(), packed(a__xml=CAMT), gzip.compress(MT.encode(), mtime=0)],
    ids=["plain", "zip", "gzip"],
)
def test_standard_input_may_have_any_format(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_statements(["-"]).entries.arrow.num_rows == 1


@pytest.mark.acceptance
def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    bomb = CAMT.encode().replace(b"</Stmt>", b" " * (80 << 20) + b"</Stmt>")
    for content, name in ((gzip.compress(bomb), "bomb.gz"), (packed(a__xml=bomb), "bomb.zip")):
        with pytest.raises(StatementError, match=rf"^{name}"):
            read_statements([write(tmp_path, content, name)])


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(CAMT.encode(), mtime=0)[:-12],
        packed(a__xml=CAMT)[:-30],
        b"PK\x03\x04 rubbish",
        packed(a__zip=packed(b__zip=packed(c__zip=packed(d__xml=CAMT)))),
        b"\x1f\x8b rubbish",
    ],
    ids=["cut gzip", "cut zip", "no zip", "nested", "no gzip"],
)
def test_a_broken_or_nested_archive_is_a_statement_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(StatementError):
        read_statements([write(tmp_path, content, "odd")])


@pytest.mark.acceptance
def test_large_files_read_in_parallel_give_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.statements import parallel_reading

    paths = [write(tmp_path, CAMT.replace("S1", f"S{n}"), f"{n}.xml") for n in range(3)]
    alone = read_statements(paths, workers=1)
    monkeypatch.setattr(parallel_reading, "_LARGE", 1)
    together = read_statements(paths, workers=2)
    assert together.entries == alone.entries
    assert together.statements == alone.statements
    with pytest.raises(StatementError, match=r"bad\.xml: not well-formed"):
        read_statements([*paths, write(tmp_path, CAMT[:-5], "bad.xml")], workers=2)


def test_a_reader_process_gets_no_secret_and_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.statements import parallel_reading

    given: list[object] = []
    start = subprocess.Popen

    def seen(command: list[str], **named: Any) -> subprocess.Popen[bytes]:
        given.append((command, named))
        return start(command, **named)

    monkeypatch.setattr(parallel_reading, "_LARGE", 1)
    monkeypatch.setattr(subprocess, "Popen", seen)
    monkeypatch.setenv("TREASURY_CLIENT_SECRET", "s3cret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "raise SystemExit('taken from the current folder')", "msgspec.py")
    (file,) = read_statements([write(tmp_path, CAMT)], workers=2).files
    assert file.entries.num_rows == 1
    assert len(given) == 1
    assert "s3cret" not in str(given)


@pytest.mark.acceptance
@pytest.mark.parametrize("large", [1, 1 << 20])
def test_other_files_in_a_folder_are_skipped_whatever_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    from treasury.statements import parallel_reading

    monkeypatch.setattr(parallel_reading, "_LARGE", large)
    write(tmp_path, CAMT, "good.xml")
    photo = write(tmp_path, "no statement", "photo.jpg")
    reading = read_statements([tmp_path], workers=2)
    assert [file.name for file in reading.files] == ["good.xml"]
    assert [(p.file_name, p.what[:8]) for p in reading.skipped] == [("photo.jpg", "left out")]
    with pytest.raises(StatementError, match=r"photo\.jpg: not a bank statement"):
        read_statements([photo], workers=2)


def test_batches_are_read_without_loading_the_whole_file(tmp_path: Path) -> None:
    many = [entry("1.00")] * 3000
    path = write(tmp_path, document(statement(*many, closing="3100.00")))
    sizes = [batch.num_rows for batch in read_batches(path)]
    assert (sum(sizes), max(sizes) < 2000) == (3000, True)


@pytest.mark.acceptance
@pytest.mark.parametrize("large", [1, 1 << 20])
def test_a_file_name_that_is_not_utf_8_is_stored_with_escaped_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    from treasury.statements import parallel_reading

    monkeypatch.setattr(parallel_reading, "_LARGE", large)
    lake = Lake(tmp_path / "desk", TABLES)
    named = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.xml"))
    for files in (named, named.with_suffix(".zip")):
        files.write_bytes(CAMT.encode() if files is named else packed(a__xml=CAMT))
    read = read_statements([tmp_path], workers=2)
    assert [file.name for file in read.files] == ["caf⟨U+DCE9⟩.xml", "caf⟨U+DCE9⟩.zip/a.xml"]
    add_statements(lake, [named], datetime(2026, 11, 2, 8, tzinfo=UTC), declared={})
    rows = lake.snapshot().sql("SELECT file_name FROM statements").to_pylist()
    assert rows == [{"file_name": "caf⟨U+DCE9⟩.xml"}]
    with pytest.raises(StatementError, match="not a bank statement"):
        read_statements([write(tmp_path, "no", os.fsdecode(b"no\xff.txt"))], workers=2)
