"""One statement of a camt file while it is read: its head, entries and proof.

A report (camt.052) and a notification (camt.054) have the same parts, but usually no balances.
Without balances they are not proved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.errors import InputError
from treasury.core.identifiers import is_bic, is_iban
from treasury.core.money import format_amount
from treasury.statements import field_values
from treasury.statements.balance_proof import EXACT, StatementBalance, closing_balance
from treasury.statements.camt import camt_paths
from treasury.statements.camt.camt_entries import (
    amount_aside,
    day_of,
    entry_row,
    merged,
    movement,
    shares,
)
from treasury.statements.camt.element_shapes import Reader
from treasury.statements.entry_identity import Ordinals
from treasury.statements.entry_rows import EntryRow, StatementRow
from treasury.statements.statement_draft import StatementDraft, StatementHead

_HEAD: Final = Reader(camt_paths.STATEMENT)
_BALANCE: Final = Reader(camt_paths.BALANCE)


_DETAILS: Final = re.compile(
    r"""<((?:[^\s/>"'=<:]+:)?NtryDtls)(?:\s(?:[^>"']|"[^"]*"|'[^']*')*)?>.*?</\1>""", re.DOTALL
)


class EntryXml(msgspec.Struct, frozen=True):
    """The XML of an entry, and for each detail the XML with only that detail in it."""

    whole: str
    details: Sequence[str]

    @property
    def without_details(self) -> str:
        """Return the entry's XML without its details."""
        return _DETAILS.sub("", self.whole)


class CamtStatement(msgspec.Struct, eq=False):
    """A statement that receives its parts in the order of the file.

    `place` is its position in the file (`Stmt[1]`), `created` the time of the message; `ids` counts
    the statements of the file with the same id; `accounts` are the declared ones.
    """

    name: str
    place: str
    format: str
    file_name: str
    message_id: str | None
    created: datetime | None
    accounts: Collection[str]
    ids: Ordinals
    parts: list[tuple[str, str]] = []
    """Name and text of each element of the statement that is not an entry."""
    begun: tuple[StatementDraft, date | None] | None = None
    texts: dict[str, str] = {}
    zone: ZoneInfo | None = None
    """The bank's time zone, if its country is known."""
    counts: dict[str, int] = msgspec.field(default_factory=lambda: {"CRDT": 0, "DBIT": 0})
    sums: dict[str, Decimal] = msgspec.field(
        default_factory=lambda: {"CRDT": Decimal(0), "DBIT": Decimal(0)}
    )

    @property
    def draft(self) -> StatementDraft:
        """Return the draft; it is created at the first entry, or at the end of the statement."""
        return self._start()[0]

    def entry_rows(self, reader: Reader, entry_xml: EntryXml, position: str) -> list[EntryRow]:
        """Return the rows of one entry. Raises InputError if it cannot be read."""
        draft, day_of_entries = self.begun or self._start()
        details = [reader.read(raw) for raw in entry_xml.details]
        entry = movement(details[0], draft.head.currency, day_of_entries, self.zone)
        parts, mismatch = shares(entry, details)
        way = entry.direction
        if entry.status == "BOOK":
            draft.tally.add(entry.amount, entry.currency, way)
        if entry.status != "INFO":
            self.counts[way] += 1
            self.sums[way] = EXACT.add(self.sums[way], entry.amount)
        if mismatch is not None:
            draft.problem(position, mismatch)
        rows = []
        for part in parts:
            place = position
            if not part.details:
                raw, place = entry_xml.without_details, f"{position}/Chrgs"
                fields = reader.read(raw)
            elif len(part.details) > 1:
                raw, fields = entry_xml.whole, merged([details[at] for at in part.details])
            else:
                raw, fields = entry_xml.details[part.details[0]], details[part.details[0]]
            if part.details and len(parts) > 1:
                place = f"{position}/TxDtls[{part.details[0] + 1}]"
            is_alone = len(parts) == 1 or not part.details
            row = entry_row(entry, fields, part, draft.head, alone=is_alone)
            if not part.details:
                # A return does not return the charges.
                row.is_reversal = False
            own = field_values.reference(fields.working.get("servicer_reference"))
            if len(parts) == 1:
                own = row.account_servicer_reference
            draft.take(row, own, place, raw)
            rows.append(row)
        return rows

    def finish(self) -> StatementRow:
        """Return the row of the statement, still without the hash of the file."""
        draft, counts, sums = self.draft, self.counts, self.sums
        # Some statements state the bank's own count and sums, which are compared.
        checks: dict[str, tuple[str, int | Decimal]] = {
            "stated_entries": ("number of entries", sum(counts.values())),
            "stated_credits": ("number of credits", counts["CRDT"]),
            "stated_debits": ("number of debits", counts["DBIT"]),
            "stated_credit_sum": ("sum of credits", sums["CRDT"]),
            "stated_debit_sum": ("sum of debits", sums["DBIT"]),
        }
        for name, (label, read) in checks.items():
            text, read_text = self.texts.get(name), str(read)
            stated: int | Decimal | None = field_values.count_in(text)
            if isinstance(read, Decimal):
                stated, read_text = (
                    amount_aside(text),
                    format_amount(read, draft.head.currency or "EUR"),
                )
            if stated is not None and stated != read:
                draft.note(
                    "TxsSummry", f"{label}: the bank states {(text or '')[:40]}, read {read_text}"
                )
        return draft.finish(self._text())

    def _start(self) -> tuple[StatementDraft, date | None]:
        """Return a draft made from the elements so far, and the fallback day of its entries.

        In the file these elements precede the entries.
        """
        if self.begun is not None:
            return self.begun
        self.texts = texts = _HEAD.read(self._text()).working
        stated = texts.get("account")
        account = stated and field_values.own_account(
            field_values.account_number(stated), self.accounts
        )
        self.zone = bank_zone(account, texts.get("servicer_bic"))
        problems: list[tuple[str, str]] = []
        days: dict[str, date | None] = {"from_date": None, "to_date": None}
        for name in days:
            try:
                days[name] = day_of(texts, name, self.zone)
            except InputError as error:
                problems.append(("FrToDt", error.what))
        balances: list[StatementBalance] = []
        for number, text in enumerate((text for name, text in self.parts if name == "Bal"), 1):
            try:
                balances.append(_balance(_BALANCE.read(text).working, self.zone))
            except InputError as error:
                problems.append((f"Bal[{number}]", f"balance not read: {error.what}"))
        currency = texts.get("currency") or next((b.currency for b in balances), None)
        head = StatementHead(
            file_name=self.file_name,
            format=self.format,
            place=self.place,
            message_id=self.message_id,
            bank_statement_id=field_values.reference(texts.get("bank_statement_id")),
            sequence_number=field_values.count_in(
                texts.get("sequence_number") or texts.get("legal_sequence_number")
            ),
            account=account,
            account_name=texts.get("account_name") or texts.get("owner_name"),
            servicer_bic=texts.get("servicer_bic"),
            currency=currency,
            **days,
            created_at=field_values.instant(texts.get("created_at")) or self.created,
            balances=balances,
            told_apart_by=tuple(texts.get(name) for name in _TELLS_APART),
            is_page=texts.get("is_last_page") == "false",
        )
        draft = StatementDraft(head, self.ids)
        for problem in problems:
            draft.problem(*problem)
        closing = closing_balance(balances, currency)
        created = head.created_at.astimezone(self.zone).date() if head.created_at else None
        self.begun = draft, head.to_date or (closing.day if closing else None) or created
        return self.begun

    def _text(self) -> str:
        return f"<{self.name}>{''.join(text for _, text in self.parts)}</{self.name}>"


_TELLS_APART: Final = ("legal_sequence_number", "page", "from_date", "to_date")


def _balance(texts: dict[str, str], zone: ZoneInfo | None) -> StatementBalance:
    for name in ("code", "amount", "amount_currency"):
        if name not in texts:
            raise InputError(f"it has no {name.replace('_', ' ')}")
    amount = field_values.amount_in_xml(texts["amount"])
    direction = texts.get("direction", "CRDT")
    if direction not in {"CRDT", "DBIT"}:
        raise InputError(f"{direction[:20]!r} is neither CRDT nor DBIT")
    return StatementBalance(
        texts["code"],
        -amount if direction == "DBIT" else amount,
        texts["amount_currency"],
        day_of(texts, "day", zone),
        field_values.is_true(texts.get("has_credit_line")),
        is_signed="direction" in texts,
        is_available="available" in texts
        and amount_aside(texts["available"]) == amount
        and texts.get("available_direction", "CRDT") == "CRDT"
        and not {"credit_line", "has_credit_line"} & texts.keys(),
    )


_CAPITALS: Final = {
    "CY": "Asia/Nicosia",
    "DE": "Europe/Berlin",
    "ES": "Europe/Madrid",
    "PT": "Europe/Lisbon",
    "UA": "Europe/Kyiv",
}
"""Zone of the banks in countries that have several zones."""


def bank_zone(account: str | None, bic: str | None) -> ZoneInfo | None:
    """Return the zone of the country in the IBAN, else in the bank's BIC; None if it is unknown.

    For a country with several zones, return None unless all its banks are in one of them.
    """
    if account is not None and is_iban(account):
        return _zone_of(account[:2])
    return _zone_of(bic[4:6]) if bic is not None and is_bic(bic) else None


@cache
def _zone_of(country: str) -> ZoneInfo | None:
    # The time zone database lists the zones of each country.
    table = resources.files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    names = [line.split("\t")[2] for line in table.splitlines() if line.startswith(f"{country}\t")]
    name = _CAPITALS.get(country) or (names[0] if len(names) == 1 else None)
    return None if name is None else ZoneInfo(name)
