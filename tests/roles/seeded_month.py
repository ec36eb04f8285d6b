"""Make a practice month with six seeded faults, for readers who should find them.

    python tests/roles/seeded_month.py FOLDER

The practice company's September is closed and its October is open. The services keep running until
the program is interrupted. Everything is done as users do it: by calls to the services, bank files,
the ledger's files and commands. `anna` makes, `bert` reviews.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.cli.commands.practice import play, prepare
from treasury.cli.practised_payments import begin_payments
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

MAKER: Final = "anna"
REVIEWER: Final = "bert"
CHANGED_REQUEST: Final = "PAY-2026-005402"
"""A request with a deposit IBAN other than the one that the company has always paid."""
CHANGED_IBAN: Final = "LT601010012345678901"
"""Its last characters are those of the account that was paid before."""
PAYOUT_IBAN: Final = "NL05TEST0417164300"
UNMAPPED_ACCOUNT: Final = "550010"
"""The ledger account of the payout account; the mapping lacks it."""
PAID_OUT: Final = "PAY-2026-005305"
"""An off-ramp request with a payout that is on the statement twice."""
PAID_TWICE: Final = Decimal("16752.42")
EQUAL_AMOUNT: Final = Decimal("4570.64")
WRONG_CARRY: Final = "Zuiderlicht Film"
"""The payer of a line that is carried for a reason that is not true."""
WRONG_REASON: Final = "the bank's statement of this day is still missing"
_MAPPED: Final = '[accounts]\n"bank BE45539951876689" = "550000"\n'
_REASONS: Final = {
    "overdue": "not paid by the month's end; it is in the next payment run",
    "coins_overdue": "the coins were not sent by the month's end",
    "sent_wrong": "EUR 12.00 too little was sent; the provider was asked",
    "returned": "the wire came back with AC04; the provider was asked for the right account",
    "payee_in_doubt": "the bank knows the payee by another name; it is being compared",
    "suggested": "the line and its candidate are compared with the remittance advice",
    "conflict": "the line contradicts the record; the other side was asked",
    "duplicate": "the wire was sent twice; the provider was asked for the second one",
    "more_than_expected": "EUR 50.00 too much was sent; the provider was asked for it back",
    "unreferenced": "the payment names no reference; the payer was asked",
    "balance_not_proved": "the conversions of months cannot be told apart; the provider was asked",
    "silent": "the provider has not reacted; it was asked",
    "payout_missing": "the full amount has not arrived; the provider was asked",
    "transfer_late": "the transfer has not settled; the provider was asked",
}
"""A true reason to carry an item, by its kind."""


class Seeded(msgspec.Struct, frozen=True):
    """A seeded workspace; the services run. `ledger` and `books` are the ledger's exports."""

    workspace: Workspace
    ledger: Path
    books: Path
    environment: Mapping[str, str]
    """The variables that a command needs, except the name of its user."""

    def run(self, *words: str, user: str = REVIEWER) -> str:
        """Run a command as a user, and return its output."""
        return run(self.workspace.folder, *words, user=user)


def run(folder: Path, *words: str, user: str) -> str:
    """Run `treasury` with these words as a user, and return its output."""
    result = CliRunner().invoke(
        treasury,
        ["--workspace", str(folder), *words],
        env={"TREASURY_USER": user},
        catch_exceptions=False,
    )
    if result.exit_code:
        raise SystemExit(f"treasury {' '.join(words[:3])} failed:\n{result.output}")
    return result.stdout


@contextmanager
def seeded_month(folder: Path) -> Iterator[Seeded]:
    """Yield the seeded workspace while its services run."""
    company = Sandbox(7)
    before = dict(os.environ)
    try:
        with company.serve() as served:
            _pay_out_twice(company)
            workspace = prepare(folder, company, served)
            environment = {
                name: value for name, value in os.environ.items() if before.get(name) != value
            }
            requests = begin_payments(folder, company)
            workspace.sync()
            play(workspace, company, requests, lambda _, work: work())
            _close_september(folder)
            _change_iban(workspace, company)
            ledger, books = _write_ledger_files(folder)
            _carry_october(folder)
            _close_draft(folder, ledger, books)
            workspace.close_clients()
            yield Seeded(Workspace(folder), ledger, books, environment)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _pay_out_twice(company: Sandbox) -> None:
    """Book a second credit of the same payer, amount and text as a payout in October."""
    company.banks.bank_line(
        account=PAYOUT_IBAN,
        amount=PAID_TWICE,
        direction="CRDT",
        name="Ramp Operator BV",
        iban="LT353250012345678901",
        text=PAID_OUT,
        booked=date(2026, 10, 23),
    )


def _change_iban(workspace: Workspace, company: Sandbox) -> None:
    """Have the service show another IBAN for one request that waits for its funds."""
    (request,) = (
        workspace.sql(
            "SELECT id FROM ramp_requests WHERE payment_reference = $reference",
            {"reference": CHANGED_REQUEST},
        )
        .arrow["id"]
        .to_pylist()
    )
    company.ramp.change_deposit(request, CHANGED_IBAN)
    run(workspace.folder, "sync", user=MAKER)


def _blocking(folder: Path, month: str) -> list[dict[str, Any]]:
    text = run(folder, "exceptions", month, "--blocking", "--format", "json", user=MAKER)
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def _carry(folder: Path, month: str, items: Sequence[dict[str, Any]]) -> None:
    """Propose to carry items, those with the same reason together."""
    reasons = {item["item_id"]: _reason(item) for item in items}
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, own in reasons.items() if own == reason]
        run(
            folder, "items", "carry", *names, "--month", month, "--owner", "carla",
            "--by", "2026-12-31", "--reason", reason, user=MAKER,
        )  # fmt: skip


def _reason(item: Mapping[str, Any]) -> str:
    """Return a true reason to carry an item, but a false one for the seeded carry."""
    return WRONG_REASON if WRONG_CARRY in item["name"] else _REASONS[item["kind"]]


def _close_september(folder: Path) -> None:
    """Close September as two people, who carry everything that blocks it."""
    month = "2026-09"
    items = _blocking(folder, month)
    _carry(folder, month, items)
    names = [item["item_id"] for item in items]
    run(folder, "items", "accept", *names, "--month", month, user=REVIEWER)
    run(folder, "close", month, user=MAKER)
    run(folder, "close", month, "--sign", user=REVIEWER)


def _carry_october(folder: Path) -> None:
    """Propose to carry all of October's blocking items except the seeds; one for a false reason."""
    blocking = _blocking(folder, "2026-10")
    _carry(
        folder,
        "2026-10",
        [item for item in blocking if not _is_seed(item) and not item["proposed_by"]],
    )


def _is_seed(item: Mapping[str, Any]) -> bool:
    is_equal_credit = item["kind"] == "suggested" and Decimal(item["amount"]) == EQUAL_AMOUNT
    return is_equal_credit or item["kind"] == "rejected" or PAID_OUT in item["name"]


def _write_ledger_files(folder: Path) -> tuple[Path, Path]:
    """Write the ledger's balances and postings; the mapping lacks the payout account."""
    mapping = folder / "accounts.toml"
    mapping.write_text(f'{_MAPPED}"bank {PAYOUT_IBAN}" = "{UNMAPPED_ACCOUNT}"\n', "utf-8")
    run(folder, "export", "--month", "2026-10", "--out", str(folder / "export"), user=MAKER)
    mapping.write_text(_MAPPED, "utf-8")
    with (folder / "export" / "journal.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of_banks = [row for row in rows if row["account"] in {"550000", UNMAPPED_ACCOUNT}]
    books = folder / "books_october.csv"
    with books.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(of_banks)
    balances: dict[str, Decimal] = {}
    for row in of_banks:
        change = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
        balances[row["account"]] = balances.get(row["account"], Decimal(0)) + change
    ledger = folder / "ledger_october.csv"
    lines = [f"{account},EUR,{balance}" for account, balance in balances.items()]
    ledger.write_text("\n".join(["account,currency,balance", *lines, ""]), "utf-8")
    return ledger, books


def _close_draft(folder: Path, ledger: Path, books: Path) -> None:
    """Write October's pack, which is a draft because items still block the close."""
    CliRunner().invoke(
        treasury,
        ["--workspace", str(folder), "close", "2026-10", "--ledger", str(ledger), "--books",
         str(books)],
        env={"TREASURY_USER": MAKER}, catch_exceptions=False,
    )  # fmt: skip


def main() -> None:
    """Make the month in the folder of the first argument, and serve it until interrupted."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tests/roles/seeded_month.py FOLDER")
    with seeded_month(Path(sys.argv[1]).resolve()) as seeded:
        variables = seeded.environment | {
            "TREASURY_WORKSPACE": str(seeded.workspace.folder),
            "PATH": f"{Path(sys.executable).parent}:$PATH",
            "TREASURY_USER": MAKER,
        }
        click.echo(
            "\n".join(
                [
                    f"# Paste this into a shell, as the maker; the reviewer's user is {REVIEWER}.",
                    *(f'export {name}="{value}"' for name, value in variables.items()),
                    "# Then, for example: treasury status; treasury status 2026-10",
                    f"# The ledger's exports of October: {seeded.ledger} and {seeded.books}",
                    "# Packs: close/2026-09 (signed) and close/2026-10 (a draft) in the workspace",
                    "# The services run until this program is interrupted.",
                ]
            )
        )
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
