"""The first screen's facts as data for programs, with the same figures and amounts as text."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from treasury.cli import treasury
from treasury.workspace import Workspace


def told(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(treasury, ["-w", str(folder), *arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    rows: list[dict[str, Any]] = json.loads(done.output)
    return rows


def test_the_facts_add_up_to_the_screen(month_end: Workspace) -> None:
    rows = told(month_end.folder, "status", "2026-10")
    items = month_end.open_items("2026-10")
    opened = [row for row in rows if row["fact"] == "open"]
    assert sum(row["items"] for row in opened) == len(items)
    assert sum(row["blocking"] for row in opened) == len(items.blocking)
    overdue = next(row for row in opened if row["name"] == "overdue")
    assert (overdue["amount"], overdue["currency"]) == ("40000.00", "EUR")
    lines = {row["name"]: row["items"] for row in rows if row["fact"] == "bank lines"}
    assert lines == month_end.reconcile("2026-10").counts()
    (fees,) = [row for row in rows if row["fact"] == "fees"]
    assert Decimal(fees["amount"]) == Decimal("1977.86")
    (close,) = [row for row in rows if row["fact"] == "close"]
    assert close["name"] == "open"
