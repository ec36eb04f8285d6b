"""The one object that an analyst holds: a folder with its settings, its lake and its journal.

`t = treasury.open()` and every verb of the desk hangs on `t`. Libraries are imported by the verb
that needs them, so that opening costs nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treasury.core.calendar import Month, Months, parse_instant
from treasury.core.errors import InputError, NothingStored, NoticeError, SettingsError
from treasury.core.files.access import keep_to_group, keep_to_user
from treasury.core.files.state_folder import user_path
from treasury.core.settings import (
    FILE_NAME,
    JournalPlace,
    Services,
    Settings,
    is_pinned,
    load_settings,
    pin_environment,
    place_of,
    settings_for_colleagues,
)
from treasury.core.settings.confirmed_addresses import Ask, confirm_first_use, require_confirmed
from treasury.core.settings.secret_routes import HUB_API

if TYPE_CHECKING:
    import pyarrow as pa

    from treasury.actions import Actions
    from treasury.api import Client
    from treasury.close.checklist import Checklist
    from treasury.close.closing import Closing
    from treasury.close.coins.agreed_measurement import Measurement
    from treasury.close.coins.coin_accounts import CoinAccounts
    from treasury.close.exposure.exposure_limits import ExposureLimits
    from treasury.close.exposure.provider_exposure import ProviderExposure
    from treasury.close.ledger.transit_bridge import TransitBridge
    from treasury.core.text import Screen
    from treasury.decisions.comparison import Comparison
    from treasury.decisions.remarks import Marking
    from treasury.decisions.rule_changes import Changing
    from treasury.decisions.verdicts import Deciding
    from treasury.desk.doctor import Examination
    from treasury.desk.files.bank_statements import Statements
    from treasury.desk.files.company_wallets import WalletProofs
    from treasury.desk.files.rate_desk import RateDesk
    from treasury.desk.inbox import Inbox
    from treasury.desk.month_periods import Periods
    from treasury.desk.people import DecisionDesk
    from treasury.desk.watch import PartState, WatchedPart
    from treasury.extract import Progress, SyncReport
    from treasury.items import Carrying, Effects, Limits, OpenItems, SheetPlan
    from treasury.journal import Actor, Journal, Signing
    from treasury.journal.decision_history import Decision, Remark
    from treasury.lake import Lake, Snapshot
    from treasury.lake.home.lake_home import LakeHome
    from treasury.notices import NoticeDesk
    from treasury.panels import Panels
    from treasury.reconcile import Question, Reconciliation, Rows, Rules
    from treasury.report import ClosePack, Fees, Tied
    from treasury.report.accounting_files import ExportedBooks
    from treasury.report.pack.pack_verification import Verified
    from treasury.statements import Withdrawal
    from treasury.trace.payment_trace import Trace

_Span = str | Month | tuple[str | Month, str | Month] | None
_DEFAULT = Path("data") / "workspace"
RULES_FILE = "rules.toml"


def find_workspace(start: Path | None = None) -> Path:
    """The workspace's folder: $TREASURY_WORKSPACE, else the nearest one here or further up.

    A folder is a workspace when it holds `treasury.toml`; `data/workspace` is looked into on the
    way. Where there is none, it is `data/workspace` of the project that `start` is in, else below
    `start`.
    """
    variable = os.environ.get("TREASURY_WORKSPACE")
    if variable:
        return Path(variable)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for candidate in (folder, folder / _DEFAULT):
            if (candidate / FILE_NAME).is_file():
                return candidate
    project = (
        folder for folder in (start, *start.parents) if (folder / "pyproject.toml").is_file()
    )
    return next(project, start) / _DEFAULT


def open_workspace(folder: str | Path | None = None) -> Workspace:
    """Open a workspace; SettingsError says what to do where there is none."""
    return Workspace(Path(folder) if folder is not None else find_workspace())


class Workspace:
    """A treasury desk on disk.

    Verbs: `sync`, `statements.add`, `reconcile`, `awaiting_funds`, `trace`, `fees`, `accounting`,
    `coins`, `exposure`, `confirmation_letter`, `close`, `sql`, `status`, `at`, `compare`,
    `matches`, `funding`, `rules`, `items`, `limits`, `measurement`, `exposure_limits`,
    `exceptions_sheet`, `decide`, `periods`, `panels`.
    Months are written "2026-10", instants "2026-11-01T09:00Z". Without a month a verb is about the
    last one that has ended; NothingStored where nothing of it is known.
    """

    def __init__(
        self, folder: Path, *, as_of: datetime | None = None, ask: Ask | None = None
    ) -> None:
        self.folder = folder
        self._ask = ask
        self.settings: Settings = load_settings(folder)
        if self.settings.workspace.shared:
            keep_to_group(folder)
        else:
            keep_to_user()
        self._as_of = as_of
        self._clients: dict[str, Client] = {}
        self._readers: dict[str, Client] = {}
        self._has_told = False

    def __repr__(self) -> str:
        desk = self.settings.workspace
        return f"<treasury workspace {self.folder}: {desk.company}, {desk.environment}>"

    # What the world told us

    @cached_property
    def lake(self) -> Lake:
        """The tables, for whoever writes a verb of their own."""
        from treasury.extract import TABLES as SERVICE_TABLES
        from treasury.lake import CLOSE_OF, Lake
        from treasury.rates import TABLES as RATE_TABLES
        from treasury.statements import TABLES as STATEMENT_TABLES

        def closed_on() -> dict[int, str]:
            """The commits that closed months rest on, and those that wait for a signature."""
            from treasury.journal.period_history import closed_periods, preparations

            entries = self.journal.entries("period.")
            closes = [prepared.close for prepared in preparations(entries).values()]
            closes += [period.close for period in closed_periods(entries).values()]
            return {close.commit: f"the {CLOSE_OF}{close.month}" for close in closes}

        def ever_closed_on() -> frozenset[int]:
            from treasury.journal.period_history import commits_of_closes

            return commits_of_closes(self.journal.entries("period."))

        return Lake(
            self.folder,
            (*SERVICE_TABLES, *STATEMENT_TABLES, *RATE_TABLES),
            rests_on=closed_on,
            rested_on=ever_closed_on,
            tell=_tell,
            home=self._home(),
        )

    def _home(self) -> LakeHome | None:
        """The home that the lake is shared through; None where it is shared with nobody."""
        place = self.settings.lake
        if place is None:
            return None
        from treasury.desk.home_signatures import HomeSignatures
        from treasury.lake.home.lake_home import LakeHome

        address = place.home
        if "://" not in address:
            address = os.path.abspath(self.folder / user_path(address))
        return LakeHome(
            address,
            self.folder / "lake",
            environment=place_of(self.settings),
            settings=settings_for_colleagues(self.settings),
            signatures=HomeSignatures(self._signing),
        )

    def snapshot(self) -> Snapshot:
        """The last commit of the lake, or the records as known at this workspace's instant.

        Beside it stand the journaled answers to creates that no endpoint lists again.
        """
        from treasury.desk.responses import RESPONSES, responses

        def answered(name: str) -> Callable[[], pa.Table]:
            return lambda: responses(self.journal, name, self._as_of)

        # Decisions about commits that are not pulled yet are named once.
        if self.settings.lake is not None and self._as_of is None and not self._has_told:
            from treasury.desk.home_health import unpulled_decisions

            self._has_told = True
            if unpulled := unpulled_decisions(self.lake, self.journal):
                _tell(f"{unpulled}: run `treasury lake pull`")
        snapshot = self.lake.snapshot(self._as_of)
        return snapshot.beside({name: answered(name) for name in RESPONSES})

    def at(self, instant: str | datetime) -> Workspace:
        """The same workspace as it was known at `instant`; it reads and does not write."""
        return Workspace(self.folder, as_of=_instant(instant), ask=self._ask)

    def sync(
        self,
        *,
        tables: Iterable[str] | None = None,
        since: date | str | None = None,
        full: bool = False,
        details: int | None = None,
        credential: str | None = None,
        progress: Progress | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> SyncReport:
        """Pull what both services know into the lake, in one commit.

        `tables` names the only ones to look at; `since` lists again what was created from that day
        on; `full` compares everything, settled records too, and reports the drift; `details` limits
        how many older settled requests are read in detail. Reads with the first credential of the
        settings, or the one named. While the services are asked, other work may write to the
        workspace, and `meanwhile` is called about each second. Raises ServiceError, SettingsError
        or StorageError; what was stored before stays as it was.
        """
        from treasury.extract import Scope, sync

        self._require_now("sync")
        self._require_services()
        pinned = is_pinned(self.folder, self.settings)
        scope = Scope(
            tables=None if tables is None else frozenset(tables),
            since=date.fromisoformat(since) if isinstance(since, str) else since,
            full=full,
            details=details,
        )
        client = self.client(credential or self._first_credential())
        if not pinned:
            client.require_answers()
        confirm_first_use(self.folder, self.settings)
        pin_environment(self.folder, self.settings)
        bars = progress or self._progress()
        return self.lake.again(
            lambda: sync(
                client,
                self.lake,
                self.settings.now(),
                scope=scope,
                progress=bars,
                meanwhile=meanwhile,
            ),
            "treasury sync",
        )

    def watch(
        self,
        *,
        every: timedelta,
        wait: Callable[[float], bool],
        tell: Callable[[PartState], None],
        credential: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Sync every so often, read the inbox and send notices, until `wait` says to stop.

        `wait` is given seconds and says whether to end, `tell` hears how each part went. Raises
        SettingsError where there is nothing to watch, else what ended the last part that was left.
        """
        from treasury.desk.watch import watch

        self._require_now("watch")
        watch(
            self._watched(every, credential, progress),
            self.folder,
            now=self.settings.now,
            seconds=time.monotonic,
            wait=wait,
            tell=tell,
        )

    def _watched(
        self, every: timedelta, credential: str | None, progress: Progress | None
    ) -> list[WatchedPart]:
        """The parts of a watch, by what the settings name: sync, inbox, notices."""
        from treasury.desk.watch import SYNC, WatchedPart

        def sync(meanwhile: Callable[[], None]) -> str:
            report = self.sync(credential=credential, progress=progress, meanwhile=meanwhile)
            return str(report).partition("\n")[0]

        def basis() -> tuple[object, ...]:
            now = self.now()  # a silence begins, and a day ends, without any record
            quarter = now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0)
            return self.snapshot().commit, self.journal.head(), quarter

        before: list[tuple[object, ...]] = []

        def notify(_: Callable[[], None]) -> str:
            current = basis()
            if before == [current]:  # nothing can be new
                return "nothing is new"
            report = self.notices.send()
            if report.failures:
                problems = "; ".join(map(str, report.failures))
                raise NoticeError(problems)
            before[:] = [] if report.quiet_until else [current]
            return str(report).replace("\n", ", ")

        parts = []
        if self.settings.services is not None:
            parts.append(WatchedPart(name=SYNC, work=sync, every=every, patience=every))
        if self.settings.inbox is not None:
            short = min(every, timedelta(seconds=10))
            look = lambda _: str(self.inbox.look())  # noqa: E731 - beside its part
            parts.append(WatchedPart(name="inbox", work=look, every=short, patience=short))
        terms = self.settings.notices
        if terms is not None and (terms.people or terms.webhooks):
            often = min(every, timedelta(minutes=1))
            patience = timedelta(hours=1)
            parts.append(WatchedPart(name="notices", work=notify, every=often, patience=patience))
        if not parts:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names nothing to watch",
                do="add [services], [inbox] or [notices]",
            )
        return parts

    @cached_property
    def inbox(self) -> Inbox:
        """The folder in which files come by themselves: `look`; SettingsError where none is set."""
        from treasury.desk.inbox import Inbox, inbox_folder

        self._require_now("read its inbox")
        terms = self.settings.inbox
        if terms is None:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no inbox", do='add [inbox] folder = "…"'
            )
        folder = inbox_folder(self.folder, terms)
        return Inbox(folder, self.statements.add, time.monotonic)

    @cached_property
    def notices(self) -> NoticeDesk:
        """What is new, told by mail and webhook: `send`, `list`, `settle`."""
        return self._desk().notices(self.settings, self._require_confirmed)

    def watching(self) -> str | None:
        """What `treasury watch` is doing here, in a line; None where nobody watches."""
        from treasury.desk.watch import read_state

        state = read_state(self.folder)
        return None if state is None else state.sentence(self.now())

    def _progress(self) -> Progress | None:
        """Bars, where this is a notebook."""
        if "ipykernel" not in sys.modules:
            return None
        from treasury.panels.frames.progress_bars import NotebookProgress, in_notebook

        return NotebookProgress() if in_notebook() else None

    @cached_property
    def statements(self) -> Statements:
        """Bank statements: `add`, `withdraw`, `confirm`, `list`, `coverage`."""
        from treasury.desk.files.bank_statements import Statements

        return Statements(
            lake=self.lake,
            journal=self.journal,
            snapshot=self.snapshot,
            settings=self.settings,
            until=self._as_of,
        )

    @cached_property
    def wallets(self) -> WalletProofs:
        """Evidence of company wallets: `add_evidence`, `add_balance`, `list`."""
        from treasury.desk.files.company_wallets import WalletProofs

        return WalletProofs(
            lake=self.lake,
            snapshot=self.snapshot,
            zone=self.settings.zone,
            now=self.now,
            who=self._who,
            until=self._as_of,
        )

    @cached_property
    def rates(self) -> RateDesk:
        """Reference rates: `add` the ECB's file or your own, `list`, `reference`."""
        from treasury.desk.files.rate_desk import RateDesk

        return RateDesk(
            lake=self.lake,
            snapshot=self.snapshot,
            rules=self.rules.current,
            zone=self.settings.zone,
            now=self.settings.now,
            until=self._as_of,
        )

    def _who(self) -> Actor:
        return self.journal.who()

    def sql(self, query: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Rows:
        """Run one SELECT over the lake; amounts come out as exact decimals. Raises QueryError."""
        return self._rows(self.snapshot().sql(query, params), query, as_stored=True)

    def table(self, name: str) -> Rows:
        """A whole table or history, for Arrow, pandas or Polars: `polars.DataFrame(t.table(…))`."""
        quoted = name.replace('"', '""')
        query = f'SELECT * FROM "{quoted}"'  # noqa: S608 - shown beside the rows, never run
        return self._rows(self.snapshot().table(name), query, as_stored=True)

    def tables(self, name: str | None = None) -> Rows:
        """Every table and what it is for; with a name every column of it.

        Below the columns stand the fields that a sync found in the records and nobody knows here.
        """
        from treasury.desk.dictionary import column_rows, new_fields, table_rows
        from treasury.reconcile import Rows

        if name is None:
            return Rows(table_rows())
        return Rows(column_rows(name, new_fields(self.snapshot())))

    def changes(
        self, name: str, *, since: str | datetime, until: str | datetime | None = None
    ) -> Rows:
        """What changed in a table after `since`: a row for each field, from what to what."""
        from treasury.lake import changes

        end = None if until is None else _instant(until)
        rows = changes(self.snapshot(), name, _instant(since), end)
        self._require_known("what changed")
        return self._rows(rows, as_stored=True)

    def status_durations(self, name: str = "ramp_requests") -> Rows:
        """How long each record was in each status, and whether events or observation say so."""
        from treasury.extract.synced_tables import LIFECYCLES
        from treasury.lake import durations

        self._require_known("how long anything was in a status")
        return self._rows(durations(self.snapshot(), name, LIFECYCLES.get(name)))

    def _rows(self, table: pa.Table, sql: str = "", *, as_stored: bool = False) -> Rows:
        from treasury.reconcile import Rows

        return Rows(table, sql, self.settings.zone, as_stored=as_stored)

    def _require_known(self, subject: str) -> None:
        """NothingStored where nothing had been stored yet: then nothing can be said of it."""
        if self.snapshot().commit is None:
            raise NothingStored(
                f"{subject} is not known: nothing was stored",
                do="run `treasury sync`, or ask for an instant after the first one",
            )

    def doctor(self, *, repair: bool = False, accept_loss: Iterable[str] = ()) -> Examination:
        """What is there, what is missing or damaged, and the next step of each.

        With `repair` damaged tables are put together from what is left, the services are asked for
        what is not, and it says what was lost. `accept_loss` names tables whose lost rows are no
        longer asked for.
        """
        from treasury.desk.doctor import examine, examine_settings

        given_up = tuple(accept_loss)
        if repair or given_up:
            self._require_now("repair")
        if given_up:
            self.lake.accept_loss(given_up, self.settings.now())
        try:
            journal = self.journal
        except SettingsError as error:  # the rest needs the journal
            return examine_settings(self.folder, self.settings, error)
        return examine(
            self.folder,
            self.settings,
            self.lake,
            journal,
            self.settings.now(),
            mend=repair,
            ask_again=lambda tables: self.sync(tables=tables, full=True),
        )

    # What it amounts to

    def month(self, month: str | Month | None = None) -> Month:
        """The month that a verb is about: the one given, else the last one that has ended."""
        return self._this_month().previous if month is None else _month(month)

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
        from treasury.decisions.file_debits import in_force
        from treasury.decisions.remark_rows import remark_table
        from treasury.journal.decision_history import MATCH, decision_table, standing
        from treasury.journal.decision_log import read_decided
        from treasury.journal.period_history import closed_periods
        from treasury.reconcile.monthly import Basis, worked_out
        from treasury.reconcile.settle.settled_months import ClosedMonths

        settings, token = self.settings.engine, None
        if engine is None and settings is not None:
            self._require_confirmed("engine")
            engine, token = settings.address, settings.secret()
        is_on_spark = engine is not None and engine != "duckdb"
        if into is not None and not is_on_spark:
            raise InputError(
                "into: DuckDB writes nothing; its answer holds everything that was matched",
                do="name an engine, or leave `into` out",
            )
        period = self.month(month)
        decided = read_decided(self.journal, until=self._as_of, verdicts=False)
        periods = closed_periods(decided.entries)
        is_closed = str(period) in periods
        if is_closed and not is_on_spark:
            return self.periods.month(period).r
        if is_closed:
            from treasury.close.period_pins import basis_of

            basis = basis_of(self.journal, self.lake, periods[str(period)].close)
        else:
            closed, snapshot = None, self.snapshot()
            if self._as_of is None:
                closed = ClosedMonths.before(period, periods.values(), self.folder)
            judged = filter(decided.covers, self.journal.entries(MATCH))
            verdicts = in_force(snapshot, decided.entries, decision_table(standing(judged)))
            question, remarks = self._question(period), remark_table(decided)
            basis = Basis(snapshot, question, verdicts, remarks, closed)
        if not is_on_spark:
            return worked_out(basis).answer
        from treasury.reconcile.spark.spark_lake import LakeOnCluster
        from treasury.reconcile.spark.spark_month import month_on_spark

        folder = self.folder / "spark"
        lake = LakeOnCluster(self.lake.folder, None if settings is None else settings.lake)
        return month_on_spark(
            basis, engine=engine, into=into, folder=folder, token=token, lake=lake
        )

    def awaiting_funds(self) -> Rows:
        """Requests that wait for their funds, in the words of the desk, most overdue first.

        `differs` names the payment details that changed since the last payment, as in the panel.
        """
        from treasury.panels.payable_requests import payable_table
        from treasury.reconcile import awaiting_funds
        from treasury.reconcile.monthly import step_sql

        snapshot, question = self.snapshot(), self._question(self._this_month())
        rows = awaiting_funds(snapshot, question, self._decisions(), self._remarks())
        differs = payable_table(rows, snapshot)["differs"]
        return self._rows(rows.append_column("differs", differs), step_sql("funding"))

    def trace(self, what: str) -> Trace:
        """Follow one payment from end to end, with the evidence of each hop or what is missing.

        `what` is a reference, an IBAN, an amount, a transaction hash, or an id or its beginning;
        where it stands for several payments, the answer lists them. Raises NothingStored.
        """
        from treasury.trace.tracer import trace

        question = self._question(self._this_month())
        return trace(self.snapshot(), question, what, self._decisions(), self._remarks())

    def fees(self, months: _Span = None, *, calculate: bool = False) -> Fees:
        """Fees of the requests completed in a month or in several, each in its own currency.

        Several are written "2026-07..2026-10". With `calculate` the service's calculator is asked
        for each fee, one request at a time, and what it says is marked so. Raises NothingStored
        where the services were never read.

        Each request has what its conversion cost by the reference rates beside the fee: values,
        `cost`, `stated_fee` and `reference_difference` in `value_currency`, or why there is none in
        `not_valued`. `costs.by_pair` sums them, with what virtual accounts converted. `gas.by_use`
        is what company wallets paid for gas, `gas.each` that of each request and transfer.
        """
        from treasury.reconcile.monthly import require_synced
        from treasury.report import calculated_fees, fees_between, fees_of

        require_synced(self.snapshot())
        span = self._months(months)
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

    def tie_invoice(self, file: str | Path, months: _Span = None) -> Tied:
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
        books = accounting(closing.r, closing.zone, closing.rolled.corrections, closing.coin_books)
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
        from treasury.report.exposure.confirmation_letter import write_letter

        return write_letter(self.exposure(month), Path(path))

    def checklist(self, month: str | Month | None = None) -> Checklist:
        """What has to be true before a month is locked, what is, and what blocks."""
        from treasury.close.checklist import checklist

        return checklist(self.periods.month(month))

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

        from treasury.lake.disk import link_refused
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
        elif self._as_of is not None:  # a draft of what was known then, whatever was prepared
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
            question = self._question(self.month(month))
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

    def facts(self, month: str | Month | None = None) -> Rows:
        """The facts of the first screen as rows, for a program; amounts in their currency."""
        from treasury.report.screen import screen_facts

        return self._rows(screen_facts(self.periods.month(month)))

    def open_items(self, month: str | Month | None = None) -> OpenItems:
        """Everything that is not settled in a month, each thing once; of a closed one as it was."""
        return self.periods.month(month).items

    def _synced_month(self, month: str | Month | None) -> Closing:
        from treasury.reconcile.monthly import require_synced

        require_synced(self.snapshot())
        return self.periods.month(month)

    def transit_bridge(self, month: str | Month | None = None) -> TransitBridge:
        """Money in transit by the report, the journal and the roll-forward, row by row."""
        return self._synced_month(month).bridge

    # What people decide

    @cached_property
    def journal(self) -> Journal:
        """People's decisions, append-only."""
        from treasury.actions.authority.desk_identity import Identity
        from treasury.actions.policies.policy import load_policy
        from treasury.journal import Journal

        place = self.settings.journal or JournalPlace()
        if place.url is not None:
            self._require_confirmed("journal")
        return Journal(
            place.url or self.folder,
            password=place.secret(),
            now=self.settings.now,
            folder=self.folder,
            who=Identity(
                lambda: load_policy(self.folder), lambda: self._require_confirmed(HUB_API)
            ).who,
            signing=self._signing,
        )

    @cached_property
    def _signing(self) -> Signing:
        """The signing key of this person, and the public keys of the policy."""
        from treasury.actions.policies.policy import load_policy
        from treasury.journal import Signing

        place = self.settings.journal or JournalPlace()
        return Signing(place.key, lambda: load_policy(self.folder).signatures)

    @cached_property
    def actions(self) -> Actions:
        """What may be done at the services, once approved."""
        from treasury.actions import Actions

        self._require_now("act")
        return Actions(
            self.journal,
            self._writing_client,
            self.settings,
            self.settings.now,
            folder=self.folder,
            snapshot=self.lake.snapshot,
        )

    @cached_property
    def matches(self) -> Deciding:
        """Verdicts on bank lines: `accept`, `reject`, `ignore`, `assign`, `undo`, `list`."""
        return self._desk().matches

    def decision_effects(self, *planned: Decision) -> Effects:
        """What decisions planned with `dry_run=True` would change beside their own lines."""
        return self._desk().effects(planned)

    def rests_on(self, withdrawal: Withdrawal) -> tuple[str, ...]:
        """What rests on a statement whose withdrawal was planned with `dry_run=True`, in words."""
        return self._desk().rests_on(withdrawal)

    def remark_effects(self, planned: Remark) -> Effects:
        """What a remark planned with `dry_run=True` would change in the open items."""
        return self._desk().remark_effects(planned)

    @cached_property
    def funding(self) -> Marking:
        """Remarks on ramp requests: `marked_sent`, `will_not_fund`, `accept_payee`, `undo`."""
        return self._desk().funding

    @cached_property
    def rules(self) -> Changing:
        """The rules of matching and ageing: `current`, `preview`, `save`, `history`."""
        return self._desk().rules

    @cached_property
    def items(self) -> Carrying:
        """Open items past a close: `carry` proposes, `accept` agrees, `withdraw`, `list`."""
        return self._desk().items

    def exceptions_sheet(
        self, path: str | Path, items: OpenItems | str | Month | None = None
    ) -> Path:
        """Write open items as an Excel workbook in which people decide; `decide` takes it back.

        `items` are those of a month or some of them, as `t.open_items(…).select(…)` gives them;
        without, those of the last month that has ended. Raises ActionRefused for a closed month,
        InputError where the file is there already, StorageError where it cannot be written.
        """
        from treasury.items import OpenItems

        chosen = items if isinstance(items, OpenItems) else self.open_items(items)
        self._desk().decision_sheets.write(Path(path), chosen)
        return Path(path)

    def decide(
        self,
        sheet: str | Path | bytes,
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Take the decisions of a sheet that `exceptions_sheet` wrote: all that it can, or none.

        With `dry_run` it says what each row would do and writes nothing; given as `agreed`, exactly
        that is journaled, or ActionRefused where any of it has moved. Rows that are refused are
        left out, each with its reason. `sheet` may be the file's bytes, called `name`. Raises
        InputError for a file that is no decision sheet.
        """
        source = sheet if isinstance(sheet, bytes) else Path(sheet)
        return self._desk().decision_sheets.decide(
            source, name=name, agreed=agreed, dry_run=dry_run
        )

    @cached_property
    def measurement(self) -> Measurement:
        """How coins are measured, by two people: `propose`, `accept`, `list`, `openings`."""
        return self._desk().measurement

    @cached_property
    def exposure_limits(self) -> ExposureLimits:
        """How much may stand with the provider, by two people: `propose`, `accept`, `list`."""
        return self._desk().exposure_limits

    @cached_property
    def limits(self) -> Limits:
        """Amounts below which an open item does not block: `propose`, `accept`, `list`."""
        return self._desk().limits

    @cached_property
    def periods(self) -> Periods:
        """Months: `prepare`, `sign`, `withdraw`, `reopen`, `list`, `verify`, `late`, and more."""
        return self._desk().periods

    def compare(self, a: Reconciliation, b: Reconciliation) -> Comparison:
        """What moved from one answer for a month to another, and why; totals by currency."""
        from treasury.desk.people import compare

        return compare(a, b)

    @cached_property
    def panels(self) -> Panels:
        """Panels for a notebook."""
        from treasury.panels import Panels

        return Panels(self)

    # The way there

    def client(self, credential: str) -> Client:
        """The client of both services with the named credential, for reading.

        What writes is proposed and approved as an action (`t.actions`); any other write is an
        ActionRefused. Kept until `close_clients`.
        """
        if credential not in self._readers:
            self._readers[credential] = self._writing_client(credential).for_reading(_as_action)
        return self._readers[credential]

    def _writing_client(self, credential: str) -> Client:
        """The client that approved actions are sent with."""
        from treasury.api import Client

        if credential not in self._clients:
            services, client = self._require_services(), self.settings.credential(credential)
            keys = "services", f"credentials.{credential}."
            require_confirmed(self.folder, self.settings, *keys, ask=self._ask)
            self._clients[credential] = Client(services, client)
        return self._clients[credential]

    def _require_confirmed(self, *keys: str) -> None:
        """Raise SettingsError if a person has to confirm where secrets below these keys go."""
        require_confirmed(self.folder, self.settings, *keys, ask=self._ask)
        confirm_first_use(self.folder, self.settings)

    def _require_services(self) -> Services:
        services = self.settings.services
        if services is None:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no services",
                do="add [services] with token_url, finance.base_url and ramp.base_url",
            )
        return services

    def close_clients(self) -> None:
        """Close the connections to the services."""
        self._readers.clear()
        while self._clients:
            self._clients.popitem()[1].close()

    def now(self) -> datetime:
        """The instant that questions are asked at: this view's, else the present."""
        return self._as_of or self.settings.now()

    def _question(self, month: str | Month, rules: Rules | None = None) -> Question:
        from treasury.desk.people import rules_for
        from treasury.reconcile import Question

        desk, period = self.settings.workspace, _month(month)
        return Question(
            month=period,
            as_of=self.now(),
            company=desk.company,
            environment=desk.environment,
            zone=self.settings.zone,
            accounts=self.settings.accounts,
            rules=rules or rules_for(self.journal, self.folder / RULES_FILE, period, self._as_of),
        )

    def is_closed(self, month: str | Month) -> bool:
        """Whether a month was closed by this workspace's instant, and not reopened."""
        from treasury.journal.period_history import closed_periods

        until, entries = self._as_of, self.journal.entries("period.")
        return str(_month(month)) in closed_periods(
            entry for entry in entries if until is None or entry.at <= until
        )

    def _decisions(self) -> pa.Table:
        from treasury.decisions.file_debits import decisions_in_force
        from treasury.journal.decision_log import read_decided

        entries = read_decided(self.journal, until=self._as_of).entries
        return decisions_in_force(self.snapshot(), entries)

    def _remarks(self) -> pa.Table:
        from treasury.decisions.remark_rows import remark_table
        from treasury.journal.decision_log import read_decided

        return remark_table(read_decided(self.journal, until=self._as_of))

    def _desk(self) -> DecisionDesk:
        from treasury.actions.policies.policy import load_policy
        from treasury.desk.people import DecisionDesk

        place = None if self.settings.journal is None else self.settings.journal.publish_head
        return DecisionDesk(
            lake=self.lake,
            journal=self.journal,
            snapshot=self.snapshot,
            question=self._question,
            rules_file=self.folder / RULES_FILE,
            zone=self.settings.zone,
            now=self.now,
            until=self._as_of,
            policy=lambda: load_policy(self.folder),
            # Where each close publishes the journal's head.
            heads=None if place is None else self.folder / user_path(place),
        )

    def _months(self, months: _Span) -> Months:
        if months is None or isinstance(months, Month):
            return Months(self.month(months), self.month(months))
        return Months.parse(months if isinstance(months, str) else "..".join(map(str, months)))

    def _this_month(self) -> Month:
        return Month.of(self.now().astimezone(self.settings.zone).date())

    def _first_credential(self) -> str:
        if not self.settings.credentials:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no credential",
                do="add [credentials.maker] with client_id and client_secret",
            )
        return next(iter(self.settings.credentials))

    def _require_now(self, verb: str) -> None:
        if self._as_of is not None:
            raise InputError(
                f"this is the workspace as known at {self._as_of}, which cannot {verb}",
                do="use the workspace itself",
            )


def _tell(sentence: str) -> None:
    """Say something beside an answer: where answers are piped on, it is not among them."""
    sys.stderr.write(f"{sentence}\n")


def _instant(instant: str | datetime) -> datetime:
    return parse_instant(instant) if isinstance(instant, str) else instant


def _month(month: str | Month) -> Month:
    return month if isinstance(month, Month) else Month.parse(month)


def _as_action(operation: str) -> str:
    """What to do in place of writing with a client that reads."""
    from treasury.actions import KINDS

    kind = next((kind.name for kind in KINDS.values() if kind.operation == operation), None)
    if kind is None:
        return "no action does this; `treasury actions kinds` lists what can be changed from here"
    return f"propose it as an action: t.actions.propose({kind!r}, …)"
