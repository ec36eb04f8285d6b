"""The company's ledger compared with the month's balances, account by account.

The expected ledger balance is the account's balance at the cut-off, plus money in transit to it,
less money in transit from it. In transit to it are payouts of completed off-ramps that the bank did
not show yet, and transfers from another own account that had left that account. In transit from it
are debits that are still pending at the bank. For a wallet, no money is in transit: the payment for
coins that had not arrived is on the account for money in transit. A ledger never agrees with an
unproved balance. Currencies are never compared with or added to each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.balances import month_balances
from treasury.close.ledger.account_names import (
    AccountKey,
    account_key,
    account_named,
    balance_names,
    bank_account_names,
    without_zeros,
)
from treasury.close.ledger.accounting import TRANSIT, accounting
from treasury.close.ledger.coin_entries import CoinBooks
from treasury.close.ledger.ledger_accounts import LedgerAccounts
from treasury.close.ledger.ledger_lines import ledger_lines
from treasury.close.ledger.transit import owed_payouts
from treasury.close.result_words import amount_words, amounts_words, count, noted_html
from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import difference, total, totals
from treasury.core.tables.column_types import INTEGER, TEXT
from treasury.core.tables.csv_input import CsvLine, small_file
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.month.items.evidence_items import OUT_OF_SCOPE
from treasury.month.reconciliation import Reconciliation, matched_in_full

LEDGER: Final = grouped_schema(
    (TEXT, "account", "name", "currency"),
    (
        amount_in("currency"),
        "balance",
        "in_transit_in",
        "in_transit_out",
        "expected",
        "ledger",
        "difference",
    ),
    (INTEGER, "line"),
    (TEXT, "finding"),
)
"""One row per account on either side, amounts in `currency`.

`difference` is the ledger less the expected balance; `line` is the line in the ledger's file. It is
null for an account that the file does not name; that account is not compared.
"""

AGREES: Final = "agrees"
EXPLAINED: Final = "outstanding items explain it"
"""The finding on an account whose postings were reconciled with its bank lines."""
NOT_COMPARED: Final = "not in the file: not compared"
FINE: Final = frozenset({AGREES, EXPLAINED})
"""The findings that need no person."""
_WALLET: Final = "wallet"
_ON_RAMPS, _OFF_RAMPS, _OWN_TRANSFERS = TRANSIT
_NOTHING: Final = Decimal(0)
_PENDING: Final = step_sql("treasury.close.steps", "ledger/pending_debits")
_RECEIVERS: Final = step_sql("treasury.close.steps", "ledger/line_receivers")

_Row = dict[str, Any]


class LedgerComparison(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The ledger compared with the balances: `lines` as in LEDGER; `notes` list exclusions."""

    title: str
    lines: Table
    notes: tuple[str, ...]
    sql: str

    def sheets(self) -> Mapping[str, Table]:
        """Return the accounts by sheet name."""
        return {"Ledger": self.lines}

    @property
    def compares(self) -> bool:
        """Whether the file names an account in scope."""
        return bool(compared_findings(self.lines.arrow.to_pylist()))

    @property
    def agrees(self) -> bool:
        """Whether the file names accounts in scope, and all of these agree or are explained."""
        findings = compared_findings(self.lines.arrow.to_pylist())
        return bool(findings) and FINE.issuperset(findings)

    def stated_balances(self) -> dict[AccountKey, Decimal]:
        """Return the balance of each account in the ledger's file."""
        return {
            account_key(row["account"], row["currency"]): row["ledger"]
            for row in self.lines.arrow.to_pylist()
            if row["line"] is not None
        }

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        return noted_html(self.title, self.notes, self.lines)


class _OwnBooks(msgspec.Struct, frozen=True):
    """The month's postings to each ledger account, and the roles of each account."""

    posted: Mapping[AccountKey, Decimal]
    roles: Mapping[AccountKey, tuple[str, ...]]


class _Way(msgspec.Struct, frozen=True):
    """Money in transit at the cut-off by account and currency, and notes on excluded amounts."""

    into: Mapping[AccountKey, Decimal]
    out: Mapping[AccountKey, Decimal]
    notes: tuple[str, ...]


def compare_ledger(
    r: Reconciliation,
    path: Path,
    *,
    balances: pa.Table | None = None,
    accounts: LedgerAccounts | None = None,
    coins: CoinBooks | None = None,
) -> LedgerComparison:
    """Compare the ledger in the CSV file `path` with the month's balances on its last day.

    `ledger_lines` reads the file; an account in it is an IBAN, a wallet's address, an account's id
    or name, or a ledger account of the mapping. `balances` are those of `month_balances`, if they
    are known already. `accounts` are the ledger's accounts for our roles, and `coins` the entries
    of measured coins. The provider's accounts are compared only if the ledger names them. Raise
    InputError, naming file and line, for a line that cannot be read or occurs twice.
    """
    r = matched_in_full(r)
    proved = month_balances(r, zone_of(r)) if balances is None else balances
    rows, mapping = proved.to_pylist(), accounts or LedgerAccounts()
    bank_names, joined = bank_account_names(r, mapping)
    book_lines = _by_account(
        path,
        ledger_lines(path, small_file(path), mapping.terms),
        without_zeros(bank_names | balance_names(rows)),
        joined,
    )
    accounts_held = {account_key(row["of"], row["currency"]) for row in rows}
    others = frozenset(book_lines.keys() - accounts_held)
    books = _own_books(r, zone_of(r), mapping, coins) if others else _OwnBooks({}, {})
    by_name = without_zeros({key: key for key in books.posted})
    posted_lines = {
        posted: book_lines.pop(key)
        for key in sorted(others)
        if (posted := account_named(key, by_name)) is not None
    }
    way = _on_the_way(r, books, frozenset(posted_lines))
    covered = _covered(rows, book_lines, books, frozenset(posted_lines))
    providers = {
        plain_account(row["account"])
        for row in r.statements.arrow.to_pylist()
        if row["source"] == "provider_report"
    }
    lines = [
        _compared(row, book_lines.pop(key, None), way)
        for row in rows
        for key in [account_key(row["of"], row["currency"])]
        if key in book_lines or (key[0] not in providers and key not in covered)
    ]
    lines += [_posted(key, line, books, rows) for key, line in posted_lines.items()]
    lines += [_unknown(line) for line in book_lines.values()]
    return LedgerComparison(
        title=_title(r, lines),
        lines=pa.Table.from_pylist(lines, schema=LEDGER),
        notes=way.notes,
        sql=r.sql("statement_proofs"),
    )


def with_findings(
    r: Reconciliation,
    comparison: LedgerComparison,
    findings: Mapping[AccountKey, str],
    scope: Mapping[str, str],
) -> LedgerComparison:
    """Return the comparison with the findings of accounts whose postings were reconciled.

    `scope` has the findings of accounts that are out of scope, as in `scope_words`.
    """
    lines = comparison.lines.arrow.to_pylist()
    for line in lines:
        if line["finding"] != NOT_COMPARED:
            key = account_key(line["account"] or "", line["currency"] or "")
            line["finding"] = findings.get(key, line["finding"])
    lines = with_scope(lines, scope)
    return msgspec.structs.replace(
        comparison, title=_title(r, lines), lines=pa.Table.from_pylist(lines, schema=LEDGER)
    )


def compared_findings(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the findings on the accounts that are compared: in the file, and in scope."""
    findings = (row["finding"] for row in rows)
    return [
        finding
        for finding in findings
        if finding != NOT_COMPARED and not finding.startswith(OUT_OF_SCOPE)
    ]


def compared_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return words such as `6 of 10 accounts compared, 1 to look at, 2 out of scope`."""
    findings = compared_findings(rows)
    apart = sum(finding not in FINE for finding in findings)
    outside = sum(row["finding"].startswith(OUT_OF_SCOPE) for row in rows)
    of_all = "" if len(findings) == len(rows) else f"{len(findings)} of "
    words = f"{of_all}{count(len(rows), 'account')} compared, {apart} to look at"
    return f"{words}, {outside} out of scope" if outside else words


def with_scope(rows: Iterable[_Row], scope: Mapping[str, str]) -> list[_Row]:
    """Return the accounts of a comparison; those in `scope` have its finding."""
    return [
        {**row, "finding": scope.get(plain_account(row["account"] or ""), row["finding"])}
        for row in rows
    ]


def _title(r: Reconciliation, lines: Sequence[_Row]) -> str:
    return f"Ledger on {r.month.last:%-d %B %Y}: {compared_words(lines)}"


def zone_of(r: Reconciliation) -> ZoneInfo:
    """Return the reporting time zone of an answer."""
    return r.basis.question.zone if r.basis is not None else ZoneInfo("UTC")


# Reading the ledger's file.


def _by_account(
    path: Path,
    lines: Iterable[CsvLine],
    names: Mapping[AccountKey, AccountKey],
    joined: Mapping[AccountKey, frozenset[AccountKey]],
) -> dict[AccountKey, CsvLine]:
    """Return the line of each account; add up the lines of accounts in `joined`.

    These have several ledger accounts. Raise InputError if another account has two lines.
    """
    book_lines: dict[AccountKey, CsvLine] = {}
    names_used: defaultdict[AccountKey, set[AccountKey]] = defaultdict(set)
    for line in lines:
        written = account_key(line.values["account"], line.values["currency"])
        key = account_named(written, names) or written
        if key not in book_lines:
            book_lines[key] = line
        elif key in joined and written in joined[key] - names_used[key]:
            amounts = (book_lines[key].values["balance"], line.values["balance"])
            book_lines[key] = CsvLine(
                book_lines[key].number, book_lines[key].values | {"balance": total(amounts)}
            )
        else:
            raise InputError(
                f"{path}, line {line.number}: {clean(line.values['account'])!r:.60} in {key[1]}"
                f" is on line {book_lines[key].number} already",
                do="give each account one line per currency",
            )
        names_used[key].add(written)
    return book_lines


# Comparison by ledger accounts that our own export posts to.


def _own_books(
    r: Reconciliation, zone: ZoneInfo, accounts: LedgerAccounts, coins: CoinBooks | None = None
) -> _OwnBooks:
    """Return the month's postings summed by ledger account and currency, and their roles."""
    rows = accounting(r, zone, coins=coins).balances().arrow.to_pylist()
    keys = [account_key(accounts.of(row["role"], row["of"]), row["currency"]) for row in rows]
    roles: defaultdict[AccountKey, dict[str, None]] = defaultdict(dict)
    for key, row in zip(keys, rows, strict=True):
        roles[key][row["role"]] = None
    posted = totals(zip(keys, (row["balance"] for row in rows), strict=True))
    return _OwnBooks(posted, {key: tuple(names) for key, names in roles.items()})


# Comparison by the balances of our accounts.


def _compared(row: _Row, line: CsvLine | None, way: _Way) -> _Row:
    key = account_key(row["of"], row["currency"])
    balance, into, out = row["closing"], way.into.get(key, _NOTHING), way.out.get(key, _NOTHING)
    expected = None if balance is None else total((balance, into, out.copy_negate()))
    ledger = None if line is None else line.values["balance"]
    gap = None if expected is None or ledger is None else difference(ledger, expected)
    comparison = {
        "account": row["of"],
        "name": row["name"],
        "currency": row["currency"],
        "balance": balance,
        "in_transit_in": into,
        "in_transit_out": out,
        "expected": expected,
        "ledger": ledger,
        "difference": gap,
        "line": None if line is None else line.number,
    }
    return comparison | {"finding": _finding(row, comparison)}


def _finding(row: _Row, comparison: _Row) -> str:
    if comparison["line"] is None:
        return NOT_COMPARED
    gap = comparison["difference"]
    if not row["proved"] or gap is None:
        reason = f": {row['problem']}" if row["problem"] else ""
        return f"the balance is not proved{reason}"
    if not gap:
        return AGREES
    side = "more" if gap > 0 else "less"
    words = f"the ledger has {amount_words(gap.copy_abs(), comparison['currency'])} {side}"
    on_way = difference(comparison["in_transit_in"], comparison["in_transit_out"])
    apart = on_way and gap == on_way.copy_negate()
    return f"{words}: what is in transit is not on this account of the ledger" if apart else words


def _covered(
    rows: Sequence[_Row],
    book_lines: Mapping[AccountKey, CsvLine],
    books: _OwnBooks,
    posted: frozenset[AccountKey],
) -> set[AccountKey]:
    """Return the wallets that have no ledger line of their own and need none.

    They need none if the ledger has an account of the role `wallet`.
    """
    if not any(_WALLET in books.roles[key] for key in posted):
        return set()
    wallets = {account_key(row["of"], row["currency"]) for row in rows if row["kind"] != "bank"}
    return wallets - book_lines.keys()


def _posted(key: AccountKey, line: CsvLine, books: _OwnBooks, rows: Sequence[_Row]) -> _Row:
    """Compare an account of our own export with the month's postings to it.

    The export contains the movements of wallets, not their balances. The ledger may state either
    amount.
    """
    currency, ledger, expected = key[1], line.values["balance"], books.posted[key]
    balances = [
        row["closing"] for row in rows if row["kind"] != "bank" and row["currency"] == currency
    ]
    is_known = bool(balances) and None not in balances
    if books.roles[key] == (_WALLET,) and is_known and ledger == total(balances):
        expected = ledger
    gap = difference(ledger, expected)
    side = "more" if gap > 0 else "less"
    return {
        "account": clean(line.values["account"]),
        "name": ", ".join(books.roles[key]),
        "currency": currency,
        "balance": expected,
        "in_transit_in": _NOTHING,
        "in_transit_out": _NOTHING,
        "expected": expected,
        "ledger": ledger,
        "difference": gap,
        "line": line.number,
        "finding": f"the ledger has {amount_words(gap.copy_abs(), currency)} {side} than the month"
        " posted"
        if gap
        else AGREES,
    }


def _unknown(line: CsvLine) -> _Row:
    values = line.values
    return {
        "account": clean(values["account"]),
        "currency": values["currency"].upper(),
        "ledger": values["balance"],
        "line": line.number,
        "finding": "in the ledger alone: no statement and no wallet here has this account",
    }


# Money in transit to and from accounts.


def _on_the_way(r: Reconciliation, books: _OwnBooks, posted: frozenset[AccountKey]) -> _Way:
    """Return money in transit per bank account, unless the ledger has a separate account for it."""
    if r.basis is None:
        return _Way({}, {}, ())
    notes: list[str] = []
    parts = {
        _OFF_RAMPS: list(_payouts(r, notes)),
        _OWN_TRANSFERS: list(_own_transfers(r)),
        _ON_RAMPS: list(_pending(r, notes)),
    }
    for role, expected in parts.items():
        currencies = {key[1] for key in posted if role in books.roles[key]}
        if currencies:
            parts[role] = [part for part in expected if part[0][1] not in currencies]
            moved = (part for part in expected if part[0][1] in currencies)
            amounts = amounts_words((amount, key[1]) for key, amount in moved) or "nothing"
            own_account = f"the ledger's own account of {role}, not at a bank"
            notes.append(f"{amounts} is expected on {own_account}")
    into = totals((*parts[_OFF_RAMPS], *parts[_OWN_TRANSFERS]))
    return _Way(into, totals(parts[_ON_RAMPS]), tuple(notes))


def _query_rows(r: Reconciliation, query: str, ids: Iterable[str] | None = None) -> list[_Row]:
    assert r.basis is not None
    params = None if ids is None else {"ids": list(ids)}
    return r.basis.snapshot.sql(query, params).to_pylist()


def _payouts(r: Reconciliation, notes: list[str]) -> Iterator[tuple[AccountKey, Decimal]]:
    """Yield the net amounts of off-ramps owed at the month's end that had certainly not arrived."""
    for payout in owed_payouts(r):
        name = clean(payout.reference)
        if not payout.is_owed:
            notes.append(f"{name} is not counted as on its way: the service had not completed it")
        elif payout.maybe_on is not None:
            notes.append(
                f"{name} is not counted as on its way: a line of {payout.maybe_on} may be its"
                " payout; decide it"
            )
        elif payout.amount is None or not payout.account or not payout.currency:
            notes.append(f"{name} is on its way and not counted: its net or its account is unknown")
        else:
            yield account_key(payout.account, payout.currency), payout.amount


def _own_transfers(r: Reconciliation) -> Iterator[tuple[AccountKey, Decimal]]:
    """Yield transfers between own bank accounts that had left one and not reached the other."""
    last: date = r.month.last
    crossing = {
        row["out_id"]: row
        for row in r.internal_transfers.arrow.to_pylist()
        if row["kind"] == "between own bank accounts"
        and row["state"] in {"both_legs", "under_way"}
        and row["out_id"] is not None
        and row["out_on"] <= last
        and (row["in_on"] is None or row["in_on"] > last)
    }
    for leg in _query_rows(r, _RECEIVERS, sorted(crossing)):
        row = crossing[leg["entry_id"]]
        yield account_key(leg["account"], row["currency"]), row["amount"]


def _pending(r: Reconciliation, notes: list[str]) -> Iterator[tuple[AccountKey, Decimal]]:
    """Yield debits of the month or earlier that are still pending at the bank."""
    for row in _query_rows(r, _PENDING):
        if row["on_day"] is not None and row["on_day"] > r.month.last:
            continue
        if row["amount"] is None or row["on_day"] is None:
            notes.append(
                f"a pending debit of {clean(row['account'])} is not counted: no amount or day"
            )
        else:
            yield account_key(row["account"], row["currency"]), row["amount"]
