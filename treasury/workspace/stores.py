"""What every verb of the workspace stands on: settings, lake, journal, and the question it asks."""

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
    from treasury.journal import Journal, Signing
    from treasury.journal.decision_log import Decided
    from treasury.lake import Lake, Snapshot
    from treasury.lake.home.lake_home import LakeHome
    from treasury.matching.rules import Rules
    from treasury.month.question import Question

RULES_FILE = "rules.toml"
Span = str | Month | tuple[str | Month, str | Month] | None
"""One month or several, as a person writes them."""


class WorkspaceStores:
    """The folder with its settings, lake and journal, and what is known at one instant."""

    def __init__(
        self, folder: Path, *, as_of: datetime | None = None, ask: Ask | None = None
    ) -> None:
        self.folder = folder
        self.settings: Settings = load_settings(folder)
        if self.settings.workspace.shared:
            keep_to_group(folder)
        else:
            keep_to_user()
        self.as_of = as_of
        """The instant of a view that only reads; None for the workspace itself."""
        self._ask = ask
        self._has_told = False

    def __repr__(self) -> str:
        desk = self.settings.workspace
        return f"<treasury workspace {self.folder}: {desk.company}, {desk.environment}>"

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
            tell=tell,
            home=self._home(),
        )

    def _home(self) -> LakeHome | None:
        """The home that the lake is shared through; None where it is shared with nobody."""
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
        """The last commit of the lake, or the records as known at this workspace's instant.

        Beside it stand the journaled answers to creates that no endpoint lists again.
        """
        from treasury.workspace.responses import RESPONSES, responses

        def answered(name: str) -> Callable[[], pa.Table]:
            return lambda: responses(self.journal, name, self.as_of)

        # Decisions about commits that are not pulled yet are named once.
        if self.settings.lake is not None and self.as_of is None and not self._has_told:
            from treasury.workspace.upkeep.home_health import unpulled_decisions

            self._has_told = True
            if unpulled := unpulled_decisions(self.lake, self.journal):
                tell(f"{unpulled}: run `treasury lake pull`")
        snapshot = self.lake.snapshot(self.as_of)
        return snapshot.beside({name: answered(name) for name in RESPONSES})

    def at(self, instant: str | datetime) -> Self:
        """Return the workspace as it was known at `instant`; it reads and does not write."""
        return type(self)(self.folder, as_of=instant_of(instant), ask=self._ask)

    def sql(self, query: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Table:
        """Run one SELECT over the lake; amounts come out as exact decimals. Raises QueryError."""
        return self._rows(self.snapshot().sql(query, params), query, as_stored=True)

    def table(self, name: str) -> Table:
        """A whole table or history, for Arrow, pandas or Polars: `polars.DataFrame(t.table(…))`."""
        quoted = name.replace('"', '""')
        query = f'SELECT * FROM "{quoted}"'  # noqa: S608 - shown beside the rows, never run
        return self._rows(self.snapshot().table(name), query, as_stored=True)

    def tables(self, name: str | None = None) -> Table:
        """Every table and what it is for; with a name every column of it.

        Below the columns stand the fields that a sync found in the records and nobody knows here.
        """
        from treasury.core.tables.table import Table
        from treasury.workspace.upkeep.dictionary import column_rows, new_fields, table_rows

        if name is None:
            return Table(table_rows())
        return Table(column_rows(name, new_fields(self.snapshot())))

    def changes(
        self, name: str, *, since: str | datetime, until: str | datetime | None = None
    ) -> Table:
        """What changed in a table after `since`: a row for each field, from what to what."""
        from treasury.lake import changes

        end = None if until is None else instant_of(until)
        rows = changes(self.snapshot(), name, instant_of(since), end)
        self._require_known("what changed")
        return self._rows(rows, as_stored=True)

    def status_durations(self, name: str = "ramp_requests") -> Table:
        """How long each record was in each status, and whether events or observation say so."""
        from treasury.extract.synced_tables import LIFECYCLES
        from treasury.lake import durations

        self._require_known("how long anything was in a status")
        return self._rows(durations(self.snapshot(), name, LIFECYCLES.get(name)))

    def _rows(self, table: pa.Table, sql: str = "", *, as_stored: bool = False) -> Table:
        from treasury.core.tables.table import Table

        return Table(table, sql, self.settings.zone, as_stored=as_stored)

    def _require_known(self, subject: str) -> None:
        """NothingStored where nothing had been stored yet: then nothing can be said of it."""
        if self.snapshot().commit is None:
            raise NothingStored(
                f"{subject} is not known: nothing was stored",
                do="run `treasury sync`, or ask for an instant after the first one",
            )

    @cached_property
    def journal(self) -> Journal:
        """People's decisions, append-only."""
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
        """The signing key of this person, and the public keys of the policy."""
        from treasury.journal import Signing

        place = self.settings.journal or JournalPlace()
        return Signing(place.key, lambda: self.policy.signatures)

    def now(self) -> datetime:
        """The instant that questions are asked at: this view's, else the present."""
        return self.as_of or self.settings.now()

    def is_closed(self, month: str | Month) -> bool:
        """Whether a month was closed by this workspace's instant, and not reopened."""
        from treasury.journal.period_history import closed_periods

        until, entries = self.as_of, self.journal.entries("period.")
        return str(month_of(month)) in closed_periods(
            entry for entry in entries if until is None or entry.at <= until
        )

    def month(self, month: str | Month | None = None) -> Month:
        """The month that a verb is about: the one given, else the last one that has ended."""
        return self.this_month.previous if month is None else month_of(month)

    @property
    def this_month(self) -> Month:
        """The month that it is in the reporting time zone."""
        return Month.of(self.today)

    def require_confirmed(self, *keys: str) -> None:
        """Raise SettingsError if a person has to confirm where secrets below these keys go."""
        require_confirmed(self.folder, self.settings, *keys, ask=self._ask)
        confirm_first_use(self.folder, self.settings)

    def _require_now(self, verb: str) -> None:
        if self.as_of is not None:
            raise InputError(
                f"this is the workspace as known at {self.as_of}, which cannot {verb}",
                do="use the workspace itself",
            )

    def question(self, month: str | Month, rules: Rules | None = None) -> Question:
        """Return what is asked about a month, under its own rules or those given."""
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
        )

    def _decisions(self) -> pa.Table:
        from treasury.month.decisions.file_debits import decisions_in_force

        return decisions_in_force(self.snapshot(), self.decided().entries)

    def _remarks(self) -> pa.Table:
        from treasury.month.decisions.remark_rows import remark_table

        return remark_table(self.decided())

    @property
    def policy(self) -> Policy:
        """Who may decide what, as `policy.toml` says now."""
        from treasury.actions.policies.policy import load_policy

        return load_policy(self.folder)

    @property
    def rules_file(self) -> Path:
        """The file of the rules of matching and ageing."""
        return self.folder / RULES_FILE

    @property
    def today(self) -> date:
        """The day of the question in the reporting time zone."""
        return self.now().astimezone(self.settings.zone).date()

    def decided(self) -> Decided:
        """Return what people decided up to this workspace's instant."""
        from treasury.journal.decision_log import read_decided

        return read_decided(self.journal, until=self.as_of)


def tell(sentence: str) -> None:
    """Print to standard error, where it is not piped on with an answer."""
    sys.stderr.write(f"{sentence}\n")


def instant_of(instant: str | datetime) -> datetime:
    """Return an instant that a person may have written."""
    return parse_instant(instant) if isinstance(instant, str) else instant


def month_of(month: str | Month) -> Month:
    """Return a month that a person may have written."""
    return month if isinstance(month, Month) else Month.parse(month)
