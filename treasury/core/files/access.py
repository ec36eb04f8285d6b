"""File permissions: files are readable by the user only, or by the group of a shared workspace.

The permissions are set by the umask of the process, because every library that writes files obeys
it. So they also apply to the lake, databases, workbooks and temporary folders.
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
"""The umasks that this process's open workspaces require."""


def keep_to_user() -> None:
    """Create files as 0600 and folders as 0700 from now on, unless a shared workspace was opened.

    If a process has opened a private and a shared workspace, the umask of the shared one applies:
    colleagues must be able to read its files, and the private workspace's folder excludes others.
    """
    _mask(_USER)


def keep_to_group(folder: Path) -> None:
    """From now on, create files as 0660 and folders as 0770.

    New files below `folder` inherit its group.
    """
    _mask(_GROUP)
    status = folder.stat()
    if stat.S_IMODE(status.st_mode) != _SHARED_FOLDER and status.st_uid == os.geteuid():
        folder.chmod(_SHARED_FOLDER)


def excess_access(folder: Path, shared: Shared | None) -> Iterator[Path]:
    """Yield the files and folders of a workspace that more people can access than configured.

    If the workspace folder itself excludes others, there are none.
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
    """Return True if a user other than this one and root owns or may write to one of these paths.

    The user's own group is ignored: on most systems it has no other members.
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
