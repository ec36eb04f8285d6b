"""The journal, services, policy, clocks and person that all parts of the actions package share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from treasury.actions.action_history import ActionBook
from treasury.actions.action_states import Action
from treasury.actions.kinds.kind import Kind
from treasury.actions.policies.policy import Policy
from treasury.api import Client
from treasury.core.errors import ActionRefused
from treasury.core.machine.boot_clock import BootTime, boot_time
from treasury.core.settings import Settings, place_of
from treasury.journal import Actor, Draft
from treasury.journal.workspace_copies import register, require_original
from treasury.lake import Snapshot


class Present:
    """The person at this process: identified for each decision, remembered for its results.

    The result of a call is journaled under the name it was sent by. By then the hub or the policy
    may be out of reach, and that must not stop the journaling.
    """

    def __init__(self, who: Callable[[], Actor]) -> None:
        self._who = who
        self._last: Actor | None = None

    def __call__(self) -> Actor:
        """Identify the person again."""
        self._last = self._who()
        return self._last

    def last(self) -> Actor:
        """Return the person as last identified."""
        return self._last or self()


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The context of one workspace; `connect` returns the client of a named credential."""

    book: ActionBook
    connect: Callable[[str], Client]
    settings: Settings
    load_policy: Callable[[], Policy]
    snapshot: Callable[[], Snapshot] | None
    now: Callable[[], datetime]
    wall: Callable[[], datetime]
    """The clock that times sending; a practice company's `now` may stay fixed."""
    boot: Callable[[], BootTime] = boot_time
    """The clock that also runs during suspend."""
    who: Present
    journal_folder: Path | None
    """The folder of the journal's file; None for a database, which all desks share."""

    @property
    def place(self) -> str:
        """The environment where actions are carried out; a decision for one holds for no other."""
        return place_of(self.settings)

    def require_place(self, action: Action) -> None:
        """Raise ActionRefused if an action was decided for another environment or other hosts."""
        if action.place != self.place:
            raise ActionRefused(
                f"{action.id} was proposed for {action.place}, and this workspace is for"
                f" {self.place}: nothing was sent",
                do="open the workspace that it was proposed in",
            )

    def require_original(self) -> None:
        """Raise ActionRefused in a copied workspace: neither copy knows what the other sent."""
        if self.journal_folder is not None:
            require_original(self.journal_folder)

    def register(self) -> None:
        """Record the workspace's location, so that a later copy is detected."""
        if self.journal_folder is not None:
            register(self.journal_folder)

    def is_same_client(self, action: Action) -> bool:
        """Return whether the action's credential is still the client that people were shown."""
        return self.settings.credential(action.credential).client_id == action.client_id

    def credential_for(self, kind: Kind) -> str:
        """Return the kind's own credential, or the only one if that has another name."""
        names = sorted(self.settings.credentials)
        return names[0] if kind.credential not in names and len(names) == 1 else kind.credential

    def policy_drafts(self, policy: Policy, actor: Actor) -> list[Draft]:
        """Return the entry that journals the policy of a decision, unless the journal has it."""
        if policy.hash in self.book.fold.policies:
            return []
        return [Draft("policy.saved", policy.hash, {"content": policy.text}, actor)]
