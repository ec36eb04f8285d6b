"""The addresses that may receive secrets, and the secrets' places, as confirmed by a person.

Other people may be able to change `treasury.toml`: in a shared folder, or through the settings that
a shared lake passes on. So before a secret is sent, the addresses in the settings are compared with
the addresses confirmed by this user. The confirmed addresses are stored in the user's state folder,
by workspace path.

A new workspace, or a sandbox's, is trusted at its first use if no other user may write to it. If
others may, one of them could replace a confirmed workspace's folder with a new one. A place with a
`SecretSetting.doubt` always needs a person's confirmation. A workspace is not new if its data is
older than this check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import SettingsError, StorageError
from treasury.core.files import durable
from treasury.core.files.access import others_may_write
from treasury.core.files.state_folder import STATE_VARIABLE, state_folder
from treasury.core.settings.environment_pin import is_filled
from treasury.core.settings.secret_routes import SecretSetting, secret_settings
from treasury.core.settings.workspace_settings import FILE_NAME, Settings
from treasury.core.text import ascii_escaped

COMMAND: Final = "treasury addresses confirm"


class ConfirmedValue(msgspec.Struct, frozen=True):
    """A confirmed value, the doubt that the person saw, the person's reason, and the time."""

    value: str
    doubt: str
    reason: str
    at: datetime


class ConfirmedAddresses(msgspec.Struct, frozen=True):
    """The values that a user has confirmed for one workspace, by setting."""

    workspace: str
    values: dict[str, ConfirmedValue] = {}


class AddressDifference(msgspec.Struct, frozen=True):
    """A setting that differs from its confirmed value; `confirmed` is None for a new setting."""

    setting: SecretSetting
    confirmed: str | None

    def __str__(self) -> str:
        setting = self.setting
        text = f"{setting.key} is {setting.value}"
        if setting.doubt:
            text += f" ({setting.doubt})"
        if self.confirmed is None:
            text += ", which you have not confirmed"
        elif self.confirmed != setting.value:
            text += f", and you confirmed {self.confirmed}"
        # The text is escaped, so that a look-alike letter in a host's name is visible.
        return ascii_escaped(text)


Ask = Callable[[Sequence[AddressDifference]], str | None]
"""A function that shows the differences to a person and returns the reason for confirming them.

It returns None if the person refuses.
"""


def confirmed_values(folder: Path) -> dict[str, ConfirmedValue]:
    """Return the values that this user has confirmed for a workspace, by key."""
    path = _file(folder)
    try:
        return decode_json(path.read_bytes(), ConfirmedAddresses).values
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise SettingsError(
            f"{path} is not a readable list of confirmed addresses ({error}): nothing was sent",
            do=f"remove it, then run `{COMMAND}` on a terminal",
        ) from error


def differences(
    folder: Path, settings: Settings, *, trust_first: bool = True
) -> list[AddressDifference]:
    """Return the settings that a person has to confirm before secrets are sent.

    A new workspace is trusted, except its doubtful places, if no other user may write to it.
    Without `trust_first`, only a sandbox's new workspace is.
    """
    values = confirmed_values(folder)
    is_sandbox = settings.workspace.environment == "sandbox"
    is_new = not values and not is_filled(folder, but_from="sandbox" if is_sandbox else "")
    is_new = is_new and (trust_first or is_sandbox)
    is_new = is_new and not others_may_write(folder, folder / FILE_NAME)
    found = []
    for setting in secret_settings(settings):
        known = values.get(setting.key)
        is_same = known is not None and known.value == setting.value
        doubt = setting.doubt
        is_doubted = doubt != "" and (known is None or not is_same or known.doubt != doubt)
        if is_doubted or not (is_same or is_new):
            found.append(AddressDifference(setting, None if known is None else known.value))
    return found


def require_confirmed(
    folder: Path, settings: Settings, *prefixes: str, ask: Ask | None = None
) -> None:
    """Raise SettingsError if a setting below these keys differs from the confirmed value.

    With `ask`, the person is shown the differences first and may confirm them with a reason.
    """
    differing = differences(folder, settings, trust_first=ask is None)
    needed = [each for each in differing if each.setting.key.startswith(prefixes)]
    if not needed:
        return
    reason = None if ask is None else ask(differing)
    if reason is None:
        raise SettingsError(
            f"{folder / FILE_NAME}: {'; '.join(map(str, needed))}: nothing was sent",
            do=f"if that is right, run `{COMMAND}` on a terminal",
        )
    confirm(folder, settings, [each.setting for each in differing], reason)


def confirm_first_use(folder: Path, settings: Settings) -> None:
    """Confirm the addresses and places of a new workspace, except doubtful places."""
    if not confirmed_values(folder):
        confirm(folder, settings, [], "first use")


def confirm(
    folder: Path, settings: Settings, confirmed: Sequence[SecretSetting], reason: str
) -> None:
    """Store the values that a person confirmed.

    In a new workspace, also store the values that need no confirmation.
    """
    values, now = dict(confirmed_values(folder)), datetime.now(UTC)
    if not values:
        differing = {each.setting.key for each in differences(folder, settings)}
        usual = [each for each in secret_settings(settings) if each.key not in differing]
        confirmed = [*usual, *confirmed]
    if not confirmed:
        return
    for each in confirmed:
        values[each.key] = ConfirmedValue(each.value, each.doubt, reason, now)
    path = _file(folder)
    content = msgspec.json.encode(ConfirmedAddresses(str(folder.resolve()), values))
    try:
        durable.make_folder(path.parent, mode=0o700)
        durable.write_whole(path, content)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}",
            do=f"set {STATE_VARIABLE} to a folder of your own that may be written to",
        ) from error


def _file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:32]
    return state_folder() / "addresses" / f"{name}.json"
