"""`treasury exposure`: what stands with the provider, against its limits, and a letter about it."""

from __future__ import annotations

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.months import month_argument
from treasury.cli.output import print_rows, view_options
from treasury.text import clean

__all__ = ["exposure", "exposure_limits"]

SHOWN = (
    "kind", "reference", "state", "amount", "in_doubt", "value", "since", "age", "cleared_at",
    "evidence", "problem",
)  # fmt: skip
SUMS = (
    "scope", "amount", "value", "valued_by", "cleared", "not_provable", "in_doubt", "peak",
    "peak_at", "limit", "above_limit", "days_above", "standing",
)  # fmt: skip


@click.command()
@month_argument
@click.option("--totals", "table", flag_value="totals", help="Sums, the most, and the limits.")
@click.option("--days", "table", flag_value="days", help="What stood there at each day's end.")
@click.option("--ages", "table", flag_value="ages", help="How long it has stood there.")
@click.option("--letter", metavar="FILE", help="Write a letter to the provider to confirm it.")
@view_options
def exposure(
    context: click.Context,
    *,
    month: str | None,
    table: str | None,
    letter: str | None,
    as_of: str | None,
    form: str,
) -> None:
    """Show all our money that stands with the provider, at a month's end or now.

    Fiat in transit, coins sent, what is stuck or blocked, credits that are no coins yet, payouts
    outstanding, custodial balances. What is not provable is in rows of its own and in no sum.
    """
    workspace = workspace_of(context, as_of)
    stood = workspace.exposure(month)
    if letter is not None:
        from pathlib import Path

        from treasury.report.exposure.confirmation_letter import write_letter

        write_letter(stood, Path(letter))
        click.echo(f"{clean(letter)} is written", err=True)
    if table == "totals":
        print_rows(stood.totals, form, columns=SUMS, title=stood.title, empty="nothing")
    elif table == "days":
        print_rows(stood.days, form, title="With the provider by day", empty="no day")
    elif table == "ages":
        print_rows(stood.ages, form, title="With the provider by age", empty="nothing")
    else:
        print_rows(stood.positions, form, columns=SHOWN, title=stood.title, empty="nothing")
    for note in stood.notes:
        click.echo(clean(note), err=True)


@click.command("exposure-limits")
@click.option(
    "--propose", is_flag=True, help="Propose what stands below [exposure] in policy.toml."
)
@click.option("--accept", is_flag=True, help="Put what a colleague proposed in force.")
@click.option("--reason", default="", help="Why they are proposed; it is journaled.")
@view_options
def exposure_limits(
    context: click.Context,
    *,
    propose: bool,
    accept: bool,
    reason: str,
    as_of: str | None,
    form: str,
) -> None:
    """Show how much may stand with the provider; two people change it."""
    if propose and accept:
        raise click.UsageError("--propose and --accept are for two people")
    if reason and not propose:
        raise click.UsageError("--reason goes with --propose")
    verbs = workspace_of(context, as_of).exposure_limits
    rows = verbs.propose(reason) if propose else verbs.accept() if accept else verbs.list()
    print_rows(rows.arrow, form, title="Limits with the provider", empty="no limit")
