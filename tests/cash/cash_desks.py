"""A company with only bank files: statements and reports that a test writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treasury.core.settings import FILE_NAME
from treasury.workspace import Workspace

OPERATING = "BE68539007547034"
RESERVE = "NL91ABNA0417164300"
_SETTINGS = """\
[workspace]
company = "Mill NV"
environment = "sandbox"
now = {now}
"""
_ACCOUNT = """
[[accounts]]
account = "{account}"
currency = "EUR"
source = "own_bank"
name = "{name}"
{more}"""
_BALANCE = """<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"""
_ENTRY = """<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{way}</CdtDbtInd>
<Sts><Cd>{status}</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{value}</Dt></ValDt></Ntry>"""
_FILE = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:{schema}"><{message}>
<GrpHdr><MsgId>{name}</MsgId><CreDtTm>{last}T20:00:00</CreDtTm></GrpHdr><{kind}><Id>{name}</Id>
<CreDtTm>{last}T20:00:00</CreDtTm><FrToDt><FrDtTm>{first}T00:00:00</FrDtTm>
<ToDtTm>{last}T23:59:59</ToDtTm></FrToDt><Acct><Id><IBAN>{account}</IBAN></Id><Ccy>EUR</Ccy>
</Acct>{content}</{kind}></{message}></Document>"""


def entry(amount: str, day: str, status: str = "BOOK", value: str = "") -> str:
    """Return one movement; its value date is its booking day unless it is given."""
    way = "DBIT" if amount.startswith("-") else "CRDT"
    return _ENTRY.format(
        amount=amount.lstrip("-"), way=way, day=day, status=status, value=value or day
    )


def statement(
    account: str,
    opening: str,
    closing: str,
    entries: Sequence[str] = (),
    days: tuple[str, str] = ("2026-10-01", "2026-10-30"),
) -> str:
    """Return a camt.053 file; it is proved if the entries lead from opening to closing."""
    balances = [
        _BALANCE.format(code="OPBD", amount=opening, day=days[0]),
        _BALANCE.format(code="CLBD", amount=closing, day=days[1]),
    ]
    return _FILE.format(
        schema="camt.053.001.08", message="BkToCstmrStmt", kind="Stmt",
        name=f"S{account[-4:]}{days[1]}", first=days[0], last=days[1], account=account,
        content="".join((*balances, *entries)),
    )  # fmt: skip


def report(account: str, day: str, entries: Sequence[str]) -> str:
    """Return a camt.052 file of one day, without balances."""
    return _FILE.format(
        schema="camt.052.001.08", message="BkToCstmrAcctRpt", kind="Rpt", name=f"R{day}",
        first=day, last=day, account=account, content="".join(entries),
    )  # fmt: skip


def desk_of(
    folder: Path,
    *files: str,
    floors: tuple[str, str] = ("", ""),
    now: str = "2026-11-02T08:00:00Z",
) -> Workspace:
    """Return a desk with two euro accounts and these bank files; 2 November 2026 is a Monday."""
    folder.mkdir(mode=0o700, exist_ok=True)
    blocks = [
        _ACCOUNT.format(account=account, name=name, more=f'floor = "{floor}"\n' if floor else "")
        for account, name, floor in zip(
            (OPERATING, RESERVE), ("Operating", "Reserve"), floors, strict=True
        )
    ]
    (folder / FILE_NAME).write_text(_SETTINGS.format(now=now) + "".join(blocks), "utf-8")
    desk = Workspace(folder)
    for number, content in enumerate(files):
        path = folder / f"bank{number}.xml"
        path.write_text(content, "utf-8")
        desk.statements.add(path)
    return desk
