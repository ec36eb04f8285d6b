"""Looks up the record that a request created, after the answer was lost.

A body may have created a record if the record matches the body, is not older than the request, and
did not exist before. Only a single match settles the question. Without a match, the effect stays
unknown because the service's list may lag. With several matches, it stays unknown because they
cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from treasury.api.bodies import Body
from treasury.api.codec import Record
from treasury.core.errors import OutcomeUnknown

T = TypeVar("T")
SKEW = timedelta(minutes=5)
"""Maximum difference between the service's clock and ours."""
FIND_FIRST = "look it up with `find` and this body before sending it again"
"""Advice if the answer to a creation was lost and its key does not make a repeat safe."""


def created_since(
    records: Iterable[Record[T]], body: Body, since: datetime, earlier_ids: Container[str] = ()
) -> Iterator[Record[T]]:
    """Yield the records that `body`, sent at `since`, may have created.

    Records with one of `earlier_ids` existed before and are left out.
    """
    earliest = since.astimezone(UTC) - SKEW
    for record in records:
        value: Any = record.value
        created_at = getattr(value, "created_at", None)
        old = getattr(value, "id", None) in earlier_ids or (
            created_at is not None and created_at < earliest
        )
        if not old and body.is_like(value):
            yield record


def only_one(records: list[Record[T]], operation: str) -> Record[T]:
    """Return the only record; raise OutcomeUnknown unless there is exactly one."""
    if len(records) == 1:
        return records[0]
    ids = tuple(str(getattr(record.value, "id", "?")) for record in records)
    many = f"{len(ids)} records may be the created one: {', '.join(ids)}"
    raise OutcomeUnknown(
        f"{operation}: {many if ids else 'no matching record is listed'}",
        look_up="look again later; ask the provider before sending it again",
        operation=operation,
        ids=ids,
    )
