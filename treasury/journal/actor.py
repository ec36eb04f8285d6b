"""Who is deciding, and how we know: the notebook hub, the environment or the system user."""

from __future__ import annotations

import getpass
import os
import unicodedata
from typing import Literal

import msgspec

from treasury.errors import JournalError

__all__ = ["Actor", "current_actor", "same_person"]

ActorSource = Literal["hub", "environment", "system"]

_VARIABLES: tuple[tuple[str, ActorSource], ...] = (
    ("JUPYTERHUB_USER", "hub"),
    ("TREASURY_USER", "environment"),
)


class Actor(msgspec.Struct, frozen=True):
    """A person by name, and where the name comes from; a hub's has been logged in."""

    name: str
    source: ActorSource


def current_actor() -> Actor:
    """The person at this process; JournalError where nothing says who that is."""
    for variable, source in _VARIABLES:
        name = os.environ.get(variable, "").strip()
        if name:
            return Actor(name, source)
    try:
        return Actor(getpass.getuser(), "system")
    except (OSError, KeyError, ImportError) as error:
        raise JournalError(
            "nothing says who is deciding", do="set the environment variable TREASURY_USER"
        ) from error


def same_person(one: str, other: str) -> bool:
    """Whether two names are of one person: case, width and blanks tell nobody apart."""
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
