"""The two steps of a decision on requests: `ask`, then `decide`.

`ask` reads each request from the service, drafts the action, and compares the request with the row
that the person saw. `decide` sends only if nothing has changed, with the version that was shown and
a nonce that the journal accepts once. If the work is cancelled before a call is sent, nothing is
changed; of several actions, those not yet tried stay ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.actions import KINDS, Action, Confirmation, Outcome, RampSeen, Ran, moved
from treasury.api.models import RampRequest
from treasury.core.errors import (
    ActionRefused,
    InputError,
    JournalError,
    OutcomeUnknown,
    ServiceError,
    TreasuryError,
)
from treasury.core.money import format_amount, total
from treasury.panels.frames.background_work import Cancelled, Work
from treasury.panels.frames.blocks import StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.shown_request import request_details
from treasury.panels.steps.known_decisions import update_at_service

APPROVE: Final = "ramp_request.approve"
_NOT_YET: Final = Text("Do not pay: not approved. Payment details follow the approval.", "warn")
_AWAITING: Final = "AWAITING_APPROVAL"
_CHECKER: Final = "checker"


class PendingRequests(PendingDecision, frozen=True, kw_only=True):
    """Decisions on requests, to be confirmed."""

    kind: str
    all: tuple[Confirmation, ...]
    read_at: datetime
    changed: tuple[str, ...] = ()
    """Differences between the service and the lake."""
    left_out: tuple[RampRequest, ...] = ()
    """Chosen requests that are already decided."""

    def step(self, _: datetime) -> StepBlock:
        """Return the step: one request with all facts, or several with totals by currency."""
        confirmed, single = self.confirmed, len(self.all) == 1
        warnings = [Text(f"Since the last sync: {change}", "warn") for change in self.changed]
        for request in self.left_out:
            why = update_at_service(request).lines[0].text
            warnings.append(Text(f"Left out: {why}", "warn"))
        totals = _totals(self.all)
        several = (
            detail("Total by currency", *(Text(subtotal, "strong") for subtotal in totals)),
            detail("Decided by", Text(confirmed.actor.name, "strong")),
            detail("Credential", Text(f"{confirmed.credential} ({confirmed.client_id})")),
            detail("Read from the service", Text(instant(self.read_at))),
        )
        # The text is like `3 requests: 2 with EUR 40,000.00 in all, USDC 7,500.000000.`.
        total_text = f"{self.name}: {', '.join(totals) or 'no amounts shown'}."
        buttons = confirm_buttons("Confirm rejection", "danger")
        if self.kind == APPROVE:
            warnings.append(_NOT_YET)
            buttons = confirm_buttons("Confirm approval")
        return StepBlock(
            key=self.nonce,
            title=f"{KINDS[self.kind].verb} {self.name}?",
            text=confirmed.text if single else total_text,
            items=() if single else tuple(each.text for each in self.all),
            facts=request_details(confirmed, self.read_at) if single else several,
            notes=tuple(warnings),
            buttons=buttons,
            tone="go" if self.kind == APPROVE else "stop",
        )

    @property
    def confirmed(self) -> Confirmation:
        """The first confirmation; a decision about one request has no other."""
        return self.all[0]

    @property
    def name(self) -> str:
        """The name, for example `PAY-2026-000001` or `3 requests`."""
        return (
            _request_of(self.confirmed).name if len(self.all) == 1 else f"{len(self.all)} requests"
        )


class BatchResult(msgspec.Struct, frozen=True):
    """The actions that were tried, wait for approval, or are untried and still ready.

    `cancelled` is true if a person stopped the run.
    """

    ran: tuple[Ran, ...]
    waiting: tuple[Action, ...] = ()
    untried: tuple[Action, ...] = ()
    cancelled: bool = False
    outcome: Outcome | None = None
    """The outcome, if one person decided one request alone."""


def ask(
    desk: PanelWorkspace,
    kind: str,
    rows: Iterable[Mapping[str, Any]],
    reason: str | None,
    work: Work,
) -> PendingRequests:
    """Return the decision to confirm; `all` is empty if no request awaits a decision."""
    rows = list(rows)
    drafts, changes, left_out = [], [], []
    for number, row in enumerate(rows):
        shown_request = RampSeen.from_row(row)
        work.say(f"Reading {shown_request.name} from the service", number, len(rows))
        try:
            draft = desk.actions.draft(kind, reason=reason, live=True, request_id=shown_request.id)
        except (ActionRefused, InputError):
            names = sorted(desk.settings.credentials)
            reader = desk.client(names[0] if len(names) == 1 else _CHECKER)
            request = reader.ramp.requests.get(shown_request.id).value
            if request.status == _AWAITING:
                raise
            left_out.append(request)
        else:
            about = f"{shown_request.name}: " if len(rows) > 1 else ""
            changes += [f"{about}{change}" for change in moved(shown_request, _request_of(draft))]
            drafts.append(draft)
        work.check()
    return PendingRequests(
        kind=kind,
        all=tuple(drafts),
        read_at=desk.settings.now(),
        changed=tuple(changes),
        left_out=tuple(left_out),
    )


def decide(desk: PanelWorkspace, pending: PendingRequests, work: Work) -> BatchResult:
    """Propose the confirmed actions, all or none, and execute those that need no second person.

    A single request that one person decides alone is first compared with the shown data; if it has
    changed, an error is raised and nothing is journaled. Of several requests, each lapses or is
    refused separately.
    """
    if len(pending.all) == 1 and pending.confirmed.needed <= 1:
        confirmed = pending.confirmed
        request, verb = _request_of(confirmed), KINDS[confirmed.kind].verb.lower()
        work.say(f"Checking {request.name} for changes")

        def compare(fresh: RampSeen | None) -> None:
            if fresh is not None and fresh != request:
                changes = [str(change) for change in moved(request, fresh)]
                if fresh.version != request.version:
                    changes.append(f"version was {request.version}, is {fresh.version}")
                sentence = "; ".join(changes) or "its creator has changed"
                raise ActionRefused(
                    f"{request.name} changed while you looked at it: {sentence}. Nothing was sent",
                    do="look at its current state, then decide again",
                )
            work.pass_the_point(f"Sent: {verb} {request.name}. Waiting for the answer")

        action = desk.actions.carry_out(confirmed, nonce=pending.nonce, compare=compare)
        # This raises an error unless the action was carried out.
        assert action.outcome is not None
        return BatchResult((), outcome=action.outcome)
    work.pass_the_point(f"Writing {pending.name} to the journal")
    proposed = desk.actions.propose_drafts(*pending.all, nonce=pending.nonce)
    ready = [action.id for action in proposed if action.state == "ready"]
    result = execute(desk, ready, work) if ready else BatchResult(())
    waiting = tuple(action for action in proposed if action.state == "proposed")
    return msgspec.structs.replace(result, waiting=waiting)


def execute(desk: PanelWorkspace, ids: Iterable[str], work: Work) -> BatchResult:
    """Carry out ready actions one by one; Cancel leaves the untried ones ready."""
    ids, cancelled = list(ids), False

    def progress(count: int, total: int) -> None:
        nonlocal cancelled
        try:
            work.go_on(f"Sent {count:,} of {total:,}", count, total)
        except Cancelled:
            cancelled = True
            raise

    ran: tuple[Ran, ...] = ()
    try:
        ran = desk.actions.execute_all(ids, progress=progress)
    except Cancelled:
        actions = map(desk.actions.get, ids)
        ran = tuple(Ran(action=action) for action in actions if action.state != "ready")
    tried = {attempt.action.id for attempt in ran}
    untried = tuple(desk.actions.get(action_id) for action_id in ids if action_id not in tried)
    return BatchResult(ran, untried=untried, cancelled=cancelled)


def sending_state(
    desk: PanelWorkspace, pending: PendingRequests, error: TreasuryError
) -> tuple[bool, str]:
    """Return True if it is certain that nothing was carried out, and a sentence about that.

    This follows from the error, or else from the journal.
    """
    match error:
        case OutcomeUnknown():
            return False, "It was sent, and its outcome is unknown."
        case ServiceError(status=int()):
            return True, "The service refused it: nothing was carried out."
        case ServiceError() | ActionRefused():
            return True, "Nothing was carried out."
    try:
        proposed = [e for e in desk.journal.entries("action.proposed") if e.nonce == pending.nonce]
        sendings = [e for p in proposed for e in desk.journal.entries("action.sending", p.subject)]
    except JournalError:
        return False, "The journal cannot be read, so it is unknown whether anything was sent."
    if sendings:
        return False, "It may have been sent."
    return True, "Nothing was sent."


def _totals(requests: Iterable[Confirmation]) -> list[str]:
    """Return `2 with EUR 40,000.00 in all` for each currency."""
    amounts: dict[str, list[Any]] = {}
    for confirmed in requests:
        if confirmed.money is not None:
            amounts.setdefault(confirmed.money.currency, []).append(confirmed.money.amount)
    return [
        f"{len(several)} with {format_amount(total(several), currency)} in all"
        if len(several) > 1
        else format_amount(several[0], currency)
        for currency, several in sorted(amounts.items())
    ]


def _request_of(confirmed: Confirmation) -> RampSeen:
    # All kinds of action in this panel concern a request.
    assert confirmed.request is not None
    return confirmed.request
