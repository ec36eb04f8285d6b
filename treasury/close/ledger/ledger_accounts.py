"""The company's own ledger accounts: which of them each role of the month's entries is.

What a mapping leaves out keeps the role's own name, so that nothing disappears for want of a line
in a file.
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
"""The roles of measured coins: the company names their accounts, or no account at all."""


class LedgerAccounts(msgspec.Struct, frozen=True):
    """The ledger account of each role, or of a role and its IBAN or asset: `bank BE45…`."""

    ledger_names: Mapping[str, str] = {}

    def of(self, role: str, of: str) -> str:
        """The account: that of the IBAN or asset, else of the role, else the role's own name."""
        own = f"{role} {of}" if of else role
        return self.ledger_names.get(own) or self.ledger_names.get(role) or own

    def require(self, used: Iterable[tuple[str, str]]) -> None:
        """InputError where the company names its accounts, and none for a role of its coins."""
        for role, of in sorted(set(used)) if self.ledger_names else ():
            own = f"{role} {of}".strip()
            if role in COIN_ROLES and not {own, role} & self.ledger_names.keys():
                raise InputError(
                    f"the mapping names no account for {own!r}, which measured coins post to",
                    do=f'add "{role}" = "…" below [accounts]',
                )


def accounts_of(mapping: str | Path | None) -> LedgerAccounts:
    """The ledger accounts that a mapping file names; none where no file is given."""
    return LedgerAccounts() if mapping is None else load_mapping(Path(mapping))


def load_mapping(path: Path) -> LedgerAccounts:
    """Read a TOML file with the table `[accounts]`; InputError names the key that is wrong."""
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
    """The mapping that a file's text is; errors name it by `path`."""
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
            raise InputError(f"{path}: {key!r:.60} is no role", do=f"use {', '.join(ROLES)}")
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{path}: {key!r:.60} names no account", do="give it as text")
    return LedgerAccounts({key: value.strip() for key, value in accounts.items()})
