"""A statement while it is read in any format: its head, the ids of its rows, its running sum.

A reader creates the draft with the head, adds each movement, and gets the statement's row at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from treasury.core.errors import StatementError
from treasury.core.money import format_amount, total
from treasury.statements.balance_proof import (
    StatementBalance,
    Tally,
    closing_balance,
    opening_balance,
)
from treasury.statements.byte_stream import ByteSource, Stream
from treasury.statements.entry_identity import Ordinals, content_id, entry_id, entry_ids
from treasury.statements.entry_rows import EntryRow, Problem, StatedColumns, StatementRow

MOST_PROBLEMS = 1000
_MOST_STATEMENTS = 50_000


class StatementHead(StatedColumns, frozen=True, kw_only=True):
    """The values of a statement that are known before its movements."""

    place: str
    """Position in the file: `Stmt[1]`, `line 3`."""
    balances: Sequence[StatementBalance] = ()
    told_apart_by: tuple[object, ...] = ()
    """Further values in the bank's text that distinguish the statement from others."""
    is_page: bool = False
    """Whether the bank announces another page, so that this page ends with an interim balance."""


class StatementDraft:
    """One statement being read; `ids` counts the statements of the file with the same id."""

    def __init__(self, head: StatementHead, ids: Ordinals) -> None:
        self.head = head
        self.problems: list[Problem] = []
        self.rows = 0
        self.lost_count = 0
        self.pending = {"CRDT": Decimal(0), "DBIT": Decimal(0)}
        """Sums of the pending movements passed as columns, by direction."""
        self.balances = list(head.balances)
        self.tally = Tally(head.currency)
        """The running sum."""
        self._ordinals = Ordinals()
        self.statement_id = self._id(ids)
        if head.account is None:
            self.problem("", "the statement names no account")
        if head.currency is None and head.balances:
            self.problem("", "the statement names no currency")

    def _id(self, ids: Ordinals) -> str:
        """Return the statement's id, a hash of account, currency, ids, days and opening balance.

        Other values may differ in a corrected version of the statement.
        """
        head = self.head
        opening = opening_balance(head.balances, head.currency)
        stated = (head.account, head.currency, head.bank_statement_id, head.sequence_number)
        opened = (opening.amount.normalize(), opening.day) if opening else ()
        key = content_id((*stated, *head.told_apart_by, head.from_date, head.to_date, *opened))
        ordinal = ids.next(int(key[:16], 16))
        return key if ordinal == 0 else content_id((key, ordinal))

    def note(self, position: str, remark: str, line: int | None = None) -> None:
        """Add a note for people, without effect on the proof; only the first 1,000 are kept."""
        place = f"{self.head.place}/{position}" if position else self.head.place
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(self.head.file_name, place, remark, line))

    def problem(self, position: str, remark: str, line: int | None = None) -> None:
        """Add a problem; the statement is then not proved."""
        self.note(position, remark, line)
        self.tally.fail(f"{position}: {remark}" if position else remark)

    def lost(self, position: str, why: str, line: int | None = None) -> None:
        """Record an entry that could not be read."""
        self.lost_count += 1
        self.problem(position, f"entry not read: {why}", line)

    def count(self, row: EntryRow) -> None:
        """Add the row's amount to the sum if the row is booked and has an amount."""
        if row.amount is not None and row.entry_status == "BOOK":
            self.tally.add(row.amount, row.currency or "", row.direction)

    def take(self, row: EntryRow, own_reference: str | None, position: str, raw: str) -> None:
        """Complete a row with its ids, its position and its text as received."""
        self.rows += 1
        row.statement_id = self.statement_id
        row.ordinal = self.rows
        row.position = position
        row.raw = raw
        row.entry_id = entry_id(row, own_reference, self._ordinals)

    def take_all(
        self,
        columns: dict[str, list[Any]],
        positions: list[str],
        raws: Sequence[str],
        names: list[str | None] | None = None,
    ) -> None:
        """Complete rows, passed as columns in the statement's currency, and add their amounts.

        `names` has the counterparties' names, if ids use a spelling that differs from the column.
        """
        count, before = len(positions), self.rows
        self.rows += count
        columns["statement_id"] = [self.statement_id] * count
        columns["ordinal"] = list(range(before + 1, self.rows + 1))
        columns["position"] = positions
        columns["raw"] = list(raws)
        stated = columns if names is None else {**columns, "counterparty_name": names}
        columns["entry_id"] = entry_ids(stated, self._ordinals)
        amounts, ways = columns["amount"], columns["direction"]
        is_booked = [status == "BOOK" for status in columns["entry_status"]]
        for way in ("CRDT", "DBIT"):
            moved = [(a, b) for a, b, w in zip(amounts, is_booked, ways, strict=True) if w == way]
            booked = [amount for amount, counts in moved if counts]
            if booked:
                self.tally.add(total(booked), self.head.currency or "", way)
            if len(booked) < len(moved):
                pending = (amount for amount, counts in moved if not counts)
                self.pending[way] = total((self.pending[way], *pending))

    def _with_signs(
        self, opening: StatementBalance, closing: StatementBalance
    ) -> tuple[StatementBalance, StatementBalance]:
        """Return the balances, unsigned ones with the sign that the movements show.

        If the movements do not show a sign, both balances are credits if their full amounts are
        available without a credit line. Otherwise they stay unsigned.
        """
        if opening is closing or (opening.is_signed and closing.is_signed):
            return opening, closing
        signed_pairs = self.tally.signed(opening, closing)
        remark = "the movements show it"
        if len(signed_pairs) > 1 and opening.is_available and closing.is_available:
            signed_pairs = [
                (
                    msgspec.structs.replace(opening, is_signed=True),
                    msgspec.structs.replace(closing, is_signed=True),
                )
            ]
            remark = "they are credits, as the full amount is available"
        if len(signed_pairs) != 1:
            return opening, closing
        for before, after in zip((opening, closing), signed_pairs[0], strict=True):
            self.balances[self.balances.index(before)] = after
        self.note("Bal", f"the balances have no sign; {remark}")
        return signed_pairs[0]

    def finish(self, raw: str) -> StatementRow:
        """Return the row of the statement, still without the hash of the file."""
        head = self.head
        opening = opening_balance(self.balances, head.currency)
        closing = closing_balance(self.balances, head.currency)
        if opening is not None and closing is not None:
            opening, closing = self._with_signs(opening, closing)
        proved, proof = self.tally.result(opening, closing, is_page=head.is_page)
        stated = {name: getattr(head, name) for name in StatedColumns.__struct_fields__}
        stated["currency"] = head.currency or self.tally.currency or None
        return StatementRow(
            **stated,
            statement_id=self.statement_id,
            file_sha256="",
            opening_balance=opening.amount if opening else None,
            opening_date=opening.day if opening else None,
            closing_balance=closing.amount if closing else None,
            closing_date=closing.day if closing else None,
            balances=tuple(
                f"{balance.code}{f' {balance.day}' if balance.day else ''}"
                f" {format_amount(balance.amount, balance.currency)}"
                for balance in self.balances
            ),
            entry_count=self.rows,
            credit_total=self.tally.credits,
            debit_total=self.tally.debits,
            proved=proved,
            proof=proof,
            raw=raw,
        )


class BankFile:
    """Base class of the readers of one file; its attributes are complete after `batches()`.

    The same bytes give the same rows. Raises StatementError if the whole file is refused. An entry
    that cannot be read is reported as a problem, and its statement is not proved.
    """

    format: str = ""
    """Name of the format, such as `camt.053` or `MT940`; for a CSV with its profile."""

    def __init__(self, source: ByteSource, file_name: str) -> None:
        self.file_name = file_name
        self.statements: tuple[StatementRow, ...] = ()
        self.problems: list[Problem] = []
        self.lost_count = 0
        """Number of entries that could not be read."""
        self._source = source if isinstance(source, Stream) else Stream(source)
        self._ids = Ordinals()
        self._done: list[StatementRow] = []

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the file's bytes; call it after all bytes are read."""
        return self._source.sha256

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `statement_entries` in batches, in the file's order."""
        raise NotImplementedError

    def note(self, remark: str) -> None:
        """Add a note for people about the whole file."""
        self.problems.append(Problem(self.file_name, "", remark))

    def complete(self, row: StatementRow, draft: StatementDraft) -> None:
        """Add a complete statement. Raises StatementError if there are too many for memory."""
        self._done.append(row)
        self.lost_count += draft.lost_count
        self.problems += draft.problems[: max(0, MOST_PROBLEMS - len(self.problems))]
        if len(self._done) > _MOST_STATEMENTS:
            raise StatementError(
                f"{self.file_name}: more than {_MOST_STATEMENTS} statements in one file",
                do="ask the bank for smaller files; the file was not stored",
            )

    def end(self, emptiness: str = "there is no statement in the file") -> None:
        """Finish the file: add its hash, and the note `emptiness` if it has no statement."""
        self.statements = tuple(
            msgspec.structs.replace(row, file_sha256=self.sha256) for row in self._done
        )
        if not self._done:
            self.note(emptiness)
