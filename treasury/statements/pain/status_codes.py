"""The codes of payment status reports in words, and what each says of the money.

Source: ISO 20022 external code sets (payment group status, payment transaction status, status
reason) and the EPC's rules of Verification of Payee for the results of bulk files.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["PAYEE_RESULTS", "REASONS", "STATUSES", "BankStatus", "reason_words", "status_words"]

Stage = Literal["received", "signature", "accepted", "settled", "rejected", "parts", "payee"]


class BankStatus(msgspec.Struct, frozen=True):
    """A status code: its words, and how far it says that an order has come.

    `received`: looked at, nothing decided. `signature`: waits for one at the bank. `accepted`: may
    still be rejected. `settled`: the account is debited. `rejected`: nothing leaves. `parts`: only
    its orders tell. `payee`: what verifying the payee's name gave, nothing about the money.
    """

    code: str
    words: str
    stage: Stage


STATUSES: Final = {
    status.code: status
    for status in (
        BankStatus("RCVD", "received", "received"),
        BankStatus("ACTC", "received, its form is right", "received"),
        BankStatus("PATC", "waits for a signature at the bank", "signature"),
        BankStatus("PDNG", "pending, checked further", "accepted"),
        BankStatus("ACCP", "accepted, not carried out yet", "accepted"),
        BankStatus("ACFC", "accepted, the funds are there", "accepted"),
        BankStatus("ACFW", "accepted, waits for a confirmation", "signature"),
        BankStatus("ACSP", "accepted, being carried out", "accepted"),
        BankStatus("ACPD", "accepted by the clearing", "accepted"),
        BankStatus("ACWC", "accepted with a change", "accepted"),
        BankStatus("ACWP", "accepted, not credited yet", "accepted"),
        BankStatus("BLCK", "blocked, neither credited nor returned", "accepted"),
        BankStatus("ACSC", "carried out", "settled"),
        BankStatus("ACCC", "carried out and credited", "settled"),
        BankStatus("PART", "accepted in part", "parts"),
        BankStatus("CANC", "cancelled", "rejected"),
        BankStatus("RJCT", "rejected", "rejected"),
        BankStatus("RCVC", "the payee's name matches", "payee"),
        BankStatus("RVMC", "the payee's name matches closely", "payee"),
        BankStatus("RVNM", "the payee's name does not match", "payee"),
        BankStatus("RVNA", "the payee's name could not be verified", "payee"),
        BankStatus("RVNC", "the payee's name is not verified yet", "parts"),
        BankStatus("RVCM", "not every payee's name matches", "parts"),
    )
}
PAYEE_RESULTS: Final = {"RCVC": "match", "RVMC": "close", "RVNM": "none", "RVNA": "not_possible"}
"""What verifying a payee's name gave, by its code."""
REASONS: Final = {
    "AC01": "account number incorrect",
    "AC02": "payer's account number invalid",
    "AC03": "payee's account number invalid",
    "AC04": "account closed",
    "AC06": "account blocked",
    "AC13": "payer's account is of a wrong type",
    "AC14": "payee's account is of a wrong type",
    "AG01": "not allowed on this account",
    "AG02": "bank operation code invalid",
    "AM01": "amount is zero",
    "AM02": "amount above what is allowed",
    "AM03": "currency not allowed",
    "AM04": "insufficient funds",
    "AM05": "duplicate payment",
    "AM09": "amount wrong",
    "AM10": "control sum wrong",
    "AM12": "amount invalid",
    "AM14": "amount above the agreed limit",
    "AM18": "number of transactions wrong",
    "BE01": "name does not fit the account",
    "BE04": "payee's address missing",
    "BE05": "initiating party not known",
    "BE06": "payee not known",
    "BE07": "payer's address missing",
    "BE08": "payer's name missing",
    "BE16": "payer's identification invalid",
    "CH03": "execution date too far ahead",
    "CH04": "execution date in the past",
    "CNOR": "payee's bank not registered",
    "CURR": "currency incorrect",
    "CUST": "requested by the customer",
    "DNOR": "payer's bank not registered",
    "DS02": "order cancelled",
    "DS04": "order rejected by the bank",
    "DS0H": "signer not allowed on this account",
    "DT01": "date invalid",
    "DU01": "duplicate message",
    "DU02": "duplicate batch",
    "DU03": "duplicate transaction",
    "DU04": "duplicate end-to-end id",
    "DU05": "duplicate instruction id",
    "ED05": "settlement failed",
    "FF01": "file format invalid",
    "FF03": "payment type invalid",
    "MD07": "account holder deceased",
    "MS02": "refused by the payee",
    "MS03": "no reason given",
    "NARR": "reason in the text",
    "RC01": "bank identifier incorrect",
    "RC03": "payer's bank identifier invalid",
    "RC04": "payee's bank identifier invalid",
    "RF01": "transaction reference not unique",
    "RR01": "payer's account or identification missing",
    "RR02": "payer's name or address missing",
    "RR03": "payee's name or address missing",
    "RR04": "regulatory reason",
    "SL01": "specific service of the payer's bank",
    "TA01": "transmission aborted",
    "TD03": "file incomplete",
    "TM01": "received after the cut-off time",
}


def status_words(code: str) -> str:
    """`ACSP: accepted, being carried out`; the code alone where it is not known."""
    status = STATUSES.get(code)
    return f"{code}: {status.words}" if status else code


def reason_words(codes: list[str]) -> str:
    """`AC04 account closed, AM05 duplicate payment`; the bank's own codes as they are."""
    return ", ".join(f"{code} {REASONS[code]}" if code in REASONS else code for code in codes)
