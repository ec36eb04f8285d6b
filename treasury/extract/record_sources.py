"""The sources of small tables: how a declaration says what to ask the service for.

Such a table is asked for whole at every sync, so that a record which is listed no more can be
marked. Transfers and ramp requests, which grow without end, have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from treasury.api.codec import Record

if TYPE_CHECKING:
    from treasury.api import Client

__all__ = ["PerAccount", "ReceivedRecord", "Whole", "whole"]


class ReceivedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it was met: the model, its bytes, and the account whose list it was in."""

    value: Any
    raw: bytes
    account_id: str | None = None


class Whole(msgspec.Struct, frozen=True):
    """One list fills the table; `detail` where `lacks` says that a list item is not enough."""

    ask: Callable[[Client], Iterable[ReceivedRecord]]
    detail: Callable[[Client, str], Record[Any]] | None = None
    lacks: Callable[[Any], bool] = lambda _value: True


class PerAccount(msgspec.Struct, frozen=True):
    """The table has a list for each account."""

    ask: Callable[[Client, str], Iterable[Record[Any]]]


def whole(
    ask: Callable[[Client], Iterable[Record[Any]]],
    detail: Callable[[Client, str], Record[Any]] | None = None,
    lacks: Callable[[Any], bool] = lambda _value: True,
) -> Whole:
    """A table that one list fills with records as they are."""

    def received(client: Client) -> Iterator[ReceivedRecord]:
        return (ReceivedRecord(value=record.value, raw=record.raw) for record in ask(client))

    return Whole(received, detail, lacks)
