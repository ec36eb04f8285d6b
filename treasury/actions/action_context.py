"""What every part of the room works with: the book, the services, the policy, the clocks, who."""

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
    """The person at this process: established for each decision, remembered for what follows it.

    What came of something that was sent is journaled under the name that it was sent by; the hub or
    the policy may be out of reach by then, and must not stand in the way.
    """

    def __init__(self, who: Callable[[], Actor]) -> None:
        self._who = who
        self._last: Actor | None = None

    def __call__(self) -> Actor:
        """The person, established anew."""
        self._last = self._who()
        return self._last

    def last(self) -> Actor:
        """The person as last established."""
        return self._last or self()


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace's; `connect` gives the client of a named credential."""

    book: ActionBook
    connect: Callable[[str], Client]
    settings: Settings
    load_policy: Callable[[], Policy]
    snapshot: Callable[[], Snapshot] | None
    now: Callable[[], datetime]
    wall: Callable[[], datetime]
    """The clock by which sendings are timed; `now` of a practice company may not move."""
    boot: Callable[[], BootTime] = boot_time
    """The clock that runs during suspend."""
    who: Present
    journal_folder: Path | None
    """Where the journal's file is; None for a database, of which there is one for everybody."""

    @property
    def place(self) -> str:
        """Where actions are carried out: what is decided for one environment is for no other."""
        return place_of(self.settings)

    def require_place(self, action: Action) -> None:
        """ActionRefused where an action was decided for another environment or other hosts."""
        if action.place != self.place:
            raise ActionRefused(
                f"{action.id} was proposed for {action.place}, and this workspace is for"
                f" {self.place}: nothing was sent",
                do="open the workspace that it was proposed in",
            )

    def require_original(self) -> None:
        """ActionRefused where this is a copy of a workspace: neither knows what the other sent."""
        if self.journal_folder is not None:
            require_original(self.journal_folder)

    def register(self) -> None:
        """Note where the workspace is, so that a copy that is made of it from now on shows."""
        if self.journal_folder is not None:
            register(self.journal_folder)

    def is_same_client(self, action: Action) -> bool:
        """Whether its credential is still the client that people were shown."""
        return self.settings.credential(action.credential).client_id == action.client_id

    def credential_for(self, kind: Kind) -> str:
        """The kind's own credential; the only one there is where that is another."""
        names = sorted(self.settings.credentials)
        return names[0] if kind.credential not in names and len(names) == 1 else kind.credential

    def policy_drafts(self, policy: Policy, actor: Actor) -> list[Draft]:
        """What makes a decision's policy part of the journal, where it is not yet."""
        if policy.hash in self.book.fold.policies:
            return []
        return [Draft("policy.saved", policy.hash, {"content": policy.text}, actor)]
