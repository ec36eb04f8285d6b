"""Writes a large workbook in a separate process while the caller does other work.

Writing the workbook takes half of the time of a large close. The process reads Arrow files from a
folder that only this user may read, and ends when its caller ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import decode_json
from treasury.core.errors import StorageError
from treasury.core.machine.processes import started
from treasury.core.tables.workbook import Workbook, require_rows, write_book
from treasury.core.text import clean

CELLS: Final = 200_000
"""Minimum number of cells for a separate process; writing fewer takes less time than starting
it."""
_ORDER: Final = "order.json"
_WORKBOOK: Final = "made.xlsx"
_ERRORS: Final = "told.txt"


class _Refused(msgspec.Struct, frozen=True):
    """The operating system's error for a workbook that could not be written, as JSON."""

    errno: int
    strerror: str


@contextmanager
def written_beside(book: Workbook, tables: Mapping[str, pa.Table], path: Path) -> Iterator[None]:
    """Write a workbook to `path` while the block runs; the file is complete after the block.

    A small workbook is written before the block, without a process. In both cases, the bytes are
    the same as from `write_book`. If the block fails, the process is killed. Raise InputError for a
    table with more rows than a sheet, OSError if the file cannot be written, and StorageError if
    the process failed for another reason.
    """
    require_rows(tables)
    cells = sum(len(sheet.columns) * tables[sheet.name].num_rows for sheet in book.sheets)
    if cells < CELLS or not sys.executable:
        write_book(book, tables, path)
        yield
        return
    with tempfile.TemporaryDirectory(prefix=".workbook-", dir=path.parent) as name:
        folder = Path(name)
        _order(book, tables, folder)
        with _process(folder) as process:
            yield
            code = process.wait()
        _require_made(folder, code)
        os.replace(folder / _WORKBOOK, path)


def work(name: str) -> int:
    """Write the workbook that is declared in the folder `name`; return the exit code."""

    # The standard input is closed when the caller ends.
    def end_with_caller() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=end_with_caller, daemon=True).start()
    folder = Path(name)
    try:
        book = decode_json((folder / _ORDER).read_bytes(), Workbook)
        tables = {sheet.name: _table(folder, at) for at, sheet in enumerate(book.sheets)}
        write_book(book, tables, folder / _WORKBOOK)
    except OSError as error:
        refused = _Refused(error.errno or 0, error.strerror or str(error))
        sys.stderr.write(msgspec.json.encode(refused).decode())
        return 1
    return 0


def _order(book: Workbook, tables: Mapping[str, pa.Table], folder: Path) -> None:
    for at, sheet in enumerate(book.sheets):
        read = {name for column in sheet.columns for name in (column.field, column.unit)}
        table = tables[sheet.name]
        table = table.select([name for name in table.column_names if name in read])
        with (
            pa.OSFile(str(_place(folder, at)), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table)
    (folder / _ORDER).write_bytes(msgspec.json.encode(book))


def _table(folder: Path, at: int) -> pa.Table:
    """Return a table from its Arrow file, memory-mapped instead of copied."""
    with pa.memory_map(str(_place(folder, at))) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def _place(folder: Path, at: int) -> Path:
    return folder / f"{at}.arrow"


@contextmanager
def _process(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the process that writes the workbook declared in `folder`, and end it after the block."""
    with (folder / _ERRORS).open("wb") as errors:
        # The standard input of the started process is a pipe. It closes when this process ends, and
        # then the started process ends too.
        process = started(__name__, "work", str(folder), stdout=subprocess.DEVNULL, stderr=errors)
    with process:
        try:
            yield process
        finally:
            process.kill()


def _require_made(folder: Path, code: int) -> None:
    if not code:
        return
    message = (folder / _ERRORS).read_text("utf-8", "replace").strip().rpartition("\n")[2]
    try:
        refused = decode_json(message, _Refused)
    except msgspec.MsgspecError:
        raise StorageError(
            f"the process that wrote the workbook ended with {code}: {clean(message)[:200]}",
            do="free memory and disk, then run this again",
        ) from None
    raise OSError(refused.errno, refused.strerror)
