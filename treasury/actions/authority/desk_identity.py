"""Who is deciding at a workspace, by its policy.

Where the policy names a hub and this is a server of one, the hub is asked with the server's own
token. Its answer holds for some minutes, so that a batch does not ask it for each entry. Without a
hub it is the environment, claimed, or the system's user. Where a hub is named nobody else vouches
for a name: else its people would each have a second one, that of the system's user.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from treasury.actions.authority.policy import Policy
from treasury.ground.boot_clock import boot_seconds
from treasury.journal import Actor, current_actor
from treasury.settings import Secret

_HOLDS_SECONDS: Final = 300


class Identity:
    """The person at this process; the policy is read each time, the hub asked now and then."""

    def __init__(
        self, load_policy: Callable[[], Policy], clock: Callable[[], float] = boot_seconds
    ) -> None:
        self._load_policy = load_policy
        self._clock = clock
        self._lock = threading.Lock()
        self._question: tuple[str, str] | None = None
        self._answer = ("", 0.0)

    def who(self) -> Actor:
        """The person at this process; JournalError where the hub does not say, or nothing does."""
        hub, token = self._load_policy().hub, os.environ.get("JUPYTERHUB_API_TOKEN", "").strip()
        if hub is None:
            return current_actor()
        if not token:
            return msgspec.structs.replace(current_actor(), assurance="claimed")
        from treasury.api.hub import hub_user

        question = (hub.api, token)
        with self._lock:
            name, since = self._answer
            if self._question != question or self._clock() - since > _HOLDS_SECONDS:
                name = hub_user(hub.api, Secret(token))
                self._question, self._answer = question, (name, self._clock())
        return Actor(name, "hub", "verified")
