"""Build a new `treasury.toml` from the answers, check it, and write it.

For missing answers the file has comments to fill in, so that no placeholder is read as a value.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

import msgspec

from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.core.settings import (
    FILE_NAME,
    BankAccount,
    Credential,
    Services,
    Settings,
    load_settings,
    require_plain_path,
)


def from_template(name: str, **values: object) -> str:
    """Render a settings file from a template; the filter `toml` writes a text as a TOML string."""
    import jinja2

    environment = jinja2.Environment(  # noqa: S701 - TOML has no markup
        loader=jinja2.PackageLoader("treasury.cli"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    # TOML reads every escape that json.dumps writes.
    environment.filters["toml"] = partial(json.dumps, ensure_ascii=False)
    return environment.get_template(name).render(values)


class NewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of `treasury init`; None means "not configured"."""

    company: str
    environment: str = "staging"
    time_zone: str = "Europe/Brussels"
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()

    def to_toml(self) -> str:
        """Return the file's text, with comments for settings to fill in later."""
        return from_template("treasury.toml", new=self)

    def check(self) -> Settings:
        """Load the settings as every command does; raise SettingsError if they are invalid."""
        with tempfile.TemporaryDirectory() as beside:
            (Path(beside) / FILE_NAME).write_text(self.to_toml(), "utf-8")
            return load_settings(Path(beside))

    def write(self, folder: Path) -> Settings:
        """Check the settings, then write them to a new or existing folder.

        Raises SettingsError if they are invalid, InputError if the folder already has settings or
        cannot hold a lake, and StorageError if the file cannot be written.
        """
        require_plain_path(folder)
        path = folder / FILE_NAME
        if path.exists():
            raise InputError(
                f"{path} exists", do="edit it, or name another folder with --workspace"
            )
        settings = self.check()
        try:
            durable.make_folder(folder)
            durable.write_whole(path, self.to_toml().encode())
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}", do="make the folder writable"
            ) from error
        return settings
