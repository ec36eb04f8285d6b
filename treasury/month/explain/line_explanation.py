"""The explanation of one bank line: its text, readings, questions, candidates and outcome.

The table `stages` is the explanation in words, one row per sentence. The other tables are the same
as data.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import clean

STAGES: Final = grouped_schema((TEXT, "stage", "about", "says"))
FORMS: Final = grouped_schema((TEXT, "field", "written", "form"))
READINGS: Final = grouped_schema(
    (TEXT, "expectation_id", "reference", "words", "proves", "needs", "damage"),
    (AMOUNT, "expected"),
    (TEXT, "currency", "contradiction"),
)
QUESTIONS: Final = grouped_schema(
    (INTEGER, "number"), (TEXT, "question"), (BOOL, "is_asked", "is_doubt"), (TEXT, "answer")
)
RETURNS: Final = grouped_schema(
    (TEXT, "return_id", "original_id"),
    (DATE, "returned_on", "original_date"),
    (AMOUNT, "amount", "original_amount"),
    (TEXT, "currency", "clue"),
)
CHOICES: Final = grouped_schema(
    (INTEGER, "rank"),
    (TEXT, "expectation_id", "reference"),
    (pa.decimal128(6, 4), "score"),
    (TEXT, "reason", "lost"),
)
SHARES: Final = grouped_schema(
    (TEXT, "expectation_id", "reference"), (AMOUNT, "amount"), (TEXT, "currency")
)
_WIDTH: Final = 80
_LABEL: Final = 12
"""Width of the column with the name of the stage."""


class LineExplanation(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Why matching gave one bank line its outcome.

    `stages` is the whole explanation in words. `forms`: the text as written and as compared.
    `readings`: each expectation that the text may name, and how it was read. `questions`: the seven
    questions about each line, and their answers. `returns`: the payment that the line returns, or
    the returns of its money. `candidates` and `allocations`: as in `Matches`, with the reference of
    each expectation. `outcome`, `expectation_id` and `reason` are the result.
    """

    entry_id: str
    title: str
    stages: Table
    forms: Table
    readings: Table
    questions: Table
    returns: Table
    candidates: Table
    allocations: Table
    outcome: str
    expectation_id: str | None
    reason: str
    sql: str
    """The query that computes the outcomes."""
    zone: ZoneInfo

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """Yield the explanation at 80 columns; only the first line of a stage names it."""
        yield from textwrap.wrap(clean(self.title), _WIDTH)
        last = ""
        for row in self.stages.arrow.to_pylist():
            label = "" if row["stage"] == last else row["stage"].upper()
            last = row["stage"]
            yield from textwrap.wrap(
                _sentence(row["about"], row["says"]),
                _WIDTH,
                initial_indent=f"{label:<{_LABEL}}",
                subsequent_indent=" " * (_LABEL + 2),
            )

    def __repr__(self) -> str:
        return f"<LineExplanation of {clean(self.entry_id)}: {self.outcome}>"

    def _repr_html_(self) -> str:
        rows = (
            (row["stage"], _sentence(row["about"], row["says"]))
            for row in self.stages.arrow.to_pylist()
        )
        return html_grid(rows, (), self.title, has_row_heads=True)


def _sentence(about: str | None, says: str) -> str:
    """Return a sentence with its subject in front."""
    if not about:
        return clean(says)
    return f"{clean(about)}{'' if about.endswith('?') else ':'} {clean(says)}"
