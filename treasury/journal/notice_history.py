"""Notices to people and programs, folded from the journal's entries.

`notice.sending` is journaled before a notice leaves, and `notice.sent`, `notice.refused` or
`notice.unknown` after. One without an end may have arrived: its facts are not told again unless a
person says, by `notice.settled`, that it was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, Literal

import msgspec

from treasury.journal.chain import Entry, reads_entries

NOTICE: Final = "notice."
"""The beginning of the kinds of these entries."""
DOUBTFUL: Final = ("sending", "unknown")
"""States in which nobody knows whether the notice arrived."""
_NOT_TOLD: Final = ("refused", "lost")


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice to one channel, and what became of it.

    `marks` stand for the facts that it tells. `host` and `pid` are the process that sent it.
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
    """Why it was refused, is unknown, or is settled as it is."""


@reads_entries
def notices_of(entries: Iterable[Entry]) -> Mapping[str, Notice]:
    """Every notice by its id, oldest first; entries of other kinds are passed."""
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
    """The facts that a channel was told, or may have been told."""
    return frozenset(
        mark
        for notice in notices
        if notice.channel == channel and notice.state not in _NOT_TOLD
        for mark in notice.marks
    )
