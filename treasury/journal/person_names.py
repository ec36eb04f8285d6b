"""Which names are of one person: for a permission the same name, for four eyes the same looks.

A permission asks for the name itself; only case, width and blanks may differ. Four eyes ask more: a
second account whose name looks like the first one's is no second person. Look-alikes are the single
characters that Unicode's list of confusables (UTS 39) gives for a Latin letter, a digit or a sign
that joins names, and the small Cyrillic and Greek letters that have the shape of a Latin capital.
That list knows no case, so a name is compared twice: in small letters, where `i` is not `l`, and as
written, where `I` is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["same_name", "same_person"]


def _letters(look_alikes: Mapping[str, str]) -> dict[int, str]:
    """For `str.translate`: from each look-alike to the letter whose looks it has."""
    return {ord(shape): letter for letter, shapes in look_alikes.items() for shape in shapes}


_SMALL: Final = _letters(
    {
        "-": "\u02d7\u06d4\u2010\u2012\u2013\u2043\u2212\u2796\u2cba",
        ".": "\u0660\u06f0\u0701\u0702\ua4f8\ua60e",
        "'": "`\u02b9\u02bb\u02bc\u02bd\u02be\u02c8\u02ca\u02cb\u2018\u2019\u201b\u2032\u2035",
        "2": "\u14bf\ua6ef",
        "6": "\u0431",
        "8": "\u0223\u09ea\u0a6a",
        "9": "\u09ed\u0a67\u0b68\u0d6d",
        "a": "\u0251\u03b1\u0430",
        "b": "\u0432\u1472\u15af",
        "c": "\u0441\u1d04\u2ca5\uabaf",
        "d": "\u0501\u146f\ua4d2",
        "e": "\u0435\u04bd\uab32",
        "f": "\u0584\u1e9d\ua799\uab35",
        "g": "\u018d\u0261\u0581\u1d83",
        "h": "\u043d\u04bb\u0570",
        "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\ua647\uab75",
        "j": "\u03f3\u0458",
        "k": "\u0138\u03ba\u043a",
        "l": "1|\u01c0\u06f1\u16c1\u2d4f\ua4f2",
        "m": "\u043c",
        "n": "\u03b7\u0578\u057c",
        "o": "0\u03bf\u043e\u0585\u06f5\u0966\u0e50\u101d\u10ff\u1d0f\u1d11\u2c9f\uab3d",
        "p": "\u03c1\u0440\u2ca3",
        "q": "\u051b\u0563\u0566",
        "r": "\u0433\u1d26\u2c85\uab47\uab48\uab81",
        "s": "\u01bd\u0455\ua731\uabaa",
        "t": "\u03c4\u0442",
        "u": "\u028b\u03c5\u057d\u1d1c\ua79f\uab4e\uab52",
        "v": "\u03bd\u0475\u1d20\uaba9",
        "w": "\u026f\u0461\u051d\u0561\u1d21\uab83",
        "x": "\u0445\u1541\u157d",
        "y": "\u0263\u028f\u03b3\u0443\u04af\u10e7\u1d8c\u1eff\uab5a",
        "z": "\u1d22\uab93",
    }
)
_CAPITAL: Final = _letters(
    {
        "2": "\u01a7\u03e8\ua644\ua75a",
        "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab",
        "4": "\u13ce",
        "5": "\u01bc",
        "6": "\u13ee\u2cd2",
        "8": "\u0222",
        "9": "\u2cca\ua76e",
        "A": "\u0391\u0410\u13aa\u15c5\ua4ee",
        "B": "\u0392\u0412\u13f4\u15f7\ua4d0\ua7b4",
        "C": "\u0421\u13df\u2ca4\ua4da",
        "D": "\u13a0\u15de\u15ea\ua4d3",
        "E": "\u0395\u0415\u13ac\u2d39\ua4f0",
        "F": "\u03dc\u15b4\ua4dd\ua798",
        "G": "\u050c\u13c0\u13f3\ua4d6",
        "H": "\u0397\u041d\u13bb\u157c\u2c8e\ua4e7",
        "J": "\u037f\u0408\u13ab\u148d\ua4d9\ua7b2",
        "K": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7",
        "L": "\u13de\u14aa\u2cd0\ua4e1",
        "M": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df",
        "N": "\u039d\u2c9a\ua4e0",
        "O": "\u039f\u041e\u0555\u09e6\u0b20\u0b66\u12d0\u2c9e\u2d54\u3007\ua4f3",
        "P": "\u03a1\u0420\u13e2\u146d\u2ca2\ua4d1",
        "Q": "\u2d55",
        "R": "\u01a6\u13a1\u13d2\u1587\ua4e3",
        "S": "\u0405\u054f\u13d5\u13da\ua4e2",
        "T": "\u03a4\u0422\u13a2\u2ca6\ua4d4",
        "U": "\u054d\u1200\u144c\ua4f4",
        "V": "\u0474\u06f7\u13d9\u142f\u2d38\ua4e6\ua6df",
        "W": "\u051c\u13b3\u13d4\ua4ea",
        "X": "\u03a7\u0425\u16b7\u2cac\u2d5d\ua4eb\ua7b3",
        "Y": "\u03a5\u0423\u04ae\u13a9\u13bd\u2ca8\ua4ec",
        "Z": "\u0396\u13c3\ua4dc",
        "b": "\u0184\u042c\u13cf",
        "d": "\u13e7",
        "h": "\u13c2",
        "i": "\u13a5",
        "l": "I\u0196\u0399\u0406\u04c0\u2c92",
    }
)
_NAMES: Final = 1_000
"""Names whose looks are kept: a journal has few people, and names them often."""
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))))
)
"""What shows nothing and is no control or format character: fillers, blanks of notations, variation
selectors, and the numbers that Unicode reserves for more of them."""


def same_name(name: str, another: str) -> bool:
    """Whether two names are the same name: case, width and blanks make no other."""
    return _plain(name) == _plain(another)


def same_person(name: str, another: str) -> bool:
    """Whether two names may be one person's: what looks alike, in either case, is one.

    Invisible characters, width and blanks tell nobody apart either.
    """
    return not _appearances(name).isdisjoint(_appearances(another))


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
