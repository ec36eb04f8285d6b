"""The states of requests, lines, transfers, credits, actions, limits and findings, in one table.

`states.csv` has a row for each state that a source uses: its word on screen, the kind of its open
item, the kind after the due date, the due date that applies (ours, the service's or the bank's),
and whether the request may be paid. `items/item_kinds.csv` adds to each kind who acts next, whether
it blocks a close and what to do.
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
    """A state of a record, by the code that its source uses.

    `late_kind` is the kind of open item after the due date, if it differs from `kind`.
    """

    source: Source
    state: str
    screen: str
    kind: str
    late_kind: str
    clock: Clock
    payable: Literal["yes", "no"]

    def kind_at(self, *, is_late: bool) -> str:
        """Return the kind of the open item, which may change after the due date."""
        return self.late_kind if is_late and self.late_kind else self.kind


_ROWS: Final = tuple(convert(row, State) for row in package_rows("treasury.month", "states.csv"))


def states_of(source: Source) -> dict[str, State]:
    """Return the states of a source by their codes."""
    return {row.state: row for row in _ROWS if row.source == source}


FUNDING_STATES: Final = states_of("funding")
"""The states of requests that wait for their funds."""
PAYABLE: Final = frozenset(row.state for row in FUNDING_STATES.values() if row.payable == "yes")
"""The states in which a request may be paid."""


def waiting_on(clock: Clock) -> frozenset[str]:
    """Return the request states in which this side's due date applies."""
    return frozenset(row.state for row in FUNDING_STATES.values() if row.clock == clock)
