"""`treasury coins`: what coins are carried at or worth at month end, and how they are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treasury.cli.command_view import CommandView, by_two_people, month_argument, view_options

if TYPE_CHECKING:
    from treasury.close.valuation.coins.agreed_measurement import Measurement
    from treasury.workspace import Workspace


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
def show_coins(view: CommandView, month: str | None, movements: bool, unproved: bool) -> None:
    """Show a month's coins: quantity, carrying amount, realised gain, value, and what is wrong."""
    if movements and unproved:
        raise click.UsageError("--movements and --unproved show different tables")
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
    "what stands below [coins]", "it is",
    title="Measurement", empty="no coin is measured: disclosure only",
)  # fmt: skip
def coins_measurement(workspace: Workspace) -> Measurement:
    """Show how coins are measured; two people change it, with the auditor."""
    return workspace.measurement


@coins.command("openings")
@view_options
def coins_openings(view: CommandView) -> None:
    """List what pools held, and were carried at, where the company states it."""
    rows = view.workspace.measurement.openings()
    view.rows(rows.arrow, title="Openings of coins", empty="none is stated")
