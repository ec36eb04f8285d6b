"""XML paths of the values read from camt.052, .053 and .054, for every version.

Elements moved between versions (`Pty` around a name, `Cd` inside a status, `BIC` to `BICFI`) and
banks mix versions, so each value lists every path in use; the first one in the document is used.
Names on the right are columns or, with a dot, working values for the rules of `camt_entries`; `*`
marks a list.
"""

from __future__ import annotations

from typing import Final

_ACCOUNT: Final = ("Id/IBAN", "Id/Othr/Id", "Id/BBAN", "Id/UPIC", "Id/PrtryAcct/Id")
_PARTY: Final = ("Nm", "Pty/Nm", "Agt/FinInstnId/Nm")
_AGENT: Final = (
    "FinInstnId/BIC", "FinInstnId/BICFI", "FinInstnId/ClrSysMmbId/MmbId", "FinInstnId/Nm",
    "FinInstnId/NmAndAdr/Nm", "FinInstnId/Othr/Id",
)  # fmt: skip


def _each(prefix: str, tails: tuple[str, ...], name: str) -> dict[str, str]:
    return {f"{prefix}/{tail}": name for tail in tails}


GROUP: Final = {"MsgId": ".message_id", "CreDtTm": ".created_at"}

STATEMENT: Final = {
    "Id": ".bank_statement_id",
    "ElctrncSeqNb": ".sequence_number",
    "LglSeqNb": ".legal_sequence_number",
    "StmtPgntn/PgNb": ".page",
    "RptPgntn/PgNb": ".page",
    "StmtPgntn/LastPgInd": ".is_last_page",
    "RptPgntn/LastPgInd": ".is_last_page",
    "TxsSummry/TtlNtries/NbOfNtries": ".stated_entries",
    "TxsSummry/TtlCdtNtries/NbOfNtries": ".stated_credits",
    "TxsSummry/TtlCdtNtries/Sum": ".stated_credit_sum",
    "TxsSummry/TtlDbtNtries/NbOfNtries": ".stated_debits",
    "TxsSummry/TtlDbtNtries/Sum": ".stated_debit_sum",
    "CreDtTm": ".created_at",
    "FrToDt/FrDtTm": ".from_date",
    "FrToDt/FrDt": ".from_date",
    "FrToDt/ToDtTm": ".to_date",
    "FrToDt/ToDt": ".to_date",
    **_each("Acct", _ACCOUNT, ".account"),
    "Acct/Ccy": ".currency",
    "Acct/Nm": ".account_name",
    "Acct/Ownr/Nm": ".owner_name",
    "Acct/Ownr/Pty/Nm": ".owner_name",
    "Acct/Svcr/FinInstnId/BIC": ".servicer_bic",
    "Acct/Svcr/FinInstnId/BICFI": ".servicer_bic",
}

BALANCE: Final = {
    "Tp/CdOrPrtry/Cd": ".code",
    "Tp/CdOrPrtry/Prtry": ".code",
    "Tp/Cd": ".code",
    "Amt": ".amount",
    "CdtDbtInd": ".direction",
    "CdtLine/Incl": ".has_credit_line",
    "CdtLine/Amt": ".credit_line",
    "Avlbty/Amt": ".available",
    "Avlbty/CdtDbtInd": ".available_direction",
    "Dt/Dt": ".day",
    "Dt/DtTm": ".day",
    "Dt": ".day",
}


def _amounts(level: str) -> dict[str, str]:
    """Return the paths of an entry's or a detail's other amounts, and of its charges."""
    exchanged = {
        f"AmtDtls/{kind}/CcyXchg/{element}": f".{level}{name}"
        for kind in ("InstdAmt", "TxAmt", "CntrValAmt", "AnncdPstngAmt")
        for element, name in (
            ("SrcCcy", "source_currency"),
            ("TrgtCcy", "target_currency"),
            ("XchgRate", "exchange_rate"),
        )
    }
    return {
        "AmtDtls/InstdAmt/Amt": f".{level}instructed",
        "AmtDtls/TxAmt/Amt": f".{level}transacted",
        "AmtDtls/CntrValAmt/Amt": f".{level}countervalue",
        "Chrgs/TtlChrgsAndTaxAmt": f".{level}charges",
        "Chrgs/Rcrd/Amt": f"{level}charges_record*",
        "Chrgs/Amt": f"{level}charges_record*",
        "Chrgs/Rcrd/CdtDbtInd": f"{level}charges_way*",
        "Chrgs/CdtDbtInd": f"{level}charges_way*",
        "BkTxCd/Domn/Cd": f".{level}domain",
        "BkTxCd/Domn/Fmly/Cd": f".{level}family",
        "BkTxCd/Domn/Fmly/SubFmlyCd": f".{level}sub_family",
        "BkTxCd/Prtry/Cd": f".{level}proprietary_code",
        **exchanged,
    }


_DETAIL: Final = {
    "Refs/MsgId": "message_id",
    "Refs/AcctSvcrRef": ".servicer_reference",
    "Refs/PmtInfId": "payment_information_id",
    "Refs/InstrId": "instruction_id",
    "Refs/EndToEndId": "end_to_end_id",
    "Refs/TxId": "transaction_id",
    "Refs/UETR": "uetr",
    "Refs/MndtId": "mandate_id",
    "Amt": ".amount",
    "CdtDbtInd": ".direction",
    "RmtInf/Ustrd": "remittance*",
    "RmtInf/Strd/AddtlRmtInf": "remittance*",
    "RmtInf/Strd/CdtrRefInf/Ref": "structured_references*",
    "RmtInf/Strd/CdtrRefInf/CdtrRef": "structured_references*",
    "RmtInf/Strd/RfrdDocInf/Nb": "structured_references*",
    "Refs/Prtry/Ref": "structured_references*",
    "AddtlTxInf": "additional_information",
    "RtrInf/AddtlInf": ".returned",
    "RtrInf/Rsn/Cd": "return_reason",
    "RtrInf/Rsn/Prtry": "return_reason",
    "RtrInf/RtrRsn/Cd": "return_reason",
    "RtrInf/RtrRsn/Prtry": "return_reason",
    "RltdDts/IntrBkSttlmDt": ".settlement_date",
    "RltdDts/TxDtTm": ".transaction_date",
    **_each("RltdPties/Dbtr", _PARTY, "debtor_name"),
    **_each("RltdPties/DbtrAcct", _ACCOUNT, "debtor_account"),
    **_each("RltdPties/Cdtr", _PARTY, "creditor_name"),
    **_each("RltdPties/CdtrAcct", _ACCOUNT, "creditor_account"),
    **_each("RltdPties/UltmtDbtr", _PARTY, "ultimate_debtor_name"),
    **_each("RltdPties/UltmtCdtr", _PARTY, "ultimate_creditor_name"),
    **_each("RltdAgts/DbtrAgt", _AGENT, "debtor_agent"),
    **_each("RltdAgts/CdtrAgt", _AGENT, "creditor_agent"),
    **_amounts(""),
}


ENTRY: Final = {
    "NtryRef": "entry_reference",
    "Amt": ".entry_amount",
    "CdtDbtInd": ".entry_direction",
    "RvslInd": ".is_reversal",
    "Sts": ".entry_status",
    "Sts/Cd": ".entry_status",
    "Sts/Prtry": ".entry_status",
    "BookgDt": ".booking_date",
    "BookgDt/Dt": ".booking_date",
    "BookgDt/DtTm": ".booking_date",
    "ValDt": ".value_date",
    "ValDt/Dt": ".value_date",
    "ValDt/DtTm": ".value_date",
    "AcctSvcrRef": ".entry_servicer_reference",
    "AddtlNtryInf": ".entry_information",
    "NtryDtls/Btch/MsgId": ".batch_message_id",
    "NtryDtls/Btch/PmtInfId": ".batch_payment_information_id",
    "Btch/MsgId": ".batch_message_id",
    "Btch/PmtInfId": ".batch_payment_information_id",
    **_amounts("entry_"),
    **{f"NtryDtls/TxDtls/{path}": name for path, name in _DETAIL.items()},
    **{f"TxDtls/{path}": name for path, name in _DETAIL.items()},
}
"""Paths in an entry with at most one detail; values of the entry itself are named `entry_...`."""
