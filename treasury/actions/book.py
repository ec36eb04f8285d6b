"""The journal's entries about actions, folded once and then kept up with.

Whoever decides does it on the book as it was read: the entries are appended only if the journal
still ends where the book does. If it does not, the new entries are read and the decision is taken
again, or refused, on what they say. So of two processes that execute one action, one does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from treasury.actions.states import OPEN, UNSETTLED, Action, after
from treasury.actions.twins import Twin
from treasury.errors import InputError, JournalError, TreasuryError
from treasury.journal import Actor, Draft, Entry, Head, Journal

__all__ = ["MAKES", "Book"]

_ATTEMPTS: Final = 50
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_EMPTY: Final = Head(0, "0" * 64)
MAKES: Final = frozenset({"ramp_request.create", "ramp_request.change_amount"})
"""Kinds whose person is a maker of the request: never the one to approve it."""


class Book:
    """Every action by id, in the order proposed; safe to use from several threads."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._head = _EMPTY
        self._actions: dict[str, Action] = {}
        self._of_entry: dict[int, str] = {}
        self._alike: dict[str, list[str]] = {}
        self._proposals = 0
        self._policies: set[str] = set()
        self._wrong: JournalError | None = None
        self.last_left = _LONG_AGO
        """The latest instant at which anything left, by the clocks of the machines it left from."""

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
        self, build: Callable[[], Sequence[Draft]], *, happened: bool = False
    ) -> list[Entry]:
        """Append what `build` makes of the book as it is; nothing where `build` raises.

        `build` is asked again where somebody wrote in between, and is never refused on what is old.
        On a journal that was changed after it was written only what has `happened` is appended.
        """
        with self._lock:
            for _ in range(_ATTEMPTS):
                if self._wrong is not None and not happened:
                    raise self._wrong
                try:
                    drafts = build()
                except TreasuryError:
                    if self._is_present():
                        raise
                    continue
                added = self._journal.extend(drafts, after=self._head)
                if added is not None:
                    self._take(added)
                    return added
                if self._is_present():  # another journal than the one that was read
                    self._forget()
                    self.refresh()
        raise JournalError(
            "the journal is being written to by others all the time", do="run this again"
        )

    def _is_present(self) -> bool:
        """Read what was written since; whether there was nothing."""
        before = self._head
        self.refresh()
        return self._head == before

    def note(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Append what has happened, whatever others wrote."""
        return self.decide(lambda: drafts, happened=True)

    def get(self, action_id: str) -> Action:
        """An action by its id; InputError where there is none."""
        with self._lock:
            found = self._actions.get(action_id)
        if found is None:
            raise InputError(
                f"there is no action {action_id}", do="see `treasury actions list` for those"
            )
        return found

    def all(self) -> list[Action]:
        """Every action, oldest first."""
        with self._lock:
            return list(self._actions.values())

    def next_id(self, ahead: int = 0) -> str:
        """The id of the next action that is proposed."""
        return f"A-{self._proposals + 1 + ahead}"

    def knows_policy(self, policy: str) -> bool:
        """Whether the journal holds the text of a policy by its hash."""
        return policy in self._policies

    def twins(self, fingerprint: str, *, but: str = "") -> Iterator[Action]:
        """Other actions of exactly the same content."""
        for action_id in self._alike.get(fingerprint, ()) if fingerprint else ():
            if action_id != but:
                yield self._actions[action_id]

    def blocking(self, fingerprint: str, *, but: str = "") -> Action | None:
        """A twin that may have been carried out and is not known to have been.

        Of two that carry a version only one can take effect: those block nothing.
        """
        for twin in self.twins(fingerprint, but=but):
            if twin.state in UNSETTLED and twin.safety != "versioned":
                return twin
        return None

    def look_alikes(self, fingerprint: str, *, but: str = "") -> list[Action]:
        """Twins that are open or done: not wrong, but to be said."""
        states = OPEN | {"done"}
        return [twin for twin in self.twins(fingerprint, but=but) if twin.state in states]

    def makers(self, request_id: str) -> list[Actor]:
        """Who made a ramp request from here, or changed its amount, or may have."""
        return [
            action.proposed_by
            for action in self.all()
            if action.kind in MAKES and request_id in _made_by(action)
        ]

    def strangers(self, records: Iterable[Any]) -> list[Twin]:
        """Those of the service's records that no action here has made or is making, newest first.

        A key tells its action only once that has left from here: a key that was used and, by this
        journal, never left is that of a journal that went back.
        """
        found = [
            Twin(one.id, one.created_at, getattr(one, "idempotency_key", None)) for one in records
        ]
        if not found:
            return []
        made = self.records()
        left = {action.key for action in self.all() if action.key and action.attempts}
        return [one for one in found if one.id not in made and one.key not in left]

    def records(self) -> set[str]:
        """The ids of every record that an action is known to have made."""
        return {a.outcome.record for a in self.all() if a.outcome is not None and a.outcome.record}

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._fold(entry)
            self._head = Head(entry.seq, entry.hash)

    def _fold(self, entry: Entry) -> None:
        if entry.kind == "policy.saved":
            self._policies.add(entry.subject)
        if not entry.kind.startswith("action."):
            return
        action_id = self._subject(entry)
        known = self._actions.get(action_id)
        action = after(known, entry)
        if action is None:
            return
        self._actions[action.id] = action
        if action.sending is not None:
            self.last_left = max(self.last_left, action.sending.left_at)
        if known is None:
            self._alike.setdefault(action.fingerprint, []).append(action.id)
            self._of_entry[entry.seq] = action.id
            self._proposals += entry.kind == "action.proposed"

    def _subject(self, entry: Entry) -> str:
        """The action's id; entries of an earlier version name the entry that they follow."""
        if entry.kind == "action.sending" and "seen" in entry.body:
            return f"S-{entry.seq}"
        before = entry.body.get("sending")
        if isinstance(before, int):
            return self._of_entry.get(before, entry.subject)
        return entry.subject


def _made_by(action: Action) -> tuple[str, ...]:
    """The record that an action made, or that it may have changed."""
    if action.outcome is not None:
        return (action.outcome.record, action.target)
    return (action.target,) if action.state in UNSETTLED else ()
