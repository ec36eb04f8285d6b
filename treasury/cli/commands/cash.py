"""`treasury cash`: what every account holds today, and the forecast of the next days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treasury.cli.command_view import CommandView, view_options

if TYPE_CHECKING:
    from treasury.close.cash.cash_answer import Cash


@click.command()
@click.option(
    "--days", type=int, default=14, show_default=True, help="Calendar days, today included."
)
@click.option("--in", "currency", metavar="CURRENCY", help="Value the totals in this currency.")
@click.option(
    "--flows",
    "file",
    metavar="FILE",
    help="The company's own flows: date, amount, currency, account, text, every. Default:"
    " flows.csv in the workspace.",
)
@click.option("--position", "table", flag_value="position", help="Show each account's balance.")
@click.option("--expected", "table", flag_value="expected", help="Show each flow with its day.")
@click.option("--apart", "table", flag_value="apart", help="Show the flows that are in no sum.")
@click.option("--floors", "table", flag_value="floors", help="Show the accounts with a floor.")
@view_options
def cash(
    view: CommandView, days: int, currency: str | None, file: str | None, table: str | None
) -> None:
    """Show the cash of every account now, and the forecast of the next days.

    The forecast has what is known, and nothing is modelled: requests to fund, payments with the
    bank, payouts and deliveries by their clock, own transfers, and the company's own flows.
    """
    answer = view.workspace.cash(days, in_currency=currency, flows=file)
    match table:
        case "position":
            view.rows(answer.position.arrow, layout="cash_position", title=answer.title)
        case "expected":
            view.rows(answer.expected.arrow, layout="cash_flows", title="Flows by day")
        case "apart":
            view.rows(answer.apart.arrow, layout="cash_flows", title="Flows in no sum")
        case "floors":
            view.rows(answer.floors.arrow, layout="cash_floors", title="Floors of accounts")
        case _:
            _overview(view, answer)
    view.notes(answer.notes)


def _overview(view: CommandView, answer: Cash) -> None:
    """Print the totals and, for a person, the days with flows and each currency's lowest day."""
    from treasury.close.cash.forecast import BY_WEEK_FROM

    view.rows(answer.funds.arrow, layout="cash_funds", title=answer.title)
    if not view.is_table:
        return
    click.echo()
    moving = answer.forecast.where("flows > 0 OR is_lowest").arrow
    is_daily = answer.days < BY_WEEK_FROM
    view.rows(
        moving,
        layout="cash_forecast",
        without=("last_day", "lowest") if is_daily else (),
        title=f"{'Days' if is_daily else 'Weeks'} with flows, and the lowest",
        empty="no account and no flow",
    )
    if len(answer.floors):
        click.echo()
        view.rows(answer.floors.arrow, layout="cash_floors", title="Floors of accounts")
