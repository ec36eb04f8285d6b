"""The form that a lake is stored in, and the step that brings an earlier one to the present form.

    1  version 0.1.0: the newest row of the list of commits is the last commit, pins are plain
       JSON, the noted hashes of files have no check
    2  a file names the last commit, pins and that file carry the hash of their own content, each
       noted hash has a check, and the logs of tables are noted as well

A lake says its form in a small file, which form 1 did not have. The step changes no row and no file
of a table. Each of its writes is whole or not at all, what is done already is left as it is, and
the form is named last: cut off anywhere, it is simply run again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from treasury.errors import StorageError
from treasury.ground import durable
from treasury.lake import delta, disk
from treasury.lake.commits import COMMITS, LAST, newest_listed, put_last
from treasury.lake.pins import PINS, seal_pin
from treasury.lake.sealed import read_sealed, write_sealed
from treasury.lake.upkeep.file_digests import Digests

FORM: Final = 2
FILE_NAME: Final = "form.json"


class _Form(msgspec.Struct, frozen=True):
    form: int


def has_form(folder: Path) -> bool:
    """Whether the lake in `folder` names the present form; StorageError for that of a later one.

    A file that does not read names no form: the step writes it anew.
    """
    path = folder / FILE_NAME
    try:
        form = read_sealed(path, _Form).form
    except PermissionError as error:
        raise disk.denied(path) from error
    except (OSError, ValueError):
        return False
    if form > FORM:
        raise StorageError(
            f"{folder} was stored by a later version of treasury (form {form}, not {FORM})",
            do="update treasury",
        )
    return form == FORM


def is_present(folder: Path) -> bool:
    """Whether a lake can be read as it is: it has the present form, or nothing is stored yet."""
    return has_form(folder) or not (
        (folder / LAST).exists()
        or delta.exists(folder / COMMITS)
        or any((folder / PINS).glob("*.json"))
    )


def write_form(folder: Path) -> None:
    """Name the present form."""
    with disk.writing(folder / FILE_NAME):
        durable.make_folder(folder)
        write_sealed(folder / FILE_NAME, _Form(FORM))


def migrate(folder: Path, digests: Digests) -> None:
    """Bring a lake to the present form, for whoever holds the workspace's lock.

    A pin or a list of commits that does not read is left for `treasury doctor` to report.
    """
    for path in sorted((folder / PINS).glob("*.json")):
        seal_pin(path)
    if not digests.by_path():
        tables = sorted(log.parent for log in folder.glob(f"*/{delta.LOG}"))
        last = None if (folder / LAST).exists() else newest_listed(folder)
        if last is not None:
            files = (path for table in tables for path in table.rglob("*") if path.is_file())
            with disk.writing(folder):
                durable.sync_files(files, folder.parent)
            put_last(folder, last)
        digests.add_checks(entry for table in tables for entry in delta.log_after(table, None))
    write_form(folder)
