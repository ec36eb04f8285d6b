"""The company's own expected payments and receipts, from a file, a table or the journal.

A row has a date, an account, an amount (negative for money out), a currency and a text. A row with
`every` repeats. The date of a flow in euros on which TARGET is closed moves to the next TARGET day,
or to the previous one if `if_closed` is `previous`. Dates in other currencies do not move.
"""

from __future__ import annotations

import hashlib
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from treasury.core.calendar import is_target_day, next_target_day
from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.identifiers import plain_account
from treasury.core.money import EXPONENTS
from treasury.core.settings import BankAccount
from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, TEXT
from treasury.core.tables.csv_input import (
    CsvColumn,
    csv_lines,
    csv_rows,
    day,
    small_file,
    text,
)
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import is_it
from treasury.journal import Actor, Draft, Journal
from treasury.matching.input_tables import Field, read_table
from treasury.month.clocks import TARGET, rail_of
from treasury.statements.csv.csv_values import amount_in, decimal_sign

if TYPE_CHECKING:
    from treasury.matching.input_tables import TableLike

FILE_NAME: Final = "flows.csv"
"""The file of a workspace with its company's own flows."""
OWN_FLOWS: Final = grouped_schema(
    (DATE, "day"), (AMOUNT, "amount"), (TEXT, "currency", "account", "text", "every"),
    (DATE, "until"), (BOOL, "moves_back"),
)  # fmt: skip
"""One row per expected flow of the company, as in OwnFlow."""
_SAVED: Final = "flows.saved"
"""The entry with the flows, which is journaled when a month is prepared."""
_EVERY: Final = ("week", "month", "quarter", "year")
_NEXT, _PREVIOUS = "next", "previous"
_FIELDS: Final = (
    Field("date", DATE, required=True),
    Field("amount", AMOUNT, required=True),
    Field("currency", TEXT, required=True),
    Field("account", TEXT),
    Field("text", TEXT),
    Field("every", TEXT, values=_EVERY),
    Field("until", DATE),
    Field("if_closed", TEXT, values=(_NEXT, _PREVIOUS)),
)
_COLUMNS: Final = (
    CsvColumn("date", day),
    CsvColumn("amount", text),
    CsvColumn("currency", text),
    CsvColumn("account", text, required=False),
    CsvColumn("text", text, required=False),
    CsvColumn("every", text, required=False),
    CsvColumn("until", day, required=False),
    CsvColumn("if_closed", text, required=False),
)
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_LOOK_BACK: Final = timedelta(days=31)
"""A repeated flow is looked for in the statements of this time before today."""


class OwnFlow(msgspec.Struct, frozen=True, kw_only=True):
    """An expected flow; `amount` is negative for money out, `account` is empty if none is named.

    `every` is empty for a flow that occurs once; `until` is the last day of one that repeats.
    `moves_back` is true if it moves to the previous TARGET day instead of the next one.
    """

    day: date
    amount: Decimal
    currency: str
    account: str = ""
    text: str = ""
    every: str = ""
    until: date | None = None
    moves_back: bool = False

    def days(self, today: date, last: date) -> Iterator[tuple[date, date]]:
        """Yield each planned day, with the day up to `last` to which the calendar moves it.

        The days of a flow that repeats start 31 days before today.
        """
        first = today - _LOOK_BACK if self.every else date.min
        for planned in self._planned(last + _LOOK_BACK):
            moved = self._moved(planned)
            if planned >= first and moved <= last:
                yield planned, moved

    def _planned(self, last: date) -> Iterator[date]:
        end = min(last, self.until or last)
        if not self.every:
            yield self.day
            return
        count, at = 0, self.day
        while at <= end:
            yield at
            count += 1
            if self.every == "week":
                at = self.day + timedelta(weeks=count)
            else:
                months = self.day.year * 12 + self.day.month - 1 + count * _MONTHS[self.every]
                year, month = months // 12, months % 12 + 1
                # In a shorter month it is the last day.
                at = date(year, month, min(self.day.day, monthrange(year, month)[1]))

    def _moved(self, planned: date) -> date:
        if rail_of(self.currency) != TARGET or is_target_day(planned):
            return planned
        if not self.moves_back:
            return next_target_day(planned)
        while not is_target_day(planned):
            planned -= timedelta(days=1)
        return planned


def read_flows(
    source: Path | TableLike | Sequence[Mapping[str, Any]], accounts: Iterable[BankAccount]
) -> list[OwnFlow]:
    """Return the flows in a CSV file, a table, a DataFrame or a list of rows.

    Parameters
    ----------
    source
        The flows, with the columns date, amount and currency, and optionally account, text, every
        (week, month, quarter, year), until and if_closed (next, previous). An amount is negative
        for money out. In a file, amounts and dates are written as people write them.
    accounts
        The declared accounts, of which `account` names one.

    Returns
    -------
    list of OwnFlow
        One flow per row, even if it repeats.

    Raises
    ------
    InputError
        If a row cannot be read. The error names the file, the line and the column.
    TableError
        If a column is missing or has another type.

    Examples
    --------
    >>> read_flows(Path("flows.csv"), settings.accounts)
    """
    declared = {(plain_account(each.account), each.currency) for each in accounts}
    if isinstance(source, str | Path):
        rows = list(_file_rows(Path(source)))
    else:
        given: Any = source
        if isinstance(source, Sequence):
            rows_given: Sequence[Any] = source
            given = pa.Table.from_pylist([dict(row) for row in rows_given])
        table = read_table(given, _FIELDS, name="flows")
        rows = [(f"flows, row {at}", row) for at, row in enumerate(table.to_pylist())]
    return [_flow(where, row, declared) for where, row in rows]


def kept_flows(workspace: Path, accounts: Iterable[BankAccount]) -> list[OwnFlow]:
    """Return the flows in the file flows.csv of a workspace; none without the file."""
    path = workspace / FILE_NAME
    return read_flows(path, accounts) if path.is_file() else []


def flow_table(flows: Sequence[OwnFlow]) -> pa.Table:
    """Return the flows as a table with the columns of OWN_FLOWS."""
    return pa.Table.from_pylist([msgspec.structs.asdict(flow) for flow in flows], OWN_FLOWS)


def flows_of(table: pa.Table) -> list[OwnFlow]:
    """Return the flows of a table with the columns of OWN_FLOWS."""
    return [OwnFlow(**row) for row in table.to_pylist()]


def flows_drafts(journal: Journal, flows: Sequence[OwnFlow], actor: Actor) -> list[Draft]:
    """Return the entry that journals the flows; empty if the last saved ones are the same."""
    rows = msgspec.to_builtins(flows)
    digest = hashlib.sha256(msgspec.json.encode(rows)).hexdigest() if rows else ""
    saved = journal.entries(_SAVED)
    if digest == (saved[-1].subject if saved else ""):
        return []
    return [Draft(_SAVED, digest, {"flows": rows}, actor)]


def journaled_flows(journal: Journal, seq: int) -> list[OwnFlow]:
    """Return the flows that were last journaled up to an entry."""
    saved = [entry for entry in journal.entries(_SAVED) if entry.seq <= seq]
    return convert(saved[-1].body["flows"], list[OwnFlow]) if saved else []


def _file_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = csv_lines(path, csv_rows(path, small_file(path)), _COLUMNS)
    sign = decimal_sign(line.values["amount"] for line in lines)
    for line in lines:
        where, written = f"{path}, line {line.number}", line.values["amount"]
        if not sign and {",", "."} & set(written):
            raise InputError(
                f"{where}: {written!r:.40} may have decimals or thousands after its comma or point",
                do="write an amount of the file with two decimals, such as 1234.00 or 1234,00",
            )
        try:
            amount = amount_in(written, sign if sign in {",", "."} else ".")
        except InputError as error:
            do = error.do or "write it as 1234.56"
            raise InputError(f"{where}: amount: {error.what}", do=do) from None
        yield where, {**line.values, "amount": amount}


def _flow(where: str, row: Mapping[str, Any], declared: AbstractSet[tuple[str, str]]) -> OwnFlow:
    account, currency = plain_account(row.get("account") or ""), (row["currency"] or "").strip()
    code, numbers = currency.upper(), {number for number, _ in declared}
    if account and account not in numbers:
        raise InputError(
            f"{where}: {row['account']!r:.40} is not an account in treasury.toml"
            f"{is_it(account, numbers)}",
            do="name a declared account, or none",
        )
    if account and (account, code) not in declared:
        raise InputError(
            f"{where}: {row['account']!r:.40} is not declared in {currency!r:.20}",
            do="correct the currency or the account",
        )
    if currency and code not in EXPONENTS:
        raise InputError(
            f"{where}: {currency!r:.20} is not a currency", do="write a code such as EUR"
        )
    for name, values in (("every", _EVERY), ("if_closed", (_NEXT, _PREVIOUS))):
        word = row.get(name)
        if word and word not in values:
            raise InputError(
                f"{where}: {name}: {word!r:.40} is not known{is_it(word, values)}",
                do=f"write {', '.join(values)}",
            )
    if row["date"] is None or row["amount"] is None or not currency:
        raise InputError(f"{where}: date, amount or currency is empty", do="fill it in")
    return OwnFlow(
        day=row["date"],
        amount=row["amount"],
        currency=code,
        account=account,
        text=row.get("text") or "",
        every=row.get("every") or "",
        until=row.get("until"),
        moves_back=row.get("if_closed") == _PREVIOUS,
    )
