"""People's decisions about bank lines and requests, derived from the journal's entries.

Kinds of entries:

- `match.accept`, `match.reject`, `match.ignore`: a verdict on a bank line.
- `match.assign`: assigns a bank line to a colleague.
- `match.undo`: revokes a decision on a line, so that an earlier one applies.
- `request.marked_sent`, `request.will_not_fund`: a remark on a ramp request, which is not evidence
  of a payment.
- `request.undo`: revokes the last remark on a ramp request.
- `payment_file.made`: the requests in a payment file that may be uploaded to the bank.
- `request.not_uploaded`, `payment_file.voided`: remove one request, or all, from a payment file.
- `payment_file.payee_accepted`: accepts the name that a bank states for an IBAN as the payee's.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.tables.schemas import grouped_schema
from treasury.journal.chain import Entry, reads_entries
from treasury.journal.journal_store import Journal

DECISIONS: Final = grouped_schema(
    (pa.string(), "entry_id", "expectation_id", "verdict", "reason", "decided_by"),
    (pa.timestamp("us", tz="UTC"), "decided_at"),
    (pa.decimal128(38, 18), "share"),
)
"""One row per decided bank line and expectation; `share` is the expectation's part of the line."""
MATCH: Final = "match."
_REQUEST: Final = "request."
FILE_MADE: Final = "payment_file.made"
FILE_VOIDED: Final = "payment_file.voided"
PAYEE_ACCEPTED: Final = "payment_file.payee_accepted"
NOT_UPLOADED: Final = "not_uploaded"
SHEET: Final = "sheet"
"""Field of a decision's body: the row of the decision sheet in which it was made."""
_VERDICTS: Final = ("accept", "reject", "ignore")
_UNDO: Final = "undo"
_GIVES_HASH: Final = "ramp_request.submit_hash"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision on a bank line.

    `expectations` is empty for a line that is ignored or assigned, and `to` is the colleague to
    whom it is assigned. `facts` are the facts about the line and each expectation that the person
    saw. `seq` is the number of the journal entry, None for a planned decision. For a line of a
    closed month, `closed_month` is that month, and `posts_to` is the open month to which the
    decision is posted.
    """

    seq: int | None
    verb: str
    entry_id: str
    expectations: tuple[str, ...]
    reason: str
    to: str
    facts: dict[str, Any]
    by: str
    at: datetime
    closed_month: str = ""
    posts_to: str = ""
    shares: dict[str, Decimal] = {}
    """If the line is divided among several expectations: each expectation's part of its amount."""
    undoes: int | None = None
    """Number of the journal entry that this undo revokes."""
    despite: tuple[str, ...] = ()
    """Facts that contradict the decision but are overridden by its reason."""
    proposed_by: str = ""
    """The proposer of the decision, as named in the decision sheet."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A remark on a ramp request: `marked_sent` or `will_not_fund`.

    `name` is the request's payment reference, or its id if it has none.
    """

    seq: int | None
    mark: str
    request_id: str
    reason: str
    by: str
    at: datetime
    name: str = ""
    undoes: int | None = None
    """Number of the journal entry (a remark or a payment file) that this remark revokes."""
    proposed_by: str = ""
    """The proposer of the remark, as named in the decision sheet."""


class PaymentFile(msgspec.Struct, frozen=True, kw_only=True):
    """A payment file, as far as it is about one ramp request."""

    seq: int
    name: str
    by: str
    at: datetime
    message_id: str = ""
    """Message id of the file, to which the bank's status reports refer."""
    reference: str = ""
    """End-to-end id of the request in the file."""
    execution: date | None = None
    """Execution date requested from the bank."""
    payee: str = ""
    """Name of the payee in the file; `payee_iban` is the payee's IBAN."""
    payee_iban: str = ""
    payer: str = ""
    """IBAN of the account that pays."""
    amount: Decimal | None = None
    """Amount ordered for the request in EUR; None if it was not journaled."""
    rejections_alone: bool = False
    """True if the bank reports only rejected payments."""
    is_standing: bool = True
    """False after a person reported the file as not uploaded, or voided it."""


class AcceptedPayee(msgspec.Struct, frozen=True, kw_only=True):
    """The name that a bank states for an IBAN, which a person accepted as the payee's.

    The acceptance is valid as long as the IBAN, the payee's name and the bank's name stay the same.
    If the bank stated no name, the acceptance is valid for one payment file only. `alone` is True
    if the maker of the payment file accepted the name, under a one-person policy.
    """

    iban: str
    name: str
    known_as: str
    reason: str
    by: str
    at: datetime
    alone: bool = False
    file: str = ""
    """The payment file about which the bank stated the name."""

    def holds_in(self, file: PaymentFile) -> bool:
        """Return True if the acceptance is valid for this payment file."""
        return bool(self.known_as) or self.file == file.name


class GivenHash(msgspec.Struct, frozen=True, kw_only=True):
    """The last transaction hash submitted for a ramp request: its submitter and its state.

    The state is `open` (waiting for approval or execution), `left` (perhaps received by the
    service) or `done` (received).
    """

    seq: int
    by: str
    at: datetime
    state: Literal["open", "left", "done"] = "open"
    attempts: int = 0


@reads_entries
def standing(entries: Iterable[Entry]) -> list[Decision]:
    """Return the current decisions on bank lines, oldest first.

    Entries of other kinds are skipped.
    """
    stand: dict[int, Decision] = {}
    for entry in entries:
        if not entry.kind.startswith(MATCH):
            continue
        decision = read_decision(entry)
        if decision.verb == _UNDO:
            stand.pop(_undone(entry, decision, stand), None)
        else:
            stand[entry.seq] = decision
    return list(stand.values())


def decisions(journal: Journal, *, until: datetime | None = None) -> pa.Table:
    """Return the current verdict for each bank line and expectation, sorted by both.

    Decisions after `until` are left out.
    """
    entries = (entry for entry in journal.entries(MATCH) if until is None or entry.at <= until)
    return decision_table(standing(entries))


def decision_table(stand: Iterable[Decision]) -> pa.Table:
    """Return the last verdict for each bank line and expectation as a table, for matching."""
    latest: dict[tuple[str, str], dict[str, object]] = {}
    for decision in stand:
        if decision.verb not in _VERDICTS:
            continue
        for expectation in decision.expectations or (None,):
            latest[decision.entry_id, expectation or ""] = {
                "entry_id": decision.entry_id,
                "expectation_id": expectation,
                "verdict": decision.verb,
                "reason": decision.reason,
                "decided_by": decision.by,
                "decided_at": decision.at,
                "share": decision.shares.get(expectation or ""),
            }
    return pa.Table.from_pylist([latest[pair] for pair in sorted(latest)], schema=DECISIONS)


@reads_entries
def standing_remarks(entries: Iterable[Entry]) -> dict[str, Remark]:
    """Return each request's current remark, by request id."""
    stand: dict[str, list[Remark]] = {}
    for entry in entries:
        if not entry.kind.startswith(_REQUEST):
            continue
        remarks = stand.setdefault(entry.subject, [])
        word = entry.kind.removeprefix(_REQUEST)
        if word == NOT_UPLOADED:
            continue
        if word != _UNDO:
            remarks.append(read_remark(entry))
        elif remarks:
            remarks.pop()
    return {request: remarks[-1] for request, remarks in stand.items() if remarks}


def standing_files(entries: Iterable[Entry]) -> dict[str, PaymentFile]:
    """Return each request's current payment file, by request id."""
    return {
        request: files[-1]
        for request, files in files_made(entries).items()
        if files[-1].is_standing
    }


@reads_entries
def files_made(entries: Iterable[Entry]) -> dict[str, list[PaymentFile]]:
    """Return all payment files of each request, by request id, oldest first."""
    made: dict[str, list[PaymentFile]] = {}
    for entry in entries:
        if entry.kind == FILE_MADE:
            body = entry.body
            references = body.get("references") or [""] * len(body["requests"])
            execution = body.get("execution")
            payees = body.get("payees") or [("", "")] * len(body["requests"])
            amounts = body.get("amounts") or [None] * len(body["requests"])
            orders = zip(body["requests"], references, payees, amounts, strict=True)
            for request, reference, (payee, iban), amount in orders:
                file = PaymentFile(
                    seq=entry.seq,
                    name=entry.subject,
                    by=entry.actor.name,
                    at=entry.at,
                    message_id=body.get("message_id", ""),
                    reference=reference,
                    execution=None if execution is None else date.fromisoformat(execution),
                    payee=payee,
                    payee_iban=iban,
                    payer=body.get("payer", ""),
                    amount=None if amount is None else Decimal(amount),
                    rejections_alone=body.get("answers") == "rejections",
                )
                made.setdefault(request, []).append(file)
        elif entry.kind == f"{_REQUEST}{NOT_UPLOADED}":
            if files := made.get(entry.subject):
                files[-1] = msgspec.structs.replace(files[-1], is_standing=False)
        elif entry.kind == FILE_VOIDED:
            for files in made.values():
                if files[-1].name == entry.subject:
                    files[-1] = msgspec.structs.replace(files[-1], is_standing=False)
    return made


_ACCEPTED: Final = ("iban", "name", "known_as", "reason", "alone", "file")


@reads_entries
def accepted_payees(entries: Iterable[Entry]) -> dict[tuple[str, str], dict[str, AcceptedPayee]]:
    """Return the accepted names, by the payee's IBAN and name, then by the name at the bank."""
    accepted: dict[tuple[str, str], dict[str, AcceptedPayee]] = {}
    for entry in entries:
        if entry.kind != PAYEE_ACCEPTED:
            continue
        names = {name: entry.body[name] for name in _ACCEPTED}
        payee = AcceptedPayee(**names, by=entry.actor.name, at=entry.at)
        accepted.setdefault((payee.iban, payee.name), {})[payee.known_as] = payee
    return accepted


@reads_entries
def standing_hashes(acts: Iterable[Entry]) -> dict[str, GivenHash]:
    """Return the last submitted transaction hash by request id.

    `acts` are the journal entries about actions. Actions that failed or were dropped are ignored.
    """
    hashes: dict[str, tuple[str, GivenHash]] = {}
    for entry in acts:
        if entry.kind == "action.proposed":
            if entry.body["kind"] == _GIVES_HASH:
                new_hash = GivenHash(seq=entry.seq, by=entry.actor.name, at=entry.at)
                hashes[entry.subject] = entry.body["target"], new_hash
        elif entry.subject in hashes:
            request, before = hashes.pop(entry.subject)
            after = _hash_after(before, entry)
            if after is not None:
                hashes[entry.subject] = request, after
    in_order = sorted(hashes.values(), key=lambda pair: pair[1].seq)
    return dict(in_order)


def _hash_after(last: GivenHash, entry: Entry) -> GivenHash | None:
    """Update a hash by its action's entry; return None if the action failed or was dropped."""
    match entry.kind.removeprefix("action."):
        case "done":
            return msgspec.structs.replace(last, state="done")
        case _ if last.state == "done":
            return last
        case "sending":
            return msgspec.structs.replace(last, state="left", attempts=last.attempts + 1)
        case "unknown":
            return msgspec.structs.replace(last, state="left")
        case "rejected" | "withdrawn" | "lapsed":
            return None
        case "refused" | "recovered" if last.state == "left":
            if entry.body.get("attempt", last.attempts) < last.attempts:
                return last
            again = entry.body.get("again")
            return msgspec.structs.replace(last, state="open") if again else None
    return last


def read_decision(entry: Entry) -> Decision:
    """Read the decision that a journal entry makes or revokes."""
    body = entry.body
    expectation_id = body.get("expectation_id")
    several = body.get("expectation_ids") or ([] if expectation_id is None else [expectation_id])
    return Decision(
        seq=entry.seq,
        verb=entry.kind.removeprefix(MATCH),
        entry_id=body.get("entry_id") or entry.subject,
        expectations=tuple(several),
        reason=body.get("reason") or "",
        to=body.get("to") or "",
        facts=body.get("facts") or {},
        closed_month=body.get("closed_month") or "",
        posts_to=body.get("posts_to") or "",
        by=entry.actor.name,
        at=entry.at,
        shares={name: Decimal(share) for name, share in (body.get("shares") or {}).items()},
        undoes=body.get("undoes"),
        despite=tuple(body.get("despite") or ()),
        proposed_by=_proposer(entry),
    )


def _undone(entry: Entry, undo: Decision, stand: dict[int, Decision]) -> int:
    """Return the entry number of the revoked decision.

    If the entry names none, it is the last decision on the same line and expectation.
    """
    seq_undone = entry.body.get("undoes")
    if seq_undone is not None:
        return int(seq_undone)
    pair = (undo.entry_id, undo.expectations)
    on_pair = [
        seq for seq, decision in stand.items() if (decision.entry_id, decision.expectations) == pair
    ]
    return max(on_pair, default=0)


def read_remark(entry: Entry) -> Remark:
    """Read the remark that a journal entry makes or revokes."""
    facts = entry.body.get("facts") or {}
    return Remark(
        seq=entry.seq,
        mark=entry.kind.removeprefix(_REQUEST),
        request_id=entry.subject,
        reason=entry.body.get("reason") or "",
        by=entry.actor.name,
        at=entry.at,
        name=facts.get("payment_reference") or entry.subject,
        undoes=entry.body.get("undoes"),
        proposed_by=_proposer(entry),
    )


def _proposer(entry: Entry) -> str:
    """Return the proposer as named in the decision sheet; empty if there is none."""
    return (entry.body.get(SHEET) or {}).get("proposed_by") or ""
