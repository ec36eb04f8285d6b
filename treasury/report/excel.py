"""The close as an Excel workbook: which tables, which columns, in whose words."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.close.balances import BALANCES
from treasury.close.checklist import CHECKLIST, checklist
from treasury.close.close_words import ALONE
from treasury.close.closing import Closing
from treasury.close.coins.coin_accounts import COIN_MOVEMENTS, COINS
from treasury.close.coins.coin_events import COIN_UNPROVED
from treasury.close.exposure.provider_exposure import (
    EXPOSURE,
    EXPOSURE_AGES,
    EXPOSURE_DAYS,
    EXPOSURE_TOTALS,
)
from treasury.close.fees.conversion_costs import CONVERSION_COSTS, COSTS_BY_PAIR
from treasury.close.fees.gas_costs import GAS_COSTS, GAS_PAYMENTS
from treasury.close.late_items import LATE_ITEMS
from treasury.close.ledger.ledger_comparison import LEDGER
from treasury.close.ledger.transit_bridge import BRIDGE
from treasury.close.result_words import DIRECTIONS, LINE_CLASSES, outcome_word, title_words
from treasury.close.roll_forward import ITEMS, ROLL_FORWARD
from treasury.decisions.remark_rows import REQUEST_REMARKS
from treasury.items import OPEN_ITEMS
from treasury.reconcile.monthly import Reconciliation
from treasury.tables.tabular import units_of
from treasury.tables.workbook import Sheet, SheetColumn, Workbook, sheet_of
from treasury.tables.workbook_process import written_beside
from treasury.text import clean

__all__ = ["FILES", "LONGEST_SHEET", "SHEETS", "workbook_beside"]

LINES: Final = Sheet(
    "Lines",
    (
        SheetColumn("Booked", "booking_date", "date", 11),
        SheetColumn("Account", "statement_account", width=24),
        SheetColumn("Reached", "account", width=24),
        SheetColumn("In or out", "direction", width=9),
        SheetColumn("Amount", "amount", "amount", 16),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("What became of it", "outcome", width=34),
        SheetColumn("Class", "line_class", width=17),
        SheetColumn("Reference", "reference", width=18),
        SheetColumn("Matched amount", "matched_amount", "amount", 16),
        SheetColumn("Reason", "reason", width=40),
        SheetColumn("Counterparty", "counterparty_name", width=28),
        SheetColumn("Counterparty account", "counterparty_account", width=24),
        SheetColumn("Text", "remittance", width=48),
        SheetColumn("File", "file_name", width=30),
        SheetColumn("Place in file", "position", width=24),
        SheetColumn("Line", "entry_id", width=34),
    ),
)
EARLIER: Final = Sheet("Earlier lines", LINES.columns)
AWAITING: Final = Sheet(
    "Awaiting funds",
    (
        SheetColumn("State", "state", width=14),
        SheetColumn("Due", "due", "date", 11),
        SheetColumn("Overdue", "overdue", "number", 9),
        SheetColumn("Counted in", "overdue_unit", width=13),
        SheetColumn("Direction", "direction", width=10),
        SheetColumn("Reference", "reference", width=18),
        SheetColumn("Send", "send", "amount", 18),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("To", "to", width=26),
        SheetColumn("Account or address", "to_account", width=34),
        SheetColumn("Approved", "approved", "instant", 17),
        SheetColumn("Seen", "seen", width=24),
        SheetColumn("Evidence to", "evidence_to", "date", 12),
        SheetColumn("Next step", "next_step", width=56),
        SheetColumn("Request", "request", width=37),
    ),
)
IN_TRANSIT: Final = Sheet(
    "In transit",
    (
        SheetColumn("What", "what", width=42),
        SheetColumn("Reference", "reference", width=18),
        SheetColumn("Left on", "left_on", "date", 11),
        SheetColumn("Amount", "amount", "amount", 18),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("Where now", "where_now", width=38),
        SheetColumn("Arrived", "arrived_on", "date", 11),
        SheetColumn("May have arrived", "may_have_arrived_on", "date", 16),
        SheetColumn("Request", "request_id", width=37),
    ),
)
VIRTUAL: Final = Sheet(
    "Virtual accounts",
    (
        SheetColumn("Name", "name", width=26),
        SheetColumn("IBAN", "iban", width=24),
        SheetColumn("Reference code", "reference", width=16),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("Becomes", "target_cryptocurrency", width=10),
        SheetColumn("Status", "status", width=11),
        SheetColumn("Credits", "credits", "number", 9),
        SheetColumn("Amount", "amount", "amount", 16),
        SheetColumn("Proof", "proof", width=40),
        SheetColumn("Virtual account", "virtual_bank_account_id", width=37),
    ),
)
FEES: Final = Sheet(
    "Fees",
    (
        SheetColumn("Reference", "reference", width=18),
        SheetColumn("Completed", "completed_on", "date", 11),
        SheetColumn("Direction", "direction", width=10),
        SheetColumn("Pair", "pair", width=14),
        SheetColumn("Chain", "chain", width=11),
        SheetColumn("Bank account", "bank_account", width=24),
        SheetColumn("Gross", "fiat_gross", "amount", 16, "fiat_currency"),
        SheetColumn("Fee", "fee", "amount", 13, "fiat_currency"),
        SheetColumn("Net", "fiat_net", "amount", 16, "fiat_currency"),
        SheetColumn("Currency", "fiat_currency", width=9),
        SheetColumn("Rate, basis points", "rate_bp", "amount", 17, ""),
        SheetColumn("Percentage", "fee_percentage", "amount", 11, ""),
        SheetColumn("Tier", "tier", width=20),
        SheetColumn("Expected fee", "expected_fee", "amount", 13, "fiat_currency"),
        SheetColumn("Expected by", "expected_by", width=20),
        SheetColumn("Variance", "variance", "amount", 13, "fiat_currency"),
        SheetColumn("Finding", "finding", width=30),
        SheetColumn("Crypto", "crypto", "amount", 20, "crypto_currency"),
        SheetColumn("Asset", "crypto_currency", width=9),
        SheetColumn("Exchange rate", "exchange_rate", "amount", 14, ""),
        SheetColumn("Others that day", "others_that_day", "number", 14),
        SheetColumn("Rate of others", "rate_of_others", "amount", 14, ""),
        SheetColumn("Off the others, basis points", "rate_deviation_bp", "amount", 25, ""),
        SheetColumn("Request", "request_id", width=37),
    ),
)
ACCRUALS: Final = Sheet(
    "Accruals",
    (
        SheetColumn("Reference", "reference", width=18),
        SheetColumn("Direction", "ramp_type", width=10),
        SheetColumn("Status", "status", width=18),
        SheetColumn("Gross", "fiat_gross", "amount", 16, "fiat_currency"),
        SheetColumn("Fee", "fee", "amount", 13, "fiat_currency"),
        SheetColumn("Currency", "fiat_currency", width=9),
        SheetColumn("Request", "request_id", width=37),
    ),
)
CONVERTED: Final = Sheet(
    "Conversions",
    (
        SheetColumn("Account", "account", width=26),
        SheetColumn("Asset", "asset", width=9),
        SheetColumn("From", "opened_at", "instant", 17),
        SheetColumn("Until", "closed_at", "instant", 17),
        SheetColumn("Opening", "opening", "amount", 20, "asset"),
        SheetColumn("Known in", "known_in", "amount", 20, "asset"),
        SheetColumn("Known out", "known_out", "amount", 20, "asset"),
        SheetColumn("Closing", "closing", "amount", 20, "asset"),
        SheetColumn("Converted", "converted", "amount", 20, "asset"),
        SheetColumn("Credits", "credits", "number", 9),
        SheetColumn("May lie outside", "edge_credits", "number", 14),
        SheetColumn("Amount", "fiat", "amount", 16),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("Implied rate from", "implied_rate", "amount", 16, ""),
        SheetColumn("Implied rate to", "implied_rate_to", "amount", 16, ""),
        SheetColumn("Proof", "state", width=20),
        SheetColumn("Reason", "reason", width=40),
        SheetColumn("Next step", "next_step", width=48),
    ),
)
STATEMENTS: Final = Sheet(
    "Statements",
    (
        SheetColumn("Account", "account", width=24),
        SheetColumn("Name", "name", width=28),
        SheetColumn("Currency", "currency", width=9),
        SheetColumn("Source", "source", width=16),
        SheetColumn("Statements", "statements", "number", 11),
        SheetColumn("Proved", "proved", "number", 9),
        SheetColumn("Whole month", "complete", width=12),
        SheetColumn("Opening", "opening_balance", "amount", 18),
        SheetColumn("Closing", "closing_balance", "amount", 18),
        SheetColumn("Proved from", "covered_from", "date", 12),
        SheetColumn("Proved to", "covered_to", "date", 12),
        SheetColumn("Problem", "problem", width=60),
    ),
)


def _all_of(name: str, schema: pa.Schema) -> Sheet:
    """A sheet of every column of such a table, titled as the others are."""
    sheet = sheet_of(name, schema, units_of)
    titled = (
        msgspec.structs.replace(column, title=column.title.capitalize()) for column in sheet.columns
    )
    return msgspec.structs.replace(sheet, columns=tuple(titled))


STEPS: Final = _all_of("Checklist", CHECKLIST)
BALANCE_SHEET: Final = _all_of("Balances", BALANCES)
ROLLED: Final = _all_of("Roll-forward", ROLL_FORWARD)
OPEN: Final = _all_of("Open items", OPEN_ITEMS)
REQUESTS: Final = _all_of("Requests rolled forward", ITEMS)
LATE: Final = _all_of("Late items", LATE_ITEMS)
BRIDGED: Final = _all_of("In transit bridge", BRIDGE)
COIN_SHEETS: Final = (
    _all_of("Coins", COINS),
    _all_of("Coin movements", COIN_MOVEMENTS),
    _all_of("Coins not proved", COIN_UNPROVED),
)
COST_SHEETS: Final = (
    _all_of("Conversion costs", COSTS_BY_PAIR),
    _all_of("Conversions valued", CONVERSION_COSTS),
    _all_of("Gas", GAS_COSTS),
    _all_of("Gas payments", GAS_PAYMENTS),
)
EXPOSURE_SHEETS: Final = (
    _all_of("Provider exposure", EXPOSURE),
    _all_of("Exposure totals", EXPOSURE_TOTALS),
    _all_of("Exposure by day", EXPOSURE_DAYS),
    _all_of("Exposure by age", EXPOSURE_AGES),
)
REMARKS: Final = Sheet(
    "Remarks",
    (
        SheetColumn("Who", "marked_by", width=20),
        SheetColumn("When", "marked_at", "instant", 17),
        SheetColumn("Request", "request_id", width=37),
        SheetColumn("Remark", "mark", width=16),
        SheetColumn("Why", "reason", width=60),
        SheetColumn("Payment file", "file", width=34),
        SheetColumn("Filed by", "filed_by", width=20),
        SheetColumn("Filed at", "filed_at", "instant", 17),
    ),
)
LEDGERS: Final = _all_of("Ledger", LEDGER)
SHEETS: Final = (
    STEPS, OPEN, LINES, BALANCE_SHEET, AWAITING, IN_TRANSIT, BRIDGED, VIRTUAL, CONVERTED, FEES,
    *COST_SHEETS, ACCRUALS, *COIN_SHEETS, *EXPOSURE_SHEETS, STATEMENTS, ROLLED, REQUESTS, EARLIER,
    LATE, REMARKS, LEDGERS,
)  # fmt: skip


LONGEST_SHEET: Final = 20_000
"""Rows of a sheet; a longer table is in the pack's Parquet file alone, and its sheet names that."""
FILES: Final = {
    "Checklist": "checklist",
    "Open items": "open_items",
    "Lines": "lines",
    "Balances": "balances",
    "Awaiting funds": "awaiting_funds",
    "In transit": "in_transit",
    "In transit bridge": "in_transit_bridge",
    "Virtual accounts": "virtual_accounts",
    "Conversions": "conversions",
    "Fees": "fees",
    "Conversion costs": "conversion_costs",
    "Conversions valued": "conversions_valued",
    "Gas": "gas_costs",
    "Gas payments": "gas_payments",
    "Accruals": "fee_accruals",
    "Coins": "coins",
    "Coin movements": "coin_movements",
    "Coins not proved": "coins_unproved",
    "Provider exposure": "exposure",
    "Exposure totals": "exposure_totals",
    "Exposure by day": "exposure_days",
    "Exposure by age": "exposure_ages",
    "Statements": "statements",
    "Roll-forward": "roll_forward",
    "Requests rolled forward": "requests_rolled_forward",
    "Earlier lines": "earlier_lines",
    "Late items": "late_items",
    "Ledger": "ledger",
}
"""The table of the pack that each sheet shows, in our own columns."""
ELSEWHERE: Final = (SheetColumn("Where", "where", width=80),)
OF_LINES: Final = ("Lines", "Earlier lines")
_WORD_COLUMNS: Final = ("outcome", "line_class", "reason", "account", "statement_account")
"""What the words of a line are made from."""


def workbook_beside(closing: Closing, path: Path) -> AbstractContextManager[None]:
    """Write the workbook to `path` beside the block; the same month gives the same bytes.

    Errors as `written_beside` raises them.
    """
    r, zone = closing.r, closing.zone
    tables = {
        **closing.exposure.sheets(),  # first, before others hold memory: it runs steps over all
        "Ledger": LEDGER.empty_table() if closing.ledger is None else closing.ledger.lines,
        "Checklist": checklist(closing).table,
        "Balances": closing.balances,
        "Roll-forward": closing.rolled.roll_forward,
        "Open items": closing.items.arrow,
        "Requests rolled forward": closing.rolled.items,
        "Late items": closing.rolled.late,
        "Remarks": _remarks(r),
        "Lines": r.lines,
        "Earlier lines": r.earlier_lines,
        "Awaiting funds": r.awaiting_funds,
        "In transit": r.in_transit,
        "In transit bridge": closing.bridge.rows,
        "Virtual accounts": r.virtual_accounts,
        "Conversions": r.conversions,
        "Fees": closing.fees.requests,
        "Conversion costs": closing.fees.costs.by_pair,
        "Conversions valued": closing.fees.costs.each,
        "Gas": closing.fees.gas.by_use,
        "Gas payments": closing.fees.gas.each,
        "Accruals": _in_words(r.fee_accruals, {"ramp_type": DIRECTIONS}),
        "Coins": closing.coins.coins,
        "Coin movements": closing.coins.movements,
        "Coins not proved": closing.coins.unproved,
        "Statements": r.statements,
    }
    long = {name for name in FILES if tables[name].num_rows > LONGEST_SHEET}
    sheets = tuple(
        msgspec.structs.replace(sheet, columns=ELSEWHERE) if sheet.name in long else sheet
        for sheet in SHEETS
    )
    # What the sheet of a long table says: how many rows it has, and the file that has them.
    tables |= {
        name: pa.table({"where": [f"{tables[name].num_rows:,} rows: tables/{FILES[name]}.parquet"]})
        for name in long
    }
    tables |= {name: _lines(tables[name]) for name in OF_LINES if name not in long}
    alone = closing.period is not None and closing.period.close.alone
    title = f"{title_words(r, zone)} · {ALONE}" if alone else title_words(r, zone)
    book = Workbook(
        properties={"title": title, "company": clean(r.company)},
        sheets=sheets,
        created=r.known_at,
        zone=zone.key,
        head=title,
    )
    return written_beside(book, tables, path)


def _remarks(r: Reconciliation) -> pa.Table:
    remarks = None if r.basis is None else r.basis.remarks
    return REQUEST_REMARKS.empty_table() if remarks is None else remarks


def _lines(table: pa.Table) -> pa.Table:
    """Lines in the words of the desk."""
    read = {name: table[name].to_pylist() for name in _WORD_COLUMNS}

    @cache
    def outcome_in_words(*facts: str | None) -> str:
        return outcome_word(dict(zip(_WORD_COLUMNS, facts, strict=True)))

    table = _with(
        table, "outcome", list(map(outcome_in_words, *(read[name] for name in _WORD_COLUMNS)))
    )
    return _in_words(table, {"line_class": LINE_CLASSES, "direction": DIRECTIONS})


def _in_words(table: pa.Table, words: Mapping[str, Mapping[str, str]]) -> pa.Table:
    """A table with the values of some columns in the words of the desk."""
    for name, words_of_column in words.items():
        table = _with(
            table, name, [words_of_column.get(code, code) for code in table[name].to_pylist()]
        )
    return table


def _with(table: pa.Table, name: str, values: list[str]) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, pa.array(values, pa.string()))
