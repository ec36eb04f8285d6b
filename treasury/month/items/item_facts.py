"""The inputs of the list of open items: the month's reconciliation and other tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.tables.result_tables import Tables
from treasury.lake.commits import Commit
from treasury.month.clocks import CALENDAR, TARGET, Rail, rail_of
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON
from treasury.month.items.item_kinds import KINDS
from treasury.month.items.open_item import OpenItem
from treasury.month.reconciliation import Reconciliation

STALE_AFTER: Final = timedelta(days=3)
"""Services that were read longer ago than this are listed, but do not block."""
_LINE: Final = [
    "entry_id", "outcome", "booking_date", "amount", "currency", "direction", "counterparty_name",
    "reference", "expectation_id",
]  # fmt: skip


class Facts(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The inputs of the list of open items, each read once.

    `balances`, `late`, `ledger`, `books` and `actions` have the columns of BALANCES, LATE_ITEMS,
    LEDGER, BOOKS and ACTIONS; `coins`, `exposure` and `corrections` those of COINS, EXPOSURE_TOTALS
    and CORRECTIONS. `moved` are decisions with changed facts, as in STANDING. `synced_at` is when
    the services were last read, or None if never. `journal_problem` is why the journal does not
    verify, or empty. `are_services_used` is false for a company that has bank files alone.
    """

    r: Reconciliation
    zone: ZoneInfo
    balances: pa.Table
    synced_at: datetime | None
    ledger: pa.Table | None = None
    books: pa.Table | None = None
    late: pa.Table | None = None
    corrections: pa.Table | None = None
    moved: pa.Table | None = None
    actions: pa.Table | None = None
    coins: pa.Table | None = None
    exposure: pa.Table | None = None
    journal_problem: str = ""
    are_services_used: bool = True

    @property
    def expects_nothing(self) -> bool:
        """Whether no payment is expected on any account: only the services announce payments."""
        return not self.are_services_used

    @property
    def month(self) -> Month:
        """The month of the answer."""
        return self.r.month

    @cached_property
    def today(self) -> date:
        """The day of the question in the reporting time zone."""
        return self.r.as_of.astimezone(self.zone).date()

    @cached_property
    def differences(self) -> tuple[Mapping[str, Any], ...]:
        """The month's differences, read once for all kinds of items."""
        return tuple(self.r.differences.arrow.to_pylist())

    @cached_property
    def open_lines(self) -> pa.Table:
        """The unexplained lines up to the month's end, with the columns that items need."""
        both = (self.r.earlier_lines, self.r.lines)
        return pa.concat_tables([needing_a_person(lines.arrow).select(_LINE) for lines in both])

    @cached_property
    def candidate_pairs(self) -> tuple[tuple[str, str], ...]:
        """Open lines and the requests that they may pay, the likeliest pair first."""
        candidates = self.r.matches.candidates
        is_open = pc.is_in(candidates.arrow["entry_id"], self.open_lines["entry_id"])
        ranked = candidates.arrow.filter(is_open).sort_by(
            [("rank", "ascending"), ("entry_id", "ascending")]
        )
        with_expectation = self.open_lines.filter(pc.is_valid(self.open_lines["expectation_id"]))
        pairs = (
            zip(*(table[name].to_pylist() for name in ("entry_id", "expectation_id")), strict=True)
            for table in (with_expectation, ranked)
        )
        return tuple(pair for side in pairs for pair in side)

    @property
    def end(self) -> datetime:
        """The time at which the month ends."""
        return self.month.end(self.zone)

    def select(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Query the lake and return the rows; none if the answer has no lake."""
        basis = self.r.basis
        return [] if basis is None else basis.snapshot.select(query, params).to_pylist()

    @property
    def commit(self) -> Commit | None:
        """The commit of the lake behind the answer, or None."""
        return None if self.r.basis is None else self.r.basis.snapshot.commit

    @cached_property
    def is_stale(self) -> bool:
        """Whether the services were last read longer ago than STALE_AFTER."""
        return self.synced_at is not None and self.r.as_of - self.synced_at > STALE_AFTER

    def is_alike(self, other: Facts) -> bool:
        """Return whether `other` has the same facts, and so the same open items."""
        # Answers are compared by their tables.
        _, *beside = self.__struct_fields__
        return self.r.has_tables_of(other.r) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("today", "commit", "is_stale", *beside)
        )

    def day(self, instant: datetime | None) -> date | None:
        """Return the day of a time in the reporting time zone, or None."""
        return None if instant is None else instant.astimezone(self.zone).date()


def table_rows(table: pa.Table | None) -> list[dict[str, Any]]:
    """Return the rows of a table in the facts; none if the table is missing."""
    return [] if table is None else table.to_pylist()


def needing_a_person(lines: pa.Table) -> pa.Table:
    """Return the rows of a month's lines that need a person; classed lines are left out."""
    needs_a_person = pc.is_in(lines["outcome"], pa.array(NEEDS_A_PERSON, pa.string()))
    return lines.filter(pc.and_(needs_a_person, pc.is_null(lines["line_class"])))


def make_item(
    facts: Facts,
    kind: str,
    item_id: str,
    *,
    name: str,
    state: str,
    since: date | None,
    rail: Rail = CALENDAR,
    **others: Any,
) -> OpenItem:
    """Return an item; turn, blocking, step and command default to those of its kind.

    `item_id` is the subject, a colon and the subject's id.
    """
    words, (subject, _, subject_id) = KINDS[kind], item_id.partition(":")
    values = {name: getattr(words, name) for name in ("turn", "blocks", "next_step", "command")}
    return OpenItem(
        item_id=item_id,
        kind=kind,
        subject=subject,
        subject_id=subject_id,
        name=name,
        state=state,
        clock=rail.unit,
        **_beginning(facts, since, rail),
        **{**values, **others},
    )


def money_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's amount and currency, and the currency's payment rail."""
    currency = row["currency"]
    return {"rail": rail_of(currency), "amount": row["amount"], "currency": currency or ""}


def begun_on(facts: Facts, item: OpenItem, since: date | None) -> OpenItem:
    """Return the item with a different start day."""
    rail = TARGET if item.clock == TARGET.unit else CALENDAR
    return msgspec.structs.replace(item, **_beginning(facts, since, rail))


def _beginning(facts: Facts, since: date | None, rail: Rail) -> dict[str, Any]:
    """Return the month and day on which an item began, and its age in the days of its rail."""
    return {
        "month": str(Month.of(since or facts.month.last)),
        "since": since,
        "age": 0 if since is None else rail.between(since, facts.today),
    }
