"""Text as a panel shows it: outside text is literal, and what would be invisible is made visible.

The browser is given text and never markup. What remains is text that deceives without markup:
control characters, marks that reverse the direction of reading, characters of no width. Each is
shown as what it is, so that what a person reads is what the record holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import msgspec

from treasury.core.text import visible
from treasury.core.wording import instant_words

_CLOCK: Final[ContextVar[tzinfo]] = ContextVar("clock", default=UTC)
"""The time zone of the desk whose panel is at work."""

LONGEST: Final = 2_000


def literal_text(text: str) -> str:
    """The text with every hidden character shown, cut (and saying so) where it is very long."""
    literal = visible(text[:LONGEST])
    missing = len(text) - LONGEST
    return f"{literal} … ({missing} more characters)" if missing > 0 else literal


def literal(content: object) -> Any:
    """A struct as plain lists and dictionaries, each text in it made literal."""
    return _mapped(msgspec.to_builtins(content))


@contextmanager
def desk_clock(zone: tzinfo) -> Iterator[None]:
    """Tell instants in a desk's time zone during the block."""
    before = _CLOCK.set(zone)
    try:
        yield
    finally:
        _CLOCK.reset(before)


def instant(moment: datetime | None) -> str:
    """`2026-11-02 09:00:05 CET`, by the desk's clock; nothing where there is none."""
    if moment is None:
        return ""
    return instant_words(moment.astimezone(_CLOCK.get()), "%Y-%m-%d %H:%M:%S")


def _mapped(value: Any) -> Any:
    match value:
        case str():
            return literal_text(value)
        case dict():
            return {key: _mapped(item) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item) for item in value]
    return value
