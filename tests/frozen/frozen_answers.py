"""The results of the frozen desk that every later version must give too."""

from __future__ import annotations

from typing import Any

from treasury.workspace import Workspace

MONTHS = ("2026-10", "2026-11")


def answers(desk: Workspace) -> dict[str, Any]:
    """Return both months' lines, open items and fees, October's closing and all actions."""
    return {
        "lines": {month: _lines(desk, month) for month in MONTHS},
        "open_items": {month: _items(desk, month) for month in MONTHS},
        "closing": sorted(
            f"{row['kind']} {row['currency']} {row['closing']}"
            for row in desk.periods.closing(desk.periods.get("2026-10")).to_pylist()
        ),
        "fees": {
            month: sorted(str(sorted(row.items())) for row in _rows(desk.fees(month).totals.arrow))
            for month in MONTHS
        },
        "actions": {action.id: [action.kind, action.state] for action in desk.actions.list()},
    }


def _lines(desk: Workspace, month: str) -> dict[str, list[str]]:
    facts = ("outcome", "expectation_id", "tier", "reason", "matched_amount", "amount", "currency")
    rows = _rows(desk.reconcile(month).lines.arrow)
    return {row["entry_id"]: [str(row[fact]) for fact in facts] for row in rows}


def _items(desk: Workspace, month: str) -> dict[str, list[str]]:
    facts = ("kind", "state", "amount", "currency", "turn", "blocks", "owner")
    rows = _rows(desk.open_items(month).arrow)
    return {row["item_id"]: [str(row[fact]) for fact in facts] for row in rows}


def _rows(table: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
