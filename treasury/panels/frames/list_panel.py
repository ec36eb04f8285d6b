"""A list to look through and to choose from: what every panel with a table is made of.

A panel says where its rows come from, how one reads and what its buttons do; this pages, searches,
remembers the choice over all pages, syncs, and hands the whole list over as a file. Whatever is
shown was read by SQL, and `rows`, `sql` and `relation` give the same to a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

import duckdb
import msgspec

from treasury.errors import InputError
from treasury.lake import Snapshot
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    Frame,
    Heading,
    InputField,
    ListRow,
    Message,
    Pager,
    Press,
    StepBlock,
    TableBlock,
    Text,
)
from treasury.panels.frames.panel import Panel, alert, status
from treasury.panels.frames.panel_text import desk_clock, instant, literal_text
from treasury.panels.frames.query_pages import SIZE, QueryPage, QuerySource, read_page
from treasury.panels.panel_desk import PanelDesk
from treasury.panels.syncing import SyncProgress, synced
from treasury.reconcile import Rows
from treasury.tables.csv_output import csv_text, rows_of

__all__ = ["ListPanel", "Listing", "PendingDecision"]

_UNCHANGED: Final = "What was stored stays as it was."


class PendingDecision(Protocol):
    """What a person is asked to confirm, whatever it is about."""

    @property
    def nonce(self) -> str:
        """The key of its step, good for one answer."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One list: our own SQL over a source, and how a row of it reads.

    `key` is the column that names a row; `searched` are the columns that a search looks in. `empty`
    is said where there is none.
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


class ListPanel(Panel):
    """A panel around one list at a time; a subclass gives what is marked so below."""

    def __init__(self, desk: PanelDesk, *, size: int = SIZE) -> None:
        super().__init__()
        self._desk = desk
        self._zone = desk.settings.zone
        self._size = size
        self._page = QueryPage(size=size)
        self._search = ""
        self._chosen: dict[str, None] = {}
        self._source: QuerySource | Snapshot | None = None
        self._pending: Any = None
        self.refresh()

    # What a subclass gives

    def listing(self) -> Listing:
        """The list that is shown; to be given."""
        raise NotImplementedError

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """What the list is read from: the lake itself, if a panel does not say otherwise."""
        return snapshot

    def bar(self, *, idle: bool) -> tuple[Button, ...]:
        """The buttons below the list, where it has rows."""
        del idle
        return ()

    def fields(self) -> tuple[InputField, ...]:
        """What can be typed in beside them."""
        return ()

    def tools(self, *, idle: bool) -> tuple[Button, ...]:
        """More buttons at the head."""
        del idle
        return ()

    def views(self, *, idle: bool) -> tuple[Button, ...]:
        """The lists there are, where there are several."""
        del idle
        return ()

    def banners(self) -> tuple[Message, ...]:
        """What must be seen before anything is done."""
        return ()

    def more_notes(self) -> tuple[Text, ...]:
        """What else stands below the title."""
        return ()

    def step(self) -> StepBlock | None:
        """The step that is to be confirmed, if there is one."""
        return None

    def presses(self) -> dict[str, Callable[[Press], None]]:
        """What the subclass's own presses do."""
        return {}

    def confirm(self, pending: Any, press: Press) -> None:
        """Carry out what was confirmed; to be given where there are decisions."""
        raise NotImplementedError

    def verb_of(self, pending: Any) -> str:
        """The button that a decision began with; to be given where there are decisions."""
        raise NotImplementedError

    # What a program gets

    @property
    def sql(self) -> str:
        """The query behind the list, over all pages."""
        listing = self.listing()
        return f"{listing.query} ORDER BY {listing.order}"

    @property
    def rows(self) -> Rows:
        """The list as rows, all of them, with every column."""
        return Rows(self.source.sql(self.sql), zone=self._desk.settings.zone)

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The list as a DuckDB relation."""
        source = self.source
        if isinstance(source, Snapshot):
            return source.connection().sql(self.sql)
        return duckdb.from_arrow(source.sql(self.sql))

    @property
    def source(self) -> QuerySource | Snapshot:
        """What the list is read from, as it was at the last look."""
        assert self._source is not None  # the first look is taken before anybody has the panel
        return self._source

    def csv(self) -> str:
        """The whole list as CSV: amounts as decimal text, texts that no spreadsheet runs."""
        table = self.rows.to_arrow()
        table = table.drop_columns([name for name in table.column_names if name == "raw"])
        return csv_text(table.column_names, rows_of(table))

    # What is on screen

    def frame(self) -> Frame:
        """What is on screen now, by the desk's clock."""
        with desk_clock(self._zone):
            return self.content()

    def content(self) -> Frame:
        """The list, the buttons that propose, and below them the step that confirms."""
        page, work, listing, step = self._page, self._work, self.listing(), self.step()
        idle = work is None and step is None
        rows = tuple(listing.row(row) for row in page.rows)
        table = TableBlock(
            listing.caption, listing.columns, rows, tuple(self._chosen), listing.several
        )
        several = page.total > page.size
        empty = "None holds that." if self._search else listing.empty
        if self._commit is None:
            empty = "Nothing is known yet. Sync first."
        download = (Button("download", "Download CSV", enabled=idle),) if page.total else ()
        return Frame(
            title=self.title,
            notes=(self._origin(), *self.more_notes()),
            tools=(
                *((Button("retry", "Retry", "primary", enabled=idle),) if self._is_broken else ()),
                *self.tools(idle=idle),
                *download,
                Button("sync", "Sync", enabled=idle),
            ),
            views=self.views(idle=idle),
            banners=self.banners(),
            search=InputField("search", "Search", listing.hint) if several else None,
            table=table if rows else None,
            empty="" if rows else empty,
            bar=self.bar(idle=idle) if rows else (),
            fields=self.fields() if rows else (),
            form=self._form_number,
            pager=self._pager(),
            step=step,
            progress=None if work is None else work.progress,
            message=self._message,
            focus=self._focus,
        )

    def _origin(self) -> Text:
        """The company, its environment and the commit that the list was read from."""
        desk, commit = self._desk.settings.workspace, self._commit
        state = "nothing synced yet" if commit is None else f"known at {instant(commit.at)}"
        sandbox = "SANDBOX, no real money" if desk.environment == "sandbox" else desk.environment
        return Text(f"{desk.company} · {sandbox} · {state}", "quiet")

    def _pager(self) -> Pager | None:
        page = self._page
        if not page.total:
            return None
        here = {literal_text(str(row[self.listing().key])) for row in page.rows}
        away = sum(key not in here for key in self._chosen)
        text = f"{page.text} · {away:,} chosen on other pages" if away else page.text
        return Pager(text, not page.is_first, not page.is_last)

    # What presses do

    def handlers(self) -> dict[str, Callable[[Press], None]]:
        """What each press does."""
        return {
            "hello": self._greet,
            "sync": self._sync,
            "search": self._find,
            "download": self._download,
            "previous": partial(self._turn_page, -1),
            "next": partial(self._turn_page, 1),
            "confirm": self._confirm,
            "back": self._back,
            **self.presses(),
        }

    def before(self, press: Press) -> None:
        """Remember the choice on this page, beside that on the others."""
        if press.chosen is None or self.step() is not None:
            return
        if not self.listing().several:
            self._chosen = dict.fromkeys(press.chosen)
            return
        for row in self._page.rows:
            self._chosen.pop(literal_text(str(row[self.listing().key])), None)
        self._chosen.update(dict.fromkeys(press.chosen))

    def _greet(self, _: Press) -> None:
        """Refresh for a view that appears, unless somebody is in the middle of a step."""
        if self.is_idle and self.step() is None:
            head = self._desk.journal.head()
            if (self._desk.snapshot().commit, head) != (self._commit, self._head):
                self.refresh()

    def _sync(self, _: Press) -> None:
        if self.step() is not None:
            return

        def task(work: Work) -> Message:
            message = synced(self._desk.sync(progress=SyncProgress(work)))
            with self.turn:
                self.forget()
                self.refresh()
            return message

        self.start(
            "Syncing", task, lambda error: alert("Not synced", error, Text(_UNCHANGED)), _UNCHANGED
        )

    def _find(self, press: Press) -> None:
        self._search = press.typed.get("search", "").strip()
        self.show_page(0)

    def _turn_page(self, step: int, _: Press) -> None:
        self.show_page(self._page.number + step)

    def _download(self, press: Press) -> None:
        name = f"{self.title.lower()}-{self._desk.settings.now():%Y-%m-%d}.csv"
        self.hand_over(press, name, "text/csv", self.csv())
        self._message = status(f"Downloaded {name}", Text(f"all {self._page.total:,} rows"))

    # The two steps of a decision

    def ask(self, pending: PendingDecision) -> None:
        """Show the step that confirms a decision."""
        with self.turn:
            self._pending = pending
            self.point_to("step")

    def _confirm(self, press: Press) -> None:
        if self._pending is not None and press.step == self._pending.nonce:
            self.confirm(self._pending, press)

    def _back(self, _: Press) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            self.tell(None)
            self.point_to(self.verb_of(pending))

    def finish(self, message: Message) -> Message:
        """Leave the step, whatever its outcome, and read the list again."""
        with self.turn:
            self._pending = None
            self._chosen.clear()
            self.refresh()
            return message

    # What it knows

    def forget(self) -> None:
        """Drop what was found out beside the lake; a sync has just brought it up to date."""

    def refresh(self) -> None:
        """Look again at the lake and whatever else the list is made of."""
        snapshot = self._desk.snapshot()
        head = self._desk.journal.head()
        source = self.read(snapshot)
        # Only what was read counts as looked at: after a failure the next look reads it again.
        self._source, self._commit, self._head = source, snapshot.commit, head
        self.show_page(self._page.number)

    def recover(self) -> None:
        """Leave what was found out aside, and look again without a choice or a search."""
        self.forget()
        self._search = ""
        self._chosen.clear()
        self._page = QueryPage(size=self._size)
        self.refresh()

    def show_page(self, number: int) -> None:
        """Read a page of the list."""
        listing = self.listing()
        self._page = read_page(
            self.source,
            listing.query,
            listing.order,
            listing.searched,
            search=self._search,
            number=number,
            size=self._size,
        )

    def chosen_rows(self) -> list[dict[str, Any]]:
        """The rows that are chosen, on whatever page; InputError where none is, or one has gone."""
        listing = self.listing()
        if not self._chosen:
            raise InputError("Nothing is chosen", do="choose in the list, then press again")
        keys = list(self._chosen)
        here = {literal_text(str(row[listing.key])): row for row in self._page.rows}
        if not here.keys() >= self._chosen.keys():
            places = ", ".join("?" * len(keys))
            table = self.source.sql(
                f"SELECT * FROM ({listing.query}) WHERE {listing.key} IN ({places})",  # noqa: S608 - ours
                keys,
            )
            here |= {literal_text(str(row[listing.key])): row for row in table.to_pylist()}
        missing = [key for key in keys if key not in here]
        if missing:
            self._chosen = {key: None for key in keys if key in here}
            raise InputError(
                f"{len(missing)} of the chosen rows are no longer in the list",
                do="look at the list again, then press again",
            )
        return [here[key] for key in keys]
