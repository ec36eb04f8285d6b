"""Rows on standard output: a table for a person; JSON, CSV or Parquet for a program.

Amounts keep every digit in each of them: JSON and CSV write them as decimal text, Parquet as
decimals. Text from outside is shown without its control characters, which JSON escapes.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Concatenate, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import click
import pyarrow as pa

from treasury.cli.layout import print_table
from treasury.errors import InputError
from treasury.tables.csv_output import csv_text, rows_of
from treasury.tables.tabular import Tabular, in_zone
from treasury.tables.tabular import value_text as plain
from treasury.text import clean, is_hidden

__all__ = [
    "as_of_option",
    "desk_zone",
    "format_option",
    "keep_desk_zone",
    "print_options",
    "print_report",
    "print_rows",
    "view_options",
]

P = ParamSpec("P")
R = TypeVar("R")

_ZONE = "treasury.zone"
FORMATS = ("table", "json", "csv", "parquet")


as_of_option = click.option(
    "--as-of", metavar="INSTANT", help="As it was known then, like 2026-11-01T09:00Z."
)


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


def print_options(function: Callable[Concatenate[click.Context, P], R]) -> Callable[P, R]:
    """What a command that prints rows is given: the context, and the option `--format`."""
    return format_option(click.pass_context(function))


def view_options(function: Callable[Concatenate[click.Context, P], R]) -> Callable[P, R]:
    """What a command that only looks is given: `print_options`, and the option `--as-of`."""
    return as_of_option(print_options(function))


def print_rows(
    table: pa.Table,
    form: str,
    *,
    columns: Iterable[str] = (),
    spare: Sequence[str] = (),
    title: str = "",
    empty: str = "none",
    as_stored: bool = False,
) -> None:
    """Print all rows; `columns` are those that the table for a person has, in order.

    `spare` are the columns that a narrow terminal goes without, the first of them first. The table
    has people's words and the desk's time zone; `as_stored` leaves the words of the data.
    """
    match form:
        case "json":
            click.echo(_json(table))
        case "csv":
            click.echo(csv_text(table.column_names, rows_of(table)), nl=False)
        case "parquet":
            import pyarrow.parquet as pq

            if sys.stdout.isatty():
                raise InputError("Parquet is not for a terminal", do="add > FILE.parquet")
            sink = io.BytesIO()
            pq.write_table(table, sink)
            sys.stdout.buffer.write(sink.getvalue())
        case _:
            local = in_zone(table, desk_zone())
            names = list(columns) or table.column_names
            print_table(local, names, clean(title), empty, spare, as_stored=as_stored)


def print_report(report: Tabular, form: str) -> None:
    """Print what a verb did: its own sentences for a person, its first sheet for a program."""
    if form == "table":
        click.echo(str(report))
    else:
        print_rows(report.to_arrow(), form)


def keep_desk_zone(context: click.Context, zone: ZoneInfo) -> None:
    """Remember the desk's time zone for what this command prints."""
    context.meta[_ZONE] = zone


def desk_zone() -> ZoneInfo | None:
    """The time zone of the workspace that this command opened; None where it opened none."""
    context = click.get_current_context(silent=True)
    zone: ZoneInfo | None = None if context is None else context.meta.get(_ZONE)
    return zone


def _json(table: pa.Table) -> str:
    import msgspec

    rows = [
        {k: plain(v) if isinstance(v, Decimal) else v for k, v in row.items()}
        for row in table.to_pylist()
    ]
    text = msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()
    return "\n".join(map(_escaped, text.split("\n")))


def _escaped(line: str) -> str:
    r"""A line of JSON whose hidden characters are escaped: `\u009b`."""
    if line.isprintable():
        return line
    return "".join(json.dumps(char)[1:-1] if is_hidden(char) else char for char in line)
