"""Read the facts that rank the candidates of a line without a reference, with weights and words.

The facts are the rows of `ranked_facts.csv`. The facts of one part of the score are degrees of the
same evidence, so only the greatest weight of each part is added. The score stays below 1, including
the weights that every candidate gets for its amount and a known counterparty. Names are compared in
the form that the step `folded_names` gives them.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_rows
from treasury.core.tables.column_types import TEXT, TEXTS
from treasury.core.tables.schemas import grouped_schema, table_of
from treasury.matching.rules import Rules


class RankedFact(msgspec.Struct, frozen=True):
    """A fact that connects a line with an expectation: the part of the score, weight and words."""

    name: str
    part: str
    weight: Decimal
    received: str
    """Words in the reason for a credit; a detail may follow them."""
    sent: str
    """Words in the reason for a debit."""


_ROWS: Final = package_rows("treasury.matching", "ranked_facts.csv")
FACTS: Final = tuple(convert(row, RankedFact) for row in _ROWS)
_FACT: Final = grouped_schema(
    (TEXT, "name", "part"), (pa.decimal128(6, 4), "weight"), (TEXT, "received", "sent")
)


def fact_tables(rules: Rules) -> dict[str, pa.Table]:
    """Return the facts, and one row with the legal forms and accents to remove from names."""
    folding = grouped_schema((TEXTS, "forms"), (TEXT, "accented", "plain"))
    return {
        "fact_weights": table_of([msgspec.structs.astuple(fact) for fact in FACTS], _FACT),
        "name_folding": table_of([(rules.legal_forms, *_letters())], folding),
    }


_ACCENTED: Final = ((0xC0, 0x250), (0x386, 0x3D0), (0x1E00, 0x1F00))
"""Ranges of the accented letters in Latin and Greek names."""
_STRUCK: Final = {"Ø": "O", "Đ": "D", "Ð": "D", "Ł": "L", "Ħ": "H", "Ŧ": "T", "Æ": "A", "Œ": "O"}
"""Letters that Unicode does not decompose into a letter and an accent."""


def _letters() -> tuple[str, str]:
    """Return the upper-case letters with an accent, and the same letters without it."""
    letters = dict(_STRUCK)
    for letter in (chr(code) for block in _ACCENTED for code in range(*block)):
        bare = unicodedata.normalize("NFD", letter)[0]
        if letter.isupper() and bare != letter:
            letters[letter] = bare
    return "".join(letters), "".join(letters.values())
