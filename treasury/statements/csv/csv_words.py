"""Words that banks use in CSV files, by meaning, read from `bank_words.toml`."""

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
"""Labels of rows that have a day but state a balance in the amount column."""
HEADERS: Final[dict[str, list[str]]] = _WORDS["header"]
OTHER: Final[dict[str, list[str]]] = _WORDS["other"]
"""Words in headers that distinguish similar columns, and statements from other tables."""
REGION_HEADERS: Final = {name: frozenset(words) for name, words in _WORDS["region"].items()}
"""Headers that only banks in one part of Europe write; each part has its own code pages."""
SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "zł": "PLN", "Kč": "CZK", "Ft": "HUF"}
_SIGN: Final = "|".join(map(re.escape, SIGNS))
CURRENCY_MARK: Final = f"[A-Z]{{3}}|{_SIGN}|kr"
"""Currency next to an amount; `kr` alone is ambiguous, so it gives no currency."""
CODE: Final = re.compile(rf"^[A-Z]{{3}}(?![A-Z])|(?<![A-Z])[A-Z]{{3}}$|{_SIGN}")
"""Pattern of a currency code at the beginning or end of a text, or a currency sign anywhere."""
