"""What is documented of each operation: its service, authority and statuses of refusal.

`operations.csv` has a row an operation. Neither specification lists scopes by endpoint; the
authorities are the documented ones of deployed services (`docs/assumptions.md`): a 403 names them
as likely, and they decide nothing. Every write may be refused for its content, token, right,
record, method or rate, and one that has a body for its media type; 409 is a conflict, 422 or 409 a
key that was used for another body. A write that has no row, such as one of a later generation, may
be refused with any of these. What identifies an answer is read by `answer_identity`.
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
"""Where a 404 may speak of the operation as well as of the record: the answers look the same."""
NAMES_RECORDS: Final = {row["operation"] for row in _ROWS if "named" in row["absence"]}
"""Operations without an id in the path whose 404 is about a record that the body names."""
FILES: Final = {"GET /ramp-requests/export": "text/csv"}
"""Operations that answer with a file instead of an envelope, and its media type."""
OPTIONAL: Final = {row["operation"] for row in _ROWS if "optional" in row["absence"]}
"""Operations that some generations lack, of which a 404 speaks as of a record: the record tells."""
IDENTITY: Final = {row["operation"]: row["identity"] for row in _ROWS if row["identity"]}
"""The values that an operation's answer shares with its request (`answer_identity`)."""


def refusals_of(operation: str) -> frozenset[int]:
    """Return the statuses with which the service may refuse a write."""
    return _REFUSES.get(operation, _ANY_REFUSAL)
