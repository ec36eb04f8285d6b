"""Words in CSV files of banks by their meaning, read from `bank_words.toml`."""

from __future__ import annotations

import re
from typing import Final

from treasury.core.files.package_files import package_toml

_WORDS: Final = package_toml(__package__, "bank_words.toml")
_ROW: Final = _WORDS["row"]

TOTALS: Final = frozenset(_ROW["totals"])
TOTAL_ENDS: Final = tuple(_ROW["total_ends"])
TURNOVERS: Final = frozenset(_ROW["turnovers"])
OUT: Final = frozenset(_ROW["out"])
IN: Final = frozenset(_ROW["in"])
STATUS: Final = {word: code for code, words in _WORDS["status"].items() for word in words}
LABELS: Final = {word: role for role, words in _WORDS["label"].items() for word in words}
BALANCES: Final = frozenset(_WORDS["label"]["opening"] + _WORDS["label"]["closing"])
"""Labels of rows with a day that state a balance in the column of amounts."""
HEADERS: Final[dict[str, list[str]]] = _WORDS["header"]
OTHER: Final[dict[str, list[str]]] = _WORDS["other"]
"""Words of headers that distinguish similar columns, or other tables from statements."""
REGION_HEADERS: Final = {name: frozenset(words) for name, words in _WORDS["region"].items()}
"""Headers of banks in each part of Europe, which has its own code pages."""
SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "zł": "PLN", "Kč": "CZK", "Ft": "HUF"}
_SIGN: Final = "|".join(map(re.escape, SIGNS))
CURRENCY_MARK: Final = f"[A-Z]{{3}}|{_SIGN}|kr"
"""Currency next to an amount; `kr` does not show which currency."""
CODE: Final = re.compile(rf"^[A-Z]{{3}}(?![A-Z])|(?<![A-Z])[A-Z]{{3}}$|{_SIGN}")
"""A currency at the beginning or end of a text, or its sign anywhere."""
