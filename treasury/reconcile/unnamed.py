"""What a line without a reference is ranked by: each fact with its weight and its words.

The facts of one part of the score say the same more or less strongly: of each part the weightiest
counts. All parts together stay under 1 with what every candidate gets for its amount and for a
known counterparty. Names are compared as `name_folding` writes them.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.lake import TEXT
from treasury.reconcile.rules import Rules

__all__ = ["FACTS", "RankedFact", "fact_tables"]


class RankedFact(msgspec.Struct, frozen=True):
    """A fact that connects a line with an expectation: its part, its weight, and its words."""

    name: str
    part: str
    weight: Decimal
    received: str
    """Its words for a credit; what completes them follows."""
    sent: str
    """Its words for a debit."""


def _fact(name: str, part: str, weight: str, received: str, sent: str = "") -> RankedFact:
    return RankedFact(name, part, Decimal(weight), received, sent or received)


FACTS: Final = (
    _fact(
        "account_only", "account", "0.13", "the payer's account paid this, and only this, before",
        "this account was paid for this, and only this, before",
    ),
    _fact(
        "account", "account", "0.11", "the payer's account paid this before",
        "this account was paid for this before",
    ),
    _fact(
        "account_for", "account", "0.12", "the payer's account paid for its counterparty before",
        "this account was paid for its counterparty before",
    ),
    _fact("account_given", "account", "0.14", "the account that it names"),
    _fact(
        "name_only", "name", "0.10", "the payer's name paid this, and only this, before",
        "this name was paid for this, and only this, before",
    ),
    _fact(
        "name", "name", "0.08", "the payer's name paid this before",
        "this name was paid for this before",
    ),
    _fact(
        "name_for", "name", "0.07", "the payer's name paid for its counterparty before",
        "this name was paid for its counterparty before",
    ),
    _fact("name_given", "name", "0.10", "the name that it gives"),
    _fact(
        "said_only", "name", "0.12", "its text names one who paid this, and only this, before",
        "its text names one that was paid for this, and only this, before",
    ),
    _fact(
        "said", "name", "0.11", "its text names one who paid this before",
        "its text names one that was paid for this before",
    ),
    _fact(
        "said_for", "name", "0.10", "its text names one who paid for its counterparty before",
        "its text names one that was paid for its counterparty before",
    ),
    _fact("said_given", "name", "0.12", "its text names the counterparty"),
    _fact("rest", "amount", "0.20", "the amount is what remains"),
    _fact("amount_before", "amount", "0.12", "as much as before"),
    _fact("amount_alone", "amount", "0.06", "no other request expects this amount"),
    _fact("amount_within", "amount", "0.10", "between the amounts before"),
    _fact("amount_usual", "amount", "0.08", "about as much as before"),
    _fact("amount_some", "amount", "0.05", "about as much as some before"),
    _fact("amount_off", "amount", "0.03", "near what it always was"),
    _fact("day", "day", "0.08", "always around the"),
    _fact("near_day", "day", "0.07", "usually around the"),
    _fact("about_day", "day", "0.05", "often around the"),
    _fact("day_once", "day", "0.05", "before around the"),
    _fact("about_day_once", "day", "0.03", "before near the"),
    _fact("text_alone", "text", "0.09", "only payments for this said"),
    _fact("text_shared", "text", "0.08", "payments for this said"),
    _fact("text", "text", "0.07", "payments for this said"),
    _fact("text_some", "text", "0.05", "payments for this said too"),
    _fact("mostly", "share", "0.02", "mostly for this"),
    _fact("requested", "request", "0.12", "requested"),
    _fact("reached", "request", "0.08", "reached its account"),
)  # fmt: skip
_FACT: Final = pa.schema(
    [
        ("name", TEXT), ("part", TEXT), ("weight", pa.decimal128(6, 4)), ("received", TEXT),
        ("sent", TEXT),
    ]
)  # fmt: skip


def fact_tables(rules: Rules) -> dict[str, pa.Table]:
    """The facts, and in one row how names are folded: legal forms, and letters without accents."""
    rows = [msgspec.structs.asdict(fact) for fact in FACTS]
    accented, plain = _letters()
    return {
        "fact_weights": pa.Table.from_pylist(rows, _FACT),
        "name_folding": pa.table(
            {
                "forms": pa.array([list(rules.legal_forms)], pa.list_(TEXT)),
                "accented": pa.array([accented], TEXT),
                "plain": pa.array([plain], TEXT),
            }
        ),
    }


LAST_LETTER: Final = 0x17F
"""The last of the Latin letters with accents that European names are written in."""
STRUCK: Final = {"Ø": "O", "Đ": "D", "Ð": "D", "Ł": "L", "Ħ": "H", "Ŧ": "T", "Æ": "A", "Œ": "O"}
"""Letters that no accent can be taken from."""


def _letters() -> tuple[str, str]:
    """Upper-case letters with an accent, and the letter that each is without it."""
    letters = dict(STRUCK)
    for letter in map(chr, range(0xC0, LAST_LETTER + 1)):
        bare = unicodedata.normalize("NFD", letter)[0]
        if letter.isupper() and bare != letter:
            letters[letter] = bare
    return "".join(letters), "".join(letters.values())
