"""Secrets, and the places where they are stored: `env:NAME`, `file:PATH`, `keyring:…`.

Settings name the place of a secret, which is read from there when it is used, and never shown.
Anybody with write access to the settings can change a place. So a place must hold a single line of
text that is not a private key. Otherwise, somebody could make this program send a key file, or a
file with several credentials.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from treasury.core.errors import SettingsError
from treasury.core.files.regular_files import read_regular
from treasury.core.files.state_folder import user_path
from treasury.core.private_keys import holds_private_key

T = TypeVar("T")

_PLACE: Final = re.compile(
    r"env:[A-Za-z_][A-Za-z0-9_.-]{0,99}|file:[^\x00-\x1f]{1,1000}|keyring:[^\x00-\x1f]{1,300}"
)
PLACES: Final = "env:NAME, file:PATH or keyring:SERVICE/USER"
"""The forms of a place, for error messages."""
OWN_PREFIX: Final = "TREASURY_"
"""Prefix of environment variables that are meant for this program."""
_LONGEST: Final = 16 * 1024
"""Maximum length of a secret, in characters; a long token has four thousand."""


class Secret:
    """A string that is never shown; `reveal()` returns it for the one use that needs it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError("Expected `str`")
        self._value = value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")

    def reveal(self) -> str:
        """Return the text of the secret."""
        return self._value

    @property
    def flaw(self) -> str:
        """Why the text must not be sent (a private key, or several lines); empty if it may."""
        if holds_private_key(self._value[:_LONGEST]):
            return "holds a private key, which is never sent"
        if len(self._value) > _LONGEST or not self._value.isprintable():
            return "is not one line of text, as a secret must be"
        return ""


class Unrendered:
    """Base of settings whose `repr` hides the values: a value may be a mistyped secret."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


def is_place(described: str) -> bool:
    """Return True if a setting names a secret's place instead of holding the secret itself."""
    return _PLACE.fullmatch(described) is not None


def secret_at(described: str, holder: str, key: str) -> Secret:
    """Return the secret at a place; raise SettingsError if there is none."""
    try:
        secret, missing = find_secret(described, key)
    except SettingsError as error:
        secret, missing = None, error.what
    if secret is None:
        raise SettingsError(
            f"no secret for {holder}: {missing}", do="set it there, then run the command again"
        )
    return secret


def find_secret(described: str, key: str, *, is_sent: bool = True) -> tuple[Secret | None, str]:
    """Return the secret at a place, or None with the reason why there is none.

    Raise SettingsError if the place cannot be read. With `is_sent`, also raise it if the place has
    a private key or several lines.
    """
    kind, _, place = described.partition(":")
    if not is_place(described):
        return None, f"{key} names no place ({PLACES})"
    match kind:
        case "env":
            value = os.environ.get(place)
            # Only an upper-case name is shown, because other text may be a mistyped secret.
            name = place if place.isupper() else f"that {key} names"
            missing = f"environment variable {name} is not set"
        case "file":
            path = user_path(place)
            missing = f"secret file {path} does not exist"
            value = _file_text(path)
        case _:
            missing = f"the keyring has no entry {place}"
            try:
                # This import is done only if needed, because it loads the desktop's secret service.
                import keyring
            except ImportError:
                why = "keyring is not installed (`pip install treasury-toolkit[keyring]`)"
                raise _no_keyring(why) from None
            service, _, user = place.partition("/")
            try:
                value = keyring.get_password(service, user)
            except Exception as error:  # noqa: BLE001 - a backend is a plugin, and may raise anything
                why = f"the keyring does not answer ({type(error).__name__})"
                if type(error).__name__ == "NoKeyringError":
                    why = "this machine has no keyring; env:NAME and file:PATH need none"
                raise _no_keyring(why) from None
    secret = Secret((value or "").strip())
    # A traceback may show this function's variables.
    del value
    if is_sent and secret.flaw:
        raise SettingsError(f"{described} {secret.flaw}", do="name a place with only the secret")
    return (secret if secret.reveal() else None), missing


def doubt_of(described: str) -> str:
    """Return why a person must confirm this place before its first use; empty if not needed."""
    kind, _, place = described.partition(":")
    if kind == "env" and not place.startswith(OWN_PREFIX):
        return f"its name does not begin with {OWN_PREFIX}"
    if kind != "file" or os.name != "posix":
        return ""
    path = user_path(place).absolute()
    try:
        for part in (path, *path.parents):
            # The link's owner could choose which of the user's files is sent.
            if part.is_symlink() and part.lstat().st_uid not in {0, os.geteuid()}:
                return "another user made a link on its path"
        is_open = path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
    # Reading the file later raises this error.
    except OSError:
        return ""
    return "other users can read the file" if is_open else ""


def call_unseen(call: Callable[[], T]) -> T:
    """Call a function; raise its errors without its frames, whose variables may have a secret."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - an interrupt shows variables as well
        failure = error
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


def _file_text(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        problem = "is not text"
    except OSError as error:
        problem = error.strerror or type(error).__name__
    # The error is raised outside the handlers, so that no error with file content is attached.
    raise SettingsError(f"secret file {path} {problem}", do="name a file with one line of text")


def _no_keyring(why: str) -> SettingsError:
    return SettingsError(why, do="unlock or install it, or name another place")
