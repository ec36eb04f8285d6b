"""Secrets, and the places where settings say that they are: env:NAME, file:PATH, keyring:….

A secret is fetched when it is used and shown nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path

from treasury.errors import SettingsError


class Secret:
    """A string that shows itself to nobody; `reveal()` gives it to the one place that needs it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")

    def reveal(self) -> str:
        """The secret itself."""
        return self._value


def secret_at(described: str, holder: str, key: str) -> Secret:
    """The secret at the place that a setting names; SettingsError where nothing is there."""
    try:
        secret, missing = find_secret(described, key)
    except SettingsError as error:
        secret, missing = None, error.what
    if secret is None:
        raise SettingsError(
            f"no secret for {holder}: {missing}", do="set it there, then run the command again"
        )
    return secret


def find_secret(described: str, key: str) -> tuple[Secret | None, str]:
    """The secret at the place that a setting names, or None; and what is to be said of none.

    SettingsError where nobody can tell: the keyring does not answer.
    """
    kind, _, place = described.partition(":")
    match kind:
        case "env":
            value = os.environ.get(place)
            missing = f"environment variable {place} is not set"
        case "file":
            path = Path(place).expanduser()
            value = path.read_text("utf-8").strip() if path.is_file() else None
            missing = f"secret file {path} does not exist"
        case "keyring":
            missing = f"the keyring has no entry {place}"
            try:
                # Only where it is used: it loads the desktop's secret service.
                import keyring
            except ImportError:
                why = "keyring is not installed (`pip install treasury[keyring]`)"
                raise _no_keyring(why) from None
            service, _, user = place.partition("/")
            try:
                value = keyring.get_password(service, user)
            except Exception as error:  # noqa: BLE001 - a backend is a plugin, and may raise anything
                why = f"the keyring does not answer ({type(error).__name__})"
                if type(error).__name__ == "NoKeyringError":
                    why = "this machine has no keyring; env:NAME and file:PATH need none"
                raise _no_keyring(why) from None
        case _:
            value = None
            missing = f"{key} names no place (env:NAME, file:PATH, keyring:SERVICE/USER)"
    return (Secret(value) if value else None), missing


def _no_keyring(why: str) -> SettingsError:
    return SettingsError(why, do="unlock or install it, or name another place")
