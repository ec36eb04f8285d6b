"""`treasury statements`: bank files read, proved, stored; how far they reach, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
import pyarrow as pa

from treasury.cli.output import format_option, print_rows
from treasury.settings import FILE_NAME
from treasury.text import clean
from treasury.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    from treasury.statements import Problem, Profile

__all__ = ["statements"]

P = ParamSpec("P")
R = TypeVar("R")


def reading_options(function: Callable[P, R]) -> Callable[P, R]:
    """FILES and how to read them."""
    for option in (
        click.option("--account", metavar="IBAN", help="Account of files that name none (CSV)."),
        click.argument("files", nargs=-1, required=True, type=click.Path()),
    ):
        function = option(function)
    return function


profile_option = click.option(
    "--profile", type=click.Path(dir_okay=False), help="Read CSV by the profile in this file first."
)


@click.group()
def statements() -> None:
    """Read bank statements and say what they prove.

    FILES are camt.052, .053 and .054, MT940, MT942 or CSV of known banks, also in zip or gzip;
    folders and patterns stand for what is in them, - for standard input.
    """


@statements.command("read")
@reading_options
@profile_option
@click.option("--statements", "heads", is_flag=True, help="The statements, not their entries.")
@format_option
@click.pass_context
def read_files(
    context: click.Context,
    *,
    files: tuple[str, ...],
    account: str | None,
    profile: str | None,
    heads: bool,
    form: str,
) -> None:
    """Read FILES and print their entries; nothing is stored."""
    from treasury.statements import read_statements

    reading = read_statements(files, profiles=_profiles(context, profile), account=account)
    if heads:
        print_rows(reading.statements, form, columns=HEAD_COLUMNS, title="Statements")
    else:
        print_rows(reading.entries, form, columns=ENTRY_COLUMNS, title="Entries")
    _tell(reading.problems)


ENTRY_COLUMNS = (
    "account",
    "booking_date",
    "direction",
    "amount",
    "entry_status",
    "counterparty_name",
    "counterparty_account",
    "end_to_end_id",
    "remittance",
    "inferred",
    "position",
)
HEAD_COLUMNS = (
    "file_name",
    "format",
    "account",
    "sequence_number",
    "opening_balance",
    "closing_balance",
    "entry_count",
    "proved",
    "proof",
)


@statements.command("check")
@reading_options
@profile_option
@format_option
@click.pass_context
def check_files(
    context: click.Context,
    files: tuple[str, ...],
    account: str | None,
    profile: str | None,
    form: str,
) -> None:
    """Prove FILES, each of them; exit with 1 if anything fails or is refused. Nothing is stored."""
    from treasury.statements import check_statements, read_statements

    workspace = _workspace(context)
    accounts = workspace.settings.accounts if workspace else ()
    declared = _declared(workspace) if workspace else None
    profiles = _profiles(context, profile)
    reading = read_statements(files, profiles=profiles, account=account, go_on=True)
    currencies = {account.account: account.currency for account in accounts}
    checks = check_statements(reading, declared, currencies)
    print_rows(checks, form, title="Statements", empty="none in these files")
    _tell(reading.problems)
    for error in reading.refused:  # a refused file is an answer to what was asked
        click.echo(f"treasury: {clean(str(error))}", err=True)
    if reading.refused or not checks.num_rows or not all(checks["proved"].to_pylist()):
        context.exit(1)


@statements.command("add")
@reading_options
@click.pass_context
def add_files(context: click.Context, files: tuple[str, ...], account: str | None) -> None:
    """Read FILES, prove each statement and store what is new."""
    report = Workspace(_folder(context)).statements.add(files, account=account)
    click.echo(str(report))


@statements.command("list")
@click.option("--coverage", "reach", is_flag=True, help="Only how far each account is covered.")
@format_option
@click.option("--as-of", metavar="INSTANT", help="As it was known then, like 2026-11-01T09:00Z.")
@click.pass_context
def list_statements(context: click.Context, reach: bool, form: str, as_of: str | None) -> None:
    """List the stored statements and proofs, and up to when each account is covered."""
    workspace = Workspace(_folder(context))
    if as_of:
        workspace = workspace.at(as_of)
    if not reach:
        rows = workspace.statements.list().arrow
        print_rows(rows, form, title="Statements", empty="none stored yet")
    if reach or form == "table":
        title = "Covered without a gap"
        print_rows(_coverage(workspace), form, title=title, empty="no account is known")


def _coverage(workspace: Workspace) -> pa.Table:
    """How far the statements of every account that we know of reach, at the present or then."""
    from treasury.statements import coverage

    stored = workspace.sql("SELECT * FROM statements").arrow
    ours = workspace.sql("SELECT iban FROM company_bank_accounts WHERE iban IS NOT NULL").arrow
    zone = workspace.settings.zone
    return coverage(
        stored,
        _declared(workspace),
        known=ours["iban"].to_pylist(),
        today=workspace.now().astimezone(zone).date(),
    )


@statements.command("profile")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--account", metavar="IBAN", help="The account, where the file names none.")
@click.option("--name", default="", help="What to call the profile; the file's name if not given.")
@click.option("--save", is_flag=True, help="Keep it in the workspace, so that `add` reads by it.")
@click.pass_context
def propose(context: click.Context, file: str, account: str | None, name: str, save: bool) -> None:
    """Propose a profile for the CSV of an unknown bank, and show what it would read."""
    from treasury.statements import propose_profile, to_toml

    proposal = propose_profile(Path(file), name, account=account)
    profile = proposal.profile
    known = "known already" if proposal.is_known else "proposed; look whether it reads right"
    click.echo(f"# {known}\n{to_toml(profile)}")
    print_rows(proposal.entries.slice(0, SHOWN), "table", columns=ENTRY_COLUMNS, title="It reads")
    print_rows(proposal.statements, "table", columns=HEAD_COLUMNS, title="It proves")
    _tell(proposal.problems)
    if save and not proposal.is_known:
        from treasury.statements.profiles import FOLDER

        folder = _folder(context) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        safe = "".join(char if char.isalnum() else "-" for char in profile.name)[:60]
        path = folder / f"{safe}.toml"
        path.write_text(to_toml(profile), "utf-8")
        click.echo(f"kept as {path}")


SHOWN = 10


def _folder(context: click.Context) -> Path:
    return Path(context.obj) if context.obj else find_workspace()


def _workspace(context: click.Context) -> Workspace | None:
    """The workspace, where there is one: reading and checking need none."""
    folder = _folder(context)
    return Workspace(folder) if (folder / FILE_NAME).is_file() else None


def _declared(workspace: Workspace) -> dict[str, str]:
    return {account.account: account.source for account in workspace.settings.accounts}


def _profiles(context: click.Context, given: str | None) -> tuple[Profile, ...]:
    from treasury.statements.profiles import FOLDER, load_profile, load_profiles

    named = (load_profile(Path(given)),) if given else ()
    return (*named, *load_profiles(_folder(context) / FOLDER))


def _tell(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        click.echo(clean(str(problem)), err=True)
