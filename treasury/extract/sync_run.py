"""The state of a running sync: its threads, its fetched rows and its report.

Worker threads only call the service. The thread that started the sync collects and stores all rows,
so the lake's writer and a progress bar need not be thread-safe.
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
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
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
"""Errors that leave a table unchanged, because the credential may not read it or it does not
exist."""


class Progress(Protocol):
    """A progress display; called by one thread only."""

    def start(self, task: str, total: int) -> None:
        """Start `task`, named after a table, with `total` steps."""

    def advance(self, task: str) -> None:
        """Mark one step as done."""

    def finish(self, task: str) -> None:
        """Mark the task as done."""


class Silent:
    """A progress display that shows nothing."""

    def start(self, task: str, total: int = 0) -> None:
        """Accept a task without showing it."""

    advance = finish = start


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The records that a sync reads; by default all that may have changed."""

    tables: frozenset[str] | None = None
    """The tables to bring up to date; None for every table."""

    since: date | None = None
    """Also list all records created from this day on, even if newer records are stored."""

    full: bool = False
    """Compare all records with the service, including settled ones, and report the differences."""

    details: int | None = None
    """Maximum number of older settled requests whose details are fetched; None for all. Later syncs
    fetch the rest.
    """

    def has(self, *tables: str) -> bool:
        """Return True if one of the tables is in scope."""
        return self.tables is None or any(name in self.tables for name in tables)


class TableReport(msgspec.Struct, frozen=True):
    """Counts of new, changed, unchanged and vanished records of one table in a sync.

    `observed` counts repeated observations, such as balances, whether they changed or not.
    """

    table: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    vanished: int = 0
    observed: int = 0

    @property
    def summary(self) -> str:
        """The counts of new, changed and vanished records in words; empty if all are 0."""
        parts = ((getattr(self, name), name) for name in ("new", "changed", "vanished"))
        return ", ".join(f"{count:,} {name}" for count, name in parts if count)


class Skipped(msgspec.Struct, frozen=True):
    """A table that could not be read completely, and the reason; its stored rows stay."""

    table: str
    why: str


class Unoffered(msgspec.Struct, frozen=True):
    """A list that the service does not offer; the stored rows stay."""

    table: str
    operation: str

    @property
    def sentence(self) -> str:
        """A sentence about the list, for the report."""
        return f"{self.table}: not offered by the service: {self.operation}; stored records stay"


class Drift(msgspec.Struct, frozen=True):
    """A difference that a full comparison found.

    `kind` is `changed` (a settled record differs), `late` (newly listed although older than the
    newest stored record) or `vanished` (no longer listed). `examples` are ids.
    """

    table: str
    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.table}: drift: {self.count:,} {self.kind} ({', '.join(self.examples)}{more})"


class SyncReport(Tables, msgspec.Struct, frozen=True):
    """The report of one sync; `notices` are sentences for the user."""

    at: datetime
    tables: tuple[TableReport, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...]
    drift: tuple[Drift, ...] | None = None
    """Findings of a full comparison; None if none was made."""
    unoffered: tuple[Unoffered, ...] = ()
    """Lists that this generation of a service does not offer; their tables are complete without
    them.
    """

    def sheets(self) -> Mapping[str, Table]:
        """Return three sheets: the tables, the skipped tables, and the lists not offered."""
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
        """The query that shows all commits."""
        return 'SELECT * FROM commits ORDER BY "at"'

    def __str__(self) -> str:
        """Return totals, a line per changed or skipped table, unoffered list, notice and drift."""
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
            drift = ["full comparison: the stored records match the services"]
        if self.drift is not None and self.skipped:
            names = ", ".join(skip.table for skip in self.skipped)
            differences = (
                drift
                if self.drift
                else ["full comparison: no drift in the records that could be read"]
            )
            drift = [*differences, f"not everything was compared: {names}"]
        lines = (f"{count}: {rows}", *differing, *skipped, *unoffered, *self.notices, *drift)
        return "\n".join(lines)


@contextmanager
def asking(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Run a thread pool; after an error, its queued calls are dropped."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="sync")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


PATIENCE = 1.0
"""Seconds to wait for an answer before calling `meanwhile`."""
_AHEAD = 32
"""Maximum number of calls in progress or waiting to be processed, which limits a long sync's
memory.
"""


class SyncRun:
    """The state of a running sync."""

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
        """Folder for fetched rows that are not committed yet."""
        self.progress = progress
        self._pool = pool
        self._meanwhile = meanwhile
        self._skipped: dict[str, str] = {}
        self._unoffered: dict[Unoffered, None] = {}
        self._notices: dict[str, None] = {}
        self.fields = FieldWatch()
        self._counts: dict[str, SyncFinding] = {}

    def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function `question` in a worker thread; return its future."""
        return self._pool.submit(question, *args, **kwargs)

    def answer(self, future: Future[T]) -> T:
        """Wait for an answer, calling `meanwhile` at intervals."""
        while True:
            wait([future], timeout=PATIENCE)
            self._meanwhile()
            if future.done():
                return future.result()

    def answers(
        self, question: Callable[[Q], T], about: Iterable[Q], *, ahead: int = _AHEAD
    ) -> Iterator[T]:
        """Yield the answer for each subject in order, with up to `ahead` calls in progress."""
        subjects = iter(about)
        waiting = deque(self.ask(question, subject) for subject in islice(subjects, ahead))
        while waiting:
            answer = self.answer(waiting.popleft())
            waiting.extend(self.ask(question, subject) for subject in islice(subjects, 1))
            yield answer

    def collect(self, form: Form, answers: Sequence[Future[list[T]]]) -> tuple[list[T], bool]:
        """Return the records in the answers, and whether none was refused; report refusals."""
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
        """Queue records, each key once; `complete` means that the service has no others."""
        distinct = first_of_each(rows(form, records), form.table.key)
        self.upsert(form, distinct, complete=complete)

    def upsert(
        self, form: Form, table: pa.Table, *, complete: bool = False, after_change: bool = False
    ) -> None:
        """Queue rows without repeated keys; for `after_change` see `FetchedRows.upsert`."""
        self.fields.look(form, table["raw"])
        self.fetched.upsert(form.table, table, complete=complete, after_change=after_change)

    def observe(self, form: Form, records: Iterable[Received]) -> None:
        """Queue observations, which are appended without comparison."""
        self.fetched.append(form.table, rows(form, records))

    def write(self, writer: Writer, tables: Sequence[str]) -> SyncReport:
        """Write all fetched rows of the tables and return the report of the changes."""
        written = self.fetched.write(writer, (*tables, completeness.SYNC_FINDINGS.name))
        return SyncReport(
            at=writer.now,
            tables=tuple(
                TableReport(name, **counts)
                for name, counts in written.items()
                # The table of findings is not counted, because findings are reported separately.
                if name in tables
            ),
            skipped=tuple(Skipped(name, why) for name, why in self._skipped.items()),
            notices=tuple(self._notices),
            unoffered=tuple(self._unoffered),
        )

    def skip(self, form: Form, error: ServiceError) -> None:
        """Record that a table could not be read completely, or is not offered."""
        if not self.lacks(form, error):
            self._skipped.setdefault(form.table.name, error.what)

    def lacks(self, form: Form, error: ServiceError) -> bool:
        """Return whether the service does not offer the list; if so, add the list to the report."""
        if not isinstance(error, NotOffered) or not error.by_service:
            return False
        self._unoffered[Unoffered(form.table.name, str(error.operation))] = None
        return True

    def notice(self, sentence: str) -> None:
        """Add a sentence to the report, once."""
        self._notices[sentence] = None

    def notice_statuses(
        self, form: Form, statuses: Iterable[str | None], contract: frozenset[str]
    ) -> None:
        """Report statuses that the specification lacks; they are treated as open."""
        for status in sorted({str(status) for status in statuses} - contract):
            self.notice(f"{form.table.name}: status {status!r} is not known; it counts as open")

    def count(self, form: Form, name: str, listed: int, held: int) -> None:
        """Record that the service counts more records in a list than are stored."""
        self._counts[name] = SyncFinding("count", form.table.name, name, listed, held)

    def write_findings(self) -> None:
        """Store this sync's findings and report the new ones.

        Stored findings about tables out of scope stay, as do findings about fields.
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
            # Refused tables are in `skipped`.
            if is_news and finding.kind != "refused":
                self.notice(str(finding))
        stand = (
            name
            for name, finding in stored.items()
            if finding.kind == "field" or not self.scope.has(finding.table_name)
        )
        completeness.write_findings(self.fetched, found, stand=stand)
