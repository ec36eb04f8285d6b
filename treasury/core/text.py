"""Makes text from outside visible, puts it on one line, and makes it harmless in HTML.

Remittance texts, names and file names come from strangers. A control character must not move the
cursor, a direction mark must not reverse a line, markup must stay text, and a notebook must not
render "$5 and $6" as mathematics. Only this module does these conversions.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
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


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the known name nearest to a misspelt one; empty if none is near.

    Differences in case, blanks and hyphens are ignored.
    """
    by_spelling = {screen_code(each): each for each in names}
    close = get_close_matches(screen_code(str(name)), by_spelling, 1)
    return by_spelling[close[0]] if close else ""


def is_it(name: object, names: Iterable[str]) -> str:
    """Return `; is it NAME?` with the known name nearest to a misspelt one, or an empty text."""
    near = nearest(name, names)
    return f"; is it {clean(near)}?" if near else ""


def one_of(name: object, names: Iterable[str], verb: str = "use") -> str | None:
    """Return the step `use one of NAMES`, or None if `is_it` already suggests a near name."""
    choices = list(names)
    return None if nearest(name, choices) else f"{verb} one of {', '.join(map(clean, choices))}"


def screen_code(name: str) -> str:
    """Convert a word on screen to its code in snake_case: `Other business` to `other_business`."""
    return name.casefold().replace("-", "_").replace(" ", "_")


def service_code(text: str) -> str:
    """Return a service's code in one spelling: `ON_HOLD` for `on-hold`."""
    return text.upper().replace("-", "_")


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


def is_hidden(char: str) -> bool:
    """Return True for an invisible character: a control, a direction mark, or one without width."""
    return unicodedata.category(char) in _HIDDEN
