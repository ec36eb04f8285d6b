"""Print rows on standard output: as a table for people; as JSON, CSV or Parquet for programs.

Every format keeps all digits of amounts: JSON and CSV as decimal text, Parquet as decimals. Control
characters in text from outside are removed, and escaped in JSON.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import click
import pyarrow as pa

from treasury.cli.layout import print_table
from treasury.core.errors import InputError
from treasury.core.files.package_files import package_toml
from treasury.core.tables.column_texts import value_text as plain
from treasury.core.tables.csv_output import csv_text, rows_of
from treasury.core.tables.shown_values import in_zone, presented
from treasury.core.text import clean, is_hidden, is_it


class Choice(click.Choice[str]):
    """A choice between words; the error for any other word names the nearest one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for a word that is not a choice."""
        message = super().get_invalid_choice_message(value, ctx).removesuffix(".")
        return f"{message}{is_it(value, self.choices)}"


as_of_option = click.option(
    "--as-of", metavar="INSTANT", help="As known at this instant, for example `2026-11-01T09:00Z`."
)
format_option = click.option(
    "--format",
    "form",
    type=Choice(("table", "json", "csv", "parquet")),
    default="table",
    show_default=True,
    help="Format of the rows.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check it and show what would be journaled; write nothing."
)


def say_verdict(name: str, verdict: str, *, dry_run: bool) -> None:
    """Print a decision, and whether it is journaled."""
    click.echo(f"{name}: {verdict}" + (" (not written)" if dry_run else ""))


@cache
def layouts() -> dict[str, dict[str, list[str]]]:
    """Return the layout of each table for people: its columns, and which of them may be omitted."""
    return package_toml("treasury.cli", "layouts.toml")


def print_rows(
    table: pa.Table,
    form: str,
    *,
    layout: str = "",
    without: Sequence[str] = (),
    title: str = "",
    empty: str = "none",
    as_stored: bool = False,
    zone: ZoneInfo | None = None,
) -> None:
    """Print all rows; for a person with the columns of the `layout`, in its order, or all columns.

    `without` are columns to omit from the layout. For a program, codes and directions are those of
    `treasury.Table`; for a person, codes are replaced by words, and instants are in `zone`. With
    `as_stored`, codes and directions stay as they are stored.
    """
    if form != "table" and not as_stored:
        table = presented(table)
    match form:
        case "json":
            click.echo(_json(table))
        case "csv":
            click.echo(csv_text(table.column_names, rows_of(table)), nl=False)
        case "parquet":
            import pyarrow.parquet as pq

            if sys.stdout.isatty():
                raise InputError("Parquet cannot be shown on a terminal", do="add > FILE.parquet")
            sink = io.BytesIO()
            pq.write_table(table, sink)
            sys.stdout.buffer.write(sink.getvalue())
        case _:
            local = in_zone(table, zone)
            shape = layouts().get(layout, {})
            names = [n for n in shape.get("columns", table.column_names) if n not in without]
            print_table(
                local,
                names,
                clean(title),
                empty,
                shape.get("spare", ()),
                brief=shape.get("brief", ()),
                as_stored=as_stored,
            )


def _json(table: pa.Table) -> str:
    import msgspec

    rows = [
        {k: plain(v) if isinstance(v, Decimal) else v for k, v in row.items()}
        for row in table.to_pylist()
    ]
    text = msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()
    return "\n".join(map(_escaped, text.split("\n")))


def _escaped(line: str) -> str:
    r"""Escape invisible characters in a line of JSON, for example as `\u009b`."""
    if line.isprintable():
        return line
    return "".join(json.dumps(char)[1:-1] if is_hidden(char) else char for char in line)
