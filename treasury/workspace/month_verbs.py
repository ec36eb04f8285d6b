"""The workspace's month methods: reconciliation, status, fees, valuation, accounting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from treasury.core.calendar import Month, Months
from treasury.core.errors import InputError, NothingStored, QueryError
from treasury.workspace.payment_verbs import WorkspacePayments
from treasury.workspace.stores import Span

if TYPE_CHECKING:
    import pyarrow as pa

    from treasury.close.closing import Closing
    from treasury.close.ledger.transit_bridge import TransitBridge
    from treasury.close.valuation.coins.coin_accounts import CoinAccounts
    from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
    from treasury.core.tables.table import Table
    from treasury.month.reconciliation import Reconciliation
    from treasury.report import Fees, Tied
    from treasury.report.accounting_files import ExportedBooks
    from treasury.report.screens import Status
    from treasury.report.screens.morning_status import Morning


ANSWERS: Final[Mapping[str, Callable[[Closing], Table]]] = {
    "bank_lines": lambda closing: closing.r.lines,
    "earlier_lines": lambda closing: closing.r.earlier_lines,
    "virtual_account_credits": lambda closing: closing.r.virtual_accounts,
    "in_transit": lambda closing: closing.r.in_transit,
    "differences": lambda closing: closing.r.differences,
    "internal_transfers": lambda closing: closing.r.internal_transfers,
    "conversions": lambda closing: closing.r.conversions,
    "open_items": lambda closing: closing.items.table,
    "balances": lambda closing: closing.balances,
    "roll_forward": lambda closing: closing.rolled.roll_forward,
    "fee_requests": lambda closing: closing.fees.requests,
}
"""The tables with a month's results that queries may read."""
_READ: Final = re.compile(r'\b(?:from|join)\s+"?([a-z_]+)')


def _notes_of(query: str, answers: Mapping[str, Table]) -> list[str]:
    """Return the notes about texts that a query compares with columns of a month's results.

    Raise QueryError for a text that is not a code of its column. A text is only checked if one
    result alone can have the column, because columns of stored tables have the services' own codes.
    """
    from treasury.core.tables import duckdb_engine, query_checks
    from treasury.core.tables.table import text_note

    if not answers:
        return []
    with duckdb_engine.connect(one_thread=True) as connection:
        compared = list(query_checks.compared_texts(connection, query))
    return [
        note
        for tables, column, text in compared
        if len(tables) == 1 and tables[0] in answers
        if (note := text_note(answers[tables[0]], column, text))
    ]


class WorkspaceMonths(WorkspacePayments):
    """The methods of `Workspace` for a month."""

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        month: str | Month | None = None,
    ) -> Table:
        """Run one SELECT over the stored tables and the results of a month.

        Parameters
        ----------
        query
            The query. In addition to the stored tables it may read the month's bank_lines,
            earlier_lines, virtual_account_credits, in_transit, differences, internal_transfers,
            conversions, open_items, balances, roll_forward and fee_requests, and the current
            awaiting_funds, cash_position, cash_flows and cash_forecast.
        params
            Values of the query's parameters, as a list or a dictionary.
        month
            The month; default: the last one that ended.

        Returns
        -------
        Table
            The rows; amounts are exact decimals.

        Raises
        ------
        QueryError
            If the query is invalid.

        Examples
        --------
        >>> t.sql("SELECT state, sum(signed_amount) FROM open_items GROUP BY state")
        """
        if isinstance(params, str | Month):
            raise QueryError(
                "the second argument of sql has the values of the query",
                do=f"write month={str(params)!r} for a month, or a list of values",
            )

        current = self._current_answers()

        @cache
        def answer(name: str) -> Table:
            if name in current:
                return current[name]()
            return ANSWERS[name](self.periods.month(month))

        def answer_of(name: str) -> Callable[[], pa.Table]:
            return lambda: answer(name).to_arrow()

        read = _READ.findall(query.casefold())
        answers = (*ANSWERS, *current)
        tables = {name: answer_of(name) for name in answers if name in read}
        rows = self.snapshot().beside(tables, answers).sql(query, params)
        notes = _notes_of(query, {name: answer(name) for name in tables})
        return self._rows(
            rows, query, as_stored=True, queried=read, extent="selection", notes=notes
        )

    def _morning(self) -> Morning:
        from treasury.workspace.morning import morning_of

        return morning_of(self)

    def _current_answers(self) -> dict[str, Callable[[], Table]]:
        """Return the functions of the answers that have no month: they are as of now."""
        return {"awaiting_funds": self.awaiting_funds}

    def reconcile(
        self,
        month: str | Month | None = None,
        *,
        engine: Any = None,
        into: str | Path | None = None,
    ) -> Reconciliation:
        """Reconcile a month: one outcome for each bank line, and missing and due payments.

        Parameters
        ----------
        month
            The month; default: the last one that ended. For a closed month, the result is the one
            of its close, without later facts (`periods.late`).
        engine
            A Spark session, its address, or "duckdb"; default: `[engine]` in the settings. Spark
            reads the files of the lake directly; the month's tables are the same.
        into
            A folder or schema to which Spark writes all results of matching.

        Returns
        -------
        Reconciliation
            The lines and their outcomes, amounts in the currency of the account. `lines` has all
            accounts and own transfers; for the net of one account, group `signed_amount` by
            `statement_account`.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.
        InputError
            If the month has not begun, or `into` is given without Spark.

        Examples
        --------
        >>> t.reconcile("2026-10").lines
        """
        from msgspec.structs import replace

        from treasury.close.balances import balances_table
        from treasury.journal.decision_history import MATCH, decision_table, standing
        from treasury.journal.decision_log import read_decided
        from treasury.journal.period_history import closed_periods
        from treasury.month.decisions.file_debits import in_force
        from treasury.month.decisions.remark_rows import remark_table
        from treasury.month.reconciliation import Basis, worked_out
        from treasury.month.settle.settled_months import ClosedMonths

        settings, token = self.settings.engine, None
        if engine is None and settings is not None:
            self.require_confirmed("engine")
            engine, token = settings.address, settings.secret()
        is_on_spark = engine is not None and engine != "duckdb"
        if into is not None and not is_on_spark:
            raise InputError(
                "into: only Spark writes tables; DuckDB's result contains all matches",
                do="name an engine, or omit `into`",
            )
        period = self.month(month)
        decided = read_decided(self.journal, until=self.as_of, verdicts=False)
        periods = closed_periods(decided.entries)
        is_closed = str(period) in periods
        if is_closed and not is_on_spark:
            closing = self.periods.month(period)
            return replace(closing.r, balances_of=lambda _: closing.balances)
        if is_closed:
            from treasury.close.period_pins import basis_of

            basis = basis_of(self.journal, self.lake, periods[str(period)].close)
        else:
            closed, snapshot = None, self.snapshot()
            if self.as_of is None:
                closed = ClosedMonths.before(period, periods.values(), self.folder)
            judged = filter(decided.covers, self.journal.entries(MATCH))
            verdicts = in_force(snapshot, decided.entries, decision_table(standing(judged)))
            question, remarks = self.question(period), remark_table(decided)
            basis = Basis(snapshot, question, verdicts, remarks, closed)
        if not is_on_spark:
            return replace(worked_out(basis).answer, balances_of=balances_table)
        from treasury.month.spark.spark_lake import LakeOnCluster
        from treasury.month.spark.spark_month import month_on_spark

        folder = self.folder / "spark"
        lake = LakeOnCluster(self.lake.folder, None if settings is None else settings.lake)
        answer = month_on_spark(
            basis, engine=engine, into=into, folder=folder, token=token, lake=lake
        )
        return replace(answer, balances_of=balances_table)

    def status(self, month: str | Month | None = None) -> Status:
        """Return the first screen: what is open now or, with a month, the state of that month.

        Parameters
        ----------
        month
            The month; default: none, for the morning's screen of everything that is open now.

        Returns
        -------
        Status
            At most 24 lines of 100 columns in a terminal, tiles in a notebook. `lists` has the
            open items of each row by the row's name. Amounts are in their own currency. If nothing
            is stored, the screen says so.

        Raises
        ------
        InputError
            If the month is invalid or has not begun.

        Examples
        --------
        >>> print(t.status())
        >>> t.status("2026-10").lists["suggested"].table
        """
        from treasury.report.screens import Status, month_screen, morning_screen

        if month is None:
            return morning_screen(self._morning())
        try:
            closing = self.periods.month(month)
        except NothingStored as missing:
            from treasury.report.screen import unknown_screen

            question = self.question(self.month(month))
            screen = unknown_screen(question, self.snapshot(), why=missing.what)
            return Status(screen.splitlines())
        report = self.folder / "close" / str(closing.r.month) / "report.html"
        written = report if report.is_file() else None
        late = 0 if closing.period is None else len(self.periods.late(closing.r.month))
        return month_screen(closing, report=written, late=late)

    def facts(self, month: str | Month | None = None) -> Table:
        """Return the facts that `status` shows, as rows.

        Parameters
        ----------
        month
            The month; default: none, for what is open now.

        Returns
        -------
        Table
            One row per fact; amounts in their currency.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.facts("2026-10")
        """
        from treasury.report.screen import morning_facts, screen_facts

        if month is None:
            return self._rows(morning_facts(self._morning()))
        return self._rows(screen_facts(self.periods.month(month)))

    def _synced_month(self, month: str | Month | None) -> Closing:
        from treasury.month.reconciliation import require_synced

        require_synced(self.snapshot(), uses_services=self.settings.services is not None)
        return self.periods.month(month)

    def transit_bridge(self, month: str | Month | None = None) -> TransitBridge:
        """Compare the money in transit according to the report, the postings and the roll-forward.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        TransitBridge
            The three amounts of each request, credit or transfer, and the reason why they differ.

        Raises
        ------
        NothingStored
            If the services were never read.

        Examples
        --------
        >>> t.transit_bridge("2026-10")
        """
        return self._synced_month(month).bridge

    def fees(self, months: Span = None, *, calculate: bool = False) -> Fees:
        """Return the fees of the requests completed in one or several months.

        Parameters
        ----------
        months
            A month, or a range like "2026-07..2026-10"; default: the last month that ended.
        calculate
            True to ask the service's calculator for each fee; calculated fees are marked.

        Returns
        -------
        Fees
            Fees in their own currency. Each request also has its conversion cost at the reference
            rates, in `value_currency`: `cost`, `stated_fee` and `reference_difference`. If it has
            none, `not_valued` states the reason. `costs.by_pair` and `gas.by_use` are totals,
            `gas.each` has one row per gas payment.

        Raises
        ------
        NothingStored
            If the services were never read.

        Examples
        --------
        >>> t.fees("2026-07..2026-10").totals
        """
        from treasury.month.reconciliation import require_synced
        from treasury.report import calculated_fees, fees_between, fees_of

        require_synced(self.snapshot(), uses_services=self.settings.services is not None)
        if months is None or isinstance(months, Month):
            span = Months(self.month(months), self.month(months))
        else:
            both = "..".join(map(str, months)) if isinstance(months, tuple | list) else str(months)
            span = Months.parse(both)
        r = self.reconcile(span.last)

        def earlier() -> list[Reconciliation]:
            return [self.reconcile(month) for month in span if month != span.last]

        def report(calculated: Mapping[str, Decimal] | None = None) -> Fees:
            if span.first == span.last:
                return fees_of(r, calculated=calculated)
            zone = self.settings.zone
            return fees_between(
                self.snapshot(), r, span.first, zone, calculated=calculated, earlier=earlier
            )

        if not calculate:
            return report()
        self._require_now("ask the calculator")
        service = self.client(self._first_credential()).ramp.fees
        return report(
            calculated_fees(
                report(),
                lambda amount, way: service.calculate(amount=amount, ramp_type=way).value.amount,
            )
        )

    def tie_invoice(self, file: str | Path, months: Span = None) -> Tied:
        """Compare the provider's invoice with the fees of one or several months.

        Parameters
        ----------
        file
            A CSV file with the columns reference (or a request's id), fee, currency and,
            optionally, vat.
        months
            As in `fees`.

        Returns
        -------
        Tied
            `lines` has one row per invoice line, and per recorded fee that the invoice lacks, with
            the difference in `currency`.

        Raises
        ------
        InputError, NothingStored
            If the invoice is invalid; if the services were never read.

        Examples
        --------
        >>> t.tie_invoice("invoice.csv", "2026-10").agrees
        """
        from treasury.report import tie_invoice

        return tie_invoice(self.fees(months), Path(file))

    def accounting(self, month: str | Month | None = None) -> ExportedBooks:
        """Return the month as double entry: balanced postings for the ledger.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        ExportedBooks
            The postings. `write_csv(FILE)` and `write_beancount(FILE)` write them, with the
            company's ledger accounts if a mapping file is given; `mapping()` is a template of that
            file.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.accounting("2026-10").write_csv("journal.csv")
        """
        from treasury.close.ledger.accounting import accounting
        from treasury.report.accounting_files import export_books

        closing = self.periods.month(month)
        books = accounting(
            closing.r, closing.zone, closing.rolled.corrections.arrow, closing.coin_books
        )
        return export_books(books)

    def coins(self, month: str | Month | None = None) -> CoinAccounts:
        """Return the coins at the month's end: carrying amounts if measured, else values.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        CoinAccounts
            Quantities in coins, amounts in EUR.

        Raises
        ------
        NothingStored
            If the services were never read.

        Examples
        --------
        >>> t.coins("2026-10").coins
        """
        return self._synced_month(month).coins

    def exposure(self, month: str | Month | None = None) -> ProviderExposure:
        """Return our balances with the provider at a month's end or, in the current month, now.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        ProviderExposure
            Amounts in their currency, and their values in EUR.

        Raises
        ------
        NothingStored
            If the services were never read.

        Examples
        --------
        >>> t.exposure("2026-10").totals
        """
        return self._synced_month(month).exposure

    def confirmation_letter(self, path: str | Path, month: str | Month | None = None) -> Path:
        """Write a letter that asks the provider to confirm our balances, as HTML to print.

        Parameters
        ----------
        path
            The new file.
        month
            The month; default: the last one that ended.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        NothingStored
            If the services were never read.
        InputError
            If the file already exists.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> t.confirmation_letter("letter.html", "2026-10")
        """
        from treasury.report.confirmation_letter import write_letter

        return write_letter(self.exposure(month), Path(path))
