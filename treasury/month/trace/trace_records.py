"""Access to the records of one payment, and the parts of its trace."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import duckdb
import msgspec

from treasury.core.files.package_files import step_sql
from treasury.month.question import Question
from treasury.month.trace.payment_trace import Hop

Row = Mapping[str, Any]


class TraceParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a trace; `names` are the names by which the provider knows the payment.

    `is_sent` is false if no record proves that our money or coins have left for the provider.
    """

    title: str
    hops: tuple[Hop, ...] = ()
    next_step: str = ""
    names: tuple[tuple[str, str], ...] = ()
    is_sent: bool = True


def sql_of(name: str) -> str:
    """Return a query's SQL by its file name."""
    return step_sql("treasury.month.trace.queries", name)


class Records:
    """Reads records on a connection on which all steps of a month and of tracing have run."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, question: Question, remarks: Mapping[str, Row]
    ) -> None:
        self.connection = connection
        self.question = question
        self.remarks = remarks

    def rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """Return the rows of a query with its parameters bound."""
        return self.connection.sql(query, params=list(params)).to_arrow_table().to_pylist()

    def row(self, query: str, *params: Any) -> dict[str, Any] | None:
        """Return the first row of a query, or None."""
        rows = self.rows(query, *params)
        return rows[0] if rows else None

    def day(self, moment: datetime) -> date:
        """Return the day of a time in the reporting time zone."""
        return moment.astimezone(self.question.zone).date()
