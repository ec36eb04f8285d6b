"""Checks of identifiers: IBAN, BIC, account numbers and blockchain addresses."""

from __future__ import annotations

import re

_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", re.ASCII)
_BIC = re.compile(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?", re.ASCII)
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.ASCII | re.IGNORECASE)


def is_iban(text: str) -> bool:
    """Return True if an IBAN has its country's length and form, and valid check digits (ISO 13616).

    Blanks are ignored.
    """
    from stdnum import iban

    plain = "".join(text.split()).upper()
    return _IBAN.fullmatch(plain) is not None and iban.is_valid(plain, check_country=False)


def is_bic(text: str) -> bool:
    """Return True if the text has the form of a BIC (ISO 9362: 8 or 11 characters)."""
    return _BIC.fullmatch(text) is not None


def plain_account(account: str) -> str:
    """Normalise an account number for comparison: remove blanks, and use upper case."""
    return account.replace(" ", "").upper()


def plain_address(address: str) -> str:
    """Return a blockchain address for comparisons: a hexadecimal one in lower case.

    The case of a hexadecimal address has no meaning. On other chains, addresses that differ in case
    are different addresses.
    """
    return address.lower() if _HEXADECIMAL.fullmatch(address) else address
