"""Decisions from a sheet: first a preview of each row's effect, then one write of all decisions.

A choice in the sheet is checked like the same decision elsewhere: by `Deciding` for bank lines, by
`Marking` for requests, by `Carrying` for carried items. Rows are handled in the order of the list
of open items, not in the order of the sheet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month, day_words
from treasury.core.errors import ActionRefused, InputError, TreasuryError
from treasury.core.money import format_amount, total
from treasury.core.tables.column_types import AMOUNT, INTEGER, TEXT, schema_of
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.tables.workbook import write_whole
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Entry, Journal
from treasury.journal.decision_history import SHEET, Decision
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.period_history import closed_periods
from treasury.month.decisions.remarks import Marking
from treasury.month.decisions.verdict_checks import Wish
from treasury.month.decisions.verdicts import Deciding
from treasury.month.items.carrying import Carrying
from treasury.month.items.decision_effects import Effects
from treasury.month.items.noting import ListItems
from treasury.month.items.open_item import OpenItem
from treasury.month.items.open_items import OpenItems
from treasury.month.items.sheet.sheet_book import TITLES, decision_book
from treasury.month.items.sheet.sheet_input import FilledRow, read_sheet
from treasury.month.items.sheet.sheet_rows import (
    ACTS,
    SHOWN_ACTS,
    DecisionRow,
    SheetChoice,
    decision_rows,
    groups_until,
)
from treasury.month.standing_knowledge import Knowledge

_Outcome: TypeAlias = Literal["to be journaled", "stands already", "refused"]
_ForeseenEffects: TypeAlias = Callable[[Decided, Sequence[Draft], Month], Effects]
"""Returns the effects of planned journal entries on a month's other open items."""
_WRITE_AGAIN: Final = "write the sheet again: treasury exceptions --sheet FILE"
_VERDICTS: Final = ("accept", "accept_group", "reject", "ignore", "assign")
"""The choices about a bank line; other choices are remarks on requests or about carrying."""
_TOTALS: Final = pa.schema(
    {"outcome": TEXT, "decision": TEXT, "currency": TEXT, "items": INTEGER, "amount": AMOUNT}
)


class SheetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the sheet and its result.

    `why` is the reason for its refusal, or where its decision is already journaled. For a row to be
    journaled, it lists the contradictions that the row's reason outweighs. `act` is a key of ACTS,
    or empty for an unknown choice. `owner` and `expected_by` are as in the row, or empty.
    """

    row: int
    outcome: _Outcome
    act: str
    decision: str
    name: str
    amount: Decimal | None
    currency: str
    reason: str
    owner: str
    expected_by: date | None
    proposed_by: str
    why: str
    item_id: str
    seen: str

    @property
    def sentence(self) -> str:
        """The decision, its item, its reason and the person who proposed it."""
        worth = "" if self.amount is None else f", {format_amount(self.amount, self.currency)}"
        owner = f". Owner: {self.owner}" if self.owner else ""
        by = f", clear by {day_words(self.expected_by)}" if self.expected_by else ""
        reason = f". Reason: {self.reason}" if self.reason else ""
        although = f". Although {self.why}" if self.why else ""
        proposed = f". Proposed by {self.proposed_by}" if self.proposed_by else ""
        return f"{self.decision}: {self.name}{worth}{owner}{by}{reason}{although}{proposed}"


_ROWS: Final = pa.schema(
    field for field in schema_of(SheetVerdict) if field.name not in {"act", "seen"}
)


class SheetPlan(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The results of a sheet, row by row; each amount is in its row's currency.

    `effects` are the open items that change outside the sheet; None unless it was a dry run.
    `sql` is the SQL that computes the outcomes behind the items about bank lines.
    """

    printed: ClassVar[Sequence[str]] = ("totals", "table")

    file: str
    month: Month
    verdicts: tuple[SheetVerdict, ...]
    effects: Effects | None = None
    is_journaled: bool = False
    sql: str = ""

    @property
    def planned(self) -> tuple[SheetVerdict, ...]:
        """The rows that would be journaled, or were journaled if this is not a dry run."""
        return tuple(row for row in self.verdicts if row.outcome == "to be journaled")

    @property
    def refused(self) -> tuple[SheetVerdict, ...]:
        """The rows that are refused."""
        return tuple(row for row in self.verdicts if row.outcome == "refused")

    @property
    def standing(self) -> tuple[SheetVerdict, ...]:
        """The rows with a decision that already exists."""
        return tuple(row for row in self.verdicts if row.outcome == "stands already")

    @property
    def table(self) -> Table:
        """One row per sheet row that has a choice, and per further line of a chosen group."""
        rows = [msgspec.structs.asdict(verdict) for verdict in self.verdicts]
        return Table(pa.Table.from_pylist(rows, schema=_ROWS))

    @property
    def totals(self) -> Table:
        """The number of items and the money per decision, by outcome and currency."""
        groups: dict[tuple[str, str, str], list[Decimal | None]] = {}
        for verdict in self.verdicts:
            key = (verdict.outcome, SHOWN_ACTS.get(verdict.act, "not known"), verdict.currency)
            groups.setdefault(key, []).append(verdict.amount)
        rows = []
        for group, amounts in groups.items():
            stated = [amount for amount in amounts if amount is not None]
            values = (*group, len(amounts), total(stated) if stated else None)
            rows.append(dict(zip(_TOTALS.names, values, strict=True)))
        return Table(pa.Table.from_pylist(rows, schema=_TOTALS))

    def sheets(self) -> Mapping[str, Table]:
        """Return the rows and the sums by sheet name."""
        return {"Rows": self.table, "Sums": self.totals}


class _Answer(msgspec.Struct, frozen=True):
    """The result of a row: the reason, and the entry to journal, if any."""

    outcome: _Outcome
    why: str
    draft: Draft | None = None


class _Chosen(msgspec.Struct, frozen=True):
    """A row with its item as it is now, and the choice in it.

    `group` are the items of the chosen group of equal payments, empty for other choices.
    """

    row: FilledRow
    shown: DecisionRow
    choice: SheetChoice
    group: tuple[str, ...] = ()

    @property
    def wish(self) -> Wish:
        """The decision that the person requests by a choice about a bank line."""
        act = self.choice.act
        return Wish(
            verb="accept" if act == "accept_group" else act,
            entry_id=self.shown.item.entry_id or "",
            expectations=self.choice.expectations,
            reason=self.row.reason,
            to=self.row.owner if act == "assign" else "",
        )


class DecisionSheets(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Writes open items as a workbook, and journals the decisions that people made in it.

    `t.exceptions_sheet` and `t.decide` call it.
    """

    journal: Journal
    matches: Deciding
    funding: Marking
    carrying: Carrying
    list_items: ListItems
    effects: _ForeseenEffects
    now: Callable[[], datetime]
    company: str
    environment: str
    until: datetime | None = None
    zone: ZoneInfo

    def write(self, path: Path, items: OpenItems) -> int:
        """Write a decision sheet of open items to a new file, and return the number of its rows.

        Parameters
        ----------
        path
            The new file, an Excel workbook.
        items
            Open items of one month.

        Raises
        ------
        ActionRefused
            If the month is closed.
        InputError
            If the file already exists.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> sheets.write(Path("october.xlsx"), t.open_items("2026-10"))
        """
        require_present(self.until)
        if path.exists():
            raise InputError(
                f"{path} exists already, perhaps with decisions in it",
                do="name another file, or remove it",
            )
        rows = list(self.rows(items).values())
        about = f"{clean(self.company)}, {self.environment}, open items of {items.month.title}"
        book, tables = decision_book(rows, items.month, about, self.now(), self.zone.key)
        write_whole(book, tables, path)
        return len(rows)

    def rows(self, items: OpenItems) -> Mapping[str, DecisionRow]:
        """Return the possible decisions for open items of one month, by item.

        Raise ActionRefused if the month is closed.
        """
        decided = read_decided(self.journal)
        self._require_open(items.month, decided)
        knowledge, _ = self.matches.known_under(decided)
        return decision_rows(items, knowledge, decided)

    def decide(
        self,
        source: Path | bytes | Sequence[FilledRow],
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Journal the decisions of a sheet in one write, without the refused ones.

        The author of each decision is the person who applies the sheet.

        Parameters
        ----------
        source
            The file, its bytes, or filled rows, as a screen has them.
        name
            The file's name in messages, for bytes and rows.
        agreed
            The result of a dry run. Exactly its decisions are journaled.
        actor
            The person who applies the sheet; default: the person at the login.
        dry_run
            Return the effect of each row and write nothing.

        Returns
        -------
        SheetPlan
            A row per filled row of the sheet, with its decision or its refusal.

        Raises
        ------
        InputError
            If the file is not a decision sheet, or contains no choice.
        ActionRefused
            If a decision differs from `agreed`, or the month is closed.

        Examples
        --------
        >>> plan = sheets.decide(Path("october.xlsx"), dry_run=True)
        >>> sheets.decide(Path("october.xlsx"), agreed=plan)
        """
        file, filled = (
            read_sheet(source, name) if isinstance(source, Path | bytes) else (name, tuple(source))
        )
        who = actor or self.journal.who()
        if dry_run:
            decided = read_decided(self.journal, until=self.until)
            plan, drafts = self._plan(file, filled, decided, who)
            effects = self.effects(decided, drafts, plan.month)
            return msgspec.structs.replace(plan, effects=effects)
        require_present(self.until)

        def build(decided: Decided) -> tuple[Sequence[Draft], SheetPlan]:
            plan, drafts = self._plan(file, filled, decided, who)
            if agreed is not None and plan.planned != agreed.planned:
                raise ActionRefused(
                    f"the effect of {file} has changed since the preview; nothing was journaled",
                    do="look at the preview as it is now, then apply it",
                )
            return drafts, plan

        _, plan = decide(self.journal, build)
        return msgspec.structs.replace(plan, is_journaled=True)

    def _plan(
        self, file: str, filled: Sequence[FilledRow], decided: Decided, who: Actor
    ) -> tuple[SheetPlan, Sequence[Draft]]:
        """Return the result of each row, and the entries to journal."""
        if not filled:
            raise InputError(
                f"{file} contains no choice", do="choose in the column Decision, and save it"
            )
        months = Counter(row.month for row in filled if row.month)
        if not months:
            raise InputError(
                f"no row of {file} has the month and hash of its item", do=_WRITE_AGAIN
            )
        month = Month.parse(months.most_common(1)[0][0])
        self._require_open(month, decided)
        items = self.list_items(month, decided, None, None)
        known = self.matches.known_under(decided)
        rows = decision_rows(items, known[0], decided)
        answer = _answering(filled, rows, month, decided)
        answers = {row.number: answer(row) for row in filled}
        places = {item_id: place for place, item_id in enumerate(rows)}
        chosen = [
            _Chosen(row, rows[row.item_id], choice)
            for row in sorted(filled, key=lambda row: places.get(row.item_id, 0))
            if isinstance(choice := answers[row.number], SheetChoice)
        ]
        chosen = _with_groups(chosen, filled, rows, groups_until(month, known[0]))
        planned = _whole_groups(chosen, self._answers(chosen, decided, known, who), filled)
        verdicts = []
        for row in filled:
            answered = planned.get(row.item_id) or answers[row.number]
            # Every choice is in `planned`, so only answers are left in `answers`.
            assert isinstance(answered, _Answer)
            verdicts.append(_verdict(row, rows.get(row.item_id), answered))
            # The other lines of a group follow the row in which the group was chosen.
            verdicts += [
                _verdict(one.row, one.shown, planned[one.row.item_id])
                for one in chosen
                if one.row.number == row.number and one.row.item_id != row.item_id
            ]
        plan = SheetPlan(file=file, month=month, verdicts=tuple(verdicts), sql=items.sql)
        return plan, [answered.draft for answered in planned.values() if answered.draft]

    def _answers(
        self,
        chosen: Sequence[_Chosen],
        decided: Decided,
        known: tuple[Knowledge, Sequence[Decision]],
        who: Actor,
    ) -> dict[str, _Answer]:
        """Return the result of each choice by its item's id, in the order of the list."""
        of_lines = [one for one in chosen if one.choice.act in _VERDICTS]
        verdicts = self.matches.plan_each(decided, known, [one.wish for one in of_lines], who)
        of_line = {
            one.row.item_id: verdict for one, verdict in zip(of_lines, verdicts, strict=True)
        }
        answers = {}
        # The items that this write carries or accepts, for the daily limits of the policy.
        carried: dict[str, list[OpenItem]] = {"carry": [], "accept_carry": []}
        for one in chosen:
            against: Sequence[str] = ()
            try:
                planned = of_line.get(one.row.item_id)
                if isinstance(planned, TreasuryError):
                    raise planned
                if planned is None:
                    draft = self._draft(one, decided, who, carried.get(one.choice.act, ()))
                else:
                    draft, against = planned.draft, planned.decision.despite
            except (ActionRefused, InputError) as refusal:
                answers[one.row.item_id] = _Answer("refused", str(refusal))
                continue
            if draft is None:
                answers[one.row.item_id] = _Answer("stands already", "it was decided elsewhere")
                continue
            if one.choice.act in carried:
                carried[one.choice.act].append(one.shown.item)
            noted = msgspec.to_builtins(draft.body) | {SHEET: one.row.journaled}
            draft = msgspec.structs.replace(draft, body=noted)
            answers[one.row.item_id] = _Answer("to be journaled", "; ".join(against), draft)
        return answers

    def _draft(
        self, one: _Chosen, decided: Decided, who: Actor, planned: Sequence[OpenItem]
    ) -> Draft | None:
        """Return the entry for a remark or a choice about carrying; None if it already exists.

        `planned` are the items with the same choice before this one.
        """
        item, row = one.shown.item, one.row
        if one.choice.act == "accept_carry":
            return self.carrying.plan_acceptance(decided, item, who, planned=planned)
        if one.choice.act != "carry":
            request = item.request_id or ""
            return self.funding.plan_remark(decided, one.choice.act, request, row.reason, who)[0]
        if row.expected_by is None:
            raise InputError("Clear by is empty", do="give the day by which it should clear")
        return self.carrying.plan_proposal(
            decided,
            item,
            who,
            owner=row.owner,
            by=row.expected_by,
            reason=row.reason,
            planned=planned,
        )

    def _require_open(self, month: Month, decided: Decided) -> None:
        if str(month) in closed_periods(decided.entries):
            raise ActionRefused(
                f"{month.title} is closed: its open items are in the list of the next month",
                do=f"write a sheet for that month: treasury exceptions {month.next} --sheet FILE",
            )


def _with_groups(
    chosen: Sequence[_Chosen],
    filled: Sequence[FilledRow],
    rows: Mapping[str, DecisionRow],
    groups: Mapping[str, Mapping[str, str]],
) -> list[_Chosen]:
    """Apply the choice of a group to those of its lines that have empty rows."""
    with_rows = {row.item_id for row in filled}
    completed = []
    for one in chosen:
        if one.choice.act != "accept_group":
            completed.append(one)
            continue
        members = tuple(f"line:{name}" for name in groups[one.shown.item.entry_id or ""])
        added = [name for name in members if name in rows and name not in with_rows]
        with_rows.update(added)
        for item_id in (one.row.item_id, *added):
            (choice,) = (c for c in rows[item_id].choices if c.act == "accept_group")
            row = msgspec.structs.replace(one.row, item_id=item_id)
            completed.append(_Chosen(row, rows[item_id], choice, members))
    return completed


def _whole_groups(
    chosen: Sequence[_Chosen], answers: Mapping[str, _Answer], filled: Sequence[FilledRow]
) -> dict[str, _Answer]:
    """Refuse a whole group if one of its lines is refused, or has another choice in its own row."""
    whole = dict(answers)
    in_group = {one.row.item_id for one in chosen if one.group}
    otherwise = {row.item_id: row.number for row in filled if row.item_id not in in_group}
    for one in chosen:
        problem = ""
        for item_id in one.group:
            answer = answers.get(item_id)
            if item_id in otherwise:
                number = otherwise[item_id]
                problem = (
                    f"row {number} decides a line of this group differently: leave one of"
                    " the two empty"
                )
            elif answer is None:
                problem = f"{item_id}, a line of the group, is not among the open items"
            elif answer.outcome == "refused":
                problem = answer.why
            if problem:
                whole[one.row.item_id] = _Answer("refused", problem)
                break
    return whole


def _answering(
    filled: Sequence[FilledRow], rows: Mapping[str, DecisionRow], month: Month, decided: Decided
) -> Callable[[FilledRow], SheetChoice | _Answer]:
    """Return a function that returns the choice in a row, or why the row cannot be decided."""
    named = Counter(row.item_id for row in filled)
    journaled: dict[tuple[str, str], Entry] = {}
    last: dict[str, int] = {}
    for entry in decided.entries:
        last[entry.subject] = entry.seq
        if noted := entry.body.get(SHEET):
            journaled[noted["row"], noted["decision"]] = entry

    def answer(row: FilledRow) -> SheetChoice | _Answer:
        if problem := row.problem or _misplaced(row, month, named):
            return _Answer("refused", problem)
        entry = journaled.get((row.seen, row.decision))
        if entry is not None and last[entry.subject] == entry.seq:
            return _Answer("stands already", f"entry {entry.seq}, by {entry.actor.name}")
        if entry is not None:
            return _Answer(
                "refused",
                f"entry {entry.seq} contains it, and newer decisions exist; {_WRITE_AGAIN}",
            )
        shown = rows.get(row.item_id)
        if problem := _moved(row, month, shown):
            return _Answer("refused", problem)
        # `_moved` refuses a row without an existing item, so the item exists here.
        assert shown is not None
        for choice in reversed(shown.choices):
            if row.decision in {choice.label, choice.words}:
                return choice
        labels = ", ".join(repr(choice.words) for choice in shown.choices)
        nothing = f": it is not decided here; {shown.item.next_step}"
        advice = f"; choose from {labels}" if labels else nothing
        return _Answer("refused", f"there is no choice {row.decision[:80]!r}{advice}")

    return answer


def _misplaced(row: FilledRow, month: Month, named: Mapping[str, int]) -> str:
    """Return why a row cannot be assigned to an item; empty if it can."""
    if not row.item_id or not row.seen:
        return f"its {TITLES['item_id']} or {TITLES['seen']} is empty or was changed"
    if row.month != str(month):
        return (
            f"it belongs to {row.month}, but most rows belong to {month}: use one sheet for"
            " each month"
        )
    if named[row.item_id] > 1:
        return f"its item is decided in {named[row.item_id]} rows: keep one"
    return ""


def _moved(row: FilledRow, month: Month, shown: DecisionRow | None) -> str:
    """Return why a row no longer shows the current facts; empty if it does."""
    if shown is None:
        return f"this item is no longer open in {month.title}"
    item = shown.item
    if row.seen != shown.seen:
        return f"its facts have changed; now it is {item}; {_WRITE_AGAIN}"
    if not row.shows(item):
        return f"the name and amount in the row are not those of its item, {item}; {_WRITE_AGAIN}"
    return ""


def _verdict(row: FilledRow, shown: DecisionRow | None, answer: _Answer) -> SheetVerdict:
    item = None if shown is None else shown.item
    act = next(
        (
            act
            for act, words in (*ACTS.items(), *SHOWN_ACTS.items())
            if f"{row.decision}:".startswith(f"{words}:")
        ),
        "",
    )
    return SheetVerdict(
        row=row.number,
        outcome=answer.outcome,
        act=act,
        decision=row.decision,
        name=row.name if item is None else clean(item.name),
        amount=None if item is None else item.amount,
        currency="" if item is None else item.currency,
        reason=row.reason,
        owner=row.owner if act in {"assign", "carry"} else "",
        expected_by=row.expected_by if act == "carry" else None,
        proposed_by=row.proposed_by,
        why=clean(answer.why),
        item_id=row.item_id,
        seen=row.seen,
    )
