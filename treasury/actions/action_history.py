"""The state of all actions, derived from the journal's entries and kept up to date.

A decision is based on the entries read so far, and is appended only if the journal still ends there
(`Journal.decide`). Otherwise the new entries are read, and the decision is checked against them. So
if two processes execute the same action, only one of them succeeds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from treasury.actions.action_states import DROPPED, OPEN, UNSETTLED, Action, ActionFold
from treasury.actions.twins import WINDOW, Twin
from treasury.core.errors import ActionRefused, InputError, JournalError
from treasury.journal import Actor, Draft, Entry, Head, Journal

_EMPTY: Final = Head(0, "0" * 64)
MAKES: Final = frozenset({"ramp_request.create", "ramp_request.change_amount"})
"""Kinds of action whose author becomes a maker of the request, and so does not approve it."""


class ActionBook:
    """Every action by id, in the order proposed; several threads may share it.

    `fold` is the state after the entries read so far.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._head = _EMPTY
        self.fold = ActionFold()
        self._wrong: JournalError | None = None

    def refresh(self) -> None:
        """Read the entries written since the last read."""
        with self._lock:
            added, wrong = self._journal.follow(self._head)
            # The journal was replaced by another one after it was read.
            if added and added[0].prev_hash != self._head.hash:
                self._forget()
                added, wrong = self._journal.follow(self._head)
            self._take(added)
            self._wrong = self._wrong or wrong

    def decide(
        self, build: Callable[[], Sequence[Draft]], *, thorough: bool = False
    ) -> list[Entry]:
        """Append the entries that `build` makes from the current state, and return them.

        `thorough` is passed to `Journal.decide`, whose errors are raised. If `build` raises an
        error, no entry is appended.
        """

        def drafts(head: Head) -> Sequence[Draft]:
            if self._head != head:
                self.refresh()
            # An earlier read failed, or the journal was replaced after it was read.
            if self._wrong is not None or not (
                self._head == head or self._journal.holds(self._head)
            ):
                self._forget()
                self.refresh()
            if self._wrong is not None:
                raise self._wrong
            return build()

        with self._lock:
            added = self._journal.decide(drafts, thorough=thorough)
            self._take(added)
            return added

    def leave(self, build: Callable[[], Sequence[Draft]]) -> Action:
        """Append the entry that starts sending an action; return the action in its new state.

        Only one thread can append the entry and get the action, so only one thread sends it.
        """
        with self._lock:
            entry = self.decide(build, thorough=True)[-1]
            return self.get(entry.subject)

    def note(self, drafts: Sequence[Draft]) -> None:
        """Append entries about past events, even if others changed or replaced the journal."""
        with self._lock:
            added = self._journal.note(drafts)
            if added and added[0].prev_hash == self._head.hash:
                self._take(added)
            else:
                self.refresh()

    def newest_about(self, action_id: str) -> Head | None:
        """Return the number and hash of the journal's last entry about an action, or None."""
        return self._journal.newest_about(action_id)

    def get(self, action_id: str) -> Action:
        """Return an action by its id; raise InputError for an unknown id."""
        with self._lock:
            action = self.fold.actions.get(action_id)
        if action is None:
            raise InputError(
                f"there is no action {action_id}", do="list the ids with `treasury actions list`"
            )
        return action

    def all(self) -> list[Action]:
        """Return every action, oldest first."""
        with self._lock:
            return list(self.fold.actions.values())

    def next_id(self, ahead: int = 0) -> str:
        """Return the id of the next proposed action, or of one that is `ahead` places later."""
        return f"A-{self.fold.proposals + 1 + ahead}"

    def twins(self, fingerprint: str, *, but: str = "") -> Iterator[Action]:
        """Yield the twins of an action: other actions that would have the same effect."""
        for action_id in self.fold.alike.get(fingerprint, ()) if fingerprint else ():
            if action_id != but:
                yield self.fold.actions[action_id]

    def blocking(self, fingerprint: str, *, but: str = "") -> Action | None:
        """Return a twin (an equal action) that blocks this action; None if there is none.

        A twin blocks if its outcome is unknown, or if it may have been carried out twice. A twin
        that was sent with a record's version never blocks, because only one of the two can take
        effect.
        """
        for twin in self.twins(fingerprint, but=but):
            if (twin.state in UNSETTLED or twin.doubled) and twin.safety != "versioned":
                return twin
        return None

    def look_alikes(self, fingerprint: str) -> list[Action]:
        """Return the twins (equal actions) that are open or done, to show them to the person."""
        return [twin for twin in self.twins(fingerprint) if twin.state in OPEN | {"done"}]

    def wished_since(self, fingerprint: str, moment: datetime) -> datetime:
        """Return the earliest time at which a record for the same purpose may have been created.

        The time is `WINDOW` before `moment`. If an equal action is open, or was dropped after that
        time, the time is `WINDOW` before its proposal: if the journal was restored from an older
        copy, that action may have been carried out without an entry.
        """
        earlier = [twin for twin in self.twins(fingerprint) if twin.state in OPEN | DROPPED]
        since = moment - WINDOW
        for twin in sorted(earlier, key=lambda action: action.proposed_at, reverse=True):
            if twin.state in OPEN or twin.changed_at >= since:
                since = min(since, twin.proposed_at - WINDOW)
        return since

    def makers(self, request_id: str) -> list[Actor]:
        """Return the people whose actions created a request or changed its amount, or may have."""
        makers = []
        for action in self.all():
            records = [action.target] if action.state in UNSETTLED else []
            if action.outcome is not None:
                records = [action.outcome.record, action.target]
            if action.kind in MAKES and request_id in records:
                makers.append(action.proposed_by)
        return makers

    def strangers(self, records: Iterable[Any]) -> list[Twin]:
        """Return those of the service's records that did not come from our actions, as twins.

        A record with an action's key came from that action only if the journal states that the
        action was sent. Otherwise the journal was restored from an older copy. Raise ActionRefused
        if a record has the key of an action that is recorded as not carried out, because the record
        proves the opposite.
        """
        twins = [
            Twin(
                id=record.id,
                at=getattr(record, "created_at", None),
                key=getattr(record, "idempotency_key", None),
                status=getattr(record, "status", None),
            )
            for record in records
        ]
        if not twins:
            return []
        own_ids = self.records()
        used_keys = {action.key: action for action in self.all() if action.key and action.attempts}
        for twin in twins:
            action = used_keys.get(twin.key or "")
            if action is not None and action.state not in UNSETTLED | {"done"}:
                raise ActionRefused(
                    f"{action.id} is {action.state}, but was carried out: {twin} carries its"
                    " key; nothing was proposed or sent",
                    do=f"run `treasury actions recover {action.id}`, and look at it again",
                )
        return [twin for twin in twins if twin.id not in own_ids and twin.key not in used_keys]

    def records(self, *, but: str = "") -> set[str]:
        """Return the ids of the records that actions other than `but` made or changed."""
        outcomes = (action.outcome for action in self.all() if action.id != but)
        return {outcome.record for outcome in outcomes if outcome is not None and outcome.record}

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.fold.add(entry)
            self._head = Head(entry.seq, entry.hash)
