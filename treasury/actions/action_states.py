"""The states of actions, derived only from their journal entries.

    proposed -> ready -> sending -> done
       |          |         |-> refused   nothing was carried out
       |          |         |-> unknown   outcome unknown; never resent automatically
       |          |-> lapsed              a fact that was approved has changed
       |-> rejected, withdrawn

A ready action can also be rejected or withdrawn, and a proposed action can also lapse. An action
returns from sending to ready if no byte was sent. An action that needs only one person is ready as
soon as it is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec

from treasury.actions.action_facts import Fact
from treasury.actions.kinds.kind import AssetAmount, Safety
from treasury.actions.policies.policy import RecoveryTerms
from treasury.actions.seen_request import RampSeen
from treasury.actions.twins import fingerprint_of
from treasury.core.decoding import convert
from treasury.core.machine.boot_clock import BootTime
from treasury.journal import ADOPTED, Actor, Draft, Entry
from treasury.journal.chain import UNREADABLE, unreadable

State = Literal[
    "proposed", "ready", "sending", "done", "refused", "unknown", "lapsed", "rejected", "withdrawn"
]
OPEN: Final = frozenset({"proposed", "ready"})
"""States in which an action can be decided, withdrawn or executed."""
DROPPED: Final = frozenset({"lapsed", "refused", "rejected", "withdrawn"})
"""States of actions that ended without an effect at the service."""
UNSETTLED: Final = frozenset({"sending", "unknown"})
"""States of actions with an unknown outcome."""
ALLOWED_SKEW: Final = timedelta(minutes=1)
"""The largest allowed difference between the wall clocks of two machines."""
Seconds = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_EARLIER_DEADLINE: Final = 60
"""The deadline of a call in seconds, for entries of earlier versions that do not state it."""


class Approval(msgspec.Struct, frozen=True):
    """One approval: the person, the time, and the hash of the approved content."""

    actor: Actor
    at: datetime
    content_hash: str
    reason: str | None = None
    seq: int = 0
    """The sequence number of the approval's journal entry."""


class PinnedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as sent: the ids in its route, its exact body, and the ids of similar records."""

    ids: tuple[str, ...]
    body: str
    version: int | None
    foreign_ids: tuple[str, ...]


class Sending(PinnedCall, frozen=True, kw_only=True):
    """One attempt to send an action, with its start time on each clock.

    `seq` and `hash` identify its journal entry. Earlier versions did not journal the term or the
    machine's uptime; for their entries the default term begins at `left_at`.
    """

    seq: int
    hash: str
    at: datetime
    left_at: datetime
    left_boot: BootTime | None
    first_left_at: datetime
    first_left_boot: BootTime | None
    term_seconds: Seconds
    deadline_seconds: Seconds
    actor: Actor
    ended_at: datetime | None = None
    """The wall-clock time at which the sender stopped sending; None if the journal does not state
    it."""

    @property
    def term(self) -> timedelta:
        """The period after the journal entry during which bytes may be sent."""
        return timedelta(seconds=self.term_seconds)

    @property
    def settled_from(self) -> datetime:
        """The wall-clock time from which anyone may settle the action: no byte is then in transit.

        The clocks of two machines may differ by `ALLOWED_SKEW`.
        """
        return self.left_at + self.term + timedelta(seconds=self.deadline_seconds) + ALLOWED_SKEW

    def listed_by(self, settling_time: timedelta) -> datetime:
        """Return the time by which the service must list an effect, even of the last byte sent."""
        return (self.ended_at or self.left_at + self.term) + settling_time

    def passed_by(self, now: datetime, boot: BootTime) -> str:
        """Return the evidence that the term has passed, a clock or a restart; empty if none."""
        if now - self.left_at > self.term:
            return "the wall clock"
        awake = timedelta() if self.left_boot is None else self.left_boot.until(boot)
        if awake is None:
            return "a restart of the machine"
        return "the clock that runs during suspend" if awake > self.term else ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an action that was carried out.

    `how` is the source of the outcome: the service's answer, a later read of the record, a repeat
    of the same call, a listed record that can only be ours, or a person's decision. `response` is
    the record as JSON.
    """

    kind: str
    subject: str
    how: Literal["answered", "read back", "sent again", "adopted", "said by a person"]
    text: str
    status: str
    version: int | None
    record: str
    response: str | None
    service_user: str | None
    """The user named by the service; `decided_by` is the person who decided in this workspace."""
    decided_by: str
    at: datetime


class ProposedContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content that people see and approve, as the journal stores it.

    `content_hash` covers the exact content and the material facts. `money` is the amount that the
    action moves or refers to, in its own currency. `target` is the record that it changes. `needed`
    is the number of people who have to agree, including the maker. `place` is the environment.
    """

    kind: str
    operation: str
    safety: Safety
    fields: dict[str, Any]
    facts: tuple[Fact, ...]
    text: str
    masked: str
    money: AssetAmount | None
    target: str
    key: str
    content_hash: str
    fingerprint: str
    needed: int
    policy: str
    credential: str
    client_id: str
    reason: str | None
    place: str
    request: RampSeen | None = None


class Action(ProposedContent, frozen=True, kw_only=True):
    """One action: its content, its approvals and its state."""

    id: str
    state: State
    proposed_by: Actor
    proposed_at: datetime
    seq: int
    """The sequence number of the proposal's journal entry."""
    changed_at: datetime
    approvals: tuple[Approval, ...] = ()
    attempts: int = 0
    sending: Sending | None = None
    outcome: Outcome | None = None
    why: str = ""
    """Why the action was refused, rejected or withdrawn, lapsed, is unknown, or is ready again."""
    refusal_in_doubt: bool = False
    """Whether the service may have refused only the repeat of a call.

    The first call may have been executed, so the outcome is unknown until it is settled.
    """
    is_settled: bool = False
    """Whether it was settled as not carried out, so that a twin of it may have been sent."""
    doubled: str = ""
    """Why the action may have been carried out twice; empty if not, or once a person settled it."""

    def __str__(self) -> str:
        return f"{self.id} {self.state}: {self.text}"

    @property
    def name(self) -> str:
        """The name shown to people: the name of its ramp request, or else the id of the action."""
        return self.request.name if self.request is not None else self.id

    @property
    def waits_for(self) -> int:
        """The number of missing approvals."""
        return max(0, self.needed - 1 - len(self.approvals)) if self.state == "proposed" else 0

    @property
    def departure(self) -> Sending:
        """The last attempt to send the action. Only for actions that were sent."""
        assert self.sending is not None
        return self.sending

    def draft(self, word: str, actor: Actor, **more: object) -> Draft:
        """Return a draft entry about the action, with the hash of the approved content."""
        body = {"kind": self.kind, "target": self.target, "content_hash": self.content_hash}
        return Draft(f"action.{word}", self.id, body | more, actor)

    @property
    def people(self) -> tuple[str, ...]:
        """Everyone who agreed to the action, its maker first."""
        return (self.proposed_by.name, *(approval.actor.name for approval in self.approvals))


def after(action: Action | None, entry: Entry) -> Action | None:
    """Return the action after one more entry; None if the entry belongs to no action."""
    if action is None:
        return _proposed(entry) if entry.kind == "action.proposed" else None
    step = _STEPS.get(entry.kind)
    changed = action if step is None else step(action, entry)
    return msgspec.structs.replace(changed, changed_at=entry.at)


def _proposed(entry: Entry) -> Action:
    body = entry.body
    needed = int(body["needed"])
    facts = convert(body["facts"], list[Fact])
    names = ProposedContent.__struct_fields__
    proposal: dict[str, Any] = {name: body[name] for name in names if name in body}
    proposal |= {
        # Recomputed, because earlier versions used other rules to compare contents.
        "fingerprint": fingerprint_of(body["kind"], body["fields"], facts),
        "id": entry.subject,
        "state": "ready" if needed <= 1 else "proposed",
        "proposed_by": entry.actor,
        "proposed_at": entry.at,
        "seq": entry.seq,
        "changed_at": entry.at,
    }
    return convert(proposal, Action, from_attributes=True)


def _approved(action: Action, entry: Entry) -> Action:
    body = entry.body
    approval = Approval(entry.actor, entry.at, body["content_hash"], body.get("reason"), entry.seq)
    approvals = (*action.approvals, approval)
    needed = int(body.get("needed", action.needed))
    ready = action.state == "proposed" and len(approvals) + 1 >= needed
    state = "ready" if ready else action.state
    return msgspec.structs.replace(action, approvals=approvals, needed=needed, state=state)


def _ended(state: State) -> Callable[[Action, Entry], Action]:
    def step(action: Action, entry: Entry) -> Action:
        if action.state == "done":
            return action
        why = entry.body.get("why") or entry.body.get("reason") or ""
        return msgspec.structs.replace(action, state=state, why=str(why))

    return step


def _refused(action: Action, entry: Entry) -> Action:
    """Apply a refusal if the outcome is open and the refusal is not from an earlier attempt."""
    body = entry.body
    if action.state not in UNSETTLED or body.get("attempt", action.attempts) < action.attempts:
        return action
    state: State = "ready" if body.get("again") else "refused"
    return msgspec.structs.replace(action, state=state, why=str(body.get("why") or ""))


def _recovered(action: Action, entry: Entry) -> Action:
    """Apply an entry which states that there was no effect, or no second effect."""
    if action.doubled:
        return msgspec.structs.replace(action, doubled="", is_settled=True)
    refused = _refused(action, entry)
    return refused if refused is action else msgspec.structs.replace(refused, is_settled=True)


def _unknown(action: Action, entry: Entry) -> Action:
    """Apply an unknown outcome, which the sender or a later look-up found."""
    body = entry.body
    why, attempt = str(body.get("why") or ""), body.get("attempt")
    if body.get("left_late") and action.state not in UNSETTLED:
        return _doubled(action, f"it was sent after its term, and got no answer: {why}")
    is_late = attempt is not None and (attempt < action.attempts or action.state not in UNSETTLED)
    if action.state == "done" or is_late:
        return action
    sending = action.sending
    if sending is not None and "ended_at" in body:
        ended_at = _instant(body["ended_at"])
        sending = msgspec.structs.replace(sending, ended_at=ended_at)
    in_doubt = bool(body.get("refusal_in_doubt"))
    return msgspec.structs.replace(
        action, state="unknown", why=why, refusal_in_doubt=in_doubt, sending=sending
    )


def _doubled(action: Action, why: str) -> Action:
    """Mark an action that took effect, or may have, although it was settled as not carried out."""
    return msgspec.structs.replace(action, doubled=f"{why}; it was {action.state} before that")


def _instant(text: str) -> datetime:
    """Parse the instant of an entry; raise ValueError if it has no time zone."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return instant


def _sent(action: Action, entry: Entry) -> Action:
    body = entry.body
    left_at = _instant(body["left_at"])
    boot = body.get("boot")
    left_boot = None if boot is None else BootTime(boot, body["boot_milliseconds"])
    first = action.sending
    fields = {
        "seq": entry.seq,
        "hash": entry.hash,
        "at": entry.at,
        "left_at": left_at,
        "left_boot": left_boot,
        "first_left_at": left_at if first is None else first.first_left_at,
        "first_left_boot": left_boot if first is None else first.first_left_boot,
        "term_seconds": body.get("term_seconds", RecoveryTerms().term_seconds),
        "deadline_seconds": body.get("deadline_seconds", _EARLIER_DEADLINE),
        "ids": body["ids"],
        "body": body["body"],
        "version": body.get("version"),
        "foreign_ids": body.get("known", ()),
        "actor": entry.actor,
    }
    sending = convert(fields, Sending, from_attributes=True)
    return msgspec.structs.replace(
        action,
        state="sending",
        sending=sending,
        attempts=action.attempts + 1,
        why="",
        is_settled=False,
    )


def _carried_out(action: Action, entry: Entry) -> Action:
    body = entry.body
    outcome = Outcome(
        kind=action.kind,
        subject=action.target,
        how=body.get("how", "answered"),
        text=action.text,
        status=body.get("status") or "",
        version=body.get("version"),
        record=body.get("record") or action.target,
        response=body.get("response"),
        service_user=body.get("service_user"),
        decided_by=entry.actor.name,
        at=entry.at,
    )
    done = msgspec.structs.replace(action, state="done", outcome=outcome, why="")
    if outcome.how == "said by a person":
        return msgspec.structs.replace(done, doubled="")
    if action.state in UNSETTLED or (outcome.how == "adopted" and not action.is_settled):
        return done
    before = action.outcome
    if action.state == "done" and before is not None and before.record == outcome.record:
        return done
    late = _doubled(action, f"it was carried out, as record {outcome.record} shows")
    return msgspec.structs.replace(done, doubled=late.doubled)


_STEPS: Final[dict[str, Callable[[Action, Entry], Action]]] = {
    "action.approved": _approved,
    "action.rejected": _ended("rejected"),
    "action.withdrawn": _ended("withdrawn"),
    "action.lapsed": _ended("lapsed"),
    "action.sending": _sent,
    "action.done": _carried_out,
    "action.refused": _refused,
    "action.unknown": _unknown,
    "action.recovered": _recovered,
}


class ActionFold:
    """The state of all actions after the entries added so far.

    `alike` maps a fingerprint (`twins`) to the ids of the actions with that content. `policies` are
    the hashes of the policies in the journal. `proposals` is the number of actions.
    """

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}
        self.alike: dict[str, list[str]] = {}
        self.policies: set[str] = set()
        self.proposals = 0
        self.last_left = datetime.min.replace(tzinfo=UTC)
        """The latest time at which an action was sent, by the sender's clock."""
        self.adopted = 0
        """The sequence number of the last entry that adopted an older copy as the journal."""

    def add(self, entry: Entry) -> None:
        """Apply the next entry of the journal; ignore an entry that is not about an action.

        Raise JournalError if the entry cannot be read.
        """
        try:
            self._add(entry)
        except UNREADABLE as error:
            raise unreadable(entry.seq, error) from error

    def _add(self, entry: Entry) -> None:
        if entry.kind == "policy.saved":
            self.policies.add(entry.subject)
        if entry.kind == ADOPTED:
            self.adopted = entry.seq
        if not entry.kind.startswith("action."):
            return
        former = self.actions.get(entry.subject)
        action = after(former, entry)
        if action is None:
            return
        if former is not None and former.state in OPEN | DROPPED and action.state == "done":
            action = self._found_done(former, action)
        self.actions[action.id] = action
        if action.sending is not None:
            self.last_left = max(self.last_left, action.sending.left_at)
        if former is None:
            self.alike.setdefault(action.fingerprint, []).append(action.id)
            self.proposals += 1

    def _found_done(self, former: Action, action: Action) -> Action:
        """Update the twins of an action that turned out to be done.

        A twin that was sent later may have had a second effect. A twin that was proposed later, to
        replace this action, lapses. If both calls had a record version, only one can have taken
        effect.
        """
        said = action.outcome is not None and action.outcome.how == "said by a person"
        if action.sending is None or said or action.safety == "versioned":
            return action
        left, doubled = action.sending.seq, action.doubled
        for twin in [self.actions[name] for name in self.alike[action.fingerprint]]:
            if twin.sending is not None and twin.sending.seq > left:
                late = _doubled(former, f"{twin.id}, which is the same, left later")
                doubled = doubled or late.doubled
            if twin.state in OPEN and twin.seq > left and former.state in DROPPED:
                why = f"{action.id}, which is the same, was carried out after all"
                self.actions[twin.id] = msgspec.structs.replace(twin, state="lapsed", why=why)
        return msgspec.structs.replace(action, doubled=doubled)


def actions_of(entries: Iterable[Entry]) -> tuple[Action, ...]:
    """Return the actions in these entries, oldest first, each in its state after the last entry."""
    fold = ActionFold()
    for entry in entries:
        fold.add(entry)
    return tuple(fold.actions.values())
