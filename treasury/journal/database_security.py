"""How a connection to PostgreSQL is secured: a verified certificate, and no password in the clear.

libpq's own default is to go on without encryption if the server offers none, and to send the
password in the clear to a server that asks for it so.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from treasury.errors import JournalError
from treasury.settings import is_loopback

if TYPE_CHECKING:
    import sqlalchemy as sa

_DRIVERS: Final = frozenset({"postgresql", "postgresql+psycopg"})
_VERIFIED: Final = "verify-full"
_LIBPQ: Final = 160000
"""The first version that can refuse a way of logging in."""


def secured(url: sa.URL) -> dict[str, str]:
    """Return the options that every connection to this server is made with.

    Raises JournalError for another database than PostgreSQL, and for an address that asks for less.
    """
    if url.drivername not in _DRIVERS:
        raise JournalError(
            f"the journal's address is of {url.drivername}, and a shared journal is in PostgreSQL",
            do="write [journal] url as postgresql+psycopg://USER@HOST/DATABASE",
        )
    _require_libpq()
    required = {"require_auth": _ways_to_log_in(url)}
    if not _is_on_this_machine(url):
        stated = _stated(url, "sslmode") or [_VERIFIED]
        if stated != [_VERIFIED]:
            raise JournalError(
                f"the journal's address says sslmode={stated[0]}, and {url.host or 'its server'} is"
                " not this machine: nothing was sent",
                do=f"write sslmode={_VERIFIED}, and sslrootcert=FILE for a private authority"
                " (docs/setup.md)",
            )
        required["sslmode"] = _VERIFIED
    return required


def _ways_to_log_in(url: sa.URL) -> str:
    """The ways that the address allows, never the one that sends the password in the clear."""
    stated = [way.strip() for value in _stated(url, "require_auth") for way in value.split(",")]
    if not stated:
        return "!password"
    if "password" in stated or (
        all(way.startswith("!") for way in stated) and "!password" not in stated
    ):
        raise JournalError(
            "the journal's address allows a password in the clear (require_auth)",
            do="take require_auth out of [journal] url, or write require_auth=scram-sha-256",
        )
    return ",".join(stated)


def _is_on_this_machine(url: sa.URL) -> bool:
    """Whether every server that the address can mean is on loopback or a local socket."""
    if _stated(url, "service") or os.environ.get("PGSERVICE"):
        return False  # a file says which server that is
    hosts = [url.host or "", *_stated(url, "host")]
    if not any(hosts):
        hosts = [os.environ.get("PGHOST", "")]
    hosts += _stated(url, "hostaddr") or [os.environ.get("PGHOSTADDR", "")]
    each = [host.strip() for listed in hosts if listed for host in listed.split(",")]
    return all(host.startswith(("/", "@")) or is_loopback(_without_port(host)) for host in each)


def _without_port(host: str) -> str:
    """A host of an address with several, in which each may have a port."""
    name, _, port = host.rpartition(":")
    return name.strip("[]") if name and port.isdigit() and not name.endswith(":") else host


def _stated(url: sa.URL, option: str) -> list[str]:
    """The values of an option of the address; one may be given several times."""
    value = url.query.get(option, ())
    return [value] if isinstance(value, str) else list(value)


def _require_libpq() -> None:
    import psycopg

    if psycopg.pq.version() < _LIBPQ:
        raise JournalError(
            f"libpq {psycopg.pq.version() // 10000} is too old: it cannot refuse to send a password"
            " in the clear",
            do="install version 16 or later, or run pip install 'psycopg[binary]'",
        )
