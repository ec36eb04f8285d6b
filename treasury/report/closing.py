"""A month as its close shows it: the answer with all that the checklist and the report stand on.

Made anew it rests on what is known now; of a month that is closed, on what its close pinned. Both
give the same `Closing`, so that checklist, page, workbook and pack know no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.journal import Journal
from treasury.journal.chain import Head
from treasury.journal.periods import Period, closed_periods
from treasury.journal.turns import read_decided
from treasury.lake import Lake
from treasury.reconcile.late import LATE_ITEMS, late_items
from treasury.reconcile.monthly import Reconciliation
from treasury.reconcile.periods import Examined, basis_of, decided_before, examine
from treasury.reconcile.rollforward import ITEMS, ROLL_FORWARD
from treasury.report.balances import month_balances
from treasury.report.evidence import Fingerprint, fingerprints
from treasury.report.fees import Fees, fees_of
from treasury.report.ledger import LedgerComparison
from treasury.report.provided import LedgerFile, compare_with, journaled_ledger
from treasury.report.verdict import Verdict, synced_at, verdict
from treasury.report.waits import funding_waits
from treasury.report.words import title_words
from treasury.tabular import Tabular

__all__ = ["Closing", "Rolled", "closed_month", "closing_of", "found_of"]


class Rolled(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What a month's close knows from the months before it, and of later changes.

    `roll_forward` and `items` as in ROLL_FORWARD and ITEMS, `late` as in LATE_ITEMS; `moved` are
    lines decided on facts that have changed; `head` is the journal's end that all rests on.
    """

    roll_forward: pa.Table = msgspec.field(default_factory=ROLL_FORWARD.empty_table)
    items: pa.Table = msgspec.field(default_factory=ITEMS.empty_table)
    late: pa.Table = msgspec.field(default_factory=LATE_ITEMS.empty_table)
    moved: tuple[str, ...] = ()
    decisions: int = 0
    head: Head | None = None


class Closing(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A month's answer, its balances and verdict, and what was rolled forward.

    `balances` as in BALANCES, `waits` as in FUNDING_TIMES, `sql` the query of the outcomes.
    `period` is the close that locked it, None while it is open.
    """

    r: Reconciliation
    zone: ZoneInfo
    balances: pa.Table
    waits: pa.Table
    verdict: Verdict
    synced_at: datetime | None
    rolled: Rolled
    period: Period | None = None
    ledger: LedgerComparison | None = None
    ledger_file: LedgerFile | None = None

    @property
    def sql(self) -> str:
        """The query behind the outcomes; `r.sql(STEP)` is that of a step."""
        return self.r.matches.sql

    def sheets(self) -> Mapping[str, pa.Table]:
        """Balances, roll-forward and its items, what came late; the answer is in `r`."""
        return {
            "Balances": self.balances,
            "Roll-forward": self.rolled.roll_forward,
            "Open items": self.rolled.items,
            "Late items": self.rolled.late,
        }

    def __repr__(self) -> str:
        return f"<Close of {title_words(self.r, self.zone)}>"

    @cached_property
    def fees(self) -> Fees:
        """The month's fees."""
        return fees_of(self.r)

    @cached_property
    def marks(self) -> tuple[Fingerprint, ...]:
        """The hashes of the answer's tables, its query and its rules."""
        return fingerprints(self.r)


def closing_of(
    r: Reconciliation,
    zone: ZoneInfo,
    rolled: Rolled | None = None,
    *,
    period: Period | None = None,
    ledger: LedgerFile | None = None,
) -> Closing:
    """The month of an answer, its balances and verdict worked out once."""
    balances = month_balances(r, zone)
    return Closing(
        r=r,
        zone=zone,
        balances=balances,
        waits=funding_waits(r, zone),
        verdict=verdict(r, zone, balances),
        synced_at=synced_at(r),
        rolled=rolled or Rolled(),
        period=period,
        ledger=None if ledger is None else compare_with(r, ledger, balances),
        ledger_file=ledger,
    )


def found_of(
    found: Examined,
    zone: ZoneInfo,
    *,
    period: Period | None = None,
    ledger: LedgerFile | None = None,
) -> Closing:
    """The month as it was examined."""
    rolled = Rolled(
        roll_forward=found.roll_forward.totals,
        items=found.roll_forward.items,
        late=late_items(found.seen, closed_periods(found.decided.entries)),
        moved=found.moved,
        decisions=len(found.decided.entries),
        head=found.decided.head,
    )
    return closing_of(found.answer, zone, rolled, period=period, ledger=ledger)


def closed_month(journal: Journal, lake: Lake, period: Period) -> Closing:
    """A closed month, made again from its pinned commit and the journal up to its close."""
    basis = basis_of(journal, lake, period)
    found = examine(journal, lake, basis, decided_before(journal, period))
    ledger = journaled_ledger(read_decided(journal).entries, period)
    return found_of(found, basis.question.zone, period=period, ledger=ledger)
