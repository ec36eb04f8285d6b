"""The files of the company's ledger for a close: its balances, its postings, or both.

The journal stores their content, because a file on a person's disk may be gone a year later.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.close.ledger.bank_reconciliation import BankReconciliation, reconcile_books
from treasury.close.ledger.coin_entries import CoinBooks
from treasury.close.ledger.ledger_accounts import LedgerAccounts, load_mapping, read_mapping
from treasury.close.ledger.ledger_comparison import (
    LedgerComparison,
    compare_ledger,
    with_findings,
)
from treasury.close.ledger.ledger_lines import ledger_lines, ledger_postings
from treasury.close.ledger.ledger_scope import scope_words
from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.files.durable import make_folder, write_whole
from treasury.core.files.regular_files import read_regular
from treasury.core.tables.csv_input import small_file
from treasury.journal import Actor
from treasury.journal.chain import Entry, Head
from treasury.journal.journal_store import Draft
from treasury.journal.period_history import Close
from treasury.month.reconciliation import Reconciliation
from treasury.statements.text_encoding import utf_16

_KIND: Final = "period.ledger"
LARGEST: Final = 1024 * 1024
_FIRST: Final = 4096
"""Number of bytes that show whether a file is UTF-16."""
_LEDGER_FOLDER: Final = "ledger"
"""The workspace's folder of ledgers: one folder per month, with one file."""
_BOOKS_FOLDER: Final = "books"
"""The workspace's folder of the ledgers' postings: one folder per month, with one file."""

MAPPING: Final = "accounts.toml"
"""The workspace's mapping of roles to the ledger's accounts."""


class BooksFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the ledger's postings: its name, its content and the SHA-256 of the content."""

    file_name: str
    content: str
    sha256: str


class LedgerFile(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger file: its name, its content and the SHA-256 of the content.

    `mapping` is the text of the mapping of its accounts; empty without one. `books` are the
    ledger's postings, if they were given. If only they were given, the name, the content and its
    hash are empty.
    """

    file_name: str = ""
    content: str = ""
    sha256: str = ""
    mapping: str = ""
    books: BooksFile | None = None

    def draft(self, month: str, actor: Actor) -> Draft:
        """Return the draft entry with the ledger; it is journaled when the month is prepared."""
        body = msgspec.to_builtins(self)
        if self.books is None:
            del body["books"]
        return Draft(_KIND, month, body, actor)


def read_ledger(
    path: Path | None, workspace: Path | None = None, *, books: Path | None = None
) -> LedgerFile:
    """Read a ledger's file of balances, of postings, or both; raise InputError naming a wrong line.

    The mapping `accounts.toml` of the workspace is included, if there is one.
    """
    mapping, accounts = "", LedgerAccounts()
    if workspace is not None and (workspace / MAPPING).is_file():
        # A mapping that cannot be read is refused here.
        accounts = load_mapping(workspace / MAPPING)
        mapping = read_regular(workspace / MAPPING)
    ledger_fields: dict[str, str] = {}
    postings = None
    if path is not None:
        ledger_fields = _contents(path)
        if not ledger_lines(path, ledger_fields["content"].encode(), accounts.terms, ask=True):
            raise InputError(
                f"{path} names no account", do="export the balances at the month's end"
            )
    if books is not None:
        postings = BooksFile(**_contents(books))
        if not ledger_postings(books, postings.content.encode(), accounts.books_terms, ask=True):
            raise InputError(f"{books} has no posting", do="export the postings of the month")
    return LedgerFile(**ledger_fields, mapping=mapping, books=postings)


def _contents(path: Path) -> dict[str, str]:
    """Return a file's name, its content as text, and the hash of that text."""
    content = small_file(path, LARGEST)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        # Only the heads of columns and texts have letters beyond ASCII, and they decide no amount.
        text = content.decode(utf_16(content[:_FIRST]) or "windows-1252", "replace")
    # The pack has the text as UTF-8, with this hash.
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"file_name": path.name, "content": text, "sha256": digest}


def keep_ledger(ledger: LedgerFile, workspace: Path, month: Month) -> None:
    """Store a month's ledger in the workspace, in place of an earlier one.

    Every list of open items then includes its comparison.
    """
    for name, file in ((_LEDGER_FOLDER, ledger), (_BOOKS_FOLDER, ledger.books)):
        if file is None or not file.file_name:
            continue
        folder = workspace / name / str(month)
        make_folder(folder)
        kept = folder / file.file_name
        # The earlier one is removed last, so that a month never loses its ledger.
        write_whole(kept, file.content.encode())
        for former in folder.iterdir():
            if former != kept:
                former.unlink()


def kept_ledger(
    workspace: Path, month: Month, *, path: Path | None = None, books: Path | None = None
) -> LedgerFile | None:
    """Return the ledger that was last given for a month; None without one.

    `path` and `books` are files that replace the stored ones.
    """
    path = path or _last_file(workspace / _LEDGER_FOLDER / str(month))
    books = books or _last_file(workspace / _BOOKS_FOLDER / str(month))
    return read_ledger(path, workspace, books=books) if path or books else None


def _last_file(folder: Path) -> Path | None:
    files = folder.iterdir() if folder.is_dir() else ()
    return max(files, key=lambda file: file.stat().st_mtime_ns, default=None)


class ComparedLedger(msgspec.Struct, frozen=True, eq=False):
    """A ledger compared with a month: its balances, and its postings; None if not given."""

    balances: LedgerComparison | None = None
    books: BankReconciliation | None = None


def compare_with(
    r: Reconciliation,
    ledger: LedgerFile,
    balances: pa.Table,
    coins: CoinBooks | None = None,
    scope: pa.Table | None = None,
) -> ComparedLedger:
    """Compare the ledger with the month's balances; `coins` are the entries of measured coins.

    If the postings of an account were given, they decide whether its balance agrees. `scope` has
    the accounts that two people took out of scope, as in SCOPE.
    """
    compared, reconciled = None, None
    outside = {} if scope is None else scope_words(scope)
    with tempfile.TemporaryDirectory(prefix="treasury-") as name:
        path = Path(name) / "ledger.csv"
        accounts = read_mapping(ledger.mapping, MAPPING) if ledger.mapping else None
        if ledger.file_name:
            path.write_text(ledger.content, "utf-8", newline="")
            compared = compare_ledger(r, path, balances=balances, accounts=accounts, coins=coins)
        if ledger.books is not None:
            path.write_text(ledger.books.content, "utf-8", newline="")
            reconciled = reconcile_books(
                r,
                path,
                balances=balances,
                accounts=accounts,
                ledger={} if compared is None else compared.stated_balances(),
                scope=outside,
            )
    if compared is not None:
        findings = {} if reconciled is None else reconciled.findings()
        compared = with_findings(r, compared, findings, outside)
    return ComparedLedger(compared, reconciled)


def journaled_ledger(entries: Iterable[Entry], close: Close, until: Head) -> LedgerFile | None:
    """Return the ledger of a month's close: journaled after the close's inputs, before `until`."""
    ledger = None
    for entry in entries:
        own = entry.kind == _KIND and entry.subject == close.month
        if own and close.head.seq < entry.seq < until.seq:
            ledger = convert(entry.body, LedgerFile)
    return ledger
