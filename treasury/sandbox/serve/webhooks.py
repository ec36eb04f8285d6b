"""Tells an address what happened to ramp requests, in events that are the sandbox's own invention.

The specification promises webhooks for status changes, received payments and completions, and shows
neither names nor payload: each body says that it is invented. An event leaves once the change has
taken effect, does not hold anything up, and may be lost; whoever needs to know reads the request.
"""

from __future__ import annotations

from typing import Final

from treasury.errors import InputError
from treasury.sandbox.state.callbacks import is_loopback
from treasury.sandbox.state.shapes import RampRequest
from treasury.sandbox.story.world import World

_INVENTED: Final = "The specification names no events and no payload: these are the sandbox's own."


def send_webhooks(world: World, url: str) -> None:
    """Send the events of a world to a loopback address from now on."""
    if not is_loopback(url):
        raise InputError(
            f"{url} is not an address on this machine", do="give a webhook address on 127.0.0.1"
        )

    def send(event: str, request: RampRequest, before: str) -> None:
        body = {
            "invented": _INVENTED, "id": world.ids.uuid(), "event": event,
            "createdAt": request.events[-1].created_at,
            "data": {
                "rampRequestId": request.id, "rampType": request.ramp_type,
                "paymentReference": request.payment_reference, "previousStatus": before or None,
                "status": request.status, "version": request.version,
            },
        }  # fmt: skip
        world.after(lambda: world.callbacks.invoke(request.id, url, body))

    def changed(request: RampRequest, before: str) -> None:
        if request.status == before:
            return
        send("ramp_request.status_changed", request, before)
        if request.status == "PROCESSING" and before == "AWAITING_FUNDS":
            send("ramp_request.payment_received", request, before)
        if request.status == "SUCCEEDED":
            send("ramp_request.completed", request, before)

    world.on_change = changed
