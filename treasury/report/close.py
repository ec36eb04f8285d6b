"""The close pack: report.html and close.xlsx in one folder, both new or both as they were.

Both are written beside the former ones and take their places only when both are whole.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec

from treasury.errors import StorageError
from treasury.report.checklist import Checklist, checklist
from treasury.report.closing import Closing

__all__ = ["ClosePack", "write_close"]


class ClosePack(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and where."""

    folder: Path
    report: Path
    workbook: Path
    checklist: Checklist

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file of the pack, the report first."""
        return (self.report, self.workbook)


def write_close(closing: Closing, folder: Path) -> ClosePack:
    """Write a month's report and workbook into `folder`; StorageError leaves the former ones."""
    # Imported here: listing fees or showing a status needs neither drawing nor Excel.
    from treasury.report.excel import write_workbook
    from treasury.report.html import render_html

    pack = ClosePack(
        folder=folder,
        report=folder / "report.html",
        workbook=folder / "close.xlsx",
        checklist=checklist(closing),
    )
    page = render_html(closing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as name:
            new = Path(name)
            (new / pack.report.name).write_text(page, "utf-8", newline="\n")
            write_workbook(closing, new / pack.workbook.name)
            for path in pack.paths:
                os.replace(new / path.name, path)
    except OSError as error:
        raise StorageError(
            f"the close of {closing.r.month} cannot be written to {folder}:"
            f" {error.strerror or error}",
            do="free or name another folder, then run the command again",
        ) from error
    return pack
