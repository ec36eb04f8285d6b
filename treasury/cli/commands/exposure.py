"""`treasury exposure`: what stands with the provider, against its limits, and a letter about it."""

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
@click.option("--totals", "table", flag_value="totals", help="Sums, the most, and the limits.")
@click.option("--days", "table", flag_value="days", help="What stood there at each day's end.")
@click.option("--ages", "table", flag_value="ages", help="How long it has stood there.")
@click.option("--letter", metavar="FILE", help="Write a letter to the provider to confirm it.")
@view_options
def exposure(view: CommandView, month: str | None, table: str | None, letter: str | None) -> None:
    """Show all our money that stands with the provider, at a month's end or now.

    Fiat in transit, coins sent, what is stuck or blocked, credits that are no coins yet, payouts
    outstanding, custodial balances. What is not provable is in rows of its own and in no sum.
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
    "what stands below [exposure]", "they are", title="Limits with the provider", empty="no limit"
)
def exposure_limits(workspace: Workspace) -> ExposureLimits:
    """Show how much may stand with the provider; two people change it."""
    return workspace.exposure_limits
