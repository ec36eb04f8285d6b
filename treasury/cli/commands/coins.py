"""`treasury coins`: what coins are carried at or worth at month end, and how they are measured."""

from __future__ import annotations

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.months import month_argument
from treasury.cli.output import print_rows, view_options
from treasury.text import clean

__all__ = ["coins"]

SHOWN = (
    "coin", "name", "measurement", "closing_quantity", "opening", "acquired", "disposed",
    "remeasured", "closing", "gain", "value", "valued_by", "problem",
)  # fmt: skip


@click.group()
def coins() -> None:
    """Coins at month end: what they are carried at or worth, and how they are measured.

    A coin that is not measured is disclosed alone, at the month's last reference rate: an
    assumption, not a fair value, and nothing is posted.
    """


@coins.command("show")
@month_argument
@click.option("--movements", is_flag=True, help="Each acquisition, disposal and measurement.")
@click.option("--unproved", is_flag=True, help="Coins that stand in no pool, and why.")
@view_options
def show_coins(
    context: click.Context,
    *,
    month: str | None,
    movements: bool,
    unproved: bool,
    as_of: str | None,
    form: str,
) -> None:
    """Show a month's coins: quantity, carrying amount, realised gain, value, and what is wrong."""
    if movements and unproved:
        raise click.UsageError("--movements and --unproved show different tables")
    accounts = workspace_of(context, as_of).coins(month)
    if movements:
        print_rows(accounts.movements, form, title="Movements of coins", empty="none")
    elif unproved:
        print_rows(accounts.unproved, form, title="Coins in no pool", empty="none")
    else:
        print_rows(accounts.coins, form, columns=SHOWN, title=accounts.title, empty="no coins")
    for note in accounts.notes:
        click.echo(clean(note), err=True)


@coins.command("measurement")
@click.option("--propose", is_flag=True, help="Propose what stands below [coins] in policy.toml.")
@click.option("--accept", is_flag=True, help="Put what a colleague proposed in force.")
@click.option("--reason", default="", help="Why it is proposed; it is journaled.")
@view_options
def coins_measurement(
    context: click.Context,
    *,
    propose: bool,
    accept: bool,
    reason: str,
    as_of: str | None,
    form: str,
) -> None:
    """Show how coins are measured; two people change it, with the auditor."""
    if propose and accept:
        raise click.UsageError("--propose and --accept are for two people")
    if reason and not propose:
        raise click.UsageError("--reason goes with --propose")
    verbs = workspace_of(context, as_of).measurement
    rows = verbs.propose(reason) if propose else verbs.accept() if accept else verbs.list()
    print_rows(rows.arrow, form, title="Measurement", empty="no coin is measured: disclosure only")


@coins.command("openings")
@view_options
def coins_openings(context: click.Context, as_of: str | None, form: str) -> None:
    """List what pools held, and were carried at, where the company states it."""
    rows = workspace_of(context, as_of).measurement.openings()
    print_rows(rows.arrow, form, title="Openings of coins", empty="none is stated")
