"""The environment that fills a workspace, noted in its folder."""

from __future__ import annotations

from pathlib import Path

from treasury.core.errors import SettingsError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import read_settings
from treasury.core.settings.workspace_settings import FILE_NAME, Settings
from treasury.core.text import ascii_escaped

_PIN_NAME = "environment"


def pin_environment(folder: Path, settings: Settings) -> None:
    """Note which environment fills a workspace; refuse another one from then on.

    To be called before the first thing is stored, and after the services have answered: addresses
    that were never right are not noted. SettingsError as `is_pinned`.
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
    """Whether it is noted which environment fills a workspace.

    SettingsError where it holds the records of another environment, or of the same at other hosts.
    A sandbox's host does not count.
    """
    place = place_of(settings)
    path = folder / _PIN_NAME
    try:
        pinned = read_settings(path).strip()
    except FileNotFoundError:
        return False
    if not pinned:
        raise SettingsError(
            f"{path} is empty, so whose records {folder} holds is not known",
            do=f"restore it from a copy, or write {place} into it if that is so",
        )
    if pinned != place:
        raise SettingsError(
            f"{folder} holds the records of {ascii_escaped(pinned)}, and {FILE_NAME} now says"
            f" {ascii_escaped(place)}",
            do="make a workspace of its own for each environment",
        )
    return True


def is_filled(folder: Path, *, but_from: str) -> bool:
    """Whether a workspace was filled from an environment before, except from this one."""
    try:
        return read_settings(folder / _PIN_NAME).strip() != but_from
    except FileNotFoundError:
        return False


def place_of(settings: Settings) -> str:
    """The environment and its hosts: `staging at finance.example.test, ramp.example.test`."""
    services, environment = settings.services, settings.workspace.environment
    if services is None or environment == "sandbox":
        return environment
    return f"{environment} at {', '.join(services.hosts)}"
