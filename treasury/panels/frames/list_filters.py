"""The filters of a list: one field per column, and conditions typed into its search field.

A field takes a code chosen from a list, an amount (`>4000`, `100..250`), a day (`21 Oct`,
`>2026-10-21`) or an age (`>5`). The search field takes the same conditions between other words:
`unreferenced >4000` finds the rows that meet both. Amounts are compared without their sign and
currency; the currency is a separate filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from treasury.core.calendar import parse_day
from treasury.core.errors import InputError
from treasury.core.money import typed_amount
from treasury.panels.frames.blocks import InputField
from treasury.panels.frames.query_pages import QuerySource

FILTER: Final = "filter_"
"""The beginning of the name of a filter's field on the page."""
_SIGN: Final = r"(?P<sign>>=|<=|>|<|=)"
_RANGE: Final = re.compile(r"(?P<low>\S.*?)\s*\.\.\s*(?P<high>\S.*)")
_COMPARED: Final = re.compile(_SIGN + r"\s*(?P<bound>\S.*)")
_AGE: Final = re.compile(r"(\d{1,5})\s*(?:d|days?)?")
_CURRENCY: Final = re.compile(r"[A-Za-z]{3,5}\s+")
_SHOWN_THOUSANDS: Final = re.compile(r"-?\d{1,3}(,\d{3})+")

_DAY_WORDS: Final = (
    r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2}\.?\s+[A-Za-z]{3,9}\.?(?:\s+\d{4})?\b"
)
_AMOUNT_WORDS: Final = r"-?\d[\d.,]*\d[kK]?|-?\d[kK]?"
_VALUE: Final = rf"(?:{_DAY_WORDS}|{_AMOUNT_WORDS})"
_TYPED: Final = re.compile(
    rf"(?<!\S)(?:(?:>=|<=|>|<|=)\s*{_VALUE}|{_VALUE}\s*\.\.\s*{_VALUE}|(?:{_DAY_WORDS}))(?!\S)"
)
"""A condition among the words of a search: a comparison, a range or a day."""


class ListFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of a list: its label, and the column or columns it looks at.

    `words` gives the word on screen for a code of the column; codes without a word are shown as
    they are.
    """

    name: str
    label: str
    kind: Literal["choice", "amount", "day", "age"]
    columns: tuple[str, ...]
    words: Callable[[str], str] = str

    def field(self, typed: Mapping[str, str], codes: Mapping[str, int]) -> InputField:
        """Return the field on the page; each code to choose has its number of rows."""
        order = sorted(codes, key=lambda code: self.words(code).lower())
        choices = [(code, f"{self.words(code)} ({codes[code]:,})") for code in order]
        value = typed.get(self.name, "")
        if self.kind == "choice" and value and value not in codes:
            # The field must not say All while the filter hides every row.
            choices.append((value, f"{self.label}: none left"))
        return InputField(
            f"{FILTER}{self.name}",
            self.label,
            "All" if self.kind == "choice" else _HINTS[self.kind],
            choices=tuple(choices),
            value=value,
        )

    def meanings(self, code: str) -> set[str]:
        """Return the texts in lower case that mean a code of the column."""
        return {code.casefold(), self.words(code).casefold()}

    def condition(self, text: str, today: date) -> Condition:
        """Return the SQL condition for a typed text. Raise InputError naming the field."""
        if self.kind == "choice":
            return self._any("CAST({column} AS VARCHAR) = ?", [text])
        try:
            return self._compared(text, today)
        except InputError as error:
            raise InputError(f"{FILTER}{self.name}: {error.what}", do=error.do) from None

    def _compared(self, text: str, today: date) -> Condition:
        value = {
            "column": "{column}", "amount": "abs({column})", "day": "{column}", "age": "{column}"
        }[self.kind]  # fmt: skip
        if bounds := _RANGE.fullmatch(text):
            low, high = (self._value(bounds[name], today) for name in ("low", "high"))
            return self._any(f"{value} BETWEEN ? AND ?", [low, high])
        compared = _COMPARED.fullmatch(text)
        sign, bound = ("=", text) if compared is None else compared.group("sign", "bound")
        return self._any(f"{value} {sign} ?", [self._value(bound, today)])

    def _value(self, text: str, today: date) -> Any:
        if self.kind == "day":
            return parse_day(text, today)
        if self.kind == "amount":
            return read_typed_amount(text)
        age = _AGE.fullmatch(text.strip())
        if age is None:
            raise InputError(f"{text[:40]!r} is not a number of days", do="write 5, >5 or 5..10")
        return int(age[1])

    def _any(self, condition: str, values: Sequence[Any]) -> Condition:
        parts = [condition.format(column=f'"{column}"') for column in self.columns]
        return Condition(f"({' OR '.join(parts)})", (*values,) * len(parts))


class Condition(msgspec.Struct, frozen=True):
    """A part of an SQL WHERE clause, with the values of its parameters."""

    sql: str
    values: tuple[Any, ...] = ()


_HINTS: Final = {"amount": ">4000, 100..250", "day": "21 Oct, >21 Oct", "age": ">5 days"}


def filter_fields(
    filters: Sequence[ListFilter], source: QuerySource, query: str, typed: Mapping[str, str]
) -> tuple[InputField, ...]:
    """Return the fields of the filters; a choice offers the codes that the list contains."""
    fields = []
    for each in filters:
        codes: dict[str, int] = {}
        if each.kind == "choice":
            (column,) = each.columns
            counts = source.sql(
                f'SELECT CAST("{column}" AS VARCHAR) AS code, count(*) AS rows FROM ({query})'  # noqa: S608 - ours
                " WHERE code IS NOT NULL AND code <> '' GROUP BY ALL"
            )
            codes = {row["code"]: row["rows"] for row in counts.to_pylist()}
        fields.append(each.field(typed, codes))
    return tuple(fields)


def conditions(
    filters: Sequence[ListFilter],
    typed: Mapping[str, str],
    search: str,
    searched: Sequence[str],
    today: date,
) -> list[Condition]:
    """Return the conditions of the filled filters and of the search field.

    Raise InputError, naming the field, for a condition that cannot be read.
    """
    by_kind: dict[str, ListFilter] = {each.kind: each for each in filters}
    parts = [
        each.condition(text, today)
        for each in filters
        if (text := typed.get(each.name, "").strip())
    ]
    words = search
    if "amount" in by_kind or "day" in by_kind:
        for text in _TYPED.findall(search):
            condition = _typed_condition(text, by_kind, today)
            if condition is not None:
                parts.append(condition)
                words = words.replace(text, " ", 1)
    words = " ".join(words.split()) if words != search else search
    if words:
        # The displayed `EUR 14,000.00` is `14000.00` in the data.
        if _SHOWN_AMOUNT.fullmatch(words):
            words = words.rpartition(" ")[2].replace(",", "")
        columns = ", ".join(searched) or "''"
        parts.append(Condition(f"contains(lower(concat_ws(' ', {columns})), lower(?))", (words,)))
    return parts


def _typed_condition(part: str, by_kind: Mapping[str, ListFilter], today: date) -> Condition | None:
    """Return the condition of a part of a search; None if it is an ordinary word of the search.

    A part with a day is about days, any other about amounts.
    """
    for kind in ("day", "amount"):
        if kind not in by_kind:
            continue
        try:
            return by_kind[kind].condition(part, today)
        except InputError:
            if kind == "amount" and re.search("[><=]|\\.\\.", part):
                raise
    return None


_SHOWN_AMOUNT: Final = re.compile(
    r"[A-Za-z]{3,5} -?[0-9][0-9,]*(?:\.[0-9]*)?|-?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?", re.ASCII
)
"""An amount as displayed, with its currency or thousands separators."""


def read_typed_amount(text: str) -> Decimal:
    """Parse an amount as typed, or as displayed like `EUR 4,000`; the result has no sign."""
    digits = _CURRENCY.sub("", text.strip(), count=1)
    if _SHOWN_THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    return abs(typed_amount(digits))
