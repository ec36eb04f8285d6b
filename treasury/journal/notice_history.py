"""Notices to people and programs, derived from the journal's entries.

`notice.sending` is journaled before a notice is sent, and `notice.sent`, `notice.refused` or
`notice.unknown` afterwards. If the second entry is missing, the notice may have arrived. So its
facts are not resent, unless a person settles the notice as lost (`notice.settled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal

import msgspec

from treasury.journal.chain import Entry, reads_entries

NOTICE: Final = "notice."
"""Prefix of the kinds of entries about notices."""
DOUBTFUL: Final = ("sending", "unknown")
"""States in which it is unknown whether the notice arrived."""
_NOT_TOLD: Final = ("refused", "lost")


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice to one channel (a person or a webhook), and its state.

    `marks` identify the facts in the notice. `host` and `pid` identify the process that sent it.
    """

    id: str
    seq: int
    channel: str
    marks: tuple[str, ...]
    by: str
    at: datetime
    host: str
    pid: int
    state: Literal["sending", "sent", "refused", "unknown", "arrived", "lost"] = "sending"
    why: str = ""
    """Why the notice was refused or settled, or why its outcome is unknown."""


@reads_entries
def notices_of(entries: Iterable[Entry]) -> Mapping[str, Notice]:
    """Return every notice by id, oldest first; entries of other kinds are skipped."""
    notices: dict[str, Notice] = {}
    for entry in entries:
        if not entry.kind.startswith(NOTICE):
            continue
        word, body = entry.kind.removeprefix(NOTICE), entry.body
        if word == "sending":
            notices[entry.subject] = Notice(
                id=entry.subject,
                seq=entry.seq,
                channel=body["channel"],
                marks=tuple(body["marks"]),
                by=entry.actor.name,
                at=entry.at,
                host=body["host"],
                pid=body["pid"],
            )
        elif (notice := notices.get(entry.subject)) is not None:
            state = body["state"] if word == "settled" else word
            notices[entry.subject] = msgspec.structs.replace(
                notice, state=state, why=body.get("why") or ""
            )
    return notices


def told_marks(notices: Iterable[Notice], channel: str) -> frozenset[str]:
    """Return the marks of the facts that a channel has or may have received."""
    return frozenset(
        mark
        for notice in notices
        if notice.channel == channel and notice.state not in _NOT_TOLD
        for mark in notice.marks
    )
