"""Open items from one month's end to the next: new, received, and still open.

    opening + new - matched + reopened by returns - cancelled - blocked +/- adjusted = closing

The identity holds per currency and kind of expectation, in exact amounts. Each end is matched
separately, from the lines booked and the requests made by then, in their statuses at that time.
Every movement between the ends follows from the shares that lines have in requests. Requests
that the provider blocked expect no money, but are not cancelled. They are shown separately, and
are open again once the provider releases them. Virtual accounts expect no amount and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.errors import TreasuryError
from treasury.core.money import format_amount
from treasury.core.tables.column_texts import rows_hash
from treasury.core.tables.column_types import AMOUNT, BOOL, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.matching.engine.memo import Memo, fingerprint
from treasury.matching.engine.pipeline import in_order, load, needed, run, steps_of
from treasury.matching.reference_matching import FEW, match_references, read_decisions, rule_tables
from treasury.month.reconciliation import knowledge_key, requests_at_cut_off, step_sql
from treasury.month.standing_knowledge import Knowledge

ADDS: Final = {
    "opening": True,
    "new": True,
    "matched": False,
    "reopened": True,
    "cancelled": False,
    "blocked": False,
    "adjusted": True,
    "closing": False,
}
"""Whether each term of the identity is added; with these signs the sum of all terms is zero."""
_AMOUNTS: Final = tuple(ADDS)

ROLL_FORWARD: Final = grouped_schema(
    (TEXT, "kind", "currency"),
    (INTEGER, "opening_items"),
    (amount_in("currency"), *_AMOUNTS),
    (INTEGER, "closing_items", "blocked_items"),
    (amount_in("currency"), "standing_blocked"),
)
"""One row per kind and currency, amounts in `currency`.

`blocked` is the amount that the provider blocked in the month less the amount that it released.
`standing_blocked` is blocked at the end of the month and excluded from the closing.
"""
ITEMS: Final = grouped_schema(
    (TEXT, "expectation_id", "code", "kind", "currency"),
    (AMOUNT, "amount"),
    (amount_in("currency"), *_AMOUNTS),
    (amount_in("currency"), "standing_blocked"),
)
"""One row per request: its own opening, movements and closing."""

POSITIONS: Final = grouped_schema(
    (TEXT, "expectation_id", "code", "kind", "currency", "direction", "status"),
    (AMOUNT, "amount", "back"),
    (BOOL, "cancelled", "blocked"),
    (AMOUNT, "open"),
)
"""One row per expectation at a month's end: `open` is still expected, `back` was returned."""
_SHARES: Final = grouped_schema((TEXT, "expectation_id", "entry_id"), (AMOUNT, "amount"))
"""One row per bank line and expectation: the amount of the line that pays the expectation."""
_ZERO: Final = Decimal(0)

PACKAGE: Final = "treasury.close.forward"
"""The steps that compute a month's end, or the movements between two ends."""
END_STEPS: Final = in_order(steps_of(PACKAGE), ("expectation_positions", "expectation_shares"))
ROLL_STEPS: Final = in_order(
    steps_of(PACKAGE), ("untied_expectations", "rolled_totals", "moved_requests")
)
_EXPECTATION_STEPS: Final = needed(END_STEPS, "month_end_expectations")


class MonthEnd(Tables, msgspec.Struct, frozen=True, eq=False):
    """Every expectation with an amount, in its state at the end of `month`.

    `positions` are as in POSITIONS, and the lines' shares in them as in `_SHARES`.
    """

    month: Month
    positions: pa.Table
    shares: pa.Table

    @property
    def nbytes(self) -> int:
        """The size of the tables in bytes."""
        return self.positions.nbytes + self.shares.nbytes

    def totals(self) -> dict[tuple[str, str], Decimal]:
        """Return the open amounts by kind and currency."""
        sums = self.positions.group_by(["kind", "currency"]).aggregate([("open", "sum")])
        return {(row["kind"], row["currency"]): row["open_sum"] for row in sums.to_pylist()}

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables, as a close stores them."""
        return {"positions": self.positions, "shares": self.shares}


class RollForward(Tables, msgspec.Struct, frozen=True, eq=False, dict=True):
    """Open items between two month ends: `totals` as in ROLL_FORWARD, `items` as in ITEMS."""

    month: Month
    totals: Table
    items: Table

    def sheets(self) -> Mapping[str, Table]:
        """Return the totals, and the requests behind them, by sheet name."""
        return {"Roll-forward": self.totals, "Open items": self.items}

    @property
    def sql(self) -> str:
        """The SQL that computes the outcomes; it runs for both ends of the month."""
        return step_sql("outcomes")

    def __repr__(self) -> str:
        return f"<RollForward {self.month}: {len(self.items)} requests>"

    @property
    def nbytes(self) -> int:
        """The size of the tables in bytes."""
        return self.totals.arrow.nbytes + self.items.arrow.nbytes

    @cached_property
    def items_hash(self) -> str:
        """SHA-256 of the items' canonical text."""
        return rows_hash(self.items.arrow)


def month_end(knowledge: Knowledge, month: Month) -> MonthEnd:
    """Match the lines and requests up to the month's end, and return the state of expectations.

    If these are all stored records, in their current statuses, the existing matching is used.
    """
    key = knowledge_key(knowledge.basis)
    zone = knowledge.question.zone
    return _ENDS.of(
        None if key is None else (key, str(month), zone.key), lambda: _month_end(knowledge, month)
    )


_ENDS: Final[Memo[MonthEnd]] = Memo()


def _month_end(knowledge: Knowledge, month: Month) -> MonthEnd:
    booked = knowledge.lines.filter(
        pc.less_equal(knowledge.lines["booking_date"], pa.scalar(month.last, pa.date32()))
    )
    zone = knowledge.question.zone
    with _connection(knowledge.expectations) as connection:
        end = {"month_end": pa.array([month.end(zone)], pa.timestamp("us", tz="UTC"))}
        load(
            connection,
            {
                "expectations": knowledge.expectations,
                "requests_at_cut_off": requests_at_cut_off(knowledge.snapshot, month, zone),
                "asked": pa.table(end),
            },
        )
        run(connection, _EXPECTATION_STEPS)
        expectations = (
            connection.table("month_end_expectations").order("expectation_id").to_arrow_table()
        )
        decisions = read_decisions(knowledge.basis.decisions)
        matches = knowledge.matches
        if booked.num_rows != knowledge.lines.num_rows or not expectations.equals(
            knowledge.expectations
        ):
            of_booked = pc.is_in(decisions["entry_id"], booked["entry_id"].combine_chunks())
            matches = match_references(
                booked, expectations, decisions=decisions.filter(of_booked), rules=knowledge.rules
            )
        load(
            connection,
            {
                "lines": booked.select(["entry_id", "direction", "amount"]),
                "outcomes": matches.lines.arrow,
                "expectation_states": matches.expectations.arrow,
                "allocations": matches.allocations.arrow,
                "contradicting_statuses": rule_tables(knowledge.rules)["contradicting_statuses"],
            },
        )
        run(connection, [step for step in END_STEPS if step not in _EXPECTATION_STEPS])
        return MonthEnd(
            month,
            _rows(connection, "expectation_positions", POSITIONS, "expectation_id"),
            _rows(connection, "expectation_shares", _SHARES, "expectation_id, entry_id"),
        )


def _connection(table: pa.Table) -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database for tables of about this size."""
    connection = duckdb.connect(config={"threads": 1} if table.num_rows < FEW else {})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _rows(
    connection: duckdb.DuckDBPyConnection, step: str, schema: pa.Schema, order: str
) -> pa.Table:
    names = ", ".join(schema.names)
    return connection.table(step).project(names).order(order).to_arrow_table().cast(schema)


def roll_forward(opening: MonthEnd, closing: MonthEnd) -> RollForward:
    """Return the movements between two month ends; raise TreasuryError if they do not add up."""
    key = fingerprint(*opening.tables().values(), *closing.tables().values())
    return _ROLLS.of(
        None if key is None else (key, str(closing.month)), lambda: _roll_forward(opening, closing)
    )


_ROLLS: Final[Memo[RollForward]] = Memo()


def _roll_forward(opening: MonthEnd, closing: MonthEnd) -> RollForward:
    with _connection(closing.positions) as connection:
        load(
            connection,
            {
                f"{name}_{name_in_end}": table
                for name, end in (("opening", opening), ("closing", closing))
                for name_in_end, table in end.tables().items()
            },
        )
        run(connection, ROLL_STEPS)
        untied = connection.table("untied_expectations").order("expectation_id").limit(1).fetchall()
        for expectation, code, currency, off in untied:
            raise TreasuryError(
                f"the open items do not roll forward: {code or expectation} is off by"
                f" {format_amount(off, currency)}",
                do="run `treasury doctor`; the month is not closed on figures that do not tie",
            )
        return RollForward(
            closing.month,
            _rows(connection, "rolled_totals", ROLL_FORWARD, "kind, currency"),
            _rows(connection, "moved_requests", ITEMS, "expectation_id"),
        )
