"""Compaction and cleanup: merge small files, and remove files that no reader can need.

There are several target sizes. If more than a few files are smaller than half of a target size,
they are merged into files of about this size. So each row is rewritten only a few times, and the
number of files stays small. A file is removed if no recent commit, pinned commit or reader needs
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.errors import WorkspaceDamaged
from treasury.lake.commits import COMMITS, Commit
from treasury.lake.pins import Pin
from treasury.lake.store import delta, disk

FEW: Final = 16
_SIZES: Final = (256 << 10, 4 << 20, 64 << 20, 256 << 20)


class Swept(msgspec.Struct, frozen=True):
    """The number of files, bytes and log entries removed by a cleanup."""

    files: int = 0
    size: int = 0
    log_entries: int = 0


def joined(folder: Path, stored: delta.StoredTable) -> int:
    """Merge a table's small files if there are too many; return the resulting version."""
    for size in _SIZES:
        small = Counter(file.is_open for file in stored.files if file.size < size // 2)
        if max(small.values(), default=0) > FEW:
            return delta.compact(folder, size)
    return stored.version


def sweep(
    folder: Path,
    needed: Iterable[Commit],
    pins: Iterable[Pin],
    listed: int,
    is_due: Callable[[float], bool],
) -> Swept:
    """Remove table files that neither the `needed` commits nor the pins name, and trim the logs.

    Returns the counts. `folder` is the lake's, and `listed` is the version of the table of commits.
    `is_due` takes a file's modification time, in seconds by the file system's clock, and returns
    True if the file may be removed. The caller holds the lock.
    """
    commits = list(needed)
    pinned = {
        folder / file.path for pin in pins for table in pin.tables.values() for file in table.files
    }
    names = sorted({name for commit in commits for name in commit.versions} | {COMMITS})
    total = []
    for name in names:
        versions = {c.versions[name] for c in commits if name in c.versions}
        if name == COMMITS:
            versions = set(range(max(listed - len(commits), 0), listed + 1))
        swept = _swept(folder / name, versions, pinned, is_due)
        total.append(msgspec.structs.astuple(swept))
    return Swept(*map(sum, zip(*total, strict=True)))


def _swept(
    folder: Path, versions: set[int], pinned: set[Path], is_due: Callable[[float], bool]
) -> Swept:
    try:
        needed = {Path(file.path) for v in versions for file in delta.load(folder, v).files}
    except WorkspaceDamaged:
        # The files of this commit are unknown, so no file of the table is removed.
        return Swept()
    files = size = 0
    for path in delta.data_files(folder, drafts=True):
        status = path.stat()
        if path in needed or path in pinned or not is_due(status.st_mtime):
            continue
        with disk.writing(path):
            path.unlink()
        files, size = files + 1, size + status.st_size
    return Swept(files, size, delta.trim_log(folder, min(versions)))
