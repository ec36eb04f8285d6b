"""Actions folded from the journal's entries, one entry after the other."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from treasury.actions.action_states import Action, after
from treasury.journal import Entry

__all__ = ["ActionFold", "actions_of"]


class ActionFold:
    """What the entries that were added amount to.

    `alike` has the ids of actions of one content by its fingerprint, `policies` the hashes of the
    policies whose text the journal holds, `proposals` how many actions were proposed.
    """

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}
        self.alike: dict[str, list[str]] = {}
        self.policies: set[str] = set()
        self.proposals = 0
        self.last_left = datetime.min.replace(tzinfo=UTC)
        """The latest instant at which anything left, by the clocks of the machines it left from."""
        self._of_entry: dict[int, str] = {}

    def add(self, entry: Entry) -> None:
        """Take the next entry of the journal; one that is about no action changes nothing."""
        if entry.kind == "policy.saved":
            self.policies.add(entry.subject)
        if not entry.kind.startswith("action."):
            return
        former = self.actions.get(self._subject(entry))
        action = after(former, entry)
        if action is None:
            return
        self.actions[action.id] = action
        if action.sending is not None:
            self.last_left = max(self.last_left, action.sending.left_at)
        if former is None:
            self.alike.setdefault(action.fingerprint, []).append(action.id)
            self._of_entry[entry.seq] = action.id
            self.proposals += entry.kind == "action.proposed"

    def _subject(self, entry: Entry) -> str:
        """The action's id; entries of an earlier version name the entry that they follow."""
        if entry.kind == "action.sending" and "seen" in entry.body:
            return f"S-{entry.seq}"
        before = entry.body.get("sending")
        if isinstance(before, int):
            return self._of_entry.get(before, entry.subject)
        return entry.subject


def actions_of(entries: Iterable[Entry]) -> tuple[Action, ...]:
    """Every action that these entries are about, oldest first, as it stands after them."""
    fold = ActionFold()
    for entry in entries:
        fold.add(entry)
    return tuple(fold.actions.values())
