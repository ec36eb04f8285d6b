"""Output of native code on standard error, held back during a call.

A panicking thread of a library prints past Python. If the call then fails with an error that
explains it, the panic is left out; other output is written after the call.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

_ALONE: Final = threading.RLock()
_PANIC: Final = re.compile(
    rb"\n?thread '[^'\n]*'[^\n]* panicked at .*?(?:\n(?=\n)|\Z|(?:\nnote: [^\n]*)+\n)", re.DOTALL
)


@contextmanager
def without_panics(*explained: type[Exception]) -> Iterator[None]:
    """Leave out panics of native threads if the block ends with one of the `explained` errors."""
    with _ALONE, _held_file() as held:
        try:
            stderr = os.dup(2)
        except OSError:  # a process without standard error
            yield
            return
        _flush()
        os.dup2(held.fileno(), 2)
        is_explained = False
        try:
            yield
        except explained:
            is_explained = True
            raise
        finally:
            _flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            text = held.read()
            with suppress(OSError):  # the terminal may be gone
                os.write(2, _PANIC.sub(b"", text) if is_explained else text)


def _flush() -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def _held_file() -> IO[bytes]:
    """A file in memory if the system has such: the disk may be full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stderr"), "w+b")
    return tempfile.TemporaryFile()
