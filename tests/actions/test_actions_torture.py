"""Killed anywhere, under any fault, an action takes effect once or is said to be unknown."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks.torture import FAULTS, POINTS, Bench, Run, benched, every_run, sample
from treasury.actions import KINDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to cut a process off")

SAMPLE, SEED = 200, 2026


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        with benched() as bench:
            yield bench


@pytest.mark.timeout(900)
def test_a_sample_of_the_matrix_keeps_the_promise(bench: Bench) -> None:
    runs = sample(SAMPLE, SEED)
    assert {run.kind for run in runs} == set(KINDS)
    assert {run.point for run in runs} == set(POINTS)
    assert {run.fault for run in runs} == set(FAULTS)
    results = [bench.run(run) for run in runs]
    assert [(result.verdict, result) for result in results if result.verdict] == []
    ends = Counter(result.ended for result in results)
    assert ends["killed"] > SAMPLE / 2  # most of them are cut, or this proves little


def test_the_matrix_has_every_kind_at_every_point_under_every_fault() -> None:
    whole = {(run.kind, run.point, run.fault) for run in every_run()}
    assert len(whole) == len(KINDS) * len(POINTS) * len(FAULTS)


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "ramp_request.create"])
def test_of_several_processes_that_execute_one_action_one_does(bench: Bench, kind: str) -> None:
    ended, effects = bench.race(kind, 4)
    assert sorted(ended) == ["ActionRefused"] * 3 + ["done"]
    assert effects == 1


def test_a_create_without_key_that_never_left_is_executed_and_one_that_may_have_is_not(
    bench: Bench,
) -> None:
    never = bench.run(Run("ramp_request.create", "inside the first entry", "none"))
    assert (never.ended, never.last, never.effects) == ("killed", "done", 1)
    maybe = bench.run(Run("ramp_request.create", "before the request", "none"))
    assert (maybe.ended, maybe.first, maybe.last, maybe.effects) == (
        "killed", "sending", "unknown", 0,
    )  # fmt: skip
    adopted = bench.run(Run("ramp_request.create", "before the answer is read", "none"))
    assert (adopted.first, adopted.last, adopted.effects) == ("sending", "done", 1)
