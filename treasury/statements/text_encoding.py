"""Detection of the encoding of a bank's file, by the letters that its bytes would form.

In the right encoding the bytes beyond ASCII form letters of a language; in other encodings they
form symbols, or letters that the language does not have. A currency in the text favours the
encodings of its language. Of encodings that fit equally well, the more common one is used.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Collection
from functools import cache
from itertools import compress, pairwise
from string import ascii_lowercase
from typing import Final

_WEST: Final = ("äöüß", "àâçéèêëîïôùûœ", "àèéìòù", "áéíñóúü", "åäöæøé", "ãõáéíóúâêôçà")
_EAST: Final = ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž")
_BALTIC: Final = ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")
_VOWEL: Final = "aeiouyäöüáéíóúàèìòùâêîôûåæøãõąęėįųūāēīěůýőűăë"
_NEVER_WEST: Final = (
    # In French and Dutch a diaeresis is only on a vowel that follows a vowel; a grave accent is
    # never before a vowel, and on an a only at the end; a cedilla is only before a, o or u.
    rf"(?<![{_VOWEL}])[ëï]|[àèìòù](?=[{_VOWEL}ç])|à(?!s?$)|ç(?![aouáàâãóôõúûü])"
    rf"|ã(?![eo]|s?$)|õ(?!e)|(?<=[{_VOWEL}])æ|ñ(?![{_VOWEL}])"
)
_NEVER: Final = {
    letters: re.compile(pattern)
    for letters, pattern in (
        *((letters, _NEVER_WEST) for letters in (_WEST[0], _WEST[4])),
        *((letters, rf"{_NEVER_WEST}|[kw]") for letters in (*_WEST[1:4], _WEST[5])),
        (_EAST[0], rf"^[ąę]|[ćńśź](?=[{_VOWEL}])|[ąę](?=[nmr])|[qvx]"),
        (_EAST[1], rf"(?:^|(?<=[{_VOWEL}]))[ěů]|ď(?=[^{_VOWEL}])"),
        (_EAST[2], rf"(?:^|(?<=[{_VOWEL}]))[ŕĺ]|[ŕĺ](?:$|(?=[{_VOWEL}]))|ď(?=[^{_VOWEL}])"),
        (_EAST[3], rf"[őű](?=[{_VOWEL}])|(?<=[aeiouáéíóú])[őű]"),
        (_EAST[4], r"ă(?=[aeou])|[kwy]"),
        (
            _BALTIC[0],
            rf"(?<=[{_VOWEL}])[ėę]|ę(?![sšž]|$)|ų(?=[^sj])|(?<=[^{_VOWEL}])į(?!$)|[qwx]|(.)\1",
        ),
        (_BALTIC[1], rf"[āēīū](?=[{_VOWEL}])|(?<=[{_VOWEL}])[āēīū]|ļ(?=[^{_VOWEL}jktšn])|[qwxy]"),
        (_BALTIC[2], "[cqwxyz]"),
    )
}
"""Patterns of spellings that a language does not have; its letters are the key."""
_ENCODINGS: Final = (
    ("windows-1252", _WEST),
    ("windows-1250", (*_EAST, "äöüß")),
    ("iso-8859-2", _EAST),
    ("windows-1257", _BALTIC),
    ("cp852", (*_EAST, "äöüß")),
    ("cp850", _WEST),
)
"""Encodings in order of preference, which decides if several fit equally well."""
_SIGNS: Final = frozenset("€–—’‘“”„…°§£«»¿¡ºª·´`\u00a0")
"""Symbols that texts of any language may have."""
_HINTS: Final = {
    "ąćęłńóśźż": (b"PLN", b"mBank"),
    "áčďéěíňóřšťúůýž": (b"CZK",),
    "áéíóöőúüű": (b"HUF",),
    "ăâîşţ": (b"RON",),
}
REGIONS: Final = {
    "windows-1252": "west", "cp850": "west", "windows-1250": "east", "iso-8859-2": "east",
    "cp852": "east", "windows-1257": "baltic",
}  # fmt: skip
"""The part of Europe whose languages each encoding serves."""
_COUNTRIES: Final = {
    **dict.fromkeys(("LT", "LV", "EE"), "baltic"),
    **dict.fromkeys(("PL", "CZ", "SK", "HU", "RO", "SI", "HR", "BA", "RS", "ME", "AL"), "east"),
    **dict.fromkeys(
        ("AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "GB", "IE", "IS", "IT", "LI", "LU", "MC",
         "NL", "NO", "PT", "SE", "SM"), "west",
    ),
}  # fmt: skip
_ASCII: Final = bytes(range(128))
_HEAD: Final = 400


class Letters:
    """Counts of a file's bytes beyond ASCII, and the languages that its currencies suggest."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._hinted: set[str] = set()

    def add(self, data: bytes) -> None:
        """Count the bytes of a piece of the file, which should end at the end of a word."""
        self._counts.update(data.translate(None, _ASCII))
        for letters, hints in _HINTS.items():
            # A currency must be a separate word, but digits may be next to it.
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
        """Return the best fitting encoding that defines every byte of the file, else latin-1."""
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

    @property
    def is_hinted(self) -> bool:
        """Return whether a currency or a bank's name in the text suggests its language."""
        return bool(self._hinted)


_HINT: Final = 0.25


def region_of(iban: str) -> str:
    """Return the part of Europe that an IBAN's country is in; empty for other countries."""
    return _COUNTRIES.get(iban[:2], "")


def plausible_readings(words: Collection[bytes], usual: str) -> dict[str, tuple[str, ...]]:
    """Return the encodings that make words of a language, the best one first.

    Each encoding maps to its spelling of the words that another plausible encoding spells
    differently. The result has only one encoding if no other plausible one differs, and only
    `usual` if none is plausible. The code pages of DOS are never alternatives: they cannot be
    confused with the others.
    """
    languages_of = dict(_ENCODINGS)
    if usual.startswith("cp"):
        spelt = [text for word in words if (text := word.decode(usual)).strip(_AFTER)]
        if any(_is_word(text, letters) for text in spelt for letters in languages_of[usual]):
            return {usual: ()}
    texts = {
        name: [word.decode(name) for word in words]
        for name in languages_of
        if not name.startswith("cp")
        and all(byte in _decoded(name) for word in words for byte in word if byte > 127)
    }
    marks = {
        name: [[_is_word(text, letters) for text in texts[name]] for letters in languages]
        for name, languages in languages_of.items()
        if name in texts
    }
    read = {name: [any(marks) for marks in zip(*rows, strict=True)] for name, rows in marks.items()}
    best = max(read, key=lambda name: (sum(read[name]), name == usual), default=usual)
    if best not in read or not any(read[best]):
        return {usual: ()}
    found = {best: texts[best]}
    for name, rows in marks.items():
        other = [at for at, text in enumerate(texts[name]) if text != texts[best][at]]
        most = max(sum(row[at] for at in other) for row in rows)
        is_plausible = most > 0 and 3 * most >= 2 * sum(read[best][at] for at in other)
        if is_plausible and texts[name] not in found.values():
            found[name] = texts[name]
    differs = [len(set(readings)) > 1 for readings in zip(*found.values(), strict=True)]
    return {name: tuple(compress(readings, differs)) for name, readings in found.items()}


def _is_word(text: str, letters: str) -> bool:
    """Return whether a text is spelt like a word of the language with these letters."""
    text = text.lstrip(_BEFORE).rstrip(_AFTER)
    word = text.lower()
    if not set(word) <= {*letters, *ascii_lowercase} or (len(word) == 1 and word not in _ALONE):
        return False
    if any(before.islower() and after.isupper() for before, after in pairwise(text)):
        return False
    never = _NEVER.get(letters)
    return (never is None or never.search(word) is None) and _UNSPEAKABLE.search(word) is None


_BEFORE: Final = "".join(_SIGNS - {"ª", "º"})
_AFTER: Final = "".join(_SIGNS)
_ALONE: Final = frozenset("àáèéêóåöőįæøí")
"""Letters beyond ASCII that are words by themselves."""
_UNSPEAKABLE: Final = re.compile(rf"(?:^|[^{_VOWEL}])[čďķļņňřģćń](?:$|[^{_VOWEL}])")
"""Consonants without a vowel on either side, where another encoding has a vowel."""


@cache
def _decoded(name: str) -> dict[int, str]:
    """Return the character of each byte beyond ASCII that the encoding defines."""
    texts = {byte: bytes([byte]).decode(name, "ignore") for byte in range(128, 256)}
    return {byte: text for byte, text in texts.items() if text}


def utf_16(first: bytes) -> str:
    """Return the UTF-16 codec of a file; empty if it is not UTF-16.

    It is recognised by a byte order mark, or by a zero in every other byte.
    """
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = first[:_HEAD:2], first[1:_HEAD:2]
    if 0 not in even and odd.count(0) * 5 > len(odd) * 4:
        return "utf-16-le"
    return "utf-16-be" if 0 not in odd and even.count(0) * 5 > len(even) * 4 else ""
