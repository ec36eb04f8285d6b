"""Signs the sandbox's webhooks, and verifies them for a receiver.

The specifications promise webhooks but define no signature, so this scheme is the sandbox's own.
Each delivery has the header `Sandbox-Signature: t=1793610000,v1=5257a869…`, with the sender's Unix
time and, for each valid secret, one HMAC-SHA256 of `t`, a dot and the body. While a secret is being
replaced, there are two.

    seen: dict[str, float] = {}
    event = verify(body, headers["Sandbox-Signature"], [secret], seen=seen)
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Iterable, MutableMapping
from typing import Any, Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import InputError

SIGNATURE: Final = "Sandbox-Signature"
TOLERANCE: Final = 300.0
"""Maximum age of a delivery in seconds, and maximum time that the sender's clock may be ahead."""
_HEADER: Final = re.compile(r"t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,10})", re.ASCII)


def sign(body: bytes, secrets: Iterable[str], at: float) -> str:
    """Return the signature header of a body sent at a Unix time."""
    seconds = int(at)
    return ",".join([f"t={seconds}", *(f"v1={_digest(body, s, seconds)}" for s in secrets)])


def verify(
    body: bytes,
    signature: str,
    secrets: Iterable[str],
    *,
    seen: MutableMapping[str, float],
    now: float | None = None,
) -> dict[str, Any]:
    """Return the event in a delivery; refuse a forged, stale or repeated delivery.

    `seen` has the ids of accepted events with their times; ids older than twice `TOLERANCE` are
    removed. If handling an event fails, remove its id so that the retry is accepted. Raises
    InputError for a forged, stale or repeated delivery (answer a repeated one with 200, the others
    with 400), and for empty secrets, with which anybody could sign.
    """
    now = time.time() if now is None else now
    # A single text would be read as a list of one-letter secrets.
    secrets = [] if isinstance(secrets, str) else list(secrets)
    if not secrets or not all(secrets):
        raise InputError(
            "the secrets of a webhook must be a list of non-empty texts",
            do="give the secret that registration showed, as in [secret]",
        )
    header = _HEADER.fullmatch(signature)
    if header is None:
        raise _refused("its signature header does not parse")
    seconds, given = int(header[1]), header[2].split(",v1=")[1:]
    expected = [_digest(body, secret, seconds) for secret in secrets]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        raise _refused("its signature does not match the body with any known secret")
    if abs(now - seconds) > TOLERANCE:
        raise _refused(
            f"its signature time is {abs(now - seconds):.0f} seconds away from the current time"
        )
    event = _event(body)
    for old in [name for name, at in seen.items() if now - at > 2 * TOLERANCE]:
        del seen[old]
    if event["id"] in seen:
        raise _refused(f"event {event['id']} was accepted before")
    seen[event["id"]] = now
    return event


def _digest(body: bytes, secret: str, seconds: int) -> str:
    return hmac.new(secret.encode(), b"%d." % seconds + body, "sha256").hexdigest()


def _event(body: bytes) -> dict[str, Any]:
    try:
        event = decode_json(body, dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        event = {}
    if not isinstance(event.get("id"), str):
        raise _refused("its body is not an event with an id")
    return event


def _refused(problem: str) -> InputError:
    return InputError(
        f"this webhook delivery is refused: {problem}",
        do="check the secret and both clocks; do not act on its content",
    )
