"""Commands about the stored data: dictionary, changes, health and upkeep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa
import pyarrow.compute as pc

from treasury.cli.address_question import terminal_question
from treasury.cli.command_view import CommandView, pass_view, print_options, view_options
from treasury.cli.layout import echo_folded
from treasury.cli.output import format_option, print_rows
from treasury.core.errors import InputError, SettingsError
from treasury.core.settings import FILE_NAME, Settings
from treasury.core.settings.confirmed_addresses import AddressDifference
from treasury.core.settings.secret_routes import SecretSetting
from treasury.workspace import Workspace

if TYPE_CHECKING:
    from treasury.lake.sharing import Sharing


@click.command()
@click.argument("name", required=False)
@format_option
def tables(name: str | None, form: str) -> None:
    """List the tables, or every column of table NAME: meaning, unit, source."""
    from treasury.workspace.upkeep.dictionary import column_rows, table_rows

    rows = table_rows() if name is None else column_rows(name)
    layout = "" if name is None else "table_columns"
    print_rows(rows, form, layout=layout, title=name or "Tables")


@click.command()
@click.argument("table")
@click.option(
    "--since", required=True, metavar="INSTANT", help="After this instant: 2026-10-31T23:00Z."
)
@click.option("--until", metavar="INSTANT", help="Up to this instant; default: the last commit.")
@view_options
def changes(view: CommandView, table: str, since: str, until: str | None) -> None:
    """List the changes in TABLE, old and new value: one row per field."""
    rows = view.workspace.changes(table, since=since, until=until)
    view.rows(rows.arrow, title=f"Changes in {table}", empty="none")


@click.command()
@click.argument("table", default="ramp_requests")
@click.option("--status", help="Show only this status, such as AWAITING_FUNDS.")
@view_options
def durations(view: CommandView, table: str, status: str | None) -> None:
    """List how long each record of TABLE was in each status, and the evidence."""
    rows = view.workspace.status_durations(table).arrow
    if status is not None:
        rows = rows.filter(pc.equal(rows["status"], status))
    if view.is_table:
        for name in ("seconds", "at_least", "at_most"):
            texts = pa.array(map(_span, rows[name].to_pylist()), pa.string())
            rows = rows.set_column(rows.column_names.index(name), name, texts)
        rows = rows.rename_columns(
            ["lasted" if name == "seconds" else name for name in rows.column_names]
        )
    view.rows(rows, title=f"Durations in {table}")


def _span(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    hours, minutes = divmod(seconds // 60, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02}:{minutes:02}" if days else f"{hours:02}:{minutes:02}"


@click.command()
@click.option("--repair", is_flag=True, help="Rebuild damaged data from readable files.")
@click.option(
    "--accept-loss",
    multiple=True,
    metavar="TABLE",
    help="Accept the loss in TABLE and stop asking for it.",
)
@print_options
def doctor(view: CommandView, repair: bool, accept_loss: tuple[str, ...]) -> None:
    """Check the workspace for missing or damaged parts, and show the next steps."""
    examination = view.workspace.doctor(repair=repair, accept_loss=accept_loss)
    if view.is_table:
        echo_folded(str(examination))
    else:
        view.rows(examination.arrow)
    if examination.damaged:
        sys.exit(3)


@click.group()
def lake() -> None:
    """Show the stored tables and maintain them."""


@lake.command("status")
@print_options
def lake_status(view: CommandView) -> None:
    """Show size, files, rows, the last runs, and pinned commits."""
    from treasury.lake import lake_status as status_of

    status = status_of(view.workspace.lake)
    view.rows(status.tables.arrow, title="Stored tables", empty="nothing is stored yet")
    if view.is_table:
        echo_folded(str(status))


@lake.command("sweep")
@pass_view
def sweep(view: CommandView) -> None:
    """Remove superseded files that no reader needs; also runs automatically after some commits.

    In the lake's home, removes files that are older than a day and that no head (shared commit) of
    the last day names.
    """
    lake = view.workspace.lake
    swept = lake.sweep()
    echo_folded(
        f"removed {swept.files:,} files of {swept.size:,} bytes"
        f" and {swept.log_entries:,} log entries"
    )
    if lake.sharing is not None:
        at_home = lake.sharing.sweep()
        echo_folded(f"removed {at_home.objects:,} objects of {at_home.size:,} bytes from the home")


@lake.command("clone")
@click.argument("url")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option(
    "--address",
    "known",
    multiple=True,
    metavar="URL",
    help="Accept this address from the lake; a script must give every address.",
)
def clone(url: str, folder: str, known: tuple[str, ...]) -> None:
    """Create a workspace in FOLDER on the shared lake at URL, and pull it.

    URL is s3://bucket/folder, az://container/folder, gs://bucket/folder or a folder; the credential
    comes from the environment. The services' addresses come from the lake and are shown for
    confirmation on a terminal. A script gives each with --address, except those of a sandbox.
    """
    from treasury.workspace.upkeep.lake_clone import clone_lake

    def agree(brought: Sequence[SecretSetting], settings: Settings) -> None:
        for setting in brought:
            click.echo(str(AddressDifference(setting, None)), err=True)
        if all(setting.value in known for setting in brought):
            return
        if terminal_question() is not None:
            click.confirm("Are these the right addresses for secrets?", abort=True, err=True)
        elif settings.workspace.environment != "sandbox":
            raise InputError(
                "the lake's settings have addresses that you have not confirmed: nothing was"
                " written",
                do="run this on a terminal, or give each with --address",
            )

    cloned = clone_lake(url, Path(folder), lambda path: Workspace(path).lake, agree)
    echo_folded(str(cloned))


@lake.command("pull")
@pass_view
def pull(view: CommandView) -> None:
    """Download missing files from the lake's home, verifying each hash."""
    echo_folded(str(_sharing(view).pull()))


@lake.command("push")
@pass_view
def push(view: CommandView) -> None:
    """Upload files that only this workspace has to the lake's home: the lake, staged work, pins.

    Commands that write do this automatically; run it the first time, and after being offline.
    """
    echo_folded(str(_sharing(view).push()))


def _sharing(view: CommandView) -> Sharing:
    sharing = view.workspace.lake.sharing
    if sharing is None:
        raise SettingsError(
            f"{view.workspace.folder} has no shared lake",
            do=f'add [lake] with home = "s3://bucket/folder", or a folder, to {FILE_NAME}',
        )
    return sharing


@lake.command("pin")
@click.option("--why", required=True, help="The purpose, for example `October 2026 closed`.")
@click.option("--commit", type=int, help="The commit's number; default: the last one.")
@pass_view
def pin(view: CommandView, why: str, commit: int | None) -> None:
    """Keep a commit's files permanently, so that it stays readable."""
    workspace = view.workspace
    pinned = workspace.lake.pin(why, workspace.now(), commit=commit)
    echo_folded(f"commit {pinned.commit.number} of {pinned.commit.at:%F %T}Z is kept: {pinned.why}")


@lake.command("unpin")
@click.argument("commit", type=int)
@pass_view
def unpin(view: CommandView, commit: int) -> None:
    """Unpin COMMIT; refused if a closed month depends on it."""
    view.workspace.lake.unpin(commit)
    echo_folded(f"commit {commit} is no longer kept")
