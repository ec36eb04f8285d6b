"""Decisions on requests that the lake does not show yet.

The journal has the decisions that were sent from here. The service, queried about one request,
returns the decisions of all people. Both are shown only if they are newer than the row in the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from treasury.api.models import RampRequest
from treasury.journal import Entry
from treasury.panels.frames.blocks import Text
from treasury.panels.frames.panel_text import instant


class RequestUpdate(msgspec.Struct, frozen=True):
    """An update of a request at a version; `settled` if the request no longer needs a decision."""

    lines: tuple[Text, ...]
    version: int | None
    settled: bool

    def is_newer_than(self, row: Mapping[str, Any]) -> bool:
        """Return True if the row in the lake is older than this update, or if that is unknown."""
        version = row["version"]
        return self.version is None or version is None or self.version > version


def journal_updates(entries: Iterable[Entry]) -> dict[str, RequestUpdate]:
    """Return the last decision that was sent from this workspace, by request."""
    updates: dict[str, RequestUpdate] = {}
    for entry in entries:
        request_id = entry.body.get("target") or entry.subject
        if entry.kind == "action.done":
            facts = entry.body if "kind" in entry.body else entry.body["facts"]
            verb = _ENDS_WAITING.get(facts["kind"])
            by, at = entry.actor.name, instant(entry.at)
            sentence = f"{verb or 'Changed'} by {by} at {at}: {facts['status']}"
            lines = (Text(sentence, "good"), _AFTER_SYNC if verb else _CHANGED)
            updates[request_id] = RequestUpdate(lines, facts["version"], settled=verb is not None)
        elif entry.kind in {"action.sending", "action.unknown"}:
            # The call was not answered or was interrupted, so the service has to be queried first.
            at = instant(entry.at)
            line = f"{entry.actor.name} sent a decision at {at}; its outcome is unknown"
            updates[request_id] = RequestUpdate((Text(line, "warn"),), None, settled=False)
        elif entry.kind in {"action.refused", "action.recovered", "action.lapsed"}:
            updates.pop(request_id, None)
    return updates


def update_at_service(request: RampRequest) -> RequestUpdate:
    """Return the update for a request that no longer awaits approval, from the service's record."""
    sentence = f"Already {request.status}"
    if request.events:
        last = request.events[-1]
        by = last.email or last.username or "an unnamed user"
        sentence += f": {last.event_type} by {by} at {instant(last.created_at)}"
    else:
        sentence += " at the service"
    return RequestUpdate((Text(sentence, "good"), _AFTER_SYNC), request.version, settled=True)


_ENDS_WAITING: Final = {
    "ramp_request.approve": "Approved",
    "ramp_request.reject": "Rejected",
    "ramp_request.cancel": "Cancelled",
}
_CHANGED: Final = Text("Sync to see its current state", "quiet")
_AFTER_SYNC: Final = Text("Sync to remove it from this list", "quiet")
