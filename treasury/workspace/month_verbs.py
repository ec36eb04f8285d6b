"""The verbs of a month: reconciled, shown, valued, its fees, its books, and its close."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from treasury.core.calendar import Month, Months
from treasury.core.errors import InputError, NothingStored
from treasury.workspace.payment_verbs import WorkspacePayments
from treasury.workspace.stores import Span

if TYPE_CHECKING:
    import pyarrow as pa

    from treasury.close.checklist import Checklist
    from treasury.close.closing import Closing
    from treasury.close.ledger.transit_bridge import TransitBridge
    from treasury.close.valuation.coins.coin_accounts import CoinAccounts
    from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
    from treasury.core.tables.table import Table
    from treasury.core.text import Screen
    from treasury.month.reconciliation import Reconciliation
    from treasury.report import ClosePack, Fees, Tied
    from treasury.report.accounting_files import ExportedBooks
    from treasury.report.pack.pack_verification import Verified


_ANSWERS: Final[Mapping[str, Callable[[Closing], Table]]] = {
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
"""The tables of a month that a query may read, by name."""
_READ: Final = re.compile(r'\b(?:from|join)\s+"?([a-z_]+)')
"""The tables that a query names."""
_AWAITING: Final = "awaiting_funds"


class WorkspaceMonths(WorkspacePayments):
    """The workspace as it answers for a month."""

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        month: str | Month | None = None,
    ) -> Table:
        """Run one SELECT over the stored tables and the answers for a month.

        The answers are bank_lines, earlier_lines, virtual_account_credits, in_transit,
        differences, internal_transfers, conversions, open_items, balances, roll_forward,
        fee_requests, and awaiting_funds, which is of now. They have the columns that they have as
        a Table. Without a month it is the last one that has ended. Raises QueryError.

        >>> t.sql("SELECT state, sum(signed_amount) FROM open_items GROUP BY state")
        >>> t.sql("SELECT * FROM bank_lines JOIN ramp_requests ON expectation_id = id")
        """

        def answer_of(name: str) -> Callable[[], pa.Table]:
            if name == _AWAITING:
                return lambda: self.awaiting_funds().to_arrow()
            return lambda: _ANSWERS[name](self.periods.month(month)).to_arrow()

        read = _READ.findall(query.casefold())
        named = [name for name in (*_ANSWERS, _AWAITING) if name in read]
        snapshot = self.snapshot().beside({name: answer_of(name) for name in named})
        return self._rows(snapshot.sql(query, params), query, as_stored=True)

    def reconcile(
        self,
        month: str | Month | None = None,
        *,
        engine: Any = None,
        into: str | Path | None = None,
    ) -> Reconciliation:
        """Reconcile a month: each bank line in one outcome, and what waits, is missing or due.

        Without a month it is the last one that has ended. A closed month is given as it was closed,
        whatever became known since (`periods.late`). Raises NothingStored.

        `engine` is a Spark session or its address, or "duckdb"; without it what `[engine]` says.
        Spark reads the lake's files in place and writes everything matched to the folder or schema
        `into`, if one is named; the answer is the same.
        """
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
                "into: DuckDB writes nothing; its answer holds everything that was matched",
                do="name an engine, or leave `into` out",
            )
        period = self.month(month)
        decided = read_decided(self.journal, until=self.as_of, verdicts=False)
        periods = closed_periods(decided.entries)
        is_closed = str(period) in periods
        if is_closed and not is_on_spark:
            return self.periods.month(period).r
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
            return worked_out(basis).answer
        from treasury.month.spark.spark_lake import LakeOnCluster
        from treasury.month.spark.spark_month import month_on_spark

        folder = self.folder / "spark"
        lake = LakeOnCluster(self.lake.folder, None if settings is None else settings.lake)
        return month_on_spark(
            basis, engine=engine, into=into, folder=folder, token=token, lake=lake
        )

    def status(self, month: str | Month | None = None, *, width: int | None = None) -> Screen:
        """The first screen, for the month given or else the last one that has ended.

        Of a month of which nothing is stored it says what is not known, and the step to take.
        `width` is how many columns there are, where they may be few.
        """
        from treasury.core.text import Screen
        from treasury.report import SERVICES_ADD, first_screen, unknown_screen

        try:
            closing = self.periods.month(month)
        except NothingStored as missing:
            question = self.question(self.month(month))
            has_services = self.settings.services is not None
            screen = unknown_screen(
                question, self.snapshot(), why=missing.what, has_services=has_services
            )
        else:
            report = self.folder / "close" / str(closing.r.month) / "report.html"
            written = report if report.is_file() else None
            late = 0 if closing.period is None else len(self.periods.late(closing.r.month))
            screen = first_screen(closing, report=written, width=width, late=late)
        if self.settings.services is None:
            screen = f"{screen}\nNOT SET UP  {SERVICES_ADD}"
        return Screen(screen)

    def facts(self, month: str | Month | None = None) -> Table:
        """The facts of the first screen as rows, for a program; amounts in their currency."""
        from treasury.report.screen import screen_facts

        return self._rows(screen_facts(self.periods.month(month)))

    def _synced_month(self, month: str | Month | None) -> Closing:
        from treasury.month.reconciliation import require_synced

        require_synced(self.snapshot())
        return self.periods.month(month)

    def transit_bridge(self, month: str | Month | None = None) -> TransitBridge:
        """Money in transit by the report, the journal and the roll-forward, row by row."""
        return self._synced_month(month).bridge

    def fees(self, months: Span = None, *, calculate: bool = False) -> Fees:
        """Fees of the requests completed in a month or in several, each in its own currency.

        Several are written "2026-07..2026-10". With `calculate` the service's calculator is asked
        for each fee, one request at a time, and what it says is marked so. Raises NothingStored
        where the services were never read.

        Each request has what its conversion cost by the reference rates beside the fee: values,
        `cost`, `stated_fee` and `reference_difference` in `value_currency`, or why there is none in
        `not_valued`. `costs.by_pair` sums them, with what virtual accounts converted. `gas.by_use`
        is what company wallets paid for gas, `gas.each` that of each request and transfer.
        """
        from treasury.month.reconciliation import require_synced
        from treasury.report import calculated_fees, fees_between, fees_of

        require_synced(self.snapshot())
        if months is None or isinstance(months, Month):
            span = Months(self.month(months), self.month(months))
        else:
            span = Months.parse(months if isinstance(months, str) else "..".join(map(str, months)))
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
        """Hold the provider's invoice, a CSV file, against the fees of a month or several.

        Its columns are reference (or a request's id), fee, currency and, where there is any, vat.
        """
        from treasury.report import tie_invoice

        return tie_invoice(self.fees(months), Path(file))

    def accounting(self, month: str | Month | None = None) -> ExportedBooks:
        """The month as double entry: postings that balance, for the books.

        `write_csv(FILE)` and `write_beancount(FILE)` hand it over, by the company's own accounts
        where a mapping file is named; `mapping()` is one to fill in.
        """
        from treasury.close.ledger.accounting import accounting
        from treasury.report.accounting_files import export_books

        closing = self.periods.month(month)
        books = accounting(
            closing.r, closing.zone, closing.rolled.corrections.arrow, closing.coin_books
        )
        return export_books(books)

    def coins(self, month: str | Month | None = None) -> CoinAccounts:
        """Coins at the month's end: what measured ones are carried at, what others are worth."""
        return self._synced_month(month).coins

    def exposure(self, month: str | Month | None = None) -> ProviderExposure:
        """All our money that stands with the provider at a month's end, or now while it lasts."""
        return self._synced_month(month).exposure

    def confirmation_letter(self, path: str | Path, month: str | Month | None = None) -> Path:
        """Write the letter by which the provider confirms that, as HTML to print.

        Raises NothingStored, InputError where the file is there already, StorageError where it
        cannot be written.
        """
        from treasury.report.confirmation_letter import write_letter

        return write_letter(self.exposure(month), Path(path))

    def checklist(self, month: str | Month | Closing | None = None) -> Checklist:
        """What has to be true before a month is locked, what is, and what blocks.

        A month that `periods.month` gave keeps the ledger that it was compared with.

        >>> t.checklist("2026-10")
        """
        from treasury.close.checklist import checklist
        from treasury.close.closing import Closing

        return checklist(month if isinstance(month, Closing) else self.periods.month(month))

    def close(
        self,
        month: str | Month | None = None,
        folder: str | Path | None = None,
        *,
        sign: bool = False,
        ledger: str | Path | None = None,
        pdf: bool = False,
        notebook: bool = False,
    ) -> ClosePack:
        """Prepare the month, or with `sign` lock it as a second person, and write its pack.

        Without a month it is the last one that has ended; `folder` defaults to `close/<month>`.
        Where something blocks the month is not prepared, and `note` of what is returned says why;
        its pack is then a draft. A closed month's pack is made again from what it was closed on,
        the same whatever became known since. `ledger` is a CSV file of account, currency and
        balance to compare, when the month is prepared; `pdf` prints the report beside it, by
        Chromium; `notebook` leaves the close's notebook there, run by papermill.
        """
        import msgspec

        from treasury.lake.store.disk import link_refused
        from treasury.report import write_close
        from treasury.report.pack.close_notebook import require_papermill
        from treasury.report.pack.pdf_printing import require_browser

        # What is not installed is said before a month is locked.
        if pdf:
            require_browser()
        if notebook:
            require_papermill()
        month = self.month(month)
        packs = self.folder / "close"
        if folder is None and packs.is_symlink():
            raise link_refused(packs)
        target = packs / str(month) if folder is None else Path(folder)
        ledger_file, note = None if ledger is None else Path(ledger), ""
        if sign and ledger_file is not None:
            raise InputError(
                "the ledger is given when a month is prepared, not when it is signed",
                do="leave it out; what was prepared is signed",
            )
        if sign:
            closing = self.periods.sign(month)
        elif self.is_closed(month):
            closing = self.periods.month(month, ledger=ledger_file)
        elif self.as_of is not None:  # a draft of what was known then, whatever was prepared
            month_then = self.periods.month(month, ledger=ledger_file)
            closing = msgspec.structs.replace(month_then, preparation=None)
        else:
            prepared = self.periods.prepare_or_show(month, ledger=ledger_file)
            closing = prepared.closing
            note = "" if prepared.refusal is None else str(prepared.refusal)
        workspace = self.folder if notebook else None
        return write_close(closing, target, pdf=pdf, notebook=workspace, note=note)

    def verify_pack(self, folder: str | Path) -> Verified:
        """Hold a pack against this workspace: its pinned commit, its journal, its own inputs."""
        from treasury.report.pack.pack_verification import verify_with

        return verify_with(Path(folder), self.journal, self.lake)
