"""Money in transit as the report, the journal and the roll-forward define it, row by row.

The journal here is the month's double entry. The three differ by definition. The report has amounts
that left one side and did not reach the other. The journal has amounts that are paid in advance or
owed; for sent coins, fiat is owed from the completion of the request. The roll-forward has amounts
that requests still expect. Each request, credit or transfer in at least one of them has a row with
the three amounts and the reason why they differ. The rows add up to the three totals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.ledger.accounting import transit_postings
from treasury.close.month_proof import in_transit
from treasury.core.calendar import Month
from treasury.core.files.package_files import step_sql
from treasury.core.money import difference, total
from treasury.core.statuses import REQUEST_UNDONE
from treasury.core.tables.column_texts import wide
from treasury.core.tables.column_types import AMOUNT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.month.reconciliation import Reconciliation, requests_at_cut_off

BRIDGE: Final = grouped_schema(
    (TEXT, "kind", "reference", "currency"),
    (amount_in("currency"), "report", "journal", "roll_forward"),
    (TEXT, "why", "subject_id"),
)
"""One row per request, credit or transfer with at least one of the amounts, in `currency`.

`kind` is on_ramp, off_ramp, off_ramp_coins, credit or own_transfer. `subject_id` is the id of the
request or the bank line; for a credit it is its reference and day.
"""
STEPS: Final = grouped_schema(
    (TEXT, "kind", "currency", "why"),
    (INTEGER, "rows"),
    (amount_in("currency"), "report", "journal", "roll_forward"),
)
"""One row per kind, currency and reason: the sums of the rows of BRIDGE."""

_ZERO: Final = Decimal(0)
_ORDER: Final = ("kind", "currency", "why", "reference", "subject_id")
_FIGURES: Final = ("report", "journal", "roll_forward")
_OPEN: Final = ["kind", "currency", "expectation_id", "closing"]
_SENT: Final = "on-ramp, debited and not delivered"
_ROLES: Final = {
    "on-ramp in transit": "on_ramp",
    "off-ramp in transit": "off_ramp",
    "own transfers": "own_transfer",
}
_REFERENCES: Final = step_sql("treasury.close.steps", "transit/subject_references")
_Key = tuple[str, str, str]
_Figures = dict[str, Decimal]


class TransitBridge(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Money in transit by three definitions: `rows` as in BRIDGE add up to each total."""

    printed: ClassVar[Sequence[str]] = ("steps",)

    month: Month
    rows: Table
    sql: str

    @property
    def steps(self) -> Table:
        """The rows by kind, currency and reason; columns as in STEPS."""
        keys = ["kind", "currency", "why"]
        columns = {name: self.rows.arrow[name] for name in keys}
        columns |= {name: wide(self.rows.arrow[name]) for name in _FIGURES}
        sums = [(name, "sum") for name in _FIGURES]
        groups = pa.table(columns).group_by(keys).aggregate([*sums, ([], "count_all")])
        names = {f"{name}_sum": name for name in _FIGURES} | {"count_all": "rows"}
        steps = groups.rename_columns(names).sort_by([(name, "ascending") for name in keys])
        return Table(steps.select(STEPS.names).cast(STEPS))

    def sheets(self) -> Mapping[str, Table]:
        """Return the rows, and their sums by reason, by sheet name."""
        return {"In transit bridge": self.rows, "Steps": self.steps}

    def __repr__(self) -> str:
        return f"<Bridge of money in transit, {self.month}: {len(self.rows)} rows>"


def transit_bridge(r: Reconciliation, rolled: pa.Table, zone: ZoneInfo) -> TransitBridge:
    """Return the bridge of a month; `rolled` are the requests rolled forward, as in ITEMS."""
    figures: dict[_Key, _Figures] = {}
    names: dict[str, str | None] = {}
    for row in in_transit(r)[0]:
        kind = "on_ramp" if row["what"] == _SENT else "off_ramp_coins"
        key = (kind, row["currency"], row["request_id"])
        if row["request_id"] is None:
            key = ("credit", row["currency"], f"{row['reference']} of {row['left_on']}")
        names[key[2]] = row["reference"]
        _add(figures, key, "report", row["amount"])
    transfers = r.internal_transfers.arrow.select(["out_id", "in_id"]).to_pylist()
    # Both legs of an own transfer are one transfer, identified by the leg out.
    pairs = {row["in_id"]: row["out_id"] for row in transfers if row["in_id"] and row["out_id"]}
    for row in transit_postings(r, zone, pairs).to_pylist():
        key = (_ROLES[row["role"]], row["currency"], row["subject_id"])
        _add(figures, key, "journal", row["amount"])
    still_open = pc.not_equal(rolled["closing"], pa.scalar(_ZERO, AMOUNT))
    for row in rolled.filter(still_open).select(_OPEN).to_pylist():
        key = (row["kind"], row["currency"], row["expectation_id"])
        _add(figures, key, "roll_forward", row["closing"])
    counted = {key: sums for key, sums in figures.items() if any(sums.values())}
    subjects = pa.array(sorted({subject for _, _, subject in counted}), TEXT)
    status = {}
    if r.basis is not None:
        then = requests_at_cut_off(r.basis.snapshot, r.month, zone)
        status = _by_id(then, "request_id", "status", subjects)
    names = _references(r, subjects) | names | _by_id(rolled, "expectation_id", "code", subjects)
    rows = [
        {
            "kind": kind,
            "reference": names.get(subject) or subject,
            "currency": currency,
            **sums,
            "why": _why(kind, sums, status.get(subject, "")),
            "subject_id": subject,
        }
        for (kind, currency, subject), sums in counted.items()
    ]
    rows.sort(key=lambda row: tuple(row[name] for name in _ORDER))
    return TransitBridge(
        month=r.month, rows=pa.Table.from_pylist(rows, schema=BRIDGE), sql=r.sql("in_transit")
    )


def _add(figures: dict[_Key, _Figures], key: _Key, name: str, amount: Decimal) -> None:
    sums = figures.setdefault(key, dict.fromkeys(_FIGURES, _ZERO))
    sums[name] = total((sums[name], amount))


def _references(r: Reconciliation, subjects: pa.Array) -> dict[str, str | None]:
    """Return the payment references of requests, and names for lines without a request."""
    lines = r.lines.arrow.filter(pc.is_in(r.lines.arrow["entry_id"], subjects))
    references = {
        row["entry_id"]: row["reference"] or row["counterparty_name"]
        for row in lines.select(["entry_id", "reference", "counterparty_name"]).to_pylist()
    }
    if r.basis is None:
        return references
    with r.basis.snapshot.connection() as connection:
        connection.register("subjects", pa.table({"subject_id": subjects}))
        return references | dict(connection.execute(_REFERENCES).fetchall())


def _by_id(table: pa.Table, key: str, name: str, ids: pa.Array) -> dict[str, Any]:
    """Return a column of the rows with these ids, by id."""
    rows = table.filter(pc.is_in(table[key], ids))
    return dict(zip(rows[key].to_pylist(), rows[name].to_pylist(), strict=True))


def _why(kind: str, figures: _Figures, status: str) -> str:
    """Return the reason for the differences between a row's three amounts."""
    match kind:
        case "on_ramp":
            return _why_on_ramp(figures, status)
        case "off_ramp":
            _, journal, expected = (figures[name] for name in _FIGURES)
            if not journal:
                return "not completed: the request waits for its money, and nothing is owed yet"
            if journal == expected:
                return "completed, and its money is not matched: owed to us"
            if status in REQUEST_UNDONE:
                return f"ended as {status}: the books have money for it that no completion explains"
            return "completed: the received amount differs from the expected one"
        case "off_ramp_coins":
            return "coins that left: their money is owed once the request completes"
        case "credit":
            return (
                "a customer's credit, not yet converted to coins: the journal has it in collections"
            )
        case _:
            return "between own accounts: one leg is booked, the other is not"


def _why_on_ramp(figures: _Figures, status: str) -> str:
    report, journal, expected = (figures[name] for name in _FIGURES)
    if not report and not journal:
        if status == "SUCCEEDED":
            return "completed with less than its amount: the rest is not paid"
        return "not paid: the request still waits for its money"
    if report == journal:
        more = ", and a part of it is not paid" if expected else ""
        return f"paid, and not delivered{more}"
    if status in REQUEST_UNDONE:
        return f"paid, and ended as {status}: the books do not show its money coming back"
    if not report and journal < 0:
        return "completed, and its payment is not decided: the line is in suspense"
    if not journal:
        return "paid, and its line needs a person: it is in suspense"
    lacking = difference(report, journal)
    side = "less" if lacking > 0 else "more"
    return f"paid, and not delivered: the journal has {side}, as its lines are decided"
