"""The user's own folder, in which treasury keeps what it remembers about workspaces."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

STATE_VARIABLE: Final = "TREASURY_STATE"


def state_folder() -> Path:
    """The user's own folder for what treasury remembers: `$TREASURY_STATE`, else the platform's."""
    if folder := os.environ.get(STATE_VARIABLE):
        return Path(folder)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "treasury"
