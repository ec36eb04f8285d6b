"""`t.periods`: the closes of months as they are stored, after the steps that lead to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.late_items import late_items
from treasury.close.period_pins import (
    basis_of,
    journaled_roll_forward,
    reconcile,
    roll_forward_of,
)
from treasury.close.roll_forward import ROLL_FORWARD, RollForward
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.journal.period_history import (
    Close,
    Period,
    closed_periods,
    period_history,
    preparations,
)
from treasury.month.reconciliation import Reconciliation, require_synced
from treasury.month.standing_knowledge import run_knowledge
from treasury.workspace.month_periods import MonthSteps
from treasury.workspace.stores import month_of

if TYPE_CHECKING:
    from treasury.close.closing import VerifiedMonth


class Periods(MonthSteps):
    """The closes of months: prepare, sign, withdraw, reopen, list and verify them."""

    def list(self) -> Table:
        """List all closes, and the preparations that await a signature.

        Returns
        -------
        Table
            One row per close or preparation: the people, the times, and the pinned data.

        Examples
        --------
        >>> t.periods.list()
        """
        entries = self._workspace.decided().entries
        rows = [_row(period.close, period) for period in period_history(entries)]
        rows += [_row(each.close, None) for each in preparations(entries).values()]
        return Table(
            pa.Table.from_pylist(rows, schema=_PERIODS), zone=self._workspace.settings.zone
        )

    def get(self, month: str | Month) -> Period:
        """Return the close of a month.

        Parameters
        ----------
        month
            The month.

        Returns
        -------
        Period
            The close.

        Raises
        ------
        InputError
            If the month is not closed.

        Examples
        --------
        >>> t.periods.get("2026-10").close
        """
        period = closed_periods(self._workspace.decided().entries).get(str(month_of(month)))
        if period is None:
            raise InputError(
                f"{month_of(month)} is not closed", do="close it, or choose another month"
            )
        return period

    def answer(self, month: str | Month) -> Reconciliation:
        """Return a closed month's reconciliation, recomputed from its pinned data.

        Parameters
        ----------
        month
            The month.

        Returns
        -------
        Reconciliation
            The lines and outcomes; amounts in the currency of the account.

        Raises
        ------
        InputError
            If the month is not closed.

        Examples
        --------
        >>> t.periods.answer("2026-10").lines
        """
        t = self._workspace
        return reconcile(basis_of(t.journal, t.lake, self.get(month).close))

    def verify(self, month: str | Month) -> VerifiedMonth:
        """Verify a closed month against the hashes in its close.

        Parameters
        ----------
        month
            The month.

        Returns
        -------
        VerifiedMonth
            The month. If it was closed with another version of the models, it was compared with the
            stored results, as stated in a note.

        Raises
        ------
        InputError
            If the month is not closed.
        JournalError
            If the month differs from its close.
        WorkspaceDamaged
            If the stored results were changed.

        Examples
        --------
        >>> t.periods.verify("2026-10")
        """
        from treasury.close.closing import verify_period

        t = self._workspace
        return verify_period(t.journal, t.lake, self.get(month))

    def closing(self, period: Period) -> pa.Table:
        """Return the roll-forward stored in a close's journal entry; columns as in ROLL_FORWARD."""
        rows = journaled_roll_forward(period.close)
        return pa.Table.from_pylist(rows, schema=ROLL_FORWARD)

    def roll_forward(self, month: str | Month) -> RollForward:
        """Return the month's open items from opening to closing, as known now.

        Parameters
        ----------
        month
            The month.

        Returns
        -------
        RollForward
            The totals and each request; amounts in their currency.

        Raises
        ------
        NothingStored
            If the services were never read, because the open items are then unknown.

        Examples
        --------
        >>> t.periods.roll_forward("2026-10")
        """
        t = self._workspace
        require_synced(t.snapshot(), uses_services=t.settings.services is not None)
        return roll_forward_of(t.lake, self._basis(month), self._workspace.decided())

    def late(self, month: str | Month | None = None) -> Table:
        """List facts about closed months that became known after their close.

        Parameters
        ----------
        month
            Only facts about this month; default: about all closed months.

        Returns
        -------
        Table
            One row per fact, with the month in which it is posted.

        Examples
        --------
        >>> t.periods.late("2026-10")
        """
        entries = self._workspace.decided().entries
        knowledge = run_knowledge(self._basis(self._workspace.this_month))
        items = late_items(knowledge, closed_periods(entries), entries)
        if month is not None:
            items = items.filter(pc.equal(items["month"], str(month)))
        return Table(items, zone=self._workspace.settings.zone)


_PERIODS = grouped_schema(
    (pa.string(), "month", "state"),
    (pa.timestamp("us", tz="UTC"), "closed_at"),
    (pa.string(), "prepared_by", "reviewed_by"),
    (pa.bool_(), "signed_alone"),
    (pa.int64(), "open_items", "commit"),
    (pa.string(), "rules_hash"),
    (pa.timestamp("us", tz="UTC"), "reopened_at"),
    (pa.string(), "reopened_by", "reopen_reason"),
)


def _row(close: Close, period: Period | None) -> dict[str, Any]:
    state = "prepared" if period is None else "closed" if period.is_closed else "reopened"
    row = {
        "month": close.month,
        "state": state,
        "prepared_by": close.prepared_by,
        "reviewed_by": None if close.alone else close.reviewed_by or None,
        "signed_alone": close.alone,
        "open_items": sum(item["items"] for item in close.open_items),
        "commit": close.commit,
        "rules_hash": close.rules_hash,
    }
    if period is None:
        return row
    return row | {
        "closed_at": period.closed_at,
        "reopened_at": period.reopened_at,
        "reopened_by": period.reopened_by or None,
        "reopen_reason": period.reopen_reason or None,
    }
