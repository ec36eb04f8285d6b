"""The states of requests, lines, transfers, credits, actions, limits and findings: one table.

`states.csv` has a row for each state as its source writes it: its word on screen, the kind of open
item that it makes (`items/item_kinds.csv` says whose move that is, whether it blocks a close and
what to do), the kind once it is late, whose clock runs, and whether it may be paid.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_rows

Source = Literal[
    "funding", "order", "difference", "doubt", "status", "line", "conversion", "transfer", "action",
    "balance", "limit", "finding",
]  # fmt: skip
Clock = Literal["ours", "bank's", "service's", ""]


class State(msgspec.Struct, frozen=True):
    """A state as its source writes it; `late_kind` is the kind past its time, if that differs."""

    source: Source
    state: str
    screen: str
    kind: str
    late_kind: str
    clock: Clock
    payable: Literal["yes", "no"]

    def kind_at(self, *, is_late: bool) -> str:
        """Return the kind of open item, in time or past it."""
        return self.late_kind if is_late and self.late_kind else self.kind


_ROWS: Final = tuple(convert(row, State) for row in package_rows("treasury.month", "states.csv"))


def states_of(source: Source) -> dict[str, State]:
    """Return the states that a source writes, by their codes."""
    return {row.state: row for row in _ROWS if row.source == source}


FUNDING_STATES: Final = states_of("funding")
"""The states of requests that wait for their funds."""
PAYABLE: Final = frozenset(row.state for row in FUNDING_STATES.values() if row.payable == "yes")
"""The states in which a request may be paid."""


def waiting_on(clock: Clock) -> frozenset[str]:
    """Return the states of requests in which one side's clock runs."""
    return frozenset(row.state for row in FUNDING_STATES.values() if row.clock == clock)
