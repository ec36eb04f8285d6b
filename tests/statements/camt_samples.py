"""Builders of small camt files; most parts can be omitted or changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from treasury.statements import StatementFile, read_file

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"
OURS = "BE68539007547034"


def balance(
    code: str, amount: str, *, currency: str = "EUR", sign: str = "CRDT", day: str = "2026-10-31"
) -> str:
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
        f'<Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{sign}</CdtDbtInd>'
        f"<Dt><Dt>{day}</Dt></Dt></Bal>"
    )


def entry(
    amount: str = "10.00",
    direction: str = "CRDT",
    *details: str,
    currency: str = "EUR",
    status: str = "<Sts><Cd>BOOK</Cd></Sts>",
    booked: str = "<BookgDt><Dt>2026-10-15</Dt></BookgDt>",
    value: str = "<ValDt><Dt>2026-10-16</Dt></ValDt>",
    more: str = "",
) -> str:
    inside = f"<NtryDtls>{''.join(details)}</NtryDtls>" if details else ""
    return (
        f'<Ntry><Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{direction}</CdtDbtInd>'
        f"{status}{booked}{value}{more}{inside}</Ntry>"
    )


def detail(text: str = "", *, amount: str | None = None, refs: str = "", more: str = "") -> str:
    own = "" if amount is None else f'<Amt Ccy="EUR">{amount}</Amt>'
    remittance = f"<RmtInf><Ustrd>{text}</Ustrd></RmtInf>" if text else ""
    return f"<TxDtls><Refs>{refs}</Refs>{own}{more}{remittance}</TxDtls>"


def statement(
    *entries: str,
    opening: str | None = "100.00",
    closing: str | None = "100.00",
    account: str = f"<IBAN>{OURS}</IBAN>",
    name: str = "S1",
    sequence: int = 1,
    days: tuple[str, str] = ("2026-10-01", "2026-10-31"),
    balances: str | None = None,
    kind: str = "Stmt",
) -> str:
    if balances is None:
        balances = "" if opening is None else balance("OPBD", opening, day=days[0])
        balances += "" if closing is None else balance("CLBD", closing, day=days[1])
    return (
        f"<{kind}><Id>{name}</Id><ElctrncSeqNb>{sequence}</ElctrncSeqNb>"
        f"<CreDtTm>{days[1]}T23:00:00+01:00</CreDtTm>"
        f"<FrToDt><FrDtTm>{days[0]}T00:00:00</FrDtTm><ToDtTm>{days[1]}T23:59:59</ToDtTm></FrToDt>"
        f"<Acct><Id>{account}</Id><Ccy>EUR</Ccy></Acct>{balances}{''.join(entries)}</{kind}>"
    )


def document(
    *statements: str, namespace: str | None = NAMESPACE, message: str = "BkToCstmrStmt"
) -> str:
    space = "" if namespace is None else f' xmlns="{namespace}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Document{space}><{message}>'
        f"<GrpHdr><MsgId>M1</MsgId></GrpHdr>{''.join(statements)}</{message}></Document>"
    )


def write(folder: Path, content: str | bytes, name: str = "file.xml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder: Path, *entries: str, **changes: str) -> StatementFile:
    """Read a file with one statement of these entries."""
    return read_file(write(folder, document(statement(*entries, **changes))))  # type: ignore[arg-type]


def rows(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def only(values: Iterable[object]) -> object:
    (value,) = values
    return value
