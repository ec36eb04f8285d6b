"""Worlds of lines and expectations with the right answer for each line, and their builder.

Each code, amount and payer is unique, unless a scene needs a repetition. Codes have the form of
the services' codes and are as similar as real ones. A mangled code that equals another valid code
is drawn again, because no matcher could distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
from mangled_texts import Ceiling, Way, Written, plain

from treasury.matching.input_tables import EXPECTATIONS, LINES

__all__ = ["OPERATOR", "OWN", "SCENES", "STATUSES", "Builder", "Kind", "Truth", "World", "scene"]

OWN = "NL05TEST0417164300"
OPERATOR = "LT353250012345678901"
STATUSES = ("CANCELLED", "REJECTED", "DENIED", "FAILED", "BLOCKED", "CLOSED", "EXPIRED")


class Truth(msgspec.Struct, frozen=True):
    """The right answer for a line."""

    kind: str
    ceiling: Ceiling
    expectation_id: str | None
    outcomes: tuple[str, ...] = ()
    """The outcomes that the contract allows; empty if it names none."""
    shares: tuple[tuple[str, Decimal], ...] = ()
    """The amount of each expectation if the line pays several of them."""


class World(msgspec.Struct, frozen=True):
    """Lines, expectations, and the truth about each line by its id."""

    lines: list[dict[str, Any]]
    expectations: list[dict[str, Any]]
    truths: dict[str, Truth]

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return the lines and the expectations as Arrow tables."""
        return (
            pa.Table.from_pylist(self.lines, _schema(LINES)),
            pa.Table.from_pylist(self.expectations, _schema(EXPECTATIONS)),
        )


class Kind(msgspec.Struct, frozen=True):
    """A named kind of scene, which adds expectations and lines to a world."""

    name: str
    play: Callable[[Builder], None]


SCENES: list[Kind] = []


def scene(name: str) -> Callable[[Callable[[Builder], None]], Callable[[Builder], None]]:
    """Return a decorator that registers a scene under this name."""

    def enter(play: Callable[[Builder], None]) -> Callable[[Builder], None]:
        SCENES.append(Kind(name, play))
        return play

    return enter


class Builder:
    """A builder of one world: it draws unused codes and amounts, and collects the rows."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.kind = ""
        self.lines: list[dict[str, Any]] = []
        self.expectations: list[dict[str, Any]] = []
        self.truths: dict[str, Truth] = {}
        self._numbers = self._close_numbers()
        self._used: set[str] = set()
        self._amounts: set[Decimal] = set()
        self._codes: set[str] = set()
        self._written: set[str] = set()

    def amount(self, low: int = 5_000, high: int = 9_000_000) -> Decimal:
        """Draw an amount that no other draw returns."""
        while True:
            amount = Decimal(self.random.randrange(low, high)).scaleb(-2)
            if amount not in self._amounts:
                self._amounts.add(amount)
                return amount

    def cents(self, most: int) -> Decimal:
        """Draw a small amount, which may be drawn again."""
        return Decimal(self.random.randrange(1, most + 1)).scaleb(-2)

    def payment_code(self) -> str:
        """Draw a request's reference; consecutive references are similar."""
        return next(self._numbers)

    def account_code(self) -> str:
        """Draw a virtual account's reference code."""
        letters = "ABCDEFGHJKMNPQRSTUVWXYZ0123456789"
        while True:
            middle = "".join(self.random.choices(letters, k=4))
            code = f"VFY-{middle}-{self.random.choice('0123456789')}{self.random.randrange(100):02}"
            if self.claim(code):
                return code

    def claim(self, *codes: str) -> bool:
        """Reserve these codes if all are free; return whether they were."""
        free = not any(code in self._used or plain(code) in self._written for code in codes)
        if free:
            self._used.update(codes)
        return free

    def typo(self, code: str) -> str:
        """Return the code with one wrong digit, which is not the code of another expectation."""
        while True:
            at = self.random.randrange(9, len(code))
            typed = code[:at] + self.random.choice("0123456789") + code[at + 1 :]
            if self.claim(typed):
                return typed

    def payer(self) -> str:
        """Draw an account with so many random digits that it is always new in practice."""
        return f"DE{self.random.randrange(10**19, 10**20)}"

    def expect(self, **more: Any) -> dict[str, Any]:
        """Add an off-ramp request: a credit of its net amount to our own account."""
        row = {
            "expectation_id": f"r{len(self.expectations):05}",
            "kind": "off_ramp",
            "code": more.get("code") or self.payment_code(),
            "account": OWN,
            "amount": more["amount"] if "amount" in more else self.amount(),
            "currency": "EUR",
            "direction": "CRDT",
            "opened_at": datetime(2026, 9, self.random.randrange(24, 30), 9, tzinfo=UTC),
            "closed_at": None,
            "counterparty_account": None,
            "status": "PROCESSING",
        } | more
        self.expectations.append(row)
        self._codes.add(plain(row["code"]))
        return row

    def on_ramp(self, **more: Any) -> dict[str, Any]:
        """Add an on-ramp request: a debit of its gross amount to the operator."""
        wire = {"kind": "on_ramp", "account": None, "counterparty_account": OPERATOR}
        return self.expect(**(wire | {"direction": "DBIT", "status": "AWAITING_FUNDS"} | more))

    def standing(self, **more: Any) -> dict[str, Any]:
        """Add a virtual account, which expects credits of any amount to its own IBAN."""
        iban = f"LT{self.random.randrange(10**17, 10**18)}"
        own = {"kind": "virtual_bank_account", "code": self.account_code(), "amount": None}
        return self.expect(**(own | {"account": iban, "status": "ACTIVE"} | more))

    def any_request(self) -> dict[str, Any]:
        """Add a request of either direction."""
        return self.random.choice([self.expect, self.on_ramp])()

    def line(
        self,
        ceiling: Ceiling,
        request: dict[str, Any] | None,
        written: Written | str | None = None,
        *,
        outcomes: tuple[str, ...] = (),
        shares: tuple[tuple[str, Decimal], ...] = (),
        **more: Any,
    ) -> dict[str, Any]:
        """Add a bank line that pays the request, if one is given; `more` has fields of the line."""
        to = request or {"account": OWN, "amount": None, "direction": "CRDT", "currency": "EUR"}
        text = written if isinstance(written, Written) else Written(written)
        row = {
            "entry_id": f"e{len(self.lines):05}",
            "account": to["account"] or OWN,
            "amount": to["amount"] or self.amount(),
            "currency": to["currency"],
            "direction": to["direction"],
            "booking_date": date(2026, 10, self.random.randrange(5, 28)),
            "counterparty_name": None,
            "counterparty_account": to.get("counterparty_account") or self.payer(),
            "is_reversal": False,
            "is_twin": False,
            **msgspec.structs.asdict(text),
        } | more
        self.lines.append(row)
        own = request["expectation_id"] if request else None
        self.truths[row["entry_id"]] = Truth(self.kind, ceiling, own, outcomes, shares)
        return row

    def written(self, way: Way, code: str) -> Written | None:
        """Write the code in this way; return None if the text cannot avoid another's code."""
        for _ in range(50):
            written = way.write(code, self.random)
            if written is None:
                return None
            tokens = _tokens(written)
            if not (tokens & self._codes) - {plain(code)}:
                self._written |= tokens
                return written
        return None

    def _close_numbers(self) -> Iterator[str]:
        while True:
            number = self.random.randrange(1_000, 90_000)
            swapped = f"{number:06}"
            near = (number, number + 1, int(swapped[:4] + swapped[5] + swapped[4]), number + 100)
            for near_number in dict.fromkeys(near):
                code = f"PAY-2026-{near_number:06}"
                if self.claim(code):
                    yield code


def _tokens(written: Written) -> set[str]:
    texts = [text for text in msgspec.structs.astuple(written) if text]
    return {plain(token) for text in texts for token in re.split(r"[^\w./-]+", text)}


def _schema(fields: Any) -> pa.Schema:
    return pa.schema([(field.name, field.type) for field in fields])
