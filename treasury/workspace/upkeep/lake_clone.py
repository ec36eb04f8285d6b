"""Create a workspace on an existing shared lake: folder, settings from the lake, first pull."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import tomli_w

from treasury.actions.policies.policy import POLICY_FILE, load_policy
from treasury.core.errors import InputError, NothingStored, StorageError
from treasury.core.files import durable
from treasury.core.files.state_folder import user_path
from treasury.core.settings import (
    FILE_NAME,
    Settings,
    load_settings,
    pin_environment,
    require_plain_path,
    settings_for_colleagues,
)
from treasury.core.settings.confirmed_addresses import confirm, confirmed_values
from treasury.core.settings.secret_routes import SecretSetting, secret_settings
from treasury.journal import Signing
from treasury.lake.home.heads import HomeNote
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.home.object_place import check_address
from treasury.lake.home.pulling import Pulled
from treasury.workspace.upkeep.home_signatures import HomeSignatures

if TYPE_CHECKING:
    from treasury.lake import Lake

_CREDENTIALS: Final = """
# To sync from here as well, name credentials of your own; a secret is never written here.
# [credentials.maker]
# client_id = "…"
# client_secret = "env:TREASURY_MAKER_SECRET"

# People's decisions are shared through a journal in PostgreSQL (docs/setup.md).
# [journal]
# url = "postgresql+psycopg://user@host/treasury"
"""


Agree = Callable[[Sequence[SecretSetting], Settings], None]
"""A function that shows the lake's addresses to a person, and raises InputError on refusal."""


def clone_lake(address: str, folder: Path, opened: Callable[[Path], Lake], agree: Agree) -> Pulled:
    """Create a workspace in `folder` on the shared lake at `address`, and pull the data.

    Anyone who can write to the shared lake can change the addresses in its settings. So no file is
    written before a person has confirmed them; `agree` raises InputError on refusal. A
    `policy.toml` in the folder decides whose signatures are accepted, from the first pull on.

    An interrupted clone resumes when it is run again. Raises InputError if the folder is another
    workspace or not empty, HomeUnreachable if the home does not answer, NothingStored if the home
    has no commit yet, and StorageError if its settings cannot be read or the folder cannot be
    written.
    """
    place = check_address(address if "://" in address else os.path.abspath(user_path(address)))
    require_plain_path(folder)
    path = folder / FILE_NAME
    if path.exists():
        settings = load_settings(folder)
        if settings.lake is None or settings.lake.home != place:
            raise InputError(
                f"{folder} is already a workspace",
                do=f'name another folder, or add [lake] home = "{place}" to {path} and run'
                " `treasury lake pull`",
            )
    else:
        expected = {f"{FILE_NAME}.new", POLICY_FILE}
        if folder.is_dir() and any(entry.name not in expected for entry in folder.iterdir()):
            raise InputError(f"{folder} is not empty", do="name a new folder")
        text = _settings_of_head(path, place)
        with tempfile.TemporaryDirectory() as beside:
            (Path(beside) / FILE_NAME).write_text(text, "utf-8")
            _agreed(folder, load_settings(Path(beside)), agree)
        try:
            durable.make_folder(path.parent)
            durable.write_whole(path, text.encode())
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}", do="make the folder writable"
            ) from error
        settings = load_settings(folder)
    _agreed(folder, settings, agree)
    pin_environment(folder, settings)
    sharing = opened(folder).sharing
    # The settings just written name a home.
    assert sharing is not None
    return sharing.pull()


def _agreed(folder: Path, settings: Settings, agree: Agree) -> None:
    """Ask a person to confirm new or changed addresses in these settings."""
    confirmed = confirmed_values(folder)
    new = [
        setting
        for setting in secret_settings(settings)
        if setting.key not in confirmed or confirmed[setting.key].value != setting.value
    ]
    if new:
        agree(new, settings)
        confirm(folder, settings, new, "treasury lake clone")


def _settings_of_head(path: Path, place: str) -> str:
    """Return the settings stored with the newest shared commit, plus the lake's address."""
    signing = Signing(None, lambda: load_policy(path.parent).signatures)
    home = LakeHome(place, path.parent / "lake", signatures=HomeSignatures(signing))
    numbers = home.numbers_after(HomeNote(desk=""))
    if not numbers:
        raise NothingStored(
            f"the lake's home {home.place.address} has no commit yet",
            do="run `treasury lake push` on the desk that has the lake",
        )
    head = home.accepted_head(numbers[-1])
    try:
        # Also filtered when reading, because a shared lake must not decide where secrets are stored
        # or sent.
        given = settings_for_colleagues(msgspec.json.decode(head.settings, type=Settings))
    except msgspec.MsgspecError as error:
        raise StorageError(
            f"the settings in {home.place.address} cannot be read by this version",
            do="update treasury",
        ) from error
    document = {**_without_empty(msgspec.json.decode(given)), "lake": {"home": place}}
    return tomli_w.dumps(document) + _CREDENTIALS


def _without_empty(node: Any) -> Any:
    """Remove nulls and empty tables, because TOML has no null."""
    if isinstance(node, dict):
        parts = ((name, _without_empty(part)) for name, part in node.items())
        return {name: part for name, part in parts if part is not None and part != {}}
    return [_without_empty(part) for part in node] if isinstance(node, list) else node
