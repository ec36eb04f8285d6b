"""Pulling: downloads and verifies a head's files that this desk lacks, and makes the head visible.

Files are downloaded into a separate folder and compared with their hashes. They are then moved to
their places, where no commit names them yet, and finally the head's commit becomes the last one. If
a repair on another desk rewrote a table's log, new log entries have the same names as old ones.
In that case the whole log is replaced. A note is stored meanwhile: after an interruption, the next
process finds the note and completes the replacement before it reads any commit.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.errors import WorkspaceDamaged
from treasury.core.files import durable
from treasury.lake.commits import LastCommit, put_last
from treasury.lake.home import heads
from treasury.lake.home.lake_home import AT_ONCE, LakeHome
from treasury.lake.pins import PINS
from treasury.lake.store import delta, disk, storage_form
from treasury.lake.store.file_digests import Digests, digest_of
from treasury.lake.store.sealed import read_sealed, write_sealed

_INCOMING: Final = ".incoming"
"""Subfolder of the lake for files being downloaded."""
_REPLACED: Final = ".replaced"
_EXCHANGE: Final = "exchange.json"


_FROM_FOLDER: Final = 4
"""Number of files copied in parallel from a folder. A few are enough to flush some files to disk
while others are hashed (`python -m benchmarks.lake_home`).
"""
_SYNCED: Final = 16 << 20
"""Number of written bytes after which a file is flushed to disk."""


class Pulled(msgspec.Struct, frozen=True):
    """The result of a pull: the number of pulled heads, the last head's number, files and bytes.

    `undone` lists staged work that must be done again.
    """

    heads: int
    number: int
    sentence: str = ""
    files: int = 0
    size: int = 0
    undone: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.heads and not self.files:
            return f"nothing to pull: this desk is at head {self.number}"
        text = f"pulled {self.files:,} files of {self.size:,} bytes: head {self.number}"
        return f"{text}, {self.sentence}" if self.sentence else text


class _Exchange(msgspec.Struct, frozen=True):
    """The note on a log exchange: the tables with new logs, and the desk's state afterwards."""

    tables: tuple[str, ...]
    last: LastCommit
    note: heads.HomeNote
    digests: dict[str, str]


def take_head(
    home: LakeHome,
    digests: Digests,
    head: heads.HomeHead,
    sha256: str,
    *,
    before: heads.HomeNote,
    resting: Collection[str] = (),
    is_checked: bool = False,
) -> tuple[int, int]:
    """Download the files of a head and make it visible; return the number of files and bytes.

    The caller holds the lock, and no table has uncommitted versions. `sha256` is the hash of the
    head, and `before` is the desk's state. `resting` are the paths of pins that this desk keeps
    even if another desk released them; its next push shares them again. With `is_checked`, the
    hashes of existing files are checked too. Raise WorkspaceDamaged, without using any file, if an
    object of the home is missing or was altered.
    """
    files = heads.read_manifest(home.place, head)
    folder, incoming = home.folder, home.folder / _INCOMING
    lacking = {
        path: stored
        for path, stored in files.items()
        if lacks(
            heads.local_place(folder, path),
            stored,
            # Files of two desks may have the same name and size but different content.
            by_hash=is_checked
            or (
                (path.startswith(f"{PINS}/") or delta.LOG in path)
                and before.files.get(path) != stored
            ),
        )
    }
    exchanged = _exchanged(folder, lacking, head.last)
    for table in exchanged:
        entries = f"{table}/{delta.LOG}/"
        lacking |= {path: f for path, f in files.items() if path.startswith(entries)}
    if lacking:
        with disk.writing(incoming), durable.EarlySyncs() as syncs:
            home.each(
                lambda named: _fetch(home, incoming, syncs, *named),
                sorted(lacking.items(), key=lambda named: named[1].size, reverse=True),
                at_once=AT_ONCE if home.place.folder is None else _FROM_FOLDER,
            )
    for path in lacking:
        if f"/{delta.LOG}/" in path:
            _require_inside(home, incoming / path, path)
    note = msgspec.structs.replace(
        before, lake=head.lake, number=head.number, sha256=sha256, files=files
    )
    placed = [path for path in lacking if path.split(f"/{delta.LOG}/")[0] not in exchanged]
    _place(folder, incoming, sorted(placed))
    # This includes files that an interrupted pull already moved to their places.
    came = {path for path, stored in files.items() if before.files.get(path) != stored}
    named = [
        path
        for path in sorted(came.union(placed))
        if path.split(f"/{delta.LOG}/")[0] not in exchanged and not path.startswith(heads.BESIDE)
    ]
    digests.note({path: files[path].sha256 for path in named})
    for path in before.files.keys() - files.keys() - set(resting):
        # Another desk released the pin.
        if path.startswith(f"{PINS}/"):
            with disk.writing(folder / path):
                (folder / path).unlink(missing_ok=True)
    if not storage_form.has_form(folder):
        storage_form.write_form(folder)
    if exchanged:
        names = {path: f.sha256 for path, f in lacking.items() if path not in placed}
        with disk.writing(folder):
            durable.sync_files((incoming / path for path in names), folder)
            write_sealed(folder / _EXCHANGE, _Exchange(exchanged, head.last, note, names))
        finish_exchange(home, digests)
    else:
        put_last(folder, head.last)
        home.write_note(note)
        _clear(incoming)
    return len(lacking), sum(stored.size for stored in lacking.values())


def is_exchanging(folder: Path) -> bool:
    """Return True if a pull was interrupted while exchanging table logs."""
    return (folder / _EXCHANGE).exists()


def is_incoming(folder: Path) -> bool:
    """Return True if a pull was interrupted or is running."""
    return (folder / _INCOMING).exists()


def finish_exchange(home: LakeHome, digests: Digests) -> None:
    """Exchange the downloaded table logs; after an interruption, repeat the call."""
    folder, incoming = home.folder, home.folder / _INCOMING
    exchange = read_sealed(folder / _EXCHANGE, _Exchange)
    for table in exchange.tables:
        log, replaced = folder / table / delta.LOG, incoming / _REPLACED / table
        if (incoming / table / delta.LOG).is_dir() and log.is_dir():
            with disk.writing(log):
                durable.make_folder(replaced.parent)
                if replaced.exists():
                    shutil.rmtree(replaced)
                log.rename(replaced)
                durable.sync_folder(log.parent)
    # At this moment readers can open neither commit: the old logs are gone, and the new ones are
    # not in place yet.
    put_last(folder, exchange.last)
    for table in exchange.tables:
        log, arrived = folder / table / delta.LOG, incoming / table / delta.LOG
        if arrived.is_dir():
            with disk.writing(log):
                durable.make_folder(log.parent)
                arrived.rename(log)
                durable.sync_folder(log.parent)
    digests.note(exchange.digests)
    home.write_note(exchange.note)
    with disk.writing(folder / _EXCHANGE):
        (folder / _EXCHANGE).unlink()
        durable.sync_folder(folder)
    _clear(incoming)


def lacks(path: Path, stored: heads.StoredPrint, *, by_hash: bool = False) -> bool:
    """Return True if a file is missing, or differs in size or, with `by_hash`, in content."""
    try:
        if path.stat().st_size != stored.size:
            return True
        return by_hash and digest_of(path) != stored.sha256
    except PermissionError as error:
        raise disk.denied(path) from error
    except OSError:
        return True


def _exchanged(
    folder: Path, lacking: Mapping[str, heads.StoredPrint], last: LastCommit
) -> tuple[str, ...]:
    """Return the tables that another desk repaired: their local logs differ from the head's."""
    tables = set()
    for name, version in last.versions.items():
        log = folder / name / delta.LOG
        if log.is_dir() and (
            delta.log_after(folder / name, version)
            or any(
                (log / Path(path).name).exists()
                for path in lacking
                if path.startswith(f"{name}/{delta.LOG}/")
            )
        ):
            tables.add(name)
    return tuple(sorted(tables))


def _fetch(
    home: LakeHome, incoming: Path, syncs: durable.EarlySyncs, path: str, stored: heads.StoredPrint
) -> None:
    """Download a file; an intact file of an earlier attempt is reused."""
    target = incoming / path
    if not lacks(target, stored, by_hash=True):
        return
    name = heads.object_of(path, stored)
    where = f"{name} in the lake's home {home.place.address}"
    chunks = home.place.chunks(name)
    try:
        chunk = next(chunks, None)
    except FileNotFoundError:
        raise WorkspaceDamaged(f"{where} is missing", do=_RESTORE) from None
    content_hash, size = hashlib.sha256(), 0
    with disk.writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with durable.created(target) as file:
            while chunk is not None:
                content_hash.update(chunk)
                before, size = size, size + file.write(chunk)
                chunk = next(chunks, None)
                if chunk is None or size // _SYNCED > before // _SYNCED:
                    syncs.begin(file)
    if heads.StoredPrint(size, content_hash.hexdigest()) != stored:
        problem = "was changed after it was written"
        if size != stored.size:
            problem = f"has {size:,} bytes, not the {stored.size:,} that were written"
        with disk.writing(target):
            target.unlink()
        raise WorkspaceDamaged(f"{where} {problem}; it was not used", do=_RESTORE)


def _require_inside(home: LakeHome, entry: Path, path: str) -> None:
    """Raise WorkspaceDamaged if a log entry refers to a file outside the lake."""
    try:
        delta.require_inside(entry)
    except (ValueError, OSError, pa.ArrowException) as error:
        raise WorkspaceDamaged(
            f"{path} in the lake's home {home.place.address} is refused ({error}); it was not used",
            do="find out who wrote to the home: no version of treasury writes that entry",
        ) from error


_RESTORE: Final = (
    "this desk keeps its current data; run `treasury doctor --repair` on a desk with an intact"
    " copy of the file, to upload it again"
)


def _place(folder: Path, incoming: Path, paths: list[str]) -> None:
    """Move files to their places, where no commit names them yet, and flush them to disk."""
    for path in paths:
        target = heads.local_place(folder, path)
        with disk.writing(target):
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True, exist_ok=True)
            (incoming / path).replace(target)
    if paths:
        with disk.writing(folder):
            durable.sync_files((heads.local_place(folder, path) for path in paths), folder.parent)


def _clear(incoming: Path) -> None:
    if incoming.is_dir():
        with disk.writing(incoming):
            shutil.rmtree(incoming)
