"""Payment files that leave a panel, each journaled before it does, with what it orders.

A file that is saved may be uploaded; only the bank says that it was. So a request in a file leaves
in no other one until the bank has finally rejected it, or somebody says that it was not uploaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count

from treasury.core.errors import ActionRefused
from treasury.core.text import clean
from treasury.journal import Draft, Head, Journal
from treasury.journal.decision_history import FILE_MADE, standing_files, standing_remarks
from treasury.journal.decision_log import read_decided


def note_file(
    journal: Journal,
    name: str,
    requests: Iterable[str],
    facts: Mapping[str, object],
    *,
    nonce: str,
    rejected: Mapping[str, int] | None = None,
) -> str:
    """Journal a file before it leaves; its name, numbered where a file of that name was made.

    `rejected` is where the file is journaled that each request was in and that the bank rejected.
    ActionRefused where a request is in another file already, where somebody remarked on it, or
    where the nonce was used; JournalError where it cannot be written.
    """
    names = tuple(requests)
    who = journal.who()

    def build(head: Head) -> Sequence[Draft]:
        entries = read_decided(journal, head=head).entries
        stem, dot, ending = name.rpartition(".")
        taken = {entry.subject for entry in entries if entry.kind == FILE_MADE}
        numbered = (f"{stem}-{number}{dot}{ending}" for number in count(2))
        free = next(one for one in chain([name], numbered) if one not in taken)
        files, remarks = standing_files(entries), standing_remarks(entries)
        remarked = sorted({clean(remarks[request].by) for request in names if request in remarks})
        if remarked:
            raise ActionRefused(
                f"some of it was remarked on by {', '.join(remarked)} meanwhile; no file was made",
                do="look at the list again",
            )
        again = rejected or {}
        others = sorted(
            {
                clean(files[request].name)
                for request in names
                if request in files and files[request].seq != again.get(request)
            }
        )
        if others:
            raise ActionRefused(
                f"some of it has left in {', '.join(others)}; no file was made",
                do="look at the list again",
            )
        return [Draft(FILE_MADE, free, {"requests": names, **facts}, who, nonce)]

    (entry,) = journal.decide(build, rests_on=("payment_file.", "request."))
    return entry.subject
