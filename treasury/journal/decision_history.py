"""What people decided about bank lines and requests, folded from the journal's entries.

`match.accept`, `match.reject` and `match.ignore` are verdicts on a bank line, `match.assign` hands
it to a colleague, `match.undo` takes the last of them back, so that what stood before stands again.
`request.marked_sent` and `request.will_not_fund` are remarks on a ramp request and prove nothing.
`payment_file.made` says which requests left in a file that may be uploaded at the bank;
`request.not_uploaded` takes one of them out again, `payment_file.voided` all that are in one.
`payment_file.payee_accepted` says that the name which a bank knows for an IBAN is the payee's.
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
"""A row for each line and expectation; `share` is what of a divided line is for that one."""
MATCH: Final = "match."
_REQUEST: Final = "request."
FILE_MADE: Final = "payment_file.made"
FILE_VOIDED: Final = "payment_file.voided"
PAYEE_ACCEPTED: Final = "payment_file.payee_accepted"
NOT_UPLOADED: Final = "not_uploaded"
SHEET: Final = "sheet"
"""The field of a decision's body that says which row of a sheet it was decided in."""
_VERDICTS: Final = ("accept", "reject", "ignore")
_UNDO: Final = "undo"
_GIVES_HASH: Final = "ramp_request.submit_hash"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that stands. `expectations` is empty for a line that is closed or handed on.

    `facts` are those of the line and of each expectation as its maker saw them; `seq` is its place
    in the journal, None while it is only planned. Of a line whose month was closed it names that
    month, and the open one that the decision `posts_to`.
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
    """What of a line that was divided is for each expectation."""
    undoes: int | None = None
    """The place in the journal of the decision that an undo takes back."""
    despite: tuple[str, ...] = ()
    """What spoke against it, and was outweighed by its reason."""
    proposed_by: str = ""
    """Whom the sheet that it was decided in names as having proposed it."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A remark on a ramp request that stands: `marked_sent` or `will_not_fund`.

    `name` is how people call the request: its payment reference, else its id.
    """

    seq: int | None
    mark: str
    request_id: str
    reason: str
    by: str
    at: datetime
    name: str = ""
    undoes: int | None = None
    """The place in the journal of the remark or payment file that it takes back."""
    proposed_by: str = ""
    """Whom the sheet that it was made in names as having proposed it."""


class PaymentFile(msgspec.Struct, frozen=True, kw_only=True):
    """The last payment file that a request left in, which nobody says was not uploaded."""

    seq: int
    name: str
    by: str
    at: datetime
    message_id: str = ""
    """Its id in the file, by which the bank answers."""
    reference: str = ""
    """The request's end-to-end id in it."""
    execution: date | None = None
    """The day on which the bank is to carry it out."""
    payee: str = ""
    """Whom it pays, by the name in the file, and `payee_iban` where."""
    payee_iban: str = ""
    payer: str = ""
    """The IBAN of the account that it is to be debited from."""
    amount: Decimal | None = None
    """What it orders for the request, in EUR; None where that was not journaled."""
    rejections_alone: bool = False
    """Whether its bank reports of rejected payments alone."""
    is_standing: bool = True
    """False once somebody said that it was not uploaded, or took it back."""


class AcceptedPayee(msgspec.Struct, frozen=True, kw_only=True):
    """A name that a bank knows for an IBAN, accepted as that of the payee who is ordered so.

    It holds for that IBAN, that name and what the bank said, until any of them is another; where
    the bank gave no name, for the payment file alone that it said it of. `alone`
    says that whoever made the payment file accepted it, under a policy of one person.
    """

    iban: str
    name: str
    known_as: str
    reason: str
    by: str
    at: datetime
    alone: bool = False
    file: str = ""
    """The payment file that the bank said it of."""

    def holds_in(self, file: PaymentFile) -> bool:
        """Whether it holds in a payment file to that IBAN and name, of which the bank says so."""
        return bool(self.known_as) or self.file == file.name


class GivenHash(msgspec.Struct, frozen=True, kw_only=True):
    """The transaction hash that was last given for a request: by whom, and how far it has come.

    `open` waits for a colleague or to be carried out, `left` may be at the service, `done` is.
    """

    seq: int
    by: str
    at: datetime
    state: Literal["open", "left", "done"] = "open"
    attempts: int = 0


@reads_entries
def standing(entries: Iterable[Entry]) -> list[Decision]:
    """The decisions that stand, in the order they were taken; entries of other kinds are passed."""
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
    """The verdict that stands for each bank line and expectation, by line then expectation.

    `until` leaves out what was decided later.
    """
    entries = (entry for entry in journal.entries(MATCH) if until is None or entry.at <= until)
    return decision_table(standing(entries))


def decision_table(stand: Iterable[Decision]) -> pa.Table:
    """The verdicts among these decisions as the matching takes them; the latest counts."""
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
    """The remark that stands on each request, by the request's id."""
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
    """The payment file that each request is in, by the request's id."""
    return {
        request: files[-1]
        for request, files in files_made(entries).items()
        if files[-1].is_standing
    }


@reads_entries
def files_made(entries: Iterable[Entry]) -> dict[str, list[PaymentFile]]:
    """Every payment file that each request ever left in, by the request's id, the latest last."""
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
    """What was accepted, by the payee's IBAN and name as ordered, then by the bank's name."""
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
    """The hash that was last given for each request by an action which has not come to nothing.

    By the request's id; `acts` are the entries of actions.
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
    """What one more entry of its action makes of a hash; None for nothing."""
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
    """The decision that a journal's entry makes or takes back."""
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
    """Which decision is taken back: the one that is named, else the last on that pair."""
    seq_undone = entry.body.get("undoes")
    if seq_undone is not None:
        return int(seq_undone)
    pair = (undo.entry_id, undo.expectations)
    on_pair = [
        seq for seq, decision in stand.items() if (decision.entry_id, decision.expectations) == pair
    ]
    return max(on_pair, default=0)


def read_remark(entry: Entry) -> Remark:
    """The remark that a journal's entry makes or takes back."""
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
    """Whom the sheet that a decision came in names; nobody where it came in none."""
    return (entry.body.get(SHEET) or {}).get("proposed_by") or ""
