"""One statement of a camt file while it is read: its head, its entries as rows, its proof.

A report (camt.052) and a notification (camt.054) have the same parts; they mostly lack balances,
and then are not proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from treasury.errors import InputError
from treasury.money import parse_amount
from treasury.statements import camt_paths
from treasury.statements.entries import Setting, entry_rows, movement, shares
from treasury.statements.identity import Ordinals, content_id, entry_id
from treasury.statements.proof import Balance, Tally, closing_balance, opening_balance
from treasury.statements.rows import EntryRow, Problem, StatementRow
from treasury.statements.shape import Fields, Reader
from treasury.statements.values import account_number, day, instant, reference
from treasury.statements.xml import Element, local_name, serialise

__all__ = ["CamtStatement"]

_HEAD = Reader(camt_paths.STATEMENT)
_BALANCE = Reader(camt_paths.BALANCE)
_MOST_PROBLEMS = 1000


class CamtStatement:
    """A statement, begun with the head that stands before its first entry.

    `place` is where it is in the file (`Stmt[1]`), `ids` counts the statements of the file that
    cannot be told apart.
    """

    def __init__(
        self, container: Element, place: str, file_name: str, message_id: str | None, ids: Ordinals
    ) -> None:
        self.problems: list[Problem] = []
        self._place = place
        self._file_name = file_name
        self._message_id = message_id
        self._tally = Tally()
        head = _head(container, to_first_entry=True)
        self._texts = _HEAD.read(_text(container, head)).working
        self._balances = tuple(self._read_balances(head))
        self._account = self._read_account()
        self._currency = self._read_currency()
        self._opening = opening_balance(self._balances, self._currency)
        self._closing = closing_balance(self._balances, self._currency)
        self._from, self._to = self._day("from_date"), self._day("to_date")
        self._setting = Setting(self._account, self._currency, self._fallback_day(), file_name)
        self._tally.currency = self._currency
        self._ordinals = Ordinals()
        self._rows = 0
        self._id = self._statement_id(ids)
        if self._account is None:
            self._problem("", "the statement names no account")

    def entry_rows(self, reader: Reader, raws: Sequence[str], position: str) -> list[EntryRow]:
        """The rows of one entry, each `raw` being the entry with one of its details.

        InputError where the entry cannot be read; `lost` then says so in the proof.
        """
        details = [reader.read(raw) for raw in raws]
        entry = movement(details[0], self._setting)
        parts, mismatch = shares(entry, details)
        rows = entry_rows(entry, details, parts, self._setting)
        if entry.is_booked:
            self._tally.add(entry.amount, entry.currency, entry.direction)
        if mismatch is not None:
            self._problem(position, mismatch)
        self._complete(rows, details, raws, position)
        return rows

    def lost(self, position: str, why: str, line: int | None) -> None:
        """Note an entry that could not be read."""
        self._problem(position, f"entry not read: {why}", line)

    def finish(self, container: Element) -> StatementRow:
        """The statement's own row; the file's hash is known when all of it is read."""
        texts = self._texts
        proved, proof = self._tally.result(self._opening, self._closing)
        opening, closing = self._opening, self._closing
        return StatementRow(
            statement_id=self._id,
            file_name=self._file_name,
            file_sha256="",
            message_id=self._message_id,
            bank_statement_id=reference(texts.get("bank_statement_id")),
            sequence_number=self._sequence_number(),
            account=self._account,
            account_name=texts.get("account_name") or texts.get("owner_name"),
            servicer_bic=texts.get("servicer_bic"),
            currency=self._currency or self._tally.currency,
            from_date=self._from,
            to_date=self._to,
            created_at=instant(texts.get("created_at")),
            opening_balance=opening.amount if opening else None,
            opening_date=opening.day if opening else None,
            closing_balance=closing.amount if closing else None,
            closing_date=closing.day if closing else None,
            entry_count=self._rows,
            credit_total=self._tally.credits,
            debit_total=self._tally.debits,
            proved=proved,
            proof=proof,
            raw=_text(container, _head(container, to_first_entry=False)),
        )

    def _complete(
        self, rows: list[EntryRow], details: list[Fields], raws: Sequence[str], position: str
    ) -> None:
        alone = len(rows) == 1
        for number, (row, fields, raw) in enumerate(zip(rows, details, raws, strict=True), 1):
            self._rows += 1
            row.statement_id = self._id
            row.ordinal = self._rows
            row.position = position if alone else f"{position}/TxDtls[{number}]"
            row.raw = raw
            own = row.account_servicer_reference
            if not alone:
                own = reference(fields.working.get("servicer_reference"))
            row.entry_id = entry_id(row, own, self._ordinals)

    def _statement_id(self, ids: Ordinals) -> str:
        names = ("bank_statement_id", "sequence_number", "legal_sequence_number", "page")
        times = ("from_date", "to_date", "created_at")
        key = content_id(
            (
                self._account,
                self._currency,
                *(self._texts.get(name) for name in (*names, *times)),
                *((b.code, b.amount.normalize(), b.currency, b.day) for b in self._balances),
            )
        )
        ordinal = ids.next(key)
        return key if ordinal == 0 else content_id((key, ordinal))

    def _read_balances(self, head: list[Element]) -> Iterator[Balance]:
        balances = [part for part in head if local_name(part) == "Bal"]
        for number, element in enumerate(balances, 1):
            texts = _BALANCE.read(serialise(element)).working
            try:
                yield _balance(texts)
            except InputError as error:
                self._problem(f"Bal[{number}]", f"balance not read: {error.what}")

    def _read_account(self) -> str | None:
        text = self._texts.get("account")
        return None if text is None else account_number(text)

    def _read_currency(self) -> str | None:
        stated = self._texts.get("currency")
        return stated or next((balance.currency for balance in self._balances), None)

    def _day(self, name: str) -> date | None:
        text = self._texts.get(name)
        try:
            return None if text is None else day(text)
        except InputError as error:
            self._problem("FrToDt", error.what)
            return None

    def _fallback_day(self) -> date | None:
        closing = self._closing.day if self._closing else None
        created = instant(self._texts.get("created_at"))
        return self._to or closing or (created.date() if created else None)

    def _sequence_number(self) -> int | None:
        text = self._texts.get("sequence_number") or self._texts.get("legal_sequence_number")
        return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None

    def _problem(self, position: str, what: str, line: int | None = None) -> None:
        place = f"{self._place}/{position}" if position else self._place
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(self._file_name, place, what, line))
        self._tally.fail(f"{position}: {what}" if position else what)


def _head(container: Element, *, to_first_entry: bool) -> list[Element]:
    """The statement's parts but its entries; of a statement being read, what came before them."""
    parts = []
    for child in container:
        if local_name(child) != "Ntry":
            parts.append(child)
        elif to_first_entry:
            break
    return parts


def _text(container: Element, parts: list[Element]) -> str:
    name = local_name(container)
    return f"<{name}>{''.join(map(serialise, parts))}</{name}>"


def _balance(texts: dict[str, str]) -> Balance:
    for name in ("code", "amount", "amount_currency", "direction"):
        if name not in texts:
            raise InputError(f"it has no {name.replace('_', ' ')}")
    if texts["direction"] not in {"CRDT", "DBIT"}:
        raise InputError(f"{texts['direction'][:20]!r} is neither CRDT nor DBIT")
    amount = parse_amount(texts["amount"])
    signed = -amount if texts["direction"] == "DBIT" else amount
    on = day(texts["day"]) if "day" in texts else None
    return Balance(texts["code"], signed, texts["amount_currency"], on)
