"""Text from outside, made visible, put on one line, and made harmless in HTML.

Remittance texts, names and file names come from strangers. A control character must not move the
cursor, a direction mark must not reverse a line, markup must stay text, and a notebook must not
render "$5 and $6" as mathematics. Only this module does these conversions.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A byte of a file name that is not UTF-8, as Python represents it."""


def visible(text: str) -> str:
    """Return the text with hidden characters made visible, such as `␛` and `⟨U+202E⟩`."""
    if text.isprintable():
        return text
    return "".join(
        char if not is_hidden(char)
        else chr(0x2400 + ord(char)) if ord(char) < 0x20
        else f"⟨U+{ord(char):04X}⟩"
        for char in text
    )  # fmt: skip


def utf8_text(text: str) -> str:
    """Return a text that can be stored and sent; bytes that are not UTF-8 become visible."""
    return _SURROGATE.sub(lambda found: visible(found[0]), text)


def camel_case(name: str) -> str:
    """Convert a snake_case name to the services' spelling: `createdAt` for `created_at`."""
    head, *tail = name.split("_")
    return head + "".join(map(str.capitalize, tail))


def clean(text: object) -> str:
    """Return text from outside on one line, with all characters visible; empty for None."""
    return visible(" ".join(("" if text is None else str(text)).split()))


def ascii_escaped(text: str) -> str:
    """Return a text in printable ASCII; other characters are escaped, which exposes look-alikes."""
    return "".join(
        char if char.isascii() and char.isprintable() else ascii(char)[1:-1] for char in text
    )


def safe_html(text: object) -> str:
    """Return text from outside as HTML, without markup and without mathematics in a notebook."""
    return html.escape(clean(text)).replace("$", "&#36;")


class Screen(str):
    """A text of several lines that a notebook shows as `print` would."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def is_hidden(char: str) -> bool:
    """Return True if a character is invisible: a control, a direction mark, or of zero width."""
    return unicodedata.category(char) in _HIDDEN
