"""Delivers signed events about ramp requests to registered addresses, with retries.

The specification promises webhooks for status changes, received payments and completions, but does
not define event names, payload, registration or signature. These are the sandbox's own, as each
body states. An event is sent in the background after the change has taken effect. Registrations are
lost when the process ends.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import msgspec

from treasury.core.errors import InputError
from treasury.sandbox.state.callbacks import Callbacks, is_loopback
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.shapes import RampRequest
from treasury.sandbox.story.world import World
from treasury.sandbox.webhooks import SIGNATURE, sign

EVENTS: Final = (
    "ramp_request.status_changed", "ramp_request.payment_received", "ramp_request.completed",
)  # fmt: skip
PAUSES: Final = (1.0, 2.0, 4.0, 8.0)
"""Seconds to wait before each retry of a delivery that was not answered with 2xx."""
OVERLAP: Final = 86_400.0
"""Seconds for which a replaced secret still signs deliveries."""
_MOST: Final = 20
_INVENTED: Final = "The specification names no events and no payload: these are the sandbox's own."


class Registration(msgspec.Struct, rename="camel"):
    """A registered address, its events, and the secrets that sign them."""

    id: str
    url: str
    events: tuple[str, ...]
    is_twice: bool
    """Fault for tests: every event is delivered twice."""
    pauses: tuple[float, ...]
    secrets: list[tuple[str, float]]
    """The secrets, newest first, each with the Unix time at which it stops signing."""

    def shown(self) -> dict[str, Any]:
        """Return the fields to show, with the number of secrets instead of the secrets."""
        return {
            "id": self.id, "url": self.url, "events": self.events, "twice": self.is_twice,
            "secrets": len(self.secrets),
        }  # fmt: skip


class Webhooks:
    """The registrations in one world (the sandbox's state), and the delivery of its events."""

    def __init__(self, world: World, ids: Ids) -> None:
        self._world, self._ids = world, ids
        self._lock = threading.Lock()
        self._registrations: dict[str, Registration] = {}
        world.on_change = self._changed

    def register(
        self,
        url: str,
        *,
        events: tuple[str, ...] = EVENTS,
        twice: bool = False,
        pauses: tuple[float, ...] = PAUSES,
    ) -> dict[str, Any]:
        """Register a loopback address; return the registration with its secret.

        `registered` does not show the secret.
        """
        unknown = sorted(set(events) - set(EVENTS))
        if not is_loopback(url):
            raise InputError(
                f"{url} is not an address on this machine", do="give a webhook address on 127.0.0.1"
            )
        if unknown or not events:
            raise InputError(
                f"there is no event {', '.join(unknown) or 'in an empty list'}",
                do=f"use: {', '.join(EVENTS)}",
            )
        if len(pauses) > len(PAUSES) or any(not 0 <= pause <= 60 for pause in pauses):
            raise InputError(
                "the pauses are too many or too long",
                do=f"give at most {len(PAUSES)} pauses of 0 to 60 seconds",
            )
        with self._lock:
            if len(self._registrations) >= _MOST:
                raise InputError(f"there are already {_MOST} webhooks", do="delete a webhook first")
            made = Registration(
                id=self._ids.uuid(), url=url, events=events, is_twice=twice, pauses=pauses,
                secrets=[(self._ids.token(), float("inf"))],
            )  # fmt: skip
            self._registrations[made.id] = made
            return made.shown() | {"secret": made.secrets[0][0]}

    def registered(self) -> list[dict[str, Any]]:
        """Return all registrations without their secrets."""
        with self._lock:
            return [registration.shown() for registration in self._registrations.values()]

    def rotate(self, webhook_id: str, *, overlap_seconds: float = OVERLAP) -> dict[str, Any]:
        """Give a registration a new secret and return it; the old one signs too for a while."""
        with self._lock:
            registration = self._find(webhook_id)
            until = time.time() + max(0.0, overlap_seconds)
            kept = [(secret, min(end, until)) for secret, end in registration.secrets[:1]]
            registration.secrets = [(self._ids.token(), float("inf")), *kept]
            return registration.shown() | {"secret": registration.secrets[0][0]}

    def delete(self, webhook_id: str) -> None:
        """Delete a registration; deliveries waiting for a retry are still sent."""
        with self._lock:
            del self._registrations[self._find(webhook_id).id]

    def _find(self, webhook_id: str) -> Registration:
        if webhook_id not in self._registrations:
            raise InputError(
                f"there is no webhook {webhook_id[:40]}", do="GET /sandbox/webhooks lists them"
            )
        return self._registrations[webhook_id]

    def _changed(self, request: RampRequest, before: str) -> None:
        if request.status == before:
            return
        self._send("ramp_request.status_changed", request, before)
        if request.status == "PROCESSING" and before == "AWAITING_FUNDS":
            self._send("ramp_request.payment_received", request, before)
        if request.status == "SUCCEEDED":
            self._send("ramp_request.completed", request, before)

    def _send(self, event: str, request: RampRequest, before: str) -> None:
        with self._lock:
            receivers = [r for r in self._registrations.values() if event in r.events]
        if not receivers:
            return
        body = {
            "invented": _INVENTED, "id": self._ids.uuid(), "event": event,
            "createdAt": request.events[-1].created_at,
            "data": {
                "rampRequestId": request.id, "rampType": request.ramp_type,
                "paymentReference": request.payment_reference, "previousStatus": before or None,
                "status": request.status, "version": request.version,
            },
        }  # fmt: skip
        for receiver in receivers:
            for _ in range(1 + receiver.is_twice):
                self._world.after(_Delivery(self._world.callbacks, receiver, request.id, body))


class _Delivery(msgspec.Struct, frozen=True):
    """The delivery of one event to one address."""

    callbacks: Callbacks
    receiver: Registration
    subject: str
    body: dict[str, Any]

    def __call__(self) -> None:
        self.callbacks.invoke(
            self.subject, self.receiver.url, self.body,
            headers=self._headers, pauses=self.receiver.pauses,
        )  # fmt: skip

    def _headers(self, body: bytes) -> dict[str, str]:
        now = time.time()
        valid = [secret for secret, until in self.receiver.secrets if now < until]
        return {SIGNATURE: sign(body, valid, now)}
