"""Bank identifiers: whether an IBAN or a BIC can be one at all, before it is sent anywhere."""

from __future__ import annotations

import re

_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)
_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?", re.ASCII)


def is_iban(text: str) -> bool:
    """Whether the check digits of an IBAN hold (ISO 13616: modulo 97 is 1); blanks do not count."""
    iban = "".join(text.split()).upper()
    if not _IBAN.fullmatch(iban):
        return False
    digits = "".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])
    return int(digits) % 97 == 1


def is_bic(text: str) -> bool:
    """Whether the text has the form of a BIC (ISO 9362: 8 or 11 characters)."""
    return _BIC.fullmatch(text) is not None


def plain_account(account: str) -> str:
    """An account number without spaces, in upper case: how accounts are compared."""
    return account.replace(" ", "").upper()
