"""Bank statement lines with their true meaning, which only the simulation knows.

A `Book` collects the lines of all accounts during the story and numbers them at the end, so that
references follow each bank's booking order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from treasury.sandbox.story.cast import Payer
from treasury.sandbox.story.mangle import Ceiling, Text

Source = Literal["own_bank", "provider_report"]


class StatementAccount(msgspec.Struct, frozen=True):
    """An account with bank statements."""

    iban: str
    name: str
    owner: str
    bank: str
    bic: str
    source: Source
    opening: Decimal
    """Balance at the start of May 2026."""


class Period(msgspec.Struct, frozen=True):
    """The days of a statement; a monthly statement has a number."""

    name: str
    first: date
    last: date
    sequence: int | None = None


class Expectation(msgspec.Struct, frozen=True):
    """The true purpose of a line: a virtual account or one ramp request."""

    kind: Literal["virtual_bank_account", "on_ramp", "off_ramp"]
    id: str
    code: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A movement on an account, as its bank reports it."""

    account: str
    booked: date
    amount: Decimal
    direction: Literal["CRDT", "DBIT"]
    counterparty: Payer = msgspec.field(name="other")
    text: Text = Text()
    own_iban: str = ""
    """The virtual IBAN that the payment was addressed to, if it is not the account's own."""
    bank_code: str = "PMNT/RCDT/ESCT"
    purpose: str = ""
    return_reason: str = ""
    info: str = ""
    batch: str = ""
    servicer_reference: str = ""

    mangling: str = "none"
    line_class: str | None = None
    expectation: Expectation | None = None
    unbroken: bool = False
    contradiction: str | None = None
    returned: bool = False
    duplicate: bool = False
    ceiling: Ceiling = "never"
    note: str = ""

    @property
    def signed(self) -> Decimal:
        """Return the amount by which the line changes the balance."""
        return self.amount if self.direction == "CRDT" else -self.amount

    def truth(self) -> dict[str, Any]:
        """Return the line's true meaning, to measure the quality of matching."""
        truth: dict[str, Any] = {name: getattr(self, name) for name in _TRUTH_FIELDS}
        truth |= {
            "account_servicer_reference": self.servicer_reference,
            "booking_date": self.booked.isoformat(),
            "amount": f"{self.amount:f}",
            "currency": "EUR",
            "expectation": self.expectation and msgspec.structs.asdict(self.expectation),
        }
        return truth


_TRUTH_FIELDS: Final = (
    "account", "direction", "mangling", "line_class", "unbroken", "contradiction", "returned",
    "duplicate", "ceiling", "note",
)  # fmt: skip


class Book:
    """The lines of all accounts."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def add(self, *lines: Line) -> None:
        """Book lines; a bank orders them by day and then by time of arrival."""
        self._lines += lines

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def numbered(self) -> list[Line]:
        """Return all lines by account and day, with references and the limits of matching."""
        lines = sorted(self._lines, key=lambda line: (line.account, line.booked))
        known_payers: set[tuple[str, str]] = set()
        numbered = []
        for number, line in enumerate(lines, 1):
            ceiling = _ceiling(line, known_payers)
            if line.unbroken and line.contradiction is None and line.expectation:
                known_payers.add((line.expectation.id, line.counterparty.iban))
            reference = f"{line.account[-4:]}{line.booked:%y%m%d}{number:05d}"
            numbered.append(replace(line, servicer_reference=reference, ceiling=ceiling))
        return numbered


def _ceiling(line: Line, known_payers: set[tuple[str, str]]) -> Ceiling:
    """Return how far matching may go; a credit without the whole code needs a known payer."""
    if line.unbroken or line.expectation is None or line.ceiling == "never":
        return line.ceiling
    if line.expectation.kind != "virtual_bank_account":
        return line.ceiling
    is_known = (line.expectation.id, line.counterparty.iban) in known_payers
    if line.mangling in {"missing", "empty"}:
        return "suggest" if is_known else "never"
    return line.ceiling if is_known or line.ceiling == "suggest" else "suggest"
