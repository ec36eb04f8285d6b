"""Commands to remark on open items, and for two people to carry one past a close."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treasury.cli.command_view import (
    Command,
    CommandView,
    by_two_people,
    month_argument,
    month_option,
    pass_view,
    view_options,
)
from treasury.cli.layout import echo_folded
from treasury.cli.output import dry_run_option, say_verdict
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.month.items import Limits, OpenItems
    from treasury.workspace import Workspace

_names_argument = click.argument("names", nargs=-1, required=True, metavar="ITEM...")


def deciding_options(function: Command) -> Command:
    """Add `--month` and `--dry-run` to a command about items, and pass it a `CommandView`."""
    return month_option(dry_run_option(pass_view(function)))


@click.group()
def items() -> None:
    """Remark on open items; carry them past a close: propose, accept, withdraw.

    Name an item by its id, the id's beginning, or its reference; `treasury exceptions --blocking`
    lists the items that block. An acceptance lapses when the amount or the state of the item
    changes, after the expected day, or after two closes.
    """


@items.command("carry")
@_names_argument
@click.option("--owner", required=True, metavar="NAME", help="Who is responsible from now on.")
@click.option(
    "--by",
    required=True,
    metavar="DATE",
    help="Day to clear by: `2026-11-30`, `30/11/2026` or `30 Nov`.",
)
@click.option("--reason", required=True, help="Reason for carrying it; it is journaled.")
@click.option(
    "--ledger",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The ledger with which the month is prepared; default: the last one given to `close`.",
)
@click.option(
    "--books",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The ledger's postings with which the month is prepared; default: as for --ledger.",
)
@deciding_options
def items_carry(view: CommandView, names: tuple[str, ...], **terms: Any) -> None:
    """Propose to carry each ITEM; a second person accepts it."""
    _say(view.workspace.items.carry(*names, **terms), "proposed to be carried", **terms)


@items.command("accept")
@_names_argument
@deciding_options
def items_accept(view: CommandView, names: tuple[str, ...], **terms: Any) -> None:
    """Accept a colleague's proposal to carry each ITEM."""
    _say(view.workspace.items.accept(*names, **terms), "accepted", **terms)


@items.command("withdraw")
@_names_argument
@click.option("--reason", required=True, help="Reason; it is journaled.")
@deciding_options
def items_withdraw(view: CommandView, names: tuple[str, ...], **terms: Any) -> None:
    """Withdraw the proposal or acceptance for each ITEM: it blocks again."""
    _say(view.workspace.items.withdraw(*names, **terms), "withdrawn", **terms)


@items.command("remark")
@click.argument("name", metavar="ITEM")
@click.argument("text")
@click.option(
    "--answers", type=int, metavar="N", help="The number of the remark to answer, as in `remarks`."
)
@deciding_options
def items_remark(view: CommandView, name: str, text: str, **terms: Any) -> None:
    """Add the remark TEXT to ITEM; it is journaled, and proves nothing."""
    _say(view.workspace.items.remark(name, text, **terms), "remarked", **terms)


@items.command("remarks")
@view_options
def items_remarks(view: CommandView) -> None:
    """List all remarks on items, latest first, and who answered them."""
    rows = view.workspace.items.remarks().arrow
    view.rows(rows, title="Remarks on open items", empty="no remarks")


@items.command("list")
@month_argument
@view_options
def items_list(view: CommandView, month: str | None) -> None:
    """List the proposed and accepted items, and whether they are still valid."""
    rows = view.workspace.items.list(month).arrow
    view.rows(rows, layout="carried_items", title="Carried past a close", empty="nothing proposed")


@items.command("limits")
@by_two_people(
    "the current limits", "they are",
    title="Materiality", empty="no limits: every item blocks",
)  # fmt: skip
def items_limits(workspace: Workspace) -> Limits:
    """Show the amounts below which an item does not block a close; two people change them."""
    return workspace.limits


def _say(items: OpenItems, verdict: str, *, dry_run: bool, **_: object) -> None:
    for item in items:
        say_verdict(clean(item.item_id), verdict, dry_run=dry_run)
        echo_folded(clean(f"  {item}"))
