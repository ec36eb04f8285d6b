"""Desks that write simultaneously or are killed: nothing is lost, torn or partly visible."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import home_race_child as child
import pytest
from home_samples import add, shared_lake, sharing_of
from lake_crash_child import Stopped
from lake_samples import KEPT, content, statuses
from s3_server import BUCKET, environment, s3_server
from thorough import THOROUGH, examples

from treasury.lake import Lake, damages
from treasury.lake.home.home_upkeep import broken_objects

SCRIPT = Path(child.__file__)


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def raced(tmp_path: Path, home: str, seed: int) -> None:
    """Let two processes commit to one home at the same time, and check that nothing is lost."""
    rounds = examples(4, 200)
    desks = [tmp_path / "anna", tmp_path / "ben"]
    races = [
        started("race", desk, home, rounds, seed + number) for number, desk in enumerate(desks)
    ]
    outputs = [race.communicate(timeout=3300) for race in races]
    assert [race.returncode for race in races] == [0, 0], outputs
    said = [line for output, _ in outputs for line in output.splitlines()]
    words = ("is pulled, then this work is repeated", "goes first; waiting")
    assert all(line.endswith(words) for line in said), said
    if THOROUGH:
        assert said
    lakes = [shared_lake(desk, home) for desk in desks]
    for lake in lakes:
        sharing_of(lake).pull()
        expected = {f"{desk.name}_{number}" for desk in desks for number in range(rounds)}
        assert statuses(lake.snapshot()).keys() == {*expected, "both"}
        numbers = lake.commits()["number"].to_pylist()
        assert numbers == list(range(1, 2 * rounds + 1))
        assert damages(lake) == []
    assert content(lakes[0]) == content(lakes[1])


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_two_desks_write_at_once_through_a_folder(tmp_path: Path) -> None:
    raced(tmp_path, str(tmp_path / "home"), 1)


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_two_desks_write_at_once_through_s3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as url:
        for name, text in environment(url).items():
            monkeypatch.setenv(name, text)
        raced(tmp_path, f"s3://{BUCKET}/races", 2)


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a `home` and two desks: `desk` is one head behind, `other` is not.

    The next head triggers a cleanup of the home.
    """
    root = tmp_path_factory.mktemp("aged")
    desk = shared_lake(root / "desk", root / "home")
    for number in range(2 * KEPT - 2):
        add(desk, number, a="HELD" if number % 2 else "OPEN", b="OPEN", both=f"S{number}")
    shutil.copytree(root / "desk", root / "other")
    other = shared_lake(root / "other", root / "home")
    add(other, 2 * KEPT, a="OPEN", c="DONE")
    return root


def killed(aged: Path, verb: str, tmp_path: Path) -> list[Path]:
    """Kill a command at many write points, each in its own copy of `aged`; return the copies."""
    other = shutil.copytree(aged, tmp_path / "undisturbed")
    with child.stopping(-1, child.crashing.killed) as count:
        child.VERBS[verb](other / "desk", str(other / "home"))
    step = examples(max(count[0] // 7, 1), 1)
    points = sorted({*range(0, count[0], step), count[0] - 1})
    roots = [tmp_path / f"{verb}-at-{point}" for point in points]
    for root in roots:
        shutil.copytree(aged, root)
    run = started(f"{verb}-at", tmp_path, *points)
    output, errors = run.communicate(timeout=1500)
    # Objects are fetched in parallel, so the number of the last points may differ.
    assert set(output.split()) <= {str(-signal.SIGKILL), "0"}, errors
    assert output.split().count(str(-signal.SIGKILL)) >= len(points) - 3, errors
    return roots


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_a_push_killed_at_any_write_point_is_complete_or_absent(aged: Path, tmp_path: Path) -> None:
    roots = killed(aged, "push", tmp_path)
    before = content(shared_lake(aged / "desk", aged / "home"))
    pulled = content(shared_lake(aged / "other", aged / "home"))
    expected = content(shared_lake(tmp_path / "undisturbed" / "desk", aged / "home"))
    for root in roots:
        desk = shared_lake(root / "desk", root / "home")
        assert content(desk) in (before, pulled, expected), root
        third = shared_lake(root / "third", root / "home")
        sharing_of(third).pull()
        there = content(third)
        assert there in (pulled, expected), root
        # This completes the killed push, or finds nothing to push.
        sharing_of(desk).push()
        sharing_of(desk).pull()
        if there == expected:
            assert content(desk) == expected, root
        if content(desk) == pulled:
            child.pushed(root / "desk", str(root / "home"))
        assert content(desk) == expected, root
        sharing_of(third).pull()
        assert content(third) == expected, root
        assert damages(third) == damages(desk) == []
        numbers = third.commits()["number"].to_pylist()
        assert numbers == list(range(1, 2 * KEPT + 1)), root
        swept_clean(desk, root / "home")


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_a_pull_killed_at_any_write_point_shows_nothing_partial(aged: Path, tmp_path: Path) -> None:
    before = content(shared_lake(aged / "desk", aged / "home"))
    expected = content(shared_lake(aged / "other", aged / "home"))
    for root in killed(aged, "pull", tmp_path):
        desk = shared_lake(root / "desk", root / "home")
        assert content(desk) in (before, expected), root
        sharing_of(desk).pull()
        assert content(desk) == expected, root
        assert damages(desk) == []


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_readers_during_killed_pulls_see_one_commit_or_the_other(
    aged: Path, tmp_path: Path
) -> None:
    """A process reads continuously while many pulls are killed, each at a different point."""
    counted = shutil.copytree(aged, tmp_path / "counted")
    with child.stopping(-1, child.crashing.killed) as count:
        child.pulled(counted / "desk", str(counted / "home"))
    folder, home = tmp_path / "desk", str(tmp_path / "home")
    shutil.copytree(aged / "home", home)
    shutil.copytree(aged / "desk", folder)
    expected = {
        json.dumps(content(shared_lake(place, home)), default=str, sort_keys=True)
        for place in (aged / "desk", aged / "other")
    }
    output = tmp_path / "read.txt"
    with output.open("w") as lines:
        reader = subprocess.Popen(
            [sys.executable, str(SCRIPT), "read", str(folder), home],
            stdout=lines, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            while not output.stat().st_size:
                time.sleep(0.05)
                assert reader.poll() is None
            # Each pull continues where the previous one stopped, and never reaches the last points.
            step = examples(max(count[0] // 20, 1), 1)
            pulls = started("pulls", folder, home, *range(0, count[0], step), -1)
            ended, errors = pulls.communicate(timeout=600)
            assert ended.split().count(str(-signal.SIGKILL)) > 5, errors
            time.sleep(2)
            assert reader.poll() is None
        finally:
            reader.kill()
            reader.communicate()
    # The last line may be cut off.
    *whole, _ = output.read_text().splitlines()
    assert set(whole) == expected


@pytest.mark.acceptance
def test_replacing_a_repaired_log_may_be_interrupted_anywhere(tmp_path: Path) -> None:
    """Another desk's repair restarted a log, and the pull that follows is interrupted anywhere."""
    from lake_samples import day

    from treasury.lake import repair

    home = tmp_path / "home"
    anna, ben = (shared_lake(tmp_path / name, home) for name in ("anna", "ben"))
    for number in range(3):
        add(anna, number, a="HELD" if number % 2 else "OPEN", b="OPEN")
    sharing_of(ben).pull()
    before = content(ben)
    log = anna.folder / "requests" / "_delta_log"
    for entry in log.iterdir():
        entry.unlink()
    anna.again(lambda: repair(anna, day(9)), "repair")
    shutil.copytree(tmp_path / "ben", tmp_path / "counted")
    counting = shared_lake(tmp_path / "counted", home)
    with child.stopping(-1, child.crashing.killed) as count:
        sharing_of(counting).pull()
    expected = content(anna)
    assert content(counting) == expected
    for point in range(count[0]):
        folder = shutil.copytree(tmp_path / "ben", tmp_path / f"cut-{point}")
        with child.stopping(point, stop), pytest.raises(Stopped):
            sharing_of(shared_lake(folder, home)).pull()
        assert content(shared_lake(folder, home)) in (before, expected), point
        sharing_of(shared_lake(folder, home)).pull()
        cut = shared_lake(folder, home)
        assert content(cut) == expected, point
        assert damages(cut) == [], point


def stop() -> None:
    raise Stopped


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_desks_killed_at_random_instants_lose_nothing(tmp_path: Path) -> None:
    lake = killed_at_random(tmp_path, str(tmp_path / "home"), 17)
    swept_clean(lake, tmp_path / "home")


@pytest.mark.acceptance
@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_desks_killed_at_random_instants_lose_nothing_on_s3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as url:
        for name, text in environment(url).items():
            monkeypatch.setenv(name, text)
        sharing = sharing_of(killed_at_random(tmp_path, f"s3://{BUCKET}/kills", 18))
        sharing.guard = timedelta(seconds=-1)
        sharing.push()
        sharing.sweep()
        named = sharing.home.note().files
        left = {entry.name for entry in sharing.home.place.listed("lake/")}
        assert {name.removeprefix("lake/") for name in left} <= named.keys()
        broken = broken_objects(sharing.home, named, whole=True)
        assert broken == {}


def killed_at_random(tmp_path: Path, home: str, seed: int) -> Lake:
    """Run one or two desks on a home and kill them, many times; check that no commit is lost.

    Return the lake of one desk.
    """
    draw = random.Random(seed)
    said: set[str] = set()
    for run in range(examples(4, 200)):
        desks = draw.sample(["anna", "ben"], draw.choice([1, 2]))
        lives = [
            started("life", tmp_path / desk, home, 1000 * (2 * run + number), draw.randrange(10**9))
            for number, desk in enumerate(desks)
        ]
        for life in lives:
            assert life.stdout is not None
            assert life.stdout.readline() == "begun\n"
        time.sleep(draw.uniform(0, 1.2))
        for life in lives:
            life.kill()
        for life in lives:
            output, errors = life.communicate(timeout=60)
            assert life.returncode == -signal.SIGKILL, errors
            said |= {f"r{line}" for line in output.split()}
    lakes = [shared_lake(tmp_path / desk, home) for desk in ("anna", "ben")]
    for lake in lakes:
        sharing_of(lake).push()
    sharing_of(lakes[0]).pull()
    third = shared_lake(tmp_path / "third", home)
    sharing_of(third).pull()
    assert said <= statuses(third.snapshot()).keys()
    commits = third.commits().num_rows
    assert third.commits()["number"].to_pylist() == list(range(1, commits + 1))
    for lake in (*lakes, third):
        assert content(lake) == content(third)
        assert damages(lake) == []
    return lakes[0]


def swept_clean(lake: Any, home: Path) -> None:
    """Check that a cleanup leaves the newest head's data files, and no object of older heads."""
    sharing = sharing_of(lake)
    sharing.guard = timedelta(seconds=-1)
    sharing.push()
    sharing.sweep()
    named = set(sharing.home.note().files)
    left = {
        path.relative_to(home / "lake").as_posix()
        for path in (home / "lake").rglob("*")
        if path.is_file()
    }
    assert left <= named
    assert {path for path in named if path.endswith(".parquet") and "_log" not in path} <= left
