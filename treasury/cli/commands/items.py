"""The commands by which people remark on open items, and two carry one past a close."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.months import month_argument, month_option
from treasury.cli.output import print_rows, view_options
from treasury.text import clean

if TYPE_CHECKING:
    from treasury.items import OpenItems

__all__ = ["items"]

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check it and say what would be journaled; write nothing."
)


@click.group()
def items() -> None:
    """Open items: remark on them; carry them past a close: propose, accept, withdraw.

    An item is named by its id, the beginning of it, or its reference; `treasury exceptions
    --blocking` lists what blocks. What was accepted lapses when the amount or the state moves,
    when the day passes, or after two closes.
    """


@items.command("carry")
@click.argument("names", nargs=-1, required=True, metavar="ITEM...")
@click.option("--owner", required=True, metavar="NAME", help="Who sees to it from now on.")
@click.option("--by", required=True, metavar="DATE", help="When it should clear, 2026-11-30.")
@click.option("--reason", required=True, help="Why it is carried; it is journaled.")
@click.option(
    "--ledger",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The ledger that the month is going to be prepared with, for what differs from it.",
)
@month_option
@dry_run_option
@click.pass_context
def items_carry(
    context: click.Context,
    *,
    names: tuple[str, ...],
    owner: str,
    by: str,
    reason: str,
    ledger: Path | None,
    month: str | None,
    dry_run: bool,
) -> None:
    """Propose to carry each ITEM; a second person accepts it."""
    verbs = workspace_of(context).items
    carried = verbs.carry(
        *names, owner=owner, by=by, reason=reason, month=month, ledger=ledger, dry_run=dry_run
    )
    _say(carried, "proposed to be carried", dry_run=dry_run)


@items.command("accept")
@click.argument("names", nargs=-1, required=True, metavar="ITEM...")
@month_option
@dry_run_option
@click.pass_context
def items_accept(
    context: click.Context, names: tuple[str, ...], month: str | None, dry_run: bool
) -> None:
    """Accept that each ITEM is carried as somebody else proposed it."""
    accepted = workspace_of(context).items.accept(*names, month=month, dry_run=dry_run)
    _say(accepted, "accepted", dry_run=dry_run)


@items.command("withdraw")
@click.argument("names", nargs=-1, required=True, metavar="ITEM...")
@click.option("--reason", required=True, help="Why; it is journaled.")
@month_option
@dry_run_option
@click.pass_context
def items_withdraw(
    context: click.Context, names: tuple[str, ...], reason: str, month: str | None, dry_run: bool
) -> None:
    """Take back what was proposed or accepted for each ITEM: it blocks again."""
    verbs = workspace_of(context).items
    _say(verbs.withdraw(*names, reason=reason, month=month, dry_run=dry_run), "withdrawn",
         dry_run=dry_run)  # fmt: skip


@items.command("remark")
@click.argument("name", metavar="ITEM")
@click.argument("text")
@click.option(
    "--answers", type=int, metavar="N", help="The remark that it answers, as `remarks` shows."
)
@month_option
@dry_run_option
@click.pass_context
def items_remark(
    context: click.Context,
    *,
    name: str,
    text: str,
    answers: int | None,
    month: str | None,
    dry_run: bool,
) -> None:
    """Say TEXT of ITEM to whoever looks at it; it is journaled, and proves nothing."""
    verbs = workspace_of(context).items
    said = verbs.remark(name, text, answers=answers, month=month, dry_run=dry_run)
    _say(said, "remarked", dry_run=dry_run)


@items.command("remarks")
@view_options
def items_remarks(context: click.Context, as_of: str | None, form: str) -> None:
    """List every remark on an item, the latest first, and who answered it."""
    rows = workspace_of(context, as_of).items.remarks().arrow
    print_rows(rows, form, title="Remarks on open items", empty="nothing was remarked")


@items.command("list")
@month_argument
@view_options
def items_list(context: click.Context, month: str | None, as_of: str | None, form: str) -> None:
    """List what is proposed and accepted, and whether it still holds."""
    rows = workspace_of(context, as_of).items.list(month).arrow
    print_rows(rows, form, columns=COLUMNS, title="Carried past a close", empty="nothing proposed")


@items.command("limits")
@click.option("--propose", is_flag=True, help="Propose the limits that stand in policy.toml.")
@click.option("--accept", is_flag=True, help="Put what a colleague proposed in force.")
@click.option("--reason", default="", help="Why they are proposed; it is journaled.")
@view_options
def items_limits(
    context: click.Context,
    *,
    propose: bool,
    accept: bool,
    reason: str,
    as_of: str | None,
    form: str,
) -> None:
    """Show below which amounts an item does not block a close; two people change them."""
    if propose and accept:
        raise click.UsageError("--propose and --accept are for two people")
    if reason and not propose:
        raise click.UsageError("--reason goes with --propose")
    verbs = workspace_of(context, as_of).limits
    rows = verbs.propose(reason) if propose else verbs.accept() if accept else verbs.list()
    print_rows(rows.arrow, form, title="Materiality", empty="no limits: every item blocks")


COLUMNS = (
    "standing", "name", "amount", "currency", "state", "owner", "expected_by", "proposed_by",
    "accepted_by", "reason", "item_id",
)  # fmt: skip


def _say(items: OpenItems, verdict: str, *, dry_run: bool) -> None:
    for item in items:
        click.echo(clean(f"{item.item_id}: {verdict}" + (" (not written)" if dry_run else "")))
        click.echo(clean(f"  {item}"))
