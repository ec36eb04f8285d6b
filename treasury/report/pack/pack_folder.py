"""Write the folder of a close pack: it is either completely new, or unchanged after an error.

The folder is written under another name and renamed when it is complete. A folder with files that
do not belong to a pack is never replaced.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.checklist import Checklist, checklist
from treasury.close.closing import Closing
from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table

_FORMER: Final = frozenset({"report.html", "close.xlsx"})
"""The names of the files in packs of the first version, which have no evidence."""
_PDF: Final = "report.pdf"


class ClosePack(Tables, msgspec.Struct, frozen=True, kw_only=True):
    """The written pack; as a table, it is its checklist. `seal` identifies all its files.

    `apart` are the PDF and the executed notebook, if requested. `note` is the reason why the month
    could not be prepared, or empty.
    """

    folder: Path
    report: Path
    workbook: Path
    checklist: Checklist
    seal: str
    apart: tuple[Path, ...] = ()
    note: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files to read: report, workbook, PDF and notebook (if any), and the evidence."""
        return (self.report, self.workbook, *self.apart, self.folder / "evidence.json")

    @property
    def sql(self) -> str:
        """The query that computes the outcomes."""
        return self.checklist.sql

    def sheets(self) -> Mapping[str, Table]:
        """Return the checklist as a sheet."""
        return self.checklist.sheets()

    def __str__(self) -> str:
        lines = (self.checklist.title, *map(str, self.paths), f"seal {self.seal}", self.note)
        return "\n".join(filter(None, lines))


def write_close(
    closing: Closing,
    folder: Path,
    *,
    pdf: bool = False,
    notebook: Path | None = None,
    note: str = "",
    content: Callable[[str], bytes | None] = lambda _: None,
) -> ClosePack:
    """Write a month's pack into `folder`; after a StorageError the previous one is unchanged.

    `content` returns the bytes of attached files by their SHA-256. `notebook` is the workspace for
    executing the close's notebook, which is put in the pack. Raises InputError if the folder holds
    files that do not belong to a pack, if the answer does not contain its basis, or if the PDF or
    the notebook needs a program that is not installed.
    """
    # Imported here, because other commands need neither drawing nor Excel.
    from treasury.report.pack import pack_contents, pdf_printing
    from treasury.report.pack.close_notebook import NOTEBOOK, run_notebook

    _require_ours(folder)
    try:
        durable.make_folder(folder.parent)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent) as name:
            new = Path(name) / "pack"
            new.mkdir()
            evidence = pack_contents.write_files(closing, new, content)
            if pdf:
                pdf_printing.print_pdf(new / "report.html", new / _PDF)
            if notebook is not None:
                files = {"ledger": new / pack_contents.LEDGER, "books": new / pack_contents.BOOKS}
                # A closed month has the ledger of its close.
                given = {
                    name: path
                    for name, path in files.items()
                    if closing.period is None and path.is_file()
                }
                run_notebook(notebook, closing.r.month, new / NOTEBOOK, **given)
            seal = pack_contents.write_evidence(evidence, new)
            durable.sync_files([path for path in new.rglob("*") if path.is_file()], new)
            _take_place(new, folder, Path(name) / "former")
            durable.sync_folder(folder.parent)
    except OSError as error:
        raise StorageError(
            f"the close of {closing.r.month} cannot be written to {folder}:"
            f" {error.strerror or error}",
            do="make the folder writable or name another one, then run the command again",
        ) from error
    return ClosePack(
        folder=folder,
        report=folder / "report.html",
        workbook=folder / "close.xlsx",
        checklist=checklist(closing),
        seal=seal,
        note=note,
        apart=tuple(folder / name for name in (_PDF, NOTEBOOK) if (folder / name).is_file()),
    )


def _require_ours(folder: Path) -> None:
    """Raise InputError if the folder holds files that do not belong to a pack.

    Raises StorageError if it is a link or a file.
    """
    from treasury.report.pack.pack_contents import EVIDENCE, named_files

    if folder.is_symlink():
        raise StorageError(f"{folder} is a link", do="name the folder that it points to")
    if not folder.is_dir():
        if folder.exists():
            raise StorageError(f"{folder} is a file", do="name a folder")
        return
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    strange = sorted(present - _FORMER - {EVIDENCE} - named_files(folder))
    if strange:
        raise InputError(
            f"{folder} holds {strange[0]!r:.80}, which does not belong to a pack",
            do="move it away, or name another folder",
        )


def _take_place(new: Path, folder: Path, former: Path) -> None:
    """Replace the previous folder with the new one; on failure the previous one stays."""
    if not folder.exists():
        new.rename(folder)
        return
    folder.rename(former)
    try:
        new.rename(folder)
    except OSError:
        former.rename(folder)
        raise
    shutil.rmtree(former)
