"""`treasury rates`: what currencies and coins cost, from the ECB's file or the company's own."""

from __future__ import annotations

from pathlib import Path

import click

from treasury.cli.command_view import CommandView, pass_view, view_options


@click.group()
def rates() -> None:
    """Add reference rates, and list what is there: the ECB's, and the company's own.

    They say what conversions cost and what coins are worth. Your own come first, then the ECB's.
    Without a file of the ECB, its history that a package brings along answers, and is named.
    """


@rates.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Take its rates where stored ones differ.")
@pass_view
def add_file(view: CommandView, file: Path, replace: bool) -> None:
    """Add FILE: the ECB's eurofxref-hist.csv, zipped or not, or a CSV or Parquet of your own.

    Your own has the columns day, base, quote, rate; a day is 2026-10-31, or an instant with its
    zone, 2026-10-31T02:00Z, whose rate is that of the hour after it. What base and quote may be,
    and which rate wins, is in docs/fees.md. The same file again adds nothing. A rate of zero or
    below, one that differs from another of its day, a day to come, an unknown currency or a float
    is refused by its line, and nothing is stored.
    """
    click.echo(str(view.workspace.rates.add(file, replace=replace)))


@rates.command("list")
@view_options
def list_rates(view: CommandView) -> None:
    """List what rates there are: from which source, for which currencies, to which day."""
    view.rows(view.workspace.rates.list().arrow, title="Reference rates", empty="none added")
