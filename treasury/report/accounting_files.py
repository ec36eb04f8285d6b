"""A month's entries as files: a CSV journal with the company's own accounts, and Beancount."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.ledger.accounting import ROLES, Accounting
from treasury.close.ledger.ledger_accounts import LedgerAccounts, accounts_of
from treasury.core.files.package_files import package_toml
from treasury.core.money import plain_digits
from treasury.core.tables.column_texts import amount_texts, clean_column, in_one
from treasury.core.tables.csv_output import write_csv_table
from treasury.core.text import clean

_DAY: Final = timedelta(days=1)
_BEANCOUNT: Final[dict[str, str]] = package_toml("treasury.report", "templates/beancount.toml")
_BATCH: Final = 20_000
"""Number of postings that are formatted and written at a time."""
_NOT_A_COMMODITY: Final = re.compile(r"[^A-Z0-9'._-]", re.ASCII)


class ExportedBooks(Accounting, frozen=True, eq=False, kw_only=True):
    """A month's entries, with methods that write them as files."""

    def write_csv(self, path: str | Path, mapping: str | Path | None = None) -> Path:
        """Write the postings as a CSV file.

        Parameters
        ----------
        path
            The file; an existing one is overwritten.
        mapping
            A TOML file with your ledger account for each role; default: the names of the roles.

        Returns
        -------
        Path
            The written file: one row per posting, debit and credit in separate columns.

        Raises
        ------
        InputError
            If the mapping file is invalid, or lacks an account that measured coins use.

        Examples
        --------
        >>> t.accounting("2026-10").write_csv("journal.csv")
        """
        return write_csv(self, Path(path), accounts_of(mapping))

    def write_beancount(self, path: str | Path, mapping: str | Path | None = None) -> Path:
        """Write the postings as a Beancount file, which asserts the proved balances.

        Parameters
        ----------
        path
            The file; an existing one is overwritten.
        mapping
            A TOML file with your ledger account for each role, which becomes metadata.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        InputError
            If the mapping file is invalid, or lacks an account that measured coins use.

        Examples
        --------
        >>> t.accounting("2026-10").write_beancount("month.beancount")
        """
        return write_beancount(self, Path(path), accounts_of(mapping))

    def mapping(self) -> str:
        """Return a mapping file to fill in: every role in the entries, with its description."""
        return mapping_text(self)


def export_books(books: Accounting) -> ExportedBooks:
    """Return a month's entries with the methods that write files."""
    return ExportedBooks(**msgspec.structs.asdict(books))


def mapping_text(books: Accounting) -> str:
    """Return a mapping file to fill in: every role in the entries, with its description."""
    used = dict.fromkeys(_used(books))
    lines = [
        f'"{_quoted(f"{role} {of}".strip())}" = ""  # {ROLES[role]}' for role, of in sorted(used)
    ]
    return "\n".join(["# The ledger account of each role.", "[accounts]", *lines, ""])


def write_csv(books: Accounting, path: Path, accounts: LedgerAccounts | None = None) -> Path:
    """Write the journal: one row per posting, debit and credit separate, with all digits."""
    accounts = accounts or LedgerAccounts()
    accounts.require(_used(books))
    with path.open("w", encoding="utf-8", newline="") as file:
        for start in range(0, max(len(books.postings), 1), _BATCH):
            rows = _journal(books.postings.arrow.slice(start, _BATCH), accounts)
            write_csv_table(file, rows, named=not start)
    return path


def _journal(postings: pa.Table, accounts: LedgerAccounts) -> pa.Table:
    """Return the journal's rows: each posting's ledger account, debit and credit separate."""
    amounts, nothing = postings["amount"], pa.scalar(None, postings["amount"].type)
    is_credit = pc.less(amounts, pa.scalar(Decimal(0), amounts.type))
    columns = {name: postings[name] for name in ("entry", "date")}
    columns["account"] = _names_of_postings(postings, accounts.of)
    columns |= {name: postings[name] for name in ("role", "of", "currency")}
    columns["debit"] = pc.if_else(is_credit, nothing, amounts)
    columns["credit"] = pc.if_else(is_credit, pc.negate(amounts), nothing)
    columns["text"] = postings["text"]
    columns["source_ids"] = pc.binary_join(postings["source_ids"], " ")
    return pa.table(columns)


def _names_of_postings(postings: pa.Table, name: Callable[[str, str], str]) -> pa.ChunkedArray:
    """Return the name for the role and account of each posting, computed once per pair."""
    pairs = pc.binary_join_element_wise(postings["role"], postings["of"], "\0")
    distinct = pc.unique(pairs)
    names = [name(*pair.split("\0", 1)) for pair in distinct.to_pylist()]
    return pa.array(names, pa.string()).take(pc.index_in(pairs, distinct))


def write_beancount(books: Accounting, path: Path, accounts: LedgerAccounts | None = None) -> Path:
    """Write the entries as a Beancount file that asserts the balances of statements and coins.

    The account names follow from the roles (`beancount.toml`); the metadata `ledger` has the ledger
    account from `accounts`.
    """
    accounts = accounts or LedgerAccounts()
    accounts.require(_used(books))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in _beancount(books, accounts):
            file.write(f"{line}\n")
    return path


def _beancount(books: Accounting, accounts: LedgerAccounts) -> Iterator[str]:
    yield f'option "title" "{_quoted(books.title)}"'
    yield ""
    before = books.first - _DAY
    for role, of in sorted(dict.fromkeys(_used(books))):
        yield f"{before} open {_account(role, of)}"
        if (ledger := accounts.of(role, of)) != f"{role} {of}".strip():
            yield f'  ledger: "{_quoted(ledger)}"'
    for start in range(0, len(books.postings), _BATCH):
        yield in_one(_booked(books.postings.arrow, start), "\n").decode()
    yield ""
    for balance in (*books.opening, *books.closing):
        # All decimals are written, because Beancount tolerates a difference of a cent if amounts
        # have two decimals.
        amount = f"{balance.amount:f} {_commodity(balance.currency)}"
        yield f"{balance.on + _DAY} balance {_account(balance.role, balance.of)} {amount}"
    for price in books.prices:
        worth = f"{plain_digits(price.rate)} {_commodity(price.currency)}"
        yield f"{price.on} price {_commodity(price.coin)} {worth}"


def _booked(postings: pa.Table, start: int) -> pa.Array:
    """Return a part of the postings as lines; an entry's head precedes its first posting."""
    rows = postings.slice(start, _BATCH)
    before = postings["entry"].slice(start - 1, 1) if start else pa.chunked_array([[""]])
    former = pa.chunked_array([*before.chunks, *rows["entry"].slice(0, rows.num_rows - 1).chunks])
    is_first = pc.not_equal(rows["entry"].combine_chunks(), former.combine_chunks())
    first = rows.filter(is_first)
    join = pc.binary_join_element_wise
    heads = join(
        "\n", first["date"].cast(pa.string()), ' * "', _as_quoted(first["text"]), '"\n  entry: "',
        _as_quoted(first["entry"]), '"\n', "",
    )  # fmt: skip
    currencies = rows["currency"]
    distinct = pc.unique(currencies)
    names = pa.array(map(_commodity, distinct.to_pylist()), pa.string())
    moved = join(
        "  ", _names_of_postings(rows, _account), "  ", amount_texts(rows["amount"]), " ",
        names.take(pc.index_in(currencies, distinct)), "",
    ).combine_chunks()  # fmt: skip
    headed = join(heads, moved.filter(is_first), "")
    return pc.replace_with_mask(moved, is_first, headed.combine_chunks())


def _as_quoted(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Apply `_quoted` to each text of a column."""
    slashed = pc.replace_substring(clean_column(texts), "\\", "\\\\")
    return pc.replace_substring(slashed, '"', '\\"')


def _used(books: Accounting) -> Iterator[tuple[str, str]]:
    table = books.postings.arrow.select(["role", "of"]).group_by(["role", "of"]).aggregate([])
    yield from ((row["role"], row["of"]) for row in table.to_pylist())


def _account(role: str, of: str) -> str:
    part = re.sub(r"[^A-Z0-9]", "-", of.upper(), flags=re.ASCII).strip("-")
    return f"{_BEANCOUNT[role]}:{part}" if part else _BEANCOUNT[role]


def _commodity(currency: str) -> str:
    """Return a currency as a Beancount commodity: starts with a capital, 24 characters at most."""
    plain = _NOT_A_COMMODITY.sub("-", currency.upper())
    framed = f"X{plain}X" if not (plain[:1].isalpha() and plain[-1:].isalnum()) else plain
    return framed[:24].rstrip("'._-")


def _quoted(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
