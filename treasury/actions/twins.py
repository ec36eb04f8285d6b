"""Duplicates of an action: by content among our actions, and by record at the service.

Two actions have the same content if only the notation of amounts and addresses differs. If a record
at the service equals an action and no journal entry explains it, another user made it, or the
journal was restored from an older copy. A person has to see that record before the action is sent.
So the service's records are read back to `WINDOW` before the proposal, even if there are many.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import Fact, Moved, fact
from treasury.core.text import clean
from treasury.journal.chain import canonical

LIKE: Final = "just like it at the service"
_NONE: Final = "none"
WINDOW: Final = timedelta(days=3)
"""A record made within this time before a proposal may have the same purpose."""
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]{40,}", re.ASCII | re.IGNORECASE)
_TO: Final = ("receiver_account_id", "receiver_external_id")


class Twin(msgspec.Struct, frozen=True):
    """A record at the service that equals an action; `key` is None if the service hides it."""

    id: str
    at: datetime | None
    key: str | None = None
    status: str | None = None

    def __str__(self) -> str:
        when = "" if self.at is None else f" of {self.at:%Y-%m-%d %H:%M} UTC"
        status = "" if self.status is None else f" ({clean(self.status)})"
        return f"{clean(self.id)}{when}{status}"


def fingerprint_of(name: str, content: Mapping[str, Any], facts: Iterable[Fact]) -> str:
    """Return a hash that is equal for actions with the same effect.

    Amounts are compared by value, addresses case-insensitively, receivers by identity.
    """
    likeness = {field: _plain(field, value) for field, value in content.items()}
    receiver = next((fact.value for fact in facts if fact.name == "receiver"), None)
    if receiver is not None and any(field in likeness for field in _TO):
        likeness = {field: value for field, value in likeness.items() if field not in _TO}
        likeness["receiver"] = receiver
    return hashlib.sha256(canonical([name, likeness]).encode()).hexdigest()


def _plain(field: str, value: Any) -> Any:
    if field.endswith("amount"):
        whole, point, decimals = f"{Decimal(value):f}".partition(".")
        return f"{whole}{point}{decimals}".rstrip("0").rstrip(".") if point else whole
    if isinstance(value, str) and _HEXADECIMAL.fullmatch(value):
        return value.lower()
    return value


def twins_since(twins: Iterable[Twin], moment: datetime) -> list[Twin]:
    """Return the twins made at or after a time, and those without a creation time."""
    return [twin for twin in twins if twin.at is None or twin.at >= moment]


def twin_fact(twins: Iterable[Twin]) -> Fact | None:
    """Return a fact that names these twins; None if there are none.

    The fact does not block the action.
    """
    listing = ", ".join(map(str, twins))
    return fact(LIKE, listing, material=False) if listing else None


def new_among(twins: Iterable[Twin], facts: Iterable[Fact]) -> Moved | None:
    """Return the twins that the approvers did not see, or None."""
    agreed = next((fact.value for fact in facts if fact.name == LIKE), "")
    ids = {words.partition(" ")[0] for words in agreed.split(", ")}
    fresh = [twin for twin in twins if clean(twin.id) not in ids]
    return Moved(LIKE, agreed or _NONE, ", ".join(map(str, fresh))) if fresh else None
