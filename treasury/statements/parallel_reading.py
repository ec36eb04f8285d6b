"""Large bank files shared out to processes, one each; small ones are read where we are.

A process of its own is started for a large file and hands its rows over as an Arrow file, which is
mapped into memory, so nothing is copied. It is given jobs on standard input, a line of JSON each,
and answers each with a line on standard output; the end of its input ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
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
"""Bytes from which a file is worth a process of its own, which takes half a second to start."""
_AHEAD: Final = 4

_Read = StatementFile | Problem | StatementError


class Job(msgspec.Struct, frozen=True):
    """What a process is to read, and where it is to leave it."""

    path: bytes
    """As the system has it: the name of a file need not be UTF-8."""
    out: str
    terms: FileTerms


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
    terms: FileTerms,
    workers: int | None,
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
    """The error, or only a note where nobody asked for that file and it is no statement."""
    if isinstance(error, UnknownFormat) and not document.is_asked_for:
        return Problem(document.name, "", f"left out: {error.what.partition(': ')[2]}")
    return error


class _Workers(ExitStack):
    """Processes that read files, started as they are needed, one for each thread that waits.

    At the end their input is closed, which ends them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mine = threading.local()

    def read(self, job: Job, document: Document) -> _Read:
        """What becomes of a job's file, read in the process of this thread."""
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
                f"{document.name}: the process that read it ended",
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


def serve() -> int:
    """Read what is asked for on standard input until nothing more is; the exit code.

    The rows of a file are left where its job says, batch by batch.
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
