"""The workspace's method for cash: what every account holds, and what is expected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored
from treasury.core.money import EXPONENTS
from treasury.workspace.close_verbs import WorkspaceClose

if TYPE_CHECKING:
    from treasury.close.cash.cash_answer import Cash
    from treasury.core.tables.table import Table
    from treasury.matching.input_tables import TableLike


class WorkspaceCash(WorkspaceClose):
    """The method of `Workspace` for cash."""

    def cash(
        self,
        days: int = 14,
        *,
        in_currency: str | None = None,
        flows: TableLike | Sequence[Mapping[str, Any]] | None = None,
    ) -> Cash:
        """Return the cash position now, and the forecast of the next days from what is known.

        Parameters
        ----------
        days
            The number of calendar days, today included; from 60 on, the forecast is by week.
        in_currency
            A currency in which the totals are valued too, by the reference rates.
        flows
            The company's own flows: a CSV file, a table, a DataFrame or a list of rows with date,
            amount (negative for money out) and currency, and optionally account, text, every
            (week, month, quarter, year), until and if_closed (next, previous). Default: the file
            flows.csv of the workspace, if there is one.

        Returns
        -------
        Cash
            `funds` has the totals per currency: own banks proved to a day, own wallets, held by the
            provider, in transit, not proved. `position` has the accounts behind them, `forecast`
            each day's balance, `flows` the known flows, `floors` the accounts with a floor. Amounts
            are in their own currency.

        Raises
        ------
        InputError
            If the number of days, the currency or a row of the flows is invalid.
        StatementError
            If the currency of a movement cannot be known.

        Examples
        --------
        >>> t.cash().funds
        >>> t.cash(30, in_currency="EUR").values
        >>> t.cash(flows="flows.csv").forecast.where(is_lowest=True)
        """
        from treasury.close.cash.cash_answer import cash_of
        from treasury.close.cash.own_flows import kept_flows, read_flows
        from treasury.rates import ReferenceRates
        from treasury.workspace.morning import positions_at

        code = None if in_currency is None else in_currency.strip().upper()
        if code is not None and code not in EXPONENTS:
            raise InputError(
                f"{in_currency!r:.20} is not a currency", do="write a code such as EUR"
            )
        accounts, zone, now = self.settings.accounts, self.settings.zone, self.now()
        own = kept_flows(self.folder, accounts) if flows is None else read_flows(flows, accounts)
        month = Month.of(now.astimezone(zone).date())
        try:
            r = self.reconcile(month)
        # Without stored lines and services, the declared accounts are shown as not read.
        except NothingStored:
            r = None
        snapshot = self.snapshot()
        positions = positions_at(self, r, now)
        rates = None
        if code is not None:
            rates = ReferenceRates.of(snapshot, self.question(month).rules.coins_at_par)
        return cash_of(
            positions,
            r,
            snapshot,
            accounts,
            now=now,
            zone=zone,
            days=days,
            own=own,
            rates=rates,
            in_currency=code,
        )

    def _current_answers(self) -> dict[str, Callable[[], Table]]:
        answered: list[Cash] = []

        def answer() -> Cash:
            # A query may read several of the tables.
            if not answered:
                answered.append(self.cash())
            return answered[0]

        return {
            **super()._current_answers(),
            "cash_position": lambda: answer().position,
            "cash_flows": lambda: answer().flows,
            "cash_forecast": lambda: answer().forecast,
        }
