"""Write down what a month's steps give: `python tools/step_shapes.py`, or `make docs`.

Of each step its columns and what its rows come from, by which one without rows is known before it
is planned. `tests/reconcile/test_rowless.py` holds what is written to the steps' texts.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import Month
from treasury.extract import TABLES as SERVICE_TABLES
from treasury.lake import Lake
from treasury.matching.engine import rowless
from treasury.month.question import Question
from treasury.month.reconciliation import STEPS, run_on_question
from treasury.rates import TABLES as RATE_TABLES
from treasury.statements import TABLES as STATEMENT_TABLES

FILE = Path(str(resources.files(rowless.__package__))) / rowless.SHAPES


def shapes() -> bytes:
    """The shape of every step of a month, by its name, worked out over tables without a row."""
    question = Question(
        month=Month(2026, 1),
        as_of=datetime(2026, 2, 1, tzinfo=UTC),
        company="",
        environment="sandbox",
        zone=ZoneInfo("UTC"),
        accounts=(),
    )
    described = {}
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder), (*SERVICE_TABLES, *STATEMENT_TABLES, *RATE_TABLES))
        with run_on_question(lake.snapshot(), question, None, ()) as steps_run:
            connection = steps_run.connection
            for step in STEPS:
                connection.execute(f'CREATE TEMP TABLE "{step.name}" AS {step.sql} WITH NO DATA')
                table = connection.table(step.name)
                pairs = zip(table.columns, table.types, strict=True)
                described[step.name] = rowless.StepShape(
                    digest=rowless.text_digest(step.sql),
                    columns=", ".join(f'"{column}" {type_}' for column, type_ in pairs),
                    rows_from=rowless.rows_from(connection, step.sql),
                )
    lines = (
        f"{msgspec.json.encode(name).decode()}: {msgspec.json.encode(shape).decode()}"
        for name, shape in sorted(described.items())
    )
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


if __name__ == "__main__":
    FILE.write_bytes(shapes())
