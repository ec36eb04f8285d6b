"""A month's entries for the books: a CSV journal by the company's own accounts, and Beancount.

A mapping says which ledger account each role is. What it leaves out keeps the role's own name, so
that nothing disappears for want of a line in a file.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from treasury.errors import InputError
from treasury.reconcile.rows import shown
from treasury.report.accounting import ROLES, Accounting
from treasury.text import clean, neutral

__all__ = [
    "LedgerAccounts",
    "accounts_of",
    "load_mapping",
    "mapping_text",
    "write_beancount",
    "write_csv",
]

JOURNAL: Final = (
    "entry", "date", "account", "role", "of", "currency", "debit", "credit", "text", "source_ids",
)  # fmt: skip
_DAY: Final = timedelta(days=1)
_BEANCOUNT: Final = {
    "bank": "Assets:Bank",
    "provider": "Assets:Provider",
    "wallet": "Assets:Wallet",
    "on-ramp in transit": "Assets:InTransit:OnRamp",
    "off-ramp in transit": "Assets:InTransit:OffRamp",
    "own transfers": "Assets:InTransit:OwnTransfers",
    "collections": "Income:Collections",
    "conversion": "Equity:Conversion",
    "ramp fees": "Expenses:RampFees",
    "bank charges": "Expenses:BankCharges",
    "transfers out": "Equity:TransfersOut",
    "transfers in": "Equity:TransfersIn",
    "other business": "Equity:OtherBusiness",
    "opening": "Equity:Opening",
    "suspense": "Equity:Suspense",
}
_NAMES: Final = 1_000
"""Accounts and currencies whose written form is kept: a month has few and names them often."""
_NOT_A_COMMODITY: Final = re.compile(r"[^A-Z0-9'._-]", re.ASCII)


class LedgerAccounts(msgspec.Struct, frozen=True):
    """The ledger account of each role, or of a role and its IBAN or asset: `bank BE45…`."""

    named: Mapping[str, str] = {}

    def of(self, role: str, of: str) -> str:
        """The account: that of the IBAN or asset, else of the role, else the role's own name."""
        own = f"{role} {of}" if of else role
        return self.named.get(own) or self.named.get(role) or own


def accounts_of(mapping: str | Path | None) -> LedgerAccounts:
    """The ledger accounts that a mapping file names; none where no file is given."""
    return LedgerAccounts() if mapping is None else load_mapping(Path(mapping))


def load_mapping(path: Path) -> LedgerAccounts:
    """Read a TOML file with the table `[accounts]`; InputError names the key that is wrong."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", do="name a file that can be read"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}", do="correct that line") from None
    strange = sorted(found.keys() - {"accounts"})
    accounts = found.get("accounts")
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


def mapping_text(books: Accounting) -> str:
    """A mapping file to fill in: every role that the entries use, with what it is."""
    used = dict.fromkeys(_used(books))
    lines = [
        f'"{_quoted(f"{role} {of}".strip())}" = ""  # {ROLES[role]}' for role, of in sorted(used)
    ]
    return "\n".join(["# The ledger account of each role.", "[accounts]", *lines, ""])


def write_csv(books: Accounting, path: Path, accounts: LedgerAccounts | None = None) -> Path:
    """Write the journal: a row a posting, debit and credit apart, every digit there."""
    accounts = accounts or LedgerAccounts()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(JOURNAL)
        for row in books.postings.to_pylist():
            amount: Decimal = row["amount"]
            sides = (shown(amount), "") if amount > 0 else ("", shown(amount.copy_negate()))
            texts = (accounts.of(row["role"], row["of"]), row["role"], row["of"], row["currency"])
            writer.writerow(
                [
                    neutral(row["entry"]),
                    row["date"].isoformat(),
                    *map(_cell, texts),
                    *sides,
                    neutral(row["text"]),
                    neutral(" ".join(row["source_ids"])),
                ]
            )
    return path


def write_beancount(books: Accounting, path: Path, accounts: LedgerAccounts | None = None) -> Path:
    """Write the same entries as a Beancount file with the statements' balances asserted.

    Account names are ours, by role; where `accounts` maps one, its ledger account stands in the
    metadata `ledger`.
    """
    text = "\n".join(_beancount(books, accounts or LedgerAccounts()))
    path.write_text(text + "\n", "utf-8", newline="\n")
    return path


def _beancount(books: Accounting, accounts: LedgerAccounts) -> Iterator[str]:
    yield f'option "title" "{_quoted(books.title)}"'
    yield ""
    before = books.first - _DAY
    for role, of in sorted(dict.fromkeys(_used(books))):
        yield f"{before} open {_account(role, of)}"
        if (ledger := accounts.of(role, of)) != f"{role} {of}".strip():
            yield f'  ledger: "{_quoted(ledger)}"'
    rows = books.postings.to_pylist()
    for _, legs in groupby(rows, key=lambda row: row["entry"]):
        yield ""
        yield from _transaction(list(legs))
    yield ""
    for known in (*books.opening, *books.closing):
        # Every decimal is written: Beancount lets a cent pass where it sees two.
        amount = f"{known.amount:f} {_commodity(known.currency)}"
        yield f"{known.on + _DAY} balance {_account(known.role, known.of)} {amount}"


def _transaction(legs: list[dict[str, Any]]) -> Iterator[str]:
    first = legs[0]
    yield f'{first["date"]} * "{_quoted(first["text"])}"'
    yield f'  entry: "{_quoted(first["entry"])}"'
    for leg in legs:
        amount = f"{shown(leg['amount'])} {_commodity(leg['currency'])}"
        yield f"  {_account(leg['role'], leg['of'])}  {amount}"


def _used(books: Accounting) -> Iterator[tuple[str, str]]:
    table = books.postings.select(["role", "of"]).group_by(["role", "of"]).aggregate([])
    yield from ((row["role"], row["of"]) for row in table.to_pylist())


@lru_cache(_NAMES)
def _account(role: str, of: str) -> str:
    part = re.sub(r"[^A-Z0-9]", "-", of.upper(), flags=re.ASCII).strip("-")
    return f"{_BEANCOUNT[role]}:{part}" if part else _BEANCOUNT[role]


@lru_cache(_NAMES)
def _commodity(currency: str) -> str:
    """A currency as Beancount writes commodities: capital letters first, 24 characters at most."""
    plain = _NOT_A_COMMODITY.sub("-", currency.upper())
    framed = f"X{plain}X" if not (plain[:1].isalpha() and plain[-1:].isalnum()) else plain
    return framed[:24].rstrip("'._-")


@lru_cache(_NAMES)
def _cell(text: str) -> str:
    return neutral(clean(text))


def _quoted(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
