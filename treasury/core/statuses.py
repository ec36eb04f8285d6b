"""The statuses of both services' records, from `statuses.csv`.

`ends` is `done` or `undone` for a final status, and empty for others. A BLOCKED record may
continue, so BLOCKED is not final. A status that is missing from the file is treated as open, and
reported.
"""

from __future__ import annotations

from typing import Final

from treasury.core.files.package_files import package_rows

_ROWS: Final = package_rows("treasury.core", "statuses.csv")


def _statuses(record: str, *ends: str) -> frozenset[str]:
    return frozenset(r["status"] for r in _ROWS if r["record"] == record and r["ends"] in ends)


REQUEST_KNOWN: Final = _statuses("ramp request", "", "done", "undone")
REQUEST_FINAL: Final = _statuses("ramp request", "done", "undone")
"""Final statuses of a ramp request."""
REQUEST_UNDONE: Final = _statuses("ramp request", "undone")
"""Statuses of a ramp request that ended without its conversion."""
TRANSFER_KNOWN: Final = _statuses("transfer", "", "done", "undone")
TRANSFER_FINAL: Final = _statuses("transfer", "done", "undone")
"""Final statuses of a transfer."""
