"""Questions about the CSV of an unknown bank: ambiguous columns, signs and tables.

A question is not asked if the file itself answers it, for example by its balance column. Otherwise
a person answers it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any, Final, Literal

from treasury.core.errors import InputError
from treasury.core.money import total
from treasury.core.text import is_it
from treasury.statements.csv.csv_course import courses_hold
from treasury.statements.csv.csv_layout import Answer, CsvQuestion, Layout
from treasury.statements.csv.csv_rows import MOVED, CsvMovement, CsvRows
from treasury.statements.csv.csv_text import CsvRow
from treasury.statements.csv.csv_values import cell, is_amount, is_day
from treasury.statements.csv.csv_words import HEADERS, OTHER
from treasury.statements.csv.profiles import Profile, plain

Columns = dict[str, tuple[int, ...]]
"""Positions of the columns of each role."""

_Order = Literal["dmy", "mdy", "ymd"]
_Sign = Literal["", ",", "."]
_Way = Literal["in", "out"]
WAYS: Final[tuple[_Way, ...]] = ("in", "out")
_PAYER: Final = "payer_name"
_PAYEE: Final = "payee_name"
_MOST_SHOWN: Final = 3
_FEW_DAYS: Final = 2
_FEW_ROWS: Final = 4


class CsvTable:
    """The header and the first rows of a file, split by one delimiter."""

    def __init__(
        self, names: list[str], rows: list[CsvRow], delimiter: str, number: int, file_name: str
    ) -> None:
        self.names, self.rows = names, rows
        self.delimiter, self.number, self.file_name = delimiter, number, file_name
        self.columns: Columns = {}
        self._values: dict[int, list[str]] = {}
        self._moves: list[bool] = []
        for row in rows:
            cells = list(filter(None, map(cell, row.cells)))
            self._moves.append(any(map(is_day, cells)) and any(map(is_amount, cells)))

    def values(self, place: int) -> list[str]:
        """Return the cells of a column, one for each row."""
        if place not in self._values:
            self._values[place] = [
                cell(row.cells[place]) if place < len(row.cells) else "" for row in self.rows
            ]
        return self._values[place]

    def texts(self, place: int) -> list[str]:
        """Return the non-empty cells of a column, in rows with a day and an amount."""
        values = zip(self._moves, self.values(place), strict=True)
        return [text for moves, text in values if moves and text]

    @property
    def count(self) -> int:
        """Return the number of movements: rows with a day and an amount."""
        return sum(self._moves)

    def header(self, place: int) -> str:
        """Return the header of a column; its number if the header is empty or not unique."""
        name = self.names[place]
        return name if name and self.names.count(name) == 1 else f"#{place + 1}"

    def shown(self, place: int) -> str:
        """Return a column's header and first values, for a question."""
        values = dict.fromkeys(self.texts(place))
        return f"{self.header(place)} ({', '.join(list(values)[:_MOST_SHOWN])})"


def settled(
    table: CsvTable, answers: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[CsvQuestion, ...]]:
    """Choose among the candidate columns; return profile fields and the open questions.

    Raises InputError for an answer that the question does not offer.
    """
    changes: dict[str, Any] = {}
    questions: list[CsvQuestion] = []
    for ask in (_kind_question, _amount_question, _fee_question, _currency_question, _name_question,
                _account_question, _text_question, _day_question):  # fmt: skip
        question = ask(table)
        if question is None:
            continue
        answer = answer_to(question, answers)
        if answer is None:
            questions.append(question)
        else:
            fields = dict(answer.changes)
            columns: Any = fields.pop("columns", {})
            table.columns = {
                role: places for role, places in {**table.columns, **columns}.items() if places
            }
            changes |= fields
    if "day_order" not in changes:
        changes["day_order"] = _day_order(table)[0]
    return changes, tuple(questions)


def answer_to(question: CsvQuestion, answers: Mapping[str, str]) -> Answer | None:
    """Return the answer given to a question, if any. Raises InputError for an unknown answer."""
    word = answers.get(question.name)
    if word is None:
        return None
    for answer in question.answers:
        if answer.word == word:
            return answer
    known = ", ".join(repr(answer.word) for answer in question.answers)
    near = is_it(word, (answer.word for answer in question.answers))
    raise InputError(
        f"{word!r} is not an answer to {question.name}{near}", do=f"answer one of {known}"
    )


def _kind_question(table: CsvTable) -> CsvQuestion | None:
    """Ask whether a table is a statement if it may be a journal or a list of invoices."""
    headers = [plain(name) for name in table.names]
    sides = [_side_accounts(table, headers, side) for side in ("debit", "credit")]
    if all(place is not None for place in sides) and len(set(sides)) == len(sides):
        columns = ", ".join(table.shown(place) for place in sides if place is not None)
        return _kind("a journal", f"accounts for debit and credit, {columns}")
    ledgers = [
        place
        for place, header in enumerate(headers)
        if _names(header, HEADERS["account"])
        and len(texts := table.texts(place)) == table.count
        and all(map(_LEDGER.fullmatch, texts))
    ]
    if len(ledgers) > 1:
        columns = ", ".join(map(table.shown, ledgers))
        return _kind("a journal", f"accounts of a ledger on both sides, {columns}")
    groups = [
        next((table.names[at] for at, header in enumerate(headers) if _names(header, words)), None)
        for words in (OTHER["invoice"], OTHER["due"], OTHER["tax"], OTHER["quantity"])
    ]
    named = list(filter(None, groups))
    if len(named) > 1 and "balance" not in table.columns:
        return _kind("a list of invoices or sales", f"columns {', '.join(named)}")
    if _follows(table, {}):
        return None
    days: dict[date, list[Decimal]] = defaultdict(list)
    for movement in _movements(table, table.columns):
        if movement.booked is not None:
            days[movement.booked].append(movement.signed)
    count = sum(map(len, days.values()))
    if len(days) >= _FEW_DAYS and count >= _FEW_ROWS and not any(map(total, days.values())):
        return _kind("a journal", "debits and credits of every day are equal")
    return None


def _kind(what: str, why: str) -> CsvQuestion:
    text = f"it looks like {what}, not like a statement of one account: {why}"
    return CsvQuestion("table", text, (Answer("statement", "it is a statement all the same"),))


def _side_accounts(table: CsvTable, headers: Sequence[str], side: str) -> int | None:
    """Return a column in which every row has the debit or credit account of a journal entry."""
    other = "credit" if side == "debit" else "debit"
    for place, header in enumerate(headers):
        texts = table.texts(place)
        if (
            _names(header, HEADERS[side])
            and not _names(header, HEADERS[other])
            and len(texts) == table.count
            and all(_LEDGER.match(text) or not is_amount(text) for text in texts)
            and not any(map(is_day, texts))
        ):
            return place
    return None


_LEDGER: Final = re.compile(r"[0-9]{3,8}(?![0-9.,'])", re.ASCII)
"""Pattern of an account number in a ledger."""


def _amount_question(table: CsvTable) -> CsvQuestion | None:
    """Choose the amount columns; ask if several are possible and the balances do not decide."""
    distinct: dict[tuple[tuple[str, ...], ...], Columns] = {}
    for choice in _amount_choices(table):
        values = tuple(tuple(table.values(place)) for (place,) in choice.values())
        distinct.setdefault(values, choice)
    choices = list(distinct.values())
    # Debit and credit in a company's ledger are the reverse of those in a bank statement.
    swapped = [
        {"debit": choice["credit"], "credit": choice["debit"]}
        for choice in choices
        if "debit" in choice
    ]
    following = [choice for choice in (*choices, *swapped) if _follows(table, choice)]
    net = _net(table, table.columns)
    if len(following) == 1:
        choices = following
    elif net is not None:
        choices = [{"amount": (net,)}]
    table.columns = {**table.columns, **choices[0]}
    is_part = all(_is_part(plain(table.names[place])) for (place,) in choices[0].values())
    if len(choices) == 1 and (following or not is_part):
        return None
    answers = tuple(
        Answer(
            ", ".join(table.header(place) for (place,) in choice.values()),
            "; ".join(table.shown(place) for (place,) in choice.values()),
            {"columns": choice},
        )
        for choice in choices
    )
    return CsvQuestion("amount", "which column is the amount that the account moved by?", answers)


def _fee_question(table: CsvTable) -> CsvQuestion | None:
    """Ask whether the amount includes the fee of the row, unless the file has balances."""
    (place,) = table.columns.get("fee") or (None,)
    if place is None or {"balance", "balance_before"} & table.columns.keys():
        return None
    moved = [plain(table.names[at]) for role in MOVED for at in table.columns.get(role, ())]
    has_fees = any(set(text) & set("123456789") for text in table.texts(place))
    is_after_fees = any(_names(header, ("net", *OTHER["paid_out"])) for header in moved)
    if not has_fees or is_after_fees:
        return None
    answers = (
        Answer("in", "the amount is the sum that moved, including the fee", {"fee_included": True}),
        Answer("on top", "the fee moved in addition", {"fee_included": False}),
    )
    return CsvQuestion("fee", f"is {table.shown(place)} in the amount?", answers)


def _amount_choices(table: CsvTable) -> list[Columns]:
    """Return the possible choices of columns for the amount, each with its roles."""
    columns = table.columns
    if "amount" not in columns:
        out, into = (_own(table, columns[role]) for role in ("debit", "credit"))
        # Columns for debit and credit are paired in order, if there are as many of both.
        pairs = zip(out, into, strict=True) if len(out) == len(into) else product(out, into)
        return [{"debit": (debit,), "credit": (credit,)} for debit, credit in pairs]
    used = {place for places in columns.values() for place in places}
    others = [
        place
        for place, name in enumerate(table.names)
        if place not in used and _is_money(table, place) and not _is_part(plain(name))
    ]
    return [{"amount": (place,)} for place in (*_own(table, columns["amount"]), *others)]


def _own(table: CsvTable, places: Sequence[int]) -> list[int]:
    """Return the columns except taxes, tips, foreign and mostly empty ones; all if none is left."""
    own = [
        place
        for place in places
        if not _is_part(plain(table.names[place])) and 2 * len(table.texts(place)) >= table.count
    ]
    return own or list(places)


def _is_part(header: str) -> bool:
    return _names(header, OTHER["part"]) and not _names(header, OTHER["included"])


def _is_money(table: CsvTable, place: int) -> bool:
    """Return whether a column has amounts with decimals, under any header."""
    texts = table.texts(place)
    others = (*OTHER["no_amount"], *OTHER["postage"])
    if _names(plain(table.names[place]), others) or 2 * len(texts) < table.count:
        return False
    if any(map(is_day, texts)):
        return False
    return all(map(is_amount, texts)) and any("." in text or "," in text for text in texts)


def _net(table: CsvTable, columns: Columns) -> int | None:
    """Return the column with gross less fee in every row; None if there is none."""
    nets = [p for p in columns.get("amount", ()) if plain(table.names[p]) in {"net", "netto"}]
    if not nets or "fee" not in columns:
        return None
    for gross in columns["amount"]:
        if gross == nets[0]:
            continue
        cells = (table.values(place) for place in (gross, columns["fee"][0], nets[0]))
        rows = [row for row in zip(*cells, strict=True) if row[2]]
        amounts = ([Decimal(re.sub(r"[^0-9-]", "", text) or 0) for text in row] for row in rows)
        if rows and all(net == whole - fee.copy_abs() for whole, fee, net in amounts):
            return nets[0]
    return None


def _currency_question(table: CsvTable) -> CsvQuestion | None:
    """Choose the account's currency among columns with few empty cells; ask if two differ."""
    own = [
        place
        for place in table.columns.pop("currency", ())
        if not _is_part(plain(table.names[place]))
        and 10 * len(table.texts(place)) >= 9 * table.count
    ]
    return _one_column(table, "currency", own, "which column is the currency of the account?")


def _name_question(table: CsvTable) -> CsvQuestion | None:
    """Choose the column with the other party's name; ask if two differ and no header decides."""
    if {"payer_name", "payee_name"} <= table.columns.keys():
        table.columns.pop("counterparty_name", None)
        return None
    places = table.columns.get("counterparty_name", ())
    sure = [p for p in places if _names(plain(table.names[p]), OTHER["other_party"])]
    own = sure if len(sure) == 1 else list(places)
    question = _one_column(table, "counterparty_name", own, "which column names the other party?")
    if question is None and len(own) == 1 and not sure:
        return _side_question(table, own[0])
    return question


def _side_question(table: CsvTable, place: int) -> CsvQuestion | None:
    """Ask whose name a payer or payee column has if rows of both directions fill it."""
    header = plain(table.names[place])
    sides = [side for side in (_PAYER, _PAYEE) if _names(header, HEADERS[side])]
    if len(sides) != 1:
        return None
    if not _has_both_directions(table, place, sides[0]):
        return None
    role = sides[0].removesuffix("_name")
    only: dict[str, object] = {"columns": {"counterparty_name": (), sides[0]: (place,)}}
    answers = (
        Answer(table.header(place), "the other party in every row"),
        Answer("by sign", f"the {role}, which may be us in rows of the other direction", only),
        Answer("none", "not a name of the other party", {"columns": {"counterparty_name": ()}}),
    )
    return CsvQuestion("name", f"which party's name is in {table.shown(place)}?", answers)


def _has_both_directions(table: CsvTable, place: int, side: str) -> bool:
    """Return whether a payer or payee column is filled in rows of the other direction too."""
    # The payer is the other party of a credit, the payee of a debit.
    others = (m for m in _movements(table, table.columns) if (m.signed < 0) == (side == _PAYER))
    return any(cell("".join(m.row.cells[place : place + 1])) for m in others)


def _account_question(table: CsvTable) -> CsvQuestion | None:
    """Ask whose account a payer or payee column has if rows of both directions fill it."""
    (place,) = table.columns.get("counterparty_account") or (None,)
    if place is None:
        return None
    header = plain(table.names[place])
    sides = [side for side in (_PAYER, _PAYEE) if _names(header, HEADERS[side])]
    if len(sides) != 1 or not _has_both_directions(table, place, sides[0]):
        return None
    answers = (
        Answer(table.header(place), "the other party's in every row"),
        Answer("none", "ours in some rows", {"columns": {"counterparty_account": ()}}),
    )
    return CsvQuestion("account", f"which party's account is in {table.shown(place)}?", answers)


def _one_column(table: CsvTable, role: str, places: Sequence[int], text: str) -> CsvQuestion | None:
    distinct = {tuple(table.values(place)): place for place in reversed(places)}
    if len(distinct) < len(places):
        places = [place for place in places if place in distinct.values()]
    if not places:
        return None
    table.columns[role] = (places[0],)
    if len(places) == 1:
        return None
    answers = [
        Answer(table.header(place), table.shown(place), {"columns": {role: (place,)}})
        for place in places
    ]
    answers.append(Answer("none", "none of them", {"columns": {role: ()}}))
    return CsvQuestion(role.removeprefix("counterparty_"), text, tuple(answers))


def _text_question(table: CsvTable) -> CsvQuestion | None:
    """Ask which column is the text if none is recognised; otherwise references would be lost."""
    if any(map(table.texts, table.columns.get("text", ()))):
        return None
    used = {place for places in table.columns.values() for place in places}
    places = [
        place
        for place in range(len(table.names))
        if place not in used
        and (texts := table.texts(place))
        and not all(is_amount(text) or is_day(text) for text in texts)
    ]
    answers = [
        Answer(table.header(place), table.shown(place), {"columns": {"text": (place,)}})
        for place in places
    ]
    if len(places) > 1:
        answers.append(Answer("all", "all of them", {"columns": {"text": tuple(places)}}))
    answers.append(Answer("none", "none of them", {"columns": {"text": ()}}))
    if not places:
        return None
    return CsvQuestion("text", "which column says what a payment is for?", tuple(answers))


def _day_question(table: CsvTable) -> CsvQuestion | None:
    if _day_order(table)[1]:
        return None
    day = next(iter(table.texts(table.columns["booking_date"][0])), "")
    answers = (
        Answer("dmy", "the day comes first", {"day_order": "dmy"}),
        Answer("mdy", "the month comes first", {"day_order": "mdy"}),
    )
    return CsvQuestion("days", f"day or month may come first in {day!r}; which does?", answers)


def _day_order(table: CsvTable) -> tuple[_Order, bool]:
    """Return the order of day, month and year, and whether the file shows it.

    A part above twelve shows it, and so do points; headers in a language other than English mean
    that the day is first.
    """
    found: set[tuple[int, int]] = set()
    for text in table.texts(table.columns["booking_date"][0]):
        parts = _PARTS.match(text)
        if parts is None:
            continue
        if len(parts[1]) == 4:
            return "ymd", True
        if parts[0][len(parts[1])] == ".":
            return "dmy", True
        found.add((int(parts[1]), int(parts[2])))
    if any(second > _MONTHS for _, second in found):
        return "mdy", True
    is_same = all(first == second for first, second in found)
    foreign = {word for words in HEADERS.values() for word in words} - set(OTHER["english"])
    is_foreign = any(plain(name) in foreign for name in table.names)
    return "dmy", is_same or is_foreign or any(first > _MONTHS for first, _ in found)


_MONTHS: Final = 12
_PARTS: Final = re.compile(r"(\d{1,4})[-./: ](\d{1,2})[-./: ](\d{1,4})")


DECIMALS: Final[tuple[_Sign, ...]] = (",", ".")


def decimal_question(shown: str) -> CsvQuestion:
    """Ask which sign separates decimals if every comma or point may group thousands."""
    answers = (
        Answer(",", "a comma: 1.234 is one thousand", {"decimal": ","}),
        Answer(".", "a point: 1.234 is less than two", {"decimal": "."}),
    )
    return CsvQuestion(
        "decimal", f"thousands or decimals: which sign is the decimal sign? {shown}", answers
    )


def sign_question(shown: str) -> CsvQuestion:
    """Ask for the direction of amounts without a minus, if balances do not show it."""
    answers = (
        Answer("in", "an amount without a minus was received", {"positive": "in"}),
        Answer("out", "an amount without a minus was paid, as by a card", {"positive": "out"}),
    )
    return CsvQuestion("sign", f"nothing shows which amounts were paid: {shown}", answers)


def encoding_question(readings: Mapping[str, Sequence[str]]) -> CsvQuestion:
    """Ask for the code page of a file if its letters form words in several code pages."""
    answers = tuple(
        Answer(name, ", ".join(words[:_MOST_SHOWN]), {"encoding": name})
        for name, words in readings.items()
    )
    return CsvQuestion(
        "encoding", "the file is not UTF-8 and fits several code pages; which is right?", answers
    )


def oldest_question(shown: str) -> CsvQuestion:
    """Ask for the direction of the oldest row, the only one that balances do not show."""
    answers = (
        Answer("in", "it was received", {"positive": "balance", "oldest": "in"}),
        Answer("out", "it was paid", {"positive": "balance", "oldest": "out"}),
    )
    return CsvQuestion(
        "sign", f"the balances show the direction of every amount but the oldest: {shown}", answers
    )


def _names(header: str, words: Iterable[str]) -> bool:
    return any(word in header for word in words)


def _follows(table: CsvTable, choice: Columns) -> bool:
    """Return whether the balances follow from these columns, with unsigned amounts as in or out."""
    if not {"balance", "balance_before"} & table.columns.keys():
        return False
    columns = {role: places for role, places in table.columns.items() if role != "fee"} | choice
    return any(courses_hold(_movements(table, columns, way)) for way in WAYS)


def _movements(table: CsvTable, columns: Columns, positive: _Way = "in") -> list[CsvMovement]:
    """Read the first rows by these columns; an unknown decimal sign is read as a point."""
    names = {role: tuple(map(table.header, places)) for role, places in columns.items()}
    layout = Layout(
        Profile(name="tried", columns=names, day_order=_day_order(table)[0], positive=positive),
        table.delimiter,
        table.number,
        columns,
        headers=[plain(name) for name in table.names],
    )
    rows = CsvRows(layout, {}, None, table.file_name, {})
    rows.learn(table.rows)
    rows.decimal = rows.decimal or "."
    rows.unknown_status = "BOOK"
    movements = []
    for row in table.rows:
        try:
            movement = rows.read(row)
        except InputError:
            continue
        if movement is not None:
            movements.append(movement)
    return movements
