"""Rows on standard output: a table for a person; JSON, CSV or Parquet for a program.

Amounts keep every digit in each of them: JSON and CSV write them as decimal text, Parquet as
decimals. Text from outside is shown without its control characters.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import ParamSpec, TypeVar

import click
import pyarrow as pa

from treasury.errors import InputError
from treasury.reconcile.rows import cell, shown
from treasury.text import clean, neutral

__all__ = ["format_option", "print_rows"]

P = ParamSpec("P")
R = TypeVar("R")

FORMATS = ("table", "json", "csv", "parquet")


def format_option(function: Callable[P, R]) -> Callable[P, R]:
    """The option `--format`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print the rows.",
    )(function)


def print_rows(
    table: pa.Table, form: str, *, columns: Iterable[str] = (), title: str = "", empty: str = "none"
) -> None:
    """Print all rows; `columns` are those that the table for a person has, in order."""
    match form:
        case "json":
            import msgspec

            rows = [{k: _plain(v) for k, v in row.items()} for row in table.to_pylist()]
            click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2))
        case "csv":
            click.echo(_csv(table), nl=False)
        case "parquet":
            _parquet(table)
        case _:
            _table(table, list(columns) or table.column_names, title, empty)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return shown(value)
    return value


def _csv(table: pa.Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([_neutral(value) for value in row.values()])
    return out.getvalue()


def _neutral(value: object) -> str:
    """A CSV cell: of text that nothing runs, an amount with its sign."""
    return neutral(shown(value)) if isinstance(value, str | list) else shown(value)


def _parquet(table: pa.Table) -> None:
    import pyarrow.parquet as pq

    if sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal", do="add > FILE.parquet")
    sink = io.BytesIO()
    pq.write_table(table, sink)
    sys.stdout.buffer.write(sink.getvalue())


def _table(table: pa.Table, columns: list[str], title: str, empty: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not table.num_rows:
        click.echo(f"{title}: {empty}" if title else empty)
        return
    console = Console(width=None if sys.stdout.isatty() else 240, highlight=False, markup=False)
    grid = Table(
        title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, expand=False
    )
    for name in columns:
        right = pa.types.is_decimal(table.schema.field(name).type)
        grid.add_column(
            name.replace("_", " "), justify="right" if right else "left", overflow="fold"
        )
    for row in table.to_pylist():
        grid.add_row(*(Text(clean(cell(row, name))) for name in columns))
    console.print(grid)
