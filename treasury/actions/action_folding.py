"""Actions folded from the journal's entries, one entry after the other."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from treasury.actions.action_states import Action, after
from treasury.journal import ADOPTED, Entry

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
        self.adopted = 0
        """The number of the last entry by which an older copy was taken for the journal."""

    def add(self, entry: Entry) -> None:
        """Take the next entry of the journal; one that is about no action changes nothing."""
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
        self.actions[action.id] = action
        if action.sending is not None:
            self.last_left = max(self.last_left, action.sending.left_at)
        if former is None:
            self.alike.setdefault(action.fingerprint, []).append(action.id)
            self.proposals += 1


def actions_of(entries: Iterable[Entry]) -> tuple[Action, ...]:
    """Every action that these entries are about, oldest first, as it stands after them."""
    fold = ActionFold()
    for entry in entries:
        fold.add(entry)
    return tuple(fold.actions.values())
