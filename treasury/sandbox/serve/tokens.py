"""Exchanges client credentials for opaque access tokens, valid for 300 seconds.

Each client id belongs to a user of one of the two companies. Tokens expire by the machine's clock,
not the company's.
"""

from __future__ import annotations

import hmac
import time
from typing import Final
from urllib.parse import parse_qs

from treasury.sandbox.http.exchange import Reply
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.shapes import User, encode
from treasury.sandbox.story.cast import NEIGHBOUR_CREDENTIALS, NEIGHBOUR_USERS, USERS

_LIFETIME: Final = 300
_FORM: Final = "application/x-www-form-urlencoded"
CREDENTIALS: Final = {
    name: (f"harbour-{name}", f"sandbox-{name}-secret") for name in ("maker", "checker", "viewer")
}
_CLIENTS: Final = {
    client: (users[name], secret)
    for users, credentials in ((USERS, CREDENTIALS), (NEIGHBOUR_USERS, NEIGHBOUR_CREDENTIALS))
    for name, (client, secret) in credentials.items()
}
_NEIGHBOURS: Final = frozenset(user.id for user in NEIGHBOUR_USERS.values())


class Tokens:
    """The issued tokens, each with its user and expiry."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._out: dict[str, tuple[User, float]] = {}

    def exchange(self, content_type: str, form: bytes) -> Reply:
        """Answer a token request (RFC 6749, section 4.4); the body must be form-encoded."""
        if content_type.partition(";")[0].strip().lower() != _FORM:
            return Reply(encode({"error": "invalid_request"}), 400)
        fields = {name: values[-1] for name, values in parse_qs(form.decode("latin-1")).items()}
        if fields.get("grant_type") != "client_credentials":
            return Reply(encode({"error": "unsupported_grant_type"}), 400)
        user, secret = _CLIENTS.get(fields.get("client_id", ""), (None, ""))
        client_secret = fields.get("client_secret", "")
        if user is None or not hmac.compare_digest(client_secret.encode(), secret.encode()):
            return Reply(encode({"error": "invalid_client"}), 401)
        token = self._ids.token()
        self._out[token] = (user, time.monotonic() + _LIFETIME)
        granted = {"access_token": token, "expires_in": _LIFETIME, "token_type": "Bearer"}
        return Reply(encode(granted))

    def user(self, authorization: str) -> User | None:
        """Return the user whose token is in the header; None without a valid token."""
        scheme, _, token = authorization.partition(" ")
        user, until = self._out.get(token, (None, 0.0))
        return user if scheme.lower() == "bearer" and time.monotonic() < until else None

    @staticmethod
    def is_neighbour(user: User | None) -> bool:
        """Return whether the user belongs to the second company."""
        return user is not None and user.id in _NEIGHBOURS

    def expire(self) -> None:
        """Let all tokens expire now."""
        self._out.clear()
