"""A simulated power cut at any moment loses no data that was reported as stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.power_cut import Operation, cut, recorded

pytestmark = pytest.mark.acceptance

VERBS = ("sync", "statements", "pin", "ignore")
Recording = tuple[Path, Path, list[Operation]]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(tmp_path_factory.mktemp("power").resolve(), VERBS)


def broken(recording: Recording, operations: Sequence[Operation], seed: int) -> set[str]:
    before, desk, _ = recording
    looked = list(cut(before, desk, operations, sample=8, seed=seed))
    assert len(looked) == 24
    return {what for _, _, what in looked if what}


def test_acknowledged_writes_survive_a_power_cut(recording: Recording) -> None:
    assert broken(recording, recording[2], seed=1) == set()


def test_unsynced_writes_are_lost_in_the_simulation(recording: Recording) -> None:
    lazy = [
        one
        for one in recording[2]
        if not (one.call in {"fsync", "fdatasync"} and "/lake" in one.paths[0])
    ]
    assert broken(recording, lazy, seed=1)
