"""The command that closes a month: its checklist, the lock, and the pack for whoever signs."""

from __future__ import annotations

from pathlib import Path

import click

from treasury.cli.desk import workspace_of

__all__ = ["close", "verify"]


@click.command()
@click.option("--month", required=True, metavar="YYYY-MM", help="The month.")
@click.option("--reviewed-by", metavar="NAME", help="Lock the month; who reviewed it, not you.")
@click.option("--reason", default="", help="Why it is closed with something open; journaled.")
@click.option(
    "--ledger",
    type=click.Path(exists=True, dir_okay=False),
    help="The ledger, a CSV file: account, currency, balance.",
)
@click.option("--pdf", is_flag=True, help="Also print the report to PDF, by Chromium.")
@click.option("--notebook", is_flag=True, help="Also leave the notebook of the close there, run.")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder to write to; close/MONTH if not given."
)
@click.pass_context
def close(
    context: click.Context,
    *,
    month: str,
    reviewed_by: str | None,
    reason: str,
    ledger: str | None,
    pdf: bool,
    notebook: bool,
    out: str | None,
) -> None:
    """Show a month's checklist, lock it once somebody reviewed it, and write its pack.

    Without --reviewed-by nothing is locked. A month that is closed is written again from what it
    was closed on.
    """
    if reason and reviewed_by is None:
        raise click.UsageError("--reason goes with --reviewed-by")
    workspace = workspace_of(context)
    pack = workspace.close(
        month,
        out,
        reviewed_by=reviewed_by,
        reason=reason or None,
        ledger=ledger,
        pdf=pdf,
        notebook=notebook,
    )
    click.echo(str(pack.checklist))
    for path in pack.paths:
        click.echo(str(path))
    click.echo(f"seal {pack.seal}")


@click.command()
@click.argument("pack", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--with-workspace", is_flag=True, help="Also against the commit and the journal it rests on."
)
@click.pass_context
def verify(context: click.Context, pack: str, *, with_workspace: bool) -> None:
    """Check every file of PACK and compute it again; exits 1 naming what differs.

    It needs nothing but the folder. Note the seal that it prints elsewhere: whoever changed the
    whole pack would have to change that too.
    """
    from treasury.report.verify import verify_pack

    found = workspace_of(context).verify_pack(pack) if with_workspace else verify_pack(Path(pack))
    click.echo(str(found))
    if not found.holds:
        raise SystemExit(1)
