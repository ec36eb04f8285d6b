"""The company's ledger file for a close.

The journal stores its content, because a file on a person's disk may be gone a year later.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.close.ledger.coin_entries import CoinBooks
from treasury.close.ledger.ledger_accounts import LedgerAccounts, load_mapping, read_mapping
from treasury.close.ledger.ledger_comparison import LedgerComparison, compare_ledger
from treasury.close.ledger.ledger_lines import ledger_lines
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


MAPPING: Final = "accounts.toml"
"""The workspace's mapping of roles to the ledger's accounts."""


class LedgerFile(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger file: its name, its content and the SHA-256 of its bytes.

    `mapping` is the text of the mapping of its accounts; empty without one.
    """

    file_name: str
    content: str
    sha256: str
    mapping: str = ""

    def draft(self, month: str, actor: Actor) -> Draft:
        """Return the draft entry with the ledger; it is journaled when the month is prepared."""
        return Draft(_KIND, month, msgspec.structs.asdict(self), actor)


def read_ledger(path: Path, workspace: Path | None = None) -> LedgerFile:
    """Read a ledger's file of accounts and balances; raise InputError naming a wrong line.

    The mapping `accounts.toml` of the workspace is included, if there is one.
    """
    content = small_file(path, LARGEST)
    mapping, accounts = "", LedgerAccounts()
    if workspace is not None and (workspace / MAPPING).is_file():
        # A mapping that cannot be read is refused here.
        accounts = load_mapping(workspace / MAPPING)
        mapping = read_regular(workspace / MAPPING)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        # Only the heads of columns and the names of accounts have letters beyond ASCII.
        text = content.decode(utf_16(content[:_FIRST]) or "windows-1252", "replace")
    # The pack has the text as UTF-8, with this hash.
    content = text.encode()
    if not ledger_lines(path, content, accounts.terms, ask=True):
        raise InputError(f"{path} names no account", do="export the balances at the month's end")
    return LedgerFile(
        file_name=path.name,
        content=text,
        sha256=hashlib.sha256(content).hexdigest(),
        mapping=mapping,
    )


def keep_ledger(ledger: LedgerFile, workspace: Path, month: Month) -> None:
    """Store a month's ledger in the workspace, in place of an earlier one.

    Every list of open items then includes its comparison.
    """
    folder = workspace / _LEDGER_FOLDER / str(month)
    make_folder(folder)
    kept = folder / ledger.file_name
    # The earlier one is removed last, so that a month never loses its ledger.
    write_whole(kept, ledger.content.encode())
    for former in folder.iterdir():
        if former != kept:
            former.unlink()


def kept_ledger(workspace: Path, month: Month) -> LedgerFile | None:
    """Return the ledger that was last given for a month; None without one."""
    folder = workspace / _LEDGER_FOLDER / str(month)
    files = folder.iterdir() if folder.is_dir() else ()
    last = max(files, key=lambda file: file.stat().st_mtime_ns, default=None)
    return None if last is None else read_ledger(last, workspace)


def compare_with(
    r: Reconciliation, ledger: LedgerFile, balances: pa.Table, coins: CoinBooks | None = None
) -> LedgerComparison:
    """Compare the ledger with the month's balances; `coins` are the entries of measured coins."""
    with tempfile.TemporaryDirectory(prefix="treasury-") as name:
        path = Path(name) / "ledger.csv"
        path.write_text(ledger.content, "utf-8", newline="")
        accounts = read_mapping(ledger.mapping, MAPPING) if ledger.mapping else None
        return compare_ledger(r, path, balances=balances, accounts=accounts, coins=coins)


def journaled_ledger(entries: Iterable[Entry], close: Close, until: Head) -> LedgerFile | None:
    """Return the ledger of a month's close: journaled after the close's inputs, before `until`."""
    ledger = None
    for entry in entries:
        own = entry.kind == _KIND and entry.subject == close.month
        if own and close.head.seq < entry.seq < until.seq:
            ledger = convert(entry.body, LedgerFile)
    return ledger
