"""The checklist of a close: what has to be true, whether it is, and what blocks where it is not.

One list for the command, the notebook and the report. Each step says in a sentence what was found,
and each thing that blocks names its items, its amount and the next step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.lake import AMOUNT, INTEGER, TEXT
from treasury.reconcile.periods import Blocker
from treasury.report.closing import Closing
from treasury.report.ledger import AGREES
from treasury.report.screen import statements_words, transit_words
from treasury.report.verdict import Need
from treasury.report.words import (
    amount_words,
    bank_lines_words,
    count,
    day,
    moment,
    short_account,
)
from treasury.tabular import Tabular
from treasury.text import clean, safe_html

__all__ = ["CHECKLIST", "Checklist", "Step", "blockers", "checklist"]

CHECKLIST: Final = pa.schema(
    [
        ("step", TEXT),
        ("state", TEXT),
        ("found", TEXT),
        ("blocking", TEXT),
        ("items", INTEGER),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("owner", TEXT),
        ("since", TEXT),
        ("next_step", TEXT),
    ]
)
"""A row a step, or one for each thing that blocks it; `amount` in `currency`."""

LEFT: Final = "text-align:left"
_LINES: Final = ("suggested", "conflict", "duplicate", "unreferenced")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that has to be true: its title, what was found, and what blocks it."""

    title: str
    found: str
    blockers: tuple[Blocker, ...] = ()
    asked: bool = True
    """Whether it has to hold; a ledger that nobody gave blocks nothing."""

    @property
    def state(self) -> str:
        """`done`, `open` or `not asked`."""
        if not self.asked:
            return "not asked"
        return "open" if self.blockers else "done"

    def __str__(self) -> str:
        mark = {"done": "x", "open": " ", "not asked": "-"}[self.state]
        lines = [f"[{mark}] {self.title:<20} {self.found}"]
        return "\n".join((*lines, *(f"      {clean(one)}" for one in self.blockers)))


class Checklist(Tabular, msgspec.Struct, frozen=True):
    """The steps of a close in their order; the last is the lock. `sql`: the outcomes' query."""

    title: str
    steps: tuple[Step, ...]
    sql: str = ""

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        """Everything that blocks, in the order of the steps."""
        return tuple(one for step in self.steps for one in step.blockers)

    @property
    def table(self) -> pa.Table:
        """The same as a table; columns as in CHECKLIST."""
        rows = [row for step in self.steps for row in _rows(step)]
        return pa.Table.from_pylist(rows, schema=CHECKLIST)

    def sheets(self) -> Mapping[str, pa.Table]:
        """The steps."""
        return {"Checklist": self.table}

    def __str__(self) -> str:
        return "\n".join((self.title, *map(str, self.steps)))

    def _repr_html_(self) -> str:
        titles = ("Step", "State", "Found")
        head = "".join(f"<th scope='col' style='{LEFT}'>{title}</th>" for title in titles)
        body = "".join(map(_html_rows, self.steps))
        caption = f"<caption>{safe_html(self.title)}</caption>"
        return f"<table class='tex2jax_ignore'>{caption}<tr>{head}</tr>{body}</table>"


def _html_rows(step: Step) -> str:
    """A step, and under it a row for each thing that blocks."""
    told = [(step.title, step.state, step.found), *(("", "", one) for one in step.blockers)]
    cells = ("".join(f"<td style='{LEFT}'>{safe_html(cell)}</td>" for cell in row) for row in told)
    return "".join(f"<tr>{row}</tr>" for row in cells)


def checklist(closing: Closing) -> Checklist:
    """Everything that has to be true before the month is locked, and what is."""
    r = closing.r
    return Checklist(
        f"Close of {r.month.title}, {clean(r.company)}",
        (
            _statements(closing),
            _synced(closing),
            _balances(closing),
            _transit(closing),
            _ledger(closing),
            _explained(closing),
            _rolled(closing),
            _decided(closing),
            _locked(closing),
        ),
        sql=closing.sql,
    )


def blockers(closing: Closing) -> tuple[Blocker, ...]:
    """Everything that stands between the month and its close."""
    return checklist(closing).blockers


def _statements(closing: Closing) -> Step:
    found = closing.verdict
    missing = [
        Blocker(
            label=f"Statement not complete: {row['name'] or ''} {short_account(row['account'])}"
            + (f": {row['problem']}" if row["problem"] else ""),
            items=1,
            next_step=_missing(row, closing.r.month),
            owner="Treasury",
        )
        for row in closing.r.statements.to_pylist()
        if not row["complete"]
    ]
    if not found.accounts:
        step = "declare the accounts in treasury.toml"
        missing = [Blocker(label="No account declared", items=1, next_step=step, owner="Treasury")]
    return Step(title="Statements", found=statements_words(found), blockers=tuple(missing))


def _missing(row: dict[str, Any], month: Month) -> str:
    """What would complete an account's statements: another file, earlier days or later ones."""
    if row["problem"]:
        return "get the file again from the bank, then `treasury statements add FILE`"
    if row["covered_to"] is None:
        return "add its statements"
    if row["covered_to"] < month.last:
        return f"add the statement after {day(row['covered_to'], month.year)}"
    return f"add the statement before {day(row['covered_from'], month.year)}"


def _synced(closing: Closing) -> Step:
    at, end = closing.synced_at, closing.r.month.end(closing.zone)
    year = closing.r.month.year
    found = f"last read {moment(at, closing.zone, year)}" if at else "the services were never read"
    if closing.verdict.synced is not False:
        return Step(title="Sync", found=found)
    late = Blocker(
        label=f"Not synced after {moment(end, closing.zone, year)}",
        items=1,
        next_step="run `treasury sync`",
        owner="Treasury",
    )
    return Step(title="Sync", found=found, blockers=(late,))


def _balances(closing: Closing) -> Step:
    rows = closing.balances.to_pylist()
    ways: dict[str, int] = {}
    for row in rows:
        ways[row["proved_by"]] = ways.get(row["proved_by"], 0) + 1
    told = ", ".join(f"{number} by {way}" for way, number in sorted(ways.items()))
    told = told.replace("by nothing yet", "not proved").replace("by service says", "service says")
    blocking = tuple(
        Blocker(
            label=f"Balance not proved: {row['name']}, {row['currency']}: {row['problem']}",
            items=1,
            next_step=row["next_step"],
            currency=row["currency"] if row["unexplained"] or row["in_doubt"] else "",
            amount=row["unexplained"] or row["in_doubt"],
            owner="Treasury",
        )
        for row in rows
        if row["blocks"]
    )
    return Step(title="Balances", found=told or "none", blockers=blocking)


def _transit(closing: Closing) -> Step:
    needs = [need for need in closing.verdict.needs if need.kind not in (*_LINES, "earlier")]
    at = day(closing.r.month.last)
    found = f"in transit at {at}: {transit_words(closing.r)}"
    return Step(title="In transit", found=found, blockers=tuple(_needed(needs)))


def _ledger(closing: Closing) -> Step:
    ledger = closing.ledger
    if ledger is None:
        return Step(title="Ledger", found="not provided: nothing to compare", asked=False)
    apart = tuple(
        Blocker(
            label=f"Ledger, {row['name'] or short_account(row['account'])}, {row['currency']}:"
            f" {row['finding']}",
            items=1,
            next_step="correct the ledger, or explain the difference",
            **_apart_by(row),
            owner="Accounting",
        )
        for row in ledger.lines.to_pylist()
        if row["finding"] != AGREES
    )
    return Step(title="Ledger", found=ledger.title, blockers=apart)


def _apart_by(row: dict[str, Any]) -> dict[str, Any]:
    """What the ledger differs by; all of it where only one side has the account."""
    sides = (row["difference"], row["expected"], row["ledger"])
    amount = next((side for side in sides if side is not None), None)
    return {"amount": amount, "currency": "" if amount is None else row["currency"]}


def _explained(closing: Closing) -> Step:
    needs = [need for need in closing.verdict.needs if need.kind in _LINES]
    unproved = tuple(
        Blocker(
            label=f"Not provable: credits to {count(number, 'virtual account')}, {reason}",
            items=number,
            next_step="ask for the report of the account that the credits are booked on",
            owner="Provider",
        )
        for reason, number in closing.verdict.not_provable
    )
    return Step(
        title="Bank lines",
        found=bank_lines_words(closing.r.counts()),
        blockers=(*_needed(needs), *unproved),
    )


def _needed(needs: Sequence[Need]) -> Iterator[Blocker]:
    for need in needs:
        if need.items > need.apart:
            yield Blocker(
                label=need.words.label,
                items=need.items - need.apart,
                next_step=need.words.next_step,
                currency=need.currency,
                amount=need.amount_here,
                owner=need.words.owner,
                since=need.since_here.isoformat() if need.since_here else "",
            )


def _rolled(closing: Closing) -> Step:
    """Figures that do not tie never come this far: rolling them forward raises."""
    rows = closing.rolled.roll_forward.to_pylist()
    parts = [
        f"{row['kind'].replace('_', '-')} {amount_words(row['opening'], row['currency'])}"
        f" to {amount_words(row['closing'], row['currency'])}"
        for row in rows
    ]
    return Step(title="Roll-forward", found="tied: " + " · ".join(parts) if parts else "no request")


def _decided(closing: Closing) -> Step:
    rolled = closing.rolled
    found = f"{count(rolled.decisions, 'decision')} journaled"
    if not rolled.moved:
        return Step(title="Decisions", found=found)
    moved = Blocker(
        label="Decided on facts that have changed",
        items=len(rolled.moved),
        next_step="look at each with `treasury match list`; undo what is no longer right",
        owner="Treasury",
    )
    return Step(title="Decisions", found=found, blockers=(moved,))


def _locked(closing: Closing) -> Step:
    period = closing.period
    if period is None:
        return Step(title="Lock", found="not locked: a second person reviews it", asked=False)
    close = period.close
    why = f"; open items: {close.reason}" if close.reason else ""
    return Step(
        title="Lock",
        found=f"closed by {clean(close.prepared_by)}, reviewed by {clean(close.reviewed_by)},"
        f" {moment(period.closed_at, closing.zone, closing.r.month.year)}{clean(why)}",
    )


def _rows(step: Step) -> Iterator[dict[str, Any]]:
    own = {"step": step.title, "state": step.state, "found": step.found}
    for one in step.blockers:
        yield own | {
            "blocking": one.label,
            "items": one.items,
            "amount": one.amount,
            "currency": one.currency or None,
            "owner": one.owner,
            "since": one.since or None,
            "next_step": one.next_step,
        }
    if not step.blockers:
        yield own
