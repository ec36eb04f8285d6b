"""File access: the user alone reads what is written, or the group of a shared workspace.

The libraries that write files know one rule, the process's own mask, and it holds for them all:
the lake's files, a database beside its journal, a workbook, a temporary folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

Shared = Literal["group"]

_USER: Final = 0o077
_GROUP: Final = 0o007
_SHARED_FOLDER: Final = 0o2770
_masks: set[int] = set()
"""The masks asked for by what this process has opened."""


def keep_to_user() -> None:
    """From here on files are 0600 and folders 0700, unless a shared workspace is open too.

    With both open the shared one's mask holds: a private workspace's own folder still keeps others
    out, whereas files that colleagues cannot read would break a shared one.
    """
    _mask(_USER)


def keep_to_group(folder: Path) -> None:
    """From here on files are 0660 and folders 0770; what is made below `folder` has its group."""
    _mask(_GROUP)
    status = folder.stat()
    if stat.S_IMODE(status.st_mode) != _SHARED_FOLDER and status.st_uid == os.geteuid():
        folder.chmod(_SHARED_FOLDER)


def excess_access(folder: Path, shared: Shared | None) -> Iterator[Path]:
    """The files and folders of a workspace that more people may read than the setting says.

    None where its own folder lets nobody else in.
    """
    excess = _GROUP if shared else _USER
    if not folder.stat().st_mode & excess:
        return
    for inside, _, names in os.walk(folder):
        for path in (Path(inside), *(Path(inside, name) for name in names)):
            mode = path.lstat().st_mode
            if mode & excess and not stat.S_ISLNK(mode):
                yield path


def others_may_write(*paths: Path) -> bool:
    """Whether another user than this one and root owns one of these paths, or may write to it.

    The user's own group does not count: on most systems it has no other members.
    """
    if os.name != "posix":
        return False
    return any(
        status.st_mode & stat.S_IWOTH
        or (status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid())
        or status.st_uid not in {0, os.geteuid()}
        for status in (path.stat() for path in paths if path.exists())
    )


def _mask(mask: int) -> None:
    _masks.add(mask)
    os.umask(min(_masks))
