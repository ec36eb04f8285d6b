"""The home kept in shape: tables' logs in their places, and nothing that no head names for long.

An entry of a table's log has a name that two desks could give at the same time, so it comes to its
place once a head names it; an object says up to which head that is done. Whoever pushes next does
what a killed push left.
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
    """The objects and bytes that a sweep of the home removed."""

    objects: int = 0
    size: int = 0


def put_logs_in_place(home: LakeHome, before: heads.HomeNote, after: heads.HomeNote) -> None:
    """Put the entries of tables' logs that a head names where whoever reads Delta looks for them.

    Only what came with it where the logs of the head before are in place, else all.
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
    # An entry after one that is missing would be read as a log with a hole.
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
    """The problem of each object of a head that is not as it was written, by the file's path.

    With `whole` every object is read and compared, else its presence and its size alone.
    """
    place = home.place
    sizes = {e.name: e.size for prefix in (_TABLES, "entries/") for e in place.listed(prefix)}
    problems: dict[str, str] = {}

    def look(named: tuple[str, heads.StoredPrint]) -> None:
        path, stored = named
        name = heads.object_of(path, stored)
        if name not in sizes:
            problems[path] = f"{name} is lost"
        elif sizes[name] != stored.size:
            problems[path] = f"{name} has {sizes[name]:,} bytes, not the {stored.size:,} written"
        elif whole:
            content_hash = hashlib.sha256()
            for chunk in place.chunks(name):
                content_hash.update(chunk)
            if content_hash.hexdigest() != stored.sha256:
                problems[path] = f"{name} is not as it was written"

    home.each(look, files.items())
    return dict(sorted(problems.items()))


def put_again(home: LakeHome, paths: Iterable[str]) -> frozenset[str]:
    """Put files of the newest head into the home again where this desk has them whole; which."""
    files = home.note().files
    mended = set()
    for path in paths:
        if not lacks(heads.local_place(home.folder, path), files[path], by_hash=True):
            home.put(path, files[path])
            mended.add(path)
    home.place.settle(heads.object_of(path, files[path]) for path in mended)
    return frozenset(mended)


def sweep_home(home: LakeHome, note: heads.HomeNote, guard: timedelta) -> HomeSwept:
    """Remove what no head younger than `guard`, nor the newest, names and is older than that.

    Times are by the clock of the home.
    """
    place = home.place
    home.require_writable(note)
    now = place.modified(f"{DESKS}{note.desk}")
    put_at = heads.listed_heads(place, 1)
    number = len(put_at)
    if number < note.number:
        return HomeSwept()  # an old copy, or emptied: what is not named there may be what is lost
    needed: set[str] = set()
    while number:
        head, _ = heads.read_head(place, number)
        manifest = heads.read_manifest(place, head)
        needed |= {heads.object_of(path, stored) for path, stored in manifest.items()}
        needed |= {f"{_TABLES}{path}" for path in _logs(manifest)}
        needed.add(f"{heads.MANIFESTS}{head.manifest.sha256}")
        if put_at[number] < now - guard:
            break  # the one before it has had no readers for as long
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
