"""The stored lake's format version, in a small file; an older treasury refuses the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from treasury.core.errors import StorageError
from treasury.core.files import durable
from treasury.lake.store import disk
from treasury.lake.store.sealed import read_sealed, write_sealed

FORM: Final = 2
FILE_NAME: Final = "form.json"


class _Form(msgspec.Struct, frozen=True):
    form: int


def has_form(folder: Path) -> bool:
    """Return True if a lake has the current format; raise StorageError for a later one.

    An unreadable file counts as missing: the next commit writes it again.
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


def write_form(folder: Path) -> None:
    """Write the current format version."""
    with disk.writing(folder / FILE_NAME):
        durable.make_folder(folder)
        write_sealed(folder / FILE_NAME, _Form(FORM))
