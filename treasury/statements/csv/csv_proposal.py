"""Proposal of a layout for the CSV of an unknown bank, from its headers and values.

A column is recognised by the words of its header, in the languages of most banks, and by its
values. Ambiguous columns become questions (`csv_questions`) for a person to answer before the file
is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from treasury.core.identifiers import is_iban
from treasury.statements.csv import csv_layout
from treasury.statements.csv.csv_layout import Layout
from treasury.statements.csv.csv_questions import Columns, CsvTable, settled
from treasury.statements.csv.csv_rows import looks_like_account
from treasury.statements.csv.csv_text import CsvRow
from treasury.statements.csv.csv_values import cell, is_amount, is_day, is_signed
from treasury.statements.csv.csv_words import HEADERS, IN, OTHER, OUT, STATUS
from treasury.statements.csv.profiles import Profile, plain
from treasury.statements.field_values import account_number

_ONE_WORD: Final = frozenset({"net", "netto", "id", "gross", "brutto"})
"""Words that must be the whole header, not a part of a longer one."""
_SEVERAL: Final = frozenset({"text", "amount", "debit", "credit", "currency", "counterparty_name"})
"""Roles that several columns may fit; except for `text`, one column is then chosen."""
_CARDS: Final = frozenset({"visa", "mastercard", "maestro", "amex", "vpay", "americanexpress"})
_KINDS: Final = {
    "booking_date": "d", "value_date": "d-", "amount": "a", "debit": "a-", "credit": "a-",
    "balance": "a-", "balance_before": "a", "currency": "t-", "sign": "t-", "status": "t-",
    "fee": "a-", "counterparty_name": "t-", "payer_name": "t-", "payee_name": "t-",
    "balance_effect": "t-",
}  # fmt: skip
"""Kinds of cells that each role accepts, as letters of `_kind`."""


def proposal(lines: Sequence[str], file_name: str, answers: Mapping[str, str]) -> Layout | None:
    """Return the most likely layout of an unknown file, with the open questions.

    Return None if no day column or no amount column is found. `answers` maps names of questions to
    answers.
    """
    tables = [
        table
        for delimiter, sample in csv_layout.samples(lines, file_name)
        for number, row in enumerate(sample[: csv_layout.MOST_BEFORE_HEADER])
        if (table := _table(row, sample[number + 1 :], delimiter, number, file_name)) is not None
    ]
    widest = max(tables, key=lambda table: len(table.columns), default=None)
    return None if widest is None else _settled(widest, answers)


def _table(
    header: CsvRow, below: Sequence[CsvRow], delimiter: str, number: int, file_name: str
) -> CsvTable | None:
    names = [cell(text) for text in header.cells]
    rows = [row for row in below if len(row.cells) >= len(names) - 1 > 0]
    if not rows or not csv_layout.is_header(header):
        return None
    table = CsvTable(names, rows, delimiter, number, file_name)
    table.columns = _roles(table)
    has_one_side = len({"debit", "credit"} & table.columns.keys()) == 1
    if not csv_layout.is_complete(table.columns) or (
        has_one_side and "amount" not in table.columns
    ):
        return None
    return table


def _settled(table: CsvTable, answers: Mapping[str, str]) -> Layout:
    changes, questions = settled(table, answers)
    columns = table.columns
    used = {place for places in columns.values() for place in places}
    unused = tuple(
        (table.header(place), value)
        for place in range(len(table.names))
        if place not in used and (value := next(filter(None, table.values(place)), ""))
    )
    profile = Profile(
        name="proposed",
        columns={role: tuple(map(table.header, places)) for role, places in columns.items()},
        needs=tuple(dict.fromkeys(filter(None, table.names))),
    )
    return Layout(
        msgspec.structs.replace(profile, **changes),
        table.delimiter,
        table.number,
        columns,
        csv_layout.header_currency(table.names, columns),
        headers=[plain(text) for text in table.names],
        is_proposed=True,
        questions=questions,
        unused=unused,
        is_card=_is_card(table),
    )


def _roles(table: CsvTable) -> Columns:
    """Return the columns of each role, by the words in their headers and by their values.

    If several columns fit an amount, a currency or a name, `csv_questions` chooses among them.
    """
    kinds = [_kind(table, place) for place in range(len(table.names))]
    headers = [plain(name) for name in table.names]
    columns: Columns = {}
    used: set[int] = set()
    for role, words in HEADERS.items():
        allowed = _KINDS.get(role, "")
        places = dict.fromkeys(
            place
            for word in words
            for place, header in enumerate(headers)
            if place not in used
            and (not allowed or kinds[place] in allowed)
            and _has(header, word)
            and (word not in _ONE_WORD or header == word)
            and (role not in _RULES or _RULES[role](header, table, place))
        )
        if role in {"booking_date", "value_date"}:
            # A day that some rows lack, such as the day of a payout, is not the booking date.
            most = max((len(table.texts(place)) for place in places), default=0)
            places = {place: None for place in places if len(table.texts(place)) == most}
        if places:
            columns[role] = tuple(places) if role in _SEVERAL else tuple(places)[:1]
            used.update(columns[role])
    sides = [role for role in ("payer_name", "payee_name") if role in columns]
    # Names of payer and payee are separate roles only if the file has both columns.
    if len(sides) == 1:
        places_of_name = columns.pop(sides[0])
        columns["counterparty_name"] = (*columns.get("counterparty_name", ()), *places_of_name)
    if "debit" in columns and "credit" in columns:
        columns.pop("amount", None)
    elif "amount" in columns:
        columns.pop("debit", None)
        columns.pop("credit", None)
        _find_sign(table, columns)
    _find_accounts(table, columns)
    _find_status(table, columns)
    return columns


def _is_no_postage(header: str, *_: object) -> bool:
    return not _has_any(header, OTHER["postage"])


def _is_one_side(header: str, *_: object) -> bool:
    both = all(_has_any(header, HEADERS[way]) for way in ("debit", "credit"))
    return _is_no_postage(header) and not both


def _names_side(header: str, table: CsvTable, place: int) -> bool:
    sides = [_has_any(header, HEADERS[side]) for side in ("payer_name", "payee_name")]
    return sides.count(True) == 1 and _names_party(header, table, place)


def _names_party(header: str, table: CsvTable, place: int) -> bool:
    """Return whether a header is for the other party's name, not for its account or our name."""
    is_named = _has_any(header, OTHER["name"])
    if not table.texts(place) or _has_any(header, OTHER["ultimate"]):
        return False
    if not is_named and (_has_any(header, OTHER["no_name"]) or header.endswith("id")):
        return False
    # The name of an account is the company's own, unless the header names another party.
    others = (*OTHER["other_party"], *HEADERS["payer_name"], *HEADERS["payee_name"])
    is_own = is_named and _has_any(header, OTHER["owner"])
    return not is_own or _has_any(header, others)


def _holds_accounts(_: str, table: CsvTable, place: int) -> bool:
    texts = table.texts(place)
    return bool(texts) and all(map(looks_like_account, texts))


_CODE: Final = 3
_RULES: Final[dict[str, Callable[[str, CsvTable, int], bool]]] = {
    "booking_date": lambda header, *_: not _has_any(header, (*OTHER["due"], *OTHER["paid_out"])),
    "fee": _is_no_postage,
    "amount": _is_no_postage,
    "debit": _is_one_side,
    "credit": _is_one_side,
    "currency": lambda _, table, place: all(
        len(text) == _CODE and text.isalpha() for text in table.texts(place)
    ),
    "sign": lambda _, table, place: _says_sign(table, place),
    "counterparty_account": _holds_accounts,
    "payer_name": _names_side,
    "payee_name": _names_side,
    "counterparty_name": _names_party,
    "account": _holds_accounts,
    # The bank's own reference differs in every row.
    "reference": lambda header, table, place: (
        len(set(table.texts(place))) == len(table.texts(place))
        and not _has_any(header, OTHER["no_reference"])
    ),
    "status": lambda header, *_: "statement" not in header,
    "kind": lambda header, *_: (
        header.endswith(tuple(HEADERS["kind"])) or header.startswith(("typ", "tipo"))
    ),
}
"""Further conditions of a role, in addition to a word in the header and the kind of cells."""


def _find_sign(table: CsvTable, columns: Columns) -> None:
    """Use a column with words for debit and credit as the sign of the amounts.

    The column's header does not matter, but it must have a value for every amount, and must not be
    about debit and credit cards. The amounts must be unsigned.
    """
    amounts = (text for place in columns["amount"] for text in table.texts(place))
    if "sign" in columns or any(map(is_signed, amounts)):
        return
    taken = {place for role in _MORE_THAN_SIGN & columns.keys() for place in columns[role]}
    for place in range(len(table.names)):
        if place not in taken and _says_sign(table, place):
            for role in [role for role, places in columns.items() if place in places]:
                rest = tuple(other for other in columns[role] if other != place)
                columns[role] = rest
                if not rest:
                    del columns[role]
            columns["sign"] = (place,)
            return


_MORE_THAN_SIGN: Final = frozenset({
    "booking_date", "value_date", "amount", "balance", "fee", "currency", "account",
    "counterparty_account", "counterparty_name", "reference", "balance_effect",
})  # fmt: skip
"""Roles of columns that never become the sign of amounts."""


def _says_sign(table: CsvTable, place: int) -> bool:
    texts = table.texts(place)
    if not texts or not all(text in {"+", "-"} or plain(text) in IN | OUT for text in texts):
        return False
    header = plain(table.names[place])
    if _has_any(header, OTHER["card"]) or (_names_cards(table) and header not in HEADERS["sign"]):
        return False
    return len(texts) == table.count


def _names_cards(table: CsvTable) -> bool:
    """Return whether a cell names a card scheme: then debit and credit may be kinds of cards."""
    return any(
        plain(text) in _CARDS for place in range(len(table.names)) for text in table.texts(place)
    )


def _is_card(table: CsvTable) -> bool:
    """Return whether the table lists the movements of a card.

    A merchant column is enough if there is no balance, or if most amounts are unsigned: a bank
    account lists payments with a minus, and a card's balance may be its debt.
    """
    amounts = [text for place in table.columns.get("amount", ()) for text in table.texts(place)]
    has_few_signs = 2 * sum(map(is_signed, amounts)) < len(amounts)
    merchants = OTHER["merchant"] if has_few_signs or "balance" not in table.columns else []
    words = (*OTHER["card"], *merchants)
    return _names_cards(table) or any(_has_any(plain(name), words) for name in table.names)


def _find_accounts(table: CsvTable, columns: Columns) -> None:
    """Distinguish the company's account from the other party's, which differs between rows."""
    if "account" not in columns:
        return
    (place,) = columns["account"]
    texts = table.texts(place)
    header = plain(table.names[place])
    if _has_any(header, OTHER["other_party"]) or len(set(texts)) > max(1, len(texts) // 2):
        places = columns.pop("account")
        columns.setdefault("counterparty_account", places)
    elif len(texts) < table.count:
        # The company's own account must be in every row: rows without it would form a second
        # statement.
        columns.pop("account")


def _find_status(table: CsvTable, columns: Columns) -> None:
    """Use a column with known words for a status as the status, under any header."""
    used = {place for places in columns.values() for place in places}
    for place in range(len(table.names)):
        texts = table.texts(place)
        if "status" not in columns and place not in used and texts:
            known = sum(plain(text) in STATUS for text in texts)
            # An unknown word for the status means pending.
            if 2 * known >= len(texts):
                columns["status"] = (place,)


def _has_any(header: str, words: Sequence[str]) -> bool:
    return any(_has(header, word) for word in words)


def _has(header: str, word: str) -> bool:
    """Return whether a header contains a word; a replacement character matches any letter."""
    if "\ufffd" not in header:
        return word in header
    parts = (header[at : at + len(word)] for at in range(len(header) - len(word) + 1))
    return any(csv_layout.is_same(part, word) for part in parts)


def _kind(table: CsvTable, place: int) -> str:
    """Return the commonest kind of cell in a column: d day, a amount, i IBAN, t text, - empty."""

    def letter(text: str) -> str:
        if is_day(text):
            return "d"
        if is_amount(text):
            return "a"
        return "i" if is_iban(account_number(text)) else "t"

    kinds = Counter(map(letter, table.texts(place)[:100]))
    return kinds.most_common(1)[0][0] if kinds else "-"
