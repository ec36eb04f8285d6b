"""Names for a message that leaves the desk: no account number, address, amount or link in them.

What an item is called holds text from outside. A message is read on a telephone and kept by
strangers' servers, so of such a text only words and payment references stay.
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
"""A reference of the services, as PAY-2026-005358 or VFY-8M3T-407; AC-31926819 is an account."""
_MARKS: Final = ",;:"
_CURRENCY: Final = "(?i:euros?|eurc?|usd[ct]?|gbp|chf|dollars?|pounds?)"
_BETWEEN: Final = r"(?:⟨U\+[0-9A-F]+⟩|[^A-Za-z0-9…⟨⟩,;]){0,3}"
"""What may stand between two groups of a number: marks, and characters that do not show."""
_MASKED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b[A-Za-z]{{2}}\d{{2}}(?:{_BETWEEN}[A-Za-z0-9]){{6,}}",  # IBAN, however grouped
        r"\b0[xX][0-9A-Za-z]+",  # a wallet's address, a transaction's hash
        r"\b(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}\b",
        r"…\s?\w+",  # the last characters of an account
        r"(?:\b[A-Z]{3,5}|[€$£¥])\s?[+-]?\d[\d\s.,'’-]*",  # EUR 500
        r"\d[\d\s.,'’]*(?:[A-Z]{3,5}\b|[€$£¥])",
        rf"\b{_CURRENCY}\s?\d[\d.,'’]*|\d[\d.,'’]*\s?{_CURRENCY}\b",
        rf"\d(?:[,;]?{_BETWEEN}\d){{4,}}",  # account numbers, amounts
        r"\d+[.,]\d+",
    )
)


def masked(name: str) -> str:
    """A name as a message may show it: one harmless line without numbers, amounts or links."""

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
            # A mail program makes a link of an address, a domain or a scheme.
            text = text.replace("://", " ").replace("@", " at ")
            text = re.sub(r"(?<=\S)[.:。．｡](?=\S)", "·", text)
            parts.append(text.replace(f"{_HIDDEN} {_HIDDEN}", _HIDDEN))
    return " ".join(filter(None, parts))[:_LONGEST].strip()
