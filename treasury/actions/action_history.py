"""The journal's entries about actions, folded once and then kept up with.

Whoever decides does it on the book as it was read: the entries are appended only if the journal
still ends where the book does (`Journal.decide`). If it does not, the new entries are read and the
decision is taken again, or refused, on what they say. So of two processes that execute one action,
one does.
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
"""Kinds whose person is a maker of the request: never the one to approve it."""


class ActionBook:
    """Every action by id, in the order proposed; safe to use from several threads.

    `fold` is what the entries amount to that were read so far.
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
        """Read what was written since."""
        with self._lock:
            added, wrong = self._journal.follow(self._head)
            if added and added[0].prev_hash != self._head.hash:  # another journal than was read
                self._forget()
                added, wrong = self._journal.follow(self._head)
            self._take(added)
            self._wrong = self._wrong or wrong

    def decide(
        self, build: Callable[[], Sequence[Draft]], *, thorough: bool = False
    ) -> list[Entry]:
        """Append what `build` makes of the book as it is; nothing where `build` raises.

        Raises what `Journal.decide` raises, whose `thorough` it is.
        """

        def drafts(head: Head) -> Sequence[Draft]:
            if self._head != head:
                self.refresh()
            if self._wrong is not None or not (
                self._head == head or self._journal.holds(self._head)
            ):  # the journal is not the one that was read
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
        """Append the entry by which an action leaves; return the action as that entry leaves it.

        Of several threads only the one that appended an entry gets it, so one sends it.
        """
        with self._lock:
            entry = self.decide(build, thorough=True)[-1]
            return self.get(entry.subject)

    def note(self, drafts: Sequence[Draft]) -> None:
        """Append what has happened, whatever others wrote and whatever became of the journal."""
        with self._lock:
            added = self._journal.note(drafts)
            if added and added[0].prev_hash == self._head.hash:
                self._take(added)
            else:
                self.refresh()

    def newest_about(self, action_id: str) -> Head | None:
        """The last entry about an action, read from the journal now; None where there is none."""
        return self._journal.newest_about(action_id)

    def get(self, action_id: str) -> Action:
        """An action by its id; InputError where there is none."""
        with self._lock:
            action = self.fold.actions.get(action_id)
        if action is None:
            raise InputError(
                f"there is no action {action_id}", do="see `treasury actions list` for those"
            )
        return action

    def all(self) -> list[Action]:
        """Every action, oldest first."""
        with self._lock:
            return list(self.fold.actions.values())

    def next_id(self, ahead: int = 0) -> str:
        """The id of the next action that is proposed."""
        return f"A-{self.fold.proposals + 1 + ahead}"

    def twins(self, fingerprint: str, *, but: str = "") -> Iterator[Action]:
        """Other actions of exactly the same content."""
        for action_id in self.fold.alike.get(fingerprint, ()) if fingerprint else ():
            if action_id != but:
                yield self.fold.actions[action_id]

    def blocking(self, fingerprint: str, *, but: str = "") -> Action | None:
        """A twin that may have been carried out, once or twice, and is not known to have been.

        Of two that carry a version only one can take effect: those block nothing.
        """
        for twin in self.twins(fingerprint, but=but):
            if (twin.state in UNSETTLED or twin.doubled) and twin.safety != "versioned":
                return twin
        return None

    def look_alikes(self, fingerprint: str) -> list[Action]:
        """Twins that are open or done: not wrong, but to be said."""
        return [twin for twin in self.twins(fingerprint) if twin.state in OPEN | {"done"}]

    def wished_since(self, fingerprint: str, moment: datetime) -> datetime:
        """Since when a record at the service may be what an action of a moment wishes for.

        That is some days before it; where the same was wished for until then and came to nothing,
        some days before that. A journal that was put back from an older copy may be wrong there.
        """
        earlier = [twin for twin in self.twins(fingerprint) if twin.state in OPEN | DROPPED]
        since = moment - WINDOW
        for twin in sorted(earlier, key=lambda action: action.proposed_at, reverse=True):
            if twin.state in OPEN or twin.changed_at >= since:
                since = min(since, twin.proposed_at - WINDOW)
        return since

    def makers(self, request_id: str) -> list[Actor]:
        """Who made a ramp request from here, or changed its amount, or may have."""
        makers = []
        for action in self.all():
            records = [action.target] if action.state in UNSETTLED else []
            if action.outcome is not None:
                records = [action.outcome.record, action.target]
            if action.kind in MAKES and request_id in records:
                makers.append(action.proposed_by)
        return makers

    def strangers(self, records: Iterable[Any]) -> list[Twin]:
        """Those of the service's records that no action here has made or is making, newest first.

        A key tells its action only once that has left from here: a key that was used and, by this
        journal, never left is that of a journal that went back. ActionRefused where a record
        carries the key of an action that is said not to have been carried out: it was.
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
                    f"{action.id} is {action.state}, and was carried out: {twin} carries its key;"
                    " nothing was proposed or sent",
                    do=f"run `treasury actions recover {action.id}`, and look at it again",
                )
        return [twin for twin in twins if twin.id not in own_ids and twin.key not in used_keys]

    def records(self, *, but: str = "") -> set[str]:
        """The ids of the records that actions, other than the named one, have made."""
        outcomes = (action.outcome for action in self.all() if action.id != but)
        return {outcome.record for outcome in outcomes if outcome is not None and outcome.record}

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.fold.add(entry)
            self._head = Head(entry.seq, entry.hash)
