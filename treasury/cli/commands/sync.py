"""The command `sync`: pull what both services know, once."""

from __future__ import annotations

from datetime import date
from typing import Any

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.output import print_options, print_report
from treasury.cli.progress import TerminalProgress

__all__ = ["sync"]


class Day(click.ParamType[date]):
    """A day, like 2026-10-01."""

    name = "YYYY-MM-DD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day."""
        try:
            return value if isinstance(value, date) else date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a day like 2026-10-01", param, ctx)


@click.command()
@click.option("--credential", metavar="NAME", help="Read with this credential; the first if not.")
@click.option(
    "--tables", metavar="NAMES", help="Only these tables, with commas between; all if not given."
)
@click.option("--since", type=Day(), help="List again what was created from this day on.")
@click.option(
    "--full", is_flag=True, help="Compare everything, settled records too, and report the drift."
)
@click.option(
    "--details",
    type=click.IntRange(min=0),
    metavar="N",
    help="Read at most N older settled requests in detail; the rest waits for later syncs.",
)
@print_options
def sync(
    context: click.Context,
    *,
    credential: str | None,
    tables: str | None,
    since: date | None,
    full: bool,
    details: int | None,
    form: str,
) -> None:
    """Pull what both services know into the lake."""
    workspace = workspace_of(context)
    names = None if tables is None else [name.strip() for name in tables.split(",")]
    with TerminalProgress() as progress:
        report = workspace.sync(
            tables=names,
            since=since,
            full=full,
            details=details,
            credential=credential,
            progress=progress,
        )
    print_report(report, form)
