"""Remarks on ramp requests: marked as sent, not to be funded, not uploaded; each with a reason.

A remark proves nothing about a payment. It is shown next to the state that the bank and the service
prove, so that colleagues see what is known outside the records. A request in a payment file must
not be paid again, unless the bank rejects the payment or a person reports that the file was not
uploaded.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import format_amount
from treasury.core.nearest_names import Facade
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Journal
from treasury.journal import decision_history as history
from treasury.journal.decision_history import NOT_UPLOADED, AcceptedPayee, PaymentFile, Remark
from treasury.journal.decision_log import Decided, decide, read_decided
from treasury.journal.person_names import same_person
from treasury.lake import Snapshot
from treasury.month.decisions.file_answers import file_answers
from treasury.month.decisions.file_debits import answer_to
from treasury.month.decisions.remark_rows import remark_table
from treasury.month.funding import mark_words
from treasury.statements.pain.order_answers import OrderAnswer, stored_statuses

LIABILITY: Final = (
    "Whoever releases a payment in spite of its bank's warning bears the loss if it went to"
    " the wrong payee."
)
"""The liability notice in a confirmation for a payee that the bank did not confirm."""

_WAITING: Final = {
    "marked_sent": ("AWAITING_FUNDS",),
    "will_not_fund": ("AWAITING_FUNDS", "AWAITING_APPROVAL"),
    NOT_UPLOADED: ("AWAITING_FUNDS", "AWAITING_APPROVAL"),
}
"""The statuses in which each remark makes sense."""
_FACTS: Final = (
    "payment_reference", "ramp_type", "status", "fiat_amount", "fiat_currency", "crypto_amount",
    "crypto_currency", "version",
)  # fmt: skip
_FIND: Final = f"""\
SELECT id, {", ".join(_FACTS)} FROM ramp_requests
WHERE id = $name OR upper(payment_reference) = upper($name)
"""  # noqa: S608 - declared column names


_STATUSES: Final = """\
SELECT * FROM payment_statuses WHERE vanished_at IS NULL ORDER BY created_at, status_id
"""
_NOT_CLOSE: Final = {
    "": ("the bank has not verified its payee", "wait for the bank's answer, and add it"),
    "match": ("the bank confirmed the payee's name", "there is nothing to accept"),
    "none": (
        "the bank knows the payee's IBAN by another name",
        "do not release it; have two people verify the details again, outside the file",
    ),
    "not_possible": (
        "the bank could not verify its payee",
        "verify the details before the release, outside the file",
    ),
}
"""Why there is no name to accept, by the result of verifying the payee, and what to do."""


class Marking(Facade):
    """Remarks on ramp requests and decisions about payment files, as `t.funding`.

    `request` is a payment reference or an id, `reason` the person's own words, `actor` the person
    who decides (default: the person at the login). With `dry_run` a method checks the remark,
    returns it and writes nothing. Raises InputError for an unknown request, or an empty reason if
    one is required.

    >>> t.funding.marked_sent("PAY-2026-005358", "sent at the bank's counter")
    """

    def __init__(
        self,
        journal: Journal,
        snapshot: Callable[[], Snapshot],
        now: Callable[[], datetime],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
        one_person: Callable[[], bool] = lambda: False,
    ) -> None:
        self._zone = zone
        self._one_person = one_person
        self._journal = journal
        self._snapshot = snapshot
        self._now = now
        self._until = until

    def marked_sent(
        self, request: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Remark:
        """Mark the payment as sent before any statement shows it.

        Parameters
        ----------
        request
            The payment reference or id of a request that waits for its funds.
        reason
            How the person knows that it was sent.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Remark
            The remark, with its place in the journal unless it was a dry run.

        Raises
        ------
        ActionRefused
            If the request already has another remark, or does not wait for funds.

        Examples
        --------
        >>> t.funding.marked_sent("PAY-2026-005358", "sent at the bank's counter")
        """
        return self._journal_remark("marked_sent", request, reason, actor, dry_run=dry_run)

    def will_not_fund(
        self, request: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Remark:
        """Mark a request that we will not fund; it stays open at the service.

        Raise ActionRefused if the request already has another remark, is in a payment file, or does
        not wait for funds.

        >>> t.funding.will_not_fund("PAY-2026-005358", "the customer cancelled")
        """
        return self._journal_remark("will_not_fund", request, reason, actor, dry_run=dry_run)

    def not_uploaded(
        self, request: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Remark:
        """Mark a request's payment as not uploaded with its file, so that it may be paid.

        The other requests in the file stay as they are; `void_file` withdraws the whole file.

        Someone other than the file's author must do this. If the policy allows one person to do
        both, the author may do it, and the journal entry records this. Raise ActionRefused if no
        payment file contains the request, or if the bank has given any answer but a rejection for
        its payment.

        >>> t.funding.not_uploaded("PAY-2026-005358", "the upload was cancelled at the bank")
        """
        return self._journal_remark(NOT_UPLOADED, request, reason, actor, dry_run=dry_run)

    def void_file(
        self, name: str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> list[str]:
        """Withdraw a payment file that was not uploaded, so that its requests may be paid again.

        Someone other than the file's author must do this. If the policy allows one person to do
        both, the author may do it, and the journal entry records this.

        Parameters
        ----------
        name
            The file's name, as in `t.funding.list()`.
        reason
            How the person knows that the bank does not have the file.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        list of str
            The ids of the requests that the file contained.

        Raises
        ------
        InputError
            If the reason is missing.
        ActionRefused
            If the bank has given any answer but a rejection for a payment, the file is not in
            force, or the author may not withdraw it alone.

        Examples
        --------
        >>> t.funding.void_file("pain.001-2026-10-30.xml", "deleted at the bank before signing")
        """
        who, reason = actor or self._journal.who(), reason.strip()
        if not reason:
            raise InputError("withdrawing a payment file needs a reason", do="give the reason")

        def build(decided: Decided) -> tuple[list[Draft], list[str]]:
            inside = {
                request: file
                for request, file in history.standing_files(decided.entries).items()
                if file.name == name
            }
            if not inside:
                raise ActionRefused(
                    f"no payment file in force is named {clean(name)[:80]!r}",
                    do="run `treasury request list` to see the files that are in force",
                )
            alone = self._is_alone(next(iter(inside.values())), who)
            for request, file in inside.items():
                self._require_unanswered(file, request)
            body = {"reason": reason, "requests": sorted(inside), "alone": alone}
            return [Draft(history.FILE_VOIDED, name, body, who)], sorted(inside)

        return decide(self._journal, build, until=self._until, dry_run=dry_run)[1]

    def accept_payee(
        self,
        request: str,
        reason: str,
        *,
        agreed: AcceptedPayee | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> AcceptedPayee:
        """Accept the bank's name for a payee, if the bank found it to match closely.

        Someone other than the payment file's author must do this. If the policy allows one person
        to do both, the author may do it, and the journal entry records this. The acceptance applies
        to this IBAN, this payee's name and this name at the bank, in later files too.

        Parameters
        ----------
        request
            The payment reference or id of the request.
        reason
            How the person compared the names.
        agreed
            The result of a dry run. Only the names that it showed can be accepted.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        AcceptedPayee
            The IBAN, the ordered name and the bank's name.

        Raises
        ------
        InputError
            If the request is unknown, or the reason is missing.
        ActionRefused
            If the bank did not report a close match, if IBAN or names differ from `agreed`, or if
            the file's author may not accept it alone.

        Examples
        --------
        >>> shown = t.funding.accept_payee("PAY-2026-005358", "compared by phone", dry_run=True)
        >>> t.funding.accept_payee("PAY-2026-005358", "compared by phone", agreed=shown)
        """
        who, reason = actor or self._journal.who(), reason.strip()
        if not reason:
            raise InputError(
                "accepting a payee's name needs a reason", do="give the reason: how you compared"
            )
        row = self._find(request)

        def build(decided: Decided) -> tuple[list[Draft], AcceptedPayee]:
            file = history.standing_files(decided.entries).get(row["id"])
            name = row["payment_reference"] or row["id"]
            answer = None if file is None else self._answer(file)
            result = "" if answer is None else answer.payee
            if file is None or answer is None or result != "close":
                raise ActionRefused(f"{name}: {_NOT_CLOSE[result][0]}", do=_NOT_CLOSE[result][1])
            if not file.payee_iban:
                raise ActionRefused(
                    f"{clean(file.name)} was journaled without its payees: an acceptance for"
                    f" {name} would not be limited to its IBAN",
                    do="compare the names first, then decide at the bank whether to release the"
                    " payment",
                )
            known_as = clean(answer.payee_name)
            pair = (file.payee_iban, file.payee, answer.payee_name)
            if agreed is not None and pair != (agreed.iban, agreed.name, agreed.known_as):
                raise ActionRefused(
                    f"{name} has changed since you compared it: {clean(file.payee)}, "
                    f"{clean(file.payee_iban)}, is known as {known_as or 'a similar name'}",
                    do="compare the names as they are now",
                )
            names = history.accepted_payees(decided.entries).get((file.payee_iban, file.payee), {})
            stands = names.get(answer.payee_name)
            if stands is not None and stands.holds_in(file):
                return [], stands
            alone = same_person(file.by, who.name)
            if alone and not self._one_person():
                raise ActionRefused(
                    f"{who.name} made {clean(file.name)} and cannot accept that its bank knows"
                    f" {clean(file.payee)} as {known_as or 'somebody with a similar name'}",
                    do="have a colleague compare and accept it",
                )
            accepted = AcceptedPayee(
                iban=file.payee_iban,
                name=file.payee,
                known_as=answer.payee_name,
                reason=reason,
                by=who.name,
                at=self._now(),
                alone=alone,
                file=file.name,
            )
            body = msgspec.structs.asdict(accepted) | {"request": row["id"]}
            del body["by"], body["at"]
            return [Draft(history.PAYEE_ACCEPTED, row["id"], body, who)], accepted

        return decide(self._journal, build, until=self._until, dry_run=dry_run)[1]

    def _answer(self, file: PaymentFile) -> OrderAnswer | None:
        """Return the bank's answer to a payment in a file, or None."""
        if not file.message_id:
            return None
        statuses = stored_statuses(self._snapshot().sql, [file.message_id])
        return answer_to(file, statuses[file.message_id])

    def _is_alone(self, file: PaymentFile, who: Actor) -> bool:
        """Return whether a person withdraws their own file; refuse it if the policy forbids it."""
        alone = same_person(file.by, who.name)
        if alone and not self._one_person():
            raise ActionRefused(
                f"{who.name} made {clean(file.name)} and cannot withdraw it or any of its payments",
                do="have a colleague check at the bank that it was not uploaded, and withdraw it",
            )
        return alone

    def _require_unanswered(self, file: PaymentFile, name: str) -> None:
        """Raise ActionRefused if the bank has given any answer but a rejection for a payment."""
        answer = self._answer(file)
        if answer is not None and answer.stage != "rejected":
            raise ActionRefused(
                f"the bank has {clean(file.name)}, and reports about {file.reference or name}: "
                f"{answer.words}",
                do="ask the bank to cancel it; wait for its answer before you pay again",
            )

    def undo(
        self,
        request: str,
        reason: str = "",
        *,
        seq: int | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Remark:
        """Undo the last remark on a request.

        Parameters
        ----------
        request
            The payment reference or id of the request.
        reason
            Optional.
        seq
            The journal place of the remark to undo, as in `list`; default: the last remark.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Remark
            The undo entry, as a remark.

        Raises
        ------
        ActionRefused
            If the request has no remark, or its last remark is not at `seq`.

        Examples
        --------
        >>> t.funding.undo("PAY-2026-005358", "it was another payment")
        """
        return self._journal_remark(
            "undo", request, reason, actor, intended_seq=seq, dry_run=dry_run
        )

    def list(self) -> Table:
        """Return a row per request with a remark, a payment file in force, or a hash entered here.

        The columns are those of REQUEST_REMARKS, with `order_amounts` in EUR, and two more. `seq`
        is the place of the remark in the journal, null for a request without a remark.
        `proposed_by` is the person that a decision sheet names as the proposer.

        >>> t.funding.list()
        """
        decided = read_decided(self._journal, until=self._until)
        remarks, table = history.standing_remarks(decided.entries), remark_table(decided)
        said = pc.or_(table["mark"].is_valid(), table["file"].is_valid())
        table = table.filter(pc.or_(said, table["hash_state"].is_valid()))
        ids = table["request_id"].to_pylist()
        places = [remarks[name].seq if name in remarks else None for name in ids]
        placed = table.append_column("seq", pa.array(places, pa.int64()))
        proposers = [remarks[name].proposed_by or None if name in remarks else None for name in ids]
        placed = placed.append_column("proposed_by", pa.array(proposers, pa.string()))
        return Table(placed, zone=self._zone)

    def answers(self, statuses: pa.Table | None = None) -> Table:
        """Return the banks' answers to payment files, by file, batch and payment, in words.

        Parameters
        ----------
        statuses
            Statuses read from a bank's report; default: all stored ones.

        Returns
        -------
        Table
            A row per status, with the columns of FILE_ANSWERS; `amount` is in `currency`.

        Examples
        --------
        >>> t.funding.answers()
        """
        if statuses is None:
            statuses = self._snapshot().sql(_STATUSES)
        entries = read_decided(self._journal, until=self._until).entries
        return Table(file_answers(statuses, entries), zone=self._zone)

    def _journal_remark(
        self,
        word: str,
        request: str,
        reason: str,
        actor: Actor | None,
        *,
        intended_seq: int | None = None,
        dry_run: bool,
    ) -> Remark:
        who, reason = actor or self._journal.who(), reason.strip()
        if not reason and word != "undo":
            raise InputError("a remark needs a reason", do="give the reason")
        row = self._find(request)
        intended = [] if intended_seq is None else [intended_seq]

        def build(decided: Decided) -> tuple[list[Draft], Remark]:
            draft, planned = self._plan(decided, word, row, reason, who=who, intended=intended)
            return [] if draft is None else [draft], planned

        added, remark = decide(self._journal, build, until=self._until, dry_run=dry_run)
        return history.read_remark(added[0]) if added else remark

    def plan_remark(
        self, decided: Decided, mark: str, request: str, reason: str, who: Actor
    ) -> tuple[Draft | None, Remark]:
        """Return the entry that a remark would add (None if the remark exists), and the remark.

        `mark` is the remark: `marked_sent`, `will_not_fund` or `not_uploaded`. Raise the same
        errors as the method of that name.
        """
        if not reason.strip():
            raise InputError("a remark needs a reason", do="give the reason")
        row = self._find(request)
        return self._plan(decided, mark, row, reason.strip(), who=who, intended=[])

    def _plan(
        self,
        decided: Decided,
        word: str,
        row: dict[str, Any],
        reason: str,
        *,
        who: Actor,
        intended: MutableSequence[int],
    ) -> tuple[Draft | None, Remark]:
        stands = history.standing_remarks(decided.entries).get(row["id"])
        file = history.standing_files(decided.entries).get(row["id"])
        if stands is not None and stands.mark == word:
            return None, stands
        _check(word, row, stands, file, intended[0] if intended else None)
        alone = {}
        if word == NOT_UPLOADED and file is not None:
            alone = {"alone": self._is_alone(file, who)}
            self._require_unanswered(file, row["id"])
        # If a colleague replaces the remark before a retry, `_check` then refuses the undo.
        if stands is not None:
            intended[:] = [stands.seq or 0]
        undone = file if word == NOT_UPLOADED else stands
        undoes = undone.seq if undone else None
        body = {
            "reason": reason,
            "undoes": undoes,
            "facts": {name: value_text(row[name]) for name in _FACTS},
            **alone,
        }
        planned = Remark(
            seq=None,
            mark=word,
            request_id=row["id"],
            reason=reason,
            by=who.name,
            at=self._now(),
            name=row["payment_reference"] or row["id"],
            undoes=undoes,
        )
        return Draft(f"request.{word}", row["id"], body, who), planned

    def _find(self, name: str) -> dict[str, Any]:
        rows = self._snapshot().sql(_FIND, {"name": name.strip()}).to_pylist()
        if len(rows) != 1:
            count_words = "more than one ramp request has" if rows else "no ramp request has"
            raise InputError(
                f"{count_words} the reference or id {clean(name)[:60]!r}",
                do="give its id, as `treasury awaiting-funds --format json` shows it",
            )
        return rows[0]


def _check(
    word: str,
    row: dict[str, Any],
    standing: Remark | None,
    file: PaymentFile | None,
    intended_seq: int | None,
) -> None:
    name = row["payment_reference"] or row["id"]
    stated = standing and mark_words(standing.mark, standing.by, clean(standing.reason))
    if word == "undo":
        if standing is None:
            raise ActionRefused(
                f"there is no remark on {name}", do="run `treasury request list` to see all remarks"
            )
        if intended_seq not in {None, standing.seq}:
            raise ActionRefused(
                f"the remark on {name} is now another one: {stated}",
                do="run `treasury request list` to see the current remarks, then decide again",
            )
        return
    if word == NOT_UPLOADED:
        if file is None:
            raise ActionRefused(
                f"{name} is in no payment file",
                do="run `treasury request list` to see the payment files",
            )
    elif standing is not None:
        raise ActionRefused(
            f"{name} already has a remark: {stated}",
            do="undo that first, if it is wrong",
        )
    if word == "will_not_fund" and file is not None:
        raise ActionRefused(
            f"{name} is in {clean(file.name)}, made by {file.by}, and may be paid by it",
            do="if the file was not uploaded, report that first: treasury request not-uploaded",
        )
    if row["status"] not in _WAITING[word]:
        amount = row["fiat_amount"]
        worth = f" ({format_amount(amount, row['fiat_currency'])})" if amount is not None else ""
        raise ActionRefused(
            f"{name}{worth} is {row['status']}: it does not wait for funds",
            do="sync, then look at it again",
        )


def foreseen_remark(decided: Decided, planned: Remark) -> Decided:
    """Return the decisions with a planned remark added, as if it were journaled."""
    body = {"reason": planned.reason, "undoes": planned.undoes}
    who = Actor(planned.by, "environment")
    draft = Draft(f"request.{planned.mark}", planned.request_id, body, who)
    return decided.foresee([(planned.at, draft)])
