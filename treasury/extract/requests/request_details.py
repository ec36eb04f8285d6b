"""Fetches the details of queued ramp requests, and stores them in large batches.

Fetched details are also kept on disk until the commit. Storing them in batches limits the memory
that a million requests need, while threads fetch further details.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Record
from treasury.api.models import RampRequest
from treasury.core.decoding import decode_json
from treasury.core.errors import NotFound, ServiceError
from treasury.core.statuses import REQUEST_FINAL, REQUEST_KNOWN
from treasury.extract.ramp_tables import (
    RAMP_REQUEST_EVENTS,
    RAMP_REQUESTS,
    ReceivedEvent,
    ReceivedRequest,
)
from treasury.extract.record_rows import first_of_each, rows
from treasury.extract.sync_run import REFUSED, SyncRun
from treasury.extract.sync_staging import Staged

_TASK: Final = RAMP_REQUESTS.table.name
_BATCH: Final = 20_000
"""Number of details stored at once, about 70 MB."""

_PART: Final = 16
"""Number of details that a thread fetches before it returns them; returning each one separately
would take as long as fetching it.
"""

_SLICE: Final = 500
"""Number of details kept as records before they are turned into columns."""


_Question = tuple[str, bool, str | None]
"""A queued request: its id, whether it was listed, and its creator according to the list."""
_Outcome = Record[RampRequest] | ServiceError


class Details:
    """Fetches the details of queued requests, and records which were stored and which are gone."""

    def __init__(self, run: SyncRun, staged: Staged) -> None:
        self._run = run
        self._staged = staged
        self._waiting: list[ReceivedRequest] = []
        self._requests: list[pa.Table] = []
        self._events: list[pa.Table] = []
        self._statuses: set[str | None] = set()
        self._stored: list[pa.Array] = []
        self.vanished: list[str] = []
        """Requests that no list has and that the service does not find by id."""

        self.refused: list[ServiceError] = []

    @property
    def ids(self) -> pa.Array:
        """The ids of the requests whose detail was fetched."""
        parts = [*self._stored, *(part["id"].combine_chunks() for part in self._requests)]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())

    def read(self, queue: pa.Table) -> None:
        """Fetch and store every request of the queue."""
        # Details that an earlier sync fetched but did not store are used first.
        staged = iter(self._staged)
        while raws := list(islice(staged, _SLICE)):
            details = [decode_json(raw, RampRequest) for raw in raws]
            place = pc.index_in(pa.array([d.id for d in details]), value_set=queue["id"])
            queued = queue.take(place).select(["status", "created_by"]).to_pylist()
            for detail, raw, row in zip(details, raws, queued, strict=True):
                if row["status"] is not None and row["status"] == detail.status:
                    self._add(detail, raw, row["created_by"])
        self._slice()
        queue = queue.filter(pc.invert(pc.is_in(queue["id"], value_set=self.ids)))
        progress = self._run.progress
        progress.start(_TASK, queue.num_rows)
        for answers in self._run.answers(self._ask, _parts(queue)):
            for question, outcome in answers:
                self._keep(*question, outcome)
                progress.advance(_TASK)
        progress.finish(_TASK)
        self._store()
        self._run.notice_statuses(RAMP_REQUESTS, self._statuses, REQUEST_KNOWN)

    def _ask(self, part: list[_Question]) -> list[tuple[_Question, _Outcome]]:
        answers: list[tuple[_Question, _Outcome]] = []
        for question in part:
            try:
                answers.append((question, self._run.client.ramp.requests.get(question[0])))
            except REFUSED as error:
                answers.append((question, error))
        return answers

    def _keep(self, name: str, listed: bool, by: str | None, outcome: _Outcome) -> None:
        if isinstance(outcome, Record):
            if outcome.value.status in REQUEST_FINAL:
                self._staged.keep(outcome.raw)
            self._add(outcome.value, outcome.raw, by)
        elif isinstance(outcome, NotFound) and not listed:
            self.vanished.append(name)
        else:
            self.refused.append(outcome)

    def _add(self, value: RampRequest, raw: bytes, by: str | None) -> None:
        self._statuses.add(value.status)
        self._waiting.append(ReceivedRequest(value=value, raw=raw, has_detail=True, listed_by=by))
        if len(self._waiting) >= _SLICE:
            self._slice()
            if sum(part.num_rows for part in self._requests) >= _BATCH:
                self._store()

    def _slice(self) -> None:
        """Turn the buffered records into columns."""
        if self._waiting:
            events = (event for request in self._waiting for event in events_of(request))
            self._requests.append(rows(RAMP_REQUESTS, self._waiting))
            self._events.append(rows(RAMP_REQUEST_EVENTS, events))
            self._waiting = []

    def _store(self) -> None:
        self._slice()
        if not self._requests:
            return
        requests = first_of_each(pa.concat_tables(self._requests), RAMP_REQUESTS.table.key)
        self._run.upsert(RAMP_REQUESTS, requests)
        events = first_of_each(pa.concat_tables(self._events), RAMP_REQUEST_EVENTS.table.key)
        is_lost = RAMP_REQUEST_EVENTS.table.name in self._run.fetched.refetch
        # If a request is unchanged, its events are too.
        self._run.upsert(RAMP_REQUEST_EVENTS, events, after_change=not is_lost)
        self._stored.append(requests["id"].combine_chunks())
        self._requests, self._events = [], []


def _parts(queue: pa.Table) -> Iterator[list[_Question]]:
    """Yield the queue in parts, each for one thread."""
    for batch in queue.select(["id", "listed", "created_by"]).to_batches(_PART):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


class _RawEvents(msgspec.Struct, frozen=True):
    events: tuple[msgspec.Raw, ...] | None = None


def events_of(request: ReceivedRequest) -> Iterator[ReceivedEvent]:
    """Yield the events of a detail."""
    raw = decode_json(request.raw, _RawEvents).events or ()
    detail: RampRequest = request.value
    for place, (event, text) in enumerate(zip(detail.events or (), raw, strict=True)):
        yield ReceivedEvent(value=event, raw=bytes(text), request_id=detail.id, place=place)
