"""Text as a panel shows it: outside text is literal, and what would be invisible is made visible.

The browser is given text and never markup. What remains is text that deceives without markup:
control characters, marks that reverse the direction of reading, characters of no width. Each is
shown as what it is, so that what a person reads is what the record holds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from treasury.text import visible

__all__ = ["instant", "literal", "literal_text"]

LONGEST: Final = 2_000


def literal_text(text: str) -> str:
    """The text with every hidden character shown, cut (and saying so) where it is very long."""
    shown = visible(text[:LONGEST])
    missing = len(text) - LONGEST
    return f"{shown} … ({missing} more characters)" if missing > 0 else shown


def literal(content: object) -> Any:
    """A struct as plain lists and dictionaries, each text in it made literal."""
    return _mapped(msgspec.to_builtins(content))


def instant(moment: datetime | None) -> str:
    """`2026-11-02 08:00:05 UTC`; nothing where there is none."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _mapped(value: Any) -> Any:
    match value:
        case str():
            return literal_text(value)
        case dict():
            return {key: _mapped(item) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item) for item in value]
    return value
