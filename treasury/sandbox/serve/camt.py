"""Writes what the bank says: one camt.053.001.08 file an account and period.

Element order follows the schema of that version. A batch is one entry with a transaction detail for
each payment in it; every detail carries the bank's own reference for that payment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import Final

from lxml import etree

from treasury.sandbox.story.lines import Line, Period, StatementAccount

__all__ = ["statements"]

_NAMESPACE: Final = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"


def statements(
    accounts: Iterable[StatementAccount], lines: Sequence[Line], periods: Sequence[Period]
) -> Iterator[tuple[str, bytes]]:
    """File names and contents; each opens with what the days before it left on the account."""
    for account in accounts:
        own = [line for line in lines if line.account == account.iban]
        for period in periods:
            earlier = (line.signed for line in own if line.booked < period.first)
            opening = account.opening + sum(earlier, Decimal(0))
            booked = tuple(line for line in own if period.first <= line.booked <= period.last)
            name = f"camt053_{account.iban}_{period.name}.xml"
            yield name, _document(account, period, opening, booked)


@lru_cache(maxsize=64)  # a month that is over is asked for again by every desk that is begun
def _document(
    account: StatementAccount, period: Period, opening: Decimal, lines: tuple[Line, ...]
) -> bytes:
    created = f"{period.last + timedelta(1)}T04:30:00+00:00"
    root = etree.Element(f"{{{_NAMESPACE}}}Document", nsmap={None: _NAMESPACE})
    message = _add(root, "BkToCstmrStmt")
    header = _add(message, "GrpHdr")
    _add(header, "MsgId", f"{account.bic[:4]}-{account.iban[-6:]}-{period.name}")
    _add(header, "CreDtTm", created)
    statement = _add(message, "Stmt")
    _add(statement, "Id", f"{account.iban[-10:]}-{period.name}")
    if period.sequence is not None:
        _add(statement, "ElctrncSeqNb", str(period.sequence))
    _add(statement, "CreDtTm", created)
    span = _add(statement, "FrToDt")
    _add(span, "FrDtTm", f"{period.first}T00:00:00")
    _add(span, "ToDtTm", f"{period.last}T23:59:59")
    _account(statement, account)
    closing = opening + sum((line.signed for line in lines), Decimal(0))
    _balance(statement, "OPBD", opening, period.first.isoformat())
    _balance(statement, "CLBD", closing, period.last.isoformat())
    # Those of one batch stand together.
    ordered = sorted(lines, key=lambda line: (line.booked, line.batch, line.servicer_reference))
    batches = groupby(ordered, lambda line: (line.booked, line.batch or line.servicer_reference))
    entries = [list(batch) for _, batch in batches]
    sums = [(entry[0].direction, sum(line.amount for line in entry)) for entry in entries]
    credit = [total for direction, total in sums if direction == "CRDT"]
    debit = [total for direction, total in sums if direction == "DBIT"]
    credited, debited = sum(credit, Decimal(0)), sum(debit, Decimal(0))
    net = credited - debited
    element = _add(statement, "TxsSummry")
    every = _add(element, "TtlNtries")
    _add(every, "NbOfNtries", str(len(entries)))
    _add(every, "Sum", f"{credited + debited:.2f}")
    total = _add(every, "TtlNetNtry")
    _add(total, "Amt", f"{abs(net):.2f}")
    _add(total, "CdtDbtInd", "DBIT" if net < 0 else "CRDT")
    for name, amounts in (("TtlCdtNtries", credit), ("TtlDbtNtries", debit)):
        part = _add(element, name)
        _add(part, "NbOfNtries", str(len(amounts)))
        _add(part, "Sum", f"{sum(amounts, Decimal(0)):.2f}")
    for number, entry in enumerate(entries, 1):
        _entry(statement, account, f"{period.name}-{number}", entry)
    etree.indent(root)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"


def _account(statement: etree._Element, account: StatementAccount) -> None:
    element = _add(statement, "Acct")
    _add(_add(element, "Id"), "IBAN", account.iban)
    _add(element, "Ccy", "EUR")
    _add(element, "Nm", account.name)
    _add(_add(element, "Ownr"), "Nm", account.owner)
    bank = _add(_add(element, "Svcr"), "FinInstnId")
    _add(bank, "BICFI", account.bic)
    _add(bank, "Nm", account.bank)


def _balance(statement: etree._Element, code: str, amount: Decimal, day: str) -> None:
    element = _add(statement, "Bal")
    _add(_add(_add(element, "Tp"), "CdOrPrtry"), "Cd", code)
    _amount(element, "Amt", abs(amount))
    _add(element, "CdtDbtInd", "DBIT" if amount < 0 else "CRDT")
    _add(_add(element, "Dt"), "Dt", day)


def _entry(
    statement: etree._Element, account: StatementAccount, reference: str, lines: list[Line]
) -> None:
    first = lines[0]
    total = sum((line.amount for line in lines), Decimal(0))
    element = _add(statement, "Ntry")
    _add(element, "NtryRef", reference)
    _amount(element, "Amt", total)
    _add(element, "CdtDbtInd", first.direction)
    _add(_add(element, "Sts"), "Cd", "BOOK")
    _add(_add(element, "BookgDt"), "Dt", first.booked.isoformat())
    _add(_add(element, "ValDt"), "Dt", first.booked.isoformat())
    is_batch = len(lines) > 1
    _add(element, "AcctSvcrRef", f"{first.batch}" if is_batch else first.servicer_reference)
    _bank_code(element, first.bank_code)
    details = _add(element, "NtryDtls")
    if is_batch:
        batch = _add(details, "Btch")
        _add(batch, "NbOfTxs", str(len(lines)))
        _amount(batch, "TtlAmt", total)
        _add(batch, "CdtDbtInd", first.direction)
    for line in lines:
        _detail(details, account, line)
    if first.info:
        _add(element, "AddtlNtryInf", first.info)


def _detail(details: etree._Element, account: StatementAccount, line: Line) -> None:
    element = _add(details, "TxDtls")
    refs = _add(element, "Refs")
    _add(refs, "AcctSvcrRef", line.servicer_reference)
    _add(refs, "EndToEndId", line.text.end_to_end_id or "NOTPROVIDED")
    _add(refs, "TxId", f"T{line.servicer_reference}")
    _amount(element, "Amt", line.amount)
    _add(element, "CdtDbtInd", line.direction)
    _bank_code(element, line.bank_code)
    if line.counterparty.iban:
        own = (account.owner, line.own_iban or account.iban, account.bic)
        counterparty = (line.counterparty.name, line.counterparty.iban, line.counterparty.bic)
        debtor, creditor = (counterparty, own) if line.direction == "CRDT" else (own, counterparty)
        parties, agents = _add(element, "RltdPties"), _add(element, "RltdAgts")
        for role, (name, iban, bic) in (("Dbtr", debtor), ("Cdtr", creditor)):
            _add(_add(_add(parties, role), "Pty"), "Nm", name)
            _add(_add(_add(parties, f"{role}Acct"), "Id"), "IBAN", iban)
            _add(_add(_add(agents, f"{role}Agt"), "FinInstnId"), "BICFI", bic)
    if line.purpose:
        _add(_add(element, "Purp"), "Cd", line.purpose)
    if line.text.remittance or line.text.structured:
        _remittance(_add(element, "RmtInf"), line)
    if line.return_reason:
        _add(_add(_add(element, "RtrInf"), "Rsn"), "Cd", line.return_reason)


def _remittance(element: etree._Element, line: Line) -> None:
    for text in line.text.remittance:
        _add(element, "Ustrd", text)
    if line.text.structured:
        reference = _add(_add(element, "Strd"), "CdtrRefInf")
        _add(_add(_add(reference, "Tp"), "CdOrPrtry"), "Cd", "SCOR")
        _add(reference, "Ref", line.text.structured)


def _bank_code(element: etree._Element, code: str) -> None:
    domain, family, sub = code.split("/")
    first = _add(_add(element, "BkTxCd"), "Domn")
    _add(first, "Cd", domain)
    second = _add(first, "Fmly")
    _add(second, "Cd", family)
    _add(second, "SubFmlyCd", sub)


def _amount(parent: etree._Element, name: str, amount: Decimal) -> None:
    _add(parent, name, f"{amount:.2f}").set("Ccy", "EUR")


def _add(parent: etree._Element, name: str, text: str | None = None) -> etree._Element:
    child: etree._Element = etree.SubElement(parent, f"{{{_NAMESPACE}}}{name}")
    child.text = text
    return child
