"""Cuts the power at every moment of a desk's work, and looks for what was said and is not there.

    python -m benchmarks.power_cut [--sample COUNT] [--seed SEED]

The verbs of `power_cut_child` run once under `strace`, which writes down each change of a file and
each wish to have one on the disk. From that the disk is made as a power cut may leave it after any
of these: of a file what was there when it was last synced, or more; of a folder the names that it
had when it was last synced, or those it had at last. On each such disk the workspace has to open,
to have everything that had been said to be done, and to be as whole as any other after the next
commit. No power is cut and nobody has to be root.
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
"""What none of our parts does to a file of the workspace: a recording that has one is refused."""
LONGEST: Final = 64 << 20
"""Bytes of one write that are written down whole."""

STATES: Final = ("nothing more", "names only", "a part")
"""What a disk may have beyond what was synced: nothing, all names, or what chance left there."""


class Operation(NamedTuple):
    """A call that has come back, on files below the workspace; `data` is what was written."""

    call: str
    paths: tuple[str, ...]
    flags: str = ""
    number: int = 0
    """A file descriptor, an offset or a length, by the call."""
    data: bytes = b""
    descriptor: int = -1


class Broken(NamedTuple):
    """A promise that a power cut broke: after how many operations, on which disk, and what."""

    place: int
    state: str
    what: str


# Recording


def record(folder: Path, program: Sequence[str]) -> list[Operation]:
    """Run a Python program, given as to the interpreter; all that happens to files of `folder`."""
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
    """The calls of a recording that came back well, in the order in which they did."""
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
    """One call, if it is about a file below `root` or says something."""
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
            assert not any(cut for _, cut in texts), "a write is longer than what is written down"
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
    """A file: what programs read of it, and what of it was synced."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.synced = content

    def sync(self) -> None:
        """What is in the file is on the disk."""
        self.synced = bytes(self.content)


class Folder:
    """A folder: its names as programs see them, and as they were synced."""

    def __init__(self) -> None:
        self.names: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}

    def sync(self) -> None:
        """The names in the folder are on the disk."""
        self.synced = dict(self.names)


class Disk:
    """The files of a workspace, from a copy of it that is on the disk as a whole."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.top = _copied(root)
        self._at: dict[tuple[int, int], int] = {}

    def apply(self, one: Operation) -> bool:
        """Let an operation happen; whether a power cut may leave another disk after it."""
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
            return False  # it has no name any more
        if one.call in {"fsync", "fdatasync"}:
            found.sync()
            return True
        if one.call == "lseek" and isinstance(found, Folder):
            return False  # its names are read once more
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
        """Write into `target` what a power cut leaves: one of STATES."""
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


# What has to stand


def problems(folder: Path, said: Standing, later: Standing, known: dict[int, Standing]) -> str:
    """What is wrong with a workspace of which `said` was said, while the verb after it ran.

    `known` are the standings by the commit they had last, `later` is that after the running verb.
    """
    desk = Workspace(folder)
    last = desk.lake.last_commit()
    number = 0 if last is None else last.number
    if number < said.commit:
        return f"commit {said.commit} was said, {number} is the last"
    if number and rows_of(desk) != known[number].rows:
        return f"commit {number} has other rows than were written"
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
        return f"pins {pins} were let go"
    for pin in pins:
        if rows_of(desk, pin) != known[pin].rows:
            return f"pinned commit {pin} has other rows than were written"
    return ""


def _decisions_lost(desk: Workspace, said: Standing) -> str:
    entries = desk.journal.verify().seq
    if entries < said.entries or desk.journal.lost() is not None:
        return f"{said.entries} entries were said, the journal has {entries}"
    closed = closed_periods(desk.journal.entries("period."))
    if not {*said.closed} <= {*closed}:
        return f"{said.closed} were closed, {sorted(closed)} are"
    pins = {pin.commit.number for pin in desk.lake.pins()}
    unkept = [period.month for period in closed.values() if period.close.commit not in pins]
    if unkept:
        return f"{unkept} are closed on commits that are not kept"
    altered = [p for one in closed.values() for p in altered_answers(desk.folder, one.close)]
    return f"{altered} were stored by a close and are not as written" if altered else ""


def cut(
    before: Path, root: Path, operations: Sequence[Operation], *, sample: int | None, seed: int
) -> Iterator[tuple[int, str, str]]:
    """Each disk that is looked at: after how many operations, which, and what is wrong with it.

    `before` is a copy of the workspace in `root` as it was before the recording.
    """
    says = [msgspec.json.decode(one.data[len(SAID) :], type=Standing) for one in operations
            if one.call == "say"]  # fmt: skip
    known = {said.commit: said for said in reversed(says)}
    disk, chance = Disk(before), Random(seed)
    disk._root = str(root)  # noqa: SLF001 - it is replayed where it was recorded
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
    """After these a power cut leaves another disk than before; writes alone are lost with any."""
    return (one for one in operations if one.call in _MOMENTS)


def _looked_at(folder: Path, said: Standing, later: Standing, known: dict[int, Standing]) -> str:
    try:
        return problems(folder, said, later, known)
    except TreasuryError as error:
        return f"{type(error).__name__}: {error}"


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def recorded(folder: Path, verbs: Sequence[str]) -> tuple[Path, Path, list[Operation]]:
    """A practice workspace as it was, where the verbs were done on it, and what that took."""
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
    """How many disks were looked at, and each on which a promise was broken."""
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
    parser.add_argument("--sample", type=int, help="So many moments; every one if not given.")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    began = time.monotonic()
    looked, broken = run(sample=given.sample, seed=given.seed)
    for one in broken:
        print(f"BROKEN {one}")
    print(f"{looked:,} disks after a power cut looked at in {time.monotonic() - began:.0f} s")
    print(f"broken promises: {len(broken)}")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
