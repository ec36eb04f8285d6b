"""Captures the output of native code on standard error during a call.

A native thread that fails (panics) writes to standard error. If the call then raises an error that
explains the panic, this output is dropped. Any other output is written after the call.
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
    """Drop the panics of native threads if the block raises one of the `explained` errors."""
    with _ALONE, _held_file() as held:
        try:
            stderr = os.dup(2)
        # The process has no standard error.
        except OSError:
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
            # The output is lost if the terminal is closed.
            with suppress(OSError):
                os.write(2, _PANIC.sub(b"", text) if is_explained else text)


def _flush() -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def _held_file() -> IO[bytes]:
    """Return a temporary file, in memory if the system supports that: the disk may be full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stderr"), "w+b")
    return tempfile.TemporaryFile()
