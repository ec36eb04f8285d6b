"""The kinds of files that may be attached, recognised by the name's ending and by the content.

An attached file comes from outside and is never opened or rendered: its bytes are stored, and given
back as a download. The check only ensures that the content fits the ending of the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from treasury.core.errors import InputError
from treasury.core.files.regular_files import open_regular
from treasury.core.text import clean, is_hidden

LARGEST_FILE: Final = 10 << 20
"""Maximum size of an attached file in bytes."""
_LONGEST_NAME: Final = 200
_HEADER: Final = re.compile(rb"(?:From .*\r?\n)?[A-Za-z][A-Za-z0-9-]*:")
"""The beginning of a stored e-mail: its first header line."""
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MESSAGE: Final = "__properties_version1.0".encode("utf-16-le")
"""The name of the stream that every Outlook message has, and no other document."""
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def _is_text(content: bytes) -> bool:
    if content.startswith(_UTF16):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeError:
            return False
    return _CONTROLS.search(content) is None


def _is_workbook(content: bytes) -> bool:
    return (
        content.startswith(b"PK\x03\x04")
        and b"[Content_Types].xml" in content
        and (b"xl/workbook" in content)
    )


FILE_KINDS: Final[dict[str, Callable[[bytes], bool]]] = {
    "pdf": lambda content: content.startswith(b"%PDF-"),
    "png": lambda content: content.startswith(b"\x89PNG\r\n\x1a\n"),
    "jpg": lambda content: content.startswith(b"\xff\xd8\xff"),
    "eml": lambda content: _HEADER.match(content) is not None and _is_text(content),
    "msg": lambda content: content.startswith(_OLE) and _MESSAGE in content,
    "txt": _is_text,
    "csv": _is_text,
    "xlsx": _is_workbook,
}
"""Each kind of file that may be attached, with the check of its content."""
_ENDINGS: Final = {kind: kind for kind in FILE_KINDS} | {"jpeg": "jpg"}


def kind_of(name: str, content: bytes) -> str:
    """Return the kind of a file, such as `pdf`, by the ending of its name.

    Raise InputError for another ending, content that does not fit the ending, an empty or too large
    file, or a name that is too long, has hidden characters, or contains a path.
    """
    file_name = clean(name)[:_LONGEST_NAME]
    if not name.strip() or len(name) > _LONGEST_NAME or any(map(is_hidden, name)):
        raise InputError(
            f"{file_name!r} is not a file name: it is empty, has hidden characters, or is longer"
            f" than {_LONGEST_NAME} characters",
            do="rename the file",
        )
    if "/" in name or "\\" in name:
        raise InputError(f"{file_name!r} contains a path", do="give the name of the file alone")
    kind = _ENDINGS.get(name.rpartition(".")[2].lower())
    if kind is None or "." not in name:
        raise InputError(
            f"{file_name!r} cannot be attached", do=f"attach a file of {', '.join(FILE_KINDS)}"
        )
    if not content:
        raise InputError(f"{file_name!r} is empty", do="attach the complete file")
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"{file_name!r} is larger than {LARGEST_FILE >> 20} MB",
            do="attach the pages that matter, or a smaller copy",
        )
    if not FILE_KINDS[kind](content):
        raise InputError(
            f"the content of {file_name!r} is not that of a {kind} file",
            do="save it again in that format, or give it the ending of its real format",
        )
    return kind


def read_file(path: Path) -> bytes:
    """Return the bytes of a file, at most one byte more than may be attached.

    Raise InputError if it cannot be read or is not a regular file.
    """
    try:
        with open_regular(path) as file:
            return file.read(LARGEST_FILE + 1)
    # A path with a null byte is a ValueError.
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"{clean(path)} cannot be read: {why}", do="name a file that you may read"
        ) from None
