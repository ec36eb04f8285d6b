"""The company's own ledger accounts: which account each role of the month's entries is posted to.

The accounting export and the comparison with the ledger use the same mapping. Its optional tables
`[ledger]` and `[books]` state how to read the ledger's files of balances and of postings.

A role that is not in the mapping file is posted to an account with the role's name, so that an
incomplete file hides no amount.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeVar

import msgspec

from treasury.close.ledger.accounting import ROLES
from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.files.regular_files import read_regular
from treasury.core.toml_text import parse_toml

COIN_ROLES: Final = frozenset(
    {"coins", "coin gains", "coin losses", "coin impairment", "coin reserve", "coin revaluation"}
)
"""The roles of measured coins: a mapping must name an account for each one that is used."""

_BANKS: Final = ("bank ", "provider ")
"""Prefixes of keys that may name several ledger accounts; we post to the first one."""


class LedgerTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read a ledger's file: its decimal separator, its currency and its column names.

    A term is empty if the file itself shows it.
    """

    decimal: Literal["", ",", "."] = ""
    currency: str = ""
    account: str = ""
    balance: str = ""
    debit: str = ""
    credit: str = ""
    section: ClassVar[str] = "ledger"
    """The table of `accounts.toml` that has these terms."""
    amount_column: ClassVar[str] = "balance"
    needed_columns: ClassVar[tuple[str, ...]] = ("account", "balance")


class BooksTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read a file of the ledger's postings; a term is empty if the file itself shows it."""

    decimal: Literal["", ",", "."] = ""
    currency: str = ""
    account: str = ""
    date: str = ""
    amount: str = ""
    debit: str = ""
    credit: str = ""
    text: str = ""
    document: str = ""
    section: ClassVar[str] = "books"
    amount_column: ClassVar[str] = "amount"
    needed_columns: ClassVar[tuple[str, ...]] = ("account", "date", "amount")


_Terms = TypeVar("_Terms", LedgerTerms, BooksTerms)


class LedgerAccounts(msgspec.Struct, frozen=True):
    """The ledger account of each role, or of a role with its IBAN or asset: `bank BE45…`.

    `further_names` are a bank account's other ledger accounts, such as those for clearing: its
    balance in the ledger is the sum of all. `terms` and `books_terms` state how to read the
    ledger's files of balances and of postings.
    """

    ledger_names: Mapping[str, str] = {}
    further_names: Mapping[str, tuple[str, ...]] = {}
    terms: LedgerTerms = LedgerTerms()
    books_terms: BooksTerms = BooksTerms()

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
    """Read a mapping's TOML file; raise InputError naming a wrong key."""
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
    strange = sorted(mapping.keys() - {"accounts", "ledger", "books"})
    accounts = mapping.get("accounts", {} if mapping else None)
    if strange or not isinstance(accounts, dict):
        raise InputError(
            f"{path}: {strange[0]!r:.40} is not known" if strange else f"{path}: no [accounts]",
            do='write a table [accounts] with lines like "bank" = "550000"',
        )
    terms = _terms(mapping, path, LedgerTerms)
    books_terms = _terms(mapping, path, BooksTerms)
    names: dict[str, tuple[str, ...]] = {}
    for key, value in accounts.items():
        if not any(key == role or key.startswith(f"{role} ") for role in ROLES):
            raise InputError(f"{path}: {key!r:.60} is not a role", do=f"use {', '.join(ROLES)}")
        of_role = value if isinstance(value, list) and key.startswith(_BANKS) else [value]
        if not of_role or not all(isinstance(name, str) and name.strip() for name in of_role):
            raise InputError(f"{path}: {key!r:.60} names no account", do="write it as text")
        names[key] = tuple(name.strip() for name in of_role)
    return LedgerAccounts(
        {key: first for key, (first, *_) in names.items()},
        {key: further for key, (_, *more_names) in names.items() if (further := tuple(more_names))},
        terms,
        books_terms,
    )


def _terms(mapping: Mapping[str, object], path: str, terms: type[_Terms]) -> _Terms:
    """Return the terms in their table of a mapping; raise InputError naming a wrong key."""
    try:
        return convert(mapping.get(terms.section, {}), terms)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{path}, [{terms.section}]: {error}",
            do=f"use {', '.join(terms.__struct_fields__)}, each as text",
        ) from None
