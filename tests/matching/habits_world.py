"""A company whose payers give no reference in the last month, but have earlier habits.

Payers pay nearly every month for codes of one pooled account, and half of them also pay invoices.
They share amounts, days and words of their names. Some pay through an account that others use too,
some move to another bank or are written with another legal form. In the earlier months, most of
the expected lines were accepted by a person, and the rest have the code in their text.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
import pyarrow as pa
from mangled_world import OWN, Truth, World

from treasury.matching.input_tables import DECISIONS

__all__ = ["Habits", "draw_habits"]

POOL: Final = "LT663510000098765432"
CLEARING: Final = "NL44CLRG0000000001"
"""The account of a payment institution, through which several payers pay."""
FIRST = (
    "Jansen", "Müller", "Peeters", "Nordström", "García", "Kowalski", "Dubois", "Rossi", "Novák",
    "Virtanen", "Maes", "Vries", "Łukasz", "Søndergaard", "Bauer", "Moreau", "Conti",
)  # fmt: skip
TRADES = (
    "Bouw", "Transport", "Trading", "Foods", "Logistics", "Energie", "Textil", "Metall", "Garden",
    "Marine",
)  # fmt: skip
FORMS = (
    ("BV", "B.V.", ""), ("GmbH", "GMBH", "G.m.b.H."), ("AG", ""), ("Ltd", "Limited", "LTD."),
    ("SA", "S.A.", ""), ("SARL", "S.à r.l."), ("Oy", "OY", ""), ("AB", ""),
    ("s.r.o.", "SRO"), ("Sp. z o.o.", "SP Z OO"), ("NV", "N.V."), ("SL", "S.L."),
)  # fmt: skip
SUBJECTS = (
    "huur", "service", "licence", "storage", "garage", "premium", "lease", "deposit", "support",
    "levy",
)  # fmt: skip
PLAIN = ("thanks", "payment", "", "as agreed", "transfer", "monthly payment")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October",
)  # fmt: skip
SHARED = tuple(map(Decimal, ("50", "100", "250", "500", "750", "1000")))
"""Amounts that many payers pay."""


class Habits(msgspec.Struct, frozen=True):
    """A world with people's decisions about most expected lines before the last month."""

    world: World
    decisions: pa.Table
    last_month: frozenset[str]
    """The ids of the lines of the last month, which have no reference."""


class Payer(msgspec.Struct):
    """A payer with a name of two words and a legal form, and an account that may change."""

    words: tuple[str, str]
    forms: tuple[str, ...]
    account: str
    moves_in: int
    new_account: str

    def name(self, random: Random) -> str:
        """Draw one of the ways in which banks write the name."""
        words = list(self.words)
        if random.random() < 0.15:
            words.reverse()
        text = " ".join([*words, random.choice(self.forms)]).strip()
        turn = random.random()
        if turn < 0.03:
            # The bank cut the name off.
            return text[:-5]
        if turn < 0.06:
            # A letter is missing.
            return text[:2] + text[3:]
        if turn < 0.25:
            return text.upper()
        return text.translate(_BARE) if turn < 0.4 else text

    def account_in(self, month: int) -> str:
        """Return the account used in a month."""
        return self.new_account if month >= self.moves_in else self.account


_BARE = str.maketrans("üöäéíáøóńŁ", "uoaeiaoonL")


class Standing(msgspec.Struct):
    """The monthly payment of a payer for one code, with its amount, usual day and subject."""

    payer: Payer
    code: dict[str, Any]
    amount: Decimal
    varies: bool
    day: int
    subject: str


def draw_habits(seed: int, payers: int = 60, months: int = 7) -> Habits:
    """Draw a world of payers over several months; in the last month they give no reference."""
    return _Drawing(seed, payers, months).draw()


class _Drawing:
    def __init__(self, seed: int, payers: int, months: int) -> None:
        self.random = Random(seed)
        self.months = months
        self.world = World([], [], {})
        self.decisions: list[dict[str, Any]] = []
        self.payers = [self.payer() for _ in range(payers)]

    def draw(self) -> Habits:
        habits = [habit for payer in self.payers for habit in self.standing(payer)]
        customers = self.random.sample(self.payers, len(self.payers) // 2)
        last: set[str] = set()
        for month in range(1, self.months + 1):
            before = len(self.world.lines)
            for habit in habits:
                if self.random.random() < 0.93:
                    self.pay(habit, month)
            for customer in customers:
                self.invoice(customer, month)
            for _ in range(len(self.payers) // 6):
                self.stranger(month)
            if month == self.months:
                last = {row["entry_id"] for row in self.world.lines[before:]}
        fields = pa.schema([(field.name, field.type) for field in DECISIONS])
        decided = pa.Table.from_pylist(self.decisions, fields)
        return Habits(self.world, decided, frozenset(last))

    def payer(self) -> Payer:
        random = self.random
        account = CLEARING if random.random() < 0.12 else self.account()
        return Payer(
            words=(random.choice(FIRST), random.choice(TRADES)),
            forms=random.choice(FORMS),
            account=account,
            moves_in=random.randrange(2, self.months + 1) if random.random() < 0.2 else 99,
            new_account=self.account(),
        )

    def account(self) -> str:
        return f"DE{self.random.randrange(10**19, 10**20)}"

    def amount(self) -> Decimal:
        if self.random.random() < 0.5:
            return self.random.choice(SHARED)
        return Decimal(self.random.randrange(2_000, 200_000)).scaleb(-2)

    def standing(self, payer: Payer) -> Iterator[Standing]:
        """Yield a payer's one to three payments; about one in eight reuses an earlier code."""
        for _ in range(self.random.choice((1, 1, 2, 3))):
            accounts = [row for row in self.world.expectations if row["amount"] is None]
            is_shared = accounts and self.random.random() < 0.12
            code = self.random.choice(accounts) if is_shared else self.code()
            yield Standing(
                payer, code, self.amount(), self.random.random() < 0.3,
                self.random.randrange(1, 29), self.random.choice(SUBJECTS),
            )  # fmt: skip

    def code(self) -> dict[str, Any]:
        number = len(self.world.expectations)
        return self.expect(
            "virtual_bank_account", f"VFY-{number:04}-{self.random.randrange(1000):03}",
            account=POOL, opened_at=datetime(2026, 1, 1, tzinfo=UTC), status="ACTIVE",
        )  # fmt: skip

    def expect(self, kind: str, code: str, **more: Any) -> dict[str, Any]:
        row = {
            "expectation_id": f"r{self.random.randrange(10**6):06}-{len(self.world.expectations)}",
            "kind": kind, "code": code, "amount": None, "currency": "EUR", "direction": "CRDT",
            "closed_at": None, "counterparty_account": None, "counterparty_name": None,
        } | more  # fmt: skip
        self.world.expectations.append(row)
        return row

    def pay(self, habit: Standing, month: int) -> None:
        amount = habit.amount
        if habit.varies:
            amount = (amount * self.random.randrange(930, 1071) / 1000).quantize(Decimal("0.01"))
        turn = self.random.random()
        text = f"{habit.subject} {MONTHS[month - 1]}" if turn < 0.5 else self.random.choice(PLAIN)
        on = date(2026, month, self.near(habit.day))
        self.line(habit.payer, habit.code, amount, on, text=text, to=POOL)

    def invoice(self, customer: Payer, month: int) -> None:
        """Add an invoice to a customer, usually paid days later, sometimes minus a charge."""
        amount = self.amount()
        opened = self.random.randrange(1, 10)
        request = self.expect(
            "off_ramp", f"PAY-2026-{len(self.world.expectations):06}", account=OWN, amount=amount,
            opened_at=datetime(2026, month, opened, 9, tzinfo=UTC), status="PROCESSING",
            counterparty_name=" ".join([*customer.words, customer.forms[0]]),
        )  # fmt: skip
        turn = self.random.random()
        if turn < 0.1:
            # Some invoices are never paid.
            return
        paid = amount - 5 if turn > 0.95 else amount
        on = date(2026, month, opened + self.random.randrange(1, 19))
        self.line(customer, request, paid, on, text=self.random.choice(PLAIN), to=OWN)

    def stranger(self, month: int) -> None:
        """Add a payment that belongs to no expectation."""
        payer, on = self.payer(), date(2026, month, self.random.randrange(1, 29))
        to = self.random.choice((OWN, POOL))
        self.line(payer, None, self.amount(), on, text=self.random.choice(PLAIN), to=to)

    def near(self, day: int) -> int:
        return min(28, max(1, day + self.random.choice((-1, 0, 0, 0, 1, 2))))

    def line(
        self, payer: Payer, expected: dict[str, Any] | None, amount: Decimal, on: date, *,
        text: str, to: str,
    ) -> None:  # fmt: skip
        month = on.month
        entry_id = f"e{len(self.world.lines):05}"
        own = expected["expectation_id"] if expected else None
        is_last = month == self.months
        if expected and not is_last:
            if self.random.random() < 0.2:
                text = f"{expected['code']} {text}"
            else:
                self.decisions.append(
                    {"entry_id": entry_id, "expectation_id": own, "verdict": "accept"}
                )
        account, name = payer.account_in(month), payer.name(self.random)
        if account == CLEARING and self.random.random() < 0.5:
            name = "Clearing Services NV"
        # Sometimes another payer pays, and the text names the usual payer.
        if expected and month > 2 and self.random.random() < 0.03:
            text, name, account = f"{text} {name}", self.payer().name(self.random), self.account()
        self.world.lines.append(
            {
                "entry_id": entry_id, "account": to, "amount": amount, "currency": "EUR",
                "direction": "CRDT", "booking_date": on,
                "remittance": text or None, "counterparty_name": name,
                "counterparty_account": account, "is_reversal": False, "is_twin": False,
            }
        )  # fmt: skip
        self.world.truths[entry_id] = Truth("habit", "suggest" if expected else "never", own)
