"""Guarded terminal output, in which text from outside cannot move the cursor or reverse a line.

The guard replaces standard output and standard error, so it also covers warnings, log lines and
tracebacks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from treasury.core.text import visible


class _Guard:
    """A text stream that makes control characters visible instead of sending them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text; make every control character except line ends visible."""
        if not isinstance(text, str):
            raise TypeError(f"write takes a text, not {type(text).__name__}")
        self._stream.write("\n".join(map(visible, text.split("\n"))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each text with `write`."""
        for line in lines:
            self.write(line)


def guard_output() -> None:
    """Guard standard output and standard error until the process ends."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Guard standard output and standard error during the block."""
    with redirect_stdout(_guarded(sys.stdout)), redirect_stderr(_guarded(sys.stderr)):
        yield


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream without its guard, for output whose texts were already made visible."""
    return stream._stream if isinstance(stream, _Guard) else stream  # noqa: SLF001 - the same module


def _guarded(stream: TextIO) -> TextIO:
    return cast(TextIO, _Guard(unguarded(stream)))
