"""Find the record that a reference, an account, an amount, a hash or an id refers to.

Names are compared by their letters and digits only. If a name is ambiguous, all records with that
name are returned to choose from.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.errors import InputError, NothingStored
from treasury.core.money import parse_amount
from treasury.core.tables.column_types import AMOUNT, DATE, TEXT
from treasury.core.tables.schemas import grouped_schema, table_of
from treasury.core.text import clean
from treasury.matching.engine.pipeline import load, steps_of
from treasury.month.trace.trace_records import sql_of

CHOICES: Final = grouped_schema(
    (TEXT, "kind", "id"), (DATE, "happened_on"), (AMOUNT, "amount"), (TEXT, "currency", "says")
)
TRACE_PACKAGE: Final = "treasury.month.trace.steps"
CHOSEN: Final = steps_of(TRACE_PACKAGE)["wanted_choices"]
MOST: Final = 50
"""Maximum number of choices to return; the latest come first."""
_SHORTEST: Final = 6
"""Minimum number of letters and digits to identify an id."""

_AMOUNT: Final = re.compile(
    r"(?:(?P<before>[A-Za-z]{3,5})\s*)?(?P<digits>\d[\d.,' ]*)(?:\s*(?P<after>[A-Za-z]{3,5}))?",
    re.ASCII,
)


class Subject(msgspec.Struct, frozen=True):
    """A record that can be traced: a request, a line, a transfer or a virtual account."""

    kind: str
    id: str


def as_typed(typed: object) -> str:
    """Return the input as text; raise InputError for anything but text or an exact number."""
    if isinstance(typed, str):
        return typed
    if isinstance(typed, Decimal | int) and not isinstance(typed, bool):
        return f"{Decimal(typed):f}"
    raise InputError(
        f"{typed!r:.60} cannot name a payment",
        do="give a reference, an account, a hash or an id as text, an amount as text or Decimal",
    )


def look_up(
    connection: duckdb.DuckDBPyConnection, typed: str
) -> tuple[Subject | None, pa.Table, int]:
    """Return the only record that `typed` refers to, the latest choices, and the number of choices.

    The record is None if there are several to choose from. `connection` must have the steps of the
    trace. Raise InputError if `typed` is empty, and NothingStored if no record has that name.
    """
    key = "".join(char for char in typed.upper() if char.isascii() and char.isalnum())
    if not key:
        raise InputError(
            "nothing to trace", do="give a reference, an account, an amount, a hash or an id"
        )
    by_name = "SELECT DISTINCT kind, id FROM traceable_names WHERE name = ?"
    subjects = _subjects(connection, by_name, [key])
    if not subjects:
        by_amount = sql_of("subjects_by_amount")
        amounts, currency = amounts_in(typed)
        for amount in sorted(amounts):
            subjects += _subjects(connection, by_amount, [f"{amount:f}", currency])
    if not subjects and len(key) >= _SHORTEST:
        subjects = _subjects(connection, sql_of("subjects_by_beginning"), [key])
    if not subjects:
        raise NothingStored(
            f"no stored record has the name {clean(typed)[:60]!r}",
            do="check it, or run `treasury sync` and `treasury statements add FILE…`",
        )
    subject = _one_of(connection, subjects)
    if subject is not None and subject.kind != "virtual account":
        return subject, CHOICES.empty_table(), 1
    rows = [(subject.kind, subject.id) for subject in subjects]
    load(connection, {"wanted": table_of(rows, grouped_schema((TEXT, "kind", "id")))})
    table: pa.Table = connection.sql(CHOSEN.sql).to_arrow_table().cast(CHOICES)
    if table.num_rows == 1:
        return Subject(table["kind"][0].as_py(), table["id"][0].as_py()), CHOICES.empty_table(), 1
    if not table.num_rows:
        raise NothingStored(
            f"no bank line has reached {clean(typed)[:60]}",
            do="run `treasury statements add FILE…` with the provider's report",
        )
    return None, table.slice(0, MOST), table.num_rows


def amounts_in(text: str) -> tuple[set[Decimal], str | None]:
    """Return the amounts and the currency that a text may mean: "25.000" is both 25 and 25,000.

    A text that is not an amount gives no amounts and None.
    """
    parts = _AMOUNT.fullmatch(text.strip())
    if parts is None:
        return set(), None
    digits = re.sub(r"[' ]", "", parts["digits"])
    readings = set()
    for decimal_point, group in ((".", ","), (",", ".")):
        whole, _, fraction = digits.partition(decimal_point)
        grouped = re.fullmatch(rf"\d{{1,3}}(\{group}\d{{3}})+|\d+", whole)
        if grouped and (fraction.isdigit() or decimal_point not in digits):
            readings.add(whole.replace(group, "") + (f".{fraction}" if fraction else ""))
    currency = (parts["before"] or parts["after"] or "").upper() or None
    amounts = {parse_amount(reading, name="amount to trace") for reading in readings}
    return amounts, currency


def _subjects(
    connection: duckdb.DuckDBPyConnection, query: str, params: list[Any]
) -> list[Subject]:
    rows = connection.execute(f"{query} ORDER BY kind, id", params).fetchall()
    return [Subject(kind, id_) for kind, id_ in rows]


def _one_of(connection: duckdb.DuckDBPyConnection, subjects: list[Subject]) -> Subject | None:
    """Return the only record, or the request to which all others belong; otherwise None."""
    if len(subjects) == 1:
        return subjects[0]
    requests = [subject for subject in subjects if subject.kind == "request"]
    if len(requests) != 1 or any(subject.kind == "virtual account" for subject in subjects):
        return None
    (request,) = requests
    own = _subjects(connection, sql_of("request_parts"), [request.id, request.id])
    return request if all(subject == request or subject in own for subject in subjects) else None
