"""The commands `sync`, `watch`, `notify` and `notices`."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from treasury.cli.command_view import CommandView, pass_view, print_options, view_options
from treasury.cli.layout import echo_folded
from treasury.cli.progress import TerminalProgress
from treasury.core.calendar import parse_day
from treasury.core.errors import InputError, NoticeError
from treasury.core.text import clean
from treasury.core.wording import instant_words

if TYPE_CHECKING:
    from treasury.workspace.upkeep.watch import PartState

SECONDS: Final = "%Y-%m-%d %H:%M:%S"
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Interval(click.ParamType[timedelta]):
    """A length of time, for example 30s, 5m or 2h."""

    name = "SPAN"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Parse the length of time, which is at least a second."""
        if isinstance(value, timedelta):
            return value
        read = re.fullmatch(r"([1-9]\d{0,5})([smhd])", str(value).strip(), re.ASCII)
        if read is None:
            self.fail(f"{value!r} is not a length of time like 30s, 5m or 2h", param, ctx)
        return timedelta(**{_UNITS[read[2]]: int(read[1])})


class Day(click.ParamType[date]):
    """A day, for example 2026-10-01, 01/10/2026 or 1 Oct 2026."""

    name = "YYYY-MM-DD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Parse the day."""
        try:
            return value if isinstance(value, date) else parse_day(str(value))
        except InputError as error:
            self.fail(f"{error.what}: {error.do}", param, ctx)


@click.command()
@click.option(
    "--credential", metavar="NAME", help="Read with this credential; default: the first one."
)
@click.option(
    "--tables", metavar="NAMES", help="Only these tables, separated by commas; default: all."
)
@click.option("--since", type=Day(), help="Also list records created on or after this day again.")
@click.option(
    "--full",
    is_flag=True,
    help="Compare everything, including settled records, and report differences.",
)
@click.option(
    "--details",
    type=click.IntRange(min=0),
    metavar="N",
    help="Read at most N older settled requests in detail; later syncs read the rest.",
)
@print_options
def sync(view: CommandView, tables: str | None, **scope: Any) -> None:
    """Download both services' records into the lake."""
    names = None if tables is None else [name.strip() for name in tables.split(",")]
    workspace = view.workspace
    with TerminalProgress() as progress:
        report = workspace.sync(tables=names, progress=progress, **scope)
    view.report(report)


@click.command()
@click.option(
    "--every",
    type=Interval(),
    default="5m",
    show_default=True,
    help="How often to query the services: 30s, 5m, 1h.",
)
@click.option(
    "--credential", metavar="NAME", help="Read with this credential; default: the first one."
)
@pass_view
def watch(view: CommandView, every: timedelta, credential: str | None) -> None:
    """Sync, read the inbox and send notices repeatedly until stopped.

    Each part runs independently: if a service or mail server does not answer, it is retried at
    growing intervals. Ctrl-C and SIGTERM stop it after the work in progress; a second one stops it
    at once.
    """
    workspace = view.workspace

    def tell(part: PartState) -> None:
        now = workspace.now().astimezone(workspace.settings.zone)
        sentence = part.trouble() or f"{part.name}: {part.brought}"
        if part.failures or part.brought != quiet.get(part.name):
            echo_folded(f"{instant_words(now, SECONDS)} {clean(sentence)}")
        quiet[part.name] = part.brought

    quiet = {"inbox": "no file", "notices": "no new items"}
    with _stopped_by_signal() as stop, TerminalProgress() as progress:
        workspace.watch(
            every=every, credential=credential, wait=stop.wait, tell=tell, progress=progress
        )
    now = workspace.now().astimezone(workspace.settings.zone)
    echo_folded(f"{instant_words(now, SECONDS)} stopped")


@click.command()
@click.option("--dry-run", is_flag=True, help="Show how many items each would get; send nothing.")
@pass_view
def notify(view: CommandView, dry_run: bool) -> None:
    """Send new items to the people and webhooks in the settings, once.

    Items that a channel already received are not sent to it again. Exits with 5 if a channel
    failed.
    """
    report = view.workspace.notices.send(dry_run=dry_run)
    echo_folded(str(report))
    if report.failures:
        raise SystemExit(NoticeError.exit_code)


@click.group()
def notices() -> None:
    """List the sent notices, and settle the doubtful ones."""


@notices.command("list")
@view_options
def notices_list(view: CommandView) -> None:
    """List every notice: recipient, time, number of items, state."""
    rows = view.workspace.notices.list().arrow
    view.rows(rows, title="Notices", empty="no notice was sent")


@notices.command("settle")
@click.argument("name", metavar="NOTICE")
@click.option(
    "--arrived", "state", flag_value="arrived", help="It arrived; do not send its items again."
)
@click.option("--lost", "state", flag_value="lost", help="It did not arrive; send its items again.")
@click.option("--reason", required=True, help="Source of your information; it is journaled.")
@pass_view
def notices_settle(
    view: CommandView, name: str, state: Literal["arrived", "lost"] | None, reason: str
) -> None:
    """Record whether NOTICE, as named by `notices list`, arrived."""
    if state is None:
        raise click.UsageError("give --arrived or --lost")
    notice = view.workspace.notices.settle(name, state, reason)
    echo_folded(f"{notice.id}: {notice.state}")


@contextmanager
def _stopped_by_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set, so that work in progress is finished first.

    A second signal stops the process at once; a running sync then stores nothing.
    """
    stop = threading.Event()

    def stop_once(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {
        number: signal.signal(number, stop_once) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
