"""A file's bytes as a stream that computes their hash and previews the first ones."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Protocol

from treasury.core.errors import StatementError

HEAD: Final = 1 << 16
"""Bytes available as a preview before reading begins."""


class UnknownFormat(StatementError):
    """Error for a file that is not a bank statement, or has a format that is not supported."""


class ByteSource(Protocol):
    """Protocol of the sources that a `Stream` reads bytes from."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


class Stream:
    """A source with a preview of its beginning; its bytes are hashed while they are read."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._digest = sha256()
        self._ahead = b""

    @property
    def head(self) -> bytes:
        """Return the first bytes without consuming them."""
        while len(self._ahead) < HEAD and (chunk := self._source.read(HEAD - len(self._ahead))):
            self._ahead += chunk
        return self._ahead

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the bytes read so far, in hexadecimal."""
        return self._digest.hexdigest()

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        if self._ahead:
            chunk, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            chunk = self._source.read(size)
        self._digest.update(chunk)
        return chunk
