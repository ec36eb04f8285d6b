"""A generated statement of 300 MB: every entry is read and proved in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance

BYTES = 300 << 20
LIMIT_MB = 200
ACCOUNT = "BE68539007547034"
CENTS = (12_345, -6_789, 1, -99_999, 250_000)
"""Amounts of successive entries; they repeat within a block, and the block is repeated."""
BLOCK = 2_000

# A separate process reports its own VmHWM: ru_maxrss would start at the value of its parent.
READER = """
import json, sys
from decimal import Decimal
from pathlib import Path
import pyarrow.compute as pc
from treasury.statements.bank_file import open_file

rows, moved = 0, Decimal(0)
with Path(sys.argv[1]).open("rb") as source:
    file = open_file(source, "large.xml")
    for batch in file.batches():
        rows += batch.num_rows
        into = pc.equal(batch["direction"], "CRDT")
        moved += pc.sum(batch["amount"].filter(into)).as_py() or 0
        moved -= pc.sum(batch["amount"].filter(pc.invert(into))).as_py() or 0
(head,) = file.statements
status = Path("/proc/self/status").read_text()
peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
print(json.dumps([rows, str(moved), head.proved, peak]))
"""


def entry(cents: int) -> str:
    amount, way = Decimal(abs(cents)).scaleb(-2), "CRDT" if cents > 0 else "DBIT"
    text = "Rechnung über " + "Maß und Güte " * 40
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{way}</CdtDbtInd><Sts>BOOK</Sts>'
        "<BookgDt><Dt>2026-10-15</Dt></BookgDt><ValDt><Dt>2026-10-15</Dt></ValDt><NtryDtls><TxDtls>"
        f"<RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>\n"
    )


def balance(code: str, amount: Decimal, day: str) -> str:
    return (
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>'
        f"<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
    )


def write(path: Path) -> tuple[int, Decimal]:
    """Write the file in Latin-1; return the number and the sum of its entries."""
    cents = [CENTS[n % len(CENTS)] for n in range(BLOCK)]
    block = "".join(map(entry, cents)).encode("latin-1")
    blocks = -(-BYTES // len(block))
    moved = blocks * Decimal(sum(cents)).scaleb(-2)
    head = (
        '<?xml version="1.0" encoding="ISO-8859-1"?>'
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>'
        f"<Id>1</Id><Acct><Id><IBAN>{ACCOUNT}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
        + balance("OPBD", Decimal("0.00"), "2026-10-01")
        + balance("CLBD", moved, "2026-10-31")
    )
    with path.open("wb") as file:
        file.write(head.encode("latin-1"))
        for _ in range(blocks):
            file.write(block)
        file.write(b"</Stmt></BkToCstmrStmt></Document>")
    return blocks * BLOCK, moved


@pytest.mark.timeout(600)
def test_300_megabytes_are_read_completely_and_proved_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    count, moved = write(path)
    assert path.stat().st_size >= BYTES
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=False
    )
    path.unlink()
    assert done.stderr == ""
    rows, sum_of_rows, proved, peak = json.loads(done.stdout)
    assert (rows, Decimal(sum_of_rows), proved) == (count, moved, True)
    assert peak < LIMIT_MB
