"""Random months of a company, closed one after another, with lines that are easy to confuse.

Many payment codes are one typing error apart, and some are prefixes of others. Amounts, payers and
ids repeat. The texts of payments name their code whole, cut, split or damaged, or name two codes.
Returns come with and without a return reason. People judge some lines, now and later, and records
of closed months change.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.settings import BankAccount
from treasury.extract import TABLES as SERVICES
from treasury.journal.decision_history import DECISIONS
from treasury.lake import Lake, Table
from treasury.matching.rules import Rules
from treasury.month.question import Question
from treasury.month.reconciliation import Basis
from treasury.month.settle.settled_months import ClosedMonths
from treasury.statements import STATEMENT_ENTRIES, STATEMENTS
from treasury.statements import TABLES as BANK

__all__ = ["DrawnMonths"]

OURS, SECOND, POOL = "BE68539007547034", "NL05TEST0417164300", "LT121000011101001000"
VIRTUAL = "LT601010012345678901"
ACCOUNTS = tuple(
    BankAccount(account=account, name=account[:4], currency="EUR", source=source)
    for account, source in (
        (OURS, "own_bank"),
        (SECOND, "own_bank"),
        (POOL, "provider_report"),
    )
)
ZONE = ZoneInfo("Europe/Brussels")
TABLE = {table.name: table for table in SERVICES}
REQUESTS, EVENTS = TABLE["ramp_requests"], TABLE["ramp_request_events"]


class DrawnMonths:
    """A company with random months from a seed; `lines` is roughly their number of bank lines."""

    def __init__(self, seed: int, folder: Path, lines: int = 24) -> None:
        self.random = Random(seed)
        self.size = lines
        folder.mkdir(parents=True, exist_ok=True)
        self.lake = Lake(folder, (*SERVICES, *BANK))
        self.month = Month(2026, 3)
        self.now = datetime(2026, 3, 1, 6, tzinfo=UTC)
        self.folder = folder
        self.rules = Rules()
        self.closed: dict[Month, str] = {}
        """The closed months, each with the name of its close."""
        self.decided: dict[str, tuple[dict[str, Any], ...]] = {}
        self.requests: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, dict[str, Any]] = {}
        self.statements: dict[str, dict[str, Any]] = {}
        self.number = 0
        self.rests: list[tuple[dict[str, Any], Decimal]] = []
        """The second instalments of this month's requests, due next month."""
        self.virtual: dict[str, Any] = {
            "id": "va-1", "account_id": "acc-1", "name": "A", "status": "ACTIVE", "currency": "EUR",
            "target_cryptocurrency": "USDC", "iban": VIRTUAL, "reference_code": "VFY-8M3T-407",
            "rail_references": [], "created_at": datetime(2026, 1, 1, tzinfo=UTC), "raw": "{}",
        }  # fmt: skip
        self._write("sync", (TABLE["virtual_bank_accounts"], [self.virtual]))

    # Events

    def pass_month(self) -> None:
        """Draw and store the next month: requests, payments, returns and own transfers."""
        self.month = self.month.next
        made = [self.request() for _ in range(self.size * 2 // 3)]
        for one in made:
            self.requests[one["id"]] = one
        lines = [self.line(one, text=self._text(one["payment_reference"]), day=self._day(),
            amount=rest) for one, rest in self.rests]  # fmt: skip
        self.rests = []
        lines += [line for one in made for line in self._payments(one)]
        lines += [self._for_two(made) for _ in range(2)]
        lines += [self._strange() for _ in range(self.size // 3)]
        lines += [line for _ in range(self.size // 6) if (line := self._return())]
        lines += [leg for _ in range(2) for leg in self._own_transfer()]
        self.book(lines)
        for one in self.requests.values():
            self._pass(one)
        self.store()

    def decide(self, open_lines: list[dict[str, Any]], candidates: list[tuple[str, str]]) -> None:
        """Judge most of the open lines; `candidates` are pairs of a line and an expectation."""
        own: dict[str, list[str]] = {}
        for line, expectation in candidates:
            own.setdefault(line, []).append(expectation)
        for row in open_lines:
            name = row["entry_id"]
            if self.random.random() < 0.2 or name in self.decided:
                continue
            if own.get(name) and self.random.random() < 0.6:
                self.judge(name, "accept", self.random.choice(own[name]))
            elif own.get(name) and self.random.random() < 0.3:
                self.judge(name, "reject", self.random.choice(own[name]))
            else:
                self.judge(name, "ignore", None)

    def close(self) -> None:
        """Close every open month up to this one."""
        month = Month(2026, 3)
        while month < self.month:
            month = month.next
            self.closed.setdefault(month, self._name("close"))

    def reopen(self) -> None:
        """Reopen the last closed month."""
        if self.closed:
            del self.closed[max(self.closed)]

    def surprise(self) -> None:
        """Change past records, as services, banks and people do."""
        self.now += timedelta(hours=1)
        for _ in range(self.random.randrange(3)):
            act = self.random.choice(
                [
                    self._reopen_request,
                    self._withdraw_line,
                    self._late_line,
                    self._late_verdict,
                    self._take_back_verdict,
                    self._change_rules,
                    self.reopen,
                ]
            )
            act()
        self.store()

    # Questions

    def closed_months(self) -> ClosedMonths | None:
        """Return the closed months; None before the first."""
        if not self.closed:
            return None
        return ClosedMonths(
            workspace=self.folder, month=max(self.closed), closes=tuple(self.closed.values()),
            least=1,
        )  # fmt: skip

    def basis(self, closed: ClosedMonths | None, decided: Sequence[dict[str, Any]] = ()) -> Basis:
        """Return the inputs of the month's reconciliation; `decided` adds decisions.

        With `closed`, matching leaves out the records that closed months settled.
        """
        question = Question(
            month=self.month, as_of=self.now, company="Drawn", environment="sandbox", zone=ZONE,
            accounts=ACCOUNTS, rules=self.rules,
        )  # fmt: skip
        rows = [row for of_line in self.decided.values() for row in of_line] + [*decided]
        rows.sort(key=lambda row: (row["entry_id"], row["expectation_id"] or ""))
        decisions = pa.Table.from_pylist(rows, schema=DECISIONS)
        return Basis(self.lake.snapshot(), question, decisions, None, closed)

    # Random draws

    def _day(self) -> date:
        return self.month.first + timedelta(days=self.random.randrange(self.month.last.day))

    def _name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}-{self.number:06d}"

    def _amount(self) -> Decimal:
        drawn = self.random.random()
        if drawn < 0.5:
            return Decimal(self.random.choice((100, 200, 500)))
        return Decimal(self.random.randrange(1_000, 90_000)) / 100

    def _code(self) -> str:
        """Return a code of a dense series; one in twenty exists already, some extend another."""
        there = [one["payment_reference"] for one in self.requests.values()]
        drawn = self.random.random()
        if there and drawn < 0.05:
            return self.random.choice(there)
        if there and drawn < 0.12:
            return self.random.choice(there) + str(self.random.randrange(10))
        series = self.random.choice(("PAY-2026-00", "PAY-2026-00", "INV-77-", "ABCD12/EF"))
        return f"{series}{self.random.randrange(9_999 if series[0] != 'P' else 99_999):05d}"[:15]

    def request(self) -> dict[str, Any]:
        made = datetime.combine(self._day(), datetime.min.time(), UTC) + timedelta(hours=8)
        amount, on_ramp = self._amount(), self.random.random() < 0.4
        return {
            "id": self._name("r"),
            "payment_reference": self._code(),
            "ramp_type": "ON_RAMP" if on_ramp else "OFF_RAMP",
            "status": "AWAITING_FUNDS",
            "is_open": True,
            "fiat_currency": "EUR",
            "crypto_currency": "USDC",
            "crypto_chain": "BASE",
            "fiat_amount": amount,
            "fiat_net_amount": amount,
            "fiat_fee_amount": Decimal(0),
            "crypto_amount": amount,
            "exchange_rate": Decimal(1),
            "company_bank_account_iban": None if on_ramp else self.random.choice((OURS, SECOND)),
            "deposit_iban": "LT000000000000000009" if on_ramp else None,
            "created_at": made,
            "approved_at": made,
            "updated_at": made,
            "raw": "{}",
        }

    def _payments(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        drawn = self.random.random()
        times = 0 if drawn < 0.1 else 2 if drawn > 0.94 else 1
        made = request["created_at"].date()
        half = {}
        # These requests are paid in two instalments, the second one next month.
        if 0.1 <= drawn < 0.18:
            half = {"amount": request["fiat_amount"] / 2}
            self.rests.append((request, request["fiat_amount"] / 2))
        return [
            self.line(
                request,
                text=self._text(request["payment_reference"]),
                day=min(made + timedelta(days=self.random.randrange(4)), self.month.last),
                **half,
            )
            for _ in range(times)
        ]

    def _for_two(self, made: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a line that pays a request of the month and any other one, and names both."""
        first = self.random.choice(made)
        second = self.random.choice(list(self.requests.values()))
        return self.line(
            first,
            text=f"{first['payment_reference']} {second['payment_reference']}",
            day=self._day(),
            amount=first["fiat_amount"] + second["fiat_amount"],
        )

    def line(
        self, request: dict[str, Any] | None, *, text: str, day: date, **more: Any
    ) -> dict[str, Any]:
        on_ramp = request is not None and request["ramp_type"] == "ON_RAMP"
        amount = self._amount() if request is None else request["fiat_amount"]
        if self.random.random() < 0.1:
            amount = amount + self.random.choice((Decimal(1), Decimal("-0.5"), Decimal(100)))
        payer = f"LT00000000000000{self.random.randrange(1000, 1006)}"
        in_request = request is not None and request["company_bank_account_iban"]
        row = {
            "entry_id": self._name("e"),
            "account": in_request or OURS,
            "amount": amount,
            "currency": "EUR",
            "direction": "DBIT" if on_ramp else "CRDT",
            "entry_status": "BOOK",
            "booking_date": day,
            "value_date": day,
            "end_to_end_id": self._end_to_end_id(),
            "remittance": [text],
            "counterparty_name": None if self.random.random() < 0.2 else f"Payer {payer[-1]}",
            "counterparty_account": "LT000000000000000009" if on_ramp else payer,
            "raw": "",
        }  # fmt: skip
        return row | more

    def _end_to_end_id(self) -> str | None:
        few, many = (f"ID{self.random.randrange(ids)}" for ids in (30, 3000))
        return self.random.choice((None, "NOTPROVIDED", few, many))

    def _text(self, code: str) -> str:
        """Return a payment's text with a code as banks and payers write it, or without one."""
        drawn, other = self.random.random(), self._any_code()
        if drawn < 0.55:
            return f"Invoice {code} thanks"
        if drawn < 0.65:
            return code[: -self.random.randrange(1, 4)]
        if drawn < 0.75:
            place = self.random.randrange(4, len(code))
            return f"Invoice {code[:place]} {code[place:]}"
        if drawn < 0.82:
            place = self.random.randrange(len(code))
            return f"{code[:place]}{self.random.choice('0123456789AB')}{code[place + 1 :]} ok"
        if drawn < 0.88:
            return f"{code} {other}"
        if drawn < 0.92:
            return f"{code} {other[:-1]}"
        if drawn < 0.95:
            return f"/RFB/{code}/INV {other[3:]}"
        if drawn < 0.97:
            return f"{code}{self.random.randrange(100)}"
        return "as agreed"

    def _any_code(self) -> str:
        codes = [one["payment_reference"] for one in self.requests.values()]
        return self.random.choice(codes) if codes else "PAY-2026-00417"

    def _strange(self) -> dict[str, Any]:
        """Return a charge, a virtual account's credit, a second payment or an unexplained line."""
        day, drawn = self._day(), self.random.random()
        if drawn < 0.2:
            return self.line(
                None, text="Charges", day=day, direction="DBIT",
                bank_transaction_code="PMNT/MDOP/CHRG", counterparty_account=None,
            )  # fmt: skip
        if drawn < 0.4:
            return self.line(
                None, text="VFY-8M3T-407", day=day, account=POOL, creditor_account=VIRTUAL
            )
        if drawn < 0.55:
            return self.line(None, text="VFY-8M3T-407", day=day)
        paid = self.random.choice(list(self.requests.values()))
        # The request is paid twice, perhaps months later.
        if drawn < 0.8:
            return self.line(paid, text=self._text(paid["payment_reference"]), day=day)
        return self.line(None, text=self._text(self._any_code()), day=day)

    def _return(self) -> dict[str, Any] | None:
        """Return a line that returns an earlier month's line or half its amount; None without one.

        Some of these lines have a return reason and the original id.
        """
        came = [one for one in self.lines.values() if one["booking_date"] < self.month.first]
        if not came:
            return None
        line = self.random.choice(came)
        marked = self.random.random() < 0.6
        amount = line["amount"] if self.random.random() < 0.7 else line["amount"] / 2
        reason = {"return_reason": "AC04"} if marked else {}
        return {
            **line,
            **reason,
            "entry_id": self._name("e"),
            "amount": amount,
            "direction": "CRDT" if line["direction"] == "DBIT" else "DBIT",
            "booking_date": (day := self._day()),
            "value_date": day,
            "remittance": line["remittance"] if self.random.random() < 0.5 else ["Return"],
            "original_end_to_end_id": line["end_to_end_id"] if marked else None,
        }

    def _own_transfer(self) -> list[dict[str, Any]]:
        """Return the legs of an own transfer, up to two days apart; sometimes only the first."""
        day, amount = self._day(), Decimal(self.random.choice((1000, 2000)))
        later = min(day + timedelta(days=self.random.randrange(3)), self.month.last)
        legs = [
            self.line(
                None, text="Sweep", day=on, account=account, counterparty_account=other,
                direction=direction, amount=amount, end_to_end_id=None,
            )
            for on, account, other, direction in (
                (day, OURS, SECOND, "DBIT"), (later, SECOND, OURS, "CRDT")
            )
        ]  # fmt: skip
        return legs if self.random.random() < 0.8 else legs[:1]

    def _pass(self, request: dict[str, Any]) -> None:
        """Draw the status of an open request at the month's end."""
        if not request["is_open"]:
            return
        drawn = self.random.random()
        done = datetime.combine(self.month.last, datetime.min.time(), UTC) + timedelta(hours=9)
        if drawn < 0.75:
            request |= {"status": "SUCCEEDED", "is_open": False, "completed_at": done}
        elif drawn < 0.85:
            request |= {"status": "CANCELLED", "is_open": False}
        request["updated_at"] = done

    def judge(self, line: str, verdict: str, expectation: str | None) -> None:
        row = {
            "entry_id": line, "expectation_id": expectation, "verdict": verdict,
            "reason": "as agreed", "decided_by": "anna", "decided_at": self.now, "share": None,
        }  # fmt: skip
        self.decided[line] = (row,)

    def _reopen_request(self) -> None:
        finished = [one for one in self.requests.values() if not one["is_open"]]
        if finished:
            one = self.random.choice(finished)
            one |= {"status": "PROCESSING", "is_open": True, "updated_at": self.now}

    def _withdraw_line(self) -> None:
        if self.lines:
            name = self.random.choice(list(self.lines))
            gone = self.lines[name]
            gone["entry_status"] = "BOOK" if gone["entry_status"] == "SUPERSEDED" else "SUPERSEDED"

    def _late_line(self) -> None:
        """Add a line that was booked before this month and arrives only now."""
        paid = self.random.choice(list(self.requests.values()))
        day = self.month.first - timedelta(days=self.random.randrange(1, 40))
        self.book([self.line(paid, text=self._text(paid["payment_reference"]), day=day)])

    def _late_verdict(self) -> None:
        if self.lines:
            name = self.random.choice(list(self.lines))
            self.judge(name, "ignore", None)

    def _take_back_verdict(self) -> None:
        if self.decided:
            del self.decided[self.random.choice(list(self.decided))]

    def _change_rules(self) -> None:
        self.rules = Rules(window_days=self.random.choice((20, 40)))

    # Storage

    def book(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            name = f"s-{line['account'][:2]}-{Month.of(line['booking_date'])}"
            line |= {
                "statement_id": name, "ordinal": len(self.lines) + 1, "file_name": f"{name}.xml",
                "position": line["entry_id"],
            }  # fmt: skip
            self.lines[line["entry_id"]] = line
            month = Month.of(line["booking_date"])
            self.statements[name] = {
                "statement_id": name,
                "file_name": f"{name}.xml",
                "file_sha256": "0" * 64,
                "format": "camt.053",
                "account": line["account"],
                "currency": "EUR",
                "opening_balance": Decimal(0),
                "opening_date": month.first - timedelta(days=1),
                "closing_balance": Decimal(0),
                "closing_date": month.last,
                "proved": True,
                "proof": "opening + entries = closing",
                "entry_count": 0,
                "raw": "",
            }

    def store(self) -> None:
        end = datetime.combine(self.month.last, datetime.min.time(), UTC) + timedelta(days=2)
        self.now = max(self.now + timedelta(minutes=1), end)
        accounts = TABLE["virtual_bank_accounts"]
        self._write("sync", (REQUESTS, list(self.requests.values())), (accounts, [self.virtual]))
        self._write(
            "statements",
            (STATEMENTS, list(self.statements.values())),
            (STATEMENT_ENTRIES, list(self.lines.values())),
        )

    def _write(self, kind: str, *rows: tuple[Table, list[dict[str, Any]]]) -> None:
        self.now += timedelta(seconds=1)
        with self.lake.writer(kind, self.now) as writer:
            for table, some in rows:
                if some:
                    writer.upsert(table, pa.Table.from_pylist(some, schema=table.row_schema))
