"""The workspace's method for cash: what every account holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.core.calendar import Month
from treasury.core.errors import NothingStored
from treasury.workspace.month_verbs import WorkspaceMonths

if TYPE_CHECKING:
    from treasury.close.cash.cash_answer import Cash


class WorkspaceCash(WorkspaceMonths):
    """The method of `Workspace` for cash."""

    def cash(self) -> Cash:
        """Return the cash position now, per account and currency.

        Returns
        -------
        Cash
            `funds` has the totals per currency: own banks proved to a day, own wallets, held by the
            provider, in transit, not proved. `position` has the accounts behind them. Amounts are
            in their own currency.

        Raises
        ------
        StatementError
            If the currency of a movement cannot be known.

        Examples
        --------
        >>> t.cash().funds
        """
        from treasury.close.cash.cash_answer import Cash
        from treasury.close.cash.position import funds, position

        now, zone = self.now(), self.settings.zone
        try:
            r = self.reconcile(Month.of(now.astimezone(zone).date()))
        # Without stored lines and services, the declared accounts are shown as not read.
        except NothingStored:
            r = None
        held = position(
            self.snapshot(),
            self.settings.accounts,
            r,
            now=now,
            zone=zone,
            uses_services=self.settings.services is not None,
        )
        return Cash(at=now, zone=zone, position=held, funds=funds(held))
