"""People's decisions about bank lines and requests, derived from the journal's entries.

`match.accept`, `match.reject` and `match.ignore` are verdicts on a bank line. `match.assign` hands
the line to a colleague. `match.undo` revokes the last decision, so that the previous one applies
again. `request.marked_sent` and `request.will_not_fund` are remarks on a ramp request and prove
nothing. `payment_file.made` lists the requests in a file that may be uploaded at the bank;
`request.not_uploaded` removes one of them, `payment_file.voided` all. `payment_file.payee_accepted`
accepts the name that a bank knows for an IBAN as the payee's.
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
"""One row per line and expectation; `share` is the part of a divided line for that expectation."""
MATCH: Final = "match."
_REQUEST: Final = "request."
FILE_MADE: Final = "payment_file.made"
FILE_VOIDED: Final = "payment_file.voided"
PAYEE_ACCEPTED: Final = "payment_file.payee_accepted"
NOT_UPLOADED: Final = "not_uploaded"
SHEET: Final = "sheet"
"""Field of a decision's body that identifies the row of the sheet it was made in."""
_VERDICTS: Final = ("accept", "reject", "ignore")
_UNDO: Final = "undo"
_GIVES_HASH: Final = "ramp_request.submit_hash"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision in force. `expectations` is empty for a line that is closed or handed on.

    `facts` are the facts about the line and each expectation as the decider saw them. `seq` is the
    entry's number in the journal, None while only planned. A decision on a line of a closed month
    has that month in `closed_month`, and the open month it `posts_to`.
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
    """Parts of a divided line, by expectation."""
    undoes: int | None = None
    """Number of the journal entry that an undo revokes."""
    despite: tuple[str, ...] = ()
    """Contradicting facts that the reason outweighed."""
    proposed_by: str = ""
    """The proposer named by the sheet that it was decided in."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A remark in force on a ramp request: `marked_sent` or `will_not_fund`.

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
    """Number of the journal entry (remark or payment file) that it revokes."""
    proposed_by: str = ""
    """The proposer named by the sheet that it was made in."""


class PaymentFile(msgspec.Struct, frozen=True, kw_only=True):
    """The last payment file with a request, unless reported as not uploaded."""

    seq: int
    name: str
    by: str
    at: datetime
    message_id: str = ""
    """Message id of the file, which the bank's answers refer to."""
    reference: str = ""
    """End-to-end id of the request in the file."""
    execution: date | None = None
    """Execution date requested from the bank."""
    payee: str = ""
    """Name of the payee in the file; its IBAN is `payee_iban`."""
    payee_iban: str = ""
    payer: str = ""
    """IBAN of the debtor account."""
    amount: Decimal | None = None
    """Amount ordered for the request in EUR; None if it was not journaled."""
    rejections_alone: bool = False
    """True if the bank reports rejected payments only."""
    is_standing: bool = True
    """False after somebody reported it as not uploaded, or voided it."""


class AcceptedPayee(msgspec.Struct, frozen=True, kw_only=True):
    """A bank's name for an IBAN, accepted as the name of the payee.

    It applies as long as the IBAN, the name and the bank's answer stay the same. If the bank gave
    no name, it applies only to the payment file in question. `alone` is True if the maker of the
    payment file accepted it, under a policy of one person.
    """

    iban: str
    name: str
    known_as: str
    reason: str
    by: str
    at: datetime
    alone: bool = False
    file: str = ""
    """The payment file that the bank's answer was about."""

    def holds_in(self, file: PaymentFile) -> bool:
        """Return True if it applies to a payment file with that IBAN and name."""
        return bool(self.known_as) or self.file == file.name


class GivenHash(msgspec.Struct, frozen=True, kw_only=True):
    """The last transaction hash given for a request: its giver and its state.

    `open` means waiting for approval or execution, `left` that it may be at the service, and `done`
    that it is.
    """

    seq: int
    by: str
    at: datetime
    state: Literal["open", "left", "done"] = "open"
    attempts: int = 0


@reads_entries
def standing(entries: Iterable[Entry]) -> list[Decision]:
    """Return the decisions in force, oldest first; entries of other kinds are skipped."""
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
    """Return the verdict in force per bank line and expectation, sorted by both.

    `until` leaves out later decisions.
    """
    entries = (entry for entry in journal.entries(MATCH) if until is None or entry.at <= until)
    return decision_table(standing(entries))


def decision_table(stand: Iterable[Decision]) -> pa.Table:
    """Return the verdicts among these decisions as input for matching; the latest one counts."""
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
    """Return the remark in force per request id."""
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
    """Return the payment file in force per request id."""
    return {
        request: files[-1]
        for request, files in files_made(entries).items()
        if files[-1].is_standing
    }


@reads_entries
def files_made(entries: Iterable[Entry]) -> dict[str, list[PaymentFile]]:
    """Return every payment file of each request, by request id, the latest last."""
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
    """Return the accepted names, by the payee's IBAN and ordered name, then by the bank's name."""
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
    """Return the last hash given per request id, ignoring actions that failed or were dropped.

    `acts` are the entries of actions.
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
    """Apply an entry of its action to a hash; return None if the action came to nothing."""
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
    """Return the number of the revoked decision: the named one, or the last on the same pair."""
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
    """Return the proposer named by a decision's sheet, or an empty text."""
    return (entry.body.get(SHEET) or {}).get("proposed_by") or ""
