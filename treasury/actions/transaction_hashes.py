"""Finds requests that already use a transaction hash; one transaction pays only one request.

If a hash is submitted for a second request, it may be that no crypto was sent for that request. So
the action requires a second person, or a reason in a workspace with one person. Known uses come
from the last sync, and from our own actions that the last sync may not show yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from treasury.actions.action_context import Context
from treasury.actions.action_facts import Fact, Moved, fact
from treasury.actions.action_states import DROPPED, OPEN
from treasury.actions.kinds.kind import Kind
from treasury.core.text import clean

STANDS_ON: Final = "the hash stands on"
_STORED: Final = """\
SELECT coalesce(payment_reference, id) AS name FROM ramp_requests
WHERE id <> $request AND CASE WHEN lower(substr(blockchain_transaction_hash, 1, 2)) = '0x'
    THEN lower(blockchain_transaction_hash) ELSE blockchain_transaction_hash END = $hash
ORDER BY name
"""


def requests_with_hash(
    context: Context, kind: Kind, fields: Any, *, before: int | None = None
) -> tuple[str, ...]:
    """Return the references of other requests with this action's hash.

    A request is found in the last sync or by an action that submits the hash. With `before`, an
    open action is included only if it was proposed before that journal entry.
    """
    if kind.gives_hash is None:
        return ()
    key, request = _key(kind.gives_hash(fields)), fields.request_id
    names: list[str] = []
    snapshot = context.snapshot() if context.snapshot is not None else None
    if snapshot is not None and snapshot.commit is not None:
        rows = snapshot.sql(_STORED, {"hash": key, "request": request})
        names += rows["name"].to_pylist()
    for action in context.book.all():
        transaction_hash = action.fields.get("transaction_hash")
        later = before is not None and action.state in OPEN and action.seq >= before
        if action.kind != kind.name or action.target == request or action.state in DROPPED or later:
            continue
        if transaction_hash is not None and _key(transaction_hash) == key:
            names.append(action.request.name if action.request is not None else action.target)
    return tuple(dict.fromkeys(map(clean, names)))


def uses_fact(names: Sequence[str]) -> Fact | None:
    """Return a fact that names these requests; None if there are none."""
    if not names:
        return None
    return fact(STANDS_ON, ", ".join(names), material=False, takes_two=True)


def new_uses(names: Iterable[str], facts: Iterable[Fact]) -> Moved | None:
    """Return the requests with this hash that the approvers did not see, or None."""
    agreed = next((fact.value for fact in facts if fact.name == STANDS_ON), "")
    fresh = [name for name in names if name not in agreed.split(", ")]
    return Moved(STANDS_ON, agreed or "no other request", ", ".join(fresh)) if fresh else None


def _key(transaction_hash: str) -> str:
    """Normalise a hash for comparison; after 0x, upper and lower case are equal."""
    return transaction_hash.lower() if transaction_hash[:2].lower() == "0x" else transaction_hash
