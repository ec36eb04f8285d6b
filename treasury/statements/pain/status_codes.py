"""Meaning of the codes in payment status reports, and their effect on the money.

The codes and their sources are in `status_codes.toml`.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_toml

_Stage = Literal["received", "signature", "accepted", "settled", "rejected", "parts", "payee"]


class BankStatus(msgspec.Struct, frozen=True):
    """A status code: its meaning in words, and the stage of the order.

    The stages: `received`, the bank has the order but has not decided. `signature`, the order waits
    for a signature at the bank. `accepted`, the order may still be rejected. `settled`, the account
    is debited. `rejected`, no money leaves. `parts`, each payment has its own status. `payee`, the
    result of verifying the payee's name, without effect on the money.
    """

    words: str
    stage: _Stage


_CODES: Final = package_toml(__package__, "status_codes.toml")
STATUSES: Final = convert(_CODES["statuses"], dict[str, BankStatus])
REASONS: Final = convert(_CODES["reasons"], dict[str, str])
PAYEE_RESULTS: Final = {"RCVC": "match", "RVMC": "close", "RVNM": "none", "RVNA": "not_possible"}
"""Result of verifying the payee's name, by code."""


def status_words(code: str) -> str:
    """Return a code and its words, `ACSP: accepted, being carried out`; an unknown code alone."""
    status = STATUSES.get(code)
    return f"{code}: {status.words}" if status else code


def reason_words(codes: list[str]) -> str:
    """Return codes and their words, `AC04 account closed, AM05 duplicate payment`.

    A bank's own codes have no words.
    """
    return ", ".join(f"{code} {REASONS[code]}" if code in REASONS else code for code in codes)
