"""Checks that a network address is encrypted or local, and has no password."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_plus, urlsplit

from treasury.core.errors import SettingsError

_USERINFO: Final = re.compile(r"[^:/]+://[^:/@]*:[^@]*@")
"""A user, a colon and everything up to an @, as SQLAlchemy parses an address."""
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase)?$|pwd|secret|token|credential|(?:client|server|api)_?key",
    re.IGNORECASE,
)
"""Names of parameters that are secrets; `passfile` and `sslkey` only name a place."""


def holds_secret(url: str) -> bool:
    """Return True if an address has a password, either before its host or as a parameter.

    An invalid address with an @ also counts, because it may be a mistyped one with a password.
    """
    before = re.split(r"[?#]", url)[0]
    scheme, separator, rest = before.partition("://")
    if _USERINFO.match(url) or (not separator and "@" in before):
        return True
    if scheme.lower() in {"http", "https"} and "@" in re.split(r"[/\\]", rest)[0]:
        return True
    names = (unquote_plus(part.partition("=")[0]) for part in re.split(r"[?&;#]", url)[1:])
    return any(_SECRET_NAME.search(name.strip()) for name in names)


def in_the_clear(url: str) -> Iterator[tuple[str, str]]:
    """Yield problem and remedy unless an address is https, or http to this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    # The error quotes the address, which may have a password, so it is not passed on.
    except ValueError:
        parts = urlsplit("")
    is_own = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if parts.scheme in {"", "https"} and not parts.hostname:
        yield "it is not an address", "write it as https://HOST/PATH"
    elif parts.scheme != "https" and not is_own:
        problem = f"{parts.scheme}://{parts.hostname} is not https"
        yield problem, "plain http is for loopback addresses only"


def require_https(url: str, where: str = "") -> None:
    """Raise SettingsError unless an address is https or local; the message begins with `where`."""
    for problem, remedy in in_the_clear(url):
        raise SettingsError(f"{where}{problem}", do=remedy)


def is_loopback(host: str) -> bool:
    """Return True if a host name or address means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
