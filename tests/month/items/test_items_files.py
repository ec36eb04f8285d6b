"""Files attached to items: the allowed kinds, which are late or removed, and who may remove one."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from treasury.core.calendar import Month
from treasury.core.errors import InputError, JournalError
from treasury.journal import Actor, Entry, Journal
from treasury.journal.journal_schema import ATTACHED, ERASED
from treasury.month.items import attached_in, attachment_table, open_actions, pack_name
from treasury.month.items.notes import attachments
from treasury.month.items.notes.attachments import REMOVAL, waiting_removals
from treasury.month.items.notes.file_kinds import FILE_KINDS, LARGEST_FILE, kind_of, read_file

INES, JONAS = Actor("ines", "environment"), Actor("jonas", "environment")
OCTOBER, NOVEMBER = Month.parse("2026-10"), Month.parse("2026-11")
A, B = "a" * 64, "b" * 64


def workbook(inside: str = "xl/workbook.xml") -> bytes:
    """Return the bytes of a zip file like a workbook."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(inside, "<workbook/>")
    return content.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MESSAGE = OLE + b"\0" * 100 + "__properties_version1.0".encode("utf-16-le")
GOOD = {
    "letter.pdf": b"%PDF-1.7\n",
    "scan.png": b"\x89PNG\r\n\x1a\n\0",
    "scan.JPEG": b"\xff\xd8\xff\xe0\0",
    "mail.eml": b"From: a@example.test\r\nSubject: b\r\n\r\nc",
    "mail.msg": MESSAGE,
    "note.txt": "Grüße".encode("cp1252"),
    "note2.txt": "Grüße".encode("utf-16"),
    "list.csv": "Betrag;Währung\n1,00;EUR\n".encode(),
    "list.xlsx": workbook(),
}
BAD = {
    # The extension is missing or not allowed.
    "run.exe": b"MZ",
    "page.html": b"<p>",
    "picture.svg": b"<svg/>",
    "book.xlsm": workbook(),
    "pdf": b"%PDF-1.7",
    "letter.pdf.": b"%PDF-1.7",
    "": b"%PDF-1.7",
    # The content does not match the extension.
    "a.pdf": b"\x89PNG\r\n\x1a\n",
    "b.pdf": b"<script>alert(1)</script>%PDF-",
    "a.png": b"<svg/>",
    "a.jpg": b"%PDF-1.7",
    "a.eml": b"<html>From: x",
    "b.eml": b"From: x\n\n\0",
    "a.msg": OLE + b"WordDocument",
    "a.txt": b"MZ\x90\0\x03",
    "b.txt": b"\xff\xfe\x00",
    "a.csv": b"PK\x03\x04",
    "a.xlsx": workbook("word/document.xml"),
    "b.xlsx": b"PK\x03\x04",
    # The name has a path or hidden characters, or is too long.
    "../a.pdf": b"%PDF-1.7",
    "C:\\a.pdf": b"%PDF-1.7",
    "a\u202efdp.exe.pdf": b"%PDF-1.7",
    "a\x1b[2J.pdf": b"%PDF-1.7",
    "a\0.pdf": b"%PDF-1.7",
    f"{'a' * 200}.pdf": b"%PDF-1.7",
    "empty.pdf": b"",
    "large.pdf": b"%PDF-" + b"x" * LARGEST_FILE,
}


def test_a_file_is_taken_if_its_content_is_what_its_name_says() -> None:
    kinds = [kind_of(name, content) for name, content in GOOD.items()]
    assert kinds == ["pdf", "png", "jpg", "eml", "msg", "txt", "txt", "csv", "xlsx"]
    assert set(kinds) == set(FILE_KINDS)
    assert kind_of("a <b>&'\"$5.pdf", b"%PDF-1.7") == "pdf"
    assert kind_of("whole.pdf", b"%PDF-" + b"x" * (LARGEST_FILE - 5)) == "pdf"


@pytest.mark.parametrize("name", BAD)
def test_any_other_file_is_refused_and_its_name_is_made_visible(name: str) -> None:
    with pytest.raises(InputError) as refused:
        kind_of(name, BAD[name])
    assert str(refused.value).isprintable()


def test_a_file_is_read_to_one_byte_more_than_allowed(tmp_path: Path) -> None:
    large = tmp_path / "large.pdf"
    large.write_bytes(b"x" * (LARGEST_FILE + 9))
    assert len(read_file(large)) == LARGEST_FILE + 1
    for path in (tmp_path, tmp_path / "missing.pdf", Path("a\0.pdf")):
        with pytest.raises(InputError, match="cannot be read"):
            read_file(path)


def attached(journal: Journal, item: str, sha256: str = A, **changed: Any) -> None:
    body = {"file_name": "a.pdf", "kind": "pdf", "size": 9, "sha256": sha256, "month": "2026-10"}
    journal.append(ATTACHED, item, body | changed, actor=INES)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def listed(journal: Journal, *columns: str) -> list[tuple[object, ...]]:
    rows = attachment_table(journal.entries()).to_pylist()
    return [tuple(row[column] for column in columns) for row in rows]


def test_removing_bytes_removes_every_attachment_of_them(journal: Journal) -> None:
    attached(journal, "line:e1")
    attached(journal, "account:NL91", sha256=B)
    attached(journal, "line:e2")
    journal.append(REMOVAL, A, {"reason": "another customer's"}, actor=INES)
    assert listed(journal, "item_id", "state") == [
        ("line:e1", "removal_proposed"),
        ("account:NL91", "stored"),
        ("line:e2", "removal_proposed"),
    ]
    journal.append(ERASED, A, {}, actor=JONAS)
    attached(journal, "line:e3")
    assert listed(journal, "item_id", "sha256", "state", "removed_by", "removal_seq") == [
        ("line:e1", A, "removed", "jonas", 5),
        ("account:NL91", B, "stored", None, None),
        ("line:e2", A, "removed", "jonas", 5),
        ("line:e3", A, "stored", None, None),
    ]


def test_a_removal_waits_once_for_all_attachments_until_a_second_person_accepts_it(
    journal: Journal,
) -> None:
    attached(journal, "line:e1")
    attached(journal, "line:e2")
    assert waiting_removals(journal.entries()) == []
    proposal = journal.append(REMOVAL, A, {"reason": "another customer's"}, actor=INES)
    (row,) = waiting_removals(journal.entries())
    assert (row["seq"], row["removal_proposed_by"], row["proposed_at"]) == (1, "ines", proposal.at)
    actions = open_actions((), (), [row]).to_pylist()
    assert [(each["action_id"], each["text"]) for each in actions] == [
        ("1", "a.pdf: another customer's, by ines")
    ]
    journal.append(ERASED, A, {}, actor=JONAS)
    assert waiting_removals(journal.entries()) == []


def test_a_file_is_late_after_the_close_of_its_month_and_goes_to_the_next_pack(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(journal, "line:e1")
    attached(journal, "line:e2", month="2026-11")
    close = journal.append("period.close", "2026-10", {}, actor=JONAS)
    attached(journal, "line:e3")
    attached(journal, "line:e4", month="2026-11")

    class Closed(msgspec.Struct):
        entry: Entry

    months = {"2026-10": Closed(close)}
    monkeypatch.setattr(attachments, "closed_periods", lambda _: months)
    assert [late for (late,) in listed(journal, "late")] == [False, False, True, False]
    table = attachment_table(journal.entries())

    def carried(month: Month, since: int, *items: str) -> list[str]:
        rows: pa.Table = attached_in(table, month, items, since)
        return [str(item) for item in rows["item_id"].to_pylist()]

    assert carried(NOVEMBER, close.seq) == ["line:e2", "line:e3", "line:e4"]
    # The earlier files of an item that is still open are carried too.
    assert carried(NOVEMBER, close.seq, "line:e1")[0] == "line:e1"
    assert carried(NOVEMBER.next, close.seq + 9) == []


@pytest.mark.parametrize("changed", [{"sha256": "../../etc"}, {"kind": "../x"}, {"sha256": A[1:]}])
def test_a_path_cannot_come_from_a_forged_entry(journal: Journal, changed: dict[str, str]) -> None:
    attached(journal, "line:e1", **changed)
    with pytest.raises(JournalError, match="entry 1 of the journal cannot be read"):
        attachment_table(journal.entries())


def test_the_name_in_the_pack_is_made_of_hash_and_kind() -> None:
    assert pack_name({"sha256": A, "kind": "pdf", "file_name": "../x"}) == f"attachments/{A}.pdf"
