"""Documented facts about each operation, such as the HTTP statuses that refuse it.

`operations.csv` has one row per operation. Its columns:

- `authority`: the permission that the operation needs, used only to explain a 403. Neither
  specification lists permissions by endpoint, so they come from deployed services
  (`docs/assumptions.md`).
- `refuses`: the statuses with which the service may refuse a write because of its content, media
  type, token, permission, record, method or rate. 409 means a conflict; 422 or 409 means that the
  key was used with another body. A write without a row, such as one of a later generation, may be
  refused with any of these statuses.
- `absence`: what a 404 may mean.
- `identity`: the values that request and answer share (`answer_identity`).
"""

from __future__ import annotations

from typing import Final, Literal, cast

from treasury.core.files.package_files import package_rows

_ROWS: Final = package_rows("treasury.api", "operations.csv")

Service = Literal["finance", "ramp"]
SERVICE_OF: Final = {row["operation"]: cast("Service", row["service"]) for row in _ROWS}
"""The service of each operation."""
SCOPES: Final = {row["operation"]: row["authority"] for row in _ROWS if row["authority"]}
"""Permission by operation; operations on the company, fees and reference data need none."""
_REFUSES: Final = {
    row["operation"]: frozenset(map(int, row["refuses"].split())) for row in _ROWS if row["refuses"]
}
_ANY_REFUSAL: Final = frozenset().union(*_REFUSES.values())
LATER_DROPPED: Final = {row["operation"] for row in _ROWS if "dropped" in row["absence"]}
"""Operations that later generations lack, so that a 404 may mean a missing operation or record."""
NAMES_RECORDS: Final = {row["operation"] for row in _ROWS if "named" in row["absence"]}
"""Operations whose body has ids; a 404 may be about one of these records."""
FILES: Final = {"GET /ramp-requests/export": "text/csv"}
"""Media type by operation, for operations that answer with a file instead of JSON."""
OPTIONAL: Final = {row["operation"] for row in _ROWS if "optional" in row["absence"]}
"""Operations that some generations lack. Their 404 looks the same as for a missing record, so the
client checks whether the record exists.
"""
IDENTITY: Final = {row["operation"]: row["identity"] for row in _ROWS if row["identity"]}
"""The values that an operation's answer shares with its request (`answer_identity`)."""


def refusals_of(operation: str) -> frozenset[int]:
    """Return the statuses with which the service may refuse a write."""
    return _REFUSES.get(operation, _ANY_REFUSAL)
