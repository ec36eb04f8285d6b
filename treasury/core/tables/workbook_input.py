"""Safely reads workbooks (.xlsx) that people edited: the text of each cell as stored.

The file may come from anybody. So its decompressed size is limited, macros and a DOCTYPE (and so
every entity) are refused, and no formula is computed. A cell with a formula is marked, so that its
stored result is not mistaken for a person's input. Numbers keep the digits of the file and never
become floats.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Final, Literal
from xml.parsers import expat

import msgspec

from treasury.core.errors import InputError
from treasury.core.files.zip_methods import unbounded_method
from treasury.core.tables.csv_input import small_file
from treasury.core.text import clean

LARGEST: Final = 16 << 20
"""Maximum size of a workbook in bytes."""
_UNPACKED: Final = 64 << 20
"""Maximum total size of the decompressed parts of a workbook, in bytes."""
_PARTS: Final = 2_000
_CELLS: Final = 2_000_000
_CHUNK: Final = 1 << 16
_OLD_FORM: Final = b"\xd0\xcf\x11\xe0"
"""First bytes of files in Excel's old format or with a password."""
_DAY_ZERO: Final = date(1899, 12, 30)
_DAY_ZERO_MAC: Final = date(1904, 1, 1)
_REFERENCE: Final = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""Excel's notation for a character that XML does not allow."""
_SAVE_AGAIN: Final = "save it again as an Excel workbook (.xlsx), without macros or a password"
_TEXTS: Final = frozenset({"s", "str", "inlineStr", "d"})

_Attributes = Mapping[str, str]


class WorkbookCell(msgspec.Struct, frozen=True):
    """A non-empty cell with its text as stored; a number has the digits of the file.

    An error value, such as `#N/A`, has the kind `formula` too.
    """

    text: str
    kind: Literal["text", "number", "formula"]


class WorkbookSheet(msgspec.Struct, frozen=True):
    """A sheet: its merged ranges, and its cells by row and column, both counted from 1."""

    name: str
    rows: dict[int, dict[int, WorkbookCell]]
    merged: tuple[str, ...]


class WorkbookContent(msgspec.Struct, frozen=True):
    """The sheets of a workbook in order; `day_zero` is the day that its dates count from."""

    sheets: tuple[WorkbookSheet, ...]
    day_zero: date


def cell_name(row: int, column: int) -> str:
    """Return the spreadsheet name of a cell, such as `C7` for row 7, column 3."""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"


def read_workbook(source: Path | bytes, name: str = "") -> WorkbookContent:
    """Read the cells of every sheet; raise InputError for a file that is not a plain workbook."""
    if isinstance(source, bytes):
        name, content = clean(name), source
    else:
        name = clean(name or source)
        content = small_file(source, LARGEST, name)
    if len(content) > LARGEST:
        raise InputError(f"{name} is larger than {LARGEST >> 20} MB", do="give the right file")
    if content.startswith(_OLD_FORM):
        raise InputError(f"{name} has a password or is in Excel's old format", do=_SAVE_AGAIN)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _Parts(archive, name).content()
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
        OSError,
    ):  # fmt: skip
        raise InputError(f"{name} is not a workbook, or damaged", do=_SAVE_AGAIN) from None


class _Parts:
    """The parts of a workbook (the files in its archive), with a limit on their total size."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        self._left = _UNPACKED
        parts = archive.namelist()
        if "mimetype" in parts:
            raise InputError(f"{name} is an OpenDocument file", do=_SAVE_AGAIN)
        if len(parts) > _PARTS or len(set(parts)) != len(parts):
            raise self._refused("has too many or duplicate parts")
        if any(map(unbounded_method, archive.infolist())):
            raise self._refused("is compressed in a way that no spreadsheet uses")
        if any(part.lower().endswith((".bin", ".vba")) and "vba" in part.lower() for part in parts):
            raise self._refused("has macros")
        self._names = frozenset(parts)

    def content(self) -> WorkbookContent:
        """Return the sheets in the order of the workbook."""
        day_zero, named = _DAY_ZERO, list[tuple[str, str]]()

        def start(tag: str, attributes: _Attributes) -> None:
            nonlocal day_zero
            if tag == "workbookPr" and attributes.get("date1904") in {"1", "true"}:
                day_zero = _DAY_ZERO_MAC
            elif tag == "sheet":
                named.append((attributes.get("name", ""), attributes.get("id", "")))

        self._read("xl/workbook.xml", start)
        targets: dict[str, str] = {}

        def relate(tag: str, attributes: _Attributes) -> None:
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.join("/xl", attributes.get("Target", ""))
                targets[attributes.get("Id", "")] = posixpath.normpath(target).lstrip("/")

        self._read("xl/_rels/workbook.xml.rels", relate)
        texts = _SharedTexts()
        if "xl/sharedStrings.xml" in self._names:
            self._read("xl/sharedStrings.xml", texts.start, texts.end, texts.data)
        sheets = []
        for title, relation in named:
            target = targets.get(relation, "")
            if not target.startswith("xl/worksheets/"):
                # This is a chart, a dialog, or a sheet of another file.
                continue
            cells = _SheetCells(texts.texts, self._refused)
            self._read(target, cells.start, cells.end, cells.data)
            sheets.append(WorkbookSheet(clean(title), cells.rows, tuple(cells.merged)))
        return WorkbookContent(tuple(sheets), day_zero)

    def _read(
        self,
        part: str,
        start: Callable[[str, _Attributes], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Parse one part in pieces, within the limit on the decompressed size."""
        if part not in self._names:
            raise self._refused(f"has no {clean(part)[:60]}")
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True

        def refuse(*_: object) -> None:
            raise self._refused("has a DOCTYPE, which spreadsheets never write")

        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = lambda tag, attributes: start(
            _local(tag), {_local(key): value for key, value in attributes.items()}
        )
        if end is not None:
            parser.EndElementHandler = lambda tag: end(_local(tag))
        if text is not None:
            parser.CharacterDataHandler = text
        try:
            with self._archive.open(part) as file:
                while piece := file.read(_CHUNK):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise self._refused(f"unpacks to more than {_UNPACKED >> 20} MB")
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self._refused(f"is damaged ({part}, line {error.lineno})") from None

    def _refused(self, why: str) -> InputError:
        return InputError(f"{self._name} {why}", do=_SAVE_AGAIN)


class _SharedTexts:
    """The list of texts that cells refer to by number; phonetic hints are ignored."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._pieces: list[str] = []
        self._is_text = self._is_hint = False

    def start(self, tag: str, _: _Attributes) -> None:
        if tag == "si":
            self._pieces = []
        elif tag == "rPh":
            self._is_hint = True
        self._is_text = tag == "t" and not self._is_hint

    def end(self, tag: str) -> None:
        self._is_text = False
        if tag == "rPh":
            self._is_hint = False
        elif tag == "si":
            self.texts.append("".join(self._pieces))

    def data(self, piece: str) -> None:
        if self._is_text:
            self._pieces.append(piece)


class _SheetCells:
    """The non-empty cells of a sheet, in order."""

    def __init__(self, texts: list[str], refused: Callable[[str], InputError]) -> None:
        self.rows: dict[int, dict[int, WorkbookCell]] = {}
        self.merged: list[str] = []
        self._texts = texts
        self._refused = refused
        self._row = self._column = self._number = 0
        self._type = ""
        self._pieces: list[str] = []
        self._takes = self._is_hint = self._is_formula = False

    def start(self, tag: str, attributes: _Attributes) -> None:
        match tag:
            case "row":
                self._row = int(attributes.get("r", self._row + 1))
                self._column = 0
            case "c":
                place = _REFERENCE.fullmatch(attributes.get("r", ""))
                if place is None:
                    self._column += 1
                else:
                    self._row, self._column = int(place[2]), _column(place[1])
                self._type = attributes.get("t", "n")
                self._pieces, self._is_formula = [], False
            case "f":
                self._is_formula = True
            case "rPh":
                self._is_hint = True
            case "mergeCell":
                self.merged.append(clean(attributes.get("ref", ""))[:40])
        self._takes = tag == "v" or (tag == "t" and not self._is_hint)

    def end(self, tag: str) -> None:
        self._takes = False
        if tag == "rPh":
            self._is_hint = False
        elif tag == "c":
            self._keep("".join(self._pieces))

    def data(self, piece: str) -> None:
        if self._takes:
            self._pieces.append(piece)

    def _keep(self, text: str) -> None:
        if self._type == "s" and text:
            at = int(text)
            if not 0 <= at < len(self._texts):
                raise self._refused(
                    f"is damaged: {cell_name(self._row, self._column)} refers to a missing text"
                )
            text = self._texts[at]
        if self._type in _TEXTS:
            text = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)
        if not text.strip() and not self._is_formula:
            return
        self._number += 1
        if self._number > _CELLS:
            raise self._refused(f"has more than {_CELLS:,} cells")
        is_text = self._type in _TEXTS
        kind: Literal["text", "number", "formula"] = "text" if is_text else "number"
        if self._is_formula or self._type == "e":
            kind = "formula"
        self.rows.setdefault(self._row, {})[self._column] = WorkbookCell(text, kind)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _column(letters: str) -> int:
    return reduce(lambda number, letter: number * 26 + ord(letter) - ord("A") + 1, letters, 0)
