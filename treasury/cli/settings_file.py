"""A new `treasury.toml`: made whole of what was answered, checked, then put in place.

What was not answered stands as a comment to fill in, so that no value of a template is ever read.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from treasury.errors import InputError, StorageError
from treasury.ground import durable
from treasury.settings import (
    FILE_NAME,
    BankAccount,
    Credential,
    Services,
    Settings,
    load_settings,
    require_plain_path,
)

__all__ = ["NewSettings"]

_SERVICES: Final = """
# Without the services bank files can be read, proved, listed and exported (docs/setup.md).
# [services]
# token_url = "https://…/oauth/token"
# finance.base_url = "https://…/v1"
# ramp.base_url = "https://…/v1"
"""
_CREDENTIALS: Final = """
# A secret is never written here: env:NAME, file:PATH or keyring:SERVICE/USER says where it is.
# [credentials.maker]
# client_id = "…"
# client_secret = "env:TREASURY_MAKER_SECRET"
"""
_ACCOUNTS: Final = """
# One block for each account whose statements you have. source: own_bank, or provider_report for
# the provider's account on which credits to your virtual IBANs are booked.
# [[accounts]]
# account = "…"
# name = "…"
# currency = "EUR"
# source = "own_bank"
"""


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
        workspace = f"""\
[workspace]
company = {_text(self.company)}
environment = {_text(self.environment)}          # sandbox, staging or production
# allow_writes = true            # without it, nothing is changed in production
# shared = "group"               # the folder's group may read and write; without it only you
time_zone = {_text(self.time_zone)}    # days and months are counted here
# town = "Gent"                  # of the company's seat: payments beyond the EEA
# country = "BE"                 # name the payer's address
"""
        services = _SERVICES
        if self.services is not None:
            services = f"""
[services]
token_url = {_text(self.services.token_url)}
finance.base_url = {_text(self.services.finance.base_url)}
ramp.base_url = {_text(self.services.ramp.base_url)}
"""
        return f"{workspace}{services}{self._credentials()}{self._accounts()}"

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

    def _credentials(self) -> str:
        if not self.credentials:
            return _CREDENTIALS
        return "".join(
            f"""
[credentials.{_text(name)}]
client_id = {_text(credential.client_id)}
client_secret = {_text(credential.client_secret)}
"""
            for name, credential in self.credentials.items()
        )

    def _accounts(self) -> str:
        if not self.accounts:
            return _ACCOUNTS
        return "".join(
            f"""
[[accounts]]
account = {_text(account.account)}
name = {_text(account.name)}
currency = {_text(account.currency)}
source = {_text(account.source)}
"""
            for account in self.accounts
        )


def _text(value: str) -> str:
    """A TOML string, whose escapes are those of JSON."""
    return json.dumps(value, ensure_ascii=False)
