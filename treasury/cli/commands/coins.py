"""`treasury coins`: carrying amounts and values of coins at month end, and their measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treasury.cli.command_view import CommandView, by_two_people, month_argument, view_options

if TYPE_CHECKING:
    from treasury.close.valuation.coins.agreed_measurement import Measurement
    from treasury.workspace import Workspace


@click.group()
def coins() -> None:
    """Show coins at month end: carrying amounts or values, and how they are measured.

    A coin without a measurement is only disclosed, at the month's last reference rate. That is an
    assumption, not a fair value, and nothing is posted.
    """


@coins.command("show")
@month_argument
@click.option("--movements", is_flag=True, help="Show each acquisition, disposal and measurement.")
@click.option("--unproved", is_flag=True, help="Show coins in no pool, and the reasons.")
@view_options
def show_coins(view: CommandView, month: str | None, movements: bool, unproved: bool) -> None:
    """Show a month's coins: quantity, carrying amount, realised gain, value, and problems."""
    if movements and unproved:
        raise click.UsageError("--movements and --unproved show different tables: give one")
    accounts = view.workspace.coins(month)
    if movements:
        view.rows(accounts.movements.arrow, title="Movements of coins", empty="none")
    elif unproved:
        view.rows(accounts.unproved.arrow, title="Coins in no pool", empty="none")
    else:
        view.rows(accounts.coins.arrow, layout="coins", title=accounts.title, empty="no coins")
    view.notes(accounts.notes)


@coins.command("measurement")
@by_two_people(
    "the current [coins]", "it is",
    title="Measurement", empty="no coin is measured: disclosure only",
)  # fmt: skip
def coins_measurement(workspace: Workspace) -> Measurement:
    """Show how coins are measured; two people change it, as agreed with the auditor."""
    return workspace.measurement


@coins.command("openings")
@view_options
def coins_openings(view: CommandView) -> None:
    """List the stated opening quantities and carrying amounts of coin pools."""
    rows = view.workspace.measurement.openings()
    view.rows(rows.arrow, title="Openings of coins", empty="none is stated")
