"""The funds on the morning's screen: a row per kind, a column per currency, never added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

import pyarrow as pa

from treasury.close.result_words import amount_words, day
from treasury.core.coins import NATIVE_COINS
from treasury.core.money import CURRENCIES
from treasury.core.tables.table_view import html_grid
from treasury.core.wording import FUNDS as FUNDS_WORDS
from treasury.report.screens.screen_rows import SCREEN_WIDTH

_COMMAND: Final = "treasury cash"
_GAP: Final = "  "
_MOST_NOTES: Final = 2
_Cells = list[str]


def funds_lines(funds: pa.Table, today: date) -> list[str]:
    """Return the funds as aligned lines; columns of `funds` as in FUNDS.

    Currencies that do not fit the screen are named below. The row of a kind may have a note on
    differing days or on amounts that are not counted. One line replaces more than two such notes.
    """
    currencies, rows = _grid(funds, today)
    if not rows:
        return []
    notes = [row for row in rows if not row[0]]
    if len(notes) > _MOST_NOTES:
        rows = [row for row in rows if row[0]]
    fitting = len(currencies)
    while fitting > 1 and _width(rows, currencies, fitting) > SCREEN_WIDTH:
        fitting -= 1
    table = [
        ["FUNDS", *currencies[:fitting], ""],
        *([*row[: fitting + 1], row[-1]] for row in rows),
    ]
    widths = [max(len(row[at]) for row in table) for at in range(fitting + 2)]
    lines = []
    for first, *amounts, last in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(amounts, widths[1:-1], strict=True)]
        lines.append(_GAP.join((f"{first:<{widths[0]}}", *cells, last)).rstrip())
    if len(notes) > _MOST_NOTES:
        lines.append(f"  days differ, or amounts are not counted: {_COMMAND}")
    if fitting < len(currencies):
        lines.append(f"  and {', '.join(currencies[fitting:])}: {_COMMAND}")
    return lines


def funds_html(funds: pa.Table, today: date) -> str:
    """Return the funds as a grid of all currencies."""
    currencies, rows = _grid(funds, today)
    heads = ("FUNDS", *currencies, "")
    columns = range(1, len(currencies) + 1)
    return html_grid(rows, heads, to_right=columns, wraps=True) if rows else ""


def _grid(funds: pa.Table, today: date) -> tuple[list[str], list[_Cells]]:
    """Return the currencies and, per kind of funds, its name, amounts and oldest day.

    A further row has what differs by currency: the day, and the number of amounts not counted.
    """
    facts = funds.to_pylist()
    codes = {row["currency"] for row in facts if row["currency"]}
    rank = {name: sum(row["currency"] == name for row in facts) for name in codes}
    native = set(NATIVE_COINS.values())
    currencies = sorted(
        codes, key=lambda name: (name not in CURRENCIES, name in native, -rank[name], name)
    )
    rows = []
    for kind, words in FUNDS_WORDS.items():
        of = {row["currency"]: row for row in facts if row["funds"] == kind}
        if not of:
            continue
        unread = " not read" if "" in of else ""
        days = {row["proved_to"] for row in of.values() if row["amount"] is not None}
        one_day = days.pop() if len(days) == 1 else None
        last = f"to {day(one_day, today.year)}" if one_day else ""
        rows.append([f"  {words}{unread}", *(_amount(of.get(name)) for name in currencies), last])
        notes = [_note(of.get(name), one_day, today) for name in currencies]
        if any(notes):
            rows.append(["", *notes, ""])
    return currencies, rows


def _amount(row: Mapping[str, Any] | None) -> str:
    """Return an amount without its currency, or how many amounts are not counted."""
    if row is None:
        return ""
    if row["amount"] is None:
        return f"{row['not_counted']:,} not counted"
    return amount_words(row["amount"], row["currency"]).partition(" ")[2]


def _note(row: Mapping[str, Any] | None, one_day: date | None, today: date) -> str:
    if row is None or row["amount"] is None:
        return ""
    on = row["proved_to"]
    parts = (
        f"to {day(on, today.year)}" if on and on != one_day else "",
        f"+ {row['not_counted']:,} not counted" if row["not_counted"] else "",
    )
    return ", ".join(filter(None, parts))


def _width(rows: Sequence[_Cells], currencies: Sequence[str], fitting: int) -> int:
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    amounts = [max(width, len(name)) for width, name in
               zip(columns[1 : fitting + 1], currencies, strict=False)]  # fmt: skip
    return columns[0] + columns[-1] + sum(amounts) + len(_GAP) * (fitting + 1)
