"""Typed values out of JSON and plain data, safely from several threads at once.

msgspec works a type out when it first meets it, and while it does so another thread that decodes
the same type reads what is half made and ends the process. Here a type is worked out by one thread,
before any uses it.
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
    """A value of a type out of JSON; msgspec's errors where it does not fit."""
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
    """A value of a type out of plain data; msgspec's errors where it does not fit."""
    if kind not in _WORKED_OUT:
        with _WORKING_OUT:
            msgspec.msgpack.Decoder(kind)  # takes every key of a mapping, as `convert` does
            _WORKED_OUT.add(kind)
    # A type that msgspec does not know is a secret, which is made of its text.
    return msgspec.convert(
        value, kind, from_attributes=from_attributes, dec_hook=lambda own, text: own(text)
    )
