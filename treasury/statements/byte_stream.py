"""Bytes on their way from a file to a reader: hashed, looked at before they are read, bounded."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Protocol

from treasury.core.errors import StatementError

HEAD: Final = 1 << 16
"""Bytes that may be looked at before reading begins."""


class UnknownFormat(StatementError):
    """A file that is no bank statement at all, rather than a broken one."""


class ByteSource(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class Stream:
    """A source whose beginning can be seen before it is read, and whose bytes are hashed."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._digest = sha256()
        self._ahead = b""

    @property
    def head(self) -> bytes:
        """The first bytes, which stay to be read."""
        while len(self._ahead) < HEAD and (chunk := self._source.read(HEAD - len(self._ahead))):
            self._ahead += chunk
        return self._ahead

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read, in hexadecimal."""
        return self._digest.hexdigest()

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._ahead:
            chunk, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            chunk = self._source.read(size)
        self._digest.update(chunk)
        return chunk
