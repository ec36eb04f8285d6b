"""The base class of `Workspace`: settings, lake, journal, and the inputs for computing a month."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from treasury.core.calendar import Month, parse_instant
from treasury.core.errors import InputError, NothingStored
from treasury.core.files.access import keep_to_group, keep_to_user
from treasury.core.files.state_folder import user_path
from treasury.core.settings import (
    JournalPlace,
    Settings,
    load_settings,
    place_of,
    settings_for_colleagues,
)
from treasury.core.settings.confirmed_addresses import Ask, confirm_first_use, require_confirmed
from treasury.core.settings.secret_routes import HUB_API

if TYPE_CHECKING:
    import pyarrow as pa

    from treasury.actions.policies.policy import Policy
    from treasury.core.tables.table import Table
    from treasury.core.tables.table_view import Extent
    from treasury.journal import Journal, Signing
    from treasury.journal.decision_log import Decided
    from treasury.lake import Lake, Snapshot
    from treasury.lake.home.lake_home import LakeHome
    from treasury.matching.rules import Rules
    from treasury.month.question import Question

RULES_FILE = "rules.toml"
Span = str | Month | tuple[str | Month, str | Month] | None
"""One or several months, in all forms that callers may use."""


class WorkspaceStores:
    """A workspace folder with its settings, lake and journal, and its data at one instant."""

    def __init__(
        self, folder: str | Path, *, as_of: datetime | None = None, ask: Ask | None = None
    ) -> None:
        self.folder = folder = Path(folder)
        self.settings: Settings = load_settings(folder)
        if self.settings.workspace.shared:
            keep_to_group(folder)
        else:
            keep_to_user()
        self.as_of = as_of
        """The instant of a read-only view; None for the workspace itself."""
        self._ask = ask
        self._has_told = False

    def __repr__(self) -> str:
        desk = self.settings.workspace
        return f"<treasury workspace {self.folder}: {desk.company}, {desk.environment}>"

    @cached_property
    def lake(self) -> Lake:
        """The stored tables, for code that extends the workspace.

        >>> t.lake.last_commit()
        """
        from treasury.extract import TABLES as SERVICE_TABLES
        from treasury.lake import CLOSE_OF, Lake
        from treasury.rates import TABLES as RATE_TABLES
        from treasury.statements import TABLES as STATEMENT_TABLES

        def closed_on() -> dict[int, str]:
            """Return the commits that closed and prepared months depend on, with the reason."""
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
            tell=tell,
            home=self._home(),
        )

    def _home(self) -> LakeHome | None:
        """Return the home (where a shared lake is stored); None if the lake is not shared."""
        place = self.settings.lake
        if place is None:
            return None
        from treasury.lake.home.lake_home import LakeHome
        from treasury.workspace.upkeep.home_signatures import HomeSignatures

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
        """Return the tables of the last commit, or as known at this workspace's instant.

        The tables include the journaled answers to create calls, for records that cannot be read.

        Returns
        -------
        Snapshot
            Tables of one commit.

        Examples
        --------
        >>> t.snapshot().commit
        """
        from treasury.workspace.responses import RESPONSES, responses

        def answered(name: str) -> Callable[[], pa.Table]:
            return lambda: responses(self.journal, name, self.as_of)

        # Warn once if the journal refers to commits that are not pulled yet.
        if self.settings.lake is not None and self.as_of is None and not self._has_told:
            from treasury.workspace.upkeep.home_health import unpulled_decisions

            self._has_told = True
            if unpulled := unpulled_decisions(self.lake, self.journal):
                tell(f"{unpulled}: run `treasury lake pull`")
        snapshot = self.lake.snapshot(self.as_of)
        return snapshot.beside({name: answered(name) for name in RESPONSES})

    def at(self, instant: str | datetime) -> Self:
        """Return a read-only view of the workspace as it was known at an instant.

        Parameters
        ----------
        instant
            An instant with its time zone, for example "2026-11-01T09:00Z".

        Returns
        -------
        Workspace
            The view; methods that write raise InputError.

        Raises
        ------
        InputError
            If the instant is invalid.

        Examples
        --------
        >>> t.at("2026-11-01T09:00Z").reconcile("2026-10")
        """
        return type(self)(self.folder, as_of=instant_of(instant), ask=self._ask)

    def sql(self, query: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Table:
        """Run one SELECT over the lake.

        Parameters
        ----------
        query
            The query.
        params
            Values of the query's parameters.

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
        >>> t.sql("SELECT count(*) FROM ramp_requests")
        """
        rows = self.snapshot().sql(query, params)
        return self._rows(rows, query, as_stored=True, extent="selection")

    def table(self, name: str) -> Table:
        """Return a whole table or history, for Arrow, pandas or Polars.

        Parameters
        ----------
        name
            The name of a table, or of its history.

        Returns
        -------
        Table
            All rows; amounts are exact decimals.

        Raises
        ------
        QueryError
            If there is no such table.

        Examples
        --------
        >>> polars.DataFrame(t.table("ramp_requests"))
        """
        quoted = name.replace('"', '""')
        query = f'SELECT * FROM "{quoted}"'  # noqa: S608 - shown beside the rows, never run
        rows = self.snapshot().table(name)
        return self._rows(rows, query, title=name, as_stored=True, queried=[name])

    def tables(self, name: str | None = None) -> Table:
        """List all tables and answers (computed tables) with their purpose, or one table's columns.

        Parameters
        ----------
        name
            A table or an answer (a computed table). The columns of a table are followed by unknown
            fields that a sync found in its records.

        Returns
        -------
        Table
            One row per table or column.

        Raises
        ------
        InputError
            If there is no such table.

        Examples
        --------
        >>> t.tables("bank_lines")
        """
        from treasury.core.tables.table import Table
        from treasury.workspace.upkeep.dictionary import (
            COLUMN_KEYS,
            TABLE_KEYS,
            column_rows,
            new_fields,
            table_rows,
        )

        if name is None:
            return Table(table_rows(), keys=TABLE_KEYS, extent="dictionary")
        rows = column_rows(name, new_fields(self.snapshot()))
        return Table(rows, keys=COLUMN_KEYS, extent="dictionary")

    def changes(
        self, name: str, *, since: str | datetime, until: str | datetime | None = None
    ) -> Table:
        """List the changes in a table after `since`, with old and new values.

        Parameters
        ----------
        name
            The table.
        since, until
            Instants with their time zone; default of `until`: the last commit.

        Returns
        -------
        Table
            One row per changed field.

        Raises
        ------
        NothingStored
            If nothing was stored up to this workspace's instant.

        Examples
        --------
        >>> t.changes("ramp_requests", since="2026-10-31T23:00Z")
        """
        from treasury.lake import changes

        end = None if until is None else instant_of(until)
        rows = changes(self.snapshot(), name, instant_of(since), end)
        self._require_known("what changed")
        return self._rows(rows, as_stored=True)

    def status_durations(self, name: str = "ramp_requests") -> Table:
        """Return how long each record was in each status, and how this is known.

        Parameters
        ----------
        name
            A table of records with a status.

        Returns
        -------
        Table
            One row per record and status. Durations are in seconds, exact if they are known from
            events, else a minimum and a maximum.

        Raises
        ------
        NothingStored
            If nothing is stored yet.

        Examples
        --------
        >>> t.status_durations("ramp_requests")
        """
        from treasury.extract.synced_tables import LIFECYCLES
        from treasury.lake import durations

        self._require_known("how long anything was in a status")
        return self._rows(durations(self.snapshot(), name, LIFECYCLES.get(name)))

    def _rows(
        self,
        table: pa.Table,
        sql: str = "",
        *,
        title: str = "",
        as_stored: bool = False,
        queried: Sequence[str] = (),
        extent: Extent = "summary",
        keys: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Table:
        """Return a table with the reporting time zone.

        An amount has the unit that the `queried` tables declare for its column, or none.
        """
        from treasury.core.tables.schemas import with_units
        from treasury.core.tables.table import Table
        from treasury.workspace.upkeep.dictionary import amount_units

        if queried:
            units = dict.fromkeys(table.column_names, "") | amount_units(queried)
            table = table.cast(with_units(table.schema, **units))
        zone = self.settings.zone
        return Table(
            table,
            sql,
            zone,
            title=title,
            as_stored=as_stored,
            extent=extent,
            keys=keys,
            notes=notes,
        )

    def _require_known(self, subject: str) -> None:
        """Raise NothingStored if nothing was stored up to this workspace's instant."""
        if self.snapshot().commit is None:
            raise NothingStored(
                f"{subject} is unknown: nothing was stored",
                do="run `treasury sync`, or choose an instant after the first sync",
            )

    @cached_property
    def journal(self) -> Journal:
        """The append-only journal of people's decisions.

        >>> t.journal.entries("match.")
        """
        from treasury.actions.authority.identity import Identity
        from treasury.journal import Journal

        place = self.settings.journal or JournalPlace()
        if place.url is not None:
            self.require_confirmed("journal")
        return Journal(
            place.url or self.folder,
            password=place.secret(),
            now=self.settings.now,
            folder=self.folder,
            who=Identity(lambda: self.policy, lambda: self.require_confirmed(HUB_API)).who,
            signing=self._signing,
        )

    @cached_property
    def _signing(self) -> Signing:
        """The current person's signing key, and the policy's public keys."""
        from treasury.journal import Signing

        place = self.settings.journal or JournalPlace()
        return Signing(place.key, lambda: self.policy.signatures)

    def now(self) -> datetime:
        """Return the instant of this view, or else the current time, in UTC.

        >>> t.now()
        """
        return self.as_of or self.settings.now()

    def is_closed(self, month: str | Month) -> bool:
        """Return whether a month is closed (and was not reopened) as of this workspace's instant.

        Parameters
        ----------
        month
            The month.

        Returns
        -------
        bool
            True if it is closed.

        Examples
        --------
        >>> t.is_closed("2026-10")
        """
        from treasury.journal.period_history import closed_periods

        until, entries = self.as_of, self.journal.entries("period.")
        return str(month_of(month)) in closed_periods(
            entry for entry in entries if until is None or entry.at <= until
        )

    def month(self, month: str | Month | None = None) -> Month:
        """Return the given month, or the last one that ended.

        Parameters
        ----------
        month
            The month, for example "2026-10".

        Returns
        -------
        Month
            The month in the reporting time zone.

        Raises
        ------
        InputError
            If the month is invalid.

        Examples
        --------
        >>> t.month()
        """
        return self.this_month.previous if month is None else month_of(month)

    @property
    def this_month(self) -> Month:
        """The current month in the reporting time zone."""
        return Month.of(self.today)

    def require_confirmed(self, *keys: str) -> None:
        """Raise SettingsError if an address under these settings keys is not confirmed."""
        require_confirmed(self.folder, self.settings, *keys, ask=self._ask)
        confirm_first_use(self.folder, self.settings)

    def _require_now(self, verb: str) -> None:
        if self.as_of is not None:
            raise InputError(
                f"this is the workspace as known at {self.as_of}, which cannot {verb}",
                do="use the workspace itself",
            )

    def question(self, month: str | Month, rules: Rules | None = None) -> Question:
        """Return all inputs for computing a month, with the month's rules or with `rules`."""
        from treasury.month.question import Question
        from treasury.workspace.month_rules import rules_for

        desk, period = self.settings.workspace, month_of(month)
        return Question(
            month=period,
            as_of=self.now(),
            company=desk.company,
            environment=desk.environment,
            zone=self.settings.zone,
            accounts=self.settings.accounts,
            rules=rules or rules_for(self.journal, self.rules_file, period, self.as_of),
            uses_services=self.settings.services is not None,
        )

    def _decisions(self) -> pa.Table:
        from treasury.month.decisions.file_debits import decisions_in_force

        return decisions_in_force(self.snapshot(), self.decided().entries)

    def _remarks(self) -> pa.Table:
        from treasury.month.decisions.remark_rows import remark_table

        return remark_table(self.decided())

    @property
    def policy(self) -> Policy:
        """The permissions, from the current `policy.toml`.

        >>> t.policy.people(kind_of("ramp_request.create"), None)
        """
        from treasury.actions.policies.policy import load_policy

        return load_policy(self.folder)

    @property
    def rules_file(self) -> Path:
        """The file with the matching and ageing rules."""
        return self.folder / RULES_FILE

    @property
    def today(self) -> date:
        """The day at this workspace's instant, in the reporting time zone."""
        return self.now().astimezone(self.settings.zone).date()

    def decided(self) -> Decided:
        """Return people's decisions up to this workspace's instant."""
        from treasury.journal.decision_log import read_decided

        return read_decided(self.journal, until=self.as_of)


def tell(sentence: str) -> None:
    """Print a warning to standard error, so that it is not mixed with a command's output."""
    sys.stderr.write(f"{sentence}\n")


def instant_of(instant: str | datetime) -> datetime:
    """Parse an instant from a text; return a datetime unchanged."""
    return parse_instant(instant) if isinstance(instant, str) else instant


def month_of(month: str | Month) -> Month:
    """Parse a month from a text; return a Month unchanged."""
    return month if isinstance(month, Month) else Month.parse(month)
