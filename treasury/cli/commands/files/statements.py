"""`treasury statements`: read, prove and store bank files; list coverage and gaps."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow.compute as pc

from treasury.cli.command_view import Command, CommandView, pass_view, print_options
from treasury.cli.layout import echo_folded
from treasury.cli.output import as_of_option, format_option
from treasury.core.errors import InputError
from treasury.core.money import format_amount
from treasury.core.settings import FILE_NAME
from treasury.core.text import clean
from treasury.workspace import Workspace

if TYPE_CHECKING:
    from treasury.statements import Profile
    from treasury.statements.csv.csv_layout import CsvQuestion


def reading_options(function: Command) -> Command:
    """Add the argument FILES and the option `--account` to a command."""
    option = click.option(
        "--account", metavar="IBAN", help="Account of files that name none (CSV)."
    )
    files = click.argument("files", nargs=-1, required=True, type=click.Path())
    return files(option(function))


_profile_option = click.option(
    "--profile",
    type=click.Path(dir_okay=False),
    help="Read CSV with the profile in this file first.",
)


@click.group()
def statements() -> None:
    """Read bank statements and show what they prove.

    FILES are camt.052, .053 and .054, MT940, MT942, CODA, CFONB 120 or CSV of known banks, also in
    zip or gzip; folders and patterns are expanded, - is standard input. A bank's answer to a
    payment file (pain.002) is read too.
    """


@statements.command("read")
@reading_options
@_profile_option
@click.option(
    "--statements", "heads", is_flag=True, help="Print the statements, not their entries."
)
@print_options
def read_files(
    view: CommandView, files: tuple[str, ...], account: str | None, profile: str | None, heads: bool
) -> None:
    """Read FILES and print their entries; exit with 1 if one cannot be read. Nothing is stored."""
    from treasury.statements import read_statements

    reading = read_statements(files, profiles=_profiles(view, profile), account=account)
    if heads:
        view.rows(reading.statements.arrow, title="Statements", layout="statements")
    elif len(reading.entries) or not len(reading.statuses):
        # A program gets the bank's own codes, which matching reads.
        view.rows(
            reading.entries.arrow, title="Entries", layout="entries", as_stored=not view.is_table
        )
    if len(reading.statuses):
        view.rows(
            reading.statuses.arrow, layout="payment_statuses", title="Answers to payment files"
        )
    view.notes(reading.problems)
    if reading.lost_count or not reading.files:
        view.context.exit(1)


@statements.command("check")
@reading_options
@_profile_option
@print_options
def check_files(
    view: CommandView, files: tuple[str, ...], account: str | None, profile: str | None
) -> None:
    """Prove each of FILES; exit with 1 if a proof fails or a file is refused. Nothing is stored."""
    from treasury.statements import check_statements, read_statements
    from treasury.statements.field_values import declared_currencies

    folder = view.folder
    # Files can be read and checked without a workspace.
    workspace = Workspace(folder) if (folder / FILE_NAME).is_file() else None
    accounts = workspace.settings.accounts if workspace else ()
    declared = {account.account: account.source for account in accounts} if workspace else None
    profiles = _profiles(view, profile)
    currencies = workspace.settings.currencies if workspace else {}
    reading = read_statements(
        files,
        profiles=profiles,
        account=account,
        currencies=declared_currencies(declared or (), currencies),
        go_on=True,
    )
    checks = check_statements(reading, declared, currencies).arrow
    view.rows(checks, title="Statements", empty="none in these files")
    view.notes(reading.problems)
    # For a check, a refused file is a result and not an error.
    for error in reading.refused:
        click.echo(f"treasury: {clean(str(error))}", err=True)
    proved = checks["proved"].to_pylist()
    if reading.refused or reading.lost_count or not proved or not all(proved):
        view.context.exit(1)


@statements.command("add")
@reading_options
@print_options
def add_files(view: CommandView, files: tuple[str, ...], account: str | None) -> None:
    """Read FILES, prove each statement and store new ones; exit with 1 if a proof fails."""
    report = view.workspace.statements.add(files, account=account)
    view.report(report)
    if report.failed or report.statuses_lost:
        view.context.exit(1)


@statements.command("withdraw")
@click.argument("statement", metavar="ID")
@click.option("--reason", required=True, help="The reason; it is journaled with your name.")
@click.option("--dry-run", is_flag=True, help="Show the lines to withdraw; write nothing.")
@pass_view
def withdraw(view: CommandView, statement: str, reason: str, dry_run: bool) -> None:
    """Withdraw a stored statement, by its id or its file's name, so that its lines are ignored.

    Nothing is deleted: earlier views and closed months keep it, and adding its file again restores
    it.
    """
    workspace = view.workspace
    withdraw = partial(workspace.statements.withdraw, statement, reason=reason)
    planned = withdraw(dry_run=True)
    resting = workspace.rests_on(planned)
    for sentence in resting:
        echo_folded(sentence)
    if not dry_run and resting and sys.stdin.isatty():
        click.confirm("Withdraw the statement", abort=True)
    echo_folded(str(planned if dry_run else withdraw()))


@statements.command("confirm")
@click.argument("account", metavar="ACCOUNT")
@click.option(
    "--balance", required=True, help="The balance, for example `1234.50`; negative if overdrawn."
)
@click.option(
    "--date", "day", required=True, metavar="DAY", help="The day that ended with this balance."
)
@click.option("--source", required=True, help="Where the balance was read; stored with your name.")
@click.option("--currency", help="Currency, if the account is declared in several.")
@pass_view
def confirm(view: CommandView, account: str, balance: str, day: str, **where: Any) -> None:
    """Confirm the balance of your own ACCOUNT on a day without a statement."""
    statements = view.workspace.statements
    stated = statements.confirm(account, balance, day, **where).arrow.to_pylist()[0]
    amount = format_amount(stated["balance"], stated["currency"])
    echo_folded(f"{stated['account']} held {amount} at the end of {stated['balance_date']}")
    for row in statements.coverage().arrow.to_pylist():
        if (row["account"], row["currency"]) == (stated["account"], stated["currency"]):
            echo_folded(f"covered from {row['covered_from']} to {row['covered_to']}")
            for gap in row["gaps"]:
                echo_folded(f"missing: {gap}")


@statements.command("list")
@click.option(
    "--coverage", "reach", is_flag=True, help="Show only how far each account is covered."
)
@format_option
@as_of_option
@pass_view
def list_statements(view: CommandView, reach: bool) -> None:
    """List the stored statements and proofs, and how far each account is covered."""
    workspace = view.workspace
    if not reach:
        rows = workspace.statements.list().arrow
        if view.is_table:
            short = pc.utf8_slice_codeunits(rows["statement_id"], 0, _SHORT_ID)
            rows = rows.drop_columns(["statement_id"]).add_column(0, "id", short)
        view.rows(rows, layout="statement_list", title="Statements", empty="none stored yet")
    if reach or view.is_table:
        title = "Covered without a gap"
        reached = workspace.statements.coverage().arrow
        view.rows(reached, title=title, empty="no account is known")


@statements.command("profile")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--account", metavar="IBAN", help="The account, if the file names none.")
@click.option("--name", default="", help="Name of the profile; default: the file's name.")
@click.option(
    "--answer", "given", multiple=True, metavar="QUESTION=ANSWER", help="Answer an open question."
)
@click.option("--save", is_flag=True, help="Save the profile for use by `add`.")
@click.option(
    "--yes", is_flag=True, help="Save without prompting; not saved while a question is open."
)
@pass_view
def propose(
    view: CommandView, file: str, account: str | None, given: tuple[str, ...], **options: Any
) -> None:
    """Propose a profile for the CSV of an unknown bank, and show what it would read.

    On a terminal, prompts for everything ambiguous in the file, such as decimal signs and the
    direction of amounts. While a question is open, saves nothing and exits with 1.
    """
    from treasury.statements import propose_profile, sketch_profile, to_toml
    from treasury.statements.byte_stream import UnknownFormat

    answers = _answers(given)
    keeps, yes = options["save"] or options["yes"], options["yes"]
    proposed = partial(propose_profile, Path(file), options["name"], account=account)
    try:
        proposal = proposed(answers=answers)
        while proposal.questions and not yes and _is_terminal():
            question = proposal.questions[0]
            answers[question.name] = _asked(question)
            proposal = proposed(answers=answers)
    except UnknownFormat:
        click.echo(sketch_profile(Path(file)))
        view.context.exit(1)
    profile = proposal.profile
    status = (
        "known already" if proposal.is_known else "proposed; check that it reads the file correctly"
    )
    toml = to_toml(profile)
    if proposal.questions:
        # While questions are open, the profile is printed as comments, so that a copy of the output
        # cannot be used.
        status, toml = (
            "proposed; questions are open",
            "# " + toml.rstrip("\n").replace("\n", "\n# "),
        )
    click.echo(f"# {status}\n{toml}")
    for header, value in proposal.unused:
        click.echo(f"# not used: {clean(header)} ({clean(value)[:_LONGEST_VALUE]})")
    if proposal.questions:
        for question in proposal.questions:
            click.echo(_question_text(question))
            echo_folded(f"  answer it with --answer {question.name}=ANSWER")
        if keeps:
            click.echo("treasury: a question is open: nothing is saved", err=True)
        view.context.exit(1)
    view.rows(proposal.entries.slice(0, _SAMPLE_ROWS), title="It reads", layout="entries")
    view.rows(proposal.statements, title="It proves", layout="statements")
    view.notes(proposal.problems)
    if keeps and not proposal.is_known:
        _keep(view, profile)


def _answers(given: tuple[str, ...]) -> dict[str, str]:
    """Split QUESTION=ANSWER; raise InputError for any other text."""
    pairs = [text.partition("=") for text in given]
    for text, (question, equals, _) in zip(given, pairs, strict=True):
        if not question or not equals:
            raise InputError(f"{text!r} is not an answer", do="write it as QUESTION=ANSWER")
    return {question: answer for question, _, answer in pairs}


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _asked(question: CsvQuestion) -> str:
    click.echo(_question_text(question))
    words = [answer.word for answer in question.answers]
    numbers = click.IntRange(1, len(words))
    return words[click.prompt("Which", type=numbers) - 1]


def _question_text(question: CsvQuestion) -> str:
    lines = (
        f"  {number}. {clean(answer.word)}: {clean(answer.meaning)}"
        for number, answer in enumerate(question.answers, 1)
    )
    return "\n".join((f"{question.name}: {clean(question.text)}", *lines))


def _keep(view: CommandView, profile: Profile) -> None:
    from treasury.statements import to_toml
    from treasury.statements.csv.profiles import FOLDER

    folder = view.folder / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(char if char.isalnum() else "-" for char in profile.name)[:60]
    path = folder / f"{safe}.toml"
    path.write_text(to_toml(profile), "utf-8")
    click.echo(f"saved as {path}")


_LONGEST_VALUE = 40
_SAMPLE_ROWS = 10
_SHORT_ID = 8


def _profiles(view: CommandView, file: str | None) -> tuple[Profile, ...]:
    from treasury.statements.csv.profiles import FOLDER, load_profile, load_profiles

    chosen = (load_profile(Path(file)),) if file else ()
    return (*chosen, *load_profiles(view.folder / FOLDER))
