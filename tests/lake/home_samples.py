"""Small lakes for tests in which several desks share a home."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from lake_samples import CATALOGUE, KEPT, REQUESTS, day, requests

from treasury.lake import Lake
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.sharing import Sharing


def shared_lake(
    folder: Path,
    home: str | Path,
    *,
    tell: Callable[[str], object] = lambda _: None,
    rests_on: Callable[[], Mapping[int, str]] = dict,
    rested_on: Callable[[], Collection[int]] = tuple,
) -> Lake:
    """Return a small lake in `folder` with that home."""
    place = LakeHome(str(home), folder / "lake", environment="sandbox")
    return Lake(
        folder, CATALOGUE, commits_kept=KEPT, grace=timedelta(0), home=place, tell=tell,
        rests_on=rests_on, rested_on=rested_on,
    )  # fmt: skip


def sharing_of(lake: Lake) -> Sharing:
    assert lake.sharing is not None
    return lake.sharing


def add(lake: Lake, number: int, **statuses: str) -> Any:
    """Upsert requests in their own commit, on the newest head of the home."""

    def work() -> Any:
        with lake.writer("sync", day(number)) as writer:
            return writer.upsert(REQUESTS, requests(**statuses))

    return lake.again(work, f"add {' '.join(statuses)}")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
