"""Answers that leave settled records out, compared with matching everything."""

from __future__ import annotations

from typing import Any

from treasury.month.reconciliation import Reconciliation

MORE = ("bank_cutoffs", "excess_lines")
"""Tables of an answer that have no sheet."""


def outcomes(answer: Reconciliation) -> dict[str, dict[str, Any]]:
    return {row["entry_id"]: row for row in answer.matches.lines.arrow.to_pylist()}


def require_alike(
    part: Reconciliation, full: Reconciliation, settled: dict[str, str | None]
) -> None:
    """Check that two answers are the same, and that they match unsettled lines in the same way."""
    for name, table in {**full.sheets(), **{name: getattr(full, name) for name in MORE}}.items():
        ours = getattr(part, name) if name in MORE else part.sheets()[name]
        assert ours.arrow.equals(table.arrow), name
    for name in ("lines", "candidates", "allocations"):
        mine, theirs = (unsettled_rows(answer, name, settled) for answer in (part, full))
        assert mine == theirs, name
    states = {row["expectation_id"]: row for row in full.matches.expectations.arrow.to_pylist()}
    for row in part.matches.expectations.arrow.to_pylist():
        assert row == states[row["expectation_id"]]


def unsettled_rows(
    answer: Reconciliation, name: str, settled: dict[str, str | None]
) -> list[dict[str, Any]]:
    """Return a matching's rows for the lines that are not settled, sorted."""
    rows = getattr(answer.matches, name).arrow.to_pylist()
    return sorted((row for row in rows if row["entry_id"] not in settled), key=str)
