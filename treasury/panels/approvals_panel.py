"""Approvals: what awaits a decision, one or several at once, each in two steps.

Two lists: the ramp requests that await approval at the service, and the actions of every kind that
were proposed here. What is on the first comes from the lake; what was decided since, and all of the
second, from the journal. The panel itself remembers only what is on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final

from treasury.actions import KINDS, Outcome
from treasury.api.models import RampRequest
from treasury.errors import InputError, TreasuryError
from treasury.lake import Snapshot
from treasury.money import format_amount, total
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Fact, Field, Line, Message, Press, Row, Step
from treasury.panels.frames.list_panel import Listing, ListPanel
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant, literal_text
from treasury.panels.frames.query_pages import SIZE, Held, Page, Source
from treasury.panels.panel_desk import Desk
from treasury.panels.shown_request import COLUMNS, facts, request_row
from treasury.panels.steps import proposed_actions
from treasury.panels.steps.action_steps import Asked, ask, carry_out, propose_all, what_became
from treasury.panels.steps.known_decisions import Told, read_at_service, said_in_journal
from treasury.panels.steps.proposed_actions import VERBS, AskedActions

__all__ = ["ApprovalsPanel"]

APPROVE: Final = "ramp_request.approve"
REJECT: Final = "ramp_request.reject"
KIND_OF: Final = {"approve": APPROVE, "reject": REJECT}
NOT_YET: Final = Line("Do not pay: not approved. Payment details follow the approval.", "warn")


_SEARCHED: Final = (
    "id", "payment_reference", "created_by", "fiat_currency", "fiat_amount", "crypto_currency",
    "crypto_amount",
)  # fmt: skip


class ApprovalsPanel(ListPanel):
    """What awaits a decision; `rows`, `sql` and `relation` are what it shows, for SQL."""

    title: ClassVar[str] = "Approvals"

    def __init__(self, desk: Desk, *, size: int = SIZE) -> None:
        self._actions = desk.actions  # refuses here, and not at a press, where one may not act
        self._of_actions = False
        self._asked: Asked | AskedActions | None = None
        self._read_since: dict[str, Told] = {}
        self._told: dict[str, Told] = {}
        self._proposed = 0
        super().__init__(desk, size=size)
        if not self._page.total and self._proposed:
            self._show_list(of_actions=True)

    def __repr__(self) -> str:
        what = "actions are open" if self._of_actions else "ramp requests await approval"
        return f"<approvals panel: {self._page.total} {what}>"

    # What is on screen

    def listing(self) -> Listing:
        """The ramp requests that await approval, or the actions that are open."""
        if self._of_actions:
            return Listing(
                caption="Actions that are open",
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

    def read(self, snapshot: Snapshot) -> Source | Snapshot:
        """The lake, or the actions that the journal amounts to."""
        self._told = said_in_journal(self._desk.journal.entries("action."))
        table = proposed_actions.action_table(self._actions.list())
        self._proposed = table.num_rows
        return Held(actions=table) if self._of_actions else snapshot

    def views(self, *, idle: bool) -> tuple[Button, ...]:
        """Both lists, once there are actions."""
        if not self._proposed and not self._of_actions:
            return ()
        label = f"Actions ({self._proposed:,})"
        return (
            Button("requests", "Ramp requests", enabled=idle, pressed=not self._of_actions),
            Button("actions", label, enabled=idle, pressed=self._of_actions),
        )

    def bar(self, *, idle: bool) -> tuple[Button, ...]:
        """What can be decided of the list that is shown."""
        names = VERBS if self._of_actions else KIND_OF
        return tuple(
            Button(one, VERBS[one].label, "primary" if one == "approve" else "plain", enabled=idle)
            for one in names
        )

    def fields(self) -> tuple[Field, ...]:
        """Why."""
        return (Field("reason", "Reason", "Kept in our journal", self.error_of("reason")),)

    def step(self) -> Step | None:
        """What is to be confirmed."""
        asked = self._asked
        if asked is None:
            return None
        if isinstance(asked, AskedActions):
            return proposed_actions.step_of(
                asked, instant(self._desk.settings.now()), idle=self.is_idle
            )
        return self._request_step(asked)

    def _request_step(self, asked: Asked) -> Step:
        approve = asked.kind == APPROVE
        changed = [Line(f"Since the last sync: {change}", "warn") for change in asked.changed]
        changed += [
            Line(f"Left out: {line.text}", "warn")
            for request in asked.left_out
            for line in read_at_service(request).lines[:1]
        ]
        one = len(asked.all) == 1
        return Step(
            key=asked.nonce,
            title=f"{KINDS[asked.kind].verb} {asked.name}?",
            text=asked.confirmed.text if one else _sum(asked),
            items=() if one else tuple(each.text for each in asked.all),
            facts=facts(asked.confirmed, asked.read_at) if one else _facts_of_several(asked),
            notes=(*changed, NOT_YET) if approve else tuple(changed),
            buttons=(
                Button("back", "Go back", enabled=self.is_idle),
                Button(
                    "confirm",
                    "Confirm approval" if approve else "Confirm rejection",
                    "primary" if approve else "danger",
                    enabled=self.is_idle,
                ),
            ),
            tone="go" if approve else "stop",
        )

    def _row(self, row: Mapping[str, Any]) -> Row:
        told = self._told_of(row)
        lines = () if told is None else told.lines
        settled = told is not None and told.settled
        return request_row(literal_text(row["id"]), row, lines, settled=settled)

    # What presses do

    def presses(self) -> dict[str, Callable[[Press], None]]:
        """The verbs, the two steps, and the two lists."""
        return {
            **{verb: partial(self._ask, verb) for verb in VERBS},
            "confirm": self._confirm,
            "back": self._back,
            "requests": lambda _: self._show_list(of_actions=False),
            "actions": lambda _: self._show_list(of_actions=True),
        }

    def _show_list(self, *, of_actions: bool) -> None:
        if self._asked is not None:
            return
        self._of_actions, self._search = of_actions, ""
        self._chosen.clear()
        self._page = Page(size=self._size)
        self.refresh()

    def _ask(self, verb: str, press: Press) -> None:
        if self._asked is not None:
            return
        self.tell(None)
        reason = press.typed.get("reason", "").strip() or None
        rows = self.chosen_rows()
        if self._of_actions:
            actor = self._desk.journal.who()
            ids = [row["id"] for row in rows]
            self._asked = proposed_actions.ask_about(self._desk, verb, ids, reason, actor.name)
            self.point_to("step")
            return
        if verb not in KIND_OF:
            raise InputError(f"{verb} is for actions", do="choose among the actions")
        self._ask_service(KIND_OF[verb], rows, reason)

    def _ask_service(self, kind: str, rows: list[dict[str, Any]], reason: str | None) -> None:
        for row in rows:
            told = self._told_of(row)
            if told is not None and told.settled:
                name = row["payment_reference"] or row["id"]
                raise InputError(f"{name} is already decided", do="choose another one")

        def task(work: Work) -> Message | None:
            asked = ask(self._desk, kind, rows, reason, work)
            with self.turn:
                self._note_decided(asked)
                if not asked.all:
                    return self._already(asked)
                self._asked = asked
                self.point_to("step")
            return None

        name = _name_of(rows)
        verb = "is" if len(rows) == 1 else "are"
        self.start(
            f"Reading {name} from the service",
            task,
            lambda error: self.fail(f"{name} {verb} not decided", error, Line("Nothing was sent.")),
            "Nothing was sent.",
        )

    def _confirm(self, press: Press) -> None:
        asked = self._asked
        if asked is None or press.step != asked.nonce:
            return
        if isinstance(asked, AskedActions):
            self._decide_actions(asked)
        else:
            self._decide_requests(asked)

    def _decide_actions(self, asked: AskedActions) -> None:
        told = VERBS[asked.verb]

        def task(work: Work) -> Message:
            return self._finished(told.carry_out(self._desk, asked, work))

        def failed(error: TreasuryError) -> Message:
            look = Line("What was done so far is in the list below and in the journal.")
            return self._finished(self.fail(f"{told.asks}: not everything was done", error, look))

        self.start(f"{told.asks} {asked.shown.text}", task, failed, "Nothing was changed.")

    def _decide_requests(self, asked: Asked) -> None:
        def task(work: Work) -> Message:
            if asked.is_simple:
                return self._finished(_done(asked, carry_out(self._desk, asked, work)))
            verb = "Approved" if asked.kind == APPROVE else "Rejected"
            came = propose_all(self._desk, asked, work)
            return self._finished(proposed_actions.what_came(came, f"{verb} {asked.name}"))

        def failed(error: TreasuryError) -> Message:
            nothing, sentence = what_became(self._desk, asked, error)
            verb = "is" if len(asked.all) == 1 else "are"
            title = (
                f"{asked.name} {verb} not decided"
                if nothing
                else f"Look at {asked.name} before deciding again"
            )
            return self._finished(self.fail(title, error, Line(sentence)))

        self.start(f"Checking {asked.name}", task, failed, "Nothing was sent.")

    def _back(self, _: Press) -> None:
        asked = self._asked
        if asked is not None:
            self._asked = None
            self.tell(None)
            reject = isinstance(asked, Asked) and asked.kind == REJECT
            verb = asked.verb if isinstance(asked, AskedActions) else ""
            self.point_to(verb or ("reject" if reject else "approve"))

    # What it knows

    def forget(self) -> None:
        """What the service was asked about one by one; the lake has it now."""
        self._read_since.clear()

    def _told_of(self, row: Mapping[str, Any]) -> Told | None:
        """What is known of a request and newer than its row."""
        known = (self._told.get(row["id"]), self._read_since.get(row["id"]))
        newer = [told for told in known if told is not None and told.is_newer_than(row)]
        return next((told for told in newer if told.settled), newer[0] if newer else None)

    def _note_decided(self, asked: Asked) -> None:
        for request in asked.left_out:
            self._read_since[request.id] = read_at_service(request)
            self._chosen.pop(literal_text(request.id), None)

    def _already(self, asked: Asked) -> Message:
        decided: tuple[RampRequest, ...] = asked.left_out
        lines = [line for one in decided for line in read_at_service(one).lines]
        name = decided[0].payment_reference or decided[0].id
        title = f"{name} is" if len(decided) == 1 else f"{len(decided)} requests are"
        return status(f"{title} already decided", Line("Nothing was sent."), *lines)

    def _finished(self, message: Message) -> Message:
        """Leave the step, whatever came of it, and look at the journal again."""
        with self.turn:
            self._asked = None
            self._chosen.clear()
            self.refresh()
            return message


def _name_of(rows: list[dict[str, Any]]) -> str:
    if len(rows) > 1:
        return f"{len(rows)} requests"
    return str(rows[0]["payment_reference"] or rows[0]["id"])


def _totals(asked: Asked) -> list[str]:
    amounts: dict[str, list[Any]] = {}
    for one in asked.all:
        if one.money is not None:
            amounts.setdefault(one.money.currency, []).append(one.money.amount)
    return [
        f"{len(several)} with {format_amount(total(several), currency)} in all"
        if len(several) > 1
        else format_amount(several[0], currency)
        for currency, several in sorted(amounts.items())
    ]


def _sum(asked: Asked) -> str:
    """`3 requests: 2 with EUR 40,000.00 in all, USDC 7,500.000000.`; nothing summed across."""
    return f"{asked.name}: {', '.join(_totals(asked)) or 'no amounts shown'}."


def _facts_of_several(asked: Asked) -> tuple[Fact, ...]:
    confirmed = asked.confirmed
    return (
        Fact("Total by currency", tuple(Line(one, "strong") for one in _totals(asked))),
        Fact("Decided by", (Line(confirmed.actor.name, "strong"),)),
        Fact("Credential", (Line(f"{confirmed.credential} ({confirmed.client_id})"),)),
        Fact("Read from the service", (Line(instant(asked.read_at)),)),
    )


def _done(asked: Asked, outcome: Outcome) -> Message:
    verb = "Approved" if outcome.kind == APPROVE else "Rejected"
    by = outcome.service_user or "no user"
    recorded = f"The service recorded it for {by}: {outcome.status}, version {outcome.version}."
    lines = [Line(outcome.text), Line(recorded)]
    if outcome.how == "read back":
        lines.append(Line("Its answer was lost on the way, so the request was read back.", "warn"))
    return status(f"{verb} {asked.name}", *lines, Line("Sync to take it off this list.", "quiet"))
