"""The close pack as a folder: a new one whole, or the former one as it was.

It is written beside its place and takes it only when it is whole. A folder in which somebody keeps
other files is never replaced.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.checklist import Checklist, checklist
from treasury.close.closing import Closing
from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.core.tables.table import Table, Tables

_FORMER: Final = frozenset({"report.html", "close.xlsx"})
"""What a pack was before it had evidence."""
_PDF: Final = "report.pdf"


class ClosePack(Tables, msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and where; `seal` stands for all of it. As a table it is the checklist.

    `apart` are the PDF and the executed notebook, where they were asked for; `note` says why the
    month could not be prepared, and is empty where it was.
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
        """What is read: the report, the workbook, what stands apart, and the evidence of all."""
        return (self.report, self.workbook, *self.apart, self.folder / "evidence.json")

    @property
    def sql(self) -> str:
        """The query of the outcomes."""
        return self.checklist.sql

    def sheets(self) -> Mapping[str, Table]:
        """The checklist."""
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
) -> ClosePack:
    """Write a month's pack into `folder`; StorageError leaves the former one.

    `notebook` is the workspace that the close's notebook is run on, and left in the pack.
    InputError where the folder holds anything that is no part of a pack, or where the answer does
    not say what it was made from.
    """
    # Imported here: listing fees or showing a status needs neither drawing nor Excel.
    from treasury.report.pack import pack_contents, pdf_printing
    from treasury.report.pack.close_notebook import NOTEBOOK, run_notebook

    _require_ours(folder)
    try:
        durable.make_folder(folder.parent)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent) as name:
            new = Path(name) / "pack"
            new.mkdir()
            evidence = pack_contents.write_files(closing, new)
            if pdf:
                pdf_printing.print_pdf(new / "report.html", new / _PDF)
            if notebook is not None:
                is_new_ledger = closing.period is None and closing.ledger_file is not None
                ledger = new / pack_contents.LEDGER if is_new_ledger else None
                run_notebook(notebook, closing.r.month, new / NOTEBOOK, ledger=ledger)
            seal = pack_contents.write_evidence(evidence, new)
            durable.sync_files([path for path in new.rglob("*") if path.is_file()], new)
            _take_place(new, folder, Path(name) / "former")
            durable.sync_folder(folder.parent)
    except OSError as error:
        raise StorageError(
            f"the close of {closing.r.month} cannot be written to {folder}:"
            f" {error.strerror or error}",
            do="free or name another folder, then run the command again",
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
    """Nobody's own files are ever taken away with a former pack."""
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
            f"{folder} holds {strange[0]!r:.80}, which is no part of a pack",
            do="move it away, or name another folder",
        )


def _take_place(new: Path, folder: Path, former: Path) -> None:
    """Put the new folder where the former one is; on failure the former one stays."""
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
