"""The codes of payment status reports in words, and what each says of the money.

They stand in `status_codes.toml`, with their sources.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_toml

_Stage = Literal["received", "signature", "accepted", "settled", "rejected", "parts", "payee"]


class BankStatus(msgspec.Struct, frozen=True):
    """A status code: its words, and how far it says that an order has come.

    `received`: looked at, nothing decided. `signature`: waits for one at the bank. `accepted`: may
    still be rejected. `settled`: the account is debited. `rejected`: nothing leaves. `parts`: only
    its orders tell. `payee`: what verifying the payee's name gave, nothing about the money.
    """

    words: str
    stage: _Stage


_CODES: Final = package_toml(__package__, "status_codes.toml")
STATUSES: Final = convert(_CODES["statuses"], dict[str, BankStatus])
REASONS: Final = convert(_CODES["reasons"], dict[str, str])
PAYEE_RESULTS: Final = {"RCVC": "match", "RVMC": "close", "RVNM": "none", "RVNA": "not_possible"}
"""What verifying a payee's name gave, by its code."""


def status_words(code: str) -> str:
    """`ACSP: accepted, being carried out`; the code alone where it is not known."""
    status = STATUSES.get(code)
    return f"{code}: {status.words}" if status else code


def reason_words(codes: list[str]) -> str:
    """`AC04 account closed, AM05 duplicate payment`; the bank's own codes as they are."""
    return ", ".join(f"{code} {REASONS[code]}" if code in REASONS else code for code in codes)
