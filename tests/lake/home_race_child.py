"""A desk in a separate process that uses a shared home, and may kill itself at a write point."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lake_crash_child as crashing
from home_samples import add, shared_lake, sharing_of
from lake_samples import content

from treasury.lake.home import object_place


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def race(folder: Path, home: str, commits: int, seed: int) -> None:
    """Make a number of commits, each with its own request, after random pauses."""
    draw = random.Random(seed)
    lake = shared_lake(folder, home, tell=say)
    for number in range(commits):
        time.sleep(draw.uniform(0, 0.05))
        add(lake, number, **{f"{folder.name}_{number}": "OPEN", "both": f"S{draw.randrange(9)}"})


@contextmanager
def stopping(at: int, how: object) -> Iterator[list[int]]:
    """Call `how` at a write point as in `lake_crash_child`; accesses to the home count as well."""
    original = object_place.reaching
    with crashing.stopping(at, how) as count:

        @contextmanager
        def counted(address: str, *, writes: bool = False) -> Iterator[None]:
            with original(address, writes=writes):
                passed()
                yield
            passed()

        def passed() -> None:
            if count[0] == at:
                assert callable(how)
                how()
            count[0] += 1

        object_place.reaching = counted
        try:
            yield count
        finally:
            object_place.reaching = original


def pushed(folder: Path, home: str) -> None:
    """Make one commit that changes and adds rows, through the home."""
    lake = shared_lake(folder, home)
    add(lake, 50, a="DONE", k="OPEN")


def pulled(folder: Path, home: str) -> None:
    sharing_of(shared_lake(folder, home)).pull()


def life(folder: Path, home: str, first: int, draw: random.Random) -> None:
    """Commit, pull and push at random until killed; print a line after each commit."""
    lake = shared_lake(folder, home)
    say("begun")
    for number in range(first, first + 1000):
        match draw.randrange(6):
            case 0:
                sharing_of(lake).pull()
            case 1:
                sharing_of(lake).push()
            case _:
                add(lake, number, **{f"r{number}": "OPEN", "both": f"S{number}"})
                say(number)


def reading(folder: Path, home: str) -> None:
    """Read everything that a desk shows until killed; print a line after each reading."""
    lake = shared_lake(folder, home)
    while True:
        shown = content(lake)
        say(json.dumps(shown, default=str, sort_keys=True))


VERBS = {"push": pushed, "pull": pulled}


def stopped_at(verb: str, folder: Path, home: str, point: int) -> int:
    """Run a command in a process that dies at a write point; return its exit code."""
    process = os.fork()
    if not process:
        with stopping(point, crashing.killed):
            VERBS[verb](folder, home)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["race", place, home, commits, seed]:
            race(Path(place), home, int(commits), int(seed))
        case ["pulls", place, home, *points]:
            for point in points:
                say(stopped_at("pull", Path(place), home, int(point)))
        case ["read", place, home]:
            reading(Path(place), home)
        case ["life", place, home, first, seed]:
            life(Path(place), home, int(first), random.Random(int(seed)))
        case [("push-at" | "pull-at") as verb, home_root, *points]:
            for point in points:
                root = Path(home_root) / f"{verb}-{point}"
                say(stopped_at(verb[:4], root / "desk", str(root / "home"), int(point)))
