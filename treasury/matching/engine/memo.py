"""What was worked out before in this process, given again where the same is asked.

An answer is a function of the files of a commit, the decisions and the question, and of nothing
else; so what has all of these equal is not worked out twice. Only the latest answers are kept: the
last one whatever its size, those before it up to some bytes. A file that was touched since makes
another key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Final, Generic, Protocol, TypeVar

import pyarrow as pa


class Sized(Protocol):
    """An answer that knows how much it holds."""

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        ...


T = TypeVar("T", bound=Sized)

MOST: Final = 64 << 20
"""Bytes of tables that a memo keeps beside its last, and that are looked through for a key."""


class Memo(Generic[T]):
    """The latest answers by what they are made from."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        """Each with its bytes, which take long to ask of many."""
        self._lock = threading.Lock()

    def of(self, key: Hashable | None, make: Callable[[], T]) -> T:
        """The answer to `key`; made, and not kept, where the key is None."""
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
    """A hash of what the tables hold, None where that is much."""
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
