"""Which requests have left in a payment file, so that nobody pays them from a second one unseen.

A file that is saved may be uploaded; only the bank's statement says that it was. So each file is
journaled before it leaves, with what it orders, and what left before is said wherever it is about
to leave again. It is no obstacle: a file may have been lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from treasury.errors import ActionRefused, JournalError
from treasury.journal import Draft, Journal, current_actor
from treasury.panels.text import instant
from treasury.text import clean

__all__ = ["MADE", "filed", "note_file"]

MADE: Final = "payment_file.made"
ATTEMPTS: Final = 20


def filed(journal: Journal) -> dict[str, str]:
    """By request, the last file that it left in: its name, by whom and when."""
    return {
        request: f"{clean(entry.subject)} by {clean(entry.actor.name)} at {instant(entry.at)}"
        for entry in journal.entries(MADE)
        for request in entry.body["requests"]
    }


def note_file(
    journal: Journal,
    name: str,
    requests: Iterable[str],
    facts: Mapping[str, object],
    *,
    nonce: str,
    known: Mapping[str, str],
) -> None:
    """Journal a file before it leaves.

    ActionRefused where a request has left in another one since `known` was shown, or where the
    nonce was used; JournalError where it cannot be written.
    """
    wanted = tuple(requests)
    draft = Draft(MADE, name, {"requests": wanted, **facts}, current_actor(), nonce)
    for _ in range(ATTEMPTS):
        head, now = journal.head(), filed(journal)
        since = sorted({now[one] for one in wanted if one in now and now[one] != known.get(one)})
        if since:
            raise ActionRefused(
                f"some of it has just left in {', '.join(since)}; no file was made",
                do="look at the list again",
            )
        if journal.extend([draft], after=head) is not None:
            return
    raise JournalError(
        "the journal is being written to by others all the time", do="run this again"
    )
