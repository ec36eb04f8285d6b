"""A workspace with closed months: leaving out settled records does not change a later answer."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path

import pytest
from decide_desk import ANNA, clock_at, copy_of, double, october
from settled_answers import outcomes, require_alike
from signed import close_month

from treasury.month.reconciliation import Reconciliation, worked_out
from treasury.month.settle.settled_months import ClosedMonths
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

NOVEMBER, LATER = "2026-11-20T08:00:00+00:00", "2026-11-21T08:00:00+00:00"


@pytest.fixture(scope="module")
def closed(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk on 20 November with two closed months and a later line; tests copy it."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("settled") / "desk")
    for month in ("2026-09", "2026-10"):
        close_month(desk, month)
    later = clock_at(desk, NOVEMBER)
    double(later, october(later)[0]["entry_id"], booking_date=date(2026, 11, 5))
    return later


@pytest.fixture
def desk(closed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a copy, one day later, with its closed months settled although they are small."""
    monkeypatch.setattr(ClosedMonths, "before", partial(ClosedMonths.before, least=1))
    copied = copy_of(closed, tmp_path / "desk")
    assert not left_out(copied), "this run settles"
    return clock_at(copied, LATER)


def in_full(answer: Reconciliation) -> Reconciliation:
    """Return the answer to the same question with everything matched."""
    assert answer.basis is not None
    return worked_out(answer.basis).answer


def left_out(desk: Workspace, month: str = "2026-11") -> set[str]:
    """Return the lines that a month's answer leaves out, after comparing it with a full one."""
    answer = desk.reconcile(month)
    full = in_full(answer)
    part, whole = outcomes(answer), outcomes(full)
    out = whole.keys() - part.keys()
    rejoined = {entry for entry, row in part.items() if row["reason"] == "accepted: settled"}
    for entry in rejoined:
        for column in ("outcome", "expectation_id", "matched_amount"):
            assert part[entry][column] == whole[entry][column]
    require_alike(answer, full, dict.fromkeys(out | rejoined))
    return out


@pytest.mark.acceptance
def test_an_open_month_after_closed_ones_has_the_same_answer(desk: Workspace) -> None:
    out = left_out(desk)
    assert out, "something of September or October is settled"
    line = min(out)
    desk.matches.ignore(line, reason="late", actor=ANNA)
    assert line not in left_out(desk)
    assert desk.trace(line).hops, "a settled line is traced as ever"
    assert len(desk.matches.open())


@pytest.mark.acceptance
def test_a_reopened_month_settles_no_records(desk: Workspace) -> None:
    assert left_out(desk)
    desk.periods.reopen("2026-10", "a statement was wrong", actor=ANNA)
    assert not left_out(desk)


@pytest.mark.acceptance
def test_under_other_rules_everything_is_matched(desk: Workspace) -> None:
    assert left_out(desk)
    (desk.folder / "rules.toml").write_text("window_days = 20\n", "utf-8")
    assert not left_out(Workspace(desk.folder))


@pytest.mark.acceptance
def test_a_closed_month_has_the_same_answer_regardless_of_its_settled_records(
    closed: Workspace,
) -> None:
    for month in ("2026-09", "2026-10"):
        assert closed.periods.verify(month).answer.month
