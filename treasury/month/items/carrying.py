"""Carrying open items past a close by two people.

Each decision is checked against the current open items. It is journaled only if no other decision
was made meanwhile; otherwise it is checked again. An acceptance covers one item: it contains the
item's amount and state, its owner, and the day by which it should clear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.actions.kinds.kind import AssetAmount
from treasury.actions.policies.policy import CARRY
from treasury.core.calendar import Month, parse_day
from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import parse_amount
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft
from treasury.journal.decision_log import Decided, read_decided
from treasury.journal.period_history import closed_periods, preparations
from treasury.journal.person_names import same_person
from treasury.month.items.attaching import Attaching
from treasury.month.items.carry_proposals import (
    ACCEPTANCES,
    ACCEPTED,
    PROPOSED,
    WITHDRAWN,
    Acceptance,
    acceptances,
)
from treasury.month.items.notes.note_subjects import NoteSubject
from treasury.month.items.noting import Body, Wording, require_line
from treasury.month.items.open_item import OpenItem, item_filter, owner_notes
from treasury.month.items.open_items import OpenItems

CARRIED: Final = pa.schema([("standing", TEXT), ("name", TEXT), *ACCEPTANCES])
"""One row per proposal to carry an item.

`standing` states in words whether the item waits for acceptance, is carried, has lapsed or is not
open.
"""
_WAITS: Final = "waits for a second person"
_OF_A_MONTH: Final = re.compile(r"/(\d{4}-(?:0[1-9]|1[0-2]))$", re.ASCII)
"""The end of an item's id if the item concerns a single month."""
_ItemWording = Callable[[OpenItem, Acceptance | None], Body]
"""Returns the content of an entry about an item, from its carry proposal."""


class Carrying(Attaching):
    """Owners, remarks and files of open items, and carrying them past a close, as `t.items`.

    `names` are ids of open items, starts of ids, or references in their names. `month` is by
    default the last month that has ended. `actor` is the person who decides (default: the person at
    the login). With `dry_run` a method checks the decision and writes nothing. `carry`, `accept`,
    `withdraw` and `remark` return the chosen items as they are after the decision; in a dry run, as
    they are before it. `list_items` returns the open items of a month that result from a set of
    decisions; for a prepared month these are the items that wait for its signature.

    >>> t.items.carry("PAY-1042", owner="ines", by="2026-11-30", reason="the bank confirmed it")
    """

    def carry(
        self,
        *names: str,
        owner: str,
        by: str | date,
        reason: str,
        month: str | Month | None = None,
        ledger: Path | None = None,
        books: Path | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Propose to carry items past the close, with an owner and the day they should clear by.

        Parameters
        ----------
        names
            The items, by id, start of an id, or reference.
        owner
            The person who follows the items up.
        by
            The day by which they should clear, as a date, `2026-11-30`, `30/11/2026` or `30 Nov`.
        reason
            Why they are still open.
        month
            The month; default: the last one that ended.
        ledger
            The ledger's CSV file that the month will be prepared with; default: the last one that
            was given to its close.
        books
            The CSV file of the ledger's postings, as `ledger`.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        OpenItems
            The items with their proposals; amounts are in each item's currency.

        Raises
        ------
        InputError
            If an item is not open, or owner, day or reason are missing.
        ActionRefused
            If an item cannot be accepted, does not block the close, or the month is closed; or if a
            limit of the policy for `item.carry` is exceeded.

        Examples
        --------
        >>> t.items.carry("PAY-1042", owner="ines", by="2026-11-30", reason="the bank confirmed it")
        """
        terms = self._terms(owner, by, reason)
        who = actor or self._journal.who()
        wording = _of_items(partial(_proposed, terms, who), partial(self._limit, "propose", who))
        files = (ledger, books)
        return self._decide(PROPOSED, names, wording, who, month, files=files, dry_run=dry_run)

    def accept(
        self,
        *names: str,
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Accept another person's proposal to carry items past the close.

        If the policy allows it, one person may propose and accept; the acceptance is then marked as
        signed alone. Raise ActionRefused if an item has no proposal, its proposal has lapsed, the
        proposer may not accept it, or a limit of the policy for `item.carry` is exceeded.

        >>> t.items.accept("PAY-1042")
        """
        who = actor or self._journal.who()
        wording = _of_items(partial(self._accepted, who), partial(self._limit, "approve", who))
        return self._decide(ACCEPTED, names, wording, who, month, dry_run=dry_run)

    def withdraw(
        self,
        *names: str,
        reason: str,
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Withdraw proposals or acceptances, so that the items block the close again.

        Raise ActionRefused if an item has no proposal.

        >>> t.items.withdraw("PAY-1042", reason="the bank has returned it")
        """
        require_line(reason, "a reason", "reason")

        def withdrawn(item: OpenItem, acceptance: Acceptance | None) -> Body:
            if acceptance is None:
                raise ActionRefused(
                    f"no person proposed to carry {item.item_id}",
                    do="`treasury items list` shows the proposals",
                )
            return {"reason": reason.strip()}

        who = actor or self._journal.who()
        return self._decide(WITHDRAWN, names, _of_items(withdrawn), who, month, dry_run=dry_run)

    def list(
        self,
        month: str | Month | None = None,
        *,
        owner: str | None = None,
        currency: str | None = None,
        min_amount: str | int | Decimal | None = None,
    ) -> Table:
        """Return every current proposal to carry an item, with its standing; columns as in CARRIED.

        If an item is not open in this month but in another one, such as a prepared month, its
        standing is the one in that month, and names the month.

        `owner`, `currency` and `min_amount` are as in `OpenItems.select`.

        >>> t.items.list("2026-10", owner="ines")
        """
        of_amount = item_filter(owner, currency, min_amount)
        decided = read_decided(self._journal, until=self._until)
        items = self._list_items(month, decided, None, None)
        standing = acceptances(decided.entries)
        elsewhere: dict[str, tuple[Month, OpenItem]] = {}
        if absent := standing.keys() - items.by_id.keys():
            for open_month in _other_months(items.month, decided, absent):
                listed = self._list_items(open_month, decided, None, None).by_id
                elsewhere |= {of: (open_month, listed[of]) for of in absent & listed.keys()}
        rows = []
        for item_id, acceptance in standing.items():
            if not of_amount.passes(acceptance.owner, acceptance.currency, acceptance.amount):
                continue
            of, item = elsewhere.get(item_id, (items.month, items.by_id.get(item_id)))
            words = f"not open in {of}"
            if item is not None:
                words = _standing(acceptance, item, self._today())
                words += f", in {of}" if of != items.month else ""
            row = {"standing": words, "name": None if item is None else item.name}
            rows.append(msgspec.structs.asdict(acceptance) | row)
        notes = owner_notes(owner, (acceptance.owner for acceptance in standing.values()))
        return Table(pa.Table.from_pylist(rows, schema=CARRIED), zone=self._zone, notes=notes)

    def plan_proposal(
        self,
        decided: Decided,
        item: OpenItem,
        who: Actor,
        *,
        owner: str,
        by: str | date,
        reason: str,
        planned: Iterable[OpenItem] = (),
    ) -> Draft | None:
        """Return the entry that proposes to carry an item, or None if the same is proposed already.

        `item` is in the month's list under these decisions. `planned` are the items that the same
        write proposes to carry; they count towards the daily limit. Raise the errors of `carry`.
        """
        self._policy().check_identity(who)
        acceptance = acceptances(decided.entries).get(item.item_id)
        body = _proposed(self._terms(owner, by, reason), who, item, acceptance)
        if body is None:
            return None
        self._limit("propose", who, decided, planned)(item)
        return Draft(PROPOSED, item.item_id, body, who)

    def plan_acceptance(
        self, decided: Decided, item: OpenItem, who: Actor, *, planned: Iterable[OpenItem] = ()
    ) -> Draft | None:
        """Return the entry that accepts the proposal to carry an item; None if it is accepted.

        `planned` are the items that the same write accepts. Raise the errors of `accept`.
        """
        self._policy().check_identity(who)
        acceptance = acceptances(decided.entries).get(item.item_id)
        body = self._accepted(who, item, acceptance)
        if body is None:
            return None
        self._limit("approve", who, decided, planned)(item)
        return Draft(ACCEPTED, item.item_id, body, who)

    def _limit(
        self, verb: str, who: Actor, decided: Decided, planned: Iterable[OpenItem] = ()
    ) -> Callable[[OpenItem], None]:
        """Return a function that refuses an item beyond the policy's limits for this person.

        The amount of each item that passes counts towards the daily limit for the next ones.
        """
        policy = self._policy()
        spent: list[AssetAmount] = []
        if policy.rule(CARRY).per_day is not None:
            spent += self._decided_today(PROPOSED if verb == "propose" else ACCEPTED, who, decided)
            spent += filter(None, map(_worth, planned))

        def check(item: OpenItem) -> None:
            money = _worth(item)
            policy.check(verb, CARRY, money, who, spent)
            if money is not None:
                spent.append(money)

        return check

    def _decided_today(self, kind: str, who: Actor, decided: Decided) -> Iterator[AssetAmount]:
        """Yield the amounts that a person proposed or accepted to carry today."""
        proposals = {entry.seq: entry for entry in decided.entries if entry.kind == PROPOSED}
        today = self._today()
        for entry in decided.entries:
            if entry.kind != kind or not same_person(entry.actor.name, who.name):
                continue
            place = entry.seq if kind == PROPOSED else entry.body.get("proposal", 0)
            proposal = proposals.get(place)
            if proposal is None or entry.at.astimezone(self._zone).date() != today:
                continue
            amount = proposal.body.get("amount")
            if amount is not None:
                yield AssetAmount(proposal.body["currency"], parse_amount(amount).copy_abs())

    def _terms(self, owner: str, by: str | date, reason: str) -> dict[str, Any]:
        """Return the owner, the day to clear by and the reason, after checking them."""
        require_line(owner, "an owner", "owner")
        require_line(reason, "a reason", "reason")
        expected = by if isinstance(by, date) else parse_day(by, self._today())
        if expected < self._today():
            raise InputError(
                f"{expected} is in the past", do="give the day by which the items should clear"
            )
        return {"owner": owner.strip(), "expected_by": expected, "reason": reason.strip()}

    def _accepted(self, who: Actor, item: OpenItem, acceptance: Acceptance | None) -> Body:
        """Return the content of an acceptance, or None if the item is accepted already."""
        if acceptance is None:
            raise ActionRefused(
                f"no person proposed to carry {item.item_id}",
                do=f"propose it: treasury items carry {item.item_id} --owner … --by … --reason …",
            )
        lapse = acceptance.lapse(item, self._today())
        if lapse:
            raise ActionRefused(
                f"the proposal of {acceptance.proposed_by} for {item.item_id} has lapsed: {lapse}",
                do="have it proposed again with its current amount and state",
            )
        if acceptance.accepted_by is not None:
            return None
        alone = same_person(acceptance.proposed_by, who.name)
        if alone and not self._policy().one_person:
            raise ActionRefused(
                f"{who.name} proposed to carry {item.item_id} and cannot accept it",
                do="have a colleague accept it",
            )
        return {"proposal": acceptance.proposal, "alone": alone}


def _worth(item: OpenItem) -> AssetAmount | None:
    return None if item.amount is None else AssetAmount(item.currency, item.amount.copy_abs())


def _of_items(
    wording: _ItemWording, limit: Callable[[Decided], Callable[[OpenItem], None]] | None = None
) -> Wording:
    """Return the wording of a decision on open items; it refuses other subjects.

    With `limit`, it also refuses an item beyond the policy's limits.
    """

    def of_decided(decided: Decided) -> Callable[[NoteSubject], Body]:
        standing = acceptances(decided.entries)
        check = None if limit is None else limit(decided)

        def body(subject: NoteSubject) -> Body:
            if subject.item is None:
                raise InputError(
                    f"{clean(subject.id)} is not an open item, and only items are carried",
                    do="name an item of `treasury exceptions`",
                )
            content = wording(subject.item, standing.get(subject.id))
            if content is not None and check is not None:
                check(subject.item)
            return content

        return body

    return of_decided


def _proposed(
    terms: dict[str, Any], who: Actor, item: OpenItem, acceptance: Acceptance | None
) -> Body:
    """Return the content of a proposal, or None if the same proposal of this person still applies.

    Raise ActionRefused if the item cannot be accepted or does not block.
    """
    if item.blocks == "never acceptable":
        raise ActionRefused(
            f"{item.item_id} cannot be accepted ({item.words.label.lower()}): {item.name}",
            do=item.next_step,
        )
    if item.blocks == "never":
        raise ActionRefused(
            f"{item.item_id} ({item.words.label.lower()}) does not block the close: it is "
            "carried without acceptance",
            do="leave it out",
        )
    stands = (
        acceptance is not None
        and not acceptance.lapse(item, terms["expected_by"])
        and acceptance.proposed_by == who.name
        and all(getattr(acceptance, name) == term for name, term in terms.items())
    )
    if stands:
        return None
    return {"amount": item.amount, "currency": item.currency, "state": item.state} | terms


def _other_months(month: Month, decided: Decided, item_ids: Iterable[str]) -> list[Month]:
    """Return the months, other than `month` and closed ones, in which these items may be open.

    They are the prepared months and the months at the end of item ids, such as `…/2026-09`.
    """
    names = set(preparations(decided.entries))
    names |= {end[1] for item_id in item_ids if (end := _OF_A_MONTH.search(item_id))}
    names -= {str(month), *closed_periods(decided.entries)}
    return [Month.parse(name) for name in sorted(names)]


def _standing(acceptance: Acceptance, item: OpenItem, today: date) -> str:
    lapse = acceptance.lapse(item, today)
    if lapse:
        return f"lapsed: {lapse}"
    if acceptance.accepted_by is None:
        return _WAITS
    return "carried, signed alone" if acceptance.alone else "carried"
