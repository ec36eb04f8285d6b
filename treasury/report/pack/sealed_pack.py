"""Read the folder of a pack that may come from anyone: with limits, and without following links.

Whoever wrote the pack can have sealed anything. Only regular files of plausible number and size are
read; links and other entries are findings.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.evidence import FORMAT, Evidence, encode
from treasury.core.decoding import decode_json
from treasury.core.errors import InputError
from treasury.core.files.regular_files import kind_of_file, open_regular
from treasury.core.text import clean
from treasury.report.pack.pack_contents import EVIDENCE, LARGEST_EVIDENCE

_LARGEST_FILE: Final = 8 << 30
"""Maximum size of a file in a pack, in bytes."""
_MOST_FILES: Final = 5_000
"""Maximum number of files and folders that are checked: a pack has about sixty of its own."""
_TOO_MANY: Final = f"holds more than {_MOST_FILES:,} files"
_MOST_FINDINGS: Final = 1_000
_LARGEST_NUMBER: Final = 1 << 53
_YEARS: Final = range(1990, 2200)
_PATH: Final = re.compile(r"(?:[a-z0-9_-]+/)?[a-z0-9_-]+\.[a-z]+", re.ASCII)
_DO: Final = "get the pack again"


class Finding(msgspec.Struct, frozen=True):
    """A problem, and the part that has it.

    `what` is a file, a table or the folder of the pack, the inputs, the journal or the workspace.
    """

    what: str
    problem: str

    def __str__(self) -> str:
        return f"{self.what}: {self.problem}"


class Recomputed(msgspec.Struct, frozen=True):
    """The result of a recomputation: differences, notes on what was not checked, and the query."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    sql: str = ""
    is_complete: bool = True
    """True if the figures were recomputed, false if they were only compared with hashes."""


def read_sealed(folder: Path) -> tuple[Evidence, list[Finding]]:
    """Return the evidence of a pack, and every file that differs from its sealed hash.

    Raises InputError if the folder has no valid evidence.
    """
    path = folder / EVIDENCE
    try:
        with open_regular(path, follow=False) as file:
            content = file.read(LARGEST_EVIDENCE + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", do="name the folder of a pack"
        ) from None
    if len(content) > LARGEST_EVIDENCE:
        raise InputError(f"{path} is larger than 16 MB", do="name the folder of a pack")
    try:
        evidence = decode_json(content, Evidence)
        is_as_sealed = evidence.expected_seal() == evidence.seal and encode(evidence) == content
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read: {clean(error):.200}", do=_DO) from None
    except RecursionError:
        raise InputError(f"{path} cannot be read: it is nested too deeply", do=_DO) from None
    if evidence.format != FORMAT:
        raise InputError(
            f"{path}: version {clean(evidence.code.version)} of treasury made a pack of format"
            f" {evidence.format}, which this version does not read",
            do="verify it with that version",
        )
    changed = Finding(EVIDENCE, "was changed: it is not as it was sealed")
    own = [] if is_as_sealed else [changed]
    findings = chain(own, _implausible(evidence), _changed(folder, evidence))
    return evidence, list(islice(findings, _MOST_FINDINGS))


def _implausible(evidence: Evidence) -> Iterator[Finding]:
    """Yield each field with an implausible number or date, and a period of another month."""
    facts = msgspec.to_builtins(evidence, builtin_types=(datetime, date))
    for name, value in facts.items():
        if not _is_plausible(value):
            yield Finding(EVIDENCE, f"{name.replace('_', ' ')} is beyond what a pack can hold")
    if evidence.period is not None and evidence.period.month != evidence.month:
        yield Finding(EVIDENCE, "period belongs to a different month")


def _is_plausible(value: object) -> bool:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as fields:
                waiting += fields.values()
            case list() | tuple() as items:
                waiting += items
            case int() as number if abs(number) > _LARGEST_NUMBER:
                return False
            case date() as day if day.year not in _YEARS:
                return False
    return True


def _changed(folder: Path, evidence: Evidence) -> Iterator[Finding]:
    sealed = evidence.files | evidence.apart
    for name in sorted(sealed):
        if not _PATH.fullmatch(name):
            yield Finding(EVIDENCE, f"names {name!r:.60}, which no pack holds")
    present = set()
    entries = list(_entries(folder))
    if entries and entries[-1][1] == _TOO_MANY:
        yield Finding(str(folder), _TOO_MANY)
        return
    for name, kind in entries:
        present.add(name)
        if kind is not None:
            yield Finding(name, kind)
        elif name not in sealed:
            yield Finding(name, "does not belong to the pack")
        elif problem := _problem(folder / name, sealed[name]):
            yield Finding(name, problem)
    for name in sorted(sealed.keys() - present):
        yield Finding(name, "is missing")


def _entries(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the files of a pack by relative path, except the evidence, and other entries.

    Folders below the folders of a pack are findings.
    """
    looked_at = 0
    folders = [folder]
    while folders:
        inside = folders.pop()
        try:
            entries = os.scandir(inside)
        except OSError as error:
            yield _path_in_pack(inside, folder), f"cannot be read: {error.strerror}"
            continue
        with entries:
            for entry in entries:
                looked_at += 1
                if looked_at > _MOST_FILES:
                    yield str(folder), _TOO_MANY
                    return
                path = Path(entry.path)
                name = _path_in_pack(path, folder)
                kind = kind_of_file(entry.stat(follow_symlinks=False).st_mode)
                if kind == "a folder" and inside == folder:
                    folders.append(path)
                elif kind is not None:
                    yield name, f"is {kind}"
                elif name != EVIDENCE:
                    yield name, None


def _path_in_pack(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _problem(path: Path, sealed: str) -> str:
    """Return why a file does not have this SHA-256; empty if it does."""
    try:
        with open_regular(path, follow=False) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
                return f"is larger than {_LARGEST_FILE >> 30} GB"
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if digest == sealed else "was changed: its hash is not the sealed one"
