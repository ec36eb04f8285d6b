"""What every part of the room works with: the book, the services, the policy, the clocks, who."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from treasury.actions.book import Book
from treasury.actions.kind import Kind
from treasury.actions.policy import Policy
from treasury.actions.states import Action
from treasury.api import Client
from treasury.errors import ActionRefused
from treasury.journal import Actor, Draft
from treasury.lake import Snapshot
from treasury.settings import Settings, place_of

__all__ = ["Context", "wall_clock"]


def wall_clock() -> datetime:
    """The machine's time: a practice company's clock may stand still, waiting does not."""
    return datetime.now(UTC)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace's; `connect` gives the client of a named credential."""

    book: Book
    connect: Callable[[str], Client]
    settings: Settings
    load_policy: Callable[[], Policy]
    snapshot: Callable[[], Snapshot] | None
    now: Callable[[], datetime]
    wall: Callable[[], datetime]
    who: Callable[[], Actor]

    @property
    def place(self) -> str:
        """Where actions are carried out: what is decided for one environment is for no other."""
        return place_of(self.settings)

    def require_place(self, action: Action) -> None:
        """ActionRefused where an action was decided for another environment or other hosts."""
        if action.place not in {"", self.place}:  # earlier versions did not say
            raise ActionRefused(
                f"{action.id} was proposed for {action.place}, and this workspace is for"
                f" {self.place}: nothing was sent",
                do="open the workspace that it was proposed in",
            )

    def is_same_client(self, action: Action) -> bool:
        """Whether its credential is still the client that people were shown."""
        return self.settings.credential(action.credential).client_id == action.client_id

    def credential_for(self, kind: Kind) -> str:
        """The kind's own credential; the only one there is where that is another."""
        names = sorted(self.settings.credentials)
        return names[0] if kind.credential not in names and len(names) == 1 else kind.credential

    def policy_drafts(self, policy: Policy, actor: Actor) -> list[Draft]:
        """What makes a decision's policy part of the journal, where it is not yet."""
        if self.book.knows_policy(policy.hash):
            return []
        return [Draft("policy.saved", policy.hash, {"content": policy.text}, actor)]
