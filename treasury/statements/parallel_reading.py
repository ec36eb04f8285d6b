"""Reading of bank files: large ones in worker processes, small ones in the calling process.

A worker writes the rows of a file to disk as an Arrow stream, which the caller maps into memory
without a copy. A worker reads jobs from standard input, one JSON line each, answers each with a
line on standard output, and exits when its input is closed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import StatementError
from treasury.core.machine.processes import started
from treasury.core.text import utf8_text
from treasury.statements.bank_file import (
    FileTerms,
    StatementFile,
    mapped,
    read_document,
    write_stream,
)
from treasury.statements.byte_stream import UnknownFormat
from treasury.statements.entry_rows import Problem
from treasury.statements.file_sources import Document, plain_file

_LARGE: Final = 8 << 20
"""File size from which a worker process saves time: its start takes half a second."""
_AHEAD: Final = 4

_Read = StatementFile | Problem | StatementError


class Job(msgspec.Struct, frozen=True):
    """A file to read, and the path to which its rows are written."""

    path: bytes
    """The path in the file system's encoding, because a file name need not be UTF-8."""
    out: str
    terms: FileTerms


class ReadingOutcome(msgspec.Struct, frozen=True):
    """A worker's answer about a file: its hash, format and problems, or why it was refused."""

    name: str = ""
    sha256: str = ""
    format: str = ""
    problems: tuple[Problem, ...] = ()
    lost_count: int = 0
    has_statuses: bool = False
    """Whether the file is a payment status report."""
    error: str = ""
    do: str | None = None
    is_unknown: bool = False
    """Whether the file was refused because it is not a bank statement."""


def read_in_processes(
    documents: Iterable[Document],
    terms: FileTerms,
    workers: int | None,
    refused: list[StatementError] | None = None,
) -> Generator[StatementFile | Problem, None, None]:
    """Yield the files in order, read but with `is_twin` not set yet.

    For a file in a folder, glob or archive that is not a bank statement, yield a Problem. Raises
    StatementError for any other refused file; with a list `refused`, the error is appended to it
    instead, and the other files are read.
    """
    count = max(1, workers if workers is not None else os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        _Workers() as processes,
        ThreadPoolExecutor(count) as pool,
    ):
        waiting: deque[Future[_Read]] = deque()
        for number, document in enumerate(documents):
            out = str(Path(folder) / f"{number}.arrow")
            if count > 1 and document.path is not None and document.size >= _LARGE:
                job = Job(os.fsencode(document.path.absolute()), out, terms)
                reading = pool.submit(processes.read, job, document)
            else:
                reading = Future()
                try:
                    reading.set_result(read_document(document, terms, rows=out))
                except StatementError as error:
                    reading.set_result(_refused(error, document))
            waiting.append(reading)
            while waiting and (waiting[0].done() or len(waiting) > count * _AHEAD):
                yield from _result(waiting.popleft(), refused)
        while waiting:
            yield from _result(waiting.popleft(), refused)


def _result(
    reading: Future[_Read], refused: list[StatementError] | None
) -> Iterator[StatementFile | Problem]:
    file = reading.result()
    if not isinstance(file, StatementError):
        yield file
    elif refused is None:
        raise file
    else:
        refused.append(file)


def _refused(error: StatementError, document: Document) -> Problem | StatementError:
    """Return the error, or a note if the file was found in a folder and is not a bank statement."""
    if isinstance(error, UnknownFormat) and not document.is_asked_for:
        return Problem(document.name, "", f"left out: {error.what.partition(': ')[2]}")
    return error


class _Workers(ExitStack):
    """Worker processes, one for each thread, started on demand.

    On exit their standard input is closed, which ends them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mine = threading.local()

    def read(self, job: Job, document: Document) -> _Read:
        """Return the outcome of a job, read by the worker of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._mine, "process", None)
        if process is None:
            process = started(__name__, "serve", stdout=subprocess.PIPE)
            self._mine.process = self.enter_context(process)
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
                f"{document.name}: the worker process that read it ended unexpectedly",
                do="run the command again; if the error repeats, read the file with workers=1",
            )
        outcome = decode_json(answer, ReadingOutcome)
        if outcome.error:
            kind = UnknownFormat if outcome.is_unknown else StatementError
            return _refused(kind(outcome.error, do=outcome.do), document)
        return StatementFile(
            outcome.name, outcome.sha256, outcome.format, mapped(f"{job.out}.statements"),
            mapped(job.out), outcome.problems, job.out, outcome.lost_count,
            mapped(f"{job.out}.statuses") if outcome.has_statuses else None,
        )  # fmt: skip


def serve() -> int:
    """Process the jobs on standard input until it is closed; return the exit code.

    The rows of a file are written batch by batch to the path in its job.
    """
    for line in sys.stdin.buffer:
        job = decode_json(line, Job)
        try:
            document = plain_file(Path(os.fsdecode(job.path)))
            file = read_document(document, job.terms, rows=job.out, few=0)
        except StatementError as error:
            is_unknown = isinstance(error, UnknownFormat)
            problem = utf8_text(error.what)
            outcome = ReadingOutcome(error=problem, do=error.do, is_unknown=is_unknown)
        else:
            tables = {".statements": file.statements, ".statuses": file.statuses}
            if not file.rows:
                tables[""] = file.entries
            for ending, table in tables.items():
                if table is not None:
                    write_stream(table.to_batches(), table.schema, f"{job.out}{ending}")
            outcome = ReadingOutcome(
                file.name, file.sha256, file.format, file.problems, file.lost_count,
                file.statuses is not None,
            )  # fmt: skip
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()
    return 0
