"""A cache of results within the process.

A result depends only on the files of a commit, the decisions and the arguments, so results with
equal inputs are computed once. The latest result is always kept, earlier ones up to a number of
bytes. A changed file changes the key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Final, Generic, Protocol, TypeVar

import pyarrow as pa


class Sized(Protocol):
    """A result that knows its size."""

    @property
    def nbytes(self) -> int:
        """The size of its tables in bytes."""
        ...


T = TypeVar("T", bound=Sized)

MOST: Final = 64 << 20
"""Maximum bytes of all results in a cache, and of tables that are hashed for a key."""


class Memo(Generic[T]):
    """A cache of the latest results, by key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        """Each result with its size, stored because computing the sizes of many results takes long.
        """
        self._lock = threading.Lock()

    def of(self, key: Hashable | None, make: Callable[[], T]) -> T:
        """Return the cached result of `key`, or compute it; without a key, nothing is cached."""
        with self._lock:
            if key is not None and key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        answer = make()
        if key is not None:
            size = answer.nbytes
            with self._lock:
                self._kept[key] = answer, size
                while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > MOST:
                    self._kept.popitem(last=False)
        return answer


def fingerprint(*tables: pa.Table | None) -> bytes | None:
    """Return a hash of the tables' content, or None if they exceed `MOST` bytes."""
    if sum(table.nbytes for table in tables if table is not None) > MOST:
        return None
    digest = blake2b(digest_size=32)
    for table in tables:
        if table is None:
            digest.update(b"none")
            continue
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table.combine_chunks())
        digest.update(sink.getvalue())
    return digest.digest()
