"""The compression methods of zip files that can be unpacked in bounded pieces.

The standard library unpacks a piece of a bzip2 or lzma member whole, however large it becomes, so a
bound on the result is checked too late.
"""

from __future__ import annotations

import zipfile
from typing import Final

_BOUNDED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_NAMES: Final = {
    1: "shrink", 6: "implode", 9: "deflate64", zipfile.ZIP_BZIP2: "bzip2", zipfile.ZIP_LZMA: "lzma",
    93: "zstandard", 95: "xz", 98: "PPMd",
}  # fmt: skip


def unbounded_method(member: zipfile.ZipInfo) -> str:
    """Return the name of a method without bounded pieces; empty if the member can be unpacked."""
    if member.compress_type in _BOUNDED:
        return ""
    return _NAMES.get(member.compress_type, f"method {member.compress_type}")
