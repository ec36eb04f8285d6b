"""The sync panel: the age of each table, and a sync with progress and cancellation.

The ages are computed from the commits: the last sync, and the commit that last changed a table. A
cancelled or failed sync stores nothing; its error stays on screen until a sync succeeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

import msgspec
import pyarrow as pa

from treasury.core.errors import TreasuryError
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.extract import SERVICE_TABLES
from treasury.lake import Snapshot
from treasury.panels.frames.blocks import Button, Heading, ListRow, Message, Text
from treasury.panels.frames.list_panel import Listing, ListPanel
from treasury.panels.frames.panel import Presses
from treasury.panels.frames.panel_text import instant
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource, count_rows
from treasury.panels.panel_workspace import PanelWorkspace

_AGES: Final = pa.schema(
    {"table": TEXT, "title": TEXT, "rows": INTEGER, "changed_at": INSTANT, "synced_at": INSTANT}
)
"""`changed_at` is the commit that last changed the table, `synced_at` the last sync of any table.
"""
_WELL: Final = "watching every "
"""The beginning of the sentence about a watch without errors."""


class SyncPanel(ListPanel):
    """The panel of the tables' ages; `rows`, `sql` and `relation` give the list to programs."""

    title: ClassVar[str] = "Sync"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        # In a view at an earlier instant, this raises InputError before any button is pressed.
        self._actions = desk.actions
        self._synced_at: datetime | None = None
        self._failure: Message | None = None
        super().__init__(desk, size=size)

    def summary(self) -> str:
        """Return the number of tables, without their age, which a saved page would not update."""
        return f"{self._page.total} tables of the services"

    # Display: the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return every table of the services, the most recently changed one first."""
        return Listing(
            caption="Tables of the services",
            query="SELECT * FROM ages",
            order='changed_at DESC NULLS LAST, "table"',
            key="table",
            searched=('"table"', "title"),
            hint="Table",
            columns=(Heading("Table"), Heading("Rows", end=True), Heading("Last changed")),
            row=self._row,
            empty="There is no table of the services.",
            several=True,
        )

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """Return the age of each table, computed from the commits."""
        query = 'SELECT "at", kind, versions FROM commits ORDER BY number'
        commits = snapshot.sql(query).to_pylist()
        changed: dict[str, tuple[int, datetime]] = {}
        for commit in commits:
            versions = msgspec.json.decode(commit["versions"], type=dict[str, int])
            for name, version in versions.items():
                if changed.get(name, (None,))[0] != version:
                    changed[name] = (version, commit["at"])
        syncs = (commit["at"] for commit in commits if commit["kind"] == "sync")
        self._synced_at = max(syncs, default=None)
        rows = [
            {
                "table": table.name,
                "title": table.title,
                "rows": count_rows(snapshot, table.name),
                "changed_at": changed[table.name][1] if table.name in changed else None,
                "synced_at": self._synced_at,
            }
            for table in SERVICE_TABLES
        ]
        return ArrowTables(ages=pa.Table.from_pylist(rows, schema=_AGES))

    def more_notes(self) -> tuple[Text, ...]:
        """Return notes on the age of the last sync, and on a watch."""
        watching, trouble = self._watching()
        age = Text(self._age(), "strong")
        return (age, Text(watching, "quiet")) if watching and not trouble else (age,)

    def banners(self) -> tuple[Message, ...]:
        """Return this panel's last sync error and the watch's last error, until a sync succeeds."""
        watching, trouble = self._watching()
        messages = [] if self._failure is None else [self._failure]
        if trouble:
            messages.append(Message("Watching has an error", (Text(watching),)))
        return tuple(messages)

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons for a partial sync, and for a full comparison."""
        return (Button("some", "Sync the chosen"), Button("full", "Sync and compare everything"))

    def _row(self, row: Mapping[str, Any]) -> ListRow:
        changed, now = row["changed_at"], self._desk.settings.now()
        ago = "never stored" if changed is None else f"{_span(now - changed)} ago"
        return ListRow(
            label=f"{row['table']}, {row['rows']:,} rows, {ago}",
            cells=(
                (Text(row["table"].replace("_", " "), "strong"), Text(row["title"], "quiet")),
                (Text(f"{row['rows']:,}"),),
                (Text(ago), Text(instant(changed), "quiet")),
            ),
        )

    def _age(self) -> str:
        if self._synced_at is None:
            return "Never synced"
        span = _span(self._desk.settings.now() - self._synced_at)
        return f"Last synced {span} ago, at {instant(self._synced_at)}"

    def _watching(self) -> tuple[str, bool]:
        """Return the sentence about a watch, and whether the watch has an error."""
        try:
            sentence = self._desk.watching() or ""
        except TreasuryError as error:
            return str(error), True
        return sentence, bool(sentence) and not sentence.startswith(_WELL)

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers for a partial sync and a full comparison.

        The ordinary sync has its own handler.
        """
        return {
            "full": partial(self._sync, full=True),
            "some": lambda press: self._sync(
                press, tables=[row["table"] for row in self.chosen_rows()]
            ),
        }

    def after_sync(self) -> None:
        """Clear the error and the selection."""
        self._failure = None
        self._chosen.clear()

    def not_synced(self, error: TreasuryError) -> Message:
        """Return the error's message, and keep it on screen."""
        with self.turn:
            at = instant(self._desk.settings.now())
            self._failure = Message(f"The sync of {at} failed", (Text(error.what),))
        return super().not_synced(error)


def _span(span: timedelta) -> str:
    """Return a time span like `3 h 12 min`, or in days if it is two days or more."""
    minutes = max(0, int(span.total_seconds() // 60))
    hours, days = minutes // 60, minutes // (24 * 60)
    if days >= 2:
        return f"{days} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
