"""Make the workspace of version 0.1.0 that tests migrate: `make_workspace.py CHECKOUT ARCHIVE`.

CHECKOUT is a folder with the code of that version, ARCHIVE the file to write. The practice company
decides its October and closes it on 2 November, plays November, and stores its records and
statements on 1 December.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

DECEMBER = datetime(2026, 12, 1, 8, tzinfo=UTC)
LEFT_OUT = ("bank", "staging")
"""The banks' own files are in the lake as they were read."""


def make(folder: Path) -> None:
    """Write the workspace as version 0.1.0 leaves it."""
    from treasury.cli.commands.practice import prepare
    from treasury.sandbox import Sandbox
    from treasury.workspace import Workspace

    company = Sandbox(7)
    with company.serve() as served:
        t = prepare(folder, company, served)
        t.sync()
        t.statements.add(sorted((folder / "bank").glob("*.xml")))
        _decide(t)
        t.close("2026-10", reviewed_by="bert", reason="open items carried into November")
        _play_november(t, company)
        text = (folder / "treasury.toml").read_text("utf-8")
        now = company.now.isoformat()
        desk = [f"now = {now}" if line.startswith("now =") else line for line in text.split("\n")]
        (folder / "treasury.toml").write_text("\n".join(desk), "utf-8")
        t = Workspace(folder)
        t.sync()
        t.statements.add(sorted((folder / "bank").glob("*_2026-11.xml")))
        t.close_clients()


def _decide(t: object) -> None:
    """Accept what version 0.1.0 suggests for one request, ignore a customer's stray credit."""
    accepted: set[str] = set()
    for row in t.matches.open().arrow.to_pylist():
        if row["outcome"] == "suggested" and row["suggestion"] not in accepted:
            t.matches.accept(row["entry_id"], row["suggestion"], reason="the amount and the payer")
            if row["suggestion"].startswith("PAY-"):
                accepted.add(row["suggestion"])
        elif row["outcome"] == "unreferenced":
            t.matches.ignore(row["entry_id"], reason="paid back by hand")
    overdue = "SELECT payment_reference FROM ramp_requests WHERE payment_reference LIKE '%005358'"
    for reference in t.sql(overdue).arrow["payment_reference"].to_pylist():
        t.funding.will_not_fund(reference, "the supplier was paid otherwise")


def _play_november(t: object, company: object) -> None:
    """One request is funded, a customer pays with the account's code, the bank charges its fee."""
    wanted = "SELECT id FROM ramp_requests WHERE payment_reference = 'PAY-2026-005402'"
    company.ramp.fund(t.sql(wanted).arrow["id"][0].as_py())
    wanted = "SELECT iban FROM virtual_bank_accounts WHERE reference_code = 'VFY-8M3T-407'"
    iban = t.sql(wanted).arrow["iban"][0].as_py()
    company.banks.sepa_credit(iban=iban, amount=Decimal(640), text="Invoice 9 VFY-8M3T-407")
    company.banks.bank_line(
        account="NL05TEST0417164300",
        amount=Decimal("12.50"),
        direction="DBIT",
        name="Test Bank NL",
        text="Charges",
    )
    company.clock.set(DECEMBER)
    company.write_bank_files(t.folder / "bank")


def pack(folder: Path, archive: Path) -> None:
    """Write the workspace into one file, without what no reader of it needs."""
    with tarfile.open(archive, "w:xz", preset=9) as file:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if name.parts[0] not in LEFT_OUT and path.is_file():
                file.add(path, f"workspace/{name.as_posix()}", filter=_nobodys)


def _nobodys(file: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file as it stands in the archive, whoever made it."""
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    return file


def main(checkout: str, archive: str) -> None:
    """Make the workspace with the code in `checkout`."""
    sys.path.insert(0, checkout)
    os.environ["TREASURY_USER"] = "anna"
    import treasury

    if not Path(treasury.__file__).is_relative_to(Path(checkout).resolve()):
        sys.exit(f"{treasury.__file__} is not in {checkout}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        make(folder)
        pack(folder, Path(archive))


if __name__ == "__main__":
    main(*sys.argv[1:])
