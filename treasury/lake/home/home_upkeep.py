"""Maintenance of the home: table logs in their Delta location, and removal of unused objects.

A table log entry is first stored under its hash, because two desks could create entries of the same
name at the same time. It is copied to its Delta location after a head names it. A marker object
names the last head with copied entries. If a push is interrupted, the next push copies all
entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

import msgspec

from treasury.core.files.regular_files import regular_bytes
from treasury.lake.home import heads
from treasury.lake.home.lake_home import DESKS, PROBES, LakeHome
from treasury.lake.home.pulling import lacks
from treasury.lake.home.push_order import TURNS
from treasury.lake.store.delta import LOG

_IN_PLACE: Final = "in_place/"
_TABLES: Final = "lake/"


class HomeSwept(msgspec.Struct, frozen=True):
    """The number of objects and bytes removed by a cleanup of the home."""

    objects: int = 0
    size: int = 0


def put_logs_in_place(home: LakeHome, before: heads.HomeNote, after: heads.HomeNote) -> None:
    """Copy a head's table log entries to the location where Delta readers expect them.

    If the previous head's entries are in place, only new or changed entries are copied; otherwise
    all. Entries that the head does not have are removed from that location.
    """
    place = home.place
    ready = {entry.name for entry in place.listed(_IN_PLACE)}
    logs = _logs(after.files)
    if _marker(before.number) in ready:
        old = _logs(before.files)
        changed = {path: stored for path, stored in logs.items() if old.get(path) != stored}
        dropped = sorted(old.keys() - logs.keys())
    else:
        changed = logs
        dropped = [
            path
            for entry in place.listed(_TABLES)
            if f"/{LOG}/" in (path := entry.name.removeprefix(_TABLES)) and path not in logs
        ]
    # Entries are written in order, because a missing entry would be a gap in the log for a reader.
    tables: dict[str, list[str]] = {}
    for path in sorted(changed):
        tables.setdefault(path.partition("/")[0], []).append(path)

    def put(paths: list[str]) -> None:
        for path in paths:
            place.write(f"{_TABLES}{path}", regular_bytes(home.folder / path))

    home.each(put, tables.values())
    place.remove(f"{_TABLES}{path}" for path in dropped)
    place.settle(f"{_TABLES}{path}" for path in changed)
    place.write(_marker(after.number), b"")
    place.remove(ready - {_marker(after.number)})


def _marker(number: int) -> str:
    return f"{_IN_PLACE}{number:012}"


def _logs(files: Mapping[str, heads.StoredPrint]) -> dict[str, heads.StoredPrint]:
    return {path: stored for path, stored in files.items() if f"/{LOG}/" in path}


def broken_objects(
    home: LakeHome, files: Mapping[str, heads.StoredPrint], *, whole: bool
) -> dict[str, str]:
    """Return what is wrong with each damaged object of a head, by file path.

    With `whole`, every object is read and its hash checked; otherwise only existence and size are
    checked.
    """
    place = home.place
    sizes = {e.name: e.size for prefix in (_TABLES, "entries/") for e in place.listed(prefix)}
    problems: dict[str, str] = {}

    def look(named: tuple[str, heads.StoredPrint]) -> None:
        path, stored = named
        name = heads.object_of(path, stored)
        if name not in sizes:
            problems[path] = f"{name} is missing"
        elif sizes[name] != stored.size:
            problems[path] = f"{name} has {sizes[name]:,} bytes, not the {stored.size:,} written"
        elif whole:
            content_hash = hashlib.sha256()
            for chunk in place.chunks(name):
                content_hash.update(chunk)
            if content_hash.hexdigest() != stored.sha256:
                problems[path] = f"{name} was changed after it was written"

    home.each(look, files.items())
    return dict(sorted(problems.items()))


def put_again(home: LakeHome, paths: Iterable[str]) -> frozenset[str]:
    """Replace damaged objects of this desk's head by intact local files; return their paths."""
    files = home.note().files
    mended = set()
    for path in paths:
        if not lacks(heads.local_place(home.folder, path), files[path], by_hash=True):
            home.put(path, files[path])
            mended.add(path)
    home.place.settle(heads.object_of(path, files[path]) for path in mended)
    return frozenset(mended)


def sweep_home(home: LakeHome, note: heads.HomeNote, guard: timedelta) -> HomeSwept:
    """Remove objects older than `guard` that no head has named since then.

    Ages are measured by the home's clock. Nothing is removed if the home lacks this desk's head.
    """
    place = home.place
    home.require_writable(note)
    now = place.modified(f"{DESKS}{note.desk}")
    put_at = heads.listed_heads(place, 1)
    number = len(put_at)
    if number < note.number:
        # The home is an old copy or was emptied, so objects without a head may still be needed.
        return HomeSwept()
    needed: set[str] = set()
    while number:
        head, _ = heads.read_head(place, number)
        manifest = heads.read_manifest(place, head)
        needed |= {heads.object_of(path, stored) for path, stored in manifest.items()}
        needed |= {f"{_TABLES}{path}" for path in _logs(manifest)}
        needed.add(f"{heads.MANIFESTS}{head.manifest.sha256}")
        if put_at[number] < now - guard:
            # This head replaced the earlier ones before that time, so no desk reads them.
            break
        number -= 1
    due = [
        entry
        for prefix in (_TABLES, heads.MANIFESTS, "entries/", PROBES, TURNS)
        for entry in place.listed(prefix)
        if entry.name not in needed and entry.modified < now - guard
    ]
    place.remove(entry.name for entry in due)
    removed = place.remove_leftovers((now - guard).timestamp())
    return HomeSwept(len(due) + len(removed), sum(entry.size for entry in due) + sum(removed))
