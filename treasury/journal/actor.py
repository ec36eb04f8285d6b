"""Who is deciding, how we know, and whether anybody vouches for it.

A notebook hub that was asked and the operating system vouch for a name: it is *verified*. A name
from an environment variable, or one that a program hands over, is *claimed*. Neither is proof
against the owner of the process, who can change this code: that takes signatures.
"""

from __future__ import annotations

import os
import sys
from typing import Final, Literal

import msgspec

from treasury.core.errors import JournalError

_ActorSource = Literal["hub", "environment", "system"]
Assurance = Literal["verified", "claimed", "unstated"]
"""Whether somebody vouched for the name; entries of earlier versions do not state it."""

_CLAIMS: Final = ("JUPYTERHUB_USER", "TREASURY_USER")


class Actor(msgspec.Struct, frozen=True):
    """A person by name, where the name comes from, and whether anybody vouches for it."""

    name: str
    source: _ActorSource
    assurance: Assurance = "claimed"

    @property
    def verified_source(self) -> _ActorSource:
        """Where the name is vouched for; the environment where nobody does."""
        return self.source if self.assurance == "verified" else "environment"


def current_actor() -> Actor:
    """The person at this process where no hub can be asked; JournalError where nothing says who."""
    for variable in _CLAIMS:
        name = os.environ.get(variable, "").strip()
        if name:
            return Actor(name, "environment", "claimed")
    name = ""  # then the user that the operating system runs this process as
    if sys.platform == "win32":
        import ctypes

        length = ctypes.c_ulong(257)  # the longest user name of Windows, and its end
        buffer = ctypes.create_unicode_buffer(length.value)
        if ctypes.windll.advapi32.GetUserNameW(buffer, ctypes.byref(length)):
            name = buffer.value
    else:
        import pwd

        try:
            name = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may run as a number that has no name
            name = ""
    if not name:
        raise JournalError(
            "nothing says who is deciding", do="set the environment variable TREASURY_USER"
        )
    return Actor(name, "system", "verified")
