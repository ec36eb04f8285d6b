"""Comparison of names: exact for permissions, by appearance for the four-eyes rule.

A permission requires the same name; only case, character width and blanks may differ. The four-eyes
rule is stricter: an account whose name merely looks like the first person's is not a second person.
A look-alike is a character that Unicode's list of confusables (UTS 39) maps to a Latin letter, a
digit or a punctuation mark that occurs in names. A small Cyrillic or Greek letter shaped like a
Latin capital is one too. Names are compared twice, because look-alikes depend on case: `i` does not
look like `l`, but `I` does. One comparison uses small letters, the other the letters as written.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from treasury.core.files.package_files import package_toml


def _letters(case: str) -> dict[int, str]:
    """Return a `str.translate` table that replaces each look-alike by its letter."""
    return {ord(shape): letter for letter, shapes in _TABLES[case].items() for shape in shapes}


_TABLES: Final = package_toml("treasury.core", "look_alikes.toml")
_SMALL: Final = _letters("small")
_CAPITAL: Final = _letters("capital")
_NAMES: Final = 1_000
"""Size of the cache of names: a journal names few people, and each of them often."""
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))))
)
"""Invisible characters that Unicode does not class as control or format characters: fillers,
notational blanks, variation selectors, and code points reserved for such characters.
"""


_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def same_name(name: str, another: str) -> bool:
    """Return True if two names differ only in case, character width or blanks, or not at all."""
    return _plain(name) == _plain(another)


def same_person(name: str, another: str) -> bool:
    """Return True if two names look alike, so that they may be names of one person.

    Invisible characters, character width and blanks are ignored. A direction mark can change the
    displayed order of characters, so if either name has such a mark, the order is ignored too.
    """
    one, other = _appearances(name), _appearances(another)
    if _DIRECTION.search(name + another):
        one, other = (frozenset("".join(sorted(form)) for form in forms) for forms in (one, other))
    return not one.isdisjoint(other)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@lru_cache(_NAMES)
def _appearances(name: str) -> frozenset[str]:
    """Return the two forms in which names are compared: in lower case, and as written."""
    visible = "".join(
        c
        for c in unicodedata.normalize("NFKC", name)
        if c not in _INVISIBLE and (c.isspace() or unicodedata.category(c) not in {"Cf", "Cc"})
    )
    written = visible.translate(_CAPITAL).translate(_SMALL)
    forms = (_plain(_plain(form).translate(_SMALL)) for form in (visible, written))
    return frozenset(form.replace(" ", "") for form in forms)
