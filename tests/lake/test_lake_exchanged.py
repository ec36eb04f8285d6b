"""Replaced files in the lake's folder are refused, and a pipe among them never blocks a reader."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lake_samples import REQUESTS, copied_lake, day, put, requests, small_lake

from treasury.core.errors import StorageError, WorkspaceDamaged
from treasury.lake import Lake, damages

pytestmark = pytest.mark.timeout(20)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = small_lake(tmp_path_factory.mktemp("ready"))
    put(lake, 0, requests(a="OPEN", b="DONE"))
    lake.pin("the close of 2026-10", day(1))
    return lake.workspace


@pytest.fixture
def lake(ready: Path, tmp_path: Path) -> Lake:
    return copied_lake(ready, tmp_path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.first_case
@pytest.mark.parametrize("made", [pipe, device, Path.mkdir])
@pytest.mark.parametrize("name", ["last_commit.json", "pins/1.json", "digests.jsonl", "PARQUET"])
def test_a_lake_file_that_is_not_a_regular_file_is_named_without_waiting(
    lake: Lake, name: str, made: Callable[[Path], None]
) -> None:
    if name == "PARQUET":
        name = os.path.relpath(lake.snapshot().files(REQUESTS)[0], lake.folder)
    path = lake.folder / name
    path.unlink()
    made(path)
    lake = small_lake(lake.workspace)
    kind = {pipe: "pipe", device: "device|link"}.get(made, "folder")
    shown = []
    try:
        shown = list(map(str, damages(lake)))
    except StorageError as error:
        shown = [str(error)]
    for work in (
        lambda: lake.snapshot().sql("FROM requests"),
        lambda: lake.snapshot(commit=1).sql("FROM requests"),
        lake.pins,
        lambda: put(lake, 9, requests(z="OPEN")),
    ):
        try:
            work()
        except StorageError as error:
            shown.append(str(error))
    assert any(path.name in each for each in shown)
    assert any(word in each for each in shown for word in kind.split("|")), shown


def reseal(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit a file with a checksum, and write it with the checksum of its new content."""
    content = json.loads(path.read_bytes())["content"]
    edit(content)
    raw = msgspec.json.format(msgspec.json.encode(content), indent=1)
    sealed = {"sha256": hashlib.sha256(raw).hexdigest(), "content": msgspec.Raw(raw)}
    path.write_bytes(msgspec.json.encode(sealed))


PINS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another number": lambda pin: pin["commit"].update(number=2),
    "a later version": lambda pin: pin["commit"]["versions"].update(requests=99),
    "a negative version": lambda pin: pin["commit"]["versions"].update(requests=-1),
    "an additional table": lambda pin: pin["commit"]["versions"].update({"../x": 0}),
    "a missing table": lambda pin: pin["tables"].pop("requests"),
    "no tables": lambda pin: pin.update(tables={}),
    "another version of a table": lambda pin: pin["tables"]["requests"].update(version=5),
    "a file elsewhere": lambda pin: pin["tables"]["requests"]["files"][0].update(path="../a"),
    "an absolute path": lambda pin: pin["tables"]["requests"]["files"][0].update(
        path="/etc/passwd"
    ),
    "a size as text": lambda pin: pin["tables"]["requests"]["files"][0].update(size="1"),
}


@pytest.mark.first_case
@pytest.mark.parametrize("edit", PINS.values(), ids=PINS)
def test_a_pin_with_an_edited_field_is_refused(
    lake: Lake, edit: Callable[[dict[str, Any]], Any]
) -> None:
    reseal(lake.folder / "pins" / "1.json", edit)
    with pytest.raises(WorkspaceDamaged, match=r"pins/1\.json"):
        lake.pins()
    assert [damage.pinned for damage in damages(small_lake(lake.workspace))] == [True]
    assert small_lake(lake.workspace).snapshot().sql("FROM requests").num_rows == 2


def test_a_last_commit_with_an_unknown_table_version_is_damage(lake: Lake) -> None:
    for version in (-1, 99, 2**62):
        reseal(
            lake.folder / "last_commit.json",
            lambda last, version=version: last["commit"]["versions"].update(requests=version),
        )
        with pytest.raises(WorkspaceDamaged, match="requests cannot be read"):
            small_lake(lake.workspace).snapshot().sql("FROM requests")
        assert damages(small_lake(lake.workspace))
