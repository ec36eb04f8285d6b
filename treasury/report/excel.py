"""The close as an Excel workbook: its sheets, columns and words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from treasury.close.balances import BALANCES
from treasury.close.cash.forecast import FORECAST
from treasury.close.cash.known_flows import FLOWS
from treasury.close.cash.own_flows import flow_table
from treasury.close.cash.position import FUNDS
from treasury.close.checklist import CHECKLIST, checklist
from treasury.close.close_words import ALONE, evidence_words, names_words, sign_offs
from treasury.close.closing import Closing
from treasury.close.evidence import TABLES
from treasury.close.fees.conversion_costs import CONVERSION_COSTS, COSTS_BY_PAIR
from treasury.close.fees.gas_costs import GAS_COSTS, GAS_PAYMENTS
from treasury.close.late_items import LATE_ITEMS
from treasury.close.ledger.bank_reconciliation import BOOKS, OUTSTANDING, PAIRS
from treasury.close.ledger.ledger_comparison import LEDGER
from treasury.close.ledger.ledger_scope import SCOPE
from treasury.close.ledger.transit_bridge import BRIDGE
from treasury.close.month_proof import proof_of
from treasury.close.result_words import (
    count,
    environment_words,
    moment,
    outcome_word,
    title_words,
)
from treasury.close.review.controls import CONTROL_KINDS, CONTROLS
from treasury.close.review.month_on_month import FINDINGS, MEASURES, MONTH_ON_MONTH
from treasury.close.roll_forward import ITEMS, ROLL_FORWARD
from treasury.close.valuation.coins.coin_accounts import COIN_MOVEMENTS, COINS
from treasury.close.valuation.coins.coin_events import COIN_UNPROVED
from treasury.close.valuation.exposure.provider_exposure import (
    EXPOSURE,
    EXPOSURE_AGES,
    EXPOSURE_DAYS,
    EXPOSURE_TOTALS,
)
from treasury.core.decoding import convert
from treasury.core.files.package_files import package_rows
from treasury.core.tables.workbook import Cover, Sheet, SheetColumn, Workbook, sheet_of
from treasury.core.tables.workbook_process import written_beside
from treasury.core.text import clean
from treasury.core.wording import DIRECTIONS, LINE_CLASSES, in_words
from treasury.month.decisions.remark_rows import REQUEST_REMARKS
from treasury.month.items import ATTACHMENTS, ITEM_REMARKS, OPEN_ITEMS, acceptance_table
from treasury.month.items.item_kinds import KINDS, OWNERS

_PLAIN_FUNDS: Final = pa.schema(
    [FUNDS.field(name) for name in ("funds", "currency", "amount", "proved_to", "not_counted")]
)
_KIND_LABELS: Final = {name: kind.label for name, kind in KINDS.items()}


class _Row(NamedTuple):
    """A sheet, and its table in the pack."""

    sheet: str
    table: str
    """Name of the table in the pack; empty if the sheet has no table of its own."""
    schema: pa.Schema | None
    """The sheet has all columns of its schema. Without one, `sheets.csv` defines the columns and
    their titles."""
    optional: bool = False
    """Whether the packs of some months lack the table; the sheet is then empty."""
    later: bool = False
    """Whether packs of earlier versions lack the table; an empty one is left out of the pack."""
    words: Mapping[str, Mapping[Any, str]] = {}
    """Words for the codes of a column, if they are not those of `wording`."""


_TABLES: Final = (
    _Row("Checklist", "checklist", CHECKLIST),
    _Row("Open items", "open_items", OPEN_ITEMS, words={"kind": _KIND_LABELS, "turn": OWNERS}),
    _Row("Lines", "lines", None),
    _Row("Balances", "balances", BALANCES),
    _Row("Funds", "", _PLAIN_FUNDS),
    _Row("Expected flows", "", FLOWS),
    _Row("Forecast", "", FORECAST),
    _Row("Awaiting funds", "awaiting_funds", None),
    _Row("In transit", "in_transit", None),
    _Row("In transit bridge", "in_transit_bridge", BRIDGE),
    _Row("Virtual accounts", "virtual_accounts", None),
    _Row("Conversions", "conversions", None),
    _Row("Fees", "fees", None),
    _Row("Conversion costs", "conversion_costs", COSTS_BY_PAIR),
    _Row("Conversions valued", "conversions_valued", CONVERSION_COSTS),
    _Row("Gas", "gas_costs", GAS_COSTS),
    _Row("Gas payments", "gas_payments", GAS_PAYMENTS),
    _Row("Accruals", "fee_accruals", None, words={"ramp_type": DIRECTIONS}),
    _Row("Coins", "coins", COINS),
    _Row("Coin movements", "coin_movements", COIN_MOVEMENTS),
    _Row("Coins not proved", "coins_unproved", COIN_UNPROVED),
    _Row("Provider exposure", "exposure", EXPOSURE),
    _Row("Exposure totals", "exposure_totals", EXPOSURE_TOTALS),
    _Row("Exposure by day", "exposure_days", EXPOSURE_DAYS),
    _Row("Exposure by age", "exposure_ages", EXPOSURE_AGES),
    _Row("Statements", "statements", None),
    _Row("Roll-forward", "roll_forward", ROLL_FORWARD),
    _Row("Requests rolled forward", "requests_rolled_forward", ITEMS),
    _Row("Earlier lines", "earlier_lines", None),
    _Row("Late items", "late_items", LATE_ITEMS),
    _Row(
        "Month on month",
        "month_on_month",
        MONTH_ON_MONTH,
        later=True,
        words={"measure": MEASURES, "finding": FINDINGS},
    ),
    _Row("Controls", "controls", CONTROLS, later=True, words={"kind": CONTROL_KINDS}),
    _Row("Remarks", "", None),
    _Row("Item remarks", "item_remarks", ITEM_REMARKS),
    _Row("Attached files", "item_attachments", ATTACHMENTS, optional=True),
    _Row("Ledger", "ledger", LEDGER, optional=True),
    _Row("Books", "books", BOOKS, optional=True),
    _Row("Outstanding", "outstanding", OUTSTANDING, optional=True),
    _Row("Pairs", "posting_pairs", PAIRS, optional=True),
    _Row("Out of scope", "ledger_scope", SCOPE, later=True),
)
"""The sheets in order."""
LATER: Final = frozenset(
    {
        "months_before",
        "change_thresholds",
        "own_flows",
        *(row.table for row in _TABLES if row.later),
    }
)
"""Tables that packs of earlier versions lack."""
_OF_LINES: Final = ("Lines", "Earlier lines")
FRONT: Final = (
    "Checklist", "Open items", "Balances", "Lines", "Awaiting funds", "In transit",
    "Virtual accounts", "Fees", "Statements", "Roll-forward", "Ledger",
)  # fmt: skip
"""The sheets that a controller prints, at most eleven after the cover; the others are details."""
_FIRST: Final = {
    "Open items": (
        "kind", "state", "name", "amount", "currency", "since", "age", "clock", "turn", "owner",
        "next_step", "blocking", "due", "remark",
    ),
    "Balances": ("name", "of", "kind"),
    "Requests rolled forward": ("code", "kind"),
    "Late items": ("change", "month", "posts_to"),
}  # fmt: skip
"""The first columns of a sheet, if they are not the first of its table."""
_CODED: Final = (
    "kind", "state", "status", "subject", "source", "turn", "standing", "change", "measure",
    "finding", "funds", "flow",
)  # fmt: skip
"""Columns of codes, which sheets show as words."""


def _sheets() -> Iterator[Sheet]:
    columns: dict[str, list[SheetColumn]] = {}
    for row in package_rows("treasury.report", "templates/sheets.csv"):
        column = convert(row | {"width": int(row["width"])}, SheetColumn)
        columns.setdefault(row["sheet"], []).append(column)
    columns["Earlier lines"] = columns["Lines"]
    for name, _, schema, *_ in _TABLES:
        own = columns.get(name, [])
        if schema is not None:
            own = [
                msgspec.structs.replace(column, title=column.title.replace("_", " ").capitalize())
                for column in sheet_of(name, schema).columns
            ]
        first = _FIRST.get(name, ())
        own.sort(key=lambda column: _place(column.field, first))
        yield Sheet(name, tuple(own), fit=True, behind=name not in FRONT)


def _place(field: str, first: Sequence[str]) -> tuple[int, int]:
    """Return the sort key of a column: those in `first`, then others as declared, ids last."""
    if field in first:
        return 0, first.index(field)
    return (2 if field.endswith("_id") else 1), 0


SHEETS: Final = tuple(sorted(_sheets(), key=lambda sheet: sheet.behind))
LONGEST_SHEET: Final = 20_000
"""Maximum number of rows of a sheet. The sheet of a longer table only names its CSV file."""
FILES: Final = {row.sheet: row.table for row in _TABLES if row.table}
"""The table in the pack for each sheet; it has the column names of the code."""
_ELSEWHERE: Final = (SheetColumn("Where", "where", width=80),)
_WORD_COLUMNS: Final = ("outcome", "line_class", "reason", "account", "statement_account")
"""The columns that are needed to put a bank line into words."""


def is_long(table: pa.Table) -> bool:
    """Return whether a table is too long for a sheet; the pack then has it as CSV too."""
    return table.num_rows > LONGEST_SHEET


def answer_tables(closing: Closing) -> dict[str, pa.Table]:
    """Return all tables of a close, by the names of their files in the pack."""
    tables = {name: getattr(closing.r, name).arrow for name in TABLES} | {
        "checklist": checklist(closing).arrow,
        "balances": closing.balances.arrow,
        "fees": closing.fees.requests.arrow,
        "conversion_costs": closing.fees.costs.by_pair.arrow,
        "conversions_valued": closing.fees.costs.each.arrow,
        "gas_costs": closing.fees.gas.by_use.arrow,
        "gas_payments": closing.fees.gas.each.arrow,
        "funding_times": closing.waits.arrow,
        "roll_forward": closing.rolled.roll_forward.arrow,
        "open_items": closing.items.arrow,
        "requests_rolled_forward": closing.rolled.items.arrow,
        "late_items": closing.rolled.late.arrow,
        "corrections": closing.rolled.corrections.arrow,
        "moved_decisions": closing.rolled.moved.arrow,
        "open_actions": closing.rolled.actions.arrow,
        "accepted_items": acceptance_table(closing.rolled.accepted),
        "materiality": closing.rolled.limits.arrow,
        "item_remarks": closing.rolled.remarks.arrow,
        "coins": closing.coins.coins.arrow,
        "coin_movements": closing.coins.movements.arrow,
        "coins_unproved": closing.coins.unproved.arrow,
        "coins_measured": closing.rolled.coins.measured,
        "exposure": closing.exposure.positions.arrow,
        "exposure_totals": closing.exposure.totals.arrow,
        "exposure_days": closing.exposure.days.arrow,
        "exposure_ages": closing.exposure.ages.arrow,
        "exposure_limits": closing.rolled.exposure_limits.arrow,
        "coin_openings": closing.rolled.coins.openings,
        "coin_lots_before": closing.rolled.coins.lots,
        "coin_events_before": closing.rolled.coins.events,
    }
    before, thresholds = closing.rolled.before(), closing.rolled.thresholds()
    tables |= {
        "controls": closing.controls.acts.arrow,
        "months_before": before,
        "change_thresholds": thresholds,
        "ledger_scope": closing.rolled.scope.arrow,
        "own_flows": flow_table(closing.rolled.own_flows()),
    }
    if before.num_rows:
        tables["month_on_month"] = closing.month_on_month.changes.arrow
    # A month without rows in these tables lacks them, like packs of earlier versions.
    tables = {name: table for name, table in tables.items() if name not in LATER or table.num_rows}
    # Packs of earlier versions lack these two tables.
    for name in ("attachments", "owners"):
        notes = getattr(closing.rolled, name).arrow
        if notes.num_rows:
            tables[f"item_{name}"] = notes
    if closing.ledger is not None:
        tables["ledger"] = closing.ledger.lines.arrow
    if closing.books is not None:
        tables["books"] = closing.books.accounts.arrow
        tables["outstanding"] = closing.books.items.arrow
        tables["posting_pairs"] = closing.books.pairs.arrow
    if is_long(closing.bridge.rows.arrow):  # The workbook then lacks these rows.
        tables["in_transit_bridge"] = closing.bridge.rows.arrow
    return tables


def workbook_beside(closing: Closing, path: Path) -> AbstractContextManager[None]:
    """Write the workbook to `path` in the background; the same month gives the same bytes.

    Raises the errors of `written_beside`.
    """
    r, zone = closing.r, closing.zone
    # This is computed first, while little memory is used, because it reads all months.
    closing.exposure.sheets()
    whole = {
        **{
            row.table: row.schema.empty_table()
            for row in _TABLES
            if row.schema is not None and (row.optional or row.later)
        },
        "in_transit_bridge": closing.bridge.rows.arrow,
        **answer_tables(closing),
    }
    remarks = None if r.basis is None else r.basis.remarks
    tables = {sheet: whole[name] for sheet, name in FILES.items()}
    tables["Remarks"] = REQUEST_REMARKS.empty_table() if remarks is None else remarks
    tables["Funds"] = closing.cash.funds.arrow.select(_PLAIN_FUNDS.names)
    tables["Expected flows"] = closing.cash.flows.arrow
    tables["Forecast"] = closing.cash.forecast.arrow
    long = {name for name in FILES if is_long(tables[name])}
    sheets = tuple(
        msgspec.structs.replace(sheet, columns=_ELSEWHERE) if sheet.name in long else sheet
        for sheet in SHEETS
    )
    # The sheet of a long table has only the number of rows and the name of the file.
    tables |= {
        name: pa.table({"where": [f"{tables[name].num_rows:,} rows: tables/{FILES[name]}.csv"]})
        for name in long
    }
    tables |= {name: _lines(tables[name]) for name in _OF_LINES if name not in long}
    for row in _TABLES:
        if row.sheet not in long:
            tables[row.sheet] = _in_words(tables[row.sheet], row.words)
            tables[row.sheet] = _codes_in_words(tables[row.sheet], row.words)
    alone = closing.period is not None and closing.period.close.alone
    title = f"{title_words(r, zone)} · {ALONE}" if alone else title_words(r, zone)
    book = Workbook(
        properties={"title": title, "company": clean(r.company)},
        sheets=sheets,
        created=r.known_at,
        zone=zone.key,
        head=title,
        cover=_cover(closing, title),
    )
    return written_beside(book, tables, path)


def _cover(closing: Closing, title: str) -> Cover:
    """Return the cover, with the state of the close and the evidence behind its figures."""
    r, blocking = closing.r, len(closing.items.blocking)
    proof = proof_of(r)
    state = f"blocked by {count(blocking, 'item')}" if blocking else "ready to close"
    if closing.period is not None:
        state = f"closed by {closing.period.close.reviewed_by or closing.period.close.prepared_by}"
    facts = (
        ("Company", r.company),
        ("Month", r.month.title),
        ("Environment", environment_words(r.environment) or r.environment),
        ("Close", state),
        *(
            (sign.role, ", ".join(filter(None, (sign.name, sign.when, sign.identified))))
            for sign in sign_offs(closing)
        ),
        ("Accounts proved", f"{proof.proved} of {proof.accounts}"),
        ("Evidence", evidence_words(closing)),
        ("Names", names_words(closing)),
        ("Known at", moment(r.known_at, closing.zone, r.month.year)),
        ("Report", "report.html, in the same folder"),
    )
    return Cover(title, facts)


def _codes_in_words(table: pa.Table, done: Collection[str]) -> pa.Table:
    """Return a table with words for the codes of all columns but those that are done."""
    for field in table.schema:
        if field.name in _CODED and field.name not in done and pa.types.is_string(field.type):
            words = [_word(field.name, code) for code in table[field.name].to_pylist()]
            table = _with(table, field.name, words)
    return table


def _word(column: str, code: str | None) -> str | None:
    """Return the word for a code; a code without a word gets blanks for its underscores."""
    if code is None:
        return None
    word = str(in_words(column, code))
    if word == code and "_" in code:
        word = code.replace("_", " ")
    return word.capitalize() if word.isupper() else word


def _lines(table: pa.Table) -> pa.Table:
    """Return lines with codes replaced by words."""
    facts_of_lines = [table[name].to_pylist() for name in _WORD_COLUMNS]

    @cache
    def outcome_in_words(*facts: str | None) -> str:
        return outcome_word(dict(zip(_WORD_COLUMNS, facts, strict=True)))

    table = _with(table, "outcome", list(map(outcome_in_words, *facts_of_lines)))
    return _in_words(table, {"line_class": LINE_CLASSES, "direction": DIRECTIONS})


def _in_words(table: pa.Table, words: Mapping[str, Mapping[Any, str]]) -> pa.Table:
    """Return a table with the codes of some columns replaced by words."""
    for name, words_of_column in words.items():
        table = _with(
            table, name, [words_of_column.get(code, code) for code in table[name].to_pylist()]
        )
    return table


def _with(table: pa.Table, name: str, values: Sequence[str | None]) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, pa.array(values, pa.string()))
