"""`treasury decide`, if killed, has journaled the whole sheet or nothing; a rerun completes it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from decision_sheets import choices_of, desk_in, fill_in
from thorough import examples

from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

MONTH = "2026-10"
STEPS = Path(__file__).with_name("killed_decide.py")


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_a_process_killed_at_any_write_point_journals_the_whole_sheet_or_nothing(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = desk_in(tmp_path / "desk", month_end)
    sheet = desk.exceptions_sheet(tmp_path / "october.xlsx", MONTH)
    choices = choices_of(sheet)
    items = desk.open_items(MONTH)
    typed = {
        item.item_id: {"Decision": ACTS["ignore"], "Reason": "the bank erred"}
        for item in items.select(kind="no_reference")
    }
    for item in items.select(kind="overdue"):
        typed[item.item_id] = {"Decision": ACTS["marked_sent"], "Reason": "sent by hand"}
    suggested = items.select(kind="needs_decision").items[0]
    typed[suggested.item_id] = {"Decision": choices[suggested.item_id][0], "Reason": "it is his"}
    fill_in(sheet, typed)
    before = desk.journal.head().seq

    def decided(*points: int) -> list[int]:
        words = [sys.executable, STEPS, desk.folder, sheet, *points]
        done = subprocess.run(
            list(map(str, words)), check=True, capture_output=True, text=True, input=""
        )
        return [int(line) for line in done.stderr.split("\n") if line.lstrip("-").isdigit()]

    assert decided() == [0]
    count = int(Path(f"{desk.folder}.points").read_text())
    assert count > 8
    points = sorted({*range(0, count, examples(count, 1)), count - 1})
    assert decided(*points) == [-signal.SIGKILL] * len(points)
    journaled = []
    for point in points:
        copy = Workspace(Path(f"{desk.folder}-{point}"))
        entries = copy.journal.verify().seq - before
        assert entries in {0, len(typed)}, point
        journaled.append(entries > 0)
        again = copy.decide(sheet)
        expected = "stands already" if entries else "to be journaled"
        assert {verdict.outcome for verdict in again.verdicts} == {expected}, point
        assert copy.journal.verify().seq - before == len(typed), point
    # All decisions are journaled at one point, and none before it.
    assert journaled == sorted(journaled)
    assert not journaled[0]
