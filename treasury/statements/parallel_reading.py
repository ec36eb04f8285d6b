"""Large bank files shared out to processes, one each; small ones are read where we are.

A process of its own is started for a large file and hands its rows over as an Arrow file, which is
mapped into memory, so nothing is copied.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, Self

import msgspec

from treasury.errors import StatementError
from treasury.ground.decoding import decode_json
from treasury.ground.processes import started
from treasury.ground.regular_files import open_regular
from treasury.statements.bank_file import (
    StatementFile,
    all_problems,
    mapped,
    open_file,
    read_document,
    statuses_of,
    write_stream,
)
from treasury.statements.byte_stream import UnknownFormat
from treasury.statements.csv.profiles import Profile
from treasury.statements.entry_rows import Problem, statement_table
from treasury.statements.file_sources import Document
from treasury.statements.statement_tables import STATEMENT_ENTRIES

__all__ = ["Job", "ReadingOutcome", "read_in_processes", "work"]

_LARGE: Final = 8 << 20
"""Bytes from which a file is worth a process of its own, which takes half a second to start."""
_AHEAD: Final = 4
_WORKER: Final = "treasury.statements.reading_worker"


Read = StatementFile | Problem | StatementError


class Job(msgspec.Struct, frozen=True):
    """What a process is to read, and where it is to leave it."""

    path: str
    out: str
    profiles: tuple[Profile, ...] = ()
    account: str | None = None
    currencies: dict[str, str] = {}


class ReadingOutcome(msgspec.Struct, frozen=True):
    """What a process says about a file: its head, or why it was refused."""

    name: str = ""
    sha256: str = ""
    format: str = ""
    problems: tuple[Problem, ...] = ()
    lost_count: int = 0
    has_statuses: bool = False
    """Whether it is a payment status report."""
    error: str = ""
    do: str | None = None
    is_unknown: bool = False
    """Whether it was refused because it is no bank statement at all."""


def read_in_processes(
    documents: Iterable[Document],
    *,
    profiles: Sequence[Profile],
    account: str | None,
    workers: int | None,
    currencies: Mapping[str, str] | None = None,
    refused: list[StatementError] | None = None,
) -> Iterator[StatementFile | Problem]:
    """The files as read, in order, twins not marked; a Problem for what is no bank statement.

    Such a file is one in a folder: one that a person named is refused. StatementError for a file
    that is refused; where there is a list for them they go there, and the others are read.
    """
    count = max(1, workers if workers is not None else os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        _Workers() as processes,
        ThreadPoolExecutor(count) as pool,
    ):
        waiting: deque[Future[Read] | Read] = deque()
        for number, document in enumerate(documents):
            out = str(Path(folder) / f"{number}.arrow")
            if count > 1 and document.path is not None and document.size >= _LARGE:
                job = Job(
                    str(document.path.absolute()),
                    out,
                    tuple(profiles),
                    account,
                    dict(currencies or {}),
                )
                waiting.append(pool.submit(processes.read, job, document))
            else:
                try:
                    file: Read = read_document(
                        document,
                        profiles=profiles,
                        account=account,
                        currencies=currencies,
                        rows=out,
                    )
                except StatementError as error:
                    file = _refused(error, document)
                waiting.append(file)
            while waiting:
                first = waiting[0]
                is_read = not isinstance(first, Future) or first.done()
                if not is_read and len(waiting) <= count * _AHEAD:
                    break
                yield from _result(waiting.popleft(), refused)
        while waiting:
            yield from _result(waiting.popleft(), refused)


def _result(
    reading: Future[Read] | Read, refused: list[StatementError] | None
) -> Iterator[StatementFile | Problem]:
    file = reading.result() if isinstance(reading, Future) else reading
    if not isinstance(file, StatementError):
        yield file
    elif refused is None:
        raise file
    else:
        refused.append(file)


def _refused(error: StatementError, document: Document) -> Problem | StatementError:
    """The error, or only a note where nobody asked for that file and it is no statement."""
    if isinstance(error, UnknownFormat) and not document.is_asked_for:
        return Problem(document.name, "", f"left out: {error.what.partition(': ')[2]}")
    return error


class _Workers:
    """Processes that read files, started as they are needed, one for each thread that waits."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            with process:  # closes its input, which ends it, and waits
                if process.stdin:
                    process.stdin.close()

    def read(self, job: Job, document: Document) -> Read:
        """What becomes of a job's file, read in the process of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._mine, "process", None)
        if process is None:
            process = self._mine.process = started(_WORKER, "serve", stdout=subprocess.PIPE)
            self._all.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = b""
        if not answer:
            return StatementError(
                f"{Path(job.path).name}: the process that read it ended",
                do="run this again; if it happens again, read the file with workers=1",
            )
        outcome = decode_json(answer, ReadingOutcome)
        if outcome.error:
            kind = UnknownFormat if outcome.is_unknown else StatementError
            return _refused(kind(outcome.error, do=outcome.do), document)
        # Its rows are mapped from where the process left them.
        return StatementFile(
            outcome.name, outcome.sha256, outcome.format, mapped(f"{job.out}.statements"),
            mapped(job.out), outcome.problems, job.out, outcome.lost_count,
            mapped(f"{job.out}.statuses") if outcome.has_statuses else None,
        )  # fmt: skip


def work(job: Job) -> ReadingOutcome:
    """Read one file and leave its rows where the job says, batch by batch."""
    path = Path(job.path)
    try:
        with open_regular(path) as source:
            file = open_file(
                source,
                path.name,
                profiles=job.profiles,
                account=job.account,
                currencies=job.currencies,
            )
            write_stream(file.batches(), STATEMENT_ENTRIES.row_schema, job.out)
    except StatementError as error:
        is_unknown = isinstance(error, UnknownFormat)
        return ReadingOutcome(error=error.what, do=error.do, is_unknown=is_unknown)
    except OSError as error:
        return ReadingOutcome(error=f"{path}: {error.strerror}", do="check the path of the file")
    statements = statement_table(file.statements)
    write_stream(statements.to_batches(), statements.schema, f"{job.out}.statements")
    statuses = statuses_of(file)
    if statuses is not None:
        write_stream(statuses.to_batches(), statuses.schema, f"{job.out}.statuses")
    return ReadingOutcome(
        path.name, file.sha256, file.format, all_problems(file, path.name), file.lost_count,
        statuses is not None,
    )  # fmt: skip
