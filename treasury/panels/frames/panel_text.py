"""Text in panels: shown literally, with hidden characters made visible.

The browser gets text and no markup. Text can still deceive by control characters, marks that
reverse the reading direction, or zero-width characters. Each of these is shown as its code, so that
people see the exact content of a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final

import msgspec

from treasury.core.calendar import day_words
from treasury.core.text import visible
from treasury.core.wording import instant_words

_CLOCK: Final[ContextVar[tzinfo]] = ContextVar("clock", default=UTC)
"""The time zone of the active panel's workspace."""

LONGEST: Final = 2_000


def literal_text(text: str) -> str:
    """Return the text with hidden characters as codes; a very long text is cut, with a note."""
    literal = visible(text[:LONGEST])
    missing = len(text) - LONGEST
    return f"{literal} … ({missing} more characters)" if missing > 0 else literal


def literal(content: object) -> Any:
    """Convert a struct to plain lists and dictionaries, with all texts made literal."""
    return _mapped(msgspec.to_builtins(content))


@contextmanager
def desk_clock(zone: tzinfo) -> Iterator[None]:
    """Show instants in a workspace's time zone within the `with` block."""
    before = _CLOCK.set(zone)
    try:
        yield
    finally:
        _CLOCK.reset(before)


def instant(moment: datetime | None) -> str:
    """Return `2 Nov 2026 09:00:05 CET`, in the workspace's time zone; empty for None."""
    if moment is None:
        return ""
    return instant_words(moment.astimezone(_CLOCK.get()), "%-d %b %Y %H:%M:%S")


def day(on: date | None, absent: str = "") -> str:
    """Return `2 Nov 2026`; `absent` for None."""
    return day_words(on) or absent


def _mapped(value: Any) -> Any:
    match value:
        case str():
            return literal_text(value)
        case dict():
            return {key: _mapped(item) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item) for item in value]
    return value
