"""The verbs of both services: sync, clients, actions, what awaits funds, the trace of a payment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

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
    """The workspace as it reads both services and has approved actions carried out there."""

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

    def _progress(self) -> Progress | None:
        """Bars, where this is a notebook."""
        if "ipykernel" not in sys.modules:
            return None
        from treasury.panels.frames.progress_bars import NotebookProgress, in_notebook

        return NotebookProgress() if in_notebook() else None

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

    def _first_credential(self) -> str:
        if not self.settings.credentials:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no credential",
                do="add [credentials.maker] with client_id and client_secret",
            )
        return next(iter(self.settings.credentials))

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

    def awaiting_funds(self) -> Table:
        """Requests that wait for their funds, in the words of the desk, most overdue first.

        `differs` names the payment details that changed since the last payment, as in the panel.
        """
        from treasury.month.reconciliation import awaiting_funds, step_sql
        from treasury.panels.payable_requests import payable_table

        snapshot, question = self.snapshot(), self.question(self.this_month)
        rows = awaiting_funds(snapshot, question, self._decisions(), self._remarks())
        differs = payable_table(rows, snapshot)["differs"]
        return self._rows(rows.append_column("differs", differs), step_sql("funding"))

    def trace(self, what: str) -> Trace:
        """Follow one payment from end to end, with the evidence of each hop or what is missing.

        `what` is a reference, an IBAN, an amount, a transaction hash, or an id or its beginning;
        where it stands for several payments, the answer lists them. Raises NothingStored.
        """
        from treasury.month.trace.tracer import trace

        question = self.question(self.this_month)
        return trace(self.snapshot(), question, what, self._decisions(), self._remarks())

    def explain(self, entry_id: str, *, month: str | Month | None = None) -> LineExplanation:
        """Show why matching decided as it did about one bank line, stage by stage.

        The stages are the text, its readings, the seven questions, candidates, allocation, outcome.

        Parameters
        ----------
        entry_id
            The line's id, or its first six or more characters if no other id begins with them.
        month
            The month in which the line is booked; its rules apply. By default this month's rules
            apply and the line may be of any month.

        Returns
        -------
        The explanation: in words as `stages`, which `print` shows at 80 columns, and as the tables
        `forms`, `readings`, `questions`, `candidates` and `allocations`.

        Raises
        ------
        InputError
            No line has the id (the message names the nearest one), several begin with it, or the
            line is of another month.
        NothingStored
            The month has no bank line.

        >>> print(t.explain("5a0c1e7f93b2"))
        """
        from treasury.month.explain.explainer import explain_line

        within = None if month is None else month_of(month)
        question = self.question(within or self.this_month)
        return explain_line(self.snapshot(), question, self._decisions(), entry_id, within=within)


def _as_action(operation: str) -> str:
    """What to do in place of writing with a client that reads."""
    from treasury.actions import KINDS

    kind = next((kind.name for kind in KINDS.values() if kind.operation == operation), None)
    if kind is None:
        return "no action does this; `treasury actions kinds` lists what can be changed from here"
    return f"propose it as an action: t.actions.propose({kind!r}, …)"
