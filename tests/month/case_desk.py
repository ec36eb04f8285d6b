"""A workspace with one bank account, and small handmade files of its bank."""

from __future__ import annotations

from pathlib import Path

from treasury import Workspace

__all__ = ["OWN", "camt", "desk", "entry", "report"]

OWN = "BE68539007547034"
_SETTINGS = f"""\
[workspace]
company = "Harbour Lane Trading NV"
environment = "sandbox"
time_zone = "Europe/Brussels"
now = 2026-11-02T08:00:00Z

[[accounts]]
account = "{OWN}"
name = "Current account"
currency = "EUR"
source = "own_bank"
"""
_NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:"


def desk(folder: Path) -> Workspace:
    """Return an empty workspace of a company with one account."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "treasury.toml").write_text(_SETTINGS, "utf-8")
    return Workspace(folder)


def entry(
    amount: str,
    direction: str = "CRDT",
    text: str = "",
    *,
    day: str = "2026-10-15",
    status: str = "BOOK",
    reference: str = "",
    more: str = "",
    details: tuple[str, ...] = (),
) -> str:
    """Return an entry as XML; `details` are the amounts of a batch, each with its own text."""
    inside = "".join(
        f'<TxDtls><Amt Ccy="EUR">{part}</Amt><CdtDbtInd>{direction}</CdtDbtInd>'
        f"<RmtInf><Ustrd>{text} {number}</Ustrd></RmtInf></TxDtls>"
        for number, part in enumerate(details, 1)
    )
    alone = f"<TxDtls><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls>" if text else ""
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{direction}</CdtDbtInd>{more}'
        f"<Sts><Cd>{status}</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt></ValDt>"
        + (f"<AcctSvcrRef>{reference}</AcctSvcrRef>" if reference else "")
        + f"<NtryDtls>{inside or alone}</NtryDtls></Ntry>"
    )


def camt(
    folder: Path,
    *entries: str,
    opening: str = "100.00",
    closing: str = "100.00",
    days: tuple[str, str] = ("2026-10-01", "2026-10-31"),
    name: str = "october.xml",
) -> Path:
    """Write a camt.053 of the desk's account."""
    balances = _balance("OPBD", opening, days[0]) + _balance("CLBD", closing, days[1])
    body = _account(balances, entries, days, name, "Stmt")
    return _write(folder, name, "camt.053.001.08", "BkToCstmrStmt", body)


def report(folder: Path, *entries: str, day: str, name: str = "intraday.xml") -> Path:
    """Write a camt.052 of the desk's account: the bank's entries of a day so far."""
    body = _account("", entries, (day, day), name, "Rpt")
    return _write(folder, name, "camt.052.001.08", "BkToCstmrAcctRpt", body)


def _balance(code: str, amount: str, day: str) -> str:
    return (
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
        f'<Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>'
    )


def _account(
    balances: str, entries: tuple[str, ...], days: tuple[str, str], name: str, kind: str
) -> str:
    return (
        f"<{kind}><Id>{name}</Id><CreDtTm>{days[1]}T20:00:00+01:00</CreDtTm>"
        f"<FrToDt><FrDtTm>{days[0]}T00:00:00</FrDtTm><ToDtTm>{days[1]}T23:59:59</ToDtTm></FrToDt>"
        f"<Acct><Id><IBAN>{OWN}</IBAN></Id><Ccy>EUR</Ccy></Acct>{balances}{''.join(entries)}</{kind}>"
    )


def _write(folder: Path, name: str, version: str, message: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?><Document xmlns="{_NAMESPACE}{version}"><{message}>'
        f"<GrpHdr><MsgId>{name}</MsgId><CreDtTm>2026-11-01T06:00:00+01:00</CreDtTm></GrpHdr>"
        f"{body}</{message}></Document>",
        "utf-8",
    )
    return path
