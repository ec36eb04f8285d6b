"""Pulling: what a head names and this desk lacks is brought, compared, and only then shown.

Files come into a folder beside the tables, each compared with its hash. Then they go into their
places, where nothing names them yet, and the head's commit becomes the last one here. A repair on
another desk begins the log of a table anew, under the names that its old entries have: that log is
exchanged whole, and a note says so until it is done, so that whoever opens the lake after a cut
finishes it and nobody reads an old commit by a new log.
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
"""Below the lake's folder: files on their way to their places."""
_REPLACED: Final = ".replaced"
_EXCHANGE: Final = "exchange.json"


_FROM_FOLDER: Final = 4
"""Files that come from a folder side by side: few, so that some are on the disk while others are
hashed (`python -m benchmarks.lake_home`)."""
_SYNCED: Final = 16 << 20
"""Bytes of a file after which it is brought to the disk as far as it came."""


class Pulled(msgspec.Struct, frozen=True):
    """What a pull moved: how many heads on, the commit that is the last one, files and bytes.

    `undone` is what was staged here and has to be done again.
    """

    heads: int
    number: int
    sentence: str = ""
    files: int = 0
    size: int = 0
    undone: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.heads and not self.files:
            return f"nothing to pull: this desk stands on head {self.number}"
        text = f"pulled {self.files:,} files of {self.size:,} bytes: head {self.number}"
        return f"{text}, {self.sentence}" if self.sentence else text


class _Exchange(msgspec.Struct, frozen=True):
    """Logs of tables that are exchanged whole, and where the desk is after that."""

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
    """Bring what a head names to this desk and show it; how many files and bytes came.

    For whoever holds the lock, once no table has versions that no commit names. `sha256` is the
    head's own, `before` where the desk stands; pins that something is `resting` on stay here,
    whoever let go of them, and are offered again with the next push; with `is_checked` every file
    here is compared as well.
    WorkspaceDamaged where an object of the home is not as its head says: nothing of it is used.
    """
    files = heads.read_manifest(home.place, head)
    folder, incoming = home.folder, home.folder / _INCOMING
    lacking = {
        path: stored
        for path, stored in files.items()
        if lacks(
            heads.local_place(folder, path),
            stored,
            # Two desks may each have made a file of this name and size, of other content.
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
    # Also what an earlier pull had placed before it was cut off.
    came = {path for path, stored in files.items() if before.files.get(path) != stored}
    named = [
        path
        for path in sorted(came.union(placed))
        if path.split(f"/{delta.LOG}/")[0] not in exchanged and not path.startswith(heads.BESIDE)
    ]
    digests.note({path: files[path].sha256 for path in named})
    for path in before.files.keys() - files.keys() - set(resting):
        if path.startswith(f"{PINS}/"):  # another desk let go of it
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
    """Whether a pull was cut off as it exchanged the logs of tables."""
    return (folder / _EXCHANGE).exists()


def is_incoming(folder: Path) -> bool:
    """Whether a pull was cut off, or is under way."""
    return (folder / _INCOMING).exists()


def finish_exchange(home: LakeHome, digests: Digests) -> None:
    """Exchange the logs of tables that came; done again, it changes nothing more."""
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
    # From here on the old commit has no log of these tables, and the new one none yet.
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
    """Whether a file is not here as it should be."""
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
    """The tables here whose logs go on otherwise than the head's: another desk repaired them."""
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
    """Bring a file beside its place; what came before and is whole is not asked for again."""
    target = incoming / path
    if not lacks(target, stored, by_hash=True):
        return
    name = heads.object_of(path, stored)
    where = f"{name} in the lake's home {home.place.address}"
    chunks = home.place.chunks(name)
    try:
        chunk = next(chunks, None)
    except FileNotFoundError:
        raise WorkspaceDamaged(f"{where} is lost", do=_RESTORE) from None
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
        problem = "is not as it was written"
        if size != stored.size:
            problem = f"has {size:,} bytes, not the {stored.size:,} that were written"
        with disk.writing(target):
            target.unlink()
        raise WorkspaceDamaged(f"{where} {problem}; nothing of it was used", do=_RESTORE)


def _require_inside(home: LakeHome, entry: Path, path: str) -> None:
    """WorkspaceDamaged for a log that would have this desk read a file outside of the lake."""
    try:
        delta.require_inside(entry)
    except (ValueError, OSError, pa.ArrowException) as error:
        raise WorkspaceDamaged(
            f"{path} in the lake's home {home.place.address} is refused ({error}); it was not used",
            do="find out who wrote to the home: no version of treasury writes that entry",
        ) from error


_RESTORE: Final = (
    "this desk goes on with what it has; run `treasury doctor --repair` on a desk that has the file"
    " whole: it puts it there again"
)


def _place(folder: Path, incoming: Path, paths: list[str]) -> None:
    """Move files to their places, where nothing names them yet, and bring them to the disk."""
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
