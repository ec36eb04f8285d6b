"""Remarks on open items, and carrying items past a close by two people.

Each decision is checked against the current open items. It is journaled only if no other decision
was made meanwhile; otherwise it is checked again. An acceptance covers one item: it contains the
item's amount and state, its owner, and the day by which it should clear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import Policy
from treasury.core.calendar import Month, parse_day
from treasury.core.errors import ActionRefused, InputError
from treasury.core.nearest_names import Facade
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.table import Table
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.period_history import closed_periods, preparations
from treasury.journal.person_names import same_person
from treasury.month.items.carry_proposals import (
    ACCEPTANCES,
    ACCEPTED,
    PROPOSED,
    WITHDRAWN,
    Acceptance,
    acceptances,
)
from treasury.month.items.item_remarks import REMARKED, item_remarks
from treasury.month.items.open_item import OpenItem
from treasury.month.items.open_items import OpenItems

CARRIED: Final = pa.schema([("standing", TEXT), ("name", TEXT), *ACCEPTANCES])
"""One row per proposal to carry an item; `standing` says in words if it is carried or lapsed."""
_WAITS: Final = "waits for a second person"
_OF_A_MONTH: Final = re.compile(r"/(\d{4}-(?:0[1-9]|1[0-2]))$", re.ASCII)
"""The end of an item's id if the item concerns a single month."""
_LONGEST_REMARK: Final = 500

ListItems = Callable[[str | Month | None, Decided, Path | None, Path | None], OpenItems]
_Body = dict[str, Any] | None
"""The content of a journal entry about an item, or None if the journal has the same already."""
_Wording = Callable[[OpenItem, Acceptance | None, Decided], _Body]
"""Returns this content for an item, from its carry proposal and all decisions."""


class Carrying(Facade):
    """Remarks on open items and carrying them past a close, as `t.items`.

    `names` are ids of open items, starts of ids, or references in their names. `month` is by
    default the last month that has ended. `actor` is the person who decides (default: the person at
    the login). With `dry_run` a method checks the decision and writes nothing. `carry`, `accept`,
    `withdraw` and `remark` return the chosen items as they are after the decision; in a dry run, as
    they are before it. `list_items` returns the open items of a month that result from a set of
    decisions; for a prepared month these are the items that wait for its signature.

    >>> t.items.carry("PAY-1042", owner="ines", by="2026-11-30", reason="the bank confirmed it")
    """

    def __init__(
        self,
        journal: Journal,
        list_items: ListItems,
        policy: Callable[[], Policy],
        today: Callable[[], date],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._journal = journal
        self._list_items = list_items
        self._policy = policy
        self._today = today
        self._until = until

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
            If an item cannot be accepted, does not block the close, or the month is closed.

        Examples
        --------
        >>> t.items.carry("PAY-1042", owner="ines", by="2026-11-30", reason="the bank confirmed it")
        """
        terms = self._terms(owner, by, reason)
        who = actor or self._journal.who()
        wording = partial(_proposed, terms, who)
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
        signed alone. Raise ActionRefused if an item has no proposal, its proposal has lapsed, or
        the proposer may not accept it.

        >>> t.items.accept("PAY-1042")
        """
        who = actor or self._journal.who()
        wording = partial(self._accepted, who)
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
        _require(reason, "a reason", "reason")

        def withdrawn(item: OpenItem, acceptance: Acceptance | None, _: Decided) -> _Body:
            if acceptance is None:
                raise ActionRefused(
                    f"no person proposed to carry {item.item_id}",
                    do="`treasury items list` shows the proposals",
                )
            return {"reason": reason.strip()}

        who = actor or self._journal.who()
        return self._decide(WITHDRAWN, names, withdrawn, who, month, dry_run=dry_run)

    def remark(
        self,
        name: str,
        text: str,
        *,
        answers: int | None = None,
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Add a remark to an open item; its state stays the same.

        `text` is one line. `answers` is the journal place of the remark that this one answers, as
        in `remarks`. Raise InputError if the item is not open or the text is empty, too long or not
        one line, and ActionRefused if the item has no remark at `answers`.

        >>> t.items.remark("PAY-1042", "called the bank, answer expected on Monday")
        """
        if not text.strip() or not text.isprintable() or len(text) > _LONGEST_REMARK:
            raise InputError(
                f"a remark is one line of at most {_LONGEST_REMARK} characters", do="shorten it"
            )
        who = actor or self._journal.who()

        def remarked(item: OpenItem, _: Acceptance | None, decided: Decided) -> _Body:
            remarks = item_remarks(decided.entries).to_pylist()
            places = [row["seq"] for row in remarks if row["item_id"] == item.item_id]
            if answers is not None and answers not in places:
                raise ActionRefused(
                    f"{item.item_id} has no remark {answers}",
                    do="`treasury items remarks` lists them with their places",
                )
            return {"remark": text.strip(), "answers": answers}

        return self._decide(REMARKED, (name,), remarked, who, month, dry_run=dry_run)

    def remarks(self) -> Table:
        """Return the remarks on all items, the latest first; columns as in ITEM_REMARKS.

        >>> t.items.remarks()
        """
        decided = read_decided(self._journal, until=self._until)
        table = item_remarks(decided.entries).sort_by([("seq", "descending")])
        return Table(table, zone=self._zone)

    def list(self, month: str | Month | None = None) -> Table:
        """Return every current proposal to carry an item, with its standing; columns as in CARRIED.

        A proposal that concerns another month, such as a prepared one, has its standing there.

        >>> t.items.list("2026-10")
        """
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
            of, item = elsewhere.get(item_id, (items.month, items.by_id.get(item_id)))
            words = f"not open in {of}"
            if item is not None:
                words = _standing(acceptance, item, self._today())
                words += f", in {of}" if of != items.month else ""
            row = {"standing": words, "name": None if item is None else item.name}
            rows.append(msgspec.structs.asdict(acceptance) | row)
        return Table(pa.Table.from_pylist(rows, schema=CARRIED), zone=self._zone)

    def plan_proposal(
        self,
        decided: Decided,
        item: OpenItem,
        who: Actor,
        *,
        owner: str,
        by: str | date,
        reason: str,
    ) -> Draft | None:
        """Return the entry that proposes to carry an item, or None if the same is proposed already.

        `item` is in the month's list under these decisions. Raise the errors of `carry`.
        """
        self._policy().check_identity(who)
        acceptance = acceptances(decided.entries).get(item.item_id)
        body = _proposed(self._terms(owner, by, reason), who, item, acceptance)
        return None if body is None else Draft(PROPOSED, item.item_id, body, who)

    def plan_acceptance(self, decided: Decided, item: OpenItem, who: Actor) -> Draft | None:
        """Return the entry that accepts a carried item, or None if it is accepted already.

        Raise the errors of `accept`.
        """
        self._policy().check_identity(who)
        acceptance = acceptances(decided.entries).get(item.item_id)
        body = self._accepted(who, item, acceptance)
        return None if body is None else Draft(ACCEPTED, item.item_id, body, who)

    def _terms(self, owner: str, by: str | date, reason: str) -> dict[str, Any]:
        """Return the owner, the day to clear by and the reason, after checking them."""
        _require(owner, "an owner", "owner")
        _require(reason, "a reason", "reason")
        expected = by if isinstance(by, date) else parse_day(by, self._today())
        if expected < self._today():
            raise InputError(
                f"{expected} is past", do="give the day by which the items should clear"
            )
        return {"owner": owner.strip(), "expected_by": expected, "reason": reason.strip()}

    def _accepted(
        self, who: Actor, item: OpenItem, acceptance: Acceptance | None, *_: Decided
    ) -> _Body:
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

    def _decide(
        self,
        kind: str,
        names: Sequence[str],
        wording: _Wording,
        who: Actor,
        month: str | Month | None,
        *,
        files: tuple[Path | None, Path | None] = (None, None),
        dry_run: bool,
    ) -> OpenItems:
        """Journal a decision about the named items, and return them as they are afterwards."""
        self._policy().check_identity(who)
        require_present(self._until)

        def build(decided: Decided) -> tuple[list[Draft], tuple[OpenItems, Decided, set[str]]]:
            items = self._list_items(month, decided, *files)
            if str(items.month) in closed_periods(decided.entries):
                raise ActionRefused(
                    f"{items.month} is closed, with the items that were carried then",
                    do="carry the items that are still open in the next month: --month "
                    f"{items.month.next}",
                )
            if not names:
                raise InputError(
                    "no item is named",
                    do=f"`treasury exceptions --month {items.month} --blocking` lists them",
                )
            chosen = {item.item_id: item for item in map(items.find, names)}
            standing = acceptances(decided.entries)
            bodies = {of: wording(item, standing.get(of), decided) for of, item in chosen.items()}
            drafts = [Draft(kind, of, body, who) for of, body in bodies.items() if body is not None]
            return drafts, (items, decided, set(bodies))

        if dry_run:
            _, (items, _, ids) = build(read_decided(self._journal))
        else:
            added, (items, decided, ids) = decide(self._journal, build)
            if added:
                items = self._list_items(items.month, decided.after(added), *files)
        return items.where(lambda item: item.item_id in ids)


def _require(text: str, wording: str, name: str) -> None:
    if not text.strip() or not text.isprintable():
        raise InputError(f"this decision needs {wording}, on one line", do=f"give the {name}")


def _proposed(
    terms: dict[str, Any], who: Actor, item: OpenItem, acceptance: Acceptance | None, *_: Decided
) -> _Body:
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

    They are the prepared months and those that an item's id ends with, such as `…/2026-09`.
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
