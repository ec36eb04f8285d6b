"""Workbooks from other people: their parsed content, and files that are refused."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.core.errors import InputError
from treasury.core.tables.workbook_input import cell_name, read_workbook

SHEET = "xl/worksheets/sheet1.xml"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def plain_book() -> bytes:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page["A1"], page["B1"], page["C3"] = "Name", 1234.5, "=1+1"
    page["D4"] = date(2026, 11, 30)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


PLAIN = plain_book()


def with_parts(parts: Mapping[str, bytes], content: bytes | None = None) -> bytes:
    """Return a workbook, by default the plain one, with some parts replaced or added."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content or PLAIN)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, part in parts.items():
            new.writestr(name, part)
    return file.getvalue()


def sheet_xml(inner: str, head: str = "") -> bytes:
    return f"<?xml version='1.0'?>{head}<worksheet {MAIN}>{inner}</worksheet>".encode()


def test_cells_are_read_as_stored_and_formulas_are_named() -> None:
    content = read_workbook(PLAIN, "book.xlsx")
    (page,) = content.sheets
    kinds = {
        cell_name(row, column): (cell.text, cell.kind)
        for row, cells in page.rows.items()
        for column, cell in cells.items()
    }
    assert kinds["A1"] == ("Name", "text")
    assert kinds["B1"] == ("1234.5", "number")
    assert kinds["C3"][1] == "formula"
    assert kinds["D4"] == ("46356", "number")
    assert (date(2026, 11, 30) - content.day_zero).days == 46356


def test_digits_and_texts_of_a_workbook_are_kept() -> None:
    rows = """<sheetData><row r="2"><c><v>0.10000000000000000001</v></c>
    <c t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r><rPh><t>hint</t></rPh></is></c>
    <c t="str"><v>_x0041_</v></c><c t="e"><v>#REF!</v></c><c t="b"><v>1</v></c></row></sheetData>"""
    page = read_workbook(with_parts({SHEET: sheet_xml(rows)})).sheets[0]
    texts = [(cell.text, cell.kind) for cell in page.rows[2].values()]
    assert texts == [
        ("0.10000000000000000001", "number"), ("ab", "text"), ("A", "text"), ("#REF!", "formula"),
        ("1", "number"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a workbook, or damaged"),
        (b"PK\x03\x04 and nothing", "is not a workbook, or damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "has a password or is in Excel's old format"),
        (PLAIN[:-60], "is not a workbook, or damaged"),
        (with_parts({"xl/vbaProject.bin": b"x"}), "has macros"),
        (with_parts({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}),
         "is an OpenDocument file"),
        (with_parts({SHEET: sheet_xml("", '<!DOCTYPE worksheet [<!ENTITY a "b">]>')}),
         "has a DOCTYPE"),
        (with_parts({SHEET: sheet_xml("", "<!DOCTYPE worksheet>").decode().encode("utf-16")}),
         "has a DOCTYPE"),
        (with_parts({"xl/workbook.xml": b"<workbook><sheets>"}), "is damaged"),
        (with_parts({SHEET: sheet_xml('<row r="many"/>')}), "is not a workbook, or damaged"),
        (with_parts({SHEET: sheet_xml('<row><c t="s"><v>99</v></c></row>')}),
         "A1 refers to a missing text"),
        (with_parts({SHEET: sheet_xml(" " * (65 << 20))}), "unpacks to more than 64 MB"),
        (b"PK" + b"\0" * (17 << 20), "larger than 16 MB"),
    ],
    ids=[
        "empty", "cut", "old", "end-missing", "macros", "opendocument", "doctype", "utf-16",
        "not-xml", "row", "text", "bomb", "large",
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_plain_workbook_is_refused_and_named(content: bytes, why: str) -> None:
    with pytest.raises(InputError, match=r"^strange\.xlsx ") as refusal:
        read_workbook(content, "strange.xlsx")
    assert why in refusal.value.what
    assert refusal.value.do


@pytest.mark.acceptance
def test_parts_with_a_large_total_are_refused() -> None:
    """Each part is below the limit, but the sum of all parts is not."""
    texts = b"<sst>" + b" " * (40 << 20) + b"</sst>"
    content = with_parts({"xl/sharedStrings.xml": texts, SHEET: sheet_xml(" " * (40 << 20))})
    with pytest.raises(InputError, match="unpacks to more than 64 MB"):
        read_workbook(content, "strange.xlsx")


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_parts_compressed_by_bzip2_or_lzma_are_refused_unread(how: int) -> None:
    """With these methods a few bytes may unpack to a gigabyte before the size is known."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(PLAIN)) as old, zipfile.ZipFile(file, "w", how) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(InputError, match="is compressed in a way that no spreadsheet"):
        read_workbook(file.getvalue(), "strange.xlsx")


def test_a_folder_and_a_missing_file_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.xlsx"):
        with pytest.raises(InputError, match="cannot be read"):
            read_workbook(path)


@given(st.data())
def test_a_damaged_workbook_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(PLAIN)
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        assert read_workbook(bytes(content), "strange.xlsx").day_zero.year in {1899, 1904}


@given(st.text(alphabet="<>/=\"' rcvtis0123ABn!&;", max_size=200))
def test_any_text_in_a_sheet_is_read_or_refused(inner: str) -> None:
    with contextlib.suppress(InputError):
        (page,) = read_workbook(with_parts({SHEET: sheet_xml(inner)}), "strange.xlsx").sheets
        assert all(cell.text for cells in page.rows.values() for cell in cells.values())
