"""Pinned commits, whose files stay until the pin is released; a closed month pins its commit.

A pin is a small file with the paths of all Parquet files of a commit. So a pinned commit can be
read without the tables' logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.errors import WorkspaceDamaged
from treasury.core.files import durable
from treasury.lake.commits import Commit
from treasury.lake.store import delta, disk
from treasury.lake.store.sealed import read_sealed, write_sealed

PINS: Final = "pins"


class Pin(msgspec.Struct, frozen=True):
    """A pinned commit: the reason, the time, and its tables with paths below the lake's folder."""

    commit: Commit
    why: str
    pinned_at: datetime
    tables: dict[str, delta.StoredTable]

    def opened(self, folder: Path) -> Mapping[tuple[str, int], delta.StoredTable]:
        """Return the pinned tables by name and version, with absolute paths."""
        return {
            (name, table.version): delta.with_paths(table, lambda path: str(folder / path))
            for name, table in self.tables.items()
        }


def add_pin(
    folder: Path, commit: Commit, why: str, now: datetime, tables: Mapping[str, delta.StoredTable]
) -> Pin:
    """Pin a commit with these tables, and flush the pin to disk.

    If the commit is already pinned, the existing pin is returned unchanged.
    """
    path = folder / PINS / f"{commit.number}.json"
    if path.is_file():
        return _read(path)
    stored = {
        name: delta.with_paths(table, lambda path: Path(path).relative_to(folder).as_posix())
        for name, table in tables.items()
    }
    pin = Pin(commit, why, now, stored)
    with disk.writing(path):
        durable.make_folder(path.parent)
        write_sealed(path, pin)
    return pin


def remove_pin(folder: Path, number: int) -> bool:
    """Remove a pin; return True if there was one."""
    path = folder / PINS / f"{number}.json"
    is_pinned = path.is_file()
    if is_pinned:
        with disk.writing(path):
            path.unlink()
            durable.sync_folder(path.parent)
    return is_pinned


def all_pins(folder: Path) -> list[Pin]:
    """Return the pins, sorted by commit."""
    pins = [_read(path) for path in (folder / PINS).glob("*.json")]
    return sorted(pins, key=lambda pin: pin.commit.number)


def read_pins(folder: Path) -> tuple[list[Pin], list[tuple[Path, str]]]:
    """Return the readable pins, sorted by commit, and each unreadable pin's path and problem."""
    pins, broken = [], []
    for path in sorted((folder / PINS).glob("*.json")):
        try:
            pins.append(_read(path))
        except WorkspaceDamaged as error:
            broken.append((path, error.what))
    return sorted(pins, key=lambda pin: pin.commit.number), broken


def _read(path: Path) -> Pin:
    try:
        pin = read_sealed(path, Pin)
    except PermissionError as error:
        raise disk.denied(path) from error
    except (OSError, ValueError) as error:
        raise WorkspaceDamaged(
            f"the pin {path} cannot be read ({error})",
            do="restore the file from a copy: no stored file is removed until it can be read",
        ) from error
    versions = {name: table.version for name, table in pin.tables.items()}
    if versions != pin.commit.versions or path.stem != str(pin.commit.number):
        raise WorkspaceDamaged(
            f"the pin {path} does not have the tables of its commit",
            do="restore the file from a copy",
        )
    if not all(delta.is_inside(file.path) for t in pin.tables.values() for file in t.files):
        raise WorkspaceDamaged(
            f"the pin {path} names a file outside of the lake", do="restore the file from a copy"
        )
    return pin
