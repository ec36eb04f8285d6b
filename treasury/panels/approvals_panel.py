"""The approvals panel: decisions on ramp requests and actions, each in two steps.

It has two lists: the ramp requests that await approval at the service, and the actions of all kinds
that were proposed in this workspace. The first list is read from the lake, with newer decisions
from the journal; the second list is read from the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final

from treasury.core.errors import InputError, TreasuryError
from treasury.lake import Snapshot
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, InputField, ListRow, Message, Text
from treasury.panels.frames.list_panel import Listing, ListPanel, view_buttons
from treasury.panels.frames.panel import Press, Presses, status
from treasury.panels.frames.panel_text import literal_text
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QueryPage, QuerySource
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.shown_request import COLUMNS, request_row
from treasury.panels.steps import proposed_actions
from treasury.panels.steps.action_steps import APPROVE, PendingRequests, ask, decide, sending_state
from treasury.panels.steps.known_decisions import RequestUpdate, journal_updates, update_at_service
from treasury.panels.steps.proposed_actions import VERBS, PendingActions

_KIND_OF: Final = {"approve": APPROVE, "reject": "ramp_request.reject"}
_SEARCHED: Final = (
    "id", "payment_reference", "created_by", "fiat_currency", "fiat_amount", "crypto_currency",
    "crypto_amount",
)  # fmt: skip


class ApprovalsPanel(ListPanel):
    """The panel of pending decisions; `rows`, `sql` and `relation` give the list to programs."""

    title: ClassVar[str] = "Approvals"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        # In a view at an earlier instant, this raises InputError before any button is pressed.
        self._actions = desk.actions
        self._of_actions = False
        self._updates_at_service: dict[str, RequestUpdate] = {}
        self._updates: dict[str, RequestUpdate] = {}
        self._proposed = 0
        super().__init__(desk, size=size)
        if not self._page.total and self._proposed:
            self._show_list(of_actions=True)

    def summary(self) -> str:
        """Return the number of rows of the list."""
        list_words = "actions are open" if self._of_actions else "ramp requests await approval"
        return f"{self._page.total} {list_words}"

    # Display: the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return the ramp requests that await approval, or the open actions."""
        if self._of_actions:
            return Listing(
                caption="Open actions",
                query="SELECT * FROM actions",
                order="proposed_at, id",
                key="id",
                searched=("id", "kind", "text", "people", "currency", "amount"),
                hint="Id, kind, text or amount",
                columns=proposed_actions.COLUMNS,
                row=proposed_actions.action_row,
                empty="No action is open.",
                several=True,
            )
        return Listing(
            caption="Ramp requests awaiting approval",
            query="SELECT * FROM ramp_requests"
            " WHERE status = 'AWAITING_APPROVAL' AND vanished_at IS NULL",
            order="created_at, id",
            key="id",
            searched=_SEARCHED,
            hint="Id, reference, creator or amount",
            columns=COLUMNS,
            row=self._row,
            empty="No request awaits approval.",
            several=True,
        )

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """Return the lake, or the actions from the journal."""
        self._updates = journal_updates(self._desk.journal.entries("action."))
        table = proposed_actions.action_table(self._actions.list())
        self._proposed = table.num_rows
        return ArrowTables(actions=table) if self._of_actions else snapshot

    def views(self) -> tuple[Button, ...]:
        """Return a button for each list, if there are actions."""
        if not self._proposed and not self._of_actions:
            return ()
        labels = {"requests": "Ramp requests", "actions": f"Actions ({self._proposed:,})"}
        return view_buttons(labels, "actions" if self._of_actions else "requests")

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons of the decisions for the shown list."""
        names = VERBS if self._of_actions else _KIND_OF
        return tuple(
            Button(name, VERBS[name].label, "plain" if place else "primary")
            for place, name in enumerate(names)
        )

    def fields(self) -> tuple[InputField, ...]:
        """Return the field for the reason of a decision."""
        return (InputField("reason", "Reason", "Kept in our journal"),)

    def _row(self, row: Mapping[str, Any]) -> ListRow:
        update = self._update_of(row)
        lines = () if update is None else update.lines
        settled = update is not None and update.settled
        return request_row(row, lines, settled=settled)

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers of the decisions, and of the buttons that choose the list."""
        return {
            **{verb: partial(self._ask, verb) for verb in VERBS},
            "requests": lambda _: self._show_list(of_actions=False),
            "actions": lambda _: self._show_list(of_actions=True),
        }

    def _show_list(self, *, of_actions: bool) -> None:
        self._of_actions = of_actions
        self.drop_filters()
        self._chosen.clear()
        self._page = QueryPage(size=self._size)
        self.refresh()

    def _ask(self, verb: str, press: Press) -> None:
        reason = press.text("reason") or None
        rows = self.chosen_rows()
        if self._of_actions:
            actor = self._desk.journal.who()
            ids = [row["id"] for row in rows]
            self.ask(proposed_actions.ask_about(self._desk, verb, ids, reason, actor.name))
            return
        if verb not in _KIND_OF:
            raise InputError(f"{verb} is for actions", do="choose among the actions")
        self._ask_service(_KIND_OF[verb], rows, reason)

    def _ask_service(self, kind: str, rows: list[dict[str, Any]], reason: str | None) -> None:
        for row in rows:
            update = self._update_of(row)
            if update is not None and update.settled:
                name = row["payment_reference"] or row["id"]
                raise InputError(f"{name} is already decided", do="choose another one")

        def task(work: Work) -> Message | None:
            pending = ask(self._desk, kind, rows, reason, work)
            with self.turn:
                for request in pending.left_out:
                    self._updates_at_service[request.id] = update_at_service(request)
                    self._chosen.pop(literal_text(request.id), None)
            if pending.all:
                self.ask(pending)
                return None
            decided = pending.left_out
            lines = [line for each in decided for line in update_at_service(each).lines]
            name = decided[0].payment_reference or decided[0].id
            title = f"{name} is" if len(decided) == 1 else f"{len(decided)} requests are"
            return status(f"{title} already decided", Text("Nothing was sent."), *lines)

        name, verb = f"{len(rows)} requests", "are"
        if len(rows) == 1:
            name, verb = str(rows[0]["payment_reference"] or rows[0]["id"]), "is"
        self.start(
            f"Reading {name} from the service",
            task,
            f"{name} {verb} not decided",
            "Nothing was sent.",
        )

    def confirm(self, pending: PendingRequests | PendingActions, _: Press) -> None:
        """Carry out the confirmed decision, and show the result."""
        if isinstance(pending, PendingRequests):
            self._decide_requests(pending)
            return
        verb = VERBS[pending.verb]

        def failed(error: TreasuryError) -> Message:
            advice = Text("The decisions made so far are in the list below and in the journal.")
            return self.fail(f"{verb.asks}: not all were carried out", error, advice)

        self.carry_out(
            f"{verb.asks} {pending.batch.text}",
            partial(verb.carry_out, self._desk, pending),
            failed,
            "Nothing was changed.",
        )

    def _decide_requests(self, pending: PendingRequests) -> None:
        title = f"{'Approved' if pending.kind == APPROVE else 'Rejected'} {pending.name}"

        def task(work: Work) -> Message:
            result = decide(self._desk, pending, work)
            outcome = result.outcome
            if outcome is None:
                return proposed_actions.batch_message(result, title)
            by, state = outcome.service_user or "no user", f"{outcome.status}, version"
            recorded = f"The service recorded it for {by}: {state} {outcome.version}."
            lines = [Text(outcome.text), Text(recorded)]
            if outcome.how == "read back":
                sentence = "Its answer was lost, so the request was read back."
                lines.append(Text(sentence, "warn"))
            lines.append(Text("Sync to remove it from this list.", "quiet"))
            return status(title, *lines)

        def failed(error: TreasuryError) -> Message:
            is_unsent, sentence = sending_state(self._desk, pending, error)
            verb = "is" if len(pending.all) == 1 else "are"
            title = (
                f"{pending.name} {verb} not decided"
                if is_unsent
                else f"Look at {pending.name} before deciding again"
            )
            return self.fail(title, error, Text(sentence))

        self.carry_out(f"Checking {pending.name}", task, failed, "Nothing was sent.")

    # Changes to the panel's state.

    def forget(self) -> None:
        """Drop the statuses that were read from the service, because the lake has them now."""
        self._updates_at_service.clear()

    def _update_of(self, row: Mapping[str, Any]) -> RequestUpdate | None:
        """Return an update that is newer than the row in the lake, preferably a settled one."""
        updates = (self._updates.get(row["id"]), self._updates_at_service.get(row["id"]))
        newer = [update for update in updates if update is not None and update.is_newer_than(row)]
        return next((update for update in newer if update.settled), newer[0] if newer else None)
