"""Reader of CSV exports: a profile explains the columns, balances prove the statements.

A CSV has no statements, so the rows of one account and currency form one. Its balances are those
stated above the table, otherwise those of the balance column, which must follow from the amounts
row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError, StatementError
from treasury.core.money import format_amount
from treasury.statements.balance_proof import StatementBalance
from treasury.statements.byte_stream import ByteSource, UnknownFormat
from treasury.statements.csv.csv_balance_signs import Unshown, signed_by_balances
from treasury.statements.csv.csv_course import Course, courses_hold, followed_count
from treasury.statements.csv.csv_headerless import headerless_layout
from treasury.statements.csv.csv_layout import SAMPLE, CsvQuestion, Layout, layout_of
from treasury.statements.csv.csv_proposal import proposal
from treasury.statements.csv.csv_questions import (
    DECIMALS,
    WAYS,
    answer_to,
    decimal_question,
    encoding_question,
    oldest_question,
    sign_question,
)
from treasury.statements.csv.csv_rows import MOVED, CsvMovement, CsvRows, Key, stated_above
from treasury.statements.csv.csv_text import CsvRow, CsvText
from treasury.statements.csv.csv_values import is_day
from treasury.statements.csv.profiles import Profile, built_in_profiles
from treasury.statements.entry_rows import EntryRow, Problem, entry_batches
from treasury.statements.field_values import account_number, reference
from treasury.statements.statement_draft import (
    MOST_PROBLEMS,
    BankFile,
    StatementDraft,
    StatementHead,
)
from treasury.statements.text_encoding import REGIONS

GUESSED: Final = "CSV proposed"
"""Format name of a file without a profile."""

_MOST_SHOWN: Final = 3
_LONGEST_SHOWN: Final = 60
_MOST_GROUPS: Final = 10_000
_MOST_ROW: Final = 1 << 20
_MOST_OTHERS: Final = 10_000
"""A file is refused if more rows than this, and more than its movements, are unreadable or totals.
"""


class CsvFile(BankFile):
    """One CSV file being read; `account` and `currencies` are used if the file states none.

    Raises UnknownFormat if no profile fits and none can be proposed. A file read by a proposed
    profile has a note, and is not proved.
    """

    format = "CSV"

    def __init__(
        self,
        source: ByteSource,
        file_name: str,
        profiles: Sequence[Profile] = (),
        account: str | None = None,
        currencies: Mapping[str, str] | None = None,
        *,
        answers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(source, file_name)
        self.layout: Layout | None = None
        self.questions: tuple[CsvQuestion, ...] = ()
        """Open questions of a proposed layout; no row is read until they are answered."""
        self._answers = answers or {}
        self._profiles = (*profiles, *built_in_profiles())
        self._account = account
        self._currencies = currencies or {}
        self._lost: list[tuple[Key, int, str]] = []
        self._is_told = False
        self._is_newest_first = False
        self._read_count = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `statement_entries` in batches, in the file's order."""
        with CsvText.opened(self._source, self.file_name) as self._text:
            self.layout = layout = self._read_layout()
            self.format = f"CSV {layout.profile.name}"
            above = list(islice(self._text.rows(layout.delimiter), layout.header + 1))
            stated = stated_above(above[:-1])
            rows = CsvRows(layout, stated, self._account, self.file_name, self._currencies)
            self._rows = rows
            rows.learn(self._below())
            if layout.is_proposed:
                is_legible = all(question.name != "encoding" for question in layout.questions)
                self.questions = (
                    *layout.questions,
                    *(self._open_questions() if is_legible else ()),
                )
            elif rows.positive == "balance":
                self._derive_signs()
            if self.questions:
                self._leave_unread()
                return
            drafts = self._drafts(self._courses())
            yield from entry_batches(self._entries(drafts))
        head = "\n".join(row.raw for row in above)
        self._done = [draft.finish(head) for draft in drafts.values()]
        row_notes = (Problem(self.file_name, "", note, line) for line, note in rows.notes.items())
        self.problems += row_notes
        for draft in drafts.values():
            self.problems += draft.problems[: max(0, MOST_PROBLEMS - len(self.problems))]
        self.end("there is no movement in the file")

    def found(self) -> dict[str, Any]:
        """Return the profile fields that are derived from the whole file."""
        rows = self._rows
        return {
            "decimal": rows.decimal if rows.shows_decimal else "",
            "positive": rows.positive,
            "encoding": self._text.encoding if len(self._text.readings) > 1 else "",
        }

    def _read_layout(self) -> Layout:
        text = self._text
        question = None
        if len(text.readings) > 1:
            question = encoding_question(text.readings)
            answer = answer_to(question, self._answers)
            regions = text.bank_regions(self._account or "")
            local = [name for name in text.readings if REGIONS[name] in regions]
            if answer is not None or len(local) == 1:
                text.encoding = answer.word if answer is not None else local[0]
                question = None
        layout = self._layout_as_read()
        if layout is not None and text.readings and layout.profile.encoding:
            text.encoding, question = layout.profile.encoding, None
            layout = self._layout_as_read()
        if not text.has_nul and text.readings:
            others = " or ".join(name.title() for name in text.readings if name != text.encoding)
            also = f"; its letters fit {others} too" if question is not None else ""
            self.note(f"not UTF-8; read as {text.encoding.title()}{also}")
        if layout is not None and question is not None and layout.is_proposed:
            # Other questions quote texts, which depend on the code page, so it is asked for first.
            layout = msgspec.structs.replace(layout, questions=(question,))
        if layout is None:
            raise UnknownFormat(
                f"{self.file_name}: not a bank statement in any known format",
                do="give camt.052/.053/.054, MT940/942, CODA, CFONB 120 or CSV; for the CSV of an"
                " unknown bank, describe its columns (see `treasury statements profile FILE`)",
            )
        return layout

    def _layout_as_read(self) -> Layout | None:
        """Return the layout of the file, read in the encoding chosen so far."""
        lines = [] if self._text.has_nul else list(islice(self._text.lines(), SAMPLE))
        return (
            layout_of(lines, self._profiles, self.file_name)
            or headerless_layout(lines, self._profiles, self.file_name)
            or proposal(lines, self.file_name, self._answers)
        )

    def _below(self) -> Iterator[CsvRow]:
        """Return the rows below the header."""
        layout = self._rows.layout
        return islice(self._text.rows(layout.delimiter), layout.header + 1, None)

    def _open_questions(self) -> list[CsvQuestion]:
        """Determine the decimal sign and the amounts' signs from the balances, else from an answer.

        Return the questions that are still open.
        """
        found = []
        for question in filter(None, (self._decimal_question(), self._sign_question())):
            answer = answer_to(question, self._answers)
            if answer is None:
                found.append(question)
            for name, value in answer.changes.items() if answer else ():
                setattr(self._rows, name, value)
            self._rows.shows_decimal |= answer is not None and question.name == "decimal"
        return found

    def _decimal_question(self) -> CsvQuestion | None:
        rows = self._rows
        if rows.decimal:
            return None
        signs = [sign for sign in DECIMALS if courses_hold(self._read_as(decimal=sign))]
        self._begin_again()
        rows.decimal = signs[0] if len(signs) == 1 else ""
        if rows.decimal:
            rows.shows_decimal = True
            return None
        return decimal_question(self._first_amounts())

    def _sign_question(self) -> CsvQuestion | None:
        """Return the question about unsigned amounts, unless balances or signs answer it."""
        rows, layout = self._rows, self._rows.layout
        if "amount" not in layout.columns or "sign" in layout.columns:
            return None
        decimal = rows.decimal
        rows.decimal = decimal or "."
        ways = [way for way in WAYS if followed_count(self._read_as(positive=way))]
        if not rows.states_signs:
            # An unreadable row leaves a gap between the balances around it.
            ways = [w for w in ways if courses_hold(self._read_as(positive=w)) or self.lost_count]
        # A card's balance may be the debt, which a purchase increases.
        is_shown = len(ways) == 1 and (ways[0] == "out" or not layout.is_card)
        rows.positive = ways[0] if is_shown else layout.profile.positive
        oldest = None
        # An opening balance above the table also shows the direction of the oldest row.
        is_open = not is_shown or rows.above("opening") is not None
        if is_open and decimal and not rows.states_signs and not layout.is_card:
            oldest = self._derive_signs()
        self._begin_again()
        rows.decimal = decimal
        if oldest is not None:
            shown = self._shown(unshown.movement.row for unshown in oldest)
            return oldest_question(shown) if oldest else None
        if is_shown or (rows.states_signs and not layout.is_card):
            return None
        return sign_question(self._first_amounts())

    def _derive_signs(self) -> list[Unshown] | None:
        """Derive the direction of every amount, if each balance connects to the one before it.

        Return the oldest rows, whose direction no balance shows. Return None if there are no
        balances or if there is a column of fees, if a balance does not connect, or if the balances
        connect in both orders of the rows.
        """
        rows, columns = self._rows, self._rows.layout.columns
        before, found = rows.positive, []
        if "balance" in columns and "fee" not in columns:
            days = [m.booked for m in self._read_as(positive="in") if m.booked is not None]
            # If all rows have one day, either order is possible.
            is_one_day = len(days) > 1 and days[0] == days[-1]
            orders = [False, True] if is_one_day else [days[:1] > days[-1:]]
            for self._is_newest_first in orders:
                unshown: list[Unshown] = []
                movements = self._read_as(positive="in")
                count = sum(
                    bool(movement.status) for movement in self._signed(movements, unshown.append)
                )
                if count and all(one.is_oldest for one in unshown):
                    found.append((self._is_newest_first, unshown))
        self._begin_again()
        rows.positive = before
        if len(found) != 1:
            return None
        rows.positive = "balance"
        self._is_newest_first, oldest = found[0]
        return oldest

    def _signed(
        self, movements: Iterator[CsvMovement], unshown: Callable[[Unshown], None]
    ) -> Iterator[CsvMovement]:
        opening = self._rows.above("opening")
        return signed_by_balances(
            movements,
            opening,
            unshown,
            oldest=self._rows.oldest,
            is_newest_first=self._is_newest_first,
        )

    def _read_as(self, **read: str) -> Iterator[CsvMovement]:
        """Yield the movements read with these settings; rows of unknown status count as booked."""
        rows = self._rows
        self._begin_again()
        rows.unknown_status = "BOOK"
        for name, value in read.items():
            setattr(rows, name, value)
        yield from self._movements()
        rows.unknown_status = "PDNG"

    def _first_amounts(self) -> str:
        """Return the first rows with amounts as text."""
        return self._shown(self._below())

    def _shown(self, shown_rows: Iterable[CsvRow]) -> str:
        """Return sample rows as text for a question."""
        rows = self._rows
        shown = (
            f"line {row.line}: {' '.join((*rows.texts(row), amount))[:_LONGEST_SHOWN]}"
            for row in shown_rows
            if (amount := next(filter(None, (rows.cell(row, role) for role in MOVED)), ""))
            and any(map(str.isdigit, amount))
        )
        return "; ".join(islice(shown, _MOST_SHOWN))

    def _leave_unread(self) -> None:
        """Report the open questions and read no rows, because a guess could be wrong."""
        rows = self._rows
        self.lost_count = sum(is_day(rows.cell(row, "booking_date")) for row in self._below())
        for question in self.questions:
            words = " or ".join(repr(answer.word) for answer in question.answers)
            self.note(f"{question.text} ({question.name}: {words})")
        self.end(
            "its rows are not read until the open questions are answered:"
            f" treasury statements profile {self.file_name}"
        )

    def _begin_again(self) -> None:
        """Reset the counts and lost rows before the file is read again."""
        self._lost.clear()
        self.lost_count = self._read_count = self._rows.totals = 0

    def _courses(self) -> dict[Key, Course]:
        """Return the days and balances of each account and currency, in the order of the file.

        If balances do not follow from the movements, read rows of unknown status as booked, and use
        that reading if all balances then follow. Otherwise read fees the other way, as included in
        the amounts or on top, and use that reading if more balances follow.
        """
        rows, courses = self._rows, self._followed()
        if _off_count(courses) and rows.has_unknown_status:
            self._begin_again()
            rows.unknown_status = "BOOK"
            booked = self._followed()
            if not _off_count(booked):
                rows.book_unknown()
                return booked
            rows.unknown_status = "PDNG"
        off = _off_count(courses)
        if off and "fee" in rows.layout.columns:
            self._begin_again()
            rows.fee_included = not rows.fee_included
            others = self._followed()
            if _off_count(others) < off:
                return others
            rows.fee_included = not rows.fee_included
        return courses

    def _followed(self) -> dict[Key, Course]:
        courses: dict[Key, Course] = {}
        for movement in self._movements():
            course = courses.get(movement.key)
            if course is None:
                course = courses[movement.key] = Course(movement.row.line)
            course.add(movement)
            if len(courses) > _MOST_GROUPS:
                raise StatementError(
                    f"{self.file_name}: more than {_MOST_GROUPS} accounts in one file",
                    do="check the column for the account in the profile",
                )
        return courses or {key: Course(line) for key, line, _ in reversed(self._lost)}

    def _entries(self, drafts: dict[Key, StatementDraft]) -> Iterator[EntryRow]:
        self._is_told = True
        for movement in self._movements():
            if not movement.status:
                continue
            entry = self._entry(movement)
            draft = drafts[movement.key]
            raw = "\n".join((movement.row.raw, *movement.raw))
            draft.take(entry, entry.account_servicer_reference, f"line {movement.row.line}", raw)
            draft.count(entry)
            yield entry

    def _movements(self) -> Iterator[CsvMovement]:
        """Yield the movements with their signs, each with the text rows below it."""
        movements = self._movements_as_written()
        if self._rows.positive != "balance":
            return movements
        return self._signed(
            movements, lambda one: self._lose(one.movement.key, one.movement.row.line, one.reason)
        )

    def _movements_as_written(self) -> Iterator[CsvMovement]:
        rows = self._rows
        last: CsvMovement | None = None
        for row in self._below():
            rows.check_quotes(row)
            movement, is_lost = self._read(row, last)
            if movement is not None:
                if last is not None:
                    yield last
                last = movement
            elif last is not None and not is_lost and rows.goes_on(row, last):
                last.more += rows.texts(row)
                last.raw.append(row.raw)
                if len(last.raw) > _MOST_ROW >> 10:
                    raise StatementError(
                        f"{self.file_name} line {row.line}: a movement of more than"
                        f" {_MOST_ROW >> 10} rows",
                        do="check the columns for amounts in the profile",
                    )
        if last is not None:
            yield last

    def _read(self, row: CsvRow, above: CsvMovement | None) -> tuple[CsvMovement | None, bool]:
        """Read a row below the movement `above`; the second value is true for an unreadable row."""
        rows = self._rows
        try:
            movement = rows.read(row, above)
        except StatementError:
            raise
        except InputError as error:
            lost = error.what
        else:
            self._read_count += movement is not None
            self._check_count(rows.totals, f"line {row.line} is a total")
            return movement, False
        self._lose(rows.key(row), row.line, lost)
        return None, True

    def _lose(self, key: Key, line: int, reason: str) -> None:
        """Count an unreadable row, once for all passes over the file."""
        if self._is_told:
            return
        self.lost_count += 1
        if self.lost_count <= MOST_PROBLEMS:
            self._lost.append((key, line, reason))
        self._check_count(self.lost_count, f"line {line} is not read: {reason}")

    def _check_count(self, others: int, such: str) -> None:
        """Raise StatementError if most rows of the table are not movements."""
        if others > max(_MOST_OTHERS, self._read_count):
            raise StatementError(
                f"{self.file_name}: most of its rows are not movements; {such}",
                do="check the columns in the profile",
            )

    def _entry(self, movement: CsvMovement) -> EntryRow:
        (account, currency), row, rows = movement.key, movement.row, self._rows

        def cell_text(role: str) -> str | None:
            return rows.cell(row, role) or None

        counterparty = cell_text("counterparty_account")
        entry = EntryRow(
            account=account,
            currency=currency,
            amount=movement.signed.copy_abs(),
            direction="DBIT" if movement.signed < 0 else "CRDT",
            entry_status=movement.status,
            is_reversal=movement.is_reversal,
            booking_date=movement.booked,
            value_date=movement.value,
            balance_after=movement.balance,
            account_servicer_reference=reference(cell_text("reference")),
            end_to_end_id=reference(cell_text("end_to_end_id")),
            mandate_id=reference(cell_text("mandate_id")),
            remittance=(*rows.texts(row), *movement.more),
            structured_references=tuple(filter(None, [cell_text("structured_reference")])),
            proprietary_code=cell_text("kind"),
            counterparty_name=rows.counterparty_name(row, is_debit=movement.signed < 0) or None,
            counterparty_account=account_number(counterparty.strip("'")) if counterparty else None,
            counterparty_agent=cell_text("counterparty_agent"),
            inferred=rows.inferred(row, currency),
            file_name=self.file_name,
        )
        if movement.fee:
            entry.charges_amount, entry.charges_currency = movement.fee, currency
        side = "debtor" if entry.direction == "CRDT" else "creditor"
        for part in ("name", "account", "agent"):
            setattr(entry, f"{side}_{part}", getattr(entry, f"counterparty_{part}"))
        return entry

    def _drafts(self, courses: dict[Key, Course]) -> dict[Key, StatementDraft]:
        drafts = {key: self._draft(key, course) for key, course in courses.items()}
        for key, line, why in self._lost:
            # An unreadable row of an account without other rows may belong to any account.
            for draft in [drafts[key]] if key in drafts else drafts.values():
                draft.lost(f"line {line}", why, line)
        if self.lost_count > len(self._lost):
            more = self.lost_count - len(self._lost)
            next(iter(drafts.values())).problem("", f"and {more} more rows that cannot be read")
        return drafts

    def _draft(self, key: Key, course: Course) -> StatementDraft:
        (account, currency), layout = key, self._rows.layout
        days = (course.first_day, course.last_day)
        # Balances stated above the table are preferred to the balance column.
        stated = map(self._rows.above, ("opening", "closing"))
        ends = (a if a is not None else b for a, b in zip(stated, course.ends, strict=True))
        head = StatementHead(
            file_name=self.file_name,
            format=self.format,
            place=f"line {course.line}",
            account=account,
            currency=currency,
            from_date=course.first_day,
            to_date=course.last_day,
            balances=tuple(
                StatementBalance(code, amount, currency or "", day)
                for code, amount, day in zip(("OPBD", "CLBD"), ends, days, strict=True)
                if amount is not None
            ),
            told_apart_by=("CSV",),
        )
        draft = StatementDraft(head, self._ids)
        for off in course.off:
            states, reached = (
                format_amount(amount, currency or "").strip()
                for amount in (off.stated, off.reached)
            )
            draft.problem(f"line {off.line}", f"balance {states}, the movements reach {reached}")
        if layout.is_proposed:
            reason = "no profile is known for it; the columns are guessed"
            draft.problem("", f"{reason}: see `treasury statements profile {self.file_name}`")
        return draft


def _off_count(courses: Mapping[Key, Course]) -> int:
    return sum(course.off_count for course in courses.values())
