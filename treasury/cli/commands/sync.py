"""The command `sync`: once, or again and again until it is stopped."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import Any, Final

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.output import print_options, print_report
from treasury.cli.progress import TerminalProgress
from treasury.extract import WatchState, watch
from treasury.ground.wording import instant_words

__all__ = ["sync"]

SECONDS: Final = "%Y-%m-%d %H:%M:%S"
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class Span(click.ParamType[timedelta]):
    """A length of time, like 30s, 5m or 2h."""

    name = "SPAN"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """The span; at least a second."""
        if isinstance(value, timedelta):
            return value
        read = re.fullmatch(r"([1-9]\d{0,5})([smhd])", str(value).strip(), re.ASCII)
        if read is None:
            self.fail(f"{value!r} is not a length of time like 30s, 5m or 2h", param, ctx)
        return timedelta(**{UNITS[read[2]]: int(read[1])})


class Day(click.ParamType[date]):
    """A day, like 2026-10-01."""

    name = "YYYY-MM-DD"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day."""
        try:
            return value if isinstance(value, date) else date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a day like 2026-10-01", param, ctx)


@click.command()
@click.option("--credential", metavar="NAME", help="Read with this credential; the first if not.")
@click.option(
    "--tables", metavar="NAMES", help="Only these tables, with commas between; all if not given."
)
@click.option("--since", type=Day(), help="List again what was created from this day on.")
@click.option(
    "--full", is_flag=True, help="Compare everything, settled records too, and report the drift."
)
@click.option(
    "--details",
    type=click.IntRange(min=0),
    metavar="N",
    help="Read at most N older settled requests in detail; the rest waits for later syncs.",
)
@click.option("--watch", "every", type=Span(), help="Sync again every 5m, 1h, … until stopped.")
@print_options
def sync(
    context: click.Context,
    *,
    credential: str | None,
    tables: str | None,
    since: date | None,
    full: bool,
    details: int | None,
    every: timedelta | None,
    form: str,
) -> None:
    """Pull what both services know into the lake."""
    if every is not None and form != "table":
        raise click.UsageError("--format is for one sync, and --watch goes on")
    workspace = workspace_of(context)
    names = None if tables is None else [name.strip() for name in tables.split(",")]

    def once() -> Any:
        with TerminalProgress() as progress:
            return workspace.sync(
                tables=names,
                since=since,
                full=full,
                details=details,
                credential=credential,
                progress=progress,
            )

    if every is None:
        print_report(once(), form)
    else:
        with _stopped_by_signal() as stop:
            watch(
                once,
                workspace.folder,
                every=every,
                now=workspace.now,
                wait=stop.wait,
                tell=lambda state: _tell(
                    state, workspace.now().astimezone(workspace.settings.zone)
                ),
            )


def _tell(state: WatchState, now: datetime) -> None:
    """A line for each sync that ended, one way or the other; `now` is in the desk's zone."""
    if state.doing == "waiting":
        sentence = f"failed: {state.error}" if state.failures else state.brought
        click.echo(f"{instant_words(now, SECONDS)} {sentence}")
    elif state.doing == "stopped":
        click.echo(f"{instant_words(now, SECONDS)} stopped")


@contextmanager
def _stopped_by_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set: a sync under way is finished before the end.

    Whoever asks twice does not want to wait for that either; then nothing of it is stored.
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
