"""Commands for owners, remarks and files of open items, and to carry items past a close."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treasury.cli.command_view import (
    Command,
    CommandView,
    by_two_people,
    item_filters,
    month_argument,
    month_option,
    pass_view,
    view_options,
)
from treasury.cli.layout import echo_folded
from treasury.cli.output import dry_run_option, say_verdict
from treasury.core.errors import InputError
from treasury.core.text import clean
from treasury.month.items.notes.note_subjects import ACCOUNT, STEP

if TYPE_CHECKING:
    from treasury.close.ledger.ledger_scope import LedgerScope
    from treasury.core.tables.table import Table
    from treasury.month.items import Limits, OpenItems
    from treasury.workspace import Workspace

_names_argument = click.argument("names", nargs=-1, required=True, metavar="ITEM...")


def deciding_options(function: Command) -> Command:
    """Add `--month` and `--dry-run` to a command about items, and pass it a `CommandView`."""
    return month_option(dry_run_option(pass_view(function)))


@click.group()
def items() -> None:
    """Name owners of open items, remark, attach files; carry items past a close.

    Name an item by its id, the id's beginning, or its reference; `treasury exceptions --blocking`
    lists the items that block. For `assign`, `remark` and `attach` it may also be `account:` with
    an account's number or name, or `step:` with a step of the checklist, as in `step:statements`.
    An acceptance lapses when the amount or the state of the item changes, after the expected day,
    or after two closes.
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
    _say(view.workspace.items.remark(name, text, **terms), "remarked", (name,), **terms)


@items.command("explain")
@click.argument("account", metavar="ACCOUNT")
@click.argument("text")
@deciding_options
def items_explain(view: CommandView, account: str, text: str, **terms: Any) -> None:
    """Explain with TEXT how the figures of ACCOUNT changed since the months before."""
    workspace = view.workspace
    month = workspace.month(terms.pop("month"))
    workspace.items.explain(account, text, month=month, **terms)
    state = "would be explained; nothing was written" if terms["dry_run"] else "explained"
    echo_folded(f"{clean(account)} in {month}: {state}")


@items.command("remarks")
@view_options
def items_remarks(view: CommandView) -> None:
    """List all remarks on items, latest first, and who answered them."""
    rows = view.workspace.items.remarks().arrow
    view.rows(rows, title="Remarks on open items", empty="no remarks")


@items.command("assign")
@_names_argument
@click.option("--owner", required=True, metavar="NAME", help="Who follows it up.")
@deciding_options
def items_assign(view: CommandView, names: tuple[str, ...], **terms: Any) -> None:
    """Name the owner of each ITEM, account or checklist step."""
    _say(view.workspace.items.assign(*names, **terms), "assigned", names, **terms)


@items.command("owners")
@view_options
def items_owners(view: CommandView) -> None:
    """List the items, accounts and checklist steps for which an owner was named."""
    rows = view.workspace.items.owners().arrow
    view.rows(rows, layout="item_owners", title="Owners", empty="no owner was named")


@items.command("attach")
@click.argument("name", metavar="ITEM")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@deciding_options
def items_attach(view: CommandView, name: str, file: Path, **terms: Any) -> None:
    """Attach FILE to ITEM: a pdf, png, jpg, eml, msg, txt, csv or xlsx of at most 10 MB.

    Its bytes are stored in the journal's database, and the pack of the month contains them. A file
    attached after the close of its month is marked as late.
    """
    rows = view.workspace.items.attach(name, file, **terms).arrow
    say_verdict(clean(file.name), "attached", dry_run=terms["dry_run"])
    view.rows(rows, layout="item_files", title="Files", empty="none yet")


@items.command("files")
@click.argument("name", metavar="[ITEM]", required=False, default="")
@month_option
@view_options
def items_files(view: CommandView, name: str, month: str | None) -> None:
    """List the attached files with their numbers and hashes, the latest last."""
    rows = view.workspace.items.files(name, month).arrow
    view.rows(rows, layout="item_files", title="Attached files", empty="no file is attached")


@items.command("save")
@click.argument("number", metavar="FILE")
@click.argument("path", type=click.Path(path_type=Path))
@pass_view
def items_save(view: CommandView, number: str, path: Path) -> None:
    """Save the attached FILE, by its number or hash, as the new file PATH.

    It comes from outside: open it only with a program that may read such files.
    """
    content = view.workspace.items.file_content(number)
    try:
        with path.open("xb") as new:
            new.write(content)
    except OSError as error:
        raise InputError(
            f"{clean(path)} cannot be written: {error.strerror}", do="give the path of a new file"
        ) from None
    echo_folded(f"{clean(path)}: {len(content):,} bytes")


@items.command("remove-file")
@click.argument("number", metavar="FILE")
@click.option("--reason", required=True, help="Reason; it is journaled.")
@dry_run_option
@pass_view
def items_remove_file(view: CommandView, number: str, reason: str, dry_run: bool) -> None:
    """Propose to remove the bytes of the attached FILE, by its number or hash.

    A second person accepts it with `accept-removal`. The hash and the removal stay in the journal.
    Packs and copies of the journal that were made before still contain the bytes.
    """
    rows = view.workspace.items.propose_removal(number, reason, dry_run=dry_run)
    _say_files(rows, "proposed to be removed", dry_run=dry_run)


@items.command("accept-removal")
@click.argument("number", metavar="FILE")
@dry_run_option
@pass_view
def items_accept_removal(view: CommandView, number: str, dry_run: bool) -> None:
    """Accept a colleague's proposal to remove FILE: its bytes are deleted."""
    rows = view.workspace.items.accept_removal(number, dry_run=dry_run)
    _say_files(rows, "removed", dry_run=dry_run)


@items.command("list")
@month_argument
@item_filters
@view_options
def items_list(view: CommandView, month: str | None, **filters: Any) -> None:
    """List the proposed and accepted items, and whether they are still valid."""
    listed = view.workspace.items.list(month, **filters)
    view.notes(listed.notes)
    empty = "none of these" if any(filters.values()) else "nothing proposed"
    view.rows(listed.arrow, layout="carried_items", title="Carried past a close", empty=empty)


@items.command("limits")
@by_two_people(
    "the current limits", "they are",
    title="Materiality", empty="no limits: every item blocks",
)  # fmt: skip
def items_limits(workspace: Workspace) -> Limits:
    """Show the amounts below which an item does not block a close; two people change them."""
    return workspace.limits


@items.command("scope")
@by_two_people(
    "the accounts of [out_of_scope]", "they are",
    title="Not compared with the books", empty="none: every account is in scope",
)  # fmt: skip
def items_scope(workspace: Workspace) -> LedgerScope:
    """Show the accounts that are not compared with the books; two people change them."""
    return workspace.scope


def _say(
    items: OpenItems, verdict: str, names: tuple[str, ...] = (), *, dry_run: bool, **_: object
) -> None:
    """Print the verdict on each item, account and step."""
    for name in names:
        if name.strip().startswith((ACCOUNT, STEP)):
            say_verdict(clean(name), verdict, dry_run=dry_run)
    for item in items:
        say_verdict(clean(item.item_id), verdict, dry_run=dry_run)
        echo_folded(clean(f"  {item}"))


def _say_files(files: Table, verdict: str, *, dry_run: bool) -> None:
    """Print the verdict on each attachment of a file."""
    for row in files.arrow.to_pylist():
        name = clean(f"{row['file_name']}, attached to {row['item_id']}")
        say_verdict(name, verdict, dry_run=dry_run)
