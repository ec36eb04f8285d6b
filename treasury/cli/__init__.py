"""The command line: the verbs of the workspace, in a shell.

Every command that prints rows takes `--format table|json|csv|parquet`. An error is one line on
standard error that says what to do next, and an exit code that is not 0.
"""

from __future__ import annotations

import sys

import click

from treasury import __version__
from treasury.cli.actions import actions, journal
from treasury.cli.close import close, verify
from treasury.cli.decide import compare, match, periods, request, rules
from treasury.cli.desk import (
    awaiting_funds,
    fees,
    init,
    reconcile,
    sql,
    status,
    trace,
)
from treasury.cli.export import export
from treasury.cli.lake import changes, doctor, durations, lake, tables
from treasury.cli.practice import demo, practice, sandbox
from treasury.cli.statements import statements
from treasury.cli.sync import sync
from treasury.cli.wallets import wallets
from treasury.errors import TreasuryError

__all__ = ["main", "treasury"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="treasury %(version)s")
@click.option(
    "--workspace",
    "-w",
    envvar="TREASURY_WORKSPACE",
    type=click.Path(file_okay=False),
    help="Folder of the workspace; the nearest one where not given.",
)
@click.pass_context
def treasury(context: click.Context, workspace: str | None) -> None:
    """Close the month: pull, read the bank, reconcile, report, act."""
    context.obj = workspace


for command in (
    init,
    demo,
    practice,
    sandbox,
    sync,
    statements,
    wallets,
    reconcile,
    awaiting_funds,
    trace,
    fees,
    export,
    match,
    request,
    rules,
    periods,
    compare,
    close,
    verify,
    status,
    sql,
    tables,
    changes,
    durations,
    doctor,
    lake,
    actions,
    journal,
):
    treasury.add_command(command)


def main() -> None:
    """Run a command; whatever it cannot do becomes one line and an exit code."""
    try:
        sys.exit(treasury(prog_name="treasury", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "treasury"
        click.echo(
            f"treasury: {_line(error.format_message()).removesuffix('.')} - see `{path} --help`",
            err=True,
        )
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"treasury: {_line(error.format_message())}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("treasury: stopped", err=True)
        sys.exit(1)
    except TreasuryError as error:
        click.echo(f"treasury: {_line(str(error))}", err=True)
        sys.exit(error.exit_code)


def _line(text: str) -> str:
    return " ".join(text.split())
