"""The command that closes a month: its checklist, the lock, and the pack for whoever signs."""

from __future__ import annotations

import click

from treasury.cli.desk import workspace_of

__all__ = ["close"]


@click.command()
@click.option("--month", required=True, metavar="YYYY-MM", help="The month.")
@click.option("--reviewed-by", metavar="NAME", help="Lock the month; who reviewed it, not you.")
@click.option("--reason", default="", help="Why it is closed with something open; journaled.")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder to write to; close/MONTH if not given."
)
@click.pass_context
def close(
    context: click.Context, *, month: str, reviewed_by: str | None, reason: str, out: str | None
) -> None:
    """Show a month's checklist, lock it once somebody reviewed it, and write its pack.

    Without --reviewed-by nothing is locked. A month that is closed is written again from what it
    was closed on.
    """
    if reason and reviewed_by is None:
        raise click.UsageError("--reason goes with --reviewed-by")
    workspace = workspace_of(context)
    pack = workspace.close(month, out, reviewed_by=reviewed_by, reason=reason or None)
    click.echo(str(pack.checklist))
    for path in pack.paths:
        click.echo(str(path))
