"""With any fault, an action takes effect at most once and its state is never wrong.

These are samples; `make torture` runs all cases.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks.torture import kills, pauses, proxy
from benchmarks.torture.company import open_company
from benchmarks.torture.playing import SUBJECTS, play, sample, shares
from benchmarks.torture.runs import BROKEN, Result, Run, Step, draws, judge, judge_copies
from benchmarks.torture.settling import relayed_desk
from treasury.actions import KINDS
from treasury.actions.execution.sending_fence import SendingFence
from treasury.month.items import open_actions

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to cut a process off")

SEED = 2026
EACH = len(KINDS)
"""The number of runs with one of each kind."""
SAMPLES = {
    "kills": 4 * EACH, "proxy": 3 * EACH, "hostile": 2 * EACH, "mixups": 2 * EACH,
    "restores": 2 * EACH, "copies": EACH, "edits": EACH, "team": EACH, "sleeps": EACH,
    "frozen": EACH, "forgotten": EACH,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _parent_of_kills() -> Iterator[None]:
    yield
    kills.end_parent()


@pytest.fixture(scope="module")
def cutter() -> Iterator[kills.Cutter]:
    with open_company() as company, kills.enter(company) as cutter:
        yield cutter


@pytest.mark.acceptance
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*SUBJECTS])
def test_a_sample_of_each_class_sends_nothing_twice(name: str) -> None:
    results = [one for share in shares({name: SAMPLES[name]}, SEED) for one in play(share)]
    assert {result.run.kind for result in results} == set(KINDS)
    broken = [(one.why, one.run.command, one) for one in results if one.outcome in BROKEN]
    assert broken == []
    if name == "kills":
        ends = Counter(result.ended for result in results)
        # Unless most runs are killed, the test proves little.
        assert ends["killed"] > len(results) / 2


def test_there_are_at_least_ten_thousand_runs() -> None:
    assert sum(sample(None, [*SUBJECTS]).values()) >= 10_000


def test_the_kills_cover_every_kind_at_every_point_under_every_fault() -> None:
    whole = {(kind, cut.point, cut.fault) for kind, cut in kills.matrix()}
    assert len(whole) == len(KINDS) * len(kills.POINTS) * len(kills.FAULTS)


@pytest.mark.parametrize("name", [*SUBJECTS])
def test_a_run_depends_only_on_class_seed_and_number(name: str) -> None:
    subject = SUBJECTS[name]
    runs = draws(subject, SEED, range(60))
    assert draws(subject, SEED, [41]) == [runs[41]]
    assert draws(subject, SEED + 1, range(60)) != runs


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "kills"])
def test_every_block_of_a_class_has_each_kind_once(name: str) -> None:
    assert {run.kind for run in draws(SUBJECTS[name], SEED, range(EACH, 2 * EACH))} == set(KINDS)


RUN = Run("proxy", SEED, 0, "wallet.create", None)
KEYED = RUN._replace(kind="crypto_transfer.create")
UNLISTED = RUN._replace(kind="payment_request.create")


@pytest.mark.parametrize(
    ("run", "ended", "steps", "outcome"),
    [
        (RUN, "done", [("done", 1)], "done, 1"),
        (RUN, "killed", [("sending", 0), ("unknown", 0)], "unknown, 0"),
        (RUN, "refused", [("refused", 0), ("refused", 0), ("done", 1)], "done, 1"),
        (RUN, "done", [("done", 2)], "DOUBLED"),
        (RUN, "done", [("done", 0)], "CALLED DONE"),
        (RUN, "Forbidden", [("refused", 1)], "CALLED REFUSED"),
        (RUN, "RateLimited", [("ready", 1), ("done", 1)], "CALLED REFUSED"),
        (RUN, "OverflowError", [("sending", 1), ("done", 1)], "LOST"),
        (RUN, "killed", [("sending", 1), ("sending", 1)], "LOST"),
        (KEYED, "OutcomeUnknown", [("unknown", 1), ("unknown", 1)], "LOST"),
        (UNLISTED, "OutcomeUnknown", [("unknown", 1), ("unknown", 1)], "unknown, 1"),
    ],
)
def test_a_run_is_judged_by_its_states_and_effects(
    run: Run, ended: str, steps: list[tuple[str, int]], outcome: str
) -> None:
    assert judge(run, ended, [Step(*step) for step in steps]).outcome == outcome


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ([("done", 1), ("ready", 1)], "done, 1"),
        ([("done", 2), ("done", 2)], "DOUBLED"),
        ([("done", 0), ("ready", 0)], "CALLED DONE"),
        ([("ready", 1), ("lapsed", 1)], "CALLED REFUSED"),
        ([("ready", 0), ("ready", 0)], "LOST"),
    ],
)
def test_copies_may_leave_outcomes_unknown_but_never_double_an_effect(
    steps: list[tuple[str, int]], outcome: str
) -> None:
    assert judge_copies(RUN, "done", [Step(*step) for step in steps]).outcome == outcome


def _through_proxy(kind: str, plan: proxy.Plan) -> Result:
    with open_company() as company, relayed_desk(company) as bench:
        return proxy.play(bench, Run("proxy", SEED, 0, kind, plan))


def test_a_proxy_that_forges_the_services_refusal_cannot_be_detected() -> None:
    forged = proxy.Plan(1, "shape", 400, writes=1, reads="pass", delay=0.0)
    result = _through_proxy("payment_request.create", forged)
    assert (result.steps[0], result.outcome) == (Step("refused", 1), "DOUBLED")


@pytest.mark.acceptance
def test_requests_repeated_by_a_proxy_are_not_counted_as_ours() -> None:
    twice = proxy.Plan(2, "passed on", 200, writes=1, reads="pass", delay=0.0)
    assert _through_proxy("company_wallet.create", twice).outcome == "beyond us"
    assert _through_proxy("crypto_transfer.create", twice).outcome == "done, 1"


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", ["crypto_transfer.create", "ramp_request.create"])
def test_only_one_of_several_processes_executes_an_action(cutter: kills.Cutter, kind: str) -> None:
    ended, effects = cutter.race(kind, 4)
    assert sorted(ended) == ["ActionRefused"] * 3 + ["done"]
    assert effects == 1


def test_an_unsent_create_without_key_is_executed_and_a_possibly_sent_one_is_not(
    cutter: kills.Cutter,
) -> None:
    def cut(point: str) -> Result:
        plan = kills.Cut(point, "none")
        return cutter.play(Run("kills", SEED, 0, "ramp_request.create", plan))

    never = cut("inside the first entry")
    assert (never.ended, never.steps[-1]) == ("killed", Step("done", 1))
    maybe = cut("before the request")
    assert (maybe.ended, maybe.steps) == ("killed", (Step("sending", 0), Step("unknown", 0)))
    adopted = cut("before the answer is read")
    assert adopted.steps == (Step("sending", 1), Step("done", 1))


def _frozen(point: str) -> pauses.PausePlan:
    return pauses.PausePlan(
        point, 1, minutes=60 * 60, fault="none", forgets=True, colleague="has it done anew",
        clocks="both go on", actions=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> Iterator[pauses.Bench]:
    with open_company() as company, pauses.enter(company) as bench:
        yield bench


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "wallet.create"])
@pytest.mark.parametrize("point", ["after the first entry", "before the request"])
def test_a_stopped_process_sends_nothing_that_was_redone_meanwhile(
    bench: pauses.Bench, kind: str, point: str
) -> None:
    plan = _frozen(point)
    result = pauses.play_frozen(bench, Run("frozen", SEED, 0, kind, plan))
    assert (result.ended, result.outcome) == ("ActionRefused", "done, 1")


def test_a_process_stopped_after_the_check_may_double_an_effect_and_this_is_reported(
    bench: pauses.Bench,
) -> None:
    kind = "crypto_transfer.create"
    plan = _frozen("after the last check")
    run = Run("frozen", SEED, 0, kind, plan)
    with pauses.wish(bench, run) as wish:
        assert pauses.execute_stopped(bench, wish) == "OutcomeUnknown"
        [first, anew] = wish.desk.actions.list()
        assert (first.state, anew.state, first.doubled != "") == ("done", "done", True)
        [row] = open_actions(wish.desk.actions.list()).to_pylist()
        assert (row["action_id"], row["state"]) == (first.id, "doubled")
        assert wish.effects() == 2


@pytest.mark.parametrize(("fenced", "outcome"), [(True, "done, 1"), (False, "DOUBLED")])
def test_a_sleep_doubles_an_effect_only_without_the_fence(
    bench: pauses.Bench, monkeypatch: pytest.MonkeyPatch, fenced: bool, outcome: str
) -> None:
    if not fenced:
        monkeypatch.setattr(SendingFence, "before_bytes", lambda *_: None)
    kind = "company_wallet.create"
    plan = _frozen("before")._replace(minutes=5)
    assert pauses.play_sleep(bench, Run("sleeps", SEED, 0, kind, plan)).outcome == outcome
