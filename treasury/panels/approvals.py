"""Approvals: the ramp requests that await one, and the two steps that approve or reject one.

What is on the list comes from the lake, what was decided since from the journal; the panel itself
remembers only what is on screen. The steps are those of `deciding`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import duckdb

from treasury.actions import KINDS, Outcome
from treasury.api.models import RampRequest
from treasury.errors import InputError, TreasuryError
from treasury.panels.blocks import (
    Button,
    Field,
    Frame,
    Line,
    Message,
    Pager,
    Press,
    Row,
    Step,
    Table,
)
from treasury.panels.decided import Told, read_at_service, said_in_journal
from treasury.panels.deciding import Asked, ask, carry_out, what_became
from treasury.panels.desk import Desk
from treasury.panels.paging import SIZE, Page, read_page
from treasury.panels.panel import Panel, alert, status
from treasury.panels.requests import COLUMNS, facts, request_row
from treasury.panels.syncing import SyncProgress, synced
from treasury.panels.text import instant, literal_text
from treasury.panels.work import Work
from treasury.reconcile import Rows

__all__ = ["ApprovalsPanel"]

QUERY: Final = (
    "SELECT * FROM ramp_requests WHERE status = 'AWAITING_APPROVAL' AND vanished_at IS NULL"
)
ORDER: Final = "created_at, id"
SEARCHED: Final = ("id", "payment_reference", "created_by")
APPROVE: Final = "ramp_request.approve"
REJECT: Final = "ramp_request.reject"
_REASON: Final = Field("reason", "Reason", "Optional; kept in our journal")
NOT_YET: Final = Line("Do not pay: not approved. Payment details follow the approval.", "warn")


class ApprovalsPanel(Panel):
    """Ramp requests awaiting approval; `rows`, `sql` and `relation` are what it shows, for SQL."""

    def __init__(self, desk: Desk, *, size: int = SIZE) -> None:
        super().__init__()
        self._desk = desk
        self._actions = desk.actions  # refuses here, and not at a press, where one may not act
        self._size = size
        self._page = Page(size=size)
        self._search = ""
        self._chosen: str | None = None
        self._asked: Asked | None = None
        self._read_since: dict[str, Told] = {}
        self._told: dict[str, Told] = {}
        self._refresh()

    def __repr__(self) -> str:
        return f"<approvals panel: {self._page.total} ramp requests await approval>"

    @property
    def sql(self) -> str:
        """The query behind the list, over all pages."""
        return f"{QUERY} ORDER BY {ORDER}"

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The list as a DuckDB relation over the last commit."""
        return self._desk.snapshot().connection().sql(self.sql)

    @property
    def rows(self) -> Rows:
        """The list as rows, all of them, with every column."""
        return Rows(self._desk.snapshot().sql(self.sql))

    # What is on screen

    def frame(self) -> Frame:
        """The list, the buttons that propose, and below them the step that confirms."""
        page, work = self._page, self._work
        idle = work is None and self._asked is None
        has_rows = bool(page.rows)
        several = page.total > page.size
        return Frame(
            title="Approvals",
            notes=self._notes(),
            tools=(Button("sync", "Sync", enabled=idle),),
            search=Field("search", "Search", "Id, reference or creator") if several else None,
            table=self._table() if has_rows else None,
            empty="" if has_rows else self._emptiness(),
            bar=_bar(idle=idle) if has_rows else (),
            remark=_REASON if has_rows else None,
            pager=Pager(page.text, not page.is_first, not page.is_last) if page.total else None,
            step=None if self._asked is None else self._step(self._asked),
            progress=None if work is None else work.progress,
            message=self._message,
            focus=self._focus,
        )

    def _notes(self) -> tuple[Line, ...]:
        desk, commit = self._desk.settings.workspace, self._commit
        known = "nothing synced yet" if commit is None else f"known at {instant(commit.at)}"
        sandbox = "SANDBOX, no real money" if desk.environment == "sandbox" else desk.environment
        return (Line(f"{desk.company} · {sandbox} · {known}", "quiet"),)

    def _emptiness(self) -> str:
        if self._commit is None:
            return "Nothing is known yet. Sync to see what awaits approval."
        return "No request holds that." if self._search else "No request awaits approval."

    def _table(self) -> Table:
        rows = tuple(self._row(row) for row in self._page.rows)
        return Table("Ramp requests awaiting approval", COLUMNS, rows, self._chosen)

    def _row(self, row: Mapping[str, Any]) -> Row:
        told = self._told_of(row)
        lines = () if told is None else told.lines
        return request_row(
            literal_text(row["id"]), row, lines, may_choose=told is None or not told.settled
        )

    def _step(self, asked: Asked) -> Step:
        confirmed = asked.confirmed
        approve = confirmed.kind == APPROVE
        changed = tuple(Line(f"Since the last sync: {change}", "warn") for change in asked.changed)
        return Step(
            key=asked.nonce,
            title=f"{KINDS[confirmed.kind].verb} {_name(asked)}?",
            text=confirmed.text,
            facts=facts(confirmed, asked.read_at),
            notes=(*changed, NOT_YET) if approve else changed,
            buttons=(
                Button("back", "Go back", enabled=self._work is None),
                Button(
                    "confirm",
                    "Confirm approval" if approve else "Confirm rejection",
                    "primary" if approve else "danger",
                    enabled=self._work is None,
                ),
            ),
            tone="go" if approve else "stop",
        )

    # What presses do

    def handlers(self) -> dict[str, Callable[[Press], None]]:
        """What each press does."""
        return {
            "hello": self._greet,
            "approve": partial(self._ask, APPROVE),
            "reject": partial(self._ask, REJECT),
            "confirm": self._confirm,
            "back": self._back,
            "sync": self._sync,
            "search": self._find,
            "previous": partial(self._turn_page, -1),
            "next": partial(self._turn_page, 1),
        }

    def _greet(self, _: Press) -> None:
        """A view appeared: show it what is so now, unless somebody is in the middle of a step."""
        if self._work is None and self._asked is None:
            self._refresh()

    def _ask(self, kind: str, press: Press) -> None:
        if self._asked is not None:
            return
        self._message = None
        row = self._row_of(press.chosen)
        self._chosen = press.chosen
        reason = press.typed.get("reason", "").strip() or None

        def task(work: Work) -> Message | None:
            answer = ask(self._desk, kind, row, reason, work)
            with self._turn:
                if isinstance(answer, RampRequest):
                    return self._already(answer)
                self._asked, self._focus = answer, "step"
            return None

        name = row["payment_reference"] or row["id"]
        self._start(
            f"Reading {name} from the service",
            task,
            lambda error: alert(f"{name} is not decided", error, Line("Nothing was sent.")),
            "Nothing was sent.",
        )

    def _confirm(self, press: Press) -> None:
        asked = self._asked
        if asked is None or press.step != asked.nonce:
            return

        def task(work: Work) -> Message:
            outcome = carry_out(self._desk, asked, work)
            self._chosen = None
            return self._finished(_done(asked, outcome))

        def failed(error: TreasuryError) -> Message:
            nothing, sentence = what_became(self._desk, asked, error)
            name = _name(asked)
            title = f"{name} is not decided" if nothing else f"Look at {name} before deciding again"
            return self._finished(alert(title, error, Line(sentence)))

        self._start(f"Checking {_name(asked)}", task, failed, "Nothing was sent.")

    def _back(self, _: Press) -> None:
        if self._asked is not None:
            kind, self._asked, self._message = self._asked.confirmed.kind, None, None
            self._focus = "approve" if kind == APPROVE else "reject"

    def _sync(self, _: Press) -> None:
        if self._asked is not None:
            return

        def task(work: Work) -> Message:
            message = synced(self._desk.sync(progress=SyncProgress(work)))
            with self._turn:
                self._read_since.clear()
                self._refresh()
            return message

        self._start(
            "Syncing",
            task,
            lambda error: alert("Not synced", error, Line("What was stored stays as it was.")),
            "What was stored stays as it was.",
        )

    def _find(self, press: Press) -> None:
        self._search = press.typed.get("search", "").strip()
        self._page = Page(size=self._size)
        self._refresh()

    def _turn_page(self, step: int, _: Press) -> None:
        self._refresh(self._page.number + step)

    # What it knows

    def _refresh(self, number: int | None = None) -> None:
        snapshot = self._desk.snapshot()
        self._commit = snapshot.commit
        self._page = read_page(
            snapshot,
            QUERY,
            ORDER,
            SEARCHED,
            search=self._search,
            number=self._page.number if number is None else number,
            size=self._size,
        )
        self._told = said_in_journal(self._desk.journal.entries("action."))

    def _told_of(self, row: Mapping[str, Any]) -> Told | None:
        """What is known of a request and newer than its row."""
        known = (self._told.get(row["id"]), self._read_since.get(row["id"]))
        newer = [told for told in known if told is not None and told.is_newer_than(row)]
        return next((told for told in newer if told.settled), newer[0] if newer else None)

    def _row_of(self, chosen: str | None) -> Mapping[str, Any]:
        for row in self._page.rows:
            if literal_text(row["id"]) == chosen:
                told = self._told_of(row)
                if told is not None and told.settled:
                    raise InputError("That request is already decided", do="choose another one")
                return row
        raise InputError("No request is chosen", do="choose one in the list, then decide")

    def _already(self, request: RampRequest) -> Message:
        told = read_at_service(request)
        self._read_since[request.id] = told
        self._chosen = None
        name = request.payment_reference or request.id
        return status(f"{name} is already decided", Line("Nothing was sent."), *told.lines)

    def _finished(self, message: Message) -> Message:
        """Leave the step, whatever came of it, and look at the journal again."""
        with self._turn:
            self._asked = None
            self._told = said_in_journal(self._desk.journal.entries("action."))
            return message


def _bar(*, idle: bool) -> tuple[Button, ...]:
    return (
        Button("approve", "Approve…", "primary", enabled=idle),
        Button("reject", "Reject…", enabled=idle),
    )


def _name(asked: Asked) -> str:
    request = asked.confirmed.request
    return asked.confirmed.target if request is None else request.name


def _done(asked: Asked, outcome: Outcome) -> Message:
    verb = "Approved" if outcome.kind == APPROVE else "Rejected"
    by = outcome.service_user or "no user"
    recorded = f"The service recorded it for {by}: {outcome.status}, version {outcome.version}."
    lines = [Line(outcome.text), Line(recorded)]
    if outcome.how == "read back":
        lines.append(Line("Its answer was lost on the way, so the request was read back.", "warn"))
    return status(f"{verb} {_name(asked)}", *lines, Line("Sync to take it off this list.", "quiet"))
