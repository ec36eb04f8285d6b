"""Texts that a spreadsheet would execute if a cell began with them."""

from __future__ import annotations

from itertools import product

SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
SEPARATORS = (",", ";", "\t", "\r", "\n", "\r\n")
_FILLS = ("", " ", "\u00a0", '"', '" ', "''")


def hostile_texts() -> list[str]:
    """Return texts with a formula at the start or after a separator, with and without padding."""
    places = ("", *(f"x{separator}" for separator in SEPARATORS))
    return [f"{place}{fill}{sign}1+1" for place, fill, sign in product(places, _FILLS, SIGNS)]
