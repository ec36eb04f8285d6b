"""The words that people see instead of the codes in the data.

The command line, the notebooks and the report show the same words. A word is usually its code with
a capital letter and blanks: JSON, CSV, Parquet and SQL have `other_business`, a table shows "Other
business".
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from typing import Final

from treasury.core.text import clean, is_it, screen_code

OUTCOMES: Final = {
    "matched": "Matched",
    "suggested": "Suggested",
    "unreferenced": "Unreferenced",
    "conflict": "Conflict",
    "returned": "Returned",
    "duplicate": "Duplicate",
    "ignored": "Ignored",
    "other_business": "Other business",
}
"""The heading of each outcome, in the order of reports."""
OUTCOME_MEANINGS: Final = {
    "matched": "the line belongs to one request, proved by its reference or accepted by a person",
    "suggested": "there are candidates, and a person accepts or rejects the best",
    "unreferenced": "the line has no reference and no candidate",
    "conflict": "the line has a reference, but its account, amount or another fact contradicts it",
    "returned": "the payment came back, or this line brings one back",
    "duplicate": "the reference and the amount again, after the full amount was received",
    "ignored": "a person decided that the line belongs to nothing that is expected",
    "other_business": "a rule classes the line as business outside the services",
}
"""The meaning of each outcome of a bank line, in one sentence."""
STORED_WORDS: Final = {
    "needs_decision": "suggested",
    "no_reference": "unreferenced",
    "contradicted": "conflict",
    "paid_twice": "duplicate",
}
"""The outcome for each stored kind of open item.

The stored names never change, because decision sheets hash the kinds and states of items, and the
journal stores the states.
"""
LINE_CLASSES: Final = {
    "bank_charge": "Bank charge",
    "own_transfer": "Own transfer",
    "other_business": "Other business",
    "conversion_sweep": "Conversion sweep",
}
RAMP_TYPES: Final = {"ON_RAMP": "on-ramp", "OFF_RAMP": "off-ramp"}
LINE_DIRECTIONS: Final = {"CRDT": "in", "DBIT": "out"}
DIRECTIONS: Final = {**RAMP_TYPES, **LINE_DIRECTIONS}
EXPECTED_KINDS: Final = {
    "on_ramp": "on-ramp",
    "off_ramp": "off-ramp",
    "virtual_bank_account": "virtual account",
}
_STATES: Final = {
    "open": "open",
    "received": "received",
    "partly_received": "received in part",
    "over_received": "received too much",
    "reopened": "open again",
    "standing": "standing",
    # States of conversions
    "proved": "proved",
    "proved_as_group": "proved as a group",
    "rate_outside_band": "rate outside its band",
    "not_yet_credited": "not credited yet",
    "held_kyc": "held until the holder is verified",
    "not_provable": "not provable",
    # States of transfers between own accounts
    "both_legs": "both legs seen",
    "leg_in_missing": "leg in is missing",
    "leg_out_missing": "leg out is missing",
    "under_way": "under way",
    "check_bank": "check the bank",
    "not_ours": "to somebody else",
    "not_observed": "not observed",
    # Stored states of items, shown as their outcomes
    **{code.upper().replace("_", " "): outcome.upper() for code, outcome in STORED_WORDS.items()},
    # Labels for parts of an answer
    "marked_sent": "marked sent",
    "will_not_fund": "will not be funded",
    "not_uploaded": "not uploaded",
}
_WORDS: Final[dict[str, dict[str, str]]] = {
    **dict.fromkeys(("outcome", "from_outcome", "to_outcome"), OUTCOMES),
    **dict.fromkeys(("direction", "ramp_type"), DIRECTIONS),
    "line_class": LINE_CLASSES,
    "kind": {
        **EXPECTED_KINDS,
        **{code: OUTCOMES[outcome].lower() for code, outcome in STORED_WORDS.items()},
    },
    **dict.fromkeys(("state", "mark", "proof"), _STATES),
    "source": {"own_bank": "own bank", "provider_report": "provider's report"},
    "entry_status": {"BOOK": "booked", "PDNG": "pending", "INFO": "for information"},
}
"""Words by column and value; a value without a word is shown unchanged."""
_COMPLETE: Final = frozenset({"outcome", "direction", "ramp_type", "line_class"})
"""Columns that have a word for each of their values."""


def codes() -> dict[str, dict[str, str]]:
    """Return the codes of each column with their words, and the meaning of each outcome.

    Returns
    -------
    dict
        For each column name, a dictionary from code to word. For the outcomes of bank lines, the
        meaning follows the word.

    Examples
    --------
    >>> treasury.codes()["outcome"]["unreferenced"]
    'Unreferenced: the line has no reference and no candidate'
    >>> treasury.codes()["line_class"]["bank_charge"]
    'Bank charge'
    """
    legends = {column: dict(words) for column, words in _WORDS.items()}
    for column, words in legends.items():
        if _WORDS[column] is OUTCOMES:
            words.update({code: f"{OUTCOMES[code]}: {OUTCOME_MEANINGS[code]}" for code in words})
    return legends


def state_words(state: str) -> str:
    """Return the words for the state of an open item, a request or a transfer."""
    return _STATES.get(state, state)


def in_words(column: str, value: object) -> object:
    """Return the word for a value of a column, or the value itself if there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    words = _WORDS.get(column)
    return words.get(value, value) if words is not None and isinstance(value, str) else value


def code_error(column: str, value: str, found: Collection[str]) -> str:
    """Return why no row can have a value in a column of codes; empty if a row can.

    `found` are the column's values. The value may be another spelling of one of them, such as
    `CRDT` for `in`, or no code at all.
    """
    words = _WORDS.get(column)
    if words is None or value in found or not found:
        return ""
    spellings = [{code, word, screen_code(word)} for code, word in words.items()]
    same = [each for group in spellings if value in group for each in group if each in found]
    if same:
        return f"{column} has no value {clean(value)[:60]!r}; is it {clean(same[0])}?"
    if column not in _COMPLETE or any(value in group for group in spellings):
        return ""
    return f"{column} has no value {clean(value)[:60]!r}{is_it(value, found)}"


def instant_words(value: date | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """Format an instant in its own time zone, as in `2026-11-02 09:00 CET`."""
    if value is None:
        return ""
    zone = f" {value:%Z}" if isinstance(value, datetime) else ""
    return f"{value:{form}}{zone}"


def group_words(count: int) -> str:
    """Return the sentence that explains why `count` payments were assigned as a group."""
    return (
        f"{count} payments fit as many requests equally: assigned by date, nothing tells them apart"
    )
