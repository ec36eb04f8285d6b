"""A month closed by other models is shown as its close stored it, with a note."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from other_models import other_models

from treasury.close.checklist import checklist
from treasury.core.errors import JournalError, WorkspaceDamaged
from treasury.lake.home.heads import CLOSES
from treasury.workspace import Workspace


def totals(rows: list[dict[str, Any]], column: str) -> dict[tuple[str, str], Decimal]:
    return {(row["kind"], row["currency"]): row[column] for row in rows if row[column]}


@pytest.mark.acceptance
def test_a_month_of_other_models_is_shown_as_stored(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Workspace(unpacked / "desk").periods.month("2026-10")
    other_models(monkeypatch)
    desk = Workspace(unpacked / "desk")
    verified = str(desk.periods.verify("2026-10"))
    assert "closed by an earlier version of the models; verified by what it stored" in verified
    month = desk.periods.month("2026-10")
    for name in ("lines", "earlier_lines", "in_transit", "fee_totals"):
        assert getattr(month.r, name).arrow.equals(getattr(before.r, name).arrow), name
    assert month.balances.arrow.equals(before.balances.arrow)
    assert month.rolled.items.arrow.equals(before.rolled.items.arrow)
    assert "verified by what it stored" in str(checklist(month))
    opened = desk.periods.roll_forward("2026-11").totals.arrow.to_pylist()
    closed = desk.periods.closing(desk.periods.get("2026-10")).to_pylist()
    assert totals(opened, "opening") == totals(closed, "closing")


@pytest.mark.acceptance
def test_equal_models_with_another_result_are_an_error(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Workspace(unpacked / "desk")
    journaled = desk.periods.get("2026-10").close.models
    other_models(monkeypatch, version=journaled)
    with pytest.raises(JournalError, match="2026-10 cannot be reproduced"):
        Workspace(unpacked / "desk").periods.verify("2026-10")


def test_an_altered_stored_result_is_named(frozen: Path) -> None:
    folder = frozen / "desk"
    name = Workspace(folder).periods.get("2026-10").close.name
    path = folder / CLOSES / name / "balances.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WorkspaceDamaged, match=r"balances\.parquet, stored by the close"):
        Workspace(folder).periods.verify("2026-10")
    (found,) = (f for f in Workspace(folder).doctor().findings if f.topic == "closed months")
    assert (found.state, str(path) in found.what) == ("damaged", True)
