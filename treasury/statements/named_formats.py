"""Formats that are known by name alone: a file in one of them is refused with what it is."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["named_format"]

_FORMATS: Final = tuple(
    (name, re.compile(pattern, re.DOTALL))
    for name, pattern in (
        ("OFX", rb"\s*(?:OFXHEADER:|<\?OFX\b|<\?xml[^>]*>\s*(?:<\?OFX\b|<OFX>)|<OFX>)"),
        ("QIF", rb"\s*!(?:Type|Account|Option):"),
        ("BAI2", rb"01,[^,\r\n]*,[^,\r\n]*,\d{6},\d{0,4},"),
        ("AEB43 (Norma 43)", rb"11\d{18}\d{12}[12]\d{14}\d{3}"),
        ("PDF", rb"%PDF-"),
        ("an Excel workbook", rb"\xd0\xcf\x11\xe0"),
        ("PSD2 JSON", rb'\s*[{\[].{0,4000}"(?:transactions|booked|transactionAmount)"\s*:'),
        ("JSON", rb'\s*(?:\{\s*"|\[\s*[{\[])'),
    )
)
"""What a file in the format begins with; the first that fits counts."""


def named_format(head: bytes) -> str | None:
    """The format that a file begins like, if it is one that is known and not read."""
    return next((name for name, begins in _FORMATS if begins.match(head)), None)
