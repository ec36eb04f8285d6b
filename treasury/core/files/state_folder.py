"""The user's folders: the home folder (`~` in a path), and the folder for treasury's state."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from treasury.core.errors import SettingsError
from treasury.core.text import clean

STATE_VARIABLE: Final = "TREASURY_STATE"


def state_folder() -> Path:
    """Return the user's folder for treasury's state.

    It is `$TREASURY_STATE` if set, otherwise the usual folder of the operating system.
    """
    if folder := os.environ.get(STATE_VARIABLE):
        return Path(folder)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return user_path(base) / "treasury"


def user_path(path: str | Path) -> Path:
    """Return a path with `~` replaced by the home folder; raise SettingsError if there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise SettingsError(
            f"{clean(str(path))}: there is no home folder for ~",
            do=f"write the whole path, or set HOME or {STATE_VARIABLE}",
        ) from None
