"""Storage of the sandbox, in memory or in a folder.

A folder holds one company with its seed, scenario, profile and volume. Opening it from a second
process, or for another company, raises InputError.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from treasury.core.errors import InputError
from treasury.sandbox.state.store import MEMORY, Store

FILE_NAME: Final = "sandbox.sqlite"


def place_of(folder: Path | None) -> str:
    """Return the path of the store in a folder, which is created if missing; default: in memory."""
    if folder is None:
        return MEMORY
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot hold the sandbox's state: {error.strerror}",
            do="name a folder that can be written",
        ) from error
    return str(folder / FILE_NAME)


def open_store(place: str) -> Store:
    """Open the store at a place. Raises InputError if it is in use or not a store."""
    try:
        return Store(place)
    except sqlite3.DatabaseError as error:
        in_use = "locked" in str(error)
        raise InputError(
            f"{place} is in use by another sandbox"
            if in_use
            else f"{place} is not a sandbox's state",
            do="stop the other one, or name another folder with --state",
        ) from error


def is_new(store: Store, identity: Mapping[str, str], story_mark: str) -> bool:
    """Return whether the store is empty.

    Raises InputError if it belongs to another company or to another version of the sandbox.
    """
    facts = store.facts()
    for name, value in identity.items():
        if facts.get(name, value) != value:
            raise InputError(
                f"the stored state has the {name} {facts[name]}, not {value}",
                do=f"start with --{name} {facts[name]}, or name another folder with --state",
            )
    if facts.get("told", story_mark) != story_mark:
        raise InputError(
            "the stored state was written by another version of the sandbox",
            do="name another folder with --state",
        )
    return "now" not in facts
