"""Writes bank statements, one camt.053.001.08 file per account and period.

Element order follows the schema of that version. A batch is one entry with a transaction detail for
each payment; every detail carries the bank's own reference for that payment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import groupby

from treasury.sandbox.serve.iso_message import Tree, iso_message
from treasury.sandbox.story.cast import Payer
from treasury.sandbox.story.lines import Line, Period, StatementAccount


def statements(
    accounts: Iterable[StatementAccount], lines: Sequence[Line], periods: Sequence[Period]
) -> Iterator[tuple[str, bytes]]:
    """Yield file names and contents; a file opens with the previous closing balance."""
    for account in accounts:
        own = [line for line in lines if line.account == account.iban]
        for period in periods:
            earlier = (line.signed for line in own if line.booked < period.first)
            opening = account.opening + sum(earlier, Decimal(0))
            booked = tuple(line for line in own if period.first <= line.booked <= period.last)
            name = f"camt053_{account.iban}_{period.name}.xml"
            yield name, _document(account, period, opening, booked)


# Statements of past months are requested often and never change, so they are cached.
@lru_cache(maxsize=64)
def _document(
    account: StatementAccount, period: Period, opening: Decimal, lines: tuple[Line, ...]
) -> bytes:
    # Sorted so that the lines of a batch are adjacent, as `groupby` requires.
    ordered = sorted(lines, key=lambda line: (line.booked, line.batch, line.servicer_reference))
    batches = groupby(ordered, lambda line: (line.booked, line.batch or line.servicer_reference))
    entries = [list(batch) for _, batch in batches]
    closing = opening + sum((line.signed for line in lines), Decimal(0))
    created = f"{period.last + timedelta(1)}T04:30:00+00:00"
    message_id = f"{account.bic[:4]}-{account.iban[-6:]}-{period.name}"
    statement = {
        "Id": f"{account.iban[-10:]}-{period.name}", "ElctrncSeqNb": period.sequence,
        "CreDtTm": created,
        "FrToDt": {"FrDtTm": f"{period.first}T00:00:00", "ToDtTm": f"{period.last}T23:59:59"},
        "Acct": {
            "Id": {"IBAN": account.iban}, "Ccy": "EUR", "Nm": account.name,
            "Ownr": {"Nm": account.owner},
            "Svcr": {"FinInstnId": {"BICFI": account.bic, "Nm": account.bank}},
        },
        "Bal": [_balance("OPBD", opening, period.first), _balance("CLBD", closing, period.last)],
        "TxsSummry": _summary(entries),
        "Ntry": [
            _entry(account, f"{period.name}-{number}", entry)
            for number, entry in enumerate(entries, 1)
        ],
    }  # fmt: skip
    header = {"MsgId": message_id, "CreDtTm": created}
    tree = {"BkToCstmrStmt": {"GrpHdr": header, "Stmt": statement}}
    return iso_message("camt.053.001.08", tree)


def _balance(code: str, amount: Decimal, day: date) -> Tree:
    return {
        "Tp": {"CdOrPrtry": {"Cd": code}}, "Amt": _euros(abs(amount)),
        "CdtDbtInd": _side(amount), "Dt": {"Dt": day},
    }  # fmt: skip


def _summary(entries: list[list[Line]]) -> Tree:
    credit = [_total(entry) for entry in entries if entry[0].direction == "CRDT"]
    debit = [_total(entry) for entry in entries if entry[0].direction == "DBIT"]
    credited, debited = sum(credit, Decimal(0)), sum(debit, Decimal(0))
    net = credited - debited
    return {
        "TtlNtries": {
            "NbOfNtries": len(entries), "Sum": f"{credited + debited:.2f}",
            "TtlNetNtry": {"Amt": f"{abs(net):.2f}", "CdtDbtInd": _side(net)},
        },
        "TtlCdtNtries": {"NbOfNtries": len(credit), "Sum": f"{credited:.2f}"},
        "TtlDbtNtries": {"NbOfNtries": len(debit), "Sum": f"{debited:.2f}"},
    }  # fmt: skip


def _entry(account: StatementAccount, reference: str, lines: list[Line]) -> Tree:
    first, total, is_batch = lines[0], _euros(_total(lines)), len(lines) > 1
    batch = {"NbOfTxs": len(lines), "TtlAmt": total, "CdtDbtInd": first.direction}
    return {
        "NtryRef": reference, "Amt": total, "CdtDbtInd": first.direction, "Sts": {"Cd": "BOOK"},
        "BookgDt": {"Dt": first.booked}, "ValDt": {"Dt": first.booked},
        "AcctSvcrRef": first.batch if is_batch else first.servicer_reference,
        "BkTxCd": _bank_code(first.bank_code),
        "NtryDtls": {
            "Btch": batch if is_batch else None,
            "TxDtls": [_detail(account, line) for line in lines],
        },
        "AddtlNtryInf": first.info or None,
    }  # fmt: skip


def _detail(account: StatementAccount, line: Line) -> Tree:
    own = Payer(account.owner, line.own_iban or account.iban, account.bic)
    is_credit, text = line.direction == "CRDT", line.text
    debtor, creditor = (line.counterparty, own) if is_credit else (own, line.counterparty)
    parties = {
        "RltdPties": {
            "Dbtr": {"Pty": {"Nm": debtor.name}}, "DbtrAcct": {"Id": {"IBAN": debtor.iban}},
            "Cdtr": {"Pty": {"Nm": creditor.name}}, "CdtrAcct": {"Id": {"IBAN": creditor.iban}},
        },
        "RltdAgts": {
            "DbtrAgt": {"FinInstnId": {"BICFI": debtor.bic}},
            "CdtrAgt": {"FinInstnId": {"BICFI": creditor.bic}},
        },
    }  # fmt: skip
    reference = {"Tp": {"CdOrPrtry": {"Cd": "SCOR"}}, "Ref": text.structured}
    remittance = {
        "Ustrd": list(text.remittance),
        "Strd": {"CdtrRefInf": reference} if text.structured else None,
    }
    return {
        "Refs": {
            "AcctSvcrRef": line.servicer_reference,
            "EndToEndId": text.end_to_end_id or "NOTPROVIDED",
            "TxId": f"T{line.servicer_reference}",
        },
        "Amt": _euros(line.amount), "CdtDbtInd": line.direction,
        "BkTxCd": _bank_code(line.bank_code), **(parties if line.counterparty.iban else {}),
        "Purp": {"Cd": line.purpose} if line.purpose else None,
        "RmtInf": remittance if text.remittance or text.structured else None,
        "RtrInf": {"Rsn": {"Cd": line.return_reason}} if line.return_reason else None,
    }  # fmt: skip


def _bank_code(code: str) -> Tree:
    domain, family, sub = code.split("/")
    return {"Domn": {"Cd": domain, "Fmly": {"Cd": family, "SubFmlyCd": sub}}}


def _total(lines: list[Line]) -> Decimal:
    return sum((line.amount for line in lines), Decimal(0))


def _euros(amount: Decimal) -> tuple[str, str]:
    return f"{amount:.2f}", "EUR"


def _side(amount: Decimal) -> str:
    return "DBIT" if amount < 0 else "CRDT"
