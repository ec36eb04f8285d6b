"""Thread-safe decoding of typed values from JSON and plain data.

msgspec builds its information about a type when the type is first used. If a second thread decodes
the same type at that moment, it reads incomplete information and crashes the process. So this
module builds the information in one thread, before any other thread uses it.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_WORKED_OUT: set[Any] = set()
_WORKING_OUT = threading.Lock()


def decode_json(content: bytes | bytearray | memoryview | str, kind: type[T]) -> T:
    """Decode JSON as a type; raise msgspec's errors if it does not fit."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        with _WORKING_OUT:
            decoder = _DECODERS.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        value: T = decoder.decode(content)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    return value


def convert(value: object, kind: type[T], *, from_attributes: bool = False) -> T:
    """Convert plain data to a type; raise msgspec's errors if it does not fit."""
    if kind not in _WORKED_OUT:
        with _WORKING_OUT:
            # A JSON decoder would refuse mapping keys that are not texts; `convert` accepts them.
            msgspec.msgpack.Decoder(kind)
            _WORKED_OUT.add(kind)
    # `Secret` is the only type that msgspec does not know. It is constructed from its text.
    return msgspec.convert(
        value, kind, from_attributes=from_attributes, dec_hook=lambda own, text: own(text)
    )
