"""What a way is told from: the records around one payment, and what is told of them."""

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
    """A way as it is told: `names` are what the provider knows the payment by."""

    title: str
    hops: tuple[Hop, ...] = ()
    next_step: str = ""
    names: tuple[tuple[str, str], ...] = ()


def sql_of(name: str) -> str:
    """A query that stands alone, by the name of its file."""
    return step_sql("treasury.month.trace.queries", name)


class Records:
    """The records, on a connection on which every step of a month and of tracing has run."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, question: Question, remarks: Mapping[str, Row]
    ) -> None:
        self.connection = connection
        self.question = question
        self.remarks = remarks

    def rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """The rows of a query with its values bound."""
        return self.connection.sql(query, params=list(params)).to_arrow_table().to_pylist()

    def row(self, query: str, *params: Any) -> dict[str, Any] | None:
        """The first of them."""
        rows = self.rows(query, *params)
        return rows[0] if rows else None

    def day(self, moment: datetime) -> date:
        """The day of an instant in the reporting time zone."""
        return moment.astimezone(self.question.zone).date()
