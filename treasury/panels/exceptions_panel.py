"""The exceptions panel: the open items by who acts next, each with its next step.

The rows come from the month's list of open items, as on the first screens and in the report, so all
three always have the same items and counts.
"""

from __future__ import annotations

import base64
import binascii
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored
from treasury.core.money import format_amount
from treasury.core.tables.column_types import INTEGER
from treasury.core.text import clean
from treasury.core.wording import state_words
from treasury.journal.period_history import closed_periods
from treasury.lake import Snapshot
from treasury.month.items import KINDS, OPEN_ITEMS, TURNS, OpenItems
from treasury.month.items.item_kinds import OWNERS
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Heading, InputField, ListRow, Message, Text, cell
from treasury.panels.frames.list_panel import Listing, view_buttons
from treasury.panels.frames.panel import Press, Presses, status
from treasury.panels.frames.panel_text import day
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.frames.traced_list import LookingPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.steps.sheet_steps import PendingSheet, ask_sheet, settle_sheet

_ORDERS: Final = {"place": "place", "amount": "currency, amount DESC NULLS LAST, place"}
_EVERYBODY: Final = "all"
_NOT_WRITTEN: Final = "Nothing was written."
_WORKBOOK: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class ExceptionsPanel(LookingPanel):
    """The panel of open items; `rows`, `sql` and `relation` give the shown list to programs."""

    title: ClassVar[str] = "Exceptions"

    def __init__(
        self, desk: PanelWorkspace, month: str | Month | None = None, *, size: int = SIZE
    ) -> None:
        self._month = month
        self._order = "place"
        self._side: str = _EVERYBODY
        self._items: OpenItems | None = None
        self._unknown = ""
        self._is_closed = False
        super().__init__(desk, size=size)

    def summary(self) -> str:
        """Return the number of open items."""
        return f"{self._tables['items'].num_rows} items"

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """Return the open items, each with its position in the month's list."""
        self._items, self._unknown, self._is_closed = None, "", False
        if snapshot.commit is not None:
            try:
                self._items = self._desk.open_items(self._month)
                closed = closed_periods(self._desk.journal.entries("period."))
                self._is_closed = str(self._items.month) in closed
            except NothingStored as unknown:
                self._unknown = f"The open items are unknown: {unknown}"
        empty = OPEN_ITEMS.empty_table()
        items = empty if self._items is None else self._items.arrow
        places = pa.array(range(items.num_rows), INTEGER)
        return {"items": items.append_column("place", places)}

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the ids of an item's request, transfer and bank line, for a trace."""
        return (row["request_id"], row["transfer_id"], row["entry_id"])

    def listing(self) -> Listing:
        """Return all items or those that wait for one side, in the month's order or by amount."""
        chosen = "" if self._side == _EVERYBODY else f" WHERE turn = '{self._side}'"
        return Listing(
            caption="Open items",
            query=f"SELECT * FROM items{chosen}",  # noqa: S608 - a turn of our own table
            order=_ORDERS[self._order],
            key="item_id",
            searched=("state", "name", "direction", "amount", "currency", "next_step",
                      "item_id", "request_id", "entry_id", "transfer_id", "remark"),
            hint="Reference, state, amount or id",
            columns=(Heading("What"), Heading("Amount", end=True), Heading("Age, owner", wide=True),
                     Heading("Next step", wide=True)),
            row=_row,
            empty=self._unknown or "No item is open: every source was checked.",
        )  # fmt: skip

    def views(self) -> tuple[Button, ...]:
        """Return a button for each side with its number of items, and for each order."""
        turns = {} if self._items is None else self._items.turns
        labels: dict[str, str] = {
            _EVERYBODY: f"All ({sum(turns.values())})",
            **{turn: f"{TURNS[turn].capitalize()} ({number})" for turn, number in turns.items()},
            "place": "By side and age",
            "amount": "By amount",
        }
        return view_buttons(labels, self._side, self._order)

    def more_notes(self) -> tuple[Text, ...]:
        """Return a note on the month."""
        if self._items is None:
            return ()
        month, blocking = self._items.month, len(self._items.blocking)
        if self._is_closed:
            late = "later facts post to the open month"
            return (
                Text(f"{month.title} is closed; these items were open then, and {late}", "quiet"),
            )
        words = f"{blocking} of them block its close" if blocking else "none blocks its close"
        return (Text(f"Open in {month.title}; {words}", "quiet"),)

    def presses(self) -> Presses:
        """Return the handlers for trace, sides, orders, the decision sheet and remarks."""
        sides = {turn: partial(self._list_by, turn=turn) for turn in (_EVERYBODY, *TURNS)}
        orders = {order: partial(self._list_by, order=order) for order in _ORDERS}
        own = {"sheet": self._hand_sheet, "decide": self._take_sheet}
        own |= {name: partial(self._remark, name) for name in ("remark", "answer")}
        return super().presses() | sides | orders | own

    def tools(self) -> tuple[Button, ...]:
        """Return the buttons to download and upload the decision sheet; none for a closed month."""
        if self._items is None or self._is_closed:
            return ()
        return (
            Button("sheet", "Download sheet"),
            Button("decide", "Decide from a sheet…", takes=".xlsx"),
        )

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons to trace an item, remark on it, or answer its last remark."""
        if self._items is None or self._is_closed:
            return super().bar()
        return (*super().bar(), Button("remark", "Remark"), Button("answer", "Answer"))

    def fields(self) -> tuple[InputField, ...]:
        """Return the field for a remark."""
        if self._items is None or self._is_closed:
            return ()
        return (InputField("remark", "Remark", "For everyone who sees the item; proves nothing"),)

    def _remark(self, name: str, press: Press) -> None:
        if self._items is None:
            return
        month, text = self._items.month, press.text("remark")
        if not text:
            raise InputError("remark: is missing", do="write one line")
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several rows are chosen", do="remark on one at a time")
        subject, answered = row["item_id"], None
        if name == "answer":
            threads = self._desk.items.remarks().arrow.to_pylist()
            answered = next((said for said in threads if said["item_id"] == subject), None)
            if answered is None:
                raise InputError("There is no remark to answer", do="press Remark")

        def task(work: Work) -> Message:
            work.pass_the_point("Writing the remark to the journal")
            self._desk.items.remark(
                subject, text, answers=answered and answered["seq"], month=month
            )
            with self.turn:
                self.clear_fields()
            to = f"Answered {clean(answered['remarked_by'])}" if answered else "Remarked"
            who = clean(self._desk.journal.who().name)
            return self.finish(status(f"{to}, by {who}", Text(f"{clean(row['name'])}: {text}")))

        self.start("Checking that it is still open", task, "Not remarked", _NOT_WRITTEN)

    def _hand_sheet(self, press: Press) -> None:
        items = self._items
        if items is None:
            return
        chosen = items.where(lambda item: self._side in {_EVERYBODY, item.turn})
        name = f"open-items-{items.month}.xlsx"
        with tempfile.TemporaryDirectory() as folder:
            content = self._desk.exceptions_sheet(Path(folder) / name, chosen).read_bytes()
        self.hand_over(press, name, _WORKBOOK, content)
        advice = Text("Fill in the column Decision, save the file, then press Decide from a sheet.")
        self.tell(status(f"Downloaded {name}", Text(f"{len(chosen):,} open items"), advice))

    def _take_sheet(self, press: Press) -> None:
        name, coded = press.typed.get("file", ""), press.typed.get("content", "")
        if not coded:
            raise InputError(
                f"{clean(name)} is empty, or too large for a panel",
                do="have it applied in a shell: treasury decide FILE",
            )
        try:
            content = base64.b64decode(coded, validate=True)
        except binascii.Error:
            raise InputError(f"{clean(name)} arrived incomplete", do="choose it again") from None

        def task(_: Work) -> Message | None:
            answer = ask_sheet(self._desk, name, content)
            if isinstance(answer, Message):
                return answer
            self.ask(answer)
            return None

        self.start("Reading the sheet", task, "Not decided", _NOT_WRITTEN)

    def confirm(self, pending: PendingSheet, _: Press) -> None:
        """Journal the decisions of the sheet."""

        def task(work: Work) -> Message:
            work.pass_the_point("Writing the decisions to the journal")
            return settle_sheet(self._desk, pending)

        self.carry_out("Checking for changes", task, "Not decided", _NOT_WRITTEN)

    def _list_by(self, _: Press, *, turn: str | None = None, order: str | None = None) -> None:
        self._side, self._order = turn or self._side, order or self._order
        self._search = ""
        self._chosen.clear()
        self.show_page(0)


def _row(row: Mapping[str, Any]) -> ListRow:
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"] or "?")
    unit = row["clock"] if row["age"] == 1 else f"{row['clock']}s"
    state = state_words(row["state"])
    return ListRow(
        label=f"{state}, {row['name']}, {amount}",
        cells=(
            (
                Text(row["name"] or "no reference", "strong"),
                Text(state, "warn" if row["blocking"] else "plain"),
                Text(KINDS[row["kind"]].label, "quiet"),
            ),
            cell(Text(amount), row["counted_in"] and Text("counted with its line", "quiet")),
            cell(
                Text(f"{row['age']} {unit}" if row["age"] else "new", "strong"),
                Text(row["owner"] or OWNERS[row["turn"]], "quiet"),
                row["since"] and Text(f"since {day(row['since'])}", "quiet"),
                row["due"] and Text(f"due {day(row['due'])}", "quiet"),
            ),
            cell(Text(row["next_step"]), row["remark"] and Text(row["remark"], "quiet")),
        ),
    )
