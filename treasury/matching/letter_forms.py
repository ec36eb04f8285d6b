"""Map letters, digits and signs to the plain characters that they stand for, or look like.

`plain_forms` maps other forms of a character by Unicode's compatibility form (NFKC): full-width,
mathematical and circled letters, superscript and subscript digits. A decimal digit of any script
becomes the plain digit. Letters of another alphabet, or of an older spelling, stay unchanged. The
step `reference_fields` lists the ranges in which it searches for these characters.

`latin_shapes` maps letters of other scripts to the Latin letters and digits that they look like. A
reading that replaces such letters can raise a doubt or suggest a candidate, but it never proves a
match.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator
from typing import Final

from treasury.core.files.package_files import package_toml

_INVISIBLE: Final = "\u2060"
_SEVERAL: Final = "\u20dd"
"""Replacement for a sign that stands for several characters. It is treated like a mark over the
letter before it: it neither belongs to a code nor ends one, and the step `text_doubts` leaves its
line to a person."""
_NUMERO: Final = "\u2116"
"""The sign for "number", which precedes a code and is not part of the code."""
_DASHES: Final = (
    "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\ufe58\ufe63\uff0d"
)
_UNSEEN: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(
    map(chr, (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Letters and marks without a visible shape."""
_BLOCKS: Final = (
    (0x00AA, 0x00BB), (0x0132, 0x0134), (0x01C4, 0x01CD), (0x01F1, 0x01F4), (0x02B0, 0x0300),
    (0x1D2C, 0x1DC0), (0x2024, 0x2025), (0x2070, 0x2190), (0x2460, 0x2500), (0x2C7C, 0x2C7E),
    (0x3000, 0x3001), (0x3250, 0x3400), (0xA69C, 0xAB70), (0xFB00, 0xFB07), (0xFB29, 0xFB2A),
    (0xFE10, 0xFE70), (0xFF00, 0xFFF0), (0x10780, 0x107C0), (0x1D400, 0x1D800), (0x1F100, 0x1F200),
    (0x1FBF0, 0x1FBFA),
)  # fmt: skip
"""Ranges that contain other forms of ASCII characters."""
_SCRIPTS_END: Final = 0x1FC00
"""The code point after the last decimal digit of any script."""


def latin_shapes() -> dict[str, str]:
    """Map each letter of another script to the Latin capital or digit that it looks like.

    A small letter without an entry is mapped like its capital.
    """
    table = package_toml("treasury.core", "look_alikes.toml")
    shapes: dict[str, str] = {}
    for case in ("small", "capital"):
        for letter, alike in table[case].items():
            # I, l and 1 look alike; the `look_alikes` of the rules then try 1 for I.
            latin = "I" if letter == "l" else letter.upper()
            if latin.isalnum():
                shapes |= dict.fromkeys((c for c in alike if not c.isascii()), latin)
    small = {capital.lower(): latin for capital, latin in shapes.items()}
    return {c: latin for c, latin in small.items() if len(c) == 1} | shapes


def plain_forms() -> Iterator[tuple[str, str]]:
    """Yield each character that has another plain form, with this form."""
    yield from zip(string.ascii_lowercase, string.ascii_uppercase, strict=True)
    for digit in filter(str.isdecimal, map(chr, range(0x80, _SCRIPTS_END))):
        yield digit, str(unicodedata.decimal(digit))
    for character in (chr(code) for block in _BLOCKS for code in range(*block)):
        plain = unicodedata.normalize("NFKC", character)
        if (
            character.isdecimal()
            or character in _DASHES
            or character in _UNSEEN
            or plain == character
            or not plain.isascii()
        ):
            continue
        if len(plain) == 1:
            yield character, plain.upper()
        elif any(map(str.isalnum, plain)) and character != _NUMERO:
            yield character, _SEVERAL
    yield from ((dash, "-") for dash in _DASHES)
    yield from ((character, _INVISIBLE) for character in _UNSEEN)


WRITTEN, MEANT = map("".join, zip(*dict(plain_forms()).items(), strict=True))
FOREIGN, SHAPES = map("".join, zip(*latin_shapes().items(), strict=True))
"""Letters of other scripts, and the Latin capitals and digits that they look like."""
