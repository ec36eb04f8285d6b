"""The command that closes a month: its checklist, the lock, and the pack for whoever signs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.command_view import CommandView, month_argument, print_options
from treasury.cli.layout import echo_folded
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.report import ClosePack


@click.command()
@month_argument
@click.option("--sign", is_flag=True, help="Sign what somebody else prepared, and lock the month.")
@click.option("--withdraw", is_flag=True, help="Take the preparation back; needs --reason.")
@click.option("--reason", default="", help="Why the preparation is withdrawn; it is journaled.")
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
@print_options
def close(
    view: CommandView,
    month: str | None,
    *,
    withdraw: bool,
    reason: str,
    out: str | None,
    **how: Any,
) -> None:
    """Prepare a month to be closed, or sign what a colleague prepared, and write its pack.

    Preparing pins what is known and the list of open items; it is refused while something blocks
    that nobody proposed to carry (`treasury items carry`). Signing is a second person's, at their
    own login, and locks the month. A month that is closed is written again from what it was closed
    on.
    """
    if how["sign"] and withdraw:
        raise click.UsageError("--sign and --withdraw do the opposite of each other")
    if bool(reason) != withdraw:
        raise click.UsageError("--withdraw and --reason go together")
    period = view.workspace.month(month)
    if withdraw:
        withdrawn = view.workspace.periods.withdraw(period, reason)
        by = clean(withdrawn.close.prepared_by)
        click.echo(f"{withdrawn.month}: what {by} prepared is withdrawn")
        return
    pack = view.workspace.close(period, out, **how)
    if not view.is_table:
        view.rows(pack_rows(pack))
        return
    echo_folded(str(pack.checklist))
    for path in pack.paths:
        click.echo(str(path))
    click.echo(f"seal {pack.seal}")
    if pack.note:
        echo_folded(clean(pack.note))


def pack_rows(pack: ClosePack) -> pa.Table:
    """The checklist, a row for each file that was written, and the seal; columns of CHECKLIST."""
    from treasury.close.checklist import CHECKLIST

    written = [("Pack", "written", str(path)) for path in pack.paths]
    written += [("Seal", "written", pack.seal)]
    written += [("Note", "said", clean(pack.note))] if pack.note else []
    names = ("step", "state", "found")
    rows = [dict(zip(names, row, strict=True)) for row in written]
    return pa.concat_tables([pack.checklist.table, pa.Table.from_pylist(rows, schema=CHECKLIST)])


@click.command()
@click.argument("pack", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--with-workspace", is_flag=True, help="Also against the commit and the journal it rests on."
)
@print_options
def verify(view: CommandView, pack: str, with_workspace: bool) -> None:
    """Check every file of PACK and compute it again; exits 1 naming what differs.

    It needs nothing but the folder. Note the seal that it prints elsewhere: whoever changed the
    whole pack would have to change that too. PACK may come from anybody: only regular files of
    plausible number and size are read, no link is followed, and it is computed with bounds on
    memory and time.
    """
    from treasury.report.pack.pack_verification import verify_pack

    verified = view.workspace.verify_pack(pack) if with_workspace else verify_pack(Path(pack))
    if view.is_table:
        click.echo(str(verified))
    else:
        view.rows(verified.arrow)
    if not verified.holds:
        raise SystemExit(1)
