"""`treasury statements`: bank files read, proved, stored; how far they reach, what is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
import pyarrow.compute as pc

from treasury.cli.output import format_option, print_options, print_report, print_rows
from treasury.money import format_amount
from treasury.settings import FILE_NAME
from treasury.text import clean
from treasury.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    import pyarrow as pa

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

    FILES are camt.052, .053 and .054, MT940, MT942, CODA, CFONB 120 or CSV of known banks, also in
    zip or gzip; folders and patterns stand for what is in them, - for standard input. What a bank
    answers to a payment file (pain.002) is read beside them.
    """


@statements.command("read")
@reading_options
@profile_option
@click.option("--statements", "heads", is_flag=True, help="The statements, not their entries.")
@print_options
def read_files(
    context: click.Context,
    *,
    files: tuple[str, ...],
    account: str | None,
    profile: str | None,
    heads: bool,
    form: str,
) -> None:
    """Read FILES and print their entries; exit with 1 if one is not read. Nothing is stored."""
    from treasury.statements import read_statements

    reading = read_statements(files, profiles=_profiles(context, profile), account=account)
    if heads:
        _print_heads(reading.statements, form, "Statements")
    elif reading.entries.num_rows or not reading.statuses.num_rows:
        _print_entries(reading.entries, form, "Entries")
    if reading.statuses.num_rows:
        print_rows(reading.statuses, form, columns=STATUS_COLUMNS, title="Answers to payment files")
    _tell(reading.problems)
    if reading.lost_count or not reading.files:
        context.exit(1)


ENTRY_COLUMNS = (
    "account", "booking_date", "direction", "amount", "entry_status", "counterparty_name",
    "counterparty_account", "end_to_end_id", "remittance", "inferred", "position",
)  # fmt: skip
STATUS_COLUMNS = (
    "level", "original_message_id", "original_end_to_end_id", "status", "reasons", "details",
    "creditor_name", "amount", "currency", "created_at",
)  # fmt: skip
HEAD_COLUMNS = (
    "file_name", "format", "account", "sequence_number", "opening_balance", "closing_balance",
    "entry_count", "proved", "proof",
)  # fmt: skip


ENTRY_SPARE = (
    "position", "inferred", "end_to_end_id", "counterparty_account", "entry_status", "remittance",
    "counterparty_name",
)  # fmt: skip
HEAD_SPARE = ("proof", "format", "sequence_number", "entry_count", "file_name", "opening_balance")


def _print_entries(entries: pa.Table, form: str, title: str) -> None:
    print_rows(entries, form, columns=ENTRY_COLUMNS, spare=ENTRY_SPARE, title=title)


def _print_heads(heads: pa.Table, form: str, title: str) -> None:
    print_rows(heads, form, columns=HEAD_COLUMNS, spare=HEAD_SPARE, title=title)


@statements.command("check")
@reading_options
@profile_option
@print_options
def check_files(
    context: click.Context,
    files: tuple[str, ...],
    account: str | None,
    profile: str | None,
    form: str,
) -> None:
    """Prove FILES, each of them; exit with 1 if anything fails or is refused. Nothing is stored."""
    from treasury.statements import check_statements, read_statements
    from treasury.statements.field_values import declared_currencies

    folder = _folder(context)
    # Reading and checking need no workspace.
    workspace = Workspace(folder) if (folder / FILE_NAME).is_file() else None
    declared = _declared(workspace) if workspace else None
    profiles = _profiles(context, profile)
    currencies = workspace.settings.currencies if workspace else {}
    reading = read_statements(
        files,
        profiles=profiles,
        account=account,
        currencies=declared_currencies(declared or (), currencies),
        go_on=True,
    )
    checks = check_statements(reading, declared, currencies)
    print_rows(checks, form, title="Statements", empty="none in these files")
    _tell(reading.problems)
    for error in reading.refused:  # a refused file is an answer to what was asked
        click.echo(f"treasury: {clean(str(error))}", err=True)
    if reading.refused or not checks.num_rows or not all(checks["proved"].to_pylist()):
        context.exit(1)


@statements.command("add")
@reading_options
@print_options
def add_files(
    context: click.Context, files: tuple[str, ...], account: str | None, form: str
) -> None:
    """Read FILES, prove each statement and store what is new; exit with 1 if a proof fails."""
    report = Workspace(_folder(context)).statements.add(files, account=account)
    print_report(report, form)
    if report.failed or report.statuses_lost:
        context.exit(1)


@statements.command("withdraw")
@click.argument("statement", metavar="ID")
@click.option("--reason", required=True, help="Why it must not count; kept with your name.")
@click.option("--dry-run", is_flag=True, help="Say what would count no more; write nothing.")
@click.pass_context
def withdraw(context: click.Context, statement: str, reason: str, dry_run: bool) -> None:
    """Take a stored statement out of what counts, by its id or its file's name.

    Nothing is deleted: earlier views and closed months keep it, and adding its file again brings it
    back.
    """
    workspace = Workspace(_folder(context))
    withdraw = partial(workspace.statements.withdraw, statement, reason=reason)
    planned = withdraw(dry_run=True)
    resting = workspace.rests_on(planned)
    for sentence in resting:
        click.echo(sentence)
    if not dry_run and resting and sys.stdin.isatty():
        click.confirm("Withdraw the statement", abort=True)
    click.echo(str(planned if dry_run else withdraw()))


@statements.command("confirm")
@click.argument("account", metavar="ACCOUNT")
@click.option("--balance", required=True, help="What it held, like 1234.50; negative if overdrawn.")
@click.option("--date", "day", required=True, metavar="DAY", help="The day at whose end it did.")
@click.option("--source", required=True, help="Where it was read; kept with your name.")
@click.option("--currency", help="Which of its currencies, where it is declared in several.")
@click.pass_context
def confirm(
    context: click.Context,
    *,
    account: str,
    balance: str,
    day: str,
    source: str,
    currency: str | None,
) -> None:
    """State the balance of an ACCOUNT of ours for which the bank wrote no statement."""
    workspace = Workspace(_folder(context))
    stated = workspace.statements.confirm(
        account, balance, day, source=source, currency=currency
    ).arrow.to_pylist()[0]
    amount = format_amount(stated["balance"], stated["currency"])
    click.echo(f"{stated['account']} held {amount} at the end of {stated['balance_date']}")
    for row in workspace.statements.coverage().arrow.to_pylist():
        if (row["account"], row["currency"]) == (stated["account"], stated["currency"]):
            click.echo(f"covered from {row['covered_from']} to {row['covered_to']}")
            for gap in row["gaps"]:
                click.echo(f"missing: {gap}")


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
        if form == "table":
            short = pc.utf8_slice_codeunits(rows["statement_id"], 0, SHORT_ID)
            rows = rows.drop_columns(["statement_id"]).add_column(0, "id", short)
        print_rows(rows, form, spare=LIST_SPARE, title="Statements", empty="none stored yet")
    if reach or form == "table":
        title = "Covered without a gap"
        reached = workspace.statements.coverage().arrow
        print_rows(reached, form, title=title, empty="no account is known")


LIST_SPARE = ("proof", "file_name", "opening_date", "currency", "entry_count", "opening_balance")


@statements.command("profile")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--account", metavar="IBAN", help="The account, where the file names none.")
@click.option("--name", default="", help="What to call the profile; the file's name if not given.")
@click.option("--save", is_flag=True, help="Keep it in the workspace, so that `add` reads by it.")
@click.pass_context
def propose(context: click.Context, file: str, account: str | None, name: str, save: bool) -> None:
    """Propose a profile for the CSV of an unknown bank, and show what it would read."""
    from treasury.statements import propose_profile, sketch_profile, to_toml
    from treasury.statements.byte_stream import UnknownFormat

    try:
        proposal = propose_profile(Path(file), name, account=account)
    except UnknownFormat:
        click.echo(sketch_profile(Path(file)))
        context.exit(1)
    profile = proposal.profile
    status = "known already" if proposal.is_known else "proposed; look whether it reads right"
    click.echo(f"# {status}\n{to_toml(profile)}")
    _print_entries(proposal.entries.slice(0, SAMPLE_ROWS), "table", "It reads")
    _print_heads(proposal.statements, "table", "It proves")
    _tell(proposal.problems)
    if save and not proposal.is_known:
        from treasury.statements.csv.profiles import FOLDER

        folder = _folder(context) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        safe = "".join(char if char.isalnum() else "-" for char in profile.name)[:60]
        path = folder / f"{safe}.toml"
        path.write_text(to_toml(profile), "utf-8")
        click.echo(f"kept as {path}")


SAMPLE_ROWS = 10
SHORT_ID = 8


def _folder(context: click.Context) -> Path:
    return Path(context.obj) if context.obj else find_workspace()


def _declared(workspace: Workspace) -> dict[str, str]:
    return {account.account: account.source for account in workspace.settings.accounts}


def _profiles(context: click.Context, file: str | None) -> tuple[Profile, ...]:
    from treasury.statements.csv.profiles import FOLDER, load_profile, load_profiles

    chosen = (load_profile(Path(file)),) if file else ()
    return (*chosen, *load_profiles(_folder(context) / FOLDER))


def _tell(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        click.echo(clean(str(problem)), err=True)
