"""Declares every address that receives a secret, and the settings that name the secrets' places.

The settings, the confirmed addresses, `treasury doctor`, `treasury lake clone` and the table in
docs/setup.md use this declaration.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from treasury.core.files.secret_places import Secret, doubt_of, is_place
from treasury.core.settings.workspace_settings import Settings

HUB_API: Final = "JUPYTERHUB_API_URL"
"""Environment variable in which the notebook hub states its address."""
HUB_TOKEN: Final = "JUPYTERHUB_API_TOKEN"  # noqa: S105 - the variable's name


class SecretRoute(msgspec.Struct, frozen=True):
    """An address that receives a secret, and the settings that name the place of the secret.

    In a key, `*` matches any name. `advice` is shown if the address has a password.
    """

    address: str
    sends: str
    places: tuple[str, ...] = ()
    advice: str = ""


_BY_CREDENTIALS: Final = "take it out; [credentials] names the secrets of the services"
ROUTES: Final = (
    SecretRoute(
        "services.token_url",
        "a client's secret",
        ("credentials.*.client_secret",),
        advice=_BY_CREDENTIALS,
    ),
    SecretRoute("services.finance.base_url", "an access token", advice=_BY_CREDENTIALS),
    SecretRoute("services.ramp.base_url", "an access token", advice=_BY_CREDENTIALS),
    SecretRoute(
        "journal.url",
        "the database's password",
        ("journal.password",),
        advice='take it out, and name its place: password = "env:NAME"',
    ),
    SecretRoute(
        "engine.address",
        "the token of Spark",
        ("engine.token",),
        advice='take it out, and name its place: token = "env:NAME"',
    ),
    SecretRoute("notices.smtp.host", "the mail server's password", ("notices.smtp.password",)),
    SecretRoute("notices.smtp.port", "the mail server's password"),
    SecretRoute(
        "notices.webhooks.*.url",
        "the webhook's token",
        ("notices.webhooks.*.token",),
        advice='name the place of the address: url = "env:NAME"',
    ),
)
HUB_ROUTE: Final = SecretRoute(HUB_API, f"the notebook server's own token (`{HUB_TOKEN}`)")
"""Not a setting: the hub itself sets the address."""


class SecretSetting(msgspec.Struct, frozen=True):
    """A setting that decides which secret is sent, or to which address."""

    key: str
    value: str
    role: Literal["address", "place"]

    @property
    def doubt(self) -> str:
        """Why a person must confirm this place before its first use; empty if not needed."""
        return doubt_of(self.value) if self.role == "place" else ""


def secret_settings(settings: Settings) -> list[SecretSetting]:
    """Return the addresses in the settings that receive a secret, and the places of secrets.

    The notebook hub's address comes from the environment. The addresses of a sandbox's services are
    listed without host and port if they are on the finance service's server, because the port
    changes at each start.
    """
    services, base = settings.services, ""
    if services is not None and settings.workspace.environment == "sandbox":
        base = _origin(services.finance.base_url)
    found = []
    for route in ROUTES:
        for key, value in values_at(settings, route.address):
            shown = shown_address(value)
            role: Literal["address", "place"] = "place" if is_place(shown) else "address"
            if base and key.startswith("services."):
                shown = shown.removeprefix(base) if shown.startswith(f"{base}/") else shown
            found.append(SecretSetting(key, shown, role))
        for pattern in route.places:
            found += [SecretSetting(k, str(v), "place") for k, v in values_at(settings, pattern)]
    if hub := os.environ.get(HUB_API, "").strip():
        found.append(SecretSetting(HUB_API, hub, "address"))
    return found


def values_at(node: Any, pattern: str, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each key that matches a pattern, with its value; `node` is settings or their TOML."""
    name, _, rest = pattern.partition(".")
    if name == "*":
        children = list(node.items()) if isinstance(node, dict) else []
    else:
        child = node.get(name) if isinstance(node, dict) else getattr(node, name, None)
        children = [(name, child)]
    for child_name, child in children:
        child_key = f"{key}.{child_name}" if key else child_name
        if child is not None and rest:
            yield from values_at(child, rest, child_key)
        elif child is not None:
            yield child_key, child


def shown_address(value: object) -> str:
    """Return the form of an address that may be shown.

    For a secret address, this is its place, or otherwise only the server and a fingerprint.
    """
    if not isinstance(value, Secret):
        return str(value)
    url = value.reveal()
    if is_place(url):
        return url
    fingerprint = hashlib.sha256(url.encode()).hexdigest()[:16]
    return f"{_origin(url)}/… (fingerprint {fingerprint})"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
