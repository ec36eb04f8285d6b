"""Simulated power cuts at every moment of a workspace's use: reported work must not be lost.

    python -m benchmarks.power_cut [--sample COUNT] [--seed SEED]

Runs the verbs (commands of an analyst) of `power_cut_child` once under `strace`, which records each
change and each sync of a file. From the recording it builds the disks that a power cut after any of
these calls may leave: a file has the content of its last sync, or newer content; a folder has the
names of its last sync, or its newest names. On each disk the workspace must open, contain all work
that was reported as done, and be intact after the next commit. No power is cut, and root is not
needed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec

from benchmarks.power_cut_child import SAID, VERBS, Standing, rows_of
from treasury.cli.commands.practice import prepare
from treasury.close.stored_answers import altered_answers
from treasury.core.errors import TreasuryError
from treasury.journal.period_history import closed_periods
from treasury.lake import damages
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

CALLS: Final = (
    "open", "openat", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "lseek",
    "fsync", "fdatasync", "ftruncate", "truncate", "fallocate", "rename", "renameat", "renameat2",
    "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir",
    "copy_file_range", "sendfile",
)  # fmt: skip
UNMODELLED: Final = ("writev", "pwritev", "pwritev2", "truncate", "fallocate", "symlink",
                     "symlinkat", "copy_file_range", "sendfile")  # fmt: skip
"""Calls that this project never makes on files of a workspace; in a recording they are an error."""
LONGEST: Final = 64 << 20
"""Maximum number of bytes of a write in the recording."""

STATES: Final = ("nothing more", "names only", "a part")
"""States of a disk: only what was synced; also all newer names; or also a random part of the newer
names and contents."""


class Operation(NamedTuple):
    """A completed call on files of the workspace; `data` is the written content."""

    call: str
    paths: tuple[str, ...]
    flags: str = ""
    number: int = 0
    """A file descriptor, an offset or a length, depending on the call."""
    data: bytes = b""
    descriptor: int = -1


class Broken(NamedTuple):
    """A failure: the number of the last operation, the disk's state, and the problem."""

    place: int
    state: str
    what: str


# Recording


def record(folder: Path, program: Sequence[str]) -> list[Operation]:
    """Run the Python interpreter with these arguments; return all changes in `folder`."""
    log = folder.with_suffix(".strace")
    child = [sys.executable, *program]
    traced = ["strace", "-f", "-y", "-xx", "--seccomp-bpf", "-s", str(LONGEST), "-o", str(log)]
    subprocess.run([*traced, "-e", f"trace={','.join(CALLS)}", *child], check=True, stdout=-3)
    operations = list(_operations(log, str(folder)))
    log.unlink()
    return operations


_LINE: Final = re.compile(r"(\d+) +(.*)", re.DOTALL)
_CALL: Final = re.compile(r"(\w+)\((.*)\) += (-?\d+)", re.DOTALL)
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_PLACE: Final = re.compile(r"(AT_FDCWD|\d+)<((?:[^<>\\]|\\x[0-9a-f]{2})*)>(\(deleted\))?")


def _operations(log: Path, root: str) -> Iterator[Operation]:
    """Yield the successful calls of a recording in order of completion."""
    begun: dict[str, str] = {}
    with log.open(encoding="ascii") as lines:
        for line in lines:
            match = _LINE.match(line.rstrip("\n"))
            assert match is not None, line[:200]
            thread, text = match.groups()
            if text.endswith("<unfinished ...>"):
                begun[thread] = text.removesuffix("<unfinished ...>").rstrip()
                continue
            if text.startswith("<..."):
                text = begun.pop(thread) + text.partition("resumed>")[2]
            call = _CALL.match(text)
            if call is not None and int(call[3]) >= 0:
                yield from _operation(call[1], call[2], int(call[3]), root)


def _operation(call: str, arguments: str, result: int, root: str) -> Iterator[Operation]:
    """Yield the call if it changes a file in `root` or is a report of the child."""
    texts = [(bytes.fromhex(t.replace("\\x", "")), cut) for t, cut in _TEXT.findall(arguments)]
    places = [
        (number, bytes.fromhex(p.replace("\\x", "")).decode() if "\\x" in p else p)
        for number, p, _ in _PLACE.findall(arguments)
    ]
    if call == "write" and places[0][0] == "1" and texts[0][0].startswith(SAID.encode()):
        yield Operation("say", (), data=texts[0][0])
        return
    if call in {"write", "pwrite64", "fsync", "fdatasync", "ftruncate", "lseek"}:
        number, place = places[0]
        if _is_below(place, root):
            assert not any(cut for _, cut in texts), "a write is longer than the recording keeps"
            data = texts[0][0][:result] if texts else b""
            last = arguments.rpartition(",")[2].strip()
            offset = int(last) if call in {"pwrite64", "ftruncate"} else result
            yield Operation(call, (place,), "", offset, data, int(number))
        return
    base = [place for _, place in places]
    paths = tuple(
        str(Path(base[min(n, len(base) - 1)] if base else "/", text.decode()))
        for n, (text, _) in enumerate(texts)
    )
    if any(_is_below(path, root) for path in paths):
        assert call not in UNMODELLED, f"{call} {paths}"
        yield Operation(call.replace("at2", "").replace("at", ""), paths, arguments, result)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


# The disk


class File:
    """A file: its current content, and the synced content."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.synced = content

    def sync(self) -> None:
        """Make the current content durable."""
        self.synced = bytes(self.content)


class Folder:
    """A folder: its current names, and the synced names."""

    def __init__(self) -> None:
        self.names: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}

    def sync(self) -> None:
        """Make the current names durable."""
        self.synced = dict(self.names)


class Disk:
    """The files of a workspace, initially all synced."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.top = _copied(root)
        self._at: dict[tuple[int, int], int] = {}

    def apply(self, one: Operation) -> bool:
        """Apply an operation; return whether a power cut after it may leave another disk."""
        match one.call:
            case "open" | "creat":
                return self._open(one)
            case "mkdir":
                self._folder(one.paths[0]).names[_name(one.paths[0])] = Folder()
            case "rename":
                source, target = one.paths
                self._folder(target).names[_name(target)] = self._folder(source).names.pop(
                    _name(source)
                )
            case "link":
                found = self._find(one.paths[0])
                assert found is not None
                self._folder(one.paths[1]).names[_name(one.paths[1])] = found
            case "unlink" | "rmdir":
                del self._folder(one.paths[0]).names[_name(one.paths[0])]
            case _:
                return self._on_open_file(one)
        return True

    def _open(self, one: Operation) -> bool:
        path = one.paths[0]
        if "O_TMPFILE" in one.flags:
            return False
        found = self._find(path)
        is_new = found is None
        if is_new:
            found = self._folder(path).names[_name(path)] = File()
        if isinstance(found, File):
            if "O_TRUNC" in one.flags:
                found.content.clear()
                found.synced = b""
            self._at[one.number, id(found)] = len(found.content) if "O_APPEND" in one.flags else 0
        return is_new or "O_TRUNC" in one.flags

    def _on_open_file(self, one: Operation) -> bool:
        found = self._find(one.paths[0])
        if found is None:
            return False  # the file was deleted or renamed
        if one.call in {"fsync", "fdatasync"}:
            found.sync()
            return True
        if one.call == "lseek" and isinstance(found, Folder):
            return False  # a program lists the folder again
        assert isinstance(found, File), one
        here = one.descriptor, id(found)
        match one.call:
            case "lseek":
                self._at[here] = one.number
            case "ftruncate":
                missing = one.number - len(found.content)
                found.content[one.number :] = b""
                found.content += b"\0" * missing
            case "write" | "pwrite64":
                at = one.number if one.call == "pwrite64" else self._at[here]
                found.content += b"\0" * (at - len(found.content))
                found.content[at : at + len(one.data)] = one.data
                if one.call == "write":
                    self._at[here] = at + len(one.data)
        return one.call != "lseek"

    def _find(self, path: str) -> File | Folder | None:
        found: File | Folder | None = self.top
        for name in path.removeprefix(self._root).strip("/").split("/"):
            if name:
                found = found.names.get(name) if isinstance(found, Folder) else None
        return found

    def _folder(self, path: str) -> Folder:
        found = self._find(path.rpartition("/")[0])
        assert isinstance(found, Folder), path
        return found

    def leave(self, target: Path, state: str, chance: Random) -> None:
        """Write the disk that a power cut leaves, in one of STATES, into `target`."""
        _left(self.top, target, state, chance)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _copied(folder: Path) -> Folder:
    made = Folder()
    for path in folder.iterdir():
        made.names[path.name] = _copied(path) if path.is_dir() else File(path.read_bytes())
    made.sync()
    return made


def _left(folder: Folder, target: Path, state: str, chance: Random) -> None:
    target.mkdir()
    newer = state == "names only" or (state == "a part" and chance.random() < 0.5)
    for name, one in (folder.names if newer else folder.synced).items():
        if isinstance(one, Folder):
            _left(one, target / name, state, chance)
        else:
            written = state == "a part" and chance.random() < 0.5
            (target / name).write_bytes(one.content if written else one.synced)


# The promises


def problems(folder: Path, said: Standing, later: Standing, known: dict[int, Standing]) -> str:
    """Return the problem of a workspace that was reported as `said`, or an empty text.

    The power cut happened during the next verb, which would have led to the state `later`. `known`
    has the reported states by their last commit.
    """
    desk = Workspace(folder)
    last = desk.lake.last_commit()
    number = 0 if last is None else last.number
    if number < said.commit:
        return f"commit {said.commit} was reported, but {number} is the last"
    if number and rows_of(desk) != known[number].rows:
        return f"rows of commit {number} differ from those written"
    wrong = _pins_lost(desk, said, later, known) or _decisions_lost(desk, said)
    if wrong:
        return wrong
    with desk.lake.writer("power is back", desk.now() + timedelta(days=1)):
        pass
    if number and rows_of(desk) != known[number].rows:
        return "the next commit changed rows"
    return "; ".join(map(str, damages(desk.lake)))


def _pins_lost(desk: Workspace, said: Standing, later: Standing, known: dict[int, Standing]) -> str:
    pins = [pin.commit.number for pin in desk.lake.pins()]
    lost = {*said.pins} & {*later.pins} - {*pins}
    if lost:
        return f"pins {sorted(lost)} are lost"
    if not {*pins} <= {*said.pins, *later.pins}:
        return f"pins {pins} include unexpected ones"
    for pin in pins:
        if rows_of(desk, pin) != known[pin].rows:
            return f"rows of pinned commit {pin} differ from those written"
    return ""


def _decisions_lost(desk: Workspace, said: Standing) -> str:
    entries = desk.journal.verify().seq
    if entries < said.entries or desk.journal.lost() is not None:
        return f"{said.entries} journal entries were reported, but the journal has {entries}"
    closed = closed_periods(desk.journal.entries("period."))
    if not {*said.closed} <= {*closed}:
        return f"{said.closed} were closed, but now {sorted(closed)} are"
    pins = {pin.commit.number for pin in desk.lake.pins()}
    unkept = [period.month for period in closed.values() if period.close.commit not in pins]
    if unkept:
        return f"{unkept} are closed on commits that are not pinned"
    altered = [p for one in closed.values() for p in altered_answers(desk.folder, one.close)]
    return f"{altered}: stored by a close, and changed since" if altered else ""


def cut(
    before: Path, root: Path, operations: Sequence[Operation], *, sample: int | None, seed: int
) -> Iterator[tuple[int, str, str]]:
    """Check each disk; yield the number of the last operation, the disk's state, and its problem.

    `before` is a copy of the workspace in `root`, made before the recording.
    """
    says = [msgspec.json.decode(one.data[len(SAID) :], type=Standing) for one in operations
            if one.call == "say"]  # fmt: skip
    known = {said.commit: said for said in reversed(says)}
    disk, chance = Disk(before), Random(seed)
    disk._root = str(root)  # noqa: SLF001 - paths in the recording are those of `root`
    count = sum(1 for _ in _moments(operations))
    wanted = range(count) if sample is None else sorted(chance.sample(range(count), sample))
    places, done = iter(wanted), 0
    place = next(places, -1)
    moment = -1
    said = Standing("", 0, {}, (), 0, ())
    for number, one in enumerate(operations):
        if one.call == "say":
            said, done = says[done], done + 1
            changed = True
        else:
            changed = disk.apply(one)
        moment += one.call in _MOMENTS
        if one.call not in _MOMENTS or moment != place:
            continue
        place = next(places, -1)
        for state in STATES if changed else ():
            with tempfile.TemporaryDirectory(dir=_memory()) as folder:
                disk.leave(Path(folder) / "desk", state, chance)
                later = says[done] if done < len(says) else said
                yield number, state, _looked_at(Path(folder) / "desk", said, later, known)


_MOMENTS: Final = {"say", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir", "rmdir"}


def _moments(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Return the operations after which a cut is simulated; a cut also loses unsynced writes."""
    return (one for one in operations if one.call in _MOMENTS)


def _looked_at(folder: Path, said: Standing, later: Standing, known: dict[int, Standing]) -> str:
    try:
        return problems(folder, said, later, known)
    except TreasuryError as error:
        return f"{type(error).__name__}: {error}"


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def recorded(folder: Path, verbs: Sequence[str]) -> tuple[Path, Path, list[Operation]]:
    """Return a copy of the workspace before the verbs, the workspace, and the verbs' operations."""
    before, desk = folder / "before", folder / "desk"
    company = Sandbox(7)
    with company.serve() as served:
        prepare(desk, company, served).close_clients()
        shutil.copytree(desk, before)
        child = ("-m", "benchmarks.power_cut_child", str(desk))
        operations = record(desk, [*child, *verbs])
    return before, desk, operations


def run(
    verbs: Sequence[str] = VERBS, *, sample: int | None = None, seed: int = 7
) -> tuple[int, list[Broken]]:
    """Return the number of checked disks, and the failures."""
    broken, looked = list[Broken](), 0
    with tempfile.TemporaryDirectory() as folder:
        before, desk, operations = recorded(Path(folder).resolve(), verbs)
        for place, state, what in cut(before, desk, operations, sample=sample, seed=seed):
            looked += 1
            if what:
                broken.append(Broken(place, state, what))
    return looked, broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="Number of moments to simulate; default: all.")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    began = time.monotonic()
    looked, broken = run(sample=given.sample, seed=given.seed)
    for one in broken:
        print(f"BROKEN {one}")
    print(f"{looked:,} disks after a power cut checked in {time.monotonic() - began:.0f} s")
    print(f"broken promises: {len(broken)}")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
