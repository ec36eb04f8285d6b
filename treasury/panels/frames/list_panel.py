"""A list with search, filters and selection: the base class of all panels with a table.

A subclass defines the source of the rows, their display and the buttons. This class pages,
searches, filters, keeps the selection over all pages, syncs, and downloads the whole list. The rows
are read by SQL, and `rows`, `sql` and `relation` give them to a program.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

import duckdb
import msgspec
from msgspec.structs import replace

from treasury.core.errors import InputError, TreasuryError
from treasury.core.tables.csv_output import csv_text, rows_of
from treasury.core.tables.table import Table
from treasury.core.text import is_it, one_of
from treasury.lake import Snapshot
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    ChecklistBlock,
    Frame,
    Heading,
    InputField,
    ListRow,
    Message,
    Pager,
    StepBlock,
    TableBlock,
    Text,
)
from treasury.panels.frames.list_filters import (
    FILTER,
    Condition,
    ListFilter,
    conditions,
    filter_fields,
)
from treasury.panels.frames.panel import Panel, Press, Presses, alert, status
from treasury.panels.frames.panel_text import desk_clock, instant, literal_text
from treasury.panels.frames.query_pages import SIZE, QueryPage, QuerySource, read_page
from treasury.panels.frames.syncing import SyncProgress, synced
from treasury.panels.panel_workspace import PanelWorkspace

_UNCHANGED: Final = "The stored data is unchanged."


class PendingDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to confirm; `nonce` is the key of its step, which can be used once."""

    nonce: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)

    def step(self, now: datetime) -> StepBlock:
        """Return the step to confirm; subclasses define it."""
        raise NotImplementedError


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One list: an SQL query over a source, and the display of its rows.

    `key` is the column that identifies a row; a search covers the columns `searched`. `empty` is
    shown if there are no rows. `filters` are shown next to the search.
    """

    caption: str
    query: str
    order: str
    key: str
    searched: tuple[str, ...]
    hint: str
    columns: tuple[Heading, ...]
    row: Callable[[Mapping[str, Any]], ListRow]
    empty: str
    several: bool = False
    filters: tuple[ListFilter, ...] = ()


class ListPanel(Panel):
    """A panel that shows one list at a time; subclasses define the methods marked below."""

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        super().__init__()
        self._desk = desk
        self._zone = desk.settings.zone
        self._size = size
        self._page = QueryPage(size=size)
        self._search = ""
        self._filtered: dict[str, str] = {}
        """The typed text or chosen code of each filter that is set."""
        self._filtering = 0
        self._filter_fields: tuple[InputField, ...] = ()
        self._chosen: dict[str, None] = {}
        self._source: QuerySource | Snapshot  # The first refresh happens in the constructor.
        self._pending: Any = None
        self._button = ""  # The name of the button that opened the step.
        self._form = ""
        """The name of the open form; empty if none is open."""
        self.refresh()

    # Methods that subclasses define.

    def listing(self) -> Listing:
        """Return the list that is shown; subclasses define it."""
        raise NotImplementedError

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """Return the source of the list: by default the lake itself."""
        return snapshot

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons below the list, if it has rows."""
        return ()

    def fields(self) -> tuple[InputField, ...]:
        """Return the input fields next to the buttons."""
        return ()

    def tools(self) -> tuple[Button, ...]:
        """Return additional buttons for the header."""
        return ()

    def views(self) -> tuple[Button, ...]:
        """Return a button for each list, if there are several."""
        return ()

    def banners(self) -> tuple[Message, ...]:
        """Return warnings to show above the list."""
        return ()

    def checklist_block(self, *, idle: bool) -> ChecklistBlock | None:
        """Return a checklist to show above the list; its buttons work only if `idle`."""
        del idle
        return None

    def more_notes(self) -> tuple[Text, ...]:
        """Return additional notes to show below the title."""
        return ()

    def presses(self) -> Presses:
        """Return the handlers of the subclass's own presses while no step is open."""
        return {}

    def confirm(self, pending: Any, press: Press) -> None:
        """Carry out the confirmed decision; subclasses with decisions define it."""
        raise NotImplementedError

    # The list for programs.

    @property
    def sql(self) -> str:
        """The query of the list, over all pages."""
        listing = self.listing()
        return f"{listing.query} ORDER BY {listing.order}"

    @property
    def rows(self) -> Table:
        """All rows of the list, with every column."""
        return Table(self.source.sql(self.sql), zone=self._desk.settings.zone)

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The list as a DuckDB relation."""
        source = self.source
        if isinstance(source, Snapshot):
            return source.connection().sql(self.sql)
        return duckdb.from_arrow(source.sql(self.sql))

    @property
    def source(self) -> QuerySource | Snapshot:
        """The source of the list, as of the last refresh."""
        return self._source

    def csv(self) -> str:
        """Return the whole list as CSV, without `raw` and without text that runs as a formula."""
        table = self.rows.arrow
        table = table.drop_columns([name for name in table.column_names if name == "raw"])
        return csv_text(table.column_names, rows_of(table))

    # Display: the list, its notes, buttons and fields.

    def frame(self) -> Frame:
        """Return the current frame, with times in the workspace's time zone."""
        with desk_clock(self._zone):
            return self.content()

    def content(self) -> Frame:
        """Return the list, the buttons that propose actions, and below them the step to confirm."""
        page, work, listing, pending = self._page, self._work, self.listing(), self._pending
        step = None if pending is None else pending.step(self._desk.settings.now())
        idle = work is None and step is None
        rows = tuple(replace(listing.row(row), key=self._key(row)) for row in page.rows)
        table = TableBlock(
            listing.caption, listing.columns, rows, tuple(self._chosen), listing.several
        )
        is_searched = page.total > (1 if listing.filters else page.size)
        is_narrowed = bool(self._search or self._filtered)
        empty = "No row meets the search and the filters." if is_narrowed else listing.empty
        if self._commit is None:
            empty = "No data yet. Sync first."
        download = (Button("download", "Download CSV"),) if page.total else ()
        retry = (Button("retry", "Retry", "primary"),) if self._is_broken else ()
        tools = (*retry, *self.tools(), *download, Button("sync", "Sync"))
        is_usable = bool(rows or self._form)
        desk, commit = self._desk.settings.workspace, self._commit
        state = "nothing synced yet" if commit is None else f"as of {instant(commit.at)}"
        sandbox = "SANDBOX, no real money" if desk.environment == "sandbox" else desk.environment
        origin = Text(f"{desk.company} · {sandbox} · {state}", "quiet")
        fields = self.fields() if is_usable else ()
        return Frame(
            title=self.title,
            notes=(origin, *self.more_notes()),
            tools=_buttons(tools, enabled=idle),
            views=_buttons(self.views(), enabled=idle),
            banners=self.banners(),
            checklist=self.checklist_block(idle=idle),
            search=InputField("search", "Search", listing.hint, value=self._search)
            if is_searched
            else None,
            filters=tuple(
                replace(field, error=self.error_of(field.name)) for field in self._filter_fields
            )
            if is_searched
            else (),
            filtering=self._filtering,
            narrowed=is_narrowed,
            table=table if rows else None,
            empty="" if rows else empty,
            bar=_buttons(self.bar() if is_usable else (), enabled=idle),
            fields=tuple(replace(field, error=self.error_of(field.name)) for field in fields),
            form=self._form_number,
            pager=self._pager(),
            step=step and replace(step, buttons=_buttons(step.buttons, enabled=work is None)),
            progress=None if work is None else work.progress,
            message=self._message,
            focus=self._focus,
        )

    def _key(self, row: Mapping[str, Any]) -> str:
        """Return the key that identifies a row when it is chosen."""
        return literal_text(str(row[self.listing().key]))

    def _pager(self) -> Pager | None:
        page = self._page
        if not page.total:
            return None
        away = len(self._chosen.keys() - set(map(self._key, page.rows)))
        text = f"{page.text} · {away:,} chosen on other pages" if away else page.text
        has_more = (page.number + 1) * page.size < page.matching
        is_open = self._work is None and self._pending is None and not self._form
        choose = self.listing().several and page.matching > 1 and is_open
        return Pager(
            text,
            back=page.number > 0,
            on=has_more,
            all=f"Choose all {page.matching:,}" if choose else "",
        )

    # Handlers of button presses.

    def handlers(self) -> Presses:
        """Return the handler of each press."""
        return {
            "hello": self._greet,
            "sync": self._sync,
            "search": self._find,
            "clear": lambda _: self.filter_by({}),
            "choose_all": self._choose_all,
            "download": self._download,
            "previous": partial(self._turn_page, -1),
            "next": partial(self._turn_page, 1),
            "confirm": self._confirm,
            "back": self._back,
            **{name: partial(self._begin, does) for name, does in self.presses().items()},
        }

    def _begin(self, does: Callable[[Press], None], press: Press) -> None:
        """Run a handler that the subclass defines, unless a step is open."""
        if self._pending is None:
            self._button = press.name
            does(press)

    def before(self, press: Press) -> None:
        """Store the selection on the shown page; the selection on other pages stays."""
        if press.chosen is None or self._pending is not None:
            return
        if not self.listing().several:
            self._chosen = dict.fromkeys(press.chosen)
            return
        for row in self._page.rows:
            self._chosen.pop(self._key(row), None)
        self._chosen.update(dict.fromkeys(press.chosen))

    def _greet(self, _: Press) -> None:
        """Refresh outdated data when a view appears, unless a step is open or work runs."""
        if self.is_idle and self._pending is None:
            head = self._desk.journal.head()
            if (self._desk.snapshot().commit, head) != (self._commit, self._head):
                self.refresh()

    def _sync(self, _: Press, *, tables: Collection[str] | None = None, full: bool = False) -> None:
        if self._pending is not None:
            return

        def task(work: Work) -> Message:
            report = self._desk.sync(tables=tables, full=full, progress=SyncProgress(work))
            with self.turn:
                self.after_sync()
                self.refresh()
            return synced(report)

        self.start("Syncing", task, self.not_synced, _UNCHANGED)

    def _find(self, press: Press) -> None:
        search = press.typed.get("search", "").strip()
        filtered = {
            each.name: text
            for each in self.listing().filters
            if (text := press.text(f"{FILTER}{each.name}"))
        }
        # This raises an error, before anything changes, if a condition cannot be read.
        self._conditions(search, filtered)
        self._search, self._filtered = search, filtered
        self.show_page(0)
        # The conditions can be read, so an earlier error about them no longer applies.
        if self._message is not None and self._message.role == "alert":
            self.tell(None)

    def _choose_all(self, _: Press) -> None:
        """Choose every row that meets the search and the filters, on all pages."""
        if self.listing().several:
            self._chosen = dict.fromkeys(self.found_rows())

    def _turn_page(self, step: int, _: Press) -> None:
        self.show_page(self._page.number + step)

    def _download(self, press: Press) -> None:
        name = f"{self.title.lower()}-{self._desk.settings.now():%Y-%m-%d}.csv"
        self.hand_over(press, name, "text/csv", self.csv())
        self._message = status(f"Downloaded {name}", Text(f"all {self._page.total:,} rows"))

    # The two steps of a decision.

    def ask(self, pending: PendingDecision) -> None:
        """Show the step that confirms a decision."""
        with self.turn:
            self._pending = pending
            self.tell(None)
            self.point_to("step")

    def _confirm(self, press: Press) -> None:
        if self._pending is not None and press.step == self._pending.nonce:
            self.confirm(self._pending, press)

    def _back(self, _: Press) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            self.tell(None)
            self.point_to(self._button)

    def carry_out(
        self,
        label: str,
        task: Callable[[Work], Message],
        failed: str | Callable[[TreasuryError], Message],
        cancelled: str,
    ) -> None:
        """Carry out the confirmed decision; the step closes unless the work is cancelled."""

        def fail(error: TreasuryError) -> Message:
            if isinstance(failed, str):
                return self.finish(alert(failed, error, Text(cancelled)))
            return self.finish(failed(error))

        self.start(label, lambda work: self.finish(task(work)), fail, cancelled)

    def finish(self, message: Message) -> Message:
        """Close the step after any outcome, refresh the list, and return the message."""
        with self.turn:
            self._pending = None
            self._chosen.clear()
            self.refresh()
            return message

    # Changes to the panel's state.

    def after_sync(self) -> None:
        """Update the panel's own state after a successful sync; the rows are refreshed anyway."""
        self.forget()

    def not_synced(self, error: TreasuryError) -> Message:
        """Return the message for a failed sync."""
        return alert("Not synced", error, Text(_UNCHANGED))

    def forget(self) -> None:
        """Drop facts that were not read from the lake, because a sync has just updated the lake."""

    def refresh(self) -> None:
        """Read the lake and all other sources of the list again."""
        snapshot = self._desk.snapshot()
        head = self._desk.journal.head()
        source = self.read(snapshot)
        # The new state is stored only after success, so that a failed refresh is repeated.
        self._source, self._commit, self._head = source, snapshot.commit, head
        self.show_page(self._page.number)

    def recover(self) -> None:
        """Drop facts not read from the lake, the selection and the search; then refresh."""
        self.forget()
        self.drop_filters()
        self._chosen.clear()
        self._page = QueryPage(size=self._size)
        self.refresh()

    def show_page(self, number: int) -> None:
        """Read a page of the list."""
        listing = self.listing()
        where, values = self._where()
        self._page = read_page(
            self.source,
            listing.query,
            listing.order,
            where,
            values,
            number=number,
            size=self._size,
        )
        self._filter_fields = filter_fields(
            listing.filters, self.source, listing.query, self._filtered
        )

    def codes_of(self, filters: Mapping[str, str]) -> dict[str, str]:
        """Return filters with the codes that their words mean; raise InputError for others."""
        by_name = {each.name: each for each in self.listing().filters}
        codes = {}
        for name, text in filters.items():
            if name not in by_name:
                raise InputError(
                    f"there is no filter {name!r:.40}{is_it(name, by_name)}",
                    do=one_of(name, by_name, "give"),
                )
            field = next(f for f in self._filter_fields if f.name == f"{FILTER}{name}")
            word = text.strip().casefold()
            matches = (code for code, _ in field.choices if word in by_name[name].meanings(code))
            codes[name] = next(matches, text)
        return codes

    def found_rows(self) -> dict[str, dict[str, Any]]:
        """Return every row that meets the search and the filters, on all pages, by its key."""
        where, values = self._where()
        rows = self.source.sql(
            f"SELECT * FROM ({self.listing().query}) WHERE {where or 'true'}",  # noqa: S608 - ours
            values,
        )
        return {self._key(row): row for row in rows.to_pylist()}

    def drop_filters(self) -> None:
        """Drop the search and the filters, before another list is shown."""
        self._search, self._filtered = "", {}
        self._filtering += 1

    def filter_by(self, filtered: Mapping[str, str], search: str = "") -> None:
        """Show the first page of the rows with these filters, replacing the ones before.

        Raise InputError if a condition cannot be read.
        """
        self._conditions(search, filtered)
        self._search, self._filtered = search, dict(filtered)
        self._filtering += 1
        self.show_page(0)
        self.point_to("search")

    def _conditions(self, search: str, filtered: Mapping[str, str]) -> list[Condition]:
        listing = self.listing()
        today = self._desk.settings.now().astimezone(self._zone).date()
        return conditions(listing.filters, filtered, search, listing.searched, today)

    def _where(self) -> tuple[str, list[Any]]:
        parts = self._conditions(self._search, self._filtered)
        return " AND ".join(part.sql for part in parts), [v for part in parts for v in part.values]

    def chosen_rows(self) -> list[dict[str, Any]]:
        """Return the chosen rows of all pages. Raise InputError without any, or if one is gone."""
        listing = self.listing()
        if not self._chosen:
            raise InputError("No row is chosen", do="choose in the list, then press again")
        keys = list(self._chosen)
        here = {self._key(row): row for row in self._page.rows}
        if not here.keys() >= self._chosen.keys():
            places = ", ".join("?" * len(keys))
            table = self.source.sql(
                f"SELECT * FROM ({listing.query}) WHERE {listing.key} IN ({places})",  # noqa: S608 - ours
                keys,
            )
            here |= {self._key(row): row for row in table.to_pylist()}
        missing = [key for key in keys if key not in here]
        if missing:
            self._chosen = {key: None for key in keys if key in here}
            raise InputError(
                f"{len(missing)} of the chosen rows are no longer in the list",
                do="look at the list again, then press again",
            )
        return [here[key] for key in keys]


def _buttons(buttons: tuple[Button, ...], *, enabled: bool) -> tuple[Button, ...]:
    return tuple(replace(button, enabled=enabled) for button in buttons)


def view_buttons(labels: Mapping[str, str], *shown: str) -> tuple[Button, ...]:
    """Return a button for each list; the shown list's button appears pressed."""
    return tuple(Button(name, label, pressed=name in shown) for name, label in labels.items())
