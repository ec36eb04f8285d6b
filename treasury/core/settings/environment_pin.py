"""The environment that a workspace's data comes from, noted in a file of its folder."""

from __future__ import annotations

from pathlib import Path

from treasury.core.errors import SettingsError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import read_settings
from treasury.core.settings.workspace_settings import FILE_NAME, Settings
from treasury.core.text import ascii_escaped

_PIN_NAME = "environment"


def pin_environment(folder: Path, settings: Settings) -> None:
    """Note the environment of a workspace; every other environment is refused afterwards.

    Call it after the services have answered, so that wrong addresses are not noted, and before the
    first data is stored. Raise the SettingsError of `is_pinned`, and StorageError if the note
    cannot be written.
    """
    if not is_pinned(folder, settings):
        path = folder / _PIN_NAME
        try:
            durable.write_whole(path, f"{place_of(settings)}\n".encode())
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}", do="make the workspace writable"
            ) from error


def is_pinned(folder: Path, settings: Settings) -> bool:
    """Return True if the environment of a workspace is noted.

    Raise SettingsError if the data of the workspace comes from another environment or from other
    hosts. The host of a sandbox is ignored.
    """
    place = place_of(settings)
    path = folder / _PIN_NAME
    try:
        pinned = read_settings(path).strip()
    except FileNotFoundError:
        return False
    if not pinned:
        raise SettingsError(
            f"{path} is empty, so the source of the records in {folder} is unknown",
            do=f"restore it from a copy, or write {place} into it if that is the source",
        )
    if pinned != place:
        raise SettingsError(
            f"{folder} holds the records of {ascii_escaped(pinned)}, but {FILE_NAME} now names"
            f" {ascii_escaped(place)}",
            do="use a separate workspace for each environment",
        )
    return True


def is_filled(folder: Path, *, but_from: str) -> bool:
    """Return True if a workspace has data from an environment other than `but_from`."""
    try:
        return read_settings(folder / _PIN_NAME).strip() != but_from
    except FileNotFoundError:
        return False


def place_of(settings: Settings) -> str:
    """Format environment and hosts: `staging at finance.example.test, ramp.example.test`."""
    services, environment = settings.services, settings.workspace.environment
    if services is None or environment == "sandbox":
        return environment
    return f"{environment} at {', '.join(services.hosts)}"
