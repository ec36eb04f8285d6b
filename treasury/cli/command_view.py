"""What a command is given: the workspace that it is about, the form of its answer, the month.

A month is written after a command or as --month; it is the last one that ended if not given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click
import pyarrow as pa

from treasury.cli.address_question import terminal_question
from treasury.cli.output import as_of_option, format_option, print_rows
from treasury.core.tables.table import Tables
from treasury.core.text import clean
from treasury.workspace import Workspace, find_workspace

Command = Callable[..., Any]


_LAST = "the last one that ended if not given."
month_option = click.option("--month", metavar="YYYY-MM", help=f"The month; {_LAST}")
"""--month alone, for a command that takes other names after it."""


class CommandView:
    """A workspace as the options of a command line say it: which, as known when, printed how."""

    def __init__(self, context: click.Context, form: str = "table", as_of: str | None = None):
        self.context = context
        self.form = form
        self.as_of = as_of
        self.zone: ZoneInfo | None = None
        """The desk's, in which instants are printed; None until the workspace is opened."""

    @property
    def folder(self) -> Path:
        """The workspace's folder."""
        return Path(self.context.obj) if self.context.obj else find_workspace()

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace, or the view of it as known at the instant that was given."""
        workspace = Workspace(self.folder, ask=terminal_question())
        self.zone = workspace.settings.zone
        return workspace.at(self.as_of) if self.as_of else workspace

    @property
    def is_table(self) -> bool:
        """Whether a person reads the answer, not a program."""
        return self.form == "table"

    def rows(self, table: pa.Table, **how: Any) -> None:
        """Print rows in the form that was asked for, as `print_rows` does."""
        print_rows(table, self.form, zone=self.zone, **how)

    def report(self, report: Tables) -> None:
        """Print what a verb did: its own sentences for a person, its first sheet for a program."""
        if self.is_table:
            click.echo(str(report))
        else:
            self.rows(report.arrow)

    def notes(self, notes: Iterable[object]) -> None:
        """Say on standard error what stands beside the rows."""
        for note in notes:
            click.echo(clean(str(note)), err=True)


def pass_view(function: Command) -> Command:
    """Give a command a `CommandView` of its options `--format` and `--as-of`, if it has them."""

    @click.pass_context
    @wraps(function)
    def command(
        context: click.Context,
        /,
        *arguments: Any,
        form: str = "table",
        as_of: str | None = None,
        **options: Any,
    ) -> Any:
        return function(CommandView(context, form, as_of), *arguments, **options)

    return command


def print_options(function: Command) -> Command:
    """What a command that prints rows is given: the view, by the option `--format`."""
    return format_option(pass_view(function))


def view_options(function: Command) -> Command:
    """What a command that only looks is given: the view, by `--format` and `--as-of`."""
    return as_of_option(print_options(function))


def by_two_people(
    subject: str, proposed: str, *, title: str, empty: str
) -> Callable[[Command], Command]:
    """Terms that hand out `propose`, `accept` and `list`, as options of a command that has them.

    `subject` is what `--propose` proposes, `proposed` what `--reason` says the reason of.
    """

    def command_of(terms_of: Command) -> Command:
        @click.option("--propose", is_flag=True, help=f"Propose {subject} in policy.toml.")
        @click.option("--accept", is_flag=True, help="Put what a colleague proposed in force.")
        @click.option("--reason", default="", help=f"Why {proposed} proposed; it is journaled.")
        @view_options
        @wraps(terms_of)
        def command(view: CommandView, propose: bool, accept: bool, reason: str) -> None:
            if propose and accept:
                raise click.UsageError("--propose and --accept are for two people")
            if reason and not propose:
                raise click.UsageError("--reason goes with --propose")
            terms = terms_of(view.workspace)
            rows = terms.propose(reason) if propose else terms.accept() if accept else terms.list()
            view.rows(rows.arrow, title=title, empty=empty)

        return command

    return command_of


def month_argument(function: Command) -> Command:
    """MONTH or --month, which the command gets as `month`."""
    return _either(function, "YYYY-MM", month_option)


def months_argument(function: Command) -> Command:
    """MONTHS or --month, one month or the first and the last of several, as `month`."""
    written, help_text = "YYYY-MM[..YYYY-MM]", f"The month, or the first and the last; {_LAST}"
    return _either(function, written, click.option("--month", metavar=written, help=help_text))


def _either(function: Command, written: str, option: Command) -> Command:
    @wraps(function)
    def command(*given: Any, month: str | None, written_month: str | None, **more: Any) -> Any:
        if month is not None and written_month not in {None, month}:
            raise click.UsageError(f"two months are given, {written_month} and {month}: give one")
        return function(*given, month=month or written_month, **more)

    return click.argument("written_month", metavar=f"[{written}]", required=False)(option(command))
