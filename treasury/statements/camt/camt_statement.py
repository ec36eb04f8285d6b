"""One statement of a camt file while it is read: its head, its entries as rows, its proof.

A report (camt.052) and a notification (camt.054) have the same parts; they mostly lack balances,
and then are not proved.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Final

from treasury.errors import InputError
from treasury.money import format_amount
from treasury.statements.balance_proof import StatementBalance, closing_balance
from treasury.statements.camt import camt_paths
from treasury.statements.camt.camt_entries import (
    CamtMovement,
    Setting,
    entry_rows,
    movement,
    shares,
)
from treasury.statements.camt.element_shapes import Reader
from treasury.statements.entry_identity import Ordinals
from treasury.statements.entry_rows import EntryRow, StatementRow
from treasury.statements.field_values import (
    account_number,
    amount_in_xml,
    day,
    instant,
    is_true,
    own_account,
    reference,
)
from treasury.statements.statement_draft import StatementDraft, StatementHead

__all__ = ["CamtStatement"]

_HEAD: Final = Reader(camt_paths.STATEMENT)
_BALANCE: Final = Reader(camt_paths.BALANCE)


class CamtStatement:
    """A statement whose parts are handed over in the order of the file.

    `place` is where it is in the file (`Stmt[1]`), `created` is when the message was made, `ids`
    counts the statements of the file that cannot be told apart; `accounts` are those declared.
    """

    def __init__(
        self,
        name: str,
        place: str,
        *,
        form: str,
        file_name: str,
        message_id: str | None,
        created: datetime | None,
        ids: Ordinals,
        accounts: Collection[str] = (),
    ) -> None:
        self._name = name
        self._format = form
        self._place = place
        self._file_name = file_name
        self._message_id = message_id
        self._accounts = accounts
        self._created = created
        self._ids = ids
        self._parts: list[tuple[str, str]] = []
        self._begun: tuple[StatementDraft, Setting] | None = None
        self._texts: dict[str, str] = {}
        self._counts = {"CRDT": 0, "DBIT": 0}
        self._sums = {"CRDT": Decimal(0), "DBIT": Decimal(0)}

    @property
    def draft(self) -> StatementDraft:
        """What is known of it: it begins with the first entry, or with the end."""
        return self._start()[0]

    def part(self, name: str, text: str) -> None:
        """An element of the statement that is no entry."""
        self._parts.append((name, text))

    def entry_rows(self, reader: Reader, raws: Sequence[str], position: str) -> list[EntryRow]:
        """The rows of one entry, each `raw` being the entry with one of its details.

        InputError where the entry cannot be read.
        """
        draft, setting = self._begun or self._start()
        details = [reader.read(raw) for raw in raws]
        entry = movement(details[0], setting)
        parts, mismatch = shares(entry, details)
        rows = entry_rows(entry, details, parts, setting)
        if entry.is_booked:
            draft.tally.add(entry.amount, entry.currency, entry.direction)
        self._count(entry)
        if mismatch is not None:
            draft.problem(position, mismatch)
        if len(rows) == 1:
            row = rows[0]
            draft.take(row, row.account_servicer_reference, position, raws[0])
        else:
            for number, (row, fields, raw) in enumerate(zip(rows, details, raws, strict=True), 1):
                own = reference(fields.working.get("servicer_reference"))
                draft.take(row, own, f"{position}/TxDtls[{number}]", raw)
        return rows

    def finish(self) -> StatementRow:
        """The statement's own row; the file's hash is known when all of it is read."""
        draft = self.draft
        # The bank's own count and sums, where it states them.
        counts, sums, currency = self._counts, self._sums, draft.head.currency or "EUR"
        checks = (
            ("stated_entries", sum(counts.values()), _number),
            ("stated_credits", counts["CRDT"], _number),
            ("stated_debits", counts["DBIT"], _number),
            ("stated_credit_sum", sums["CRDT"], _sum),
            ("stated_debit_sum", sums["DBIT"], _sum),
        )
        for name, read, as_value in checks:
            stated = as_value(self._texts.get(name))
            if stated is not None and stated != read:
                read_text = (
                    format_amount(read, currency) if isinstance(read, Decimal) else str(read)
                )
                draft.note(
                    "TxsSummry",
                    f"{_SUMMARY[name]}: the bank says {self._texts[name][:40]}, read {read_text}",
                )
        return draft.finish(self._text())

    def _start(self) -> tuple[StatementDraft, Setting]:
        """The statement as its parts so far describe it: they stand before its entries."""
        if self._begun is not None:
            return self._begun
        self._texts = texts = _HEAD.read(self._text()).working
        balances, unread = [], []
        parts = [text for name, text in self._parts if name == "Bal"]
        for number, text in enumerate(parts, 1):
            try:
                balances.append(_balance(_BALANCE.read(text).working))
            except InputError as error:
                unread.append((f"Bal[{number}]", f"balance not read: {error.what}"))
        stated = texts.get("account")
        account = None if stated is None else own_account(account_number(stated), self._accounts)
        currency = texts.get("currency") or next((b.currency for b in balances), None)
        days, wrong = self._days("from_date", "to_date")
        head = StatementHead(
            file_name=self._file_name,
            format=self._format,
            place=self._place,
            message_id=self._message_id,
            bank_statement_id=reference(texts.get("bank_statement_id")),
            sequence_number=_number(
                texts.get("sequence_number") or texts.get("legal_sequence_number")
            ),
            account=account,
            account_name=texts.get("account_name") or texts.get("owner_name"),
            servicer_bic=texts.get("servicer_bic"),
            currency=currency,
            from_date=days[0],
            to_date=days[1],
            created_at=instant(texts.get("created_at")) or self._created,
            balances=balances,
            told_apart_by=tuple(texts.get(name) for name in _TELLS_APART),
            is_page=texts.get("is_last_page") == "false",
        )
        draft = StatementDraft(head, self._ids)
        for problem in [*wrong, *unread]:
            draft.problem(*problem)
        closing = closing_balance(balances, currency)
        created = head.created_at.date() if head.created_at else None
        day_of_entries = head.to_date or (closing.day if closing else None) or created
        setting = Setting(head.account, currency, day_of_entries, self._file_name)
        self._begun = draft, setting
        return self._begun

    def _text(self) -> str:
        return f"<{self._name}>{''.join(text for _, text in self._parts)}</{self._name}>"

    def _days(self, *names: str) -> tuple[list[date | None], list[tuple[str, str]]]:
        days: list[date | None] = []
        wrong: list[tuple[str, str]] = []
        for name in names:
            text = self._texts.get(name)
            try:
                days.append(None if text is None else day(text))
            except InputError as error:
                days.append(None)
                wrong.append(("FrToDt", error.what))
        return days, wrong

    def _count(self, entry: CamtMovement) -> None:
        if entry.status != "INFO":
            way = entry.direction
            self._counts[way] += 1
            self._sums[way] = _EXACT.add(self._sums[way], entry.amount)


_EXACT: Final = Context(prec=80)
_TELLS_APART: Final = ("legal_sequence_number", "page", "from_date", "to_date")
_SUMMARY: Final = {
    "stated_entries": "number of entries",
    "stated_credits": "number of credits",
    "stated_debits": "number of debits",
    "stated_credit_sum": "sum of credits",
    "stated_debit_sum": "sum of debits",
}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _sum(text: str | None) -> Decimal | None:
    try:
        return None if text is None else amount_in_xml(text)
    except InputError:
        return None  # a sum that cannot be read proves nothing; `raw` keeps it


def _balance(texts: dict[str, str]) -> StatementBalance:
    for name in ("code", "amount", "amount_currency"):
        if name not in texts:
            raise InputError(f"it has no {name.replace('_', ' ')}")
    amount = amount_in_xml(texts["amount"])
    direction = texts.get("direction", "CRDT")
    if direction not in {"CRDT", "DBIT"}:
        raise InputError(f"{direction[:20]!r} is neither CRDT nor DBIT")
    return StatementBalance(
        texts["code"],
        -amount if direction == "DBIT" else amount,
        texts["amount_currency"],
        day(texts["day"]) if "day" in texts else None,
        is_true(texts.get("has_credit_line")),
        is_signed="direction" in texts,
    )
