"""Compression methods of zip files, and whether they can be decompressed in limited pieces.

The standard library decompresses each piece of a bzip2 or lzma member at once, even to a huge size,
so a limit would be checked too late.
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
    """Return the name of a member's method if its output cannot be limited; empty otherwise."""
    if member.compress_type in _BOUNDED:
        return ""
    return _NAMES.get(member.compress_type, f"method {member.compress_type}")
