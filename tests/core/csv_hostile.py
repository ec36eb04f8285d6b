"""Texts that a spreadsheet would run if a cell began in them."""

from __future__ import annotations

from itertools import product

SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
SEPARATORS = (",", ";", "\t", "\r", "\n", "\r\n")
_FILLS = ("", " ", "\u00a0", '"', '" ', "''")


def hostile_texts() -> list[str]:
    """A formula at the start of a text and after every separator, with and without a filling."""
    places = ("", *(f"x{separator}" for separator in SEPARATORS))
    return [f"{place}{fill}{sign}1+1" for place, fill, sign in product(places, _FILLS, SIGNS)]
