"""Small files with a hash of their own content, to detect damage such as a flipped bit.

The files are readable JSON, and are either written completely or not at all.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.files import durable
from treasury.core.files.regular_files import regular_bytes

T = TypeVar("T")


class _Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    content: msgspec.Raw


def seal(value: object) -> bytes:
    """Encode a value together with a hash of its content."""
    content = msgspec.json.format(msgspec.json.encode(value), indent=1)
    sealed = _Sealed(hashlib.sha256(content).hexdigest(), msgspec.Raw(content))
    return msgspec.json.encode(sealed)


def unseal(content: bytes, kind: type[T]) -> T:
    """Decode a sealed value; raise ValueError if it was altered."""
    sealed = decode_json(content, _Sealed)
    if hashlib.sha256(bytes(sealed.content)).hexdigest() != sealed.sha256:
        raise ValueError("its content does not match its hash")
    return decode_json(sealed.content, kind)


def write_sealed(path: Path, value: object) -> None:
    """Write a sealed value and flush it to disk; raise OSError on failure."""
    durable.write_whole(path, seal(value))


def read_sealed(path: Path, kind: type[T]) -> T:
    """Read a sealed value; raise ValueError if it was altered, OSError if unreadable."""
    return unseal(regular_bytes(path), kind)
