"""Documented facts about each operation: its service, authority and refusal statuses.

`operations.csv` has a row per operation. Neither specification lists scopes by endpoint; the
authorities are those documented by deployed services (`docs/assumptions.md`). They are used only to
explain a 403. Every write may be refused for its content, token, permission, record, method or
rate, and one with a body for its media type; 409 means a conflict, 422 or 409 a key used with
another body. A write without a row, such as one of a later generation, may be refused with any of
these. `answer_identity` reads the column that identifies an answer.
"""

from __future__ import annotations

from typing import Final, Literal, cast

from treasury.core.files.package_files import package_rows

_ROWS: Final = package_rows("treasury.api", "operations.csv")

Service = Literal["finance", "ramp"]
SERVICE_OF: Final = {row["operation"]: cast("Service", row["service"]) for row in _ROWS}
"""The service of each operation."""
SCOPES: Final = {row["operation"]: row["authority"] for row in _ROWS if row["authority"]}
"""Authority by operation; the company, fees and reference data need none."""
_REFUSES: Final = {
    row["operation"]: frozenset(map(int, row["refuses"].split())) for row in _ROWS if row["refuses"]
}
_ANY_REFUSAL: Final = frozenset().union(*_REFUSES.values())
LATER_DROPPED: Final = {row["operation"] for row in _ROWS if "dropped" in row["absence"]}
"""Operations with the same 404 for a missing operation and a missing record."""
NAMES_RECORDS: Final = {row["operation"] for row in _ROWS if "named" in row["absence"]}
"""Operations without an id in the path; a 404 is about a record named in the body."""
FILES: Final = {"GET /ramp-requests/export": "text/csv"}
"""Operations that answer with a file instead of an envelope, and its media type."""
OPTIONAL: Final = {row["operation"] for row in _ROWS if "optional" in row["absence"]}
"""Operations missing in some generations, with the same 404 as for a record: the record's existence
decides.
"""
IDENTITY: Final = {row["operation"]: row["identity"] for row in _ROWS if row["identity"]}
"""The values that an operation's answer shares with its request (`answer_identity`)."""


def refusals_of(operation: str) -> frozenset[int]:
    """Return the statuses with which the service may refuse a write."""
    return _REFUSES.get(operation, _ANY_REFUSAL)
