"""The company's own ledger accounts: which account each role of the month's entries is posted to.

A role that is not in the mapping file is posted to an account with the role's name, so that an
incomplete file hides no amount.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.ledger.accounting import ROLES
from treasury.core.errors import InputError
from treasury.core.files.regular_files import read_regular
from treasury.core.toml_text import parse_toml

COIN_ROLES: Final = frozenset(
    {"coins", "coin gains", "coin losses", "coin impairment", "coin reserve", "coin revaluation"}
)
"""The roles of measured coins: a mapping must name an account for each one that is used."""


class LedgerAccounts(msgspec.Struct, frozen=True):
    """The ledger account of each role, or of a role with its IBAN or asset: `bank BE45…`."""

    ledger_names: Mapping[str, str] = {}

    def of(self, role: str, of: str) -> str:
        """Return the account of the IBAN or asset, else of the role, else the role's own name."""
        own = f"{role} {of}" if of else role
        return self.ledger_names.get(own) or self.ledger_names.get(role) or own

    def require(self, used: Iterable[tuple[str, str]]) -> None:
        """Raise InputError if a mapping lacks the account of a role that measured coins use."""
        for role, of in sorted(set(used)) if self.ledger_names else ():
            own = f"{role} {of}".strip()
            if role in COIN_ROLES and not {own, role} & self.ledger_names.keys():
                raise InputError(
                    f"the mapping names no account for {own!r}, which measured coins post to",
                    do=f'add "{role}" = "…" below [accounts]',
                )


def accounts_of(mapping: str | Path | None) -> LedgerAccounts:
    """Return the ledger accounts of a mapping file; empty without a file."""
    return LedgerAccounts() if mapping is None else load_mapping(Path(mapping))


def load_mapping(path: Path) -> LedgerAccounts:
    """Read a TOML file with the table `[accounts]`; raise InputError naming a wrong key."""
    try:
        text = read_regular(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", do="name a file that can be read"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {error}", do="correct that line") from None
    return read_mapping(text, str(path))


def read_mapping(text: str, path: str) -> LedgerAccounts:
    """Return the mapping in a file's text; errors name the file by `path`."""
    try:
        mapping = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}", do="correct that line") from None
    strange = sorted(mapping.keys() - {"accounts"})
    accounts = mapping.get("accounts")
    if strange or not isinstance(accounts, dict):
        raise InputError(
            f"{path}: {strange[0]!r:.40} is not known" if strange else f"{path}: no [accounts]",
            do='write a table [accounts] with lines like "bank" = "550000"',
        )
    for key, value in accounts.items():
        if not any(key == role or key.startswith(f"{role} ") for role in ROLES):
            raise InputError(f"{path}: {key!r:.60} is not a role", do=f"use {', '.join(ROLES)}")
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{path}: {key!r:.60} names no account", do="give it as text")
    return LedgerAccounts({key: value.strip() for key, value in accounts.items()})
