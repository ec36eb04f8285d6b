"""Ramp requests: the list says which there are, the detail what they are.

A list item lacks version, fee, net amount and events, so each new, open or changed request is read
by itself. A later sync lists only what was created since the newest request that we hold, a day
earlier to be safe (the service does not say in which zone its dates are), and reads again what we
hold as open or without detail. A request in a final status is not asked for again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import msgspec

from treasury.api import Record
from treasury.api.models import RampRequest
from treasury.errors import ServiceError
from treasury.extract.ramp import (
    RAMP_KNOWN,
    RAMP_REQUEST_EVENTS,
    RAMP_REQUESTS,
    FoundEvent,
    FoundRequest,
)
from treasury.extract.run import REFUSED, Run

__all__ = ["sync_requests"]

OVERLAP = timedelta(days=1)


class _Held(msgspec.Struct, frozen=True):
    """What we hold of a request that may have changed or may be listed again."""

    id: str
    status: str | None
    is_open: bool
    has_detail: bool

    def settled_as(self, status: str | None) -> bool:
        """Whether the service has nothing to tell that we do not hold."""
        return self.has_detail and not self.is_open and self.status == status


class _Listed(msgspec.Struct, frozen=True):
    """What a sync has to read one by one: the ids, and the list items it has met."""

    ids: tuple[str, ...]
    items: dict[str, Record[RampRequest]]


def sync_requests(run: Run) -> None:
    """List, read in detail, store requests and events."""
    since = _watermark(run)
    held = _held(run, since)
    listed = _list(run, since, held)
    answers, _ = run.collect(RAMP_REQUESTS, [run.ask(_detail, run, name) for name in listed.ids])
    found = list(_found(run, listed, held, answers))
    run.notice_statuses(RAMP_REQUESTS, found, RAMP_KNOWN)
    run.store(RAMP_REQUESTS, found)
    run.store(RAMP_REQUEST_EVENTS, (event for request in found for event in _events(request)))


def _watermark(run: Run) -> datetime | None:
    """The instant from which requests are listed; None before the first sync."""
    newest = run.writer.read(
        RAMP_REQUESTS.table,
        ["created_at"],
        "created_at = (SELECT max(created_at) FROM ramp_requests)",
    )
    return newest["created_at"][0].as_py() - OVERLAP if newest.num_rows else None


def _held(run: Run, since: datetime | None) -> dict[str, _Held]:
    if since is None:
        return {}
    from_then = f"created_at >= TIMESTAMPTZ '{since.date().isoformat()} 00:00:00+00'"
    columns = ["id", "status", "is_open", "has_detail"]
    kept = run.writer.read(
        RAMP_REQUESTS.table,
        columns,
        f"is_open OR NOT has_detail OR created_at IS NULL OR {from_then}",
    )
    return {row["id"]: _Held(**row) for row in kept.to_pylist()}


def _list(run: Run, since: datetime | None, held: dict[str, _Held]) -> _Listed:
    from_date = None if since is None else since.date()
    requests = run.client.ramp.requests
    items = {
        record.value.id: record
        for record in requests.iterate(from_date=from_date)
        if _is_wanted(record.value, from_date)
    }
    changed = [
        name
        for name, record in items.items()
        if name not in held or not held[name].settled_as(record.value.status)
    ]
    unlisted = [
        name
        for name, known in held.items()
        if name not in items and (known.is_open or not known.has_detail)
    ]
    return _Listed((*changed, *unlisted), items)


def _is_wanted(request: RampRequest, from_date: date | None) -> bool:
    """Whether a listed request is one that was asked for: a service may ignore the date."""
    if from_date is None or request.created_at is None:
        return True
    return request.created_at.date() >= from_date


def _detail(run: Run, name: str) -> tuple[str, Record[RampRequest] | ServiceError]:
    try:
        return name, run.client.ramp.requests.get(name)
    except REFUSED as error:
        return name, error


def _found(
    run: Run,
    listed: _Listed,
    held: dict[str, _Held],
    answers: list[tuple[str, Record[RampRequest] | ServiceError]],
) -> Iterator[FoundRequest]:
    """Details where they came, list items where only those did; never less than we hold."""
    refused = [answer for _, answer in answers if not isinstance(answer, Record)]
    if refused:
        run.skip(RAMP_REQUESTS, refused[0])
        run.notice(f"ramp_requests: {len(refused)} could not be read in detail ({refused[0].what})")
    for name, answer in answers:
        item = listed.items.get(name)
        if isinstance(answer, Record):
            by = None if item is None else item.value.created_by
            yield FoundRequest(value=answer.value, raw=answer.raw, has_detail=True, listed_by=by)
        elif item is not None and not (name in held and held[name].has_detail):
            yield FoundRequest(value=item.value, raw=item.raw, has_detail=False)


class _RawEvents(msgspec.Struct, frozen=True):
    events: tuple[msgspec.Raw, ...] | None = None


def _events(request: FoundRequest) -> Iterator[FoundEvent]:
    raw = msgspec.json.decode(request.raw, type=_RawEvents).events or ()
    known: RampRequest = request.value
    for place, (event, text) in enumerate(zip(known.events or (), raw, strict=True)):
        yield FoundEvent(value=event, raw=bytes(text), request_id=known.id, place=place)
