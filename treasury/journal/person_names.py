"""Which names are of one person: for a permission the same name, for four eyes the same looks.

A permission asks for the name itself; only case, width and blanks may differ. Four eyes ask more: a
second account whose name looks like the first one's is no second person. Look-alikes are the single
characters that Unicode's list of confusables (UTS 39) gives for a Latin letter, a digit or a sign
that joins names, and the small Cyrillic and Greek letters that have the shape of a Latin capital.
That list knows no case, so a name is compared twice: in small letters, where `i` is not `l`, and as
written, where `I` is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from treasury.core.files.package_files import package_toml


def _letters(case: str) -> dict[int, str]:
    """For `str.translate`: from each look-alike to the letter whose looks it has."""
    return {ord(shape): letter for letter, shapes in _TABLES[case].items() for shape in shapes}


_TABLES: Final = package_toml("treasury.core", "look_alikes.toml")
_SMALL: Final = _letters("small")
_CAPITAL: Final = _letters("capital")
_NAMES: Final = 1_000
"""Names whose looks are kept: a journal has few people, and names them often."""
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))))
)
"""What shows nothing and is no control or format character: fillers, blanks of notations, variation
selectors, and the numbers that Unicode reserves for more of them."""


_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def same_name(name: str, another: str) -> bool:
    """Whether two names are the same name: case, width and blanks make no other."""
    return _plain(name) == _plain(another)


def same_person(name: str, another: str) -> bool:
    """Whether two names may be one person's: what looks alike, in either case, is one.

    Invisible characters, width and blanks make no difference. A direction mark can show the
    characters of a name in another order, so with one of them the order does not count.
    """
    one, other = _appearances(name), _appearances(another)
    if _DIRECTION.search(name + another):
        one, other = (frozenset("".join(sorted(form)) for form in forms) for forms in (one, other))
    return not one.isdisjoint(other)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@lru_cache(_NAMES)
def _appearances(name: str) -> frozenset[str]:
    """How a name looks in small letters, and as it is written."""
    visible = "".join(
        c
        for c in unicodedata.normalize("NFKC", name)
        if c not in _INVISIBLE and (c.isspace() or unicodedata.category(c) not in {"Cf", "Cc"})
    )
    written = visible.translate(_CAPITAL).translate(_SMALL)
    forms = (_plain(_plain(form).translate(_SMALL)) for form in (visible, written))
    return frozenset(form.replace(" ", "") for form in forms)
