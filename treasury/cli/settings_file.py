"""A new `treasury.toml`: made whole of what was answered, checked, then put in place.

What was not answered stands as a comment to fill in, so that no value of a template is ever read.
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
    """A settings file of its template; the filter `toml` writes a text as a TOML string."""
    import jinja2

    environment = jinja2.Environment(  # noqa: S701 - TOML has no markup
        loader=jinja2.PackageLoader("treasury.cli"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    # The escapes of a TOML string are those of JSON.
    environment.filters["toml"] = partial(json.dumps, ensure_ascii=False)
    return environment.get_template(name).render(values)


class NewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a new workspace is told; what it has none of is left out."""

    company: str
    environment: str = "staging"
    time_zone: str = "Europe/Brussels"
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()

    def to_toml(self) -> str:
        """The file's text, with a comment for what is to be filled in later."""
        return from_template("treasury.toml", new=self)

    def check(self) -> Settings:
        """The settings as every command reads them; SettingsError where they cannot be."""
        with tempfile.TemporaryDirectory() as beside:
            (Path(beside) / FILE_NAME).write_text(self.to_toml(), "utf-8")
            return load_settings(Path(beside))

    def write(self, folder: Path) -> Settings:
        """Check the settings as every command does, then write them; the folder is made.

        SettingsError where they cannot be, InputError where the folder has settings already or
        cannot hold a lake; then nothing is written.
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
