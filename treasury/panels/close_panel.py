"""The close panel: one screen that carries a month from open to signed.

The checklist is on top, with the steps that its state permits; below it are the open items, with
filters and the decisions about them. The rows come from the month's list of open items, as on the
first screen and in the report, so all three always have the same items and counts. Every rule is
the journal's: the panel asks it before a step and shows the refusal.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import pyarrow as pa

from treasury.close.checklist import Checklist
from treasury.close.close_words import signature_words
from treasury.close.closing import Closing
from treasury.close.signing.step_sentences import CloseStep
from treasury.core.calendar import Month, parse_day
from treasury.core.errors import InputError, NothingStored, TreasuryError
from treasury.core.text import clean
from treasury.lake import Snapshot
from treasury.month.items import KINDS, OpenItems
from treasury.month.items.notes.file_kinds import kind_of
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Button,
    CheckLine,
    ChecklistBlock,
    Heading,
    InputField,
    Message,
    Text,
)
from treasury.panels.frames.list_panel import Listing, view_buttons
from treasury.panels.frames.panel import Press, Presses, alert, status
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.noting_panel import NotingPanel, uploaded
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.shown_item import FILTERS, NO_ITEMS, SEARCHED, item_row, with_shown_columns
from treasury.panels.steps.close_steps import STEPS, PendingStep, ask_step, packed, take_step
from treasury.panels.steps.item_steps import (
    PANEL,
    Offer,
    PendingItems,
    Rows,
    ask_items,
    one_kind,
    settle_items,
)

_ORDERS: Final = {"place": "place", "amount": "currency, amount DESC NULLS LAST, place"}
_NOT_WRITTEN: Final = "Nothing was written."
_WORKBOOK: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_LONGEST_NOTE: Final = 160
_TABLE_FILES: Final = ".csv,.txt"
_LEDGER_FILES: Final = {"ledger": "Ledger balances…", "books": "Ledger postings…"}
"""For each file of the ledger: the button that takes it."""
_WITH_REASON: Final = ("withdraw", "reopen")
"""The steps that need a reason."""
_GROUP: Final = "group_"
"""The beginning of the name of a button that shows the items of a blocker."""


class ClosePanel(NotingPanel):
    """The panel of a month's close; `rows`, `sql` and `relation` give its items to programs."""

    title: ClassVar[str] = "Close"
    working: ClassVar[str] = "Checking the month"

    def __init__(
        self,
        desk: PanelWorkspace,
        month: str | Month | None = None,
        *,
        write: bool = False,
        search: str | Mapping[str, str] = "",
        size: int = SIZE,
    ) -> None:
        self._month = month
        self._order = "place"
        self._closing: Closing | None = None
        self._checks: Checklist | None = None
        self._steps: dict[str, CloseStep] = {}
        self._unknown = ""
        self._offer: Offer | None = None
        self._just_decided: PendingItems | None = None
        """The decision that was just journaled, if further ones are to be asked after it."""
        super().__init__(desk, size=size)
        if isinstance(search, str):
            self.filter_by({}, search)
        else:
            self.filter_by(self.codes_of(search))
        if write:
            self._prepare_now()

    def summary(self) -> str:
        """Return the number of open items."""
        return f"{self._tables['items'].num_rows} items"

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """Return the open items, each with its position in the month's list."""
        closing, checks, unknown = None, None, ""
        steps: dict[str, CloseStep] = {}
        if snapshot.commit is not None:
            try:
                closing = self._desk.periods.at_close(self._month)
            except NothingStored as missing:
                unknown = f"The open items are unknown: {missing}"
        if closing is not None:
            checks = self._desk.checklist(closing)
            steps = {name: self._desk.periods.foresee(name, closing) for name in STEPS}
        items = NO_ITEMS if closing is None else with_shown_columns(closing.items.arrow, closing)
        # The new state is stored only after success, so that a failed refresh keeps the old one.
        self._closing, self._checks, self._steps = closing, checks, steps
        self._unknown = unknown
        return {"items": items}

    def names(self, row: Mapping[str, Any]) -> tuple[str | None, ...]:
        """Return the ids of an item's request, transfer and bank line, for a trace."""
        return (row["request_id"], row["transfer_id"], row["entry_id"])

    @property
    def items(self) -> OpenItems | None:
        """The month's open items; None if they are unknown."""
        return None if self._closing is None else self._closing.items

    @property
    def is_closed(self) -> bool:
        """Whether the month is closed, so that no item can be decided."""
        return self._closing is not None and self._closing.period is not None

    # Display: the checklist, the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return all items, in the month's order or by amount."""
        return Listing(
            caption="Open items",
            query="SELECT * FROM items",
            order=_ORDERS[self._order],
            key="item_id",
            searched=SEARCHED,
            hint="unreferenced >4000",
            columns=(Heading("What"), Heading("Amount", end=True), Heading("Age, owner", wide=True),
                     Heading("Next step", wide=True)),
            row=item_row,
            empty=self._unknown or "No item is open: every source was checked.",
            several=True,
            filters=FILTERS,
        )  # fmt: skip

    def checklist_block(self, *, idle: bool) -> ChecklistBlock | None:
        """Return the checklist of the close with the buttons Prepare, Sign, Withdraw and Reopen."""
        checks, closing = self._checks, self._closing
        if checks is None or closing is None:
            return None
        kinds = {kind.label: name for name, kind in KINDS.items()}
        proposed = Counter(
            (item.kind, item.currency) for item in closing.items.blocking if item.proposed_by
        )
        lines = []
        for check in checks.steps:
            blockers = []
            for blocker in check.blockers:
                kind = kinds[blocker.label]
                worth = f", {blocker.worth}" if blocker.worth else ""
                waiting = proposed[kind, blocker.currency]
                carrying = f" ({waiting:,} proposed to be carried)" if waiting else ""
                label = f"{blocker.label}: {blocker.items:,}{worth}{carrying}"
                name = f"{_GROUP}{kind}_{blocker.currency}"
                blockers.append(Button(name, label, "link", enabled=idle))
            found = check.found
            if check.title == "Lock" and closing.period is None:
                # The signatures are buttons here, so no command is named.
                found = signature_words(closing, with_command=False)
            lines.append(CheckLine(check.title, check.state, found, tuple(blockers)))
        buttons, notes = [], []
        for name, step in self._steps.items():
            is_open = step.refusal is None
            is_first = is_open and name in {"prepare", "sign"}
            look: Literal["primary", "plain"] = "primary" if is_first else "plain"
            buttons.append(Button(name, f"{STEPS[name][0]}…", look, enabled=idle and is_open))
            words = step.sentence
            if name in _WITH_REASON:
                words = f"write the reason, then press {STEPS[name][0]}"
            if step.refusal is not None:
                what = step.refusal.what.removeprefix(f"{closing.r.month} is not prepared: ")
                if len(what) > _LONGEST_NOTE:
                    what = "the open steps above come first"
                words = f"not now: {what}"
            notes.append(Text(f"{STEPS[name][0]}: {words}", "plain" if is_open else "quiet"))
        if closing.preparation is None and closing.period is None:
            buttons += [
                Button(name, label, enabled=idle, takes=_TABLE_FILES)
                for name, label in _LEDGER_FILES.items()
            ]
        else:
            buttons.append(Button("verify", "Verify pack", enabled=idle))
        has_reason = any(self._steps[name].refusal is None for name in _WITH_REASON)
        reason = InputField(
            "step_reason", "Reason", "For withdrawing or reopening",
            error=self.error_of("step_reason"),
        )  # fmt: skip
        return ChecklistBlock(
            caption=checks.title,
            lines=tuple(lines),
            buttons=tuple(buttons),
            notes=tuple(notes),
            fields=(reason,) if has_reason else (),
        )

    def views(self) -> tuple[Button, ...]:
        """Return a button for each order of the list."""
        return view_buttons({"place": "By side and age", "amount": "By amount"}, self._order)

    def more_notes(self) -> tuple[Text, ...]:
        """Return notes on the month and on the person."""
        if self._closing is None:
            return ()
        month, blocking = self._closing.r.month, len(self._closing.items.blocking)
        words = f"{blocking} of them block its close" if blocking else "none blocks its close"
        note = f"Open in {month.title}; {words}"
        if self.is_closed:
            late = "later facts post to the open month"
            note = f"{month.title} is closed; these items were open then, and {late}"
        who = next(iter(self._steps.values()))
        identity = Text(f"You are {clean(who.actor.name)}, {who.identity}", "quiet")
        return (Text(note, "quiet"), identity)

    def tools(self) -> tuple[Button, ...]:
        """Return the buttons to download and upload the decision sheet; none for a closed month."""
        if self.items is None or self.is_closed:
            return ()
        return (
            Button("sheet", "Download sheet"),
            Button("decide", "Decide from a sheet…", takes=".xlsx"),
        )

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons for the chosen items, or those of the open form."""
        if self._form == "items":
            return (Button("review", "Review…", "primary"), Button("leave", "Close form"))
        if self._form or self.items is None or self.is_closed:
            return super().bar()
        return (
            Button("choose", "Decide…", "primary"),
            Button("carry", "Carry until…"),
            Button("accept_carry", "Accept proposal…"),
            *super().bar(),
        )

    def fields(self) -> tuple[InputField, ...]:
        """Return the field for a remark, or the fields of the open form."""
        offer = self._offer
        if offer is None:
            return super().fields()
        options = offer.options
        choice = InputField("decision", "Decision", "Choose one", choices=options)
        owner = InputField("owner", "Owner", "A colleague")
        until = InputField("clear_by", "Clear by", "30 Nov")
        return (
            *((choice,) if len(options) > 1 else ()),
            InputField("reason", "Reason", "Kept in our journal"),
            *((owner,) if offer.is_owned else ()),
            *((until,) if offer.needs("carry") else ()),
        )

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers for the steps, the decisions, the orders, sheets and remarks."""

        def list_by(order: str, _: Press) -> None:
            self._order = order
            self.show_page(0)

        return (
            super().presses()
            | {name: partial(self._ask_step, name) for name in STEPS}
            | self._group_presses()
            | {name: partial(self._keep_ledger, name) for name in _LEDGER_FILES}
            | {order: partial(list_by, order) for order in _ORDERS}
            | {
                "choose": partial(self._open_form, ()),
                "carry": partial(self._open_form, ("carry",)),
                "accept_carry": self._accept_proposals,
                "review": self._review,
                "sheet": self._hand_sheet,
                "decide": self._take_sheet,
                "verify": self._verify,
            }
        )

    def _group_presses(self) -> Presses:
        """Return the handlers that show the blocking items of one kind and currency."""

        def show(filters: dict[str, str], _: Press) -> None:
            self.leave_form()
            self._chosen.clear()
            self.filter_by(filters)

        groups = () if self.items is None else self.items.blocking.groups
        return {
            f"{_GROUP}{group.kind}_{group.currency}": partial(
                show,
                {"kind": group.kind, "blocking": "true"}
                | ({"currency": group.currency} if group.currency else {}),
            )
            for group in groups
        }

    # The steps of the close.

    def _ask_step(self, name: str, press: Press) -> None:
        reason, closing = press.text("step_reason"), self._closing
        if closing is None:
            return
        if name in _WITH_REASON and not reason:
            raise InputError("step_reason: is missing", do="say why, then press again")
        month = closing.r.month

        def task(work: Work) -> None:
            self.ask(ask_step(self._desk, name, month, reason, work))

        title = f"{STEPS[name][0]}: not possible"
        self.start("Checking the month", task, title, _NOT_WRITTEN)

    def confirm(self, pending: PendingStep | PendingItems, _: Press) -> None:
        """Take the step of the close, or journal the decisions on items."""

        def task(work: Work) -> Message:
            if isinstance(pending, PendingStep):
                return take_step(self._desk, pending, work)
            work.pass_the_point("Writing the decisions to the journal")
            message = settle_items(self._desk, pending)
            self._just_decided = pending
            return message

        title = "Not decided"
        if isinstance(pending, PendingStep):
            title = f"{STEPS[pending.name][0]}: not done"
        self.carry_out("Checking for changes", task, title, _NOT_WRITTEN)

    def finish(self, message: Message) -> Message:
        """Close the step and the form, compute the month again, and ask about the next part."""
        with self.turn:
            self._pending = None
            self._chosen.clear()
            self.leave_form()
        decided, self._just_decided = self._just_decided, None
        try:
            self.refresh_aside()
            if self._page.total and not self._page.matching:
                # The last item that the filters find was decided.
                with self.turn:
                    self.drop_filters()
                    self.show_page(0)
            if decided is not None:
                self._ask_next(decided.later, decided.limits)
        except TreasuryError as error:
            return alert(message.title, error, *message.lines, Text("The list is not refreshed."))
        return message

    def _prepare_now(self) -> None:
        """Prepare the month at once, if it is open and its checklist permits it."""
        step, closing = self._steps.get("prepare"), self._closing
        if step is None or closing is None or closing.preparation or closing.period:
            return
        if step.refusal is not None:
            self.tell(alert("Not prepared", step.refusal, Text(_NOT_WRITTEN)))
            return
        prepared = self._desk.periods.prepare(closing.r.month, agreed=step.sentence)
        lines = packed(self._desk, prepared)
        self.refresh()
        self.tell(status(f"Prepared {closing.r.month.title}", Text(step.sentence), *lines))

    # The ledger's files and the pack.

    def _keep_ledger(self, name: str, press: Press) -> None:
        closing = self._closing
        if closing is None:
            return
        month = closing.r.month
        do = f"give it in a shell: treasury close {month} --{name} FILE"
        file_name, content = uploaded(press, do=do)
        # A file's name becomes part of a path.
        kind_of(file_name, content)

        def task(work: Work) -> Message:
            work.pass_the_point("Comparing the ledger")
            with tempfile.TemporaryDirectory(prefix="treasury-") as folder:
                path = Path(folder) / file_name
                path.write_bytes(content)
                self._desk.periods.keep_ledger(month, **{name: path})
            # The kept files are neither in the lake nor in the journal.
            self._read_state = None
            self.refresh_aside()
            steps = () if self._checks is None else self._checks.steps
            found = [
                Text(f"{step.title}: {step.found}") for step in steps if step.title == "Ledger"
            ]
            return status(f"{clean(file_name)} is kept for {month.title}", *found)

        self.start("Reading the file", task, "Not kept", _NOT_WRITTEN)

    def _verify(self, _: Press) -> None:
        closing = self._closing
        if closing is None:
            return
        folder = self._desk.folder / "close" / str(closing.r.month)

        def task(_: Work) -> Message:
            verified = self._desk.verify_pack(folder)
            lines = [Text(line.strip()) for line in str(verified).splitlines()]
            lines.append(Text(str(folder), "quiet"))
            if verified.holds:
                return status(f"The pack of {closing.r.month.title} is verified", *lines)
            title = f"The pack of {closing.r.month.title} differs"
            return Message(title, tuple(lines), "alert")

        self.start("Verifying the pack", task, "Not verified", _NOT_WRITTEN)

    # The decisions on items.

    def _offered(self, acts: tuple[str, ...]) -> Offer:
        """Return the decisions for the chosen items, narrowed to some acts."""
        rows, closing = self.chosen_rows(), self._closing
        assert closing is not None  # There are rows, so the month is known.
        one_kind(rows)
        chosen = {row["item_id"] for row in rows}
        items = closing.items.where(lambda item: item.item_id in chosen)
        choices = tuple(self._desk.decision_choices(items).values())
        offered = {c.act: None for row in choices for c in row.choices if not acts or c.act in acts}
        limits = closing.rolled.limits.arrow
        offer = Offer(
            month=closing.r.month,
            rows=choices,
            acts=tuple(offered),
            limits=dict(
                zip(limits["currency"].to_pylist(), limits["item"].to_pylist(), strict=True)
            ),
        )
        if not offer.options:
            (row, *_) = rows
            raise InputError(
                f"{clean(row['name'])} is not decided this way",
                do=f"follow its next step: {clean(row['next_step'])}",
            )
        return offer

    def _open_form(self, acts: tuple[str, ...], _: Press) -> None:
        self.chosen_rows()

        def task(_: Work) -> Message:
            offer = self._offered(acts)
            with self.turn:
                self._offer, self._form = offer, "items"
                self.clear_fields()
                self.point_to(f"field_{self.fields()[0].name}")
            names = ", ".join(clean(row.item.name) for row in offer.rows[:3])
            more = f" and {len(offer.rows) - 3} more" if len(offer.rows) > 3 else ""
            return status(f"For {names}{more}: fill in the form, then press Review")

        self.start("Reading the possible decisions", task, "Not decided", _NOT_WRITTEN)

    def leave_form(self) -> None:
        """Close the form, if one is open."""
        self._offer = None
        super().leave_form()

    def _accept_proposals(self, _: Press) -> None:
        self.chosen_rows()

        def task(_: Work) -> Message | None:
            offer = self._offered(("accept_carry",))
            option = offer.options[0][0]
            parts = offer.filled(option, reason="", owner="", expected_by=None)
            return self._ask_next(parts, offer.limits)

        self.start("Reading the proposals", task, "Not accepted", _NOT_WRITTEN)

    def _review(self, press: Press) -> None:
        offer = self._offer
        if offer is None:
            return
        if {row["item_id"] for row in self.chosen_rows()} != {r.item.item_id for r in offer.rows}:
            raise InputError(
                "The chosen items are not those of the form",
                do="choose them again, or close the form and decide about the new ones",
            )
        options = offer.options
        option = press.text("decision") if len(options) > 1 else options[0][0]
        typed = press.text("clear_by")
        settings = self._desk.settings
        today = settings.now().astimezone(settings.zone).date()
        expected_by = None
        if typed:
            try:
                expected_by = parse_day(typed, today)
            except InputError as error:
                raise InputError(f"clear_by: {error.what}", do=error.do) from None
        parts = offer.filled(
            option,
            reason=press.text("reason"),
            owner=press.text("owner"),
            expected_by=expected_by,
        )

        def task(_: Work) -> Message | None:
            return self._ask_next(parts, offer.limits)

        self.start("Checking the decisions", task, "Not decided", _NOT_WRITTEN)

    def _ask_next(self, parts: Sequence[Rows], limits: Mapping[str, Decimal]) -> Message | None:
        """Ask the first part of decisions that has an effect; return a message if none has."""
        identity, message = self._steps["prepare"].identity, None
        for at, rows in enumerate(parts):
            later = tuple(parts[at + 1 :])
            answer = ask_items(self._desk, rows, PANEL, identity, later=later, limits=limits)
            if isinstance(answer, PendingItems):
                self.ask(answer)
                return None
            message = answer
        return message

    # Decision sheets.

    def _hand_sheet(self, press: Press) -> None:
        items = self.items
        if items is None:
            return
        found = self.found_rows()
        chosen = items.where(lambda item: item.item_id in found)
        name = f"open-items-{items.month}.xlsx"
        with tempfile.TemporaryDirectory() as folder:
            content = self._desk.exceptions_sheet(Path(folder) / name, chosen).read_bytes()
        self.hand_over(press, name, _WORKBOOK, content)
        advice = Text("Fill in the column Decision, save the file, then press Decide from a sheet.")
        self.tell(status(f"Downloaded {name}", Text(f"{len(chosen):,} open items"), advice))

    def _take_sheet(self, press: Press) -> None:
        name, content = uploaded(press, do="apply it in a shell: treasury decide FILE")
        identity = self._steps["prepare"].identity

        def task(_: Work) -> Message | None:
            answer = ask_items(self._desk, content, name, identity)
            if isinstance(answer, Message):
                return answer
            self.ask(answer)
            return None

        self.start("Reading the sheet", task, "Not decided", _NOT_WRITTEN)
