"""The matches panel: bank lines that need a person, their candidates, decisions in force.

It has three lists: the lines to decide, the candidates of one line side by side, and the decisions
in force, those with changed facts first. Matching runs again only if the lake or the journal has
changed. The two steps of a decision are in `verdict_steps`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Literal

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import InputError, TreasuryError
from treasury.core.files.package_files import step_sql
from treasury.core.money import format_amount
from treasury.core.wording import OUTCOME_MEANINGS, OUTCOMES, group_words
from treasury.journal.decision_history import Decision
from treasury.lake import Snapshot
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON, standing_table
from treasury.month.decisions.verdict_facts import contradicts
from treasury.month.decisions.verdicts import typed_expectations
from treasury.month.standing_knowledge import Knowledge
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Heading, InputField, ListRow, Message, Text, cell
from treasury.panels.frames.list_filters import ListFilter
from treasury.panels.frames.list_panel import Listing, view_buttons
from treasury.panels.frames.panel import Press, Presses, alert
from treasury.panels.frames.panel_text import day, instant
from treasury.panels.frames.query_pages import SIZE, ArrowTables, QuerySource
from treasury.panels.frames.traced_list import LookingPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.steps.verdict_steps import VERBS, PendingVerdict, Verdict, ask_verdict, settle

_ListName = Literal["lines", "candidates", "decisions"]
_NOTHING_WRITTEN: Final = "Nothing was written."
_OPEN: Final = step_sql("treasury.panels.queries", "open_lines")
_CANDIDATES: Final = step_sql("treasury.panels.queries", "open_candidates")
_DECISIONS: Final = """
SELECT CAST(seq AS VARCHAR) AS seq, entry_id, verb, booking_date, amount, currency,
    min(expectation_id) AS expectation_id,
    string_agg(coalesce(reference, expectation_id), ', ') AS "references",
    reason, "to", decided_by, decided_at, moved, proposed_by
FROM decisions GROUP BY ALL
"""
_LINE: Final = Heading("Bank line")
_VERBS_OF: Final[dict[_ListName, tuple[str, ...]]] = {
    "lines": ("accept", "ignore", "assign"),
    "candidates": ("accept", "reject"),
    "decisions": ("undo",),
}
_NO_LINES: Final = "Unknown: no bank line is stored. Add statements first."


class MatchesPanel(LookingPanel):
    """The panel of lines to decide; `rows`, `sql` and `relation` give the list to programs."""

    title: ClassVar[str] = "Matches"
    working: ClassVar[str] = "Matching the bank lines"
    not_worked_out: ClassVar[str] = "Not matched again"

    def __init__(self, desk: PanelWorkspace, *, size: int = SIZE) -> None:
        # In a view at an earlier instant, this raises InputError before any button is pressed.
        self._actions = desk.actions
        self._list_name: _ListName = "lines"
        self._line: dict[str, Any] | None = None
        self._has_lines = False
        super().__init__(desk, size=size)

    def summary(self) -> str:
        """Return the number of bank lines to decide."""
        return f"{self._tables['open_lines'].num_rows} bank lines to decide"

    # Display: the list, its notes, buttons and fields.

    def listing(self) -> Listing:
        """Return the lines, the candidates of one line, or the decisions."""
        listing = _LISTINGS[self._list_name]
        if self._list_name == "lines" and not self._has_lines:
            return msgspec.structs.replace(listing, empty=_NO_LINES)
        return listing

    def tables(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        """Return the lines, the candidates and the decisions of the last matching."""
        del snapshot  # Matching takes its own snapshot.
        knowledge, decisions = self._desk.matches.look()
        self._has_lines = knowledge.bank_lines.num_rows > 0
        return list_tables(knowledge, decisions)

    def read(self, snapshot: Snapshot) -> QuerySource | Snapshot:
        """Return the matching results; the candidates are those of one line."""
        self.work_out(snapshot)
        tables = dict(self._tables)
        if self._line is not None:
            of_line = pc.equal(tables["candidates"]["entry_id"], self._line["entry_id"])
            tables["candidates"] = tables["candidates"].filter(of_line)
        return ArrowTables(**tables)

    def views(self) -> tuple[Button, ...]:
        """Return the lists, with the candidates while a line is compared."""
        lines, decisions = (self._tables[name].num_rows for name in ("open_lines", "standing"))
        compared = {"candidates": "Candidates"} if self._list_name == "candidates" else {}
        labels = {"lines": f"To decide ({lines:,})", **compared}
        return view_buttons(labels | {"decisions": f"Decided ({decisions:,})"}, self._list_name)

    def banners(self) -> tuple[Message, ...]:
        """Return a warning about decisions with changed facts."""
        moved = pc.sum(pc.not_equal(self._tables["standing"]["moved"], "")).as_py() or 0
        if not moved:
            return ()
        title = "1 decision rests" if moved == 1 else f"{moved:,} decisions rest"
        advice = Text("Look under Decided: each shows the facts then and now.")
        return (Message(f"{title} on facts that have changed", (advice,)),)

    def more_notes(self) -> tuple[Text, ...]:
        """Return the compared line as the bank wrote it, or the meanings of the listed outcomes."""
        line = self._line
        if line is not None:
            return (Text(_line_label(line), "strong"), *_bank_texts(line))
        listed = set(self._tables["open_lines"]["outcome"].to_pylist())
        return tuple(
            Text(f"{OUTCOMES[outcome]}: {meaning}", "quiet")
            for outcome, meaning in OUTCOME_MEANINGS.items()
            if outcome in listed and self._list_name == "lines"
        )

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons of the decisions for the shown list."""
        verbs = [
            Button(verb, VERBS[verb].label, "primary" if place == 0 else "plain")
            for place, verb in enumerate(_VERBS_OF[self._list_name])
        ]
        if self._list_name == "lines":
            verbs.insert(1, Button("compare", "Compare candidates"))
            if self._tables["open_lines"]["group_id"].null_count < len(self._tables["open_lines"]):
                verbs.insert(1, Button("group", "Accept group…"))
        return tuple(verbs)

    def fields(self) -> tuple[InputField, ...]:
        """Return the field for the reason; for lines, also the expectation and the assignee."""
        reason = InputField("reason", "Reason", "Kept in our journal")
        if self._list_name != "lines":
            return (reason,)
        hint = "Reference or id; REFERENCE=AMOUNT for each of several"
        belongs = InputField("belongs_to", "Belongs to", hint)
        return (reason, belongs, InputField("to", "Assign to", "A colleague"))

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers of the decisions, and of the buttons that choose the list."""
        return {
            **{verb: partial(self._ask, verb) for verb in VERBS},
            "group": partial(self._ask, "group"),
            "compare": self._compare,
            "lines": lambda _: self._show_list("lines"),
            "candidates": lambda _: None,
            "decisions": lambda _: self._show_list("decisions"),
        }

    def _show_list(self, list_name: _ListName, line: dict[str, Any] | None = None) -> None:
        self._list_name, self._line = list_name, line
        self.drop_filters()
        self._chosen.clear()
        self.clear_fields()
        self.tell(None)
        self.refresh()
        self.show_page(0)

    def _compare(self, _: Press) -> None:
        (line, *more) = self.chosen_rows()
        if more:
            raise InputError("Several lines are chosen", do="choose one, then compare")
        if not line["candidates"]:
            raise InputError(
                "No expectation is a candidate for this line", do="ignore it with a reason"
            )
        self._show_list("candidates", line)

    def _ask(self, verb: str, press: Press) -> None:
        verdict = self._group(press) if verb == "group" else self._verdict(verb, press)

        def task(work: Work) -> Message | None:
            work.say("Checking the decision")
            answer = ask_verdict(self._desk, verdict)
            if isinstance(answer, Message):
                return self.finish(answer)
            self.ask(answer)
            return None

        self.start("Checking the decision", task, "Not decided", _NOTHING_WRITTEN)

    def _group(self, press: Press) -> Verdict:
        """Return the verdict on the group of equal payments that contains the chosen lines."""
        if self._list_name != "lines":
            raise InputError("Groups are accepted in the list of lines", do="choose there")
        groups = {row["group_id"] for row in self.chosen_rows()}
        if len(groups) > 1 or None in groups:
            raise InputError(
                "The chosen lines are not one group of equal payments",
                do="choose one line with the reason that several payments fit as many requests",
            )
        rows = self._tables["open_lines"].filter(
            pc.is_in(self._tables["open_lines"]["group_id"], pa.array(groups, pa.string()))
        )
        names, requests = (rows[name].to_pylist() for name in ("entry_id", "expectation_id"))
        return Verdict(
            verb="accept",
            pairs=tuple((name, (id_,)) for name, id_ in zip(names, requests, strict=True)),
            reason=press.text("reason"),
            why=group_words(len(names)),
        )

    def _verdict(self, verb: str, press: Press) -> Verdict:
        if verb not in _VERBS_OF[self._list_name]:
            raise InputError(f"{verb} is for another list", do="choose there")
        reason, to = press.text("reason"), press.text("to")
        rows = self.chosen_rows()
        if verb == "ignore" and not reason:
            raise InputError("reason: is missing", do="explain why it matches no expectation")
        if verb == "assign" and not to:
            raise InputError("to: is missing", do="give the name of a colleague")
        if verb == "assign" and len(rows) > 1:
            raise InputError("Several lines are chosen", do="assign one at a time")
        expectations = typed_expectations(press.text("belongs_to"))
        if verb == "accept" and expectations:
            if len(rows) > 1:
                raise InputError(
                    "belongs_to: several lines are chosen",
                    do="give the expectations of one line at a time",
                )
            return Verdict(verb=verb, pairs=((rows[0]["entry_id"], expectations),), reason=reason)
        if verb == "accept" and (without := [r for r in rows if not r["expectation_id"]]):
            raise InputError(
                f"belongs_to: is missing; {len(without)} of the chosen lines have no proposed"
                " match",
                do="give the reference of the expectation, or choose only lines with a candidate",
            )
        of_pair = verb in {"accept", "reject", "undo"}
        return Verdict(
            verb=verb,
            pairs=tuple(
                (r["entry_id"], (r["expectation_id"],) if of_pair and r["expectation_id"] else ())
                for r in rows
            ),
            reason=reason,
            to=to if verb == "assign" else "",
            seq=int(rows[0]["seq"]) if verb == "undo" else None,
        )

    def confirm(self, pending: PendingVerdict, _: Press) -> None:
        """Journal the verdict."""
        task = partial(settle, self._desk, pending)
        self.carry_out("Checking for changes", task, "Not decided", _NOTHING_WRITTEN)

    def finish(self, message: Message) -> Message:
        """Close the step after any outcome; then run matching again without holding the lock."""
        with self.turn:
            self._pending = None
            self._chosen.clear()
            if self._list_name == "candidates":
                self._list_name, self._line = "lines", None
        try:
            self.refresh_aside()
        except TreasuryError as error:
            return alert(message.title, error, *message.lines, Text("The list is not refreshed."))
        return message

    # Changes to the panel's state.

    def recover(self) -> None:
        """Match again, and show the lines."""
        self._list_name, self._line, self._pending = "lines", None, None
        super().recover()


def list_tables(knowledge: Knowledge, decisions: Sequence[Decision]) -> dict[str, pa.Table]:
    """Compute the tables of all three lists from one matching run."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in (
            ("bank_lines", knowledge.bank_lines),
            ("outcomes", knowledge.matches.lines),
            ("candidates", knowledge.matches.candidates),
            ("expectations", knowledge.expectations),
            ("states", knowledge.matches.expectations),
            ("decisions", standing_table(decisions, knowledge)),
        ):
            connection.register(name, table)
        open_lines = connection.execute(_OPEN, [list(NEEDS_A_PERSON)]).to_arrow_table()
        connection.register("open_lines", open_lines)
        candidates = connection.execute(_CANDIDATES).to_arrow_table()
        statuses = candidates["status"].to_pylist()
        ended = [contradicts(status, knowledge.rules) for status in statuses]
        return {
            "open_lines": open_lines,
            "candidates": candidates.append_column("has_ended", pa.array(ended, pa.bool_())),
            "standing": connection.execute(_DECISIONS).to_arrow_table(),
        }


# Conversion of records to rows of the list.


def _line_label(row: Mapping[str, Any]) -> str:
    way = "credit on" if row["direction"] == "CRDT" else "debit on"
    amount = format_amount(row["amount"], row["currency"])
    return (
        f"{amount}, {way} {row['account'] or row['statement_account']}, {day(row['booking_date'])}"
    )


def _bank_texts(row: Mapping[str, Any]) -> tuple[Text, ...]:
    """Return the bank's texts, with the file and position of the line."""
    account = row["counterparty_account"]
    counterparty = " · ".join(filter(None, (row["counterparty_name"], account)))
    texts = (row["end_to_end_id"], row["creditor_reference"], row["remittance"])
    at = "" if row["position"] is None else f", entry {row['position']}"
    return cell(
        Text(counterparty) if counterparty else None,
        *(Text(text, "code") for text in dict.fromkeys(texts) if text),
        Text(f"{row['file_name']}{at}", "quiet"),
    )


def _open_row(row: Mapping[str, Any]) -> ListRow:
    way = "in" if row["direction"] == "CRDT" else "out"
    outcome = OUTCOMES[row["outcome"]]
    return ListRow(
        label=f"{_line_label(row)}, {outcome}",
        cells=(
            cell(
                Text(day(row["booking_date"]), "strong"),
                Text(outcome, "warn"),
                row["assigned_to"] and Text(f"for {row['assigned_to']}", "quiet"),
                Text(f"{way}, {row['account'] or row['statement_account']}", "quiet"),
            ),
            (Text(format_amount(row["amount"], row["currency"])),),
            _bank_texts(row),
            _why(row),
        ),
    )


def _why(row: Mapping[str, Any]) -> tuple[Text, ...]:
    """Return the candidate, its reason, and its lead over the next one."""
    best, number = row["suggestion"] or row["expectation_id"], row["candidates"] or 0
    margin = "" if row["margin"] is None else f", {row['margin']:.2f} behind"
    return cell(
        row["expectation_id"] and Text(best, "strong"),
        Text(row["reason"]),
        row["runner_up"] and Text(f"next: {row['runner_up']}{margin}", "quiet"),
        Text(f"{number} candidates", "quiet") if number > 1 else None,
    )


def _candidate_row(row: Mapping[str, Any]) -> ListRow:
    name = row["code"] or row["expectation_id"]
    place = Text("first", "good") if row["rank"] == 1 else Text(f"{row['rank']}.", "quiet")
    account = row["counterparty_account"]
    # A cancelled request expects no money, even if it was never paid.
    still = f"still expected {_amount(row, 'remaining')}"
    ended = f"no longer expected: {row['status']}"
    return ListRow(
        label=f"{name}, {_amount(row, 'amount')}, score {row['score']:.2f}",
        cells=(
            cell(
                Text(name, "strong"),
                Text(row["expectation_id"], "code"),
                Text((row["kind"] or "").replace("_", " "), "quiet"),
                row["opened_at"] and Text(f"since {instant(row['opened_at'])}", "quiet"),
            ),
            (
                Text(_amount(row, "amount")),
                Text(f"received {_amount(row, 'received')}", "quiet"),
                Text(ended if row["has_ended"] else still, "quiet"),
            ),
            cell(Text(row["reason"]), row["lost"] and Text(row["lost"], "warn")),
            (Text(f"{row['score']:.2f}"), place),
            cell(Text(row["status"] or row["state"]), account and Text(account, "code")),
        ),
    )


def _amount(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    return "any amount" if value is None else format_amount(value, row["currency"] or "?")


def _decision_row(row: Mapping[str, Any]) -> ListRow:
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"])
    about = row["references"] or row["to"] or ""
    return ListRow(
        label=f"{row['verb']} {amount}, by {row['decided_by']}",
        cells=(
            (Text(day(row["booking_date"], "gone"), "strong"), Text(row["entry_id"], "code")),
            (Text(amount),),
            cell(
                Text(f"{VERBS[row['verb']].past_tense} {about}".strip()),
                row["reason"] and Text(f"Reason: {row['reason']}"),
                row["moved"] and Text(f"Changed since: {row['moved']}", "warn"),
            ),
            cell(
                Text(row["decided_by"]),
                row["proposed_by"] and Text(f"proposed by {row['proposed_by']}", "quiet"),
                Text(instant(row["decided_at"]), "quiet"),
            ),
        ),
    )


_LISTINGS: Final[dict[_ListName, Listing]] = {
    "lines": Listing(
        caption="Bank lines to decide",
        query="SELECT * FROM open_lines",
        order="booking_date, statement_account, entry_id",
        key="entry_id",
        searched=(
            "entry_id", "account", "amount", "counterparty_name", "counterparty_account",
            "end_to_end_id", "creditor_reference", "remittance", "suggestion", "assigned_to",
        ),
        hint="Reference, name, account or amount",
        columns=(
            _LINE, Heading("Amount", end=True), Heading("What the bank says", wide=True),
            Heading("May belong to", wide=True),
        ),
        row=_open_row,
        empty="No bank line needs a decision.",
        several=True,
        filters=(
            ListFilter(
                name="outcome", label="Outcome", kind="choice", columns=("outcome",),
                words=OUTCOMES.__getitem__,
            ),
            ListFilter(name="account", label="Account", kind="choice", columns=("account",)),
            ListFilter(name="currency", label="Currency", kind="choice", columns=("currency",)),
            ListFilter(name="amount", label="Amount", kind="amount", columns=("amount",)),
            ListFilter(name="day", label="Booked", kind="day", columns=("booking_date",)),
        ),
    ),
    "candidates": Listing(
        caption="Candidates for the line",
        query="SELECT * FROM candidates",
        order="rank, expectation_id",
        key="expectation_id",
        searched=("expectation_id", "code", "reason"),
        hint="Reference or reason",
        columns=(
            Heading("Candidate"), Heading("Expected", end=True), Heading("Why", wide=True),
            Heading("Score", end=True), Heading("Status"),
        ),
        row=_candidate_row,
        empty="No expectation is a candidate.",
    ),
    "decisions": Listing(
        caption="Decisions in force",
        query="SELECT * FROM standing",
        order="moved = '', CAST(seq AS BIGINT) DESC",
        key="seq",
        searched=("entry_id", "decided_by", "reason", '"references"', "amount"),
        hint="Reference, person or reason",
        columns=(_LINE, Heading("Amount", end=True), Heading("Decision", wide=True), Heading("By")),
        row=_decision_row,
        empty="There are no decisions.",
    ),
}  # fmt: skip
