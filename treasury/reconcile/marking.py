"""Remarks on ramp requests: marked as sent, or not to be funded; each with a reason.

A remark proves nothing. It is shown beside the state that the bank and the service prove, so that a
colleague knows what is known outside the records, and it changes no state by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from treasury.errors import ActionRefused, InputError, JournalError
from treasury.journal import Actor, Draft, Entry, Journal, current_actor
from treasury.journal.decisions import Mark, mark_table, standing_marks
from treasury.journal.turns import append_next, read_decided
from treasury.lake import Snapshot
from treasury.money import format_amount
from treasury.reconcile.rows import Rows, shown
from treasury.text import clean

__all__ = ["Marking"]

ATTEMPTS: Final = 8
WAITING: Final = {
    "marked_sent": ("AWAITING_FUNDS",),
    "will_not_fund": ("AWAITING_FUNDS", "AWAITING_APPROVAL"),
}
"""The statuses in which each remark says anything."""
FACTS: Final = (
    "payment_reference", "ramp_type", "status", "fiat_amount", "fiat_currency", "crypto_amount",
    "crypto_currency", "version",
)  # fmt: skip
_FIND: Final = f"""\
SELECT id, {", ".join(FACTS)} FROM ramp_requests
WHERE id = $name OR upper(payment_reference) = upper($name)
"""  # noqa: S608 - declared column names


class Marking:
    """The verbs; a request is named by its payment reference or its id."""

    def __init__(
        self,
        journal: Journal,
        snapshot: Callable[[], Snapshot],
        now: Callable[[], datetime],
        *,
        until: datetime | None = None,
    ) -> None:
        self._journal = journal
        self._snapshot = snapshot
        self._now = now
        self._until = until

    def marked_sent(
        self, request: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Mark:
        """Say that the payment was sent, though no statement shows it yet."""
        return self._mark("marked_sent", request, reason, actor, dry_run=dry_run)

    def will_not_fund(
        self, request: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Mark:
        """Say that the request will not be funded; at the service it stays open."""
        return self._mark("will_not_fund", request, reason, actor, dry_run=dry_run)

    def undo(
        self,
        request: str,
        reason: str = "",
        *,
        seq: int | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Mark:
        """Take the last remark on a request back.

        `seq` is the remark that is meant: no other is taken back. Raises ActionRefused where
        nothing is remarked, or another remark stands.
        """
        return self._mark("undo", request, reason, actor, meant=seq, dry_run=dry_run)

    def list(self) -> Rows:
        """The remark that stands on each request, and its place in the journal, `seq`."""
        marks = standing_marks(read_decided(self._journal, until=self._until).entries)
        places = pa.array([marks[name].seq for name in sorted(marks)], pa.int64())
        return Rows(mark_table(marks).append_column("seq", places))

    def _mark(
        self,
        word: str,
        request: str,
        reason: str,
        actor: Actor | None,
        *,
        meant: int | None = None,
        dry_run: bool,
    ) -> Mark:
        who, reason = actor or current_actor(), reason.strip()
        if not reason and word != "undo":
            raise InputError("a remark is made with a reason", do="give the reason")
        row = self._find(request)
        for _ in range(ATTEMPTS):
            decided = read_decided(self._journal, until=self._until)
            there = standing_marks(decided.entries).get(row["id"])
            if there is not None and there.mark == word:
                return there
            _check(word, row, there, meant)
            meant = there.seq if there else None  # also if somebody remarks while this is tried
            if dry_run:
                return Mark(
                    seq=None,
                    mark=word,
                    request_id=row["id"],
                    reason=reason,
                    by=who.name,
                    at=self._now(),
                )
            body = {
                "reason": reason,
                "undoes": there.seq if there else None,
                "facts": {name: shown(row[name]) for name in FACTS},
            }
            added = append_next(
                self._journal, decided, [Draft(f"request.{word}", row["id"], body, who)]
            )
            if added is not None:
                return _made(added[0], word)
        raise JournalError("others are deciding all the time", do="run this again")

    def _find(self, name: str) -> dict[str, Any]:
        rows = self._snapshot().sql(_FIND, {"name": name.strip()}).to_pylist()
        if len(rows) != 1:
            found = "more than one ramp request has" if rows else "no ramp request has"
            raise InputError(
                f"{found} the reference or id {clean(name)[:60]!r}",
                do="give its id, as `treasury awaiting-funds --format json` shows it",
            )
        return rows[0]


def _check(word: str, row: dict[str, Any], there: Mark | None, meant: int | None) -> None:
    name = row["payment_reference"] or row["id"]
    if word == "undo":
        if there is None:
            raise ActionRefused(
                f"nothing is remarked on {name}", do="run `treasury request list` to see what is"
            )
        if meant not in {None, there.seq}:
            raise ActionRefused(
                f"{name} is {there.mark} by {there.by}: that is not the remark that was meant",
                do="run `treasury request list` to see what stands, then decide again",
            )
        return
    if there is not None:
        raise ActionRefused(
            f"{name} is already {there.mark} by {there.by}: {clean(there.reason)}",
            do="undo that first, if it is wrong",
        )
    if row["status"] not in WAITING[word]:
        amount = row["fiat_amount"]
        worth = f" ({format_amount(amount, row['fiat_currency'])})" if amount is not None else ""
        raise ActionRefused(
            f"{name}{worth} is {row['status']}: it does not wait for funds",
            do="sync, then look at it again",
        )


def _made(entry: Entry, word: str) -> Mark:
    return Mark(
        seq=entry.seq,
        mark=word,
        request_id=entry.subject,
        reason=entry.body["reason"],
        by=entry.actor.name,
        at=entry.at,
    )
