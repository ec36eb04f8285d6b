"""The command line `treasury`, with the operations of the workspace as commands.

Every command that prints rows takes `--format table|json|csv|parquet`. An error is one line on
standard error with the next step, and a non-zero exit code.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from treasury import __version__
from treasury.cli.verbs import VERBS, Verbs
from treasury.core.errors import TreasuryError
from treasury.core.files.access import keep_to_user
from treasury.core.machine.terminal import guard_output, guarded_output

__all__ = ["main", "treasury"]


class _Guarded(click.Group):
    """The group of all commands; its output cannot control the terminal."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing their modules."""
        limit = formatter.width - 6 - max(map(len, VERBS))
        rows = [
            (name, click.Command(name, help=VERBS[name].about).get_short_help_str(limit))
            for name in sorted(VERBS)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run a command as click does, with control characters removed from the output."""
        with guarded_output():
            return super().main(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; with `--traceback`, print the traceback of its error."""
        try:
            return super().invoke(ctx)
        except TreasuryError as error:
            if ctx.params["traceback"]:
                click.echo(error.full_traceback(), err=True, nl=False)
            raise


@click.group(
    cls=_Guarded, commands=Verbs(), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="treasury %(version)s")
@click.option(
    "--workspace",
    "-w",
    envvar="TREASURY_WORKSPACE",
    type=click.Path(file_okay=False),
    help="Folder of the workspace; default: the nearest one.",
)
@click.option(
    "--verbose", "-v", is_flag=True, help="Log on standard error: the requests of a sync, and more."
)
@click.option("--traceback", is_flag=True, help="Print the traceback of an error.")
@click.pass_context
def treasury(context: click.Context, /, workspace: str | None, verbose: bool, **_: bool) -> None:
    """Close the month: pull, read the bank, reconcile, report, act."""
    # These settings apply until a workspace with other settings is opened.
    keep_to_user()
    context.obj = workspace
    if verbose:
        _show_log(context)


def _show_log(context: click.Context) -> None:
    """Print treasury's own log on standard error until the command ends.

    Other libraries stay silent: httpx logs whole addresses, with their queries.
    """
    log, handler = logging.getLogger("treasury"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)

    def end() -> None:
        log.removeHandler(handler)
        log.setLevel(level)

    context.call_on_close(end)


def main() -> None:
    """Run a command; print a usage error or TreasuryError as one line, and set the exit code."""
    guard_output()
    try:
        sys.exit(treasury(prog_name="treasury", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("treasury: stopped", err=True)
        sys.exit(1)
    except (click.ClickException, TreasuryError) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        line = " ".join(text.split())
        if isinstance(error, click.UsageError):
            path = error.ctx.command_path if error.ctx is not None else "treasury"
            line = f"{line.removesuffix('.')} - see `{path} --help`"
        click.echo(f"treasury: {line}", err=True)
        sys.exit(error.exit_code)
