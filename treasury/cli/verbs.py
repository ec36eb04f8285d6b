"""The commands: the module and the one-line description of each.

The module of a command is imported only when the command is run or its help is shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from typing import Final

import click
import msgspec

from treasury.core.errors import InputError
from treasury.core.files.package_files import package_toml


class VerbEntry(msgspec.Struct, frozen=True):
    """The module of a command, and its line in the list of commands."""

    module: str
    about: str


VERBS: Final = {
    name: VerbEntry(*entry) for name, entry in package_toml("treasury.cli", "verbs.toml").items()
}

EXTRAS: Final = {
    "keyring": "keyring",
    "psycopg": "postgresql",
    "lxml": "sandbox",
    "starlette": "sandbox",
    "uvicorn": "sandbox",
    "sqlglot": "spark",
    "jupyterlab": "notebooks",
    "nbclient": "notebooks",
    "papermill": "notebooks",
}
"""The package extra that installs each optional module."""


class Verbs(MutableMapping[str, click.Command]):
    """The commands by name, each imported on first use."""

    def __init__(self) -> None:
        self._added: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name in self._added:
            return self._added[name]
        verb = VERBS[name]
        try:
            module = importlib.import_module(f"treasury.cli.commands.{verb.module}")
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            raise InputError(
                f"`treasury {name}` needs {missing}, which is not installed",
                do=f"install it: pip install 'treasury-toolkit[{EXTRAS[missing]}]'",
            ) from error
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        yield from VERBS
        yield from self._added

    def __len__(self) -> int:
        return len(VERBS) + len(self._added)
