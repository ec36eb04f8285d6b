"""The commands about what is stored: its dictionary, its changes, its health and its upkeep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa
import pyarrow.compute as pc

from treasury.cli.commands.desk import workspace_of
from treasury.cli.output import format_option, print_options, print_rows, view_options
from treasury.errors import SettingsError
from treasury.settings import FILE_NAME
from treasury.workspace import Workspace

if TYPE_CHECKING:
    from treasury.lake.home.sharing import Sharing

__all__ = ["changes", "doctor", "durations", "lake", "tables"]


@click.command()
@click.argument("name", required=False)
@format_option
def tables(name: str | None, form: str) -> None:
    """List the tables, or every column of table NAME: meaning, unit, source."""
    from treasury.desk.dictionary import column_rows, table_rows

    rows = table_rows() if name is None else column_rows(name)
    columns = () if name is None else ("column", "type", "unit", "meaning", "source", "section")
    print_rows(rows, form, columns=columns, title=name or "Tables")


@click.command()
@click.argument("table")
@click.option("--since", required=True, metavar="INSTANT", help="After then: 2026-10-31T23:00Z.")
@click.option("--until", metavar="INSTANT", help="Up to then; the last commit if not given.")
@view_options
def changes(
    context: click.Context,
    *,
    table: str,
    since: str,
    until: str | None,
    as_of: str | None,
    form: str,
) -> None:
    """List what changed in TABLE, from what to what: a row for each field."""
    rows = workspace_of(context, as_of).changes(table, since=since, until=until)
    print_rows(rows.arrow, form, title=f"Changes in {table}", empty="none")


@click.command()
@click.argument("table", default="ramp_requests")
@click.option("--status", help="Only this status, such as AWAITING_FUNDS.")
@view_options
def durations(
    context: click.Context, table: str, status: str | None, as_of: str | None, form: str
) -> None:
    """List how long each record of TABLE was in each status, and how that is known."""
    rows = workspace_of(context, as_of).status_durations(table).arrow
    if status is not None:
        rows = rows.filter(pc.equal(rows["status"], status))
    if form == "table":
        for name in ("seconds", "at_least", "at_most"):
            texts = pa.array(map(_span, rows[name].to_pylist()), pa.string())
            rows = rows.set_column(rows.column_names.index(name), name, texts)
        rows = rows.rename_columns(
            ["lasted" if name == "seconds" else name for name in rows.column_names]
        )
    print_rows(rows, form, title=f"Durations in {table}")


def _span(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    hours, minutes = divmod(seconds // 60, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02}:{minutes:02}" if days else f"{hours:02}:{minutes:02}"


@click.command()
@click.option("--repair", is_flag=True, help="Put together what is damaged from what is left.")
@click.option(
    "--accept-loss",
    multiple=True,
    metavar="TABLE",
    help="Ask no more for what a repair could not find again of TABLE.",
)
@print_options
def doctor(context: click.Context, repair: bool, accept_loss: tuple[str, ...], form: str) -> None:
    """Say what is there, what is missing or damaged, and the next step of each."""
    examination = workspace_of(context).doctor(repair=repair, accept_loss=accept_loss)
    if form == "table":
        click.echo(str(examination))
    else:
        print_rows(examination.arrow, form)
    if examination.damaged:
        sys.exit(3)


@click.group()
def lake() -> None:
    """Look at the stored tables and keep them in shape."""


@lake.command("status")
@print_options
def lake_status(context: click.Context, form: str) -> None:
    """Show size, files, rows, the last runs, and what is kept for whom."""
    from treasury.lake import lake_status as status_of

    status = status_of(workspace_of(context).lake)
    print_rows(status.tables, form, title="Stored tables", empty="nothing is stored yet")
    if form == "table":
        click.echo(str(status))


@lake.command("sweep")
@click.pass_context
def sweep(context: click.Context) -> None:
    """Remove superseded files that nobody needs; happens by itself after some commits.

    In the lake's home, what no head of the last day names and is older than that.
    """
    lake = workspace_of(context).lake
    swept = lake.sweep()
    click.echo(
        f"removed {swept.files:,} files of {swept.size:,} bytes"
        f" and {swept.log_entries:,} log entries"
    )
    if lake.sharing is not None:
        at_home = lake.sharing.sweep()
        click.echo(f"removed {at_home.objects:,} objects of {at_home.size:,} bytes from the home")


@lake.command("clone")
@click.argument("url")
@click.argument("folder", type=click.Path(file_okay=False))
def clone(url: str, folder: str) -> None:
    """Begin a workspace in FOLDER on the lake whose home is at URL, and pull it.

    URL is s3://bucket/folder, az://container/folder, gs://bucket/folder or a folder; the credential
    comes from the environment.
    """
    from treasury.desk.lake_clone import clone_lake

    click.echo(str(clone_lake(url, Path(folder), lambda path: Workspace(path).lake)))


@lake.command("pull")
@click.pass_context
def pull(context: click.Context) -> None:
    """Bring from the lake's home what this desk lacks, each file compared with its hash."""
    click.echo(str(_sharing(context).pull()))


@lake.command("push")
@click.pass_context
def push(context: click.Context) -> None:
    """Bring to the lake's home what only this desk has: the lake itself, staged work, pins.

    Verbs that write do so by themselves; this is for the first time, and after having been offline.
    """
    click.echo(str(_sharing(context).push()))


def _sharing(context: click.Context) -> Sharing:
    workspace = workspace_of(context)
    if workspace.lake.sharing is None:
        raise SettingsError(
            f"{workspace.folder} shares its lake with nobody",
            do=f'add [lake] with home = "s3://bucket/folder", or a folder, to {FILE_NAME}',
        )
    return workspace.lake.sharing


@lake.command("pin")
@click.option("--why", required=True, help="What it is kept for: October 2026 closed.")
@click.option("--commit", type=int, help="The commit's number; the last one if not given.")
@click.pass_context
def pin(context: click.Context, why: str, commit: int | None) -> None:
    """Keep a commit readable, file by file, for good."""
    workspace = workspace_of(context)
    pinned = workspace.lake.pin(why, workspace.now(), commit=commit)
    click.echo(f"commit {pinned.commit.number} of {pinned.commit.at:%F %T}Z is kept: {pinned.why}")


@lake.command("unpin")
@click.argument("commit", type=int)
@click.pass_context
def unpin(context: click.Context, commit: int) -> None:
    """Let pinned COMMIT go; one that a closed month rests on stays."""
    workspace_of(context).lake.unpin(commit)
    click.echo(f"commit {commit} is no longer kept")
