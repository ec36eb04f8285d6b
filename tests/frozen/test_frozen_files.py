"""A desk of an earlier commit takes files; a late one is in the pack of the next month."""

from __future__ import annotations

from pathlib import Path

import pytest

from treasury.journal import Actor
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")


@pytest.mark.acceptance
def test_a_file_of_a_closed_month_is_late_and_in_the_next_pack(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Workspace(frozen / "desk")
    (late,) = desk.items.attach(
        "step:statements", b"%PDF-1.7", file_name="late.pdf", month="2026-10", actor=ANNA
    ).arrow.to_pylist()
    assert late["late"]
    # The closed month and its pack stay as they were.
    assert not len(desk.periods.month("2026-10").rolled.attachments)
    assert desk.verify_pack(desk.folder / "close" / "2026-10").holds
    monkeypatch.setenv("TREASURY_USER", "bert")
    pack = desk.close("2026-11", sign=True).folder
    assert [path.name for path in (pack / "attachments").iterdir()] == [f"{late['sha256']}.pdf"]
    assert "late: 2026-10 was closed" in (pack / "report.html").read_text()
    assert desk.verify_pack(pack).holds
