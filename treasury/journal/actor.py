"""The person who makes a decision, the source of the name, and whether the name is verified.

A name from a notebook hub or from the operating system is *verified*. A name from an environment
variable, or a name passed in by a program, is *claimed*. The owner of the process can change this
code, and thereby both kinds of names. Only a signature proves who decided.
"""

from __future__ import annotations

import os
import sys
from typing import Final, Literal

import msgspec

from treasury.core.errors import JournalError

_ActorSource = Literal["hub", "environment", "system"]
Assurance = Literal["verified", "claimed", "unstated"]
"""Whether the name is verified; `unstated` for entries of versions that did not state it."""

_CLAIMS: Final = ("JUPYTERHUB_USER", "TREASURY_USER")


class Actor(msgspec.Struct, frozen=True):
    """A person's name, its source, and whether it is verified."""

    name: str
    source: _ActorSource
    assurance: Assurance = "claimed"

    @property
    def verified_source(self) -> _ActorSource:
        """The source of a verified name; `environment` for any other name."""
        return self.source if self.assurance == "verified" else "environment"


def current_actor() -> Actor:
    """Return the person who uses this process, from the environment or the operating system.

    No hub is asked. Raise JournalError if the person is unknown.
    """
    for variable in _CLAIMS:
        name = os.environ.get(variable, "").strip()
        if name:
            return Actor(name, "environment", "claimed")
    name = ""
    if sys.platform == "win32":
        import ctypes

        # A Windows user name has at most 256 characters, plus a zero at the end.
        length = ctypes.c_ulong(257)
        buffer = ctypes.create_unicode_buffer(length.value)
        if ctypes.windll.advapi32.GetUserNameW(buffer, ctypes.byref(length)):
            name = buffer.value
    else:
        import pwd

        try:
            name = pwd.getpwuid(os.getuid()).pw_name
        # A container may run under a user id that has no name.
        except KeyError:
            name = ""
    if not name:
        raise JournalError(
            "the person who is deciding is unknown", do="set the environment variable TREASURY_USER"
        )
    return Actor(name, "system", "verified")
