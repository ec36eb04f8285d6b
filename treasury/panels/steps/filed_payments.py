"""Payment files made in a panel, each journaled with its orders before it is downloaded.

A saved file may have been uploaded; only the bank's answer or statement proves it. So a request in
a file cannot be in another file until the bank has finally rejected it, or a person marks the file
as not uploaded.
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
    """Journal a file before it is downloaded; return its name, with a number if it is taken.

    `rejected` maps each request to the journal number of its previous file, if the bank rejected
    that. Raises ActionRefused if a request is in another file, has a remark, or the nonce was used;
    JournalError if the journal cannot be written.
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
                f"{', '.join(remarked)} remarked on some of the requests meanwhile; no file"
                " was made",
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
                f"some requests are already in {', '.join(others)}; no file was made",
                do="look at the list again",
            )
        return [Draft(FILE_MADE, free, {"requests": names, **facts}, who, nonce)]

    (entry,) = journal.decide(build, rests_on=("payment_file.", "request."))
    return entry.subject
