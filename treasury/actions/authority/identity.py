"""Identifies the person who decides, as the policy of the workspace requires.

If the policy names a hub and this process is one of its servers, the hub is queried with the
server's own token, at the address that the hub gave the server. The policy can only require that
the address equals the one it names, so no file decides where the token is sent. The answer is
cached for some minutes, so that a batch does not query the hub for each entry. Without a hub, the
name comes from the environment (claimed), or it is the name of the operating system's user
(verified). If the policy names a hub, only the hub verifies names, because a verified user name
would be a second verified name of the same person.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from treasury.actions.policies.policy import POLICY_FILE, Policy
from treasury.core.errors import JournalError
from treasury.core.machine.boot_clock import boot_seconds
from treasury.core.settings import Secret
from treasury.core.settings.secret_routes import HUB_API, HUB_TOKEN
from treasury.core.text import clean
from treasury.journal import Actor, current_actor

_HOLDS_SECONDS: Final = 300


class Identity:
    """Identifies the person at this process.

    Reads the policy each time, but caches the hub's answer.
    """

    def __init__(
        self,
        load_policy: Callable[[], Policy],
        require_confirmed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        """Set the sources of the name.

        `require_confirmed` raises an error if the hub's address is unconfirmed.
        """
        self._load_policy = load_policy
        self._require_confirmed = require_confirmed
        self._clock = clock
        self._lock = threading.Lock()
        self._question: tuple[str, str] | None = None
        self._answer = ("", 0.0)

    def who(self) -> Actor:
        """Return the person at this process; raise JournalError if the required hub names none."""
        hub, token = self._load_policy().hub, os.environ.get(HUB_TOKEN, "").strip()
        if hub is None:
            return current_actor()
        if not token:
            return msgspec.structs.replace(current_actor(), assurance="claimed")
        from treasury.api.hub import hub_user

        api = os.environ.get(HUB_API, "").strip()
        if api.rstrip("/") != hub.api.rstrip("/"):
            stated = f"it is {clean(api)}" if api else f"{HUB_API} is not set"
            raise JournalError(
                f"{POLICY_FILE} requires the hub at {clean(hub.api)}, but in the environment"
                f" {stated}: nothing was decided",
                do=f"start this server from that hub, or correct [hub] api in {POLICY_FILE}",
            )
        question = (api, token)
        with self._lock:
            name, since = self._answer
            if self._question != question or self._clock() - since > _HOLDS_SECONDS:
                self._require_confirmed()
                name = hub_user(api, Secret(token))
                self._question, self._answer = question, (name, self._clock())
        return Actor(name, "hub", "verified")
