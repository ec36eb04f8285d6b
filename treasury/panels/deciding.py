"""The two steps of a decision, without a screen: ask what is so, then do what was agreed.

Asking reads the request from the service as it is now and compares it with the row that the person
saw. Doing reads it once more and sends only if nothing moved, with the version that was shown and a
nonce that the journal accepts once. Until the point is passed, stopping leaves nothing behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.actions import KINDS, Confirmation, Outcome, RampSeen, moved
from treasury.api.models import RampRequest
from treasury.errors import (
    ActionRefused,
    JournalError,
    OutcomeUnknown,
    ServiceError,
    TreasuryError,
)
from treasury.panels.desk import Desk
from treasury.panels.work import Work

__all__ = ["Asked", "ask", "carry_out", "what_became"]

AWAITING: Final = "AWAITING_APPROVAL"
_CHECKER: Final = "checker"


class Asked(msgspec.Struct, frozen=True):
    """What a person is asked to confirm; `nonce` is good for one answer."""

    nonce: str
    confirmed: Confirmation
    read_at: datetime
    changed: tuple[str, ...]
    """What the service says otherwise than the lake did."""


def ask(
    desk: Desk, kind: str, row: Mapping[str, Any], reason: str | None, work: Work
) -> Asked | RampRequest:
    """What to confirm; or the request as it is, where it no longer awaits a decision."""
    seen = RampSeen.from_row(row)
    work.say(f"Reading {seen.name} from the service")
    found = _read(desk, _reader(desk), seen.id)
    work.check()
    if found.status != AWAITING:
        return found
    fresh = RampSeen.of(found)
    return Asked(
        nonce=uuid.uuid4().hex,
        confirmed=desk.actions.draft(kind, reason=reason, live=True, request_id=seen.id),
        read_at=desk.settings.now(),
        changed=tuple(map(str, moved(seen, fresh))),
    )


def carry_out(desk: Desk, asked: Asked, work: Work) -> Outcome:
    """Send the decision if the request is still what was shown; raises what `execute` raises."""
    confirmed = asked.confirmed
    seen, verb = _seen(confirmed), KINDS[confirmed.kind].verb
    work.say(f"Checking that {seen.name} has not moved")
    fresh = RampSeen.of(_read(desk, confirmed.credential, seen.id))
    if fresh != seen:
        raise ActionRefused(
            f"{seen.name} changed while you looked at it: {_changes(seen, fresh)}."
            " Nothing was sent",
            do="look at it as it is now, then decide again",
        )
    work.pass_the_point(f"Sent: {verb.lower()} {seen.name}. Waiting for the answer")
    outcome = desk.actions.carry_out(confirmed, nonce=asked.nonce).outcome
    assert outcome is not None  # it raises unless it is done
    return outcome


def what_became(desk: Desk, asked: Asked, error: TreasuryError) -> tuple[bool, str]:
    """Whether surely nothing was carried out, and that in a sentence.

    The error or, where that does not know, the journal bears it out.
    """
    match error:
        case OutcomeUnknown():
            return False, "It was sent, and nobody can tell yet whether it was carried out."
        case ServiceError(status=int()):
            return True, "The service refused it: nothing was carried out."
        case ServiceError() | ActionRefused():
            return True, "Nothing was carried out."
    try:
        proposed = [e for e in desk.journal.entries("action.proposed") if e.nonce == asked.nonce]
        left = [e for p in proposed for e in desk.journal.entries("action.sending", p.subject)]
    except JournalError:
        return False, "Whether anything was sent cannot be read from the journal."
    if left:
        return False, "It may have been sent."
    return True, "Nothing was sent."


def _read(desk: Desk, credential: str, request_id: str) -> RampRequest:
    return desk.client(credential).ramp.requests.get(request_id).value


def _reader(desk: Desk) -> str:
    """The checker's credential; the only one there is where there is no checker."""
    names = sorted(desk.settings.credentials)
    return names[0] if len(names) == 1 else _CHECKER


def _seen(confirmed: Confirmation) -> RampSeen:
    assert confirmed.request is not None  # every kind that this panel offers is about a request
    return confirmed.request


def _changes(seen: RampSeen, fresh: RampSeen) -> str:
    changes = [str(change) for change in moved(seen, fresh)]
    if fresh.version != seen.version:
        changes.append(f"version was {seen.version}, is {fresh.version}")
    return "; ".join(changes) or "who created it is told otherwise"
