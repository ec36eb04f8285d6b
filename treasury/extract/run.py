"""One sync while it runs: the threads that ask, the writer that stores, what there is to report.

Threads only ask the service; everything is collected and stored by the one thread that started the
sync, so neither the lake's writer nor a progress bar has to bear several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from treasury.api import Client
from treasury.errors import Forbidden, NotFound, NotOffered, ServiceError
from treasury.extract.rows import Form, Found, rows
from treasury.lake import Changes, Writer

__all__ = ["REFUSED", "Progress", "Run", "Silent", "Skipped", "SyncReport", "TableReport", "asking"]

P = ParamSpec("P")
T = TypeVar("T")

REFUSED = (Forbidden, NotOffered, NotFound)
"""Answers that leave a table as it was: the credential may not, or the service cannot."""


class Progress(Protocol):
    """Who wants to see how far a sync is; called by one thread only."""

    def start(self, task: str, total: int) -> None:
        """`task`, a table's name, begins and has `total` steps."""

    def advance(self, task: str) -> None:
        """One step is done."""

    def finish(self, task: str) -> None:
        """The task is done."""


class Silent:
    """Progress that nobody watches."""

    def start(self, task: str, total: int) -> None:
        """Show nothing."""

    def advance(self, task: str) -> None:
        """Show nothing."""

    def finish(self, task: str) -> None:
        """Show nothing."""


class TableReport(msgspec.Struct, frozen=True):
    """Rows that a sync found new, changed, unchanged and gone in one table."""

    table: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    vanished: int = 0


class Skipped(msgspec.Struct, frozen=True):
    """A table that is, or in part is, as it was before, and why."""

    table: str
    why: str


class SyncReport(msgspec.Struct, frozen=True):
    """What one sync did; `notices` are sentences about what a person should know."""

    at: datetime
    tables: tuple[TableReport, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]

    def __str__(self) -> str:
        """What changed in a line; then a line for each table left as it was and each notice."""
        sums = {
            name: sum(getattr(table, name) for table in self.tables)
            for name in ("new", "changed", "vanished")
        }
        rows = ", ".join(f"{count:,} {name}" for name, count in sums.items())
        left = (f"{one.table}: left as it was, {one.why}" for one in self.skipped)
        return "\n".join((f"{len(self.tables)} tables: {rows}", *left, *self.notices))


@contextmanager
def asking(workers: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that drops what has not begun as soon as something goes wrong."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="sync")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


class Run:
    """A sync under way."""

    def __init__(
        self, client: Client, writer: Writer, pool: ThreadPoolExecutor, progress: Progress
    ) -> None:
        self.client = client
        self.writer = writer
        self._pool = pool
        self._progress = progress
        self._changes: dict[str, Changes] = {}
        self._skipped: dict[str, str] = {}
        self._notices: dict[str, None] = {}

    def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Ask in another thread."""
        return self._pool.submit(question, *args, **kwargs)

    def collect(self, form: Form, answers: Sequence[Future[T]]) -> tuple[list[T], bool]:
        """The answers in order, and whether all came; those refused are left out and reported."""
        task = form.table.name
        self._progress.start(task, len(answers))
        came: list[T] = []
        for answer in answers:
            try:
                came.append(answer.result())
            except REFUSED as error:
                self.skip(form, error)
            self._progress.advance(task)
        self._progress.finish(task)
        return came, len(came) == len(answers)

    def store(self, form: Form, found: Iterable[Found], *, complete: bool = False) -> None:
        """Write records, each key once; `complete` where they are all that the service has."""
        changes = self.writer.upsert(form.table, rows(form, _once(form, found)), complete=complete)
        self._changes[form.table.name] = changes

    def observe(self, form: Form, found: Iterable[Found]) -> None:
        """Add observations."""
        added = self.writer.append(form.table, rows(form, found))
        self._changes[form.table.name] = Changes(new=added)

    def skip(self, form: Form, error: ServiceError) -> None:
        """Remember that (part of) a table could not be had."""
        self._skipped.setdefault(form.table.name, error.what)

    def notice(self, sentence: str) -> None:
        """Remember a sentence for the report, once."""
        self._notices[sentence] = None

    def notice_statuses(self, form: Form, found: Iterable[Found], known: frozenset[str]) -> None:
        """Say which statuses are not in the contract: they count as open."""
        strange = {str(record.value.status) for record in found} - known
        for status in sorted(strange):
            self.notice(f"{form.table.name}: status {status!r} is not known; it counts as open")

    def report(self) -> SyncReport:
        """What has been done so far."""
        return SyncReport(
            at=self.writer.now,
            tables=tuple(
                TableReport(name, c.new, c.changed, c.unchanged, c.vanished)
                for name, c in self._changes.items()
            ),
            skipped=tuple(Skipped(name, why) for name, why in self._skipped.items()),
            notices=tuple(self._notices),
        )


def _once(form: Form, found: Iterable[Found]) -> list[Found]:
    """Each key once, the first that came."""
    names = [column.name for column in form.table.columns]
    takes = [form.takes[names.index(name)] for name in form.table.key]
    kept: dict[tuple[object, ...], Found] = {}
    for record in found:
        kept.setdefault(tuple(take(record) for take in takes), record)
    return list(kept.values())
