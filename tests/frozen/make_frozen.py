"""Make the frozen desk that every later version has to open: `python tests/frozen/make_frozen.py`.

It writes `desk.tar.xz`, with a desk, its lake's home and a decision sheet, and `answers.json`, the
answers that the desk gave. Run it only to begin a new frozen desk: a later version must read the
one that is stored.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from frozen_answers import answers
from openpyxl import load_workbook

from treasury.cli.commands.practice import prepare
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

HERE = Path(__file__).parent
DECEMBER = datetime(2026, 12, 1, 8, tzinfo=UTC)
COLLEAGUES = ("anna", "bert")


def main() -> None:
    """Make the desk in a temporary folder and write both files next to this one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        (HERE / "answers.json").write_text(
            json.dumps(answers(Workspace(folder / "desk")), indent=1, sort_keys=True) + "\n"
        )
        with tarfile.open(HERE / "desk.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "bank" not in path.relative_to(folder).parts:
                    archive.add(path, path.relative_to(folder).as_posix(), filter=_without_owner)


def make(folder: Path) -> None:
    """Close October, prepare November, leave three actions and a sheet, and push the lake."""
    company = Sandbox(7)
    for name, (_, secret) in company.credentials.items():
        os.environ[f"TREASURY_{name.upper()}_SECRET"] = secret
    with company.serve() as served:
        desk = folder / "desk"
        t = prepare(desk, company, served)
        with (desk / "treasury.toml").open("a") as settings:
            settings.write('\n[lake]\nhome = "../home"\n')
        t.close_clients()
        run = _Shell(desk)
        run("anna", "sync")
        run("anna", "statements", "add", *map(str, sorted((desk / "bank").glob("*.xml"))))
        _decide(run)
        _close(run, "2026-10", is_signed=True)
        _play_november(run, company, desk)
        _close(run, "2026-11", is_signed=False)
        _act(run, company)
        _sheet(run, folder / "sheet.xlsx")
        run("anna", "lake", "push")


class _Shell:
    """A shell at a desk for the two colleagues; it exits if a command fails."""

    def __init__(self, desk: Path) -> None:
        self.desk = desk

    def __call__(self, who: str, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "treasury.cli", "-w", str(self.desk), *arguments],
            env={**os.environ, "TREASURY_USER": who},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if (done.returncode != 0) is not fails:
            sys.exit(f"treasury {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def rows(self, *arguments: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = json.loads(self("anna", *arguments, "--format", "json"))
        return rows


def _decide(run: _Shell) -> None:
    """Accept the first suggested request, and ignore the first line without a reference."""
    rows = run.rows("match", "open")
    suggested = next(row for row in rows if str(row["suggestion"] or "").startswith("PAY-"))
    run("anna", "match", "accept", str(suggested["entry_id"]), str(suggested["suggestion"]),
        "--reason", "the amount and the payer")  # fmt: skip
    stray = next(row for row in rows if row["outcome"] == "unreferenced")
    run("bert", "match", "ignore", str(stray["entry_id"]), "--reason", "paid back by hand")


def _close(run: _Shell, month: str, *, is_signed: bool) -> None:
    """Carry the items that block a month, prepare its close, and sign it if `is_signed`."""
    blocking = [
        str(row["item_id"]) for row in run.rows("exceptions", "--month", month, "--blocking")
    ]
    if blocking:
        run("anna", "items", "carry", *blocking, "--owner", "carla", "--by", "2027-12-31",
            "--reason", "asked the payers and the provider", "--month", month)  # fmt: skip
        run("bert", "items", "accept", *blocking, "--month", month)
    run("anna", "close", month)
    if is_signed:
        run("bert", "close", month, "--sign")


def _play_november(run: _Shell, company: Sandbox, desk: Path) -> None:
    """Fund a request, add a customer's payment and a bank charge, and store November's records."""
    fund = "select id from ramp_requests where payment_reference = 'PAY-2026-005402'"
    company.ramp.fund(str(run.rows("sql", fund)[0]["id"]))
    virtual = "select iban from virtual_bank_accounts where reference_code = 'VFY-8M3T-407'"
    company.banks.sepa_credit(
        iban=str(run.rows("sql", virtual)[0]["iban"]), amount=Decimal(640),
        text="Invoice 9 VFY-8M3T-407",
    )  # fmt: skip
    company.banks.bank_line(
        account="NL05TEST0417164300", amount=Decimal("12.50"), direction="DBIT",
        name="Test Bank NL", text="Charges",
    )  # fmt: skip
    company.clock.set(DECEMBER)
    company.write_bank_files(desk / "bank")
    settings = desk / "treasury.toml"
    lines = settings.read_text("utf-8").split("\n")
    now = [f"now = {company.now.isoformat()}" if one.startswith("now =") else one for one in lines]
    settings.write_text("\n".join(now), "utf-8")
    run("anna", "sync")
    run("anna", "statements", "add", *map(str, sorted((desk / "bank").glob("*_2026-11.xml"))))


def _act(run: _Shell, company: Sandbox) -> None:
    """Leave one action ready to be sent, one waiting for approval, one with unknown outcome."""
    waiting = run.rows("sql", "select id from ramp_requests where status = 'AWAITING_APPROVAL'")
    run("anna", "actions", "propose", "ramp_request.approve", f"request_id={waiting[0]['id']}",
        "--reason", "the invoice is agreed")  # fmt: skip
    _propose_transfer(run, "10", "travel costs")
    unknown = _propose_transfer(run, "12.5", "weekly float")
    run("bert", "actions", "approve", unknown, "--yes")
    company.faults.add("/finance/v1/accounts", method="POST", drop="before", times=50)
    run("anna", "actions", "execute", unknown, "--yes", fails=True)
    company.faults.clear()


def _propose_transfer(run: _Shell, amount: str, description: str) -> str:
    """Propose to send coins between two accounts, and return the action's id."""
    accounts = run.rows("sql", "select id, external_id from accounts")
    by_name = {row["external_id"]: str(row["id"]) for row in accounts}
    run("anna", "actions", "propose", "crypto_transfer.create",
        f"sender_account_id={by_name['treasury-eur']}",
        f"receiver_account_id={by_name['ops-usd']}",
        "chain=BASE", "asset=USDC", f"amount={amount}", f"description={description}",
        "--reason", f"the {description}")  # fmt: skip
    return str(run.rows("actions", "list", "--state", "proposed")[-1]["id"])


def _sheet(run: _Shell, path: Path) -> None:
    """Fill in the first row of a decision sheet, and leave the sheet unapplied."""
    run("anna", "exceptions", "--month", "2026-11", "--kind", "no_reference", "--sheet", str(path))
    book = load_workbook(path)
    page = book["Open items"]
    columns = {str(cell.value): cell.column for cell in page[1]}
    filled = {
        "Decision": "Close: it belongs to nothing that is expected",
        "Reason": "the bank's own charge",
        "Proposed by": "anna",
    }
    for title, text in filled.items():
        page.cell(2, columns[title]).value = text
    book.save(path)


def _without_owner(file: tarfile.TarInfo) -> tarfile.TarInfo:
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    return file


if __name__ == "__main__":
    main()
