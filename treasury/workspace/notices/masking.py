"""Masks names of items for messages.

An item's name contains text from outside. A message is read on phones and stored on other servers,
so only words, payment references and single numbers of up to four digits are shown. Amounts with a
currency or decimals are hidden.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from treasury.core.text import clean

_HIDDEN: Final = "…"
_LONGEST: Final = 80
_REFERENCE: Final = re.compile(
    r"[A-Z]{3}-(?:20\d\d-\d{3,6}|(?=\d{0,3}[A-Z])[A-Z0-9]{4}-\d{3})", re.ASCII
)
"""A reference of the services, for example PAY-2026-005358 or VFY-8M3T-407, but not an account
number like AC-31926819."""
_MARKS: Final = ",;:"
_CURRENCY: Final = "(?i:euros?|eurc?|usd[ct]?|gbp|chf|dollars?|pounds?)"
_BETWEEN: Final = r"(?:⟨U\+[0-9A-F]+⟩|[^A-Za-z0-9…⟨⟩,;]){0,3}"
"""Separators between two groups of a number: marks, and invisible characters."""
_MASKED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b[A-Za-z]{{2}}\d{{2}}(?:{_BETWEEN}[A-Za-z0-9]){{6,}}",  # An IBAN, in groups or not.
        r"\b0[xX][0-9A-Za-z]+",  # A wallet's address, or a transaction hash.
        r"\b(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}\b",
        r"…\s?\w+",  # The last characters of an account number.
        r"(?:\b[A-Z]{3,5}|[€$£¥])\s?[+-]?\d[\d\s.,'’-]*",  # An amount such as EUR 500.
        r"\d[\d\s.,'’]*(?:[A-Z]{3,5}\b|[€$£¥])",
        rf"\b{_CURRENCY}\s?\d[\d.,'’]*|\d[\d.,'’]*\s?{_CURRENCY}\b",
        rf"\d(?:[,;]?{_BETWEEN}\d){{4,}}",  # Account numbers and amounts.
        r"\d+[.,]\d+",
    )
)


def masked(name: str) -> str:
    """Return a name as one line without links, account numbers, hashes and amounts."""

    def is_reference(word: str) -> bool:
        return _REFERENCE.fullmatch(word.rstrip(_MARKS)) is not None

    parts: list[str] = []
    for are_references, words in groupby(clean(name).split(" "), is_reference):
        if are_references:
            parts += (word.rstrip(_MARKS) for word in words)
        else:
            text = " ".join(words)
            for pattern in _MASKED:
                text = pattern.sub(_HIDDEN, text)
            # Mail programs turn addresses, domains and schemes into links.
            text = text.replace("://", " ").replace("@", " at ")
            text = re.sub(r"(?<=\S)[.:。．｡](?=\S)", "·", text)
            parts.append(text.replace(f"{_HIDDEN} {_HIDDEN}", _HIDDEN))
    return " ".join(filter(None, parts))[:_LONGEST].strip()
