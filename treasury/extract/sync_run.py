"""One sync while it runs: the threads that ask, the writer that stores, what there is to report.

Threads only ask the service; everything is collected and stored by the one thread that started the
sync, so neither the lake's writer nor a progress bar has to bear several threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

import msgspec
import pyarrow as pa

from treasury.core.errors import Forbidden, NotFound, NotOffered, ServiceError
from treasury.core.tables.column_types import schema_of
from treasury.core.tables.table import Table, Tables
from treasury.extract import completeness
from treasury.extract.completeness import SyncFinding
from treasury.extract.fetched_rows import FetchedRows
from treasury.extract.new_fields import FieldWatch
from treasury.extract.record_rows import Form, Received, first_of_each, rows
from treasury.lake import Writer

if TYPE_CHECKING:
    from treasury.api import Client

P = ParamSpec("P")
Q = TypeVar("Q")
T = TypeVar("T")

REFUSED = (Forbidden, NotOffered, NotFound)
"""Answers that leave a table as it was: the credential may not, or the service cannot."""


class Progress(Protocol):
    """A display of how far a sync is; called by one thread only."""

    def start(self, task: str, total: int) -> None:
        """`task`, a table's name, begins and has `total` steps."""

    def advance(self, task: str) -> None:
        """One step is done."""

    def finish(self, task: str) -> None:
        """The task is done."""


class Silent:
    """Progress that nobody watches."""

    def start(self, task: str, total: int = 0) -> None:
        """Show nothing."""

    advance = finish = start


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the services that a sync reads; by default all that can have changed."""

    tables: frozenset[str] | None = None
    """The tables to bring up to date; None for all of them."""

    since: date | None = None
    """List what was created from this day on, also where we hold newer records."""

    full: bool = False
    """Compare everything with the service, settled records too, and report the drift."""

    details: int | None = None
    """At most so many details of older settled requests; the rest wait for the next sync."""

    def has(self, *tables: str) -> bool:
        """Whether one of the tables is looked at."""
        return self.tables is None or any(name in self.tables for name in tables)


class TableReport(msgspec.Struct, frozen=True):
    """Records that a sync found new, changed, unchanged and gone in one table.

    `observed` counts what was looked at once more, as a balance is, whether it moved or not.
    """

    table: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    vanished: int = 0
    observed: int = 0

    @property
    def summary(self) -> str:
        """The counts of new, changed and vanished records in words; empty where all are 0."""
        parts = ((getattr(self, name), name) for name in ("new", "changed", "vanished"))
        return ", ".join(f"{count:,} {name}" for count, name in parts if count)


class Skipped(msgspec.Struct, frozen=True):
    """A table that is, or in part is, as it was before, and why."""

    table: str
    why: str


class Unoffered(msgspec.Struct, frozen=True):
    """A list of a table that the service itself says it does not have; stored rows stay."""

    table: str
    operation: str

    @property
    def sentence(self) -> str:
        """The sentence that screens show."""
        return f"{self.table}: not offered by the service: {self.operation}; stored records stay"


class Drift(msgspec.Struct, frozen=True):
    """A difference that only a full comparison could find.

    `kind`: `changed` (settled, and yet not the same), `late` (listed now, though it is older than
    what we held), `vanished` (listed no more). `examples` are ids.
    """

    table: str
    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.table}: drift: {self.count:,} {self.kind} ({', '.join(self.examples)}{more})"


class SyncReport(Tables, msgspec.Struct, frozen=True):
    """The report of one sync; `notices` are sentences about what a person should know."""

    at: datetime
    tables: tuple[TableReport, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]
    drift: tuple[Drift, ...] | None = None
    """What a full comparison found; None where none was made."""
    unoffered: tuple[Unoffered, ...] = ()
    """Lists that this generation of a service does not have: their tables are whole without."""

    def sheets(self) -> Mapping[str, Table]:
        """A row for each table, each that was left as it was, and each list not offered."""
        sheets: dict[str, tuple[Sequence[msgspec.Struct], type[msgspec.Struct]]] = {
            "Tables": (self.tables, TableReport),
            "Left": (self.skipped, Skipped),
            "Not offered": (self.unoffered, Unoffered),
        }
        return {
            name: Table(
                pa.Table.from_pylist([msgspec.structs.asdict(row) for row in rows], schema_of(kind))
            )
            for name, (rows, kind) in sheets.items()
        }

    @property
    def sql(self) -> str:
        """The query of every commit that is stored."""
        return 'SELECT * FROM commits ORDER BY "at"'

    def __str__(self) -> str:
        """The sums in a line; then a line for each changed table, each left out and each notice."""
        sums = {
            name: sum(getattr(table, name) for table in self.tables)
            for name in ("new", "changed", "vanished", "observed")
        }
        observed = sums.pop("observed")
        rows = ", ".join(f"{count:,} {name}" for name, count in sums.items())
        rows += f"; {observed:,} observed" if observed else ""
        count = f"{len(self.tables)} table{'' if len(self.tables) == 1 else 's'}"
        differing = (f"{table.table}: {table.summary}" for table in self.tables if table.summary)
        skipped = (f"{skip.table}: left as it was, {skip.why}" for skip in self.skipped)
        unoffered = (unoffered.sentence for unoffered in self.unoffered)
        drift = [str(drift) for drift in self.drift or ()]
        if self.drift == ():
            drift = ["full comparison: what was stored is what the services have"]
        if self.drift is not None and self.skipped:
            names = ", ".join(skip.table for skip in self.skipped)
            differences = (
                drift if self.drift else ["full comparison: no drift in what could be read"]
            )
            drift = [*differences, f"not all of it was compared: {names}"]
        lines = (f"{count}: {rows}", *differing, *skipped, *unoffered, *self.notices, *drift)
        return "\n".join(lines)


@contextmanager
def asking(workers: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that drops what has not begun as soon as something goes wrong."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="sync")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


PATIENCE = 1.0
"""Seconds for which an answer is waited for before other work is looked at."""
_AHEAD = 32
"""Questions under way or answered and not yet looked at: what bounds the memory of a long sync."""


class SyncRun:
    """A sync under way."""

    def __init__(
        self,
        client: Client,
        fetched: FetchedRows,
        pool: ThreadPoolExecutor,
        progress: Progress,
        *,
        scope: Scope,
        staging: Path,
        meanwhile: Callable[[], None],
    ) -> None:
        self.client = client
        self.fetched = fetched
        self.scope = scope
        self.staging = staging
        """A folder for what is fetched and not committed yet."""
        self.progress = progress
        self._pool = pool
        self._meanwhile = meanwhile
        self._skipped: dict[str, str] = {}
        self._unoffered: dict[Unoffered, None] = {}
        self._notices: dict[str, None] = {}
        self.fields = FieldWatch()
        self._counts: dict[str, SyncFinding] = {}

    def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Ask in another thread."""
        return self._pool.submit(question, *args, **kwargs)

    def answer(self, future: Future[T]) -> T:
        """The answer, once it is there; while it is waited for, other work of the desk is done."""
        while True:
            wait([future], timeout=PATIENCE)
            self._meanwhile()
            if future.done():
                return future.result()

    def answers(
        self, question: Callable[[Q], T], about: Iterable[Q], *, ahead: int = _AHEAD
    ) -> Iterator[T]:
        """The answers about one thing after the other, in order, some asked ahead."""
        subjects = iter(about)
        waiting = deque(self.ask(question, subject) for subject in islice(subjects, ahead))
        while waiting:
            answer = self.answer(waiting.popleft())
            waiting.extend(self.ask(question, subject) for subject in islice(subjects, 1))
            yield answer

    def collect(self, form: Form, answers: Sequence[Future[list[T]]]) -> tuple[list[T], bool]:
        """What the answers hold, and whether all came; those refused are left out and reported."""
        task = form.table.name
        self.progress.start(task, len(answers))
        records: list[T] = []
        complete = True
        for answer in answers:
            try:
                batch = self.answer(answer)
                records += batch
            except REFUSED as error:
                self.skip(form, error)
                complete = False
            self.progress.advance(task)
        self.progress.finish(task)
        return records, complete

    def store(self, form: Form, records: Iterable[Received], *, complete: bool = False) -> None:
        """Write records, each key once; `complete` where they are all that the service has."""
        distinct = first_of_each(rows(form, records), form.table.key)
        self.upsert(form, distinct, complete=complete)

    def upsert(
        self, form: Form, table: pa.Table, *, complete: bool = False, after_change: bool = False
    ) -> None:
        """Write rows, each key once; with `after_change` where those before them change some."""
        self.fields.look(form, table["raw"])
        self.fetched.upsert(form.table, table, complete=complete, after_change=after_change)

    def observe(self, form: Form, records: Iterable[Received]) -> None:
        """Add observations."""
        self.fetched.append(form.table, rows(form, records))

    def write(self, writer: Writer, tables: Sequence[str]) -> SyncReport:
        """Write everything that was fetched of the tables; the report adds up what it changed."""
        written = self.fetched.write(writer, (*tables, completeness.SYNC_FINDINGS.name))
        return SyncReport(
            at=writer.now,
            tables=tuple(
                TableReport(name, **counts)
                for name, counts in written.items()
                if name in tables  # the findings are said by themselves
            ),
            skipped=tuple(Skipped(name, why) for name, why in self._skipped.items()),
            notices=tuple(self._notices),
            unoffered=tuple(self._unoffered),
        )

    def skip(self, form: Form, error: ServiceError) -> None:
        """Remember that (part of) a table could not be had, or is not offered."""
        if not self.lacks(form, error):
            self._skipped.setdefault(form.table.name, error.what)

    def lacks(self, form: Form, error: ServiceError) -> bool:
        """Whether the service itself says that it does not have the list; that is remembered."""
        if not isinstance(error, NotOffered) or not error.by_service:
            return False
        self._unoffered[Unoffered(form.table.name, str(error.operation))] = None
        return True

    def notice(self, sentence: str) -> None:
        """Remember a sentence for the report, once."""
        self._notices[sentence] = None

    def notice_statuses(
        self, form: Form, statuses: Iterable[str | None], contract: frozenset[str]
    ) -> None:
        """Say which statuses are not in the contract: they count as open."""
        for status in sorted({str(status) for status in statuses} - contract):
            self.notice(f"{form.table.name}: status {status!r} is not known; it counts as open")

    def count(self, form: Form, name: str, listed: int, held: int) -> None:
        """Note that the service counts more records in a list than are held of it."""
        self._counts[name] = SyncFinding("count", form.table.name, name, listed, held)

    def write_findings(self) -> None:
        """Store what this sync could not see and does not know, and say it in the report.

        What stood of tables that were not looked at stays; of those that were, the fields do.
        """
        self.fields.close()
        stored = {
            finding.finding_id: finding
            for finding in completeness.stored_findings(self.fetched.base)
        }
        found = [
            *self._counts.values(),
            *(SyncFinding("refused", name, "", why=why) for name, why in self._skipped.items()),
            *(
                SyncFinding("field", name, path)
                for name, paths in self.fields.fields.items()
                for path in sorted(paths)
            ),
        ]
        for finding in found:
            is_news = finding.kind == "count" or finding.finding_id not in stored
            if is_news and finding.kind != "refused":  # what was left is said by itself
                self.notice(str(finding))
        stand = (
            name
            for name, finding in stored.items()
            if finding.kind == "field" or not self.scope.has(finding.table_name)
        )
        completeness.write_findings(self.fetched, found, stand=stand)
