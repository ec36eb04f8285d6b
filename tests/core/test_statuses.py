"""The services' statuses are declared once; SQL that repeats them agrees."""

from __future__ import annotations

import re
from pathlib import Path

from treasury.core.statuses import REQUEST_FINAL, REQUEST_KNOWN, REQUEST_UNDONE, TRANSFER_FINAL

PACKAGE = Path(__file__).parents[2] / "treasury"
LIST = re.compile(r"status\w*\)? (?:NOT )?IN (\([^()]*\))")
UNDONE_OR_BLOCKED = REQUEST_UNDONE | {"BLOCKED"}


def test_every_list_of_final_statuses_in_sql_is_a_declared_one() -> None:
    declared = {REQUEST_UNDONE, REQUEST_FINAL, UNDONE_OR_BLOCKED}
    listed = {
        (path.name, frozenset(re.findall(r"'(\w+)'", statuses)))
        for path in PACKAGE.rglob("*.sql")
        for statuses in re.findall(
            r"status\w*\)? (?:NOT )?IN (\([^()]*\))", path.read_text("utf-8")
        )
        if "'DENIED'" in statuses or "'CANCELLED'" in statuses
    }
    assert len(listed) >= 5
    assert {name for name, statuses in listed if statuses not in declared} == set()


def test_a_blocked_request_is_not_final() -> None:
    assert "BLOCKED" in REQUEST_KNOWN - REQUEST_FINAL
    assert {"COMPLETED", "FAILED"} == TRANSFER_FINAL
