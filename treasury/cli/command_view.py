"""Shared options of commands: the workspace, the output format, the month.

A month is given as an argument or as --month; the default is the last month that ended.
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
from treasury.cli.layout import echo_folded
from treasury.cli.output import as_of_option, format_option, print_rows
from treasury.core.tables.result_tables import Tables
from treasury.core.text import clean
from treasury.workspace import Workspace, find_workspace

Command = Callable[..., Any]


_LAST = "default: the last one that ended."
month_option = click.option("--month", metavar="YYYY-MM", help=f"The month; {_LAST}")
"""The option --month, for commands with other arguments."""


class CommandView:
    """The workspace of a command and its shared options: folder, instant, output format."""

    def __init__(self, context: click.Context, form: str = "table", as_of: str | None = None):
        self.context = context
        self.form = form
        self.as_of = as_of
        self.zone: ZoneInfo | None = None
        """The time zone in which instants are printed; None until the workspace is opened."""

    @property
    def folder(self) -> Path:
        """The workspace's folder."""
        return Path(self.context.obj) if self.context.obj else find_workspace()

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace, or with --as-of its read-only view at that instant."""
        workspace = Workspace(self.folder, ask=terminal_question())
        self.zone = workspace.settings.zone
        return workspace.at(self.as_of) if self.as_of else workspace

    @property
    def is_table(self) -> bool:
        """True for the output format `table`, which is for people."""
        return self.form == "table"

    def rows(self, table: pa.Table, **how: Any) -> None:
        """Print rows in the requested format, like `print_rows`."""
        print_rows(table, self.form, zone=self.zone, **how)

    def report(self, report: Tables) -> None:
        """Print a report: its text for a person, its first table for a program."""
        if self.is_table:
            echo_folded(str(report))
        else:
            self.rows(report.arrow)

    def notes(self, notes: Iterable[object]) -> None:
        """Print notes about the printed rows on standard error."""
        for note in notes:
            echo_folded(clean(str(note)), err=True)


def pass_view(function: Command) -> Command:
    """Pass a command a `CommandView`, made from its options `--format` and `--as-of`, if any."""

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


def item_filters(function: Command) -> Command:
    """Add the options `--owner`, `--currency` and `--min-amount` to a command that lists items."""
    for option in (
        click.option(
            "--min-amount",
            metavar="AMOUNT",
            help="Show only items of at least this amount (`10k`, `1,234.56`), in each currency.",
        ),
        click.option("--currency", metavar="CODE", help="Show only items in this currency."),
        click.option("--owner", metavar="NAME", help="Show only items of this owner."),
    ):
        function = option(function)
    return function


def print_options(function: Command) -> Command:
    """Add the option `--format` to a command that prints rows, and pass it a `CommandView`."""
    return format_option(pass_view(function))


def view_options(function: Command) -> Command:
    """Add `--format` and `--as-of` to a read-only command, and pass it a `CommandView`."""
    return as_of_option(print_options(function))


def by_two_people(
    subject: str, proposed: str, *, title: str, empty: str
) -> Callable[[Command], Command]:
    """Add the options `--propose`, `--accept` and `--reason` to a command for terms.

    The command's function returns an object with the methods `propose`, `accept` and `list`.
    `subject` and `proposed` complete the help texts of `--propose` and `--reason`.
    """

    def command_of(terms_of: Command) -> Command:
        @click.option("--propose", is_flag=True, help=f"Propose {subject} in policy.toml.")
        @click.option(
            "--accept", is_flag=True, help="Accept a colleague's proposal and put it in force."
        )
        @click.option("--reason", default="", help=f"Why {proposed} proposed; kept in the journal.")
        @view_options
        @wraps(terms_of)
        def command(view: CommandView, propose: bool, accept: bool, reason: str) -> None:
            if propose and accept:
                raise click.UsageError("--propose and --accept are for two different people")
            if reason and not propose:
                raise click.UsageError("--reason requires --propose")
            terms = terms_of(view.workspace)
            rows = terms.propose(reason) if propose else terms.accept() if accept else terms.list()
            view.rows(rows.arrow, title=title, empty=empty)

        return command

    return command_of


def month_argument(function: Command) -> Command:
    """Add the argument MONTH and the option --month; the command gets either as `month`."""
    return _either(function, "YYYY-MM", month_option)


def months_argument(function: Command) -> Command:
    """Add the argument MONTHS and the option --month, for a month or range passed as `month`."""
    written, help_text = "YYYY-MM[..YYYY-MM]", f"The month, or first..last; {_LAST}"
    return _either(function, written, click.option("--month", metavar=written, help=help_text))


def _either(function: Command, written: str, option: Command) -> Command:
    @wraps(function)
    def command(*given: Any, month: str | None, written_month: str | None, **more: Any) -> Any:
        if month is not None and written_month not in {None, month}:
            raise click.UsageError(f"two months are given, {written_month} and {month}: give one")
        return function(*given, month=month or written_month, **more)

    return click.argument("written_month", metavar=f"[{written}]", required=False)(option(command))
