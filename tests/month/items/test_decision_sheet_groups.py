"""A group of equal payments decided in one row of a sheet, as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from decision_sheets import choices_of, desk_in, fill_in

from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace

MONTH = "2026-10"


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TREASURY_USER", "anna")
    return desk_in(tmp_path / "desk", month_end)


@pytest.fixture
def sheet(desk: Workspace, tmp_path: Path) -> Path:
    return desk.exceptions_sheet(tmp_path / "october.xlsx", MONTH)


def group_choices(sheet: Path) -> dict[str, list[str]]:
    """Return the choices of three credits that fit three requests equally; the group is first."""
    choices = choices_of(sheet)
    return {name: of for name, of in choices.items() if of[0].startswith(ACTS["accept_group"])}


@pytest.mark.acceptance
def test_one_row_accepts_the_whole_group_each_for_its_own_request(
    desk: Workspace, sheet: Path
) -> None:
    choices = group_choices(sheet)
    (name, *_), group = choices, next(iter(choices.values()))[0]
    assert group.endswith(
        "3 payments fit as many requests equally: assigned by date, nothing tells them apart"
    )
    fill_in(sheet, {name: {"Decision": group, "Proposed by": "carla"}})
    plan = desk.decide(sheet, dry_run=True)
    assert {row.item_id: row.outcome for row in plan.planned} == dict.fromkeys(
        choices, "to be journaled"
    )
    assert plan.totals.to_pylist()[0]["items"] == 3
    assert desk.decide(sheet, agreed=plan).is_journaled
    decided = desk.matches.list().to_arrow().to_pylist()
    assert {f"line:{row['entry_id']}" for row in decided} == set(choices)
    assert len({row["expectation_id"] for row in decided}) == 3
    assert {(row["verb"], row["proposed_by"]) for row in decided} == {("accept", "carla")}
    again = desk.decide(sheet)
    assert [row.outcome for row in again.verdicts] == ["stands already"]


@pytest.mark.acceptance
def test_the_choice_filled_down_over_all_rows_is_the_same_decision(
    desk: Workspace, sheet: Path
) -> None:
    fill_in(sheet, {name: {"Decision": of[0]} for name, of in group_choices(sheet).items()})
    plan = desk.decide(sheet)
    assert [row.outcome for row in plan.verdicts] == ["to be journaled"] * 3
    assert len(desk.journal.entries("match.accept")) == 3


@pytest.mark.first_case
@pytest.mark.parametrize("place", [0, 2])
def test_a_row_that_decides_a_line_otherwise_refuses_the_group(
    desk: Workspace, sheet: Path, place: int
) -> None:
    choices = group_choices(sheet)
    names = list(choices)
    other = names.pop(place)
    group = {names[0]: {"Decision": choices[names[0]][0]}}
    fill_in(sheet, {**group, other: {"Decision": ACTS["ignore"], "Reason": "the bank erred"}})
    plan = desk.decide(sheet)
    refused = [row for row in plan.refused if row.act == "accept_group"]
    assert {row.item_id for row in refused} == set(names)
    assert all("decides a line of this group differently" in row.why for row in refused)
    assert [entry.kind for entry in desk.journal.entries("match.")] == ["match.ignore"]


@pytest.mark.acceptance
def test_a_group_with_a_line_decided_meanwhile_is_refused(desk: Workspace, sheet: Path) -> None:
    choices = group_choices(sheet)
    first, *_, last = choices
    desk.matches.ignore(last.removeprefix("line:"), reason="the bank erred")
    fill_in(sheet, {first: {"Decision": choices[first][0]}})
    plan = desk.decide(sheet)
    assert [row.outcome for row in plan.verdicts] == ["refused"]
    assert desk.journal.entries("match.accept") == []
