"""`treasury exposure`: balances with the provider, their limits, and a confirmation letter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treasury.cli.command_view import CommandView, by_two_people, month_argument, view_options
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
    from treasury.workspace import Workspace


@click.command()
@month_argument
@click.option("--totals", "table", flag_value="totals", help="Show totals, peaks, and limits.")
@click.option("--days", "table", flag_value="days", help="Show the balance at each day's end.")
@click.option("--ages", "table", flag_value="ages", help="Show the age of the balances.")
@click.option(
    "--letter",
    metavar="FILE",
    help="Write a letter that asks the provider to confirm the balances.",
)
@view_options
def exposure(view: CommandView, month: str | None, table: str | None, letter: str | None) -> None:
    """Show all our money with the provider, at a month's end or now.

    The rows are fiat in transit, coins sent, stuck or blocked amounts, credits not yet converted,
    outstanding payouts and custodial balances. Amounts that cannot be proved have separate rows and
    are not included in totals.
    """
    stood = view.workspace.exposure(month)
    if letter is not None:
        from treasury.report.confirmation_letter import write_letter

        write_letter(stood, Path(letter))
        click.echo(f"{clean(letter)} is written", err=True)
    if table == "totals":
        view.rows(stood.totals.arrow, layout="exposure_totals", title=stood.title, empty="nothing")
    elif table == "days":
        view.rows(stood.days.arrow, title="With the provider by day", empty="no day")
    elif table == "ages":
        view.rows(stood.ages.arrow, title="With the provider by age", empty="nothing")
    else:
        view.rows(stood.positions.arrow, layout="exposure", title=stood.title, empty="nothing")
    view.notes(stood.notes)


@click.command("exposure-limits")
@by_two_people(
    "the current [exposure]", "they are", title="Limits with the provider", empty="no limit"
)
def exposure_limits(workspace: Workspace) -> ExposureLimits:
    """Show how much the provider may hold; two people change it."""
    return workspace.exposure_limits
