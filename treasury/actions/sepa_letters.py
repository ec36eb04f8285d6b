"""Transliteration to the letters that SEPA carries, by the EPC's conversion table (EPC217-08).

SEPA messages carry Latin letters without accents, digits and ten other characters. The table of
"SEPA Requirements for an Extended Character Set" maps every other European letter to these: ü to u,
ß to s, & to +, Ψ to PS.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_LETTERS: Final = {
    # Latin letters that do not decompose into a letter and an accent
    "ß": "s", "ẞ": "S", "Æ": "A", "æ": "a", "Œ": "O", "œ": "o", "Ø": "O", "ø": "o", "Ð": "D",
    "ð": "d", "Þ": "T", "þ": "t", "Đ": "D", "đ": "d", "Ħ": "H", "ħ": "h", "ı": "i", "ĸ": "k",
    "Ł": "L", "ł": "l", "Ŋ": "N", "ŋ": "n", "Ŧ": "T", "ŧ": "t", "ŉ": "n", "ſ": "s",
    "Ĳ": "IJ", "Ŀ": "L",
    # Greek
    "Α": "A", "Β": "V", "Γ": "G", "Δ": "D", "Ε": "E", "Ζ": "Z", "Η": "I", "Θ": "TH", "Ι": "I",
    "Κ": "K", "Λ": "L", "Μ": "M", "Ν": "N", "Ξ": "X", "Ο": "O", "Π": "P", "Ρ": "R", "Σ": "S",
    "Τ": "T", "Υ": "Y", "Φ": "F", "Χ": "CH", "Ψ": "PS", "Ω": "O", "ς": "s",
    # Bulgarian
    "А": "A", "Б": "B", "В": "V", "Г": "G", "Д": "D", "Е": "E", "Ж": "ZH", "З": "Z", "И": "I",
    "Й": "Y", "К": "K", "Л": "L", "М": "M", "Н": "N", "О": "O", "П": "P", "Р": "R", "С": "S",
    "Т": "T", "У": "U", "Ф": "F", "Х": "H", "Ц": "TS", "Ч": "CH", "Ш": "SH", "Щ": "SHT",
    "Ъ": "A", "Ь": "Y", "Ю": "YU", "Я": "YA",
}  # fmt: skip
_SIGNS: Final = {
    "&": "+", "_": "-", "~": "-", "‐": "-", "‑": "-", "–": "-", "—": "-", ";": ",", "[": "(",
    "{": "(", "]": ")", "}": ")", "`": "'", "´": "'", "‘": "'", "’": "'", "‚": ",", "€": "E",
    '"': ".", "“": ".", "”": ".", "„": ".", "«": ".", "»": ".", "!": ".", "#": ".", "$": ".",
    "%": ".", "*": ".", "=": ".", "@": ".", "\\": ".", "^": ".", "|": ".", "£": ".", "§": ".",
    "°": ".", "·": ".", "…": ".", "<": ".", ">": ".", "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ",
}  # fmt: skip
_TABLE: Final = (
    _SIGNS | {letter.lower(): text.lower() for letter, text in _LETTERS.items()} | _LETTERS
)


def sepa_letters(text: str) -> str:
    """Transliterate a text to SEPA's letters; keep characters that have no such letter."""
    return "".join(map(_converted, unicodedata.normalize("NFC", text)))


def _converted(character: str) -> str:
    if character in _TABLE:
        return _TABLE[character]
    base = unicodedata.normalize("NFD", character)[0]
    return _TABLE.get(base, base) if base.isalpha() else character
