"""Which encoding a bank's text is in, decided once for a file by what its letters say.

Bytes beyond ASCII are letters of some language in one encoding, and signs or letters that no such
language has in another. Every encoding is judged by the languages that are written in it; where two
do equally well, the currencies in the text decide, else the more usual one.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import cache
from typing import Final

_WEST: Final = ("äöüß", "àâçéèêëîïôùûœ", "àèéìòù", "áéíñóúü", "åäöæøé", "ãõáéíóúâêôçà")
_EAST: Final = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž")
_BALTIC: Final = ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")
_ENCODINGS: Final = (
    ("windows-1252", _WEST),
    ("windows-1250", (*_EAST, "äöüß")),
    ("iso-8859-2", _EAST),
    ("windows-1257", _BALTIC),
    ("cp852", (*_EAST, "äöüß")),
    ("cp850", _WEST),
)
"""In the order in which they are taken where they do equally well."""
_SIGNS: Final = frozenset("€–—’‘“”„…°§£«»¿¡ºª·´`\u00a0")
"""What stands among letters of any language."""
_HINTS: Final = {
    "ąćęłńóśźż": (b"PLN", b"mBank"),
    "áčďéěíňóřšťúůýž": (b"CZK",),
    "áéíóöőúüű": (b"HUF",),
    "ăâîşţ": (b"RON",),
}
_ASCII: Final = bytes(range(128))
_HEAD: Final = 400


class Letters:
    """The bytes beyond ASCII of a file, counted a piece at a time, and the currencies beside."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._hinted: set[str] = set()

    def add(self, data: bytes) -> None:
        """Count a piece of the file, which should end where a word does."""
        self._counts.update(data.translate(None, _ASCII))
        for letters, hints in _HINTS.items():
            # A hint stands in the text by itself, figures beside it apart.
            if letters not in self._hinted and any(
                (
                    word in data
                    and re.search(rb"(?<![A-Za-z])%b(?![A-Za-z])" % word, data) is not None
                )
                for word in hints
            ):
                self._hinted.add(letters)

    @property
    def encoding(self) -> str:
        """The encoding of one byte a character that explains them best; each byte is in it."""
        best, encoding, whole = -1.0, "latin-1", max(1, self._counts.total())
        for name, languages in _ENCODINGS:
            characters = _decoded(name)
            if any(byte not in characters for byte in self._counts):
                continue
            counted = [(characters[byte], count) for byte, count in self._counts.items()]
            for letters in languages:
                alphabet = {*letters, *letters.upper()}
                points = sum(
                    count if character in alphabet else 0 if character in _SIGNS else -count
                    for character, count in counted
                )
                share = points / whole + (_HINT if letters in self._hinted else 0)
                if share > best:
                    best, encoding = share, name
        return encoding


_HINT: Final = 0.25


@cache
def _decoded(name: str) -> dict[int, str]:
    """The characters of the bytes beyond ASCII that an encoding has."""
    texts = {byte: bytes([byte]).decode(name, "ignore") for byte in range(128, 256)}
    return {byte: text for byte, text in texts.items() if text}


def utf_16(first: bytes) -> str:
    """UTF-16, by its mark, or by every other byte being zero, as it is of most letters.

    Empty where the file is in no such encoding.
    """
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = first[:_HEAD:2], first[1:_HEAD:2]
    if 0 not in even and odd.count(0) * 5 > len(odd) * 4:
        return "utf-16-le"
    return "utf-16-be" if 0 not in odd and even.count(0) * 5 > len(even) * 4 else ""
