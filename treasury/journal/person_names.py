"""Comparison of names: exact for permissions, by appearance for the four-eyes rule.

A permission requires the same name; only case, width and blanks may differ. The four-eyes rule is
stricter: a second account whose name looks like the first one's is not a second person. Look-alikes
are the single characters that Unicode's list of confusables (UTS 39) maps to a Latin letter, a
digit or a joining sign, and small Cyrillic and Greek letters shaped like a Latin capital. That list
ignores case, so names are compared twice: in small letters, where `i` differs from `l`, and as
written, where `I` does not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from treasury.core.files.package_files import package_toml


def _letters(case: str) -> dict[int, str]:
    """Return a table for `str.translate` from each look-alike to its letter."""
    return {ord(shape): letter for letter, shapes in _TABLES[case].items() for shape in shapes}


_TABLES: Final = package_toml("treasury.core", "look_alikes.toml")
_SMALL: Final = _letters("small")
_CAPITAL: Final = _letters("capital")
_NAMES: Final = 1_000
"""Size of the cache: a journal has few people, and repeats their names often."""
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))))
)
"""Invisible characters that are neither control nor format characters: fillers, blanks of
notations, variation selectors, and code points that Unicode reserves for more of them.
"""


_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def same_name(name: str, another: str) -> bool:
    """Return True if two names differ at most in case, width and blanks."""
    return _plain(name) == _plain(another)


def same_person(name: str, another: str) -> bool:
    """Return True if two names may be one person's, because they look alike in either case.

    Invisible characters, width and blanks are ignored. If one of the names has a direction mark,
    which can display its characters in another order, the order is ignored too.
    """
    one, other = _appearances(name), _appearances(another)
    if _DIRECTION.search(name + another):
        one, other = (frozenset("".join(sorted(form)) for form in forms) for forms in (one, other))
    return not one.isdisjoint(other)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@lru_cache(_NAMES)
def _appearances(name: str) -> frozenset[str]:
    """Return the appearances of a name: in small letters, and as written."""
    visible = "".join(
        c
        for c in unicodedata.normalize("NFKC", name)
        if c not in _INVISIBLE and (c.isspace() or unicodedata.category(c) not in {"Cf", "Cc"})
    )
    written = visible.translate(_CAPITAL).translate(_SMALL)
    forms = (_plain(_plain(form).translate(_SMALL)) for form in (visible, written))
    return frozenset(form.replace(" ", "") for form in forms)
