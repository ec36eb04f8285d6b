"""Large bank files shared out to processes, one each; small ones are read where we are.

A process of its own is started for a large file and hands its rows over as an Arrow file, which is
mapped into memory, so nothing is copied. It is a fresh interpreter rather than a fork: it works the
same in a notebook, in a script and on every platform.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, Self

import msgspec
import pyarrow as pa

from treasury.errors import StatementError
from treasury.statements.files import StatementFile, mapped, open_file, read_document
from treasury.statements.profiles import Profile
from treasury.statements.rows import Problem, statement_table
from treasury.statements.sources import Document
from treasury.statements.stream import UnknownFormat
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["Job", "Outcome", "read_in_processes", "work"]

_LARGE: Final = 8 << 20
"""Bytes from which a file is worth a process of its own, which takes half a second to start."""
_AHEAD: Final = 4


class Job(msgspec.Struct, frozen=True):
    """What a process is to read, and where it is to leave it."""

    path: str
    out: str
    profiles: tuple[Profile, ...] = ()
    account: str | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What a process says about a file: its head, or why it was refused."""

    name: str = ""
    sha256: str = ""
    format: str = ""
    problems: tuple[Problem, ...] = ()
    error: str = ""
    do: str | None = None


def read_in_processes(
    found: Iterable[Document],
    *,
    profiles: Sequence[Profile],
    account: str | None,
    workers: int | None,
) -> Iterator[StatementFile | Problem]:
    """The files as read, in order, twins not marked; a Problem for what is no bank statement.

    Such a file is one in a folder: one that a person named is refused.
    """
    count = max(1, workers if workers is not None else os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        _Workers() as processes,
        ThreadPoolExecutor(count) as pool,
    ):
        waiting: deque[Future[StatementFile] | StatementFile | Problem] = deque()
        for number, document in enumerate(found):
            out = str(Path(folder) / f"{number}.arrow")
            if count > 1 and document.path is not None and document.size >= _LARGE:
                job = Job(str(document.path.absolute()), out, tuple(profiles), account)
                waiting.append(pool.submit(processes.read, job))
            else:
                waiting.append(_here(document, profiles, account, out))
            while waiting and (_is_done(waiting[0]) or len(waiting) > count * _AHEAD):
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


def _is_done(one: Future[StatementFile] | StatementFile | Problem) -> bool:
    return not isinstance(one, Future) or one.done()


def _result(one: Future[StatementFile] | StatementFile | Problem) -> StatementFile | Problem:
    return one.result() if isinstance(one, Future) else one


def _here(
    document: Document, profiles: Sequence[Profile], account: str | None, rows: str
) -> StatementFile | Problem:
    try:
        return read_document(document, profiles=profiles, account=account, rows=rows)
    except UnknownFormat as error:
        if document.is_asked_for:
            raise
        return Problem(document.name, "", f"left out: {error.what.partition(': ')[2]}")


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

    def read(self, job: Job) -> StatementFile:
        """The file of a job, read in the process of this thread."""
        process = getattr(self._mine, "process", None) or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = b""
        if not answer:
            raise StatementError(
                f"{Path(job.path).name}: the process that read it ended",
                do="run this again; if it happens again, read the file with workers=1",
            )
        return _mapped(msgspec.json.decode(answer, type=Outcome), job)

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "treasury.statements.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._mine.process = process
        self._all.append(process)
        return process


def _mapped(outcome: Outcome, job: Job) -> StatementFile:
    """The file that a process read, its rows mapped from where it left them."""
    if outcome.error:
        raise StatementError(outcome.error, do=outcome.do)
    return StatementFile(
        outcome.name,
        outcome.sha256,
        outcome.format,
        mapped(f"{job.out}.statements"),
        mapped(job.out),
        outcome.problems,
        job.out,
    )


def work(job: Job) -> Outcome:
    """Read one file and leave its rows where the job says, batch by batch."""
    path = Path(job.path)
    try:
        with path.open("rb") as source:
            file = open_file(source, path.name, profiles=job.profiles, account=job.account)
            schema = STATEMENT_ENTRIES.row_schema
            with pa.OSFile(job.out, "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
                for batch in file.batches():
                    writer.write_batch(batch)
    except StatementError as error:
        return Outcome(error=error.what, do=error.do)
    except OSError as error:
        return Outcome(error=f"{path}: {error.strerror}", do="check the path of the file")
    statements = statement_table(file.statements)
    with (
        pa.OSFile(f"{job.out}.statements", "wb") as sink,
        pa.ipc.new_stream(sink, statements.schema) as writer,
    ):
        writer.write_table(statements)
    return Outcome(path.name, file.sha256, file.format, tuple(file.problems))
