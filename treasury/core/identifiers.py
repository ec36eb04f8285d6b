"""Bank identifiers: whether an IBAN or a BIC can be one at all, before it is sent anywhere."""

from __future__ import annotations

import re

_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)
_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?", re.ASCII)


def is_iban(text: str) -> bool:
    """Whether an IBAN has its country's length and form, and its check digits hold (ISO 13616).

    Blanks do not count.
    """
    from stdnum import iban

    plain = "".join(text.split()).upper()
    return _IBAN.fullmatch(plain) is not None and iban.is_valid(plain, check_country=False)


def is_bic(text: str) -> bool:
    """Whether the text has the form of a BIC (ISO 9362: 8 or 11 characters)."""
    return _BIC.fullmatch(text) is not None


def plain_account(account: str) -> str:
    """An account number without spaces, in upper case: how accounts are compared."""
    return account.replace(" ", "").upper()
