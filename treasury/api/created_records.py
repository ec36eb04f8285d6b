"""What became of a create whose answer did not come: found among the records, or not known.

A record is the one that was created when it is like the body that was sent, is no older than the
sending, and was not there before. Exactly one such record is an answer. None is not: a list may lag
behind. Several are not either: nobody can tell them apart.
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
"""How far the service's clock and ours may be apart."""


def created_since(
    records: Iterable[Record[T]], body: Body, since: datetime, earlier_ids: Container[str] = ()
) -> Iterator[Record[T]]:
    """The records that `body`, sent at `since`, may have created; not those of `earlier_ids`."""
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
    """The one record; OutcomeUnknown where there is none or more than one."""
    if len(records) == 1:
        return records[0]
    ids = tuple(str(getattr(record.value, "id", "?")) for record in records)
    many = f"{len(ids)} records may be what was sent: {', '.join(ids)}"
    raise OutcomeUnknown(
        f"{operation}: {many if ids else 'no record of it is listed'}",
        look_up="look again a little later; ask the provider before sending it again",
        operation=operation,
        ids=ids,
    )
