"""The words that people see instead of the codes in the data.

The command line, the notebooks and the report show the same words. A code is its word in
snake_case: JSON, CSV, Parquet and SQL have `other_business`, a table shows "Other business".

Some stored codes are older than their words, and `with_own_words` in `shown_values` replaces them
in every result. `direction` and `entry_status` of a stored record keep the bank's own codes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

from treasury.core.text import nearest, screen_code

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
    "duplicate": "the line repeats a reference and its amount after the full amount was received",
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
"""The code in results, which is an outcome, for each kind of open item that is stored differently.

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
    "virtual_bank_account": "virtual bank account",
}
STORED_STATES: Final = {
    code.upper().replace("_", " "): outcome.upper() for code, outcome in STORED_WORDS.items()
}
"""The state in results for each stored state of an open item."""
FUNDS: Final = {
    code: code.replace("_", " ")
    for code in (
        "own_banks", "own_wallets", "held_by_provider", "in_transit", "intraday", "not_proved",
    )
}  # fmt: skip
"""The kinds of funds, in the order of display."""
FLOWS: Final = {
    code: code.replace("_", " ")
    for code in (
        "to_fund", "with_bank", "reported", "pending", "payout", "delivery", "debit", "refund",
        "own_transfer", "approval", "own_flow",
    )
}  # fmt: skip
"""The kinds of known flows of a cash forecast."""
FLOW_STATES: Final = {
    code: code.replace("_", " ") for code in ("expected", "overdue", "not_seen", "undated", "later")
}
"""The states of a known flow, in the order of display."""
SHOWN_CODES: Final[Mapping[str, Mapping[str, str]]] = {
    "kind": STORED_WORDS,
    **dict.fromkeys(("state", "accepted_state"), STORED_STATES),
}
"""The codes in results that differ from the stored ones, by column."""
SHOWN_NAMES: Final[Mapping[str, str]] = {"send": "amount", "request": "request_id"}
"""The names that columns have in results, by their other name in computed tables."""
_STATES: Final = {
    **{
        code: code.replace("_", " ")
        for code in (
            "open", "received", "partly_received", "over_received", "reopened", "standing",
            # States of conversions
            "proved", "proved_as_group", "rate_outside_band", "not_yet_credited", "not_provable",
            # States of transfers between own accounts
            "both_legs", "leg_in_missing", "leg_out_missing", "under_way", "check_bank",
            "not_ours", "not_observed",
            # Labels for parts of an answer
            "marked_sent", "will_not_fund", "not_uploaded",
        )
    },
    "held_kyc": "held KYC",
    **FLOW_STATES,
}  # fmt: skip
_MOVED_OUTCOMES: Final = {**OUTCOMES, **LINE_CLASSES}
"""The outcomes before and after a change; a line that a rule classes has its class."""
_WORDS: Final[dict[str, dict[str, str]]] = {
    "outcome": OUTCOMES,
    **dict.fromkeys(("from_outcome", "to_outcome"), _MOVED_OUTCOMES),
    "direction": DIRECTIONS,
    "ramp_type": RAMP_TYPES,
    "line_class": LINE_CLASSES,
    "kind": {**EXPECTED_KINDS, **STORED_WORDS},
    "state": {**_STATES, **STORED_STATES},
    **dict.fromkeys(("mark", "proof"), _STATES),
    "accepted_state": STORED_STATES,
    "funds": FUNDS,
    "flow": FLOWS,
    "source": {"own_bank": "own bank", "provider_report": "provider report"},
    "entry_status": {"BOOK": "booked", "PDNG": "pending", "INFO": "for information"},
}
"""Words by column and value; a value without a word is shown unchanged."""
_OTHER_NAMES: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("payer", "payee", "customer"), ("counterparty_name", "to")),
    **dict.fromkeys(
        ("request", "request_id", "expectation_id"), ("request_id", "expectation_id", "request")
    ),
    "date": ("booking_date", "since", "due"),
    "iban": ("counterparty_account", "to_account"),
    "text": ("remittance",),
    "send": ("amount",),
    **dict.fromkeys(("days", "waiting"), ("age",)),
    "unit": ("age_unit", "clock", "overdue_unit"),
}
"""Columns by other names that people look for, the likeliest first."""
_COMPLETE: Final = frozenset({"outcome", "direction", "ramp_type", "line_class"})
"""Columns that have a word for each of their values."""


def column_codes() -> dict[str, dict[str, str]]:
    """Return the codes of each column with their words, and the meaning of each outcome."""
    legends = {
        column: {shown_code(column, code): word for code, word in words.items()}
        for column, words in {**_WORDS, "direction": LINE_DIRECTIONS}.items()
    }
    for name in ("outcome", "from_outcome", "to_outcome"):
        legends[name] |= {code: f"{OUTCOMES[code]}: {OUTCOME_MEANINGS[code]}" for code in OUTCOMES}
    return legends


def shown_code(column: str, stored: str) -> str:
    """Return the code that results have instead of a stored code of a column."""
    if column in ("direction", "ramp_type"):
        return screen_code(DIRECTIONS.get(stored, stored))
    return SHOWN_CODES.get(column, {}).get(stored, stored)


def state_words(state: str) -> str:
    """Return the words for the state of an open item, a request or a transfer."""
    return _WORDS["state"].get(state, state)


def in_words(column: str, value: object) -> object:
    """Return the word for a value of a column, or the value itself if there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    words = _WORDS.get(column)
    return words.get(value, value) if words is not None and isinstance(value, str) else value


def code_meant(
    column: str, value: str, present: Collection[str], declared: Mapping[str, str] | None = None
) -> str:
    """Return the code of a column that a value means; empty if it means none.

    `present` are the codes that the column has, and `declared` all that it may have, with their
    words. A code is also meant by its word, and by its stored form. A column without declared codes
    accepts every value.
    """
    if value in present:
        return value
    words = _WORDS.get(column, {})
    if declared is None and column in _COMPLETE and present:
        declared = {shown_code(column, code): word for code, word in words.items()}
    for stored, word in (*words.items(), *(declared or {}).items()):
        own = shown_code(column, stored)
        spellings = (own, stored, word, screen_code(word))
        is_meant = value in spellings or screen_code(value) in spellings
        if is_meant and (declared is None or own in declared):
            return next((each for each in spellings if each in present), own)
    return value if declared is None else ""


def nearest_code(text: object, codes: Collection[str]) -> str:
    """Return the code that a wrong one means: the newer code for a stored one, or the nearest."""
    newer = STORED_WORDS.get(screen_code(str(text)), "")
    return newer if newer in codes else nearest(text, codes)


def column_of_code(value: str, columns: Iterable[str]) -> tuple[str, str] | None:
    """Return the first column with a code that a value means, and that code; None without one."""
    meant = screen_code(STORED_WORDS.get(screen_code(value), value))
    for column in columns:
        for stored, word in _WORDS.get(column, {}).items():
            code = shown_code(column, stored)
            if meant in {screen_code(each) for each in (code, stored, word)}:
                return column, code
    return None


def has_words(column: str, declared: Collection[str] = ()) -> bool:
    """Return whether the values of a column are codes, some of them with declared words."""
    return column in _WORDS or column in declared


def has_all_words(column: str, declared: Collection[str] = ()) -> bool:
    """Return whether all values of a column are declared."""
    return column in _COMPLETE or column in declared


def column_meant(name: str, columns: Collection[str]) -> str:
    """Return the column that a misspelt or other usual name means; empty if there is none."""
    others = _OTHER_NAMES.get(screen_code(name), ())
    return nearest(name, columns) or next((each for each in others if each in columns), "")


def instant_words(value: date | None, form: str = "%-d %b %Y %H:%M") -> str:
    """Format an instant in its own time zone, as in `2 Nov 2026 09:00 CET`; empty for None."""
    if value is None:
        return ""
    zone = f" {value:%Z}" if isinstance(value, datetime) else ""
    return f"{value:{form}}{zone}"


def group_words(count: int) -> str:
    """Return the sentence that explains why `count` payments were assigned as a group."""
    return (
        f"{count} payments fit as many requests equally: assigned by date, nothing tells them apart"
    )
