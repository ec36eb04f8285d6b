"""The workspace's methods for the services: sync, clients, actions, awaiting funds, traces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from treasury.core.calendar import parse_day
from treasury.core.errors import SettingsError
from treasury.core.settings import FILE_NAME, Services, is_pinned, pin_environment
from treasury.core.settings.confirmed_addresses import Ask, confirm_first_use, require_confirmed
from treasury.workspace.file_verbs import WorkspaceFiles
from treasury.workspace.stores import month_of

if TYPE_CHECKING:
    from datetime import datetime

    from treasury.actions import Actions
    from treasury.api import Client
    from treasury.core.calendar import Month
    from treasury.core.tables.table import Table
    from treasury.extract import Progress, SyncReport
    from treasury.month.explain.line_explanation import LineExplanation
    from treasury.month.trace.payment_trace import Trace


class WorkspacePayments(WorkspaceFiles):
    """The methods of `Workspace` that read the services and carry out approved actions."""

    def __init__(
        self, folder: Path, *, as_of: datetime | None = None, ask: Ask | None = None
    ) -> None:
        super().__init__(folder, as_of=as_of, ask=ask)
        self._clients: dict[str, Client] = {}
        self._readers: dict[str, Client] = {}

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
        """Download both services' records into the lake, in one commit.

        Parameters
        ----------
        tables
            Only these tables; default: all.
        since
            Also list all records created on or after this day.
        full
            True to compare all records, including settled ones, and report differences from the
            stored data.
        details
            Maximum number of older settled requests to read in detail.
        credential
            The credential to read with; default: the first one.
        progress
            An object that shows the progress; default: progress bars in a notebook.
        meanwhile
            A function that is called about once a second during the sync; it may write to the
            workspace.

        Returns
        -------
        SyncReport
            The numbers of new, changed and vanished records by table, and findings.

        Raises
        ------
        ServiceError, SettingsError, StorageError
            If the sync fails. The stored data stays unchanged.

        Examples
        --------
        >>> t.sync(tables=["ramp_requests"])
        """
        from treasury.extract import Scope, sync

        self._require_now("sync")
        self._require_services()
        pinned = is_pinned(self.folder, self.settings)
        scope = Scope(
            tables=None if tables is None else frozenset(tables),
            since=parse_day(since) if isinstance(since, str) else since,
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

    def _progress(self) -> Progress | None:
        """Return progress bars in a notebook, else None."""
        if "ipykernel" not in sys.modules:
            return None
        from treasury.panels.frames.progress_bars import NotebookProgress, in_notebook

        return NotebookProgress() if in_notebook() else None

    def client(self, credential: str) -> Client:
        """Return a read-only client of both services.

        Parameters
        ----------
        credential
            The credential's name in the settings.

        Returns
        -------
        Client
            The client, cached until `close_clients`. A write raises ActionRefused, because writes
            have to be proposed and approved as actions (`t.actions`).

        Raises
        ------
        SettingsError
            If the services or the credential are not configured.

        Examples
        --------
        >>> t.client("maker").ramp.requests.get("7f0c…")
        """
        if credential not in self._readers:
            self._readers[credential] = self._writing_client(credential).for_reading(_as_action)
        return self._readers[credential]

    def _writing_client(self, credential: str) -> Client:
        """Return the client that sends approved actions."""
        from treasury.api import Client

        if credential not in self._clients:
            services, client = self._require_services(), self.settings.credential(credential)
            keys = "services", f"credentials.{credential}."
            require_confirmed(self.folder, self.settings, *keys, ask=self._ask)
            self._clients[credential] = Client(services, client)
        return self._clients[credential]

    def _require_services(self) -> Services:
        services = self.settings.services
        if services is None:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no services",
                do="add [services] with token_url, finance.base_url and ramp.base_url",
            )
        return services

    def close_clients(self) -> None:
        """Close the connections to the services.

        >>> t.close_clients()
        """
        self._readers.clear()
        while self._clients:
            self._clients.popitem()[1].close()

    def _first_credential(self) -> str:
        if not self.settings.credentials:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no credential",
                do="add [credentials.maker] with client_id and client_secret",
            )
        return next(iter(self.settings.credentials))

    @cached_property
    def actions(self) -> Actions:
        """The actions at the services: propose, approve, execute, recover.

        >>> t.actions.list(state="proposed")
        """
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

    def awaiting_funds(self) -> Table:
        """Return the requests that wait for funds, most overdue first.

        Returns
        -------
        Table
            One row per request; a note has the total to pay now by currency. `age` counts the days
            since the request was approved and waits for its funds, `overdue` those since `due`;
            both are in `overdue_unit`. `differs` names payment details that changed since the last
            payment. A request to another account than was paid before is `ACCOUNT CHANGED` and in
            no total to pay.

        Raises
        ------
        NothingStored
            If the services were never read.

        Examples
        --------
        >>> t.awaiting_funds()
        """
        from treasury.month.funding import FUNDING_KEYS, ages, to_pay
        from treasury.month.funding_words import with_changed_accounts
        from treasury.month.reconciliation import awaiting_funds, step_sql
        from treasury.panels.payable_requests import payable_table

        snapshot, question = self.snapshot(), self.question(self.this_month)
        rows = awaiting_funds(snapshot, question, self._decisions(), self._remarks())
        rows = with_changed_accounts(rows, snapshot)
        differs = payable_table(rows, snapshot)["differs"]
        waited = ages(rows, question.today, question.zone)
        rows = rows.append_column("differs", differs)
        rows = rows.add_column(rows.column_names.index("overdue"), "age", waited)
        return self._rows(
            rows,
            step_sql("funding"),
            title="Awaiting funds",
            keys=FUNDING_KEYS,
            notes=[to_pay(rows)],
        )

    def trace(self, what: str) -> Trace:
        """Follow one payment from end to end: each hop with its evidence, or the missing evidence.

        Parameters
        ----------
        what
            A reference, an IBAN, an amount, a transaction hash, or an id (or its beginning).

        Returns
        -------
        Trace
            The hops; or, if `what` matches several payments, the list of these payments.

        Raises
        ------
        InputError
            If `what` is empty.
        NothingStored
            If no stored record has that name.

        Examples
        --------
        >>> t.trace("PAY-2026-005358")
        """
        from treasury.month.trace.tracer import trace

        question = self.question(self.this_month)
        return trace(self.snapshot(), question, what, self._decisions(), self._remarks())

    def explain(self, entry_id: str, *, month: str | Month | None = None) -> LineExplanation:
        """Explain, stage by stage, how matching found the outcome of one bank line.

        The stages are the text, its readings, the seven questions, returns, candidates, allocation,
        outcome.

        Parameters
        ----------
        entry_id
            The line's id, or its first six or more characters if no other id begins with them.
        month
            The month in which the line is booked, whose rules apply. By default, the line may be
            from any month, and the current month's rules apply.

        Returns
        -------
        LineExplanation
            The explanation: in words as `stages`, which `print` shows at 80 columns, and as the
            tables `forms`, `readings`, `questions`, `returns`, `candidates` and `allocations`.

        Raises
        ------
        InputError
            If no line has the id (the message names the nearest one), several ids begin with it, or
            the line is of another month.
        NothingStored
            If `month` has no bank line.

        Examples
        --------
        >>> print(t.explain("5a0c1e7f93b2"))
        """
        from treasury.month.explain.explainer import explain_line

        within = None if month is None else month_of(month)
        question = self.question(within or self.this_month)
        return explain_line(self.snapshot(), question, self._decisions(), entry_id, within=within)

    def step_rows(self, entry_id: str, step: str, *, month: str | Month | None = None) -> Table:
        """Show the rows that one step of matching has for a bank line.

        Parameters
        ----------
        entry_id
            The line's id, or its beginning, as in `explain`.
        step
            The name of a `.sql` file below `treasury/matching`, such as `reference_pairs`.
        month
            The month in which the line is booked, as in `explain`.

        Returns
        -------
        Table
            The rows with all columns of the step; the first comment of its file describes a row.

        Raises
        ------
        InputError
            If there is no such line or step, or the step has no column with the id of a line.
        NothingStored
            If `month` has no bank line.

        Examples
        --------
        >>> t.step_rows("5a0c1e7f93b2", "reference_pairs").df
        """
        from treasury.month.explain.explainer import step_rows

        within = None if month is None else month_of(month)
        question, decisions = self.question(within or self.this_month), self._decisions()
        rows = step_rows(self.snapshot(), question, decisions, entry_id, step, within=within)
        return self._rows(rows)


def _as_action(operation: str) -> str:
    """Return the advice for a write with a read-only client: the action to propose, if any."""
    from treasury.actions import KINDS

    kind = next((kind.name for kind in KINDS.values() if kind.operation == operation), None)
    if kind is None:
        return "no action does this; `treasury actions kinds` lists the available ones"
    return f"propose it as an action: t.actions.propose({kind!r}, …)"
