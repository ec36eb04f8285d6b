"""Helpers for lines that look like a match but must not be matched."""

from __future__ import annotations

from typing import Any

from match_tables import OWN, expectation, line, match, outcome

LONG, SHORT, NEXT = "PAY-2026-004417", "PAY-2026-00441", "PAY-2026-004418"
ACCOUNT_CODE = "VFY-8M3T-407"
PAYER = {"counterparty_account": "DE02120300000000202051"}

Row = dict[str, Any]


def standing(name: str, code: str, **more: Any) -> Row:
    """Return a virtual account, which expects any amount."""
    return expectation(name, code, kind="virtual_bank_account", account=OWN, **more)


def request(name: str, code: str, amount: str | None = None, **more: Any) -> Row:
    return expectation(name, code, amount, account=OWN, **more)


def left_open(lines: list[Row], expectations: list[Row], entry_id: str = "a") -> Row:
    """Check that a line is not matched, and return its outcome."""
    line_outcome = outcome(match(lines, expectations), entry_id)
    assert line_outcome["outcome"] in {"suggested", "conflict", "unreferenced"}, line_outcome
    assert line_outcome["matched_amount"] is None
    return line_outcome


def all_left_open(texts: list[str], amount: str, expectations: list[Row], *before: Row) -> None:
    """Check that no line from `PAYER` with one of these texts is matched."""
    rows = [line(f"a{n}", amount, text, 9, **PAYER) for n, text in enumerate(texts)]
    matches = match([*before, *rows], expectations)
    for row, text in zip(rows, texts, strict=True):
        line_outcome = outcome(matches, row["entry_id"])
        assert line_outcome["outcome"] in {"suggested", "conflict", "unreferenced"}, (
            text,
            line_outcome,
        )


def cut(text: str, length: int, filler: str = "invoice of last month ") -> str:
    """Put filler before the text, so that it ends at this length as if it were cut off there."""
    before = (filler * 10)[: length - len(text) - 1].rstrip()
    return f"{before:x<{length - len(text) - 1}} {text}"
