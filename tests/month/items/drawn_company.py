"""A practice company played for two months by random acts, with the true open items.

Its bank, its services and its desk act at random from a seed. Requests are funded in full, in part,
twice or without a reference, and wires are returned. Requests are blocked or denied, complete or
fail. Customers pay with and without the code. Bank files arrive late. A person decides
lines truthfully, or leaves them open. The true open items are read from the sandbox only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

import pytest

from treasury.cli.commands.practice import prepare
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.sandbox import Sandbox, Served
from treasury.sandbox.state.shapes import (
    AccountTransfer,
    RampRequest,
    Transfer,
    VirtualBankAccount,
    decode,
)

T = TypeVar("T")

OPEN_REQUEST: Final = ("AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED")
OPEN_TRANSFER: Final = ("PENDING", "PROCESSING")
DECEMBER: Final = datetime(2026, 12, 1, 8, tzinfo=UTC)


class DrawnCompany:
    """A sandbox company with its desk, played at random; `month` is the last month that ended."""

    def __init__(self, seed: int, folder: Path, company: Sandbox, served: Served) -> None:
        self.random = Random(seed)
        self.company = company
        self.served = served
        self.folder = folder
        self.month = Month(2026, 10)
        self.late: list[Path] = []
        """Bank files that the desk has not received yet."""
        self.closed_lines: set[tuple[str, str]] = set()
        """Account and reference of the lines that a person has decided."""
        self.desk = prepare(folder, company, served)

    def begin(self) -> None:
        """Sync, and add the bank's files; sometimes one file of the last month arrives later."""
        files = sorted((self.folder / "bank").glob("*.xml"))
        if self.random.random() < 0.5:
            last = [path for path in files if str(self.month) in path.name]
            self.late = [self.random.choice(last)]
        self.desk.sync()
        self.desk.statements.add([path for path in files if path not in self.late])

    def pass_november(self) -> None:
        """Draw the events of November, then end the month."""
        for _ in range(12):
            act = self.random.choice(self._acts())
            try:
                act()
            # Some acts are impossible, such as a second denial.
            except InputError:
                continue
        self.end_november()

    def end_november(self) -> None:
        """Move the clock to December, and add the new bank files."""
        self.company.clock.set(DECEMBER)
        before = {path.name for path in (self.folder / "bank").glob("*.xml")}
        self.desk.close_clients()
        self.desk = prepare(self.folder, self.company, self.served)
        files = sorted((self.folder / "bank").glob("*.xml"))
        new = [path for path in files if path.name not in before]
        self.month = self.month.next
        self.desk.sync()
        self.desk.statements.add([*new, *self.late])
        self.late = []

    def decide(self, share: int = 2) -> None:
        """Decide one in `share` of the open lines, drawn at random, as the truth says."""
        lines = [row["entry_id"] for row in self.desk.matches.open().arrow.to_pylist()]
        truth, candidates = self.truth_by_entry(), self._candidate_pairs()
        accepted: list[tuple[str, str]] = []
        ignored: list[str] = []
        for entry in self.random.sample(lines, len(lines) // share):
            line = truth[entry]
            named = None if line["expectation"] is None else line["expectation"]["id"]
            if named is not None and (entry, named) in candidates and not line["duplicate"]:
                accepted.append((entry, named))
            else:
                ignored.append(entry)
            self.closed_lines.add((line["account"], line["account_servicer_reference"]))
        if accepted:
            self.desk.matches.accept_many(accepted, reason="as the contract says")
        if ignored:
            self.desk.matches.ignore(*ignored, reason="settled outside")

    def _candidate_pairs(self) -> set[tuple[str, str]]:
        candidates = self.desk.reconcile(self.month).matches.candidates.arrow.to_pylist()
        return {(row["entry_id"], row["expectation_id"]) for row in candidates}

    @property
    def requests(self) -> list[RampRequest]:
        """Return every ramp request as the service has it."""
        return self._records("ramp_request", RampRequest)

    @property
    def transfers(self) -> list[Transfer | AccountTransfer]:
        """Return every transfer as the service has it, including those between own accounts."""
        return [
            *self._records("transfer", Transfer),
            *self._records("account_transfer", AccountTransfer),
        ]

    def _records(self, kind: str, shape: type[T]) -> list[T]:
        """Return every record of a kind in full."""
        store = self.company._world.store
        ids = [json.loads(text)["id"] for text in store.page(kind, {}).items]
        return [decode(store.detail(kind, one) or "", shape) for one in ids]

    def truth_by_entry(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the true purpose of each stored line, by the desk's id of the line."""
        truth = {
            (row["account"], row["account_servicer_reference"]): row for row in self.company.truth()
        }
        stored = self.desk.sql(
            "SELECT entry_id, account, account_servicer_reference FROM statement_entries"
        ).arrow.to_pylist()
        return {
            row["entry_id"]: truth[row["account"], row["account_servicer_reference"]]
            for row in stored
        }

    def _acts(self) -> list[Callable[[], object]]:
        ramp, random = self.company.ramp, self.random
        waiting = [r.id for r in self.requests if r.status == "AWAITING_FUNDS"]
        live = [r.id for r in self.requests if r.status in OPEN_REQUEST]
        request = random.choice(waiting or live)
        short = Decimal(random.randint(1, 900)) + Decimal("0.37")
        return [
            lambda: ramp.fund(request),
            lambda: ramp.fund(request, amount=short),
            lambda: ramp.fund(request, text="invoice"),
            lambda: (ramp.fund(request), ramp.fund(request)),
            lambda: (ramp.fund(request), ramp.return_wire(request)),
            lambda: ramp.block(random.choice(live)),
            lambda: ramp.deny(random.choice(live)),
            lambda: ramp.fail(random.choice(live)),
            lambda: ramp.complete(random.choice(live)),
            lambda: self._credit(named=True),
            lambda: self._credit(named=False),
            self._charge,
            self._fail_transfer,
        ]

    def _credit(self, *, named: bool) -> None:
        virtual = self._records("virtual_account", VirtualBankAccount)
        account = self.random.choice([one for one in virtual if one.status == "ACTIVE"])
        amount = Decimal(self.random.randint(100, 90_000)) / 100
        text = f"Invoice {account.reference_code}" if named else "Invoice"
        self.company.banks.sepa_credit(iban=account.iban or "", amount=amount, text=text)

    def _charge(self) -> None:
        account = self.random.choice([iban for iban, *_ in self.company.bank_accounts])
        self.company.banks.bank_line(
            account=account, amount=Decimal("12.50"), direction="DBIT", name="Bank", text="Charges"
        )

    def _fail_transfer(self) -> None:
        moving = [t.id for t in self.transfers if t.status in OPEN_TRANSFER]
        self.company.finance.fail_transfer(self.random.choice(moving))


@contextmanager
def drawn_company(seed: int, folder: Path) -> Iterator[DrawnCompany]:
    """Yield a company of a seed while its services run; its desk is not synced yet."""
    company = Sandbox(seed)
    with pytest.MonkeyPatch.context() as patch, company.serve() as served:
        for name in company.credentials:
            patch.setenv(f"TREASURY_{name.upper()}_SECRET", "set by prepare")
        patch.setenv("TREASURY_USER", "ana.lyst")
        drawn = DrawnCompany(seed, folder, company, served)
        try:
            yield drawn
        finally:
            drawn.desk.close_clients()
