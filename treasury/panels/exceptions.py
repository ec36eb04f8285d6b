"""Exceptions: what the bank and the services do not say alike, by age or amount, with what to do.

The rows are those of the reconciliation, and so are their next steps; what needs somebody is said
by the report's verdict, so that a panel, the first screen and the report never differ. The verdict
is reached when somebody looks at it: the list need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Literal

import pyarrow as pa

from treasury.calendar import Month
from treasury.lake import AMOUNT, DATE, INTEGER, TEXT, Snapshot
from treasury.money import format_amount
from treasury.panels.blocks import Button, Column, Line, Press, Row
from treasury.panels.desk import Desk
from treasury.panels.listing import Listing
from treasury.panels.looking import LookingPanel, answer_now
from treasury.panels.paging import SIZE
from treasury.panels.text import literal_text
from treasury.panels.work import Work
from treasury.reconcile import Reconciliation
from treasury.reconcile.differences import DIFFERENCES
from treasury.report.verdict import verdict

__all__ = ["ExceptionsPanel"]

Order = Literal["age", "amount", "needs"]
NEEDS: Final = pa.schema(
    [
        ("place", INTEGER),
        ("label", TEXT),
        ("items", INTEGER),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("since", DATE),
        ("owner", TEXT),
        ("next_step", TEXT),
        ("command", TEXT),
    ]
)
_RANK: Final = "CASE stage WHEN 'missing' THEN 0 WHEN 'late' THEN 1 WHEN 'open' THEN 2 ELSE 3 END"
_LOOKS: Final = {"missing": "warn", "late": "warn"}


class ExceptionsPanel(LookingPanel):
    """What is not alike; `rows`, `sql` and `relation` are the list that is shown."""

    title: ClassVar[str] = "Exceptions"

    def __init__(self, desk: Desk, month: str | Month | None = None, *, size: int = SIZE) -> None:
        self._month = month
        self._order: Order = "age"
        self._answer: Reconciliation | None = None
        super().__init__(desk, size=size)

    def __repr__(self) -> str:
        return f"<exceptions panel: {self._tables['differences'].num_rows} items>"

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """The differences, numbered, and what needs somebody where that is being looked at."""
        month, answer = self._month, None
        if snapshot.commit is not None:
            answer = answer_now(self._desk) if month is None else self._desk.reconcile(month)
        self._answer = answer
        differences = DIFFERENCES.empty_table() if answer is None else answer.differences
        tables = {"differences": _numbered(differences)}
        return tables | (self._summed_up() if self._order == "needs" else {})

    def _summed_up(self) -> dict[str, pa.Table]:
        answer = self._answer
        return {"needs": NEEDS.empty_table() if answer is None else _needs(answer, self._desk)}

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """By its request, its transfer or its bank line."""
        return (row.get("request_id"), row.get("transfer_id"), row.get("entry_id"))

    def listing(self) -> Listing:
        """By age, by amount within a currency, or summed up as on the first screen."""
        if self._order == "needs":
            return _NEEDS_LIST
        orders = {
            "age": f"{_RANK}, age DESC, currency, item, number",
            "amount": "currency, amount DESC NULLS LAST, age DESC, number",
        }
        return Listing(
            caption="What the bank and the services do not say alike",
            query="SELECT * FROM differences",
            order=orders[self._order],
            key="number",
            searched=("state", "item", "direction", "amount", "currency", "next_step",
                      "request_id", "entry_id", "transfer_id"),
            hint="Reference, state, amount or id",
            columns=(Column("What"), Column("Amount", end=True), Column("Age"),
                     Column("Next step", wide=True)),
            row=_row,
            empty="The bank and the services say alike.",
        )  # fmt: skip

    def views(self, *, idle: bool) -> tuple[Button, ...]:
        """The orders, and the sums."""
        needs = self._tables.get("needs")
        number = "" if needs is None else f" ({needs.num_rows})"
        labels = {"age": "By age", "amount": "By amount", "needs": f"Needs you{number}"}
        return tuple(
            Button(name, label, enabled=idle, pressed=self._order == name)
            for name, label in labels.items()
        )

    def more_notes(self) -> tuple[Line, ...]:
        """The month that it is about."""
        if self._answer is None:
            return ()
        return (Line(f"What began by the end of {self._answer.month.title}", "quiet"),)

    def bar(self, *, idle: bool) -> tuple[Button, ...]:
        """Sums are not traced."""
        return () if self._order == "needs" else super().bar(idle=idle)

    def presses(self) -> dict[str, Callable[[Press], None]]:
        """The orders, beside what every list does."""
        orders: tuple[Order, ...] = ("age", "amount")
        lists = {name: partial(self._show_by, name) for name in orders}
        return super().presses() | lists | {"needs": self._sum_up}

    def _show_by(self, order: Order, _: Press) -> None:
        if self.step() is not None:
            return
        self._order, self._search = order, ""
        self._chosen.clear()
        self.look(0)

    def _sum_up(self, press: Press) -> None:
        if self.step() is not None:
            return
        if "needs" in self._tables:
            self._show_by("needs", press)
            return

        def task(_: Work) -> None:
            needs = self._summed_up()
            with self.turn:
                self._tables |= needs
                self.refresh()
                self._show_by("needs", press)

        self.start(
            "Summing up what needs somebody",
            task,
            lambda error: self.fail("Not summed up", error),
            "What is shown is as it was.",
        )


def _numbered(differences: pa.Table) -> pa.Table:
    numbers = [str(number) for number in range(differences.num_rows)]
    return differences.append_column("number", pa.array(numbers, TEXT))


def _needs(answer: Reconciliation, desk: Desk) -> pa.Table:
    needs = verdict(answer, desk.settings.zone).needs
    rows = [
        {
            "place": place,
            "label": need.words.label,
            "items": need.items,
            "amount": need.amount,
            "currency": need.currency,
            "since": need.since,
            "owner": need.words.owner,
            "next_step": need.words.next_step,
            "command": need.words.command,
        }
        for place, need in enumerate(needs)
    ]
    return pa.Table.from_pylist(rows, schema=NEEDS)


def _row(row: Mapping[str, Any]) -> Row:
    amount = _amount(row)
    due = [Line(f"due {row['due']}", "quiet")] if row["due"] else []
    unit = row["age_unit"] if row["age"] == 1 else f"{row['age_unit']}s"
    return Row(
        key=row["number"],
        label=f"{row['state']}, {row['item']}, {amount}",
        cells=(
            (
                Line(row["item"] or "no reference", "strong"),
                Line(row["state"], "warn" if row["stage"] in _LOOKS else "plain"),
                *([Line(row["direction"], "quiet")] if row["direction"] else []),
            ),
            (Line(amount),),
            (
                Line(f"{row['age']} {unit}", "strong"),
                Line(f"{row['stage']}, since {row['since']}", "quiet"),
                *due,
            ),
            (Line(row["next_step"]),),
        ),
    )


def _amount(row: Mapping[str, Any]) -> str:
    return "" if row["amount"] is None else format_amount(row["amount"], row["currency"] or "?")


def _need_row(row: Mapping[str, Any]) -> Row:
    return Row(
        key=literal_text(str(row["place"])),
        label=f"{row['label']}, {row['items']} items",
        cells=(
            (Line(row["label"], "strong"), Line(row["owner"], "quiet")),
            (Line(f"{row['items']:,}"),),
            (Line(_amount(row)),),
            (Line(f"since {row['since']}" if row["since"] else ""),),
            (Line(row["next_step"]), Line(row["command"], "code")),
        ),
        may_choose=False,
    )


_NEEDS_LIST: Final = Listing(
    caption="What needs somebody",
    query="SELECT * FROM needs",
    order="place",
    key="place",
    searched=("label", "next_step", "currency"),
    hint="What, or next step",
    columns=(
        Column("What"), Column("Items", end=True), Column("Amount", end=True), Column("Since"),
        Column("Next step", wide=True),
    ),
    row=_need_row,
    empty="Nothing needs you.",
)  # fmt: skip
