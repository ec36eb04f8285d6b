"""The context shared by all modules of actions: journal, services, policy, clocks and person."""

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
    """The person who uses this process; identified again for each decision.

    The result of a call is journaled under the sender's name. The name is remembered, because the
    hub or the policy may be unreachable when the result arrives.
    """

    def __init__(self, who: Callable[[], Actor]) -> None:
        self._who = who
        self._last: Actor | None = None

    def __call__(self) -> Actor:
        """Identify the person and remember the name."""
        self._last = self._who()
        return self._last

    def last(self) -> Actor:
        """Return the person who was identified last; identify the person if there is none."""
        return self._last or self()


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a workspace that actions need; `connect` returns the client for a credential."""

    book: ActionBook
    connect: Callable[[str], Client]
    settings: Settings
    load_policy: Callable[[], Policy]
    snapshot: Callable[[], Snapshot] | None
    now: Callable[[], datetime]
    wall: Callable[[], datetime]
    """The clock that limits sending. `now` may be fixed in a practice company."""
    boot: Callable[[], BootTime] = boot_time
    """A clock that also runs while the machine sleeps."""
    who: Present
    journal_folder: Path | None
    """The folder of the journal's file; None for a database server, which all workspaces share."""

    @property
    def place(self) -> str:
        """The environment in which actions are carried out.

        A decision is valid for one environment.
        """
        return place_of(self.settings)

    def require_place(self, action: Action) -> None:
        """Raise ActionRefused if an action was proposed for another environment or other hosts."""
        if action.place != self.place:
            raise ActionRefused(
                f"{action.id} was proposed for {action.place}, and this workspace is for"
                f" {self.place}: nothing was sent",
                do="open the workspace that it was proposed in",
            )

    def require_original(self) -> None:
        """Raise ActionRefused in a copied workspace: it cannot know what the original sent."""
        if self.journal_folder is not None:
            require_original(self.journal_folder)

    def register(self) -> None:
        """Record the workspace's location, so that a later copy is detected."""
        if self.journal_folder is not None:
            register(self.journal_folder)

    def is_same_client(self, action: Action) -> bool:
        """Return whether the action's credential still has the client id that the approvers saw."""
        return self.settings.credential(action.credential).client_id == action.client_id

    def credential_for(self, kind: Kind) -> str:
        """Return the name of the credential that sends actions of this kind.

        A workspace with one credential uses that credential for every kind.
        """
        names = sorted(self.settings.credentials)
        return names[0] if kind.credential not in names and len(names) == 1 else kind.credential

    def policy_drafts(self, policy: Policy, actor: Actor) -> list[Draft]:
        """Return the entry that journals the current policy; empty if it is journaled already."""
        if policy.hash in self.book.fold.policies:
            return []
        return [Draft("policy.saved", policy.hash, {"content": policy.text}, actor)]
