"""The command that closes a month: its checklist, its signature, and its pack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.command_view import CommandView, month_argument, print_options, view_options
from treasury.cli.layout import echo_folded
from treasury.core.errors import InputError
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.report import ClosePack


@click.command()
@month_argument
@click.option("--sign", is_flag=True, help="Sign a colleague's preparation, and lock the month.")
@click.option("--withdraw", is_flag=True, help="Withdraw the preparation; requires --reason.")
@click.option(
    "--reason", default="", help="Reason for withdrawing the preparation; it is journaled."
)
@click.option(
    "--ledger",
    type=click.Path(exists=True, dir_okay=False),
    help="The ledger's balances, a CSV file from the accounting program; kept for this month.",
)
@click.option(
    "--books",
    type=click.Path(exists=True, dir_okay=False),
    help="The ledger's postings on bank accounts, a CSV file; kept for this month.",
)
@click.option("--pdf", is_flag=True, help="Also print the report to PDF with Chromium.")
@click.option("--notebook", is_flag=True, help="Also write the executed notebook of the close.")
@click.option(
    "--out", type=click.Path(file_okay=False), help="Folder to write to; default: close/MONTH."
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
    """Prepare the close of a month, or sign a colleague's preparation, and write its pack.

    The preparation pins the stored data, the journal and the list of open items. It is refused if
    an item blocks the close and is not proposed to be carried (`treasury items carry`). A second
    person signs at their own login, which locks the month. For a closed month, the pack is written
    again from the pinned data.
    """
    if how["sign"] and withdraw:
        raise click.UsageError("--sign and --withdraw exclude each other")
    if bool(reason) != withdraw:
        raise click.UsageError("--withdraw and --reason require each other")
    period = view.workspace.month(month)
    if withdraw:
        withdrawn = view.workspace.periods.withdraw(period, reason)
        by = clean(withdrawn.close.prepared_by)
        echo_folded(f"{withdrawn.month}: the preparation of {by} is withdrawn")
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
    """Return the checklist, then a row for each path of the pack, its seal, and its note if any.

    All rows have the columns of CHECKLIST.
    """
    from treasury.close.checklist import CHECKLIST

    written = [("Pack", "written", str(path)) for path in pack.paths]
    written += [("Seal", "written", pack.seal)]
    written += [("Note", "said", clean(pack.note))] if pack.note else []
    names = ("step", "state", "found")
    rows = [dict(zip(names, row, strict=True)) for row in written]
    return pa.concat_tables([pack.checklist.table, pa.Table.from_pylist(rows, schema=CHECKLIST)])


@click.command()
@month_argument
@click.option(
    "--books",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The ledger's postings, a CSV file; default: the last one given to `close`.",
)
@click.option(
    "--ledger",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The ledger's balances, a CSV file; default: the last one given to `close`.",
)
@click.option("--outstanding", is_flag=True, help="List the outstanding items as rows.")
@click.option("--pairs", is_flag=True, help="List the pairs, and the groups without pairs.")
@view_options
def books(
    view: CommandView, month: str | None, *, outstanding: bool, pairs: bool, **files: Path | None
) -> None:
    """Reconcile each bank account with the ledger's postings: what is outstanding, and why.

    The balance per bank, plus postings that the bank does not show, less bank lines that are not
    posted, is the balance per books. `accounts.toml` names the ledger accounts of a bank account.
    Nothing is stored; `treasury close --books FILE` keeps the file for the month.
    """
    closing = view.workspace.periods.month(month, **files)
    reconciled = closing.books
    if reconciled is None:
        raise InputError(
            f"no postings are given for {closing.r.month}",
            do=f"name the ledger's file: treasury books {closing.r.month} --books FILE",
        )
    if outstanding and pairs:
        raise click.UsageError("--outstanding and --pairs exclude each other")
    if outstanding:
        view.rows(reconciled.items.arrow, title=reconciled.title, empty="nothing is outstanding")
    elif pairs:
        view.rows(reconciled.pairs.arrow, title=reconciled.title, empty="no pairs")
    else:
        view.report(reconciled)


@click.command()
@click.argument("pack", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--with-workspace", is_flag=True, help="Also compare it with the pinned commit and journal."
)
@print_options
def verify(view: CommandView, pack: str, with_workspace: bool) -> None:
    """Verify every file of PACK and recompute it; exits 1 with the differences.

    Only the folder is needed. Keep a copy of the printed seal elsewhere: whoever forges the whole
    pack cannot change that copy. PACK may come from any source: links are not followed, and the
    number and size of files, memory and time are limited.
    """
    from treasury.report.pack.pack_verification import verify_pack

    verified = view.workspace.verify_pack(pack) if with_workspace else verify_pack(Path(pack))
    if view.is_table:
        echo_folded(str(verified))
    else:
        view.rows(verified.arrow)
    if not verified.holds:
        raise SystemExit(1)
