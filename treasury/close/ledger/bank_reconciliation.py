"""The bank reconciliation of each account with the postings of the company's books.

Balance per bank, plus what is in the books and not at the bank, less what is at the bank and not in
the books, is the balance per books. The rest is unexplained. Currencies are never added to each
other, and an account that the file lacks is not compared.

The file may begin before the month. Postings and bank lines are then compared from the first day
that both sides cover, so that items outstanding since an earlier month are listed too. Earlier
postings and lines are in both balances.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

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
from treasury.close.ledger.ledger_accounts import LedgerAccounts
from treasury.close.ledger.ledger_comparison import (
    AGREES,
    EXPLAINED,
    FINE,
    NOT_COMPARED,
    compared_findings,
    compared_words,
    with_scope,
    zone_of,
)
from treasury.close.ledger.ledger_lines import Posting, ledger_postings
from treasury.close.ledger.posting_pairs import (
    ExchangeableGroup,
    LedgerMovement,
    PairedMovements,
    pair_movements,
    references_in,
)
from treasury.close.ledger.posting_sums import with_collectives
from treasury.close.result_words import amount_words, count, day, noted_html
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import difference, total
from treasury.core.tables.column_types import DATE, INTEGER, TEXT
from treasury.core.tables.csv_input import small_file
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.matching.engine import pipeline
from treasury.month.funding import short_account
from treasury.month.question_tables import question_terms
from treasury.month.reconciliation import STEPS, Reconciliation

BOOKS: Final = grouped_schema(
    (TEXT, "account", "name", "currency"),
    (
        amount_in("currency"),
        "balance",
        "in_books_only",
        "at_bank_only",
        "expected",
        "books",
        "unexplained",
    ),
    (INTEGER, "postings", "pairs", "groups", "outstanding"),
    (TEXT, "finding"),
)
"""One row per bank account: its reconciliation with the books, amounts in `currency`.

`balance` is per bank, `books` per books. `expected` is `balance` plus `in_books_only` less
`at_bank_only`; `unexplained` is `books` less `expected`. Amounts that the account received are
positive. `postings` is null for an account that the file does not name; it is not compared.
"""

OUTSTANDING: Final = grouped_schema(
    (TEXT, "account", "name", "currency", "side"),
    (DATE, "day"),
    (amount_in("currency"), "amount"),
    (TEXT, "document", "text"),
    (INTEGER, "days"),
    (DATE, "seen_on"),
    (INTEGER, "line"),
    (TEXT, "entry_id"),
)
"""One row per outstanding item: `side` is `in the books alone` or `at the bank alone`.

Amounts are in `currency`; the rows of a side add up to the account's sum of that side. `days` is
its age at the month's end. `seen_on` is the later day on which the other side shows it, if a
reference proves that. `line` is the posting's line in the file, `entry_id` the bank line.
"""

PAIRS: Final = grouped_schema(
    (TEXT, "account", "currency", "match", "decided_by"),
    (amount_in("currency"), "amount"),
    (DATE, "posted_on", "booked_on"),
    (TEXT, "document", "text"),
    (INTEGER, "line"),
    (TEXT, "counterparty_name", "remittance", "entry_id"),
)
"""One row per pair of a posting and a bank line, or per member of a larger match.

The columns of the other side are null for a member of a larger match.

`match` is `pair`, or the number of the group or of the collective posting. The members of a group
have one amount and days near each other, so that it is not known which posting is which line. Of a
collective posting, one side has one member, and the other side's members of one day add up to it.
Amounts are in `currency`.
"""

IN_BOOKS: Final = "in the books alone"
AT_BANK: Final = "at the bank alone"
_BOOKED: Final = step_sql("treasury.close.steps", "ledger/booked_lines")
_UNKNOWN_BALANCE: Final = (
    "its balance per books is not known: export the opening balance too, or give --ledger as well"
)
_MOST_NAMED: Final = 5
"""Number of accounts that a note names."""
_WIDTH: Final = 46
"""Number of characters of the labels of a printed statement."""

_Row = dict[str, Any]


class BankReconciliation(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The bank reconciliation with the books.

    `accounts` as in BOOKS, `items` as in OUTSTANDING, `pairs` as in PAIRS. `notes` name the
    accounts in the file that belong to no bank account. `str()` gives the statement of each
    account.
    """

    title: str
    accounts: Table
    items: Table
    pairs: Table
    notes: tuple[str, ...]
    sql: str
    month_end: date

    def sheets(self) -> Mapping[str, Table]:
        """Return the accounts, the outstanding items and the pairs by sheet name."""
        return {"Books": self.accounts, "Outstanding": self.items, "Pairs": self.pairs}

    @property
    def compares(self) -> bool:
        """Whether the file names one of our bank accounts in scope."""
        return bool(compared_findings(self.accounts.arrow.to_pylist()))

    @property
    def agrees(self) -> bool:
        """Whether the accounts in the file agree or are explained by outstanding items.

        False if the file names none of our bank accounts.
        """
        findings = compared_findings(self.accounts.arrow.to_pylist())
        return bool(findings) and FINE.issuperset(findings)

    def findings(self) -> dict[AccountKey, str]:
        """Return the finding on each account in the file."""
        return {
            account_key(row["account"], row["currency"]): row["finding"]
            for row in self.accounts.arrow.to_pylist()
            if row["postings"] is not None
        }

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        statements = map(self._statement, self.accounts.arrow.to_pylist())
        return "\n\n".join((self.title, *statements, *self.notes))

    def _repr_html_(self) -> str:
        return noted_html(self.title, self.notes, self.accounts)

    def _statement(self, row: _Row) -> str:
        """Return the statement of an account as lines of text."""
        name = f"{clean(row['name'])}, " if row["name"] else ""
        head = f"{name}{row['currency']} {short_account(row['account'])}: {row['finding']}"
        if row["postings"] is None:
            return head
        own = [
            item
            for item in self.items.arrow.to_pylist()
            if (item["account"], item["currency"]) == (row["account"], row["currency"])
        ]

        def amount_line(label: str, amount: Decimal | None, note: str = "") -> str:
            words = "not known" if amount is None else amount_words(amount, row["currency"])
            return f"  {label[:_WIDTH]:<{_WIDTH}} {words:>20}{note}"

        def item_line(item: _Row) -> str:
            words = " ".join(filter(None, (item["document"], item["text"])))
            seen_words = f"  seen {day(item['seen_on'])}" if item["seen_on"] else ""
            return amount_line(f"    {day(item['day']):>6}  {words}", item["amount"], seen_words)

        counts = (
            f"  {count(row['postings'], 'posting')}, {count(row['pairs'], 'pair')},"
            f" {count(row['groups'], 'group')} that could be exchanged"
        )
        collectives = {
            pair["match"]
            for pair in self.pairs.arrow.to_pylist()
            if (pair["account"], pair["currency"]) == (row["account"], row["currency"])
            and pair["match"].startswith("collective")
        }
        if collectives:
            counts = f"{counts}, {count(len(collectives), 'collective posting')}"
        return "\n".join(
            (
                head,
                amount_line(f"Balance per bank, {day(self.month_end)}", row["balance"]),
                amount_line("+ in the books, not at the bank", row["in_books_only"]),
                *(item_line(item) for item in own if item["side"] == IN_BOOKS),
                amount_line("- at the bank, not in the books", row["at_bank_only"]),
                *(item_line(item) for item in own if item["side"] == AT_BANK),
                amount_line("= expected per books", row["expected"]),
                amount_line("Balance per books", row["books"]),
                amount_line("Unexplained", row["unexplained"]),
                counts,
            )
        )


class _BankLine(msgspec.Struct, frozen=True):
    """A booked bank line with its signed amount, and the texts in which it may name a posting."""

    entry_id: str
    day: date
    amount: Decimal
    counterparty_name: str
    remittance: str
    texts: str


class _Books(msgspec.Struct, frozen=True):
    """The books of one bank account: its postings, and its opening row by ledger account."""

    postings: list[Posting]
    openings: dict[str, Posting]


def reconcile_books(
    r: Reconciliation,
    path: Path,
    *,
    balances: pa.Table | None = None,
    accounts: LedgerAccounts | None = None,
    ledger: Mapping[AccountKey, Decimal] | None = None,
    scope: Mapping[str, str] | None = None,
) -> BankReconciliation:
    """Reconcile the month's bank balances with the postings in the file `path`.

    `ledger_postings` reads the file; an account in it is named as in `compare_ledger`. `ledger` are
    the balances of the ledger's own file, by account; without one, an account's balance is its
    opening row and its postings. The provider's accounts are compared only if the file names them.
    `scope` has the findings of accounts that are out of scope, as in `scope_words`.
    """
    mapping = accounts or LedgerAccounts()
    proved = month_balances(r, zone_of(r)) if balances is None else balances
    rows = [row for row in proved.to_pylist() if row["kind"] == "bank"]
    postings = ledger_postings(path, small_file(path), mapping.books_terms)
    books, notes = _by_bank_account(r, postings, rows, mapping)
    booked = _booked_lines(r)
    # An opening balance may be of the evening before or of the morning, so its day does not count.
    days = (posting.day for own in books.values() for posting in own.postings)
    begins = min(days, default=r.month.first)
    providers = {
        plain_account(row["account"])
        for row in r.statements.arrow.to_pylist()
        if row["source"] == "provider_report"
    }
    parts: list[tuple[_Row, list[_Row], list[_Row]]] = []
    for row in rows:
        key = account_key(row["of"], row["currency"])
        own = books.get(key)
        if own is not None:
            account = _AccountBooks(row, own, booked.get(key, []), r.month.first, r.month.last)
            parts.append(account.reconciled(begins, (ledger or {}).get(key)))
        elif key[0] not in providers:
            parts.append((_account_columns(row) | {"finding": NOT_COMPARED}, [], []))
    statements = with_scope([statement for statement, _, _ in parts], scope or {})
    items = [item for _, own_items, _ in parts for item in own_items]
    pairs = [pair for _, _, own_pairs in parts for pair in own_pairs]
    return BankReconciliation(
        title=f"Books on {r.month.last:%-d %B %Y}: {compared_words(statements)};"
        f" {count(len(items), 'outstanding item')}",
        accounts=pa.Table.from_pylist(statements, schema=BOOKS),
        items=pa.Table.from_pylist(items, schema=OUTSTANDING),
        pairs=pa.Table.from_pylist(pairs, schema=PAIRS),
        notes=notes,
        sql=r.sql("statement_proofs"),
        month_end=r.month.last,
    )


def _by_bank_account(
    r: Reconciliation, postings: Iterable[Posting], rows: Sequence[_Row], mapping: LedgerAccounts
) -> tuple[dict[AccountKey, _Books], tuple[str, ...]]:
    """Return the books of each bank account, and notes on accounts that belong to none."""
    names = without_zeros(bank_account_names(r, mapping)[0] | balance_names(rows))
    account_keys = {account_key(row["of"], row["currency"]) for row in rows}
    books: dict[AccountKey, _Books] = {}
    others: Counter[AccountKey] = Counter()
    for posting in postings:
        written = account_key(posting.account, posting.currency)
        key = account_named(written, names) or written
        if key not in account_keys:
            others[written] += 1
            continue
        own = books.setdefault(key, _Books([], {}))
        if posting.is_opening:
            # A further opening row repeats what the postings before it add up to.
            own.openings.setdefault(written[0].lstrip("0"), posting)
        elif posting.amount:
            own.postings.append(posting)
    if not others:
        return books, ()
    account_names = ", ".join(
        f"{clean(name)} ({currency})" for name, currency in sorted(others)[:_MOST_NAMED]
    )
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    note = (
        f"not compared: {count(others.total(), 'row')} on accounts that accounts.toml gives to no"
        f" bank account: {account_names}{more}"
    )
    return books, (note,)


def _booked_lines(r: Reconciliation) -> dict[AccountKey, list[_BankLine]]:
    """Return the booked lines of all months by account; without a lake, only those of the month."""
    if r.basis is None:
        rows = [row | {"texts": row["remittance"]} for row in r.lines.arrow.to_pylist()]
    else:
        with r.basis.snapshot.connection() as connection:
            pipeline.load(connection, question_terms(r.basis.question))
            pipeline.run(connection, pipeline.needed(STEPS, "bank_lines"))
            rows = connection.execute(_BOOKED).to_arrow_table().to_pylist()
    lines: defaultdict[AccountKey, list[_BankLine]] = defaultdict(list)
    for row in rows:
        amount = row["amount"] if row["direction"] == "CRDT" else row["amount"].copy_negate()
        line = _BankLine(
            row["entry_id"],
            row["booking_date"],
            amount,
            row["counterparty_name"] or "",
            row["remittance"] or "",
            row["texts"] or "",
        )
        lines[account_key(row["statement_account"], row["currency"] or "")].append(line)
    return lines


def _account_columns(row: _Row) -> _Row:
    return {
        "account": row["of"],
        "name": row["name"],
        "currency": row["currency"],
        "balance": row["closing"],
    }


class _AccountBooks(msgspec.Struct, frozen=True):
    """One bank account with its balance row, its books and its lines, from `first` to `last`."""

    row: _Row
    books: _Books
    lines: list[_BankLine]
    first: date
    last: date

    def reconciled(
        self, begins: date, ledger: Decimal | None
    ) -> tuple[_Row, list[_Row], list[_Row]]:
        """Return the account's statement, its outstanding items and its pairs.

        `begins` is the first day of the file, `ledger` the balance in the ledger's own file.
        """
        # The first day that the file and the bank lines cover, at the latest `first`.
        covered = min((line.day for line in self.lines), default=self.first)
        since = min(self.first, max(begins, covered))
        postings = [
            LedgerMovement(
                number,
                posting.day,
                posting.amount,
                references_in(f"{posting.document} {posting.text}", posting.amount),
            )
            for number, posting in enumerate(self.books.postings)
        ]
        lines = [
            LedgerMovement(number, line.day, line.amount, references_in(line.texts, line.amount))
            for number, line in enumerate(self.lines)
        ]
        paired = pair_movements(postings, lines, since, self.last)
        paired = with_collectives(paired, postings, lines, since, self.last)
        items = sorted(
            self._outstanding(paired, since), key=lambda item: (item["side"], item["day"])
        )
        pairs = list(self._pairs(paired))
        sums = {
            side: total(item["amount"] for item in items if item["side"] == side)
            for side in (IN_BOOKS, AT_BANK)
        }
        by_postings = self._balance_by_postings()
        books = by_postings if ledger is None else ledger
        balance = self.row["closing"]
        expected, unexplained = None, None
        if balance is not None:
            expected = total((balance, sums[IN_BOOKS], sums[AT_BANK].copy_negate()))
            unexplained = None if books is None else difference(books, expected)
        statement = _account_columns(self.row) | {
            "in_books_only": sums[IN_BOOKS],
            "at_bank_only": sums[AT_BANK],
            "expected": expected,
            "books": books,
            "unexplained": unexplained,
            "postings": len(self.books.postings),
            "pairs": sum(pair["match"] == "pair" for pair in pairs),
            "groups": len(paired.groups),
            "outstanding": len(items),
        }
        apart = None
        if ledger is not None and by_postings is not None:
            apart = difference(ledger, by_postings)
        return statement | {"finding": self._finding(statement, apart)}, items, pairs

    def _balance_by_postings(self) -> Decimal | None:
        """Return the sum of the opening rows and postings since; None without an opening row."""
        openings = self.books.openings
        if not openings:
            return None
        amounts = [opening.amount for opening in openings.values()]
        for posting in self.books.postings:
            opening = openings.get(plain_account(posting.account).lstrip("0"))
            is_within = opening is None or opening.day <= posting.day
            if is_within and posting.day <= self.last:
                amounts.append(posting.amount)
        return total(amounts)

    def _finding(self, statement: _Row, apart: Decimal | None) -> str:
        currency, unexplained = self.row["currency"], statement["unexplained"]
        if not self.row["proved"] or statement["balance"] is None:
            reason = f": {self.row['problem']}" if self.row["problem"] else ""
            return f"the balance is not proved{reason}"
        if statement["books"] is None:
            return _UNKNOWN_BALANCE
        if apart:
            words = amount_words(apart.copy_abs(), currency)
            return f"the ledger's balance differs by {words} from its opening row and postings"
        if unexplained:
            side = "more" if unexplained > 0 else "less"
            words = amount_words(unexplained.copy_abs(), currency)
            return f"the books have {words} {side} than outstanding items explain"
        return EXPLAINED if statement["outstanding"] else AGREES

    def _outstanding(self, paired: PairedMovements, since: date) -> Iterator[_Row]:
        """Yield the items that one side had by the last day and the other had not."""
        for posting in paired.postings:
            if since <= posting.day <= self.last:
                yield self._item(IN_BOOKS, posting, paired.reasons.get((True, posting.number), ""))
        for line in paired.lines:
            if since <= line.day <= self.last:
                yield self._item(AT_BANK, line, paired.reasons.get((False, line.number), ""))
        for pair in paired.pairs:
            if pair.posting.day <= self.last < pair.line.day:
                yield self._item(IN_BOOKS, pair.posting) | {"seen_on": pair.line.day}
            elif pair.line.day <= self.last < pair.posting.day:
                yield self._item(AT_BANK, pair.line) | {"seen_on": pair.posting.day}
        for number, group in enumerate(paired.groups, 1):
            if group.excess:
                yield self._group_item(number, group)

    def _item(self, side: str, movement: LedgerMovement, reason: str = "") -> _Row:
        """Return the item of a movement; its text ends with why a sum stays undecided, if any."""
        if side == IN_BOOKS:
            posting = self.books.postings[movement.number]
            own = {
                "document": clean(posting.document),
                "text": "; ".join(filter(None, (clean(posting.text), reason))),
                "line": posting.line,
            }
        else:
            line = self.lines[movement.number]
            words = " ".join(filter(None, (line.counterparty_name, line.remittance)))
            text = "; ".join(filter(None, (clean(words), reason)))
            own = {"text": text, "entry_id": line.entry_id}
        return own | self._item_columns(side, movement.day, movement.amount)

    def _group_item(self, number: int, group: ExchangeableGroup) -> _Row:
        """Return the item of a group with more members on one side; which of them is not known."""
        side, members = (IN_BOOKS, group.postings) if group.excess > 0 else (AT_BANK, group.lines)
        noun = "posting" if side == IN_BOOKS else "bank line"
        amount = total([group.amount] * abs(group.excess))
        text = f"{abs(group.excess)} of the {count(len(members), noun)} of group {number}"
        return self._item_columns(side, members[0].day, amount) | {"text": text}

    def _item_columns(self, side: str, on: date, amount: Decimal) -> _Row:
        return {
            "account": self.row["of"],
            "name": self.row["name"],
            "currency": self.row["currency"],
            "side": side,
            "day": on,
            "amount": amount,
            "days": (self.last - on).days,
        }

    def _pairs(self, paired: PairedMovements) -> Iterator[_Row]:
        """Yield the pairs that both sides had by the last day, then the groups and the sums."""
        for pair in paired.pairs:
            if max(pair.posting.day, pair.line.day) <= self.last:
                decided_by = f"reference {pair.reference}" if pair.reference else "amount and day"
                yield {
                    **self._posting_columns(pair.posting),
                    **self._line_columns(pair.line),
                    "match": "pair",
                    "decided_by": decided_by,
                }
        for number, group in enumerate(paired.groups, 1):
            members = [
                *map(self._posting_columns, group.postings),
                *map(self._line_columns, group.lines),
            ]
            for member in members:
                yield member | {"match": f"group {number}", "decided_by": "could be exchanged"}
        for number, sum_of in enumerate(paired.collectives, 1):
            sides = (self._posting_columns, self._line_columns)
            whole, part = sides if sum_of.is_posting else sides[::-1]
            decided_by = f"sum of all that was left on {day(sum_of.parts[0].day)}"
            if sum_of.reference:
                decided_by = f"sum, reference {sum_of.reference}"
            for member in (whole(sum_of.whole), *map(part, sum_of.parts)):
                yield member | {"match": f"collective {number}", "decided_by": decided_by}

    def _posting_columns(self, movement: LedgerMovement) -> _Row:
        posting = self.books.postings[movement.number]
        return {
            "account": self.row["of"],
            "currency": self.row["currency"],
            "amount": movement.amount,
            "posted_on": movement.day,
            "document": clean(posting.document),
            "text": clean(posting.text),
            "line": posting.line,
        }

    def _line_columns(self, movement: LedgerMovement) -> _Row:
        line = self.lines[movement.number]
        return {
            "account": self.row["of"],
            "currency": self.row["currency"],
            "amount": movement.amount,
            "booked_on": movement.day,
            "counterparty_name": clean(line.counterparty_name),
            "remittance": clean(line.remittance),
            "entry_id": line.entry_id,
        }
