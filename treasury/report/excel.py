"""The close as an Excel workbook: one sheet a table, amounts exact, text that stays text.

A sheet is a declaration of columns that one loop writes. Excel keeps fifteen significant digits: an
amount within them is a number with its currency's decimals, a longer one is text with every digit.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import xlsxwriter

from treasury.money import exponent
from treasury.reconcile.monthly import Reconciliation
from treasury.report.fees import fees_of
from treasury.report.words import DIRECTIONS, LINE_CLASSES, outcome_word, title_words
from treasury.text import clean

__all__ = ["DIGITS", "SHEETS", "write_workbook"]

DIGITS: Final = 15
"""Significant digits that Excel keeps of a number."""
LONGEST: Final = 32_000
"""Characters that a cell takes, with room to say that more was there."""

Kind = Literal["text", "amount", "number", "date", "instant"]


class Column(msgspec.Struct, frozen=True):
    """A column of a sheet; `unit` is the field that names an amount's currency."""

    title: str
    field: str
    kind: Kind = "text"
    width: int = 14
    unit: str = "currency"


class Sheet(msgspec.Struct, frozen=True):
    """A sheet: the table of the reconciliation that it shows, and its columns."""

    name: str
    columns: tuple[Column, ...]


LINES: Final = Sheet(
    "Lines",
    (
        Column("Booked", "booking_date", "date", 11),
        Column("Account", "statement_account", width=24),
        Column("Reached", "account", width=24),
        Column("In or out", "direction", width=9),
        Column("Amount", "amount", "amount", 16),
        Column("Currency", "currency", width=9),
        Column("What became of it", "outcome", width=34),
        Column("Class", "line_class", width=17),
        Column("Reference", "reference", width=18),
        Column("Matched amount", "matched_amount", "amount", 16),
        Column("Reason", "reason", width=40),
        Column("Counterparty", "counterparty_name", width=28),
        Column("Counterparty account", "counterparty_account", width=24),
        Column("Text", "remittance", width=48),
        Column("File", "file_name", width=30),
        Column("Place in file", "position", width=24),
        Column("Line", "entry_id", width=34),
    ),
)
EARLIER: Final = Sheet("Earlier lines", LINES.columns)
AWAITING: Final = Sheet(
    "Awaiting funds",
    (
        Column("State", "state", width=14),
        Column("Due", "due", "date", 11),
        Column("Overdue", "overdue", "number", 9),
        Column("Counted in", "overdue_unit", width=13),
        Column("Direction", "direction", width=10),
        Column("Reference", "reference", width=18),
        Column("Send", "send", "amount", 18),
        Column("Currency", "currency", width=9),
        Column("To", "to", width=26),
        Column("Account or address", "to_account", width=34),
        Column("Approved", "approved", "instant", 17),
        Column("Seen", "seen", width=24),
        Column("Evidence to", "evidence_to", "date", 12),
        Column("Next step", "next_step", width=56),
        Column("Request", "request", width=37),
    ),
)
IN_TRANSIT: Final = Sheet(
    "In transit",
    (
        Column("What", "what", width=42),
        Column("Reference", "reference", width=18),
        Column("Left on", "left_on", "date", 11),
        Column("Amount", "amount", "amount", 18),
        Column("Currency", "currency", width=9),
        Column("Where now", "where_now", width=38),
        Column("Arrived", "arrived_on", "date", 11),
        Column("May have arrived", "may_have_arrived_on", "date", 16),
        Column("Request", "request_id", width=37),
    ),
)
VIRTUAL: Final = Sheet(
    "Virtual accounts",
    (
        Column("Name", "name", width=26),
        Column("IBAN", "iban", width=24),
        Column("Reference code", "reference", width=16),
        Column("Currency", "currency", width=9),
        Column("Becomes", "target_cryptocurrency", width=10),
        Column("Status", "status", width=11),
        Column("Credits", "credits", "number", 9),
        Column("Amount", "amount", "amount", 16),
        Column("Proof", "proof", width=40),
        Column("Virtual account", "virtual_bank_account_id", width=37),
    ),
)
FEES: Final = Sheet(
    "Fees",
    (
        Column("Reference", "reference", width=18),
        Column("Completed", "completed_on", "date", 11),
        Column("Direction", "direction", width=10),
        Column("Pair", "pair", width=14),
        Column("Chain", "chain", width=11),
        Column("Gross", "fiat_gross", "amount", 16, "fiat_currency"),
        Column("Fee", "fee", "amount", 13, "fiat_currency"),
        Column("Net", "fiat_net", "amount", 16, "fiat_currency"),
        Column("Currency", "fiat_currency", width=9),
        Column("Rate, basis points", "rate_bp", "amount", 17, ""),
        Column("Percentage", "fee_percentage", "amount", 11, ""),
        Column("Tier", "tier", width=20),
        Column("Crypto", "crypto", "amount", 20, "crypto_currency"),
        Column("Asset", "crypto_currency", width=9),
        Column("Exchange rate", "exchange_rate", "amount", 14, ""),
        Column("Request", "request_id", width=37),
    ),
)
STATEMENTS: Final = Sheet(
    "Statements",
    (
        Column("Account", "account", width=24),
        Column("Name", "name", width=28),
        Column("Currency", "currency", width=9),
        Column("Source", "source", width=16),
        Column("Statements", "statements", "number", 11),
        Column("Proved", "proved", "number", 9),
        Column("Whole month", "complete", width=12),
        Column("Opening", "opening_balance", "amount", 18),
        Column("Closing", "closing_balance", "amount", 18),
        Column("Proved from", "covered_from", "date", 12),
        Column("Proved to", "covered_to", "date", 12),
        Column("Problem", "problem", width=60),
    ),
)
SHEETS: Final = (LINES, AWAITING, IN_TRANSIT, VIRTUAL, FEES, STATEMENTS, EARLIER)


def write_workbook(r: Reconciliation, path: Path, *, zone: ZoneInfo) -> None:
    """Write the workbook to `path`; the same reconciliation and zone give the same bytes."""
    tables = {
        "Lines": _lines(r.lines),
        "Earlier lines": _lines(r.earlier_lines),
        "Awaiting funds": r.awaiting_funds,
        "In transit": r.in_transit,
        "Virtual accounts": r.virtual_accounts,
        "Fees": fees_of(r).requests,
        "Statements": r.statements,
    }
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
    }
    with xlsxwriter.Workbook(str(path), options) as book:
        title = title_words(r, zone)
        created = r.known_at.astimezone(UTC).replace(tzinfo=None)
        book.set_properties({"title": title, "company": clean(r.company), "created": created})
        writer = _Writer(book, zone)
        for sheet in SHEETS:
            writer.write(sheet, tables[sheet.name], title)


def _lines(table: pa.Table) -> pa.Table:
    """Lines in the words of the desk."""
    rows = table.to_pylist()
    booked = {row["entry_id"]: row["booking_date"] for row in rows}
    words = {
        "outcome": [outcome_word(row, booked) for row in rows],
        "line_class": [LINE_CLASSES.get(row["line_class"], row["line_class"]) for row in rows],
        "direction": [DIRECTIONS.get(row["direction"], row["direction"]) for row in rows],
    }
    for name, values in words.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.array(values, pa.string()))
    return table


class _Writer:
    """The workbook being written, and the formats it has so far."""

    def __init__(self, book: Any, zone: ZoneInfo) -> None:
        self._book = book
        self._zone = zone
        self._head = book.add_format(
            {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}
        )
        self._text = book.add_format({"valign": "top"})
        self._date = book.add_format({"num_format": "yyyy-mm-dd", "align": "left"})
        self._instant = book.add_format({"num_format": "yyyy-mm-dd hh:mm", "align": "left"})
        self._amounts: dict[int, Any] = {}
        self._long = book.add_format({"align": "right"})

    def write(self, sheet: Sheet, table: pa.Table, title: str) -> None:
        """One sheet: a frozen header with a filter, then a row for each row of the table."""
        page = self._book.add_worksheet(sheet.name)
        page.freeze_panes(1, 0)
        page.set_landscape()
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)
        page.set_header(f"&L{title[:180].replace('&', '&&')}&R&A")
        page.autofilter(0, 0, max(table.num_rows, 1), len(sheet.columns) - 1)
        for at, column in enumerate(sheet.columns):
            page.set_column(at, at, column.width)
            page.write_string(0, at, self._title(column), self._head)
        rows = (row for batch in table.to_batches(max_chunksize=5_000) for row in batch.to_pylist())
        for line, row in enumerate(rows, start=1):
            for at, column in enumerate(sheet.columns):
                self._cell(page, line, at, column, row)

    def _title(self, column: Column) -> str:
        return f"{column.title} ({self._zone.key})" if column.kind == "instant" else column.title

    def _cell(self, page: Any, line: int, at: int, column: Column, row: dict[str, Any]) -> None:
        value = row[column.field]
        match value:
            case None:
                return
            case bool():
                page.write_string(line, at, "yes" if value else "no", self._text)
            case Decimal():
                self._amount(page, line, at, value, row.get(column.unit))
            case int():
                page.write_number(line, at, value)
            case datetime():
                local = value.astimezone(self._zone).replace(tzinfo=None)
                page.write_datetime(line, at, local, self._instant)
            case date():
                page.write_datetime(line, at, value, self._date)
            case _:
                page.write_string(line, at, _fitting(clean(value)), self._text)

    def _amount(self, page: Any, line: int, at: int, amount: Decimal, currency: str | None) -> None:
        """The decimal's own digits: as a number where Excel keeps them, else as text."""
        digits, decimals = _digits(amount)
        if digits > DIGITS:
            page.write_string(line, at, f"{amount:f}", self._long)
            return
        shown = max(decimals, exponent(currency) if currency else 0)
        # xlsxwriter formats what it is given: a Decimal is never made a float on the way.
        page.write_number(line, at, amount, self._places(shown))

    def _places(self, decimals: int) -> Any:
        if decimals not in self._amounts:
            pattern = "#,##0" + ("." + "0" * decimals if decimals else "")
            self._amounts[decimals] = self._book.add_format({"num_format": pattern})
        return self._amounts[decimals]


def _digits(amount: Decimal) -> tuple[int, int]:
    """Significant digits, and decimals, without idle zeros."""
    text = f"{amount:f}".lstrip("-")
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    significant = (whole + fraction).lstrip("0")
    return len(significant if fraction else significant.rstrip("0")), len(fraction)


def _fitting(text: str) -> str:
    """Text that a cell can hold; a longer one is cut where a person sees it."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} … {len(text) - LONGEST} more characters"
