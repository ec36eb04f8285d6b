"""Materiality: below which amount an open item is listed and does not block a close.

`policy.toml` proposes the limits, for each currency one for an item and one for all of them
together. They are in force once two people have journaled them, so that an answer of any earlier
instant is given under the limits of then, and editing the file alone changes nothing.

    [materiality.EUR]
    item = 50
    total = "200.00"
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.actions.authority.policy import POLICY_FILE, Materiality, Policy
from treasury.errors import ActionRefused, InputError
from treasury.items.open_item import OpenItem
from treasury.journal import Actor, Draft, Entry, Journal
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.person_names import same_person
from treasury.lake import AMOUNT, BOOL, TEXT
from treasury.money import parse_amount, plain_digits, total
from treasury.tables.row_view import Rows

__all__ = ["LIMITS", "Limits", "immaterial", "limits_in_force", "not_in_force"]

PROPOSED: Final = "item.limits_proposed"
ACCEPTED: Final = "item.limits_accepted"
ALWAYS_MATERIAL: Final = frozenset({"paid_twice", "hash_in_doubt", "unknown_status"})
"""Kinds that block at any amount: duplicates, and outcomes that nobody knows."""
LIMITS: Final = pa.schema(
    [
        ("currency", TEXT),
        ("item", AMOUNT),
        ("total", AMOUNT),
        ("proposed_by", TEXT),
        ("accepted_by", TEXT),
        ("alone", BOOL),
    ]
)
"""A row for each currency that has limits; amounts in `currency`."""
_STANDING: Final = pa.schema([("standing", TEXT), *LIMITS])


class _Proposal(msgspec.Struct, frozen=True):
    """Limits that were proposed, and who accepted them; None while nobody has."""

    content: dict[str, Materiality]
    seq: int
    proposed_by: str
    accepted_by: str | None = None
    alone: bool = False


def limits_in_force(entries: Iterable[Entry]) -> pa.Table:
    """The limits that two people agreed on last; columns as in LIMITS."""
    in_force, _ = _folded(entries)
    return pa.Table.from_pylist(_rows(in_force), schema=LIMITS)


def not_in_force(entries: Iterable[Entry], policy: Policy) -> bool:
    """Whether `policy.toml` has other limits than those that two people agreed on last."""
    in_force, _ = _folded(entries)
    return policy.materiality != (in_force.content if in_force else {})


def immaterial(items: Sequence[OpenItem], limits: pa.Table) -> list[OpenItem]:
    """The items, those that are below the limits marked so.

    Where the small items of a currency are together more than its total, each of them blocks.
    """
    agreed = {row["currency"]: row for row in limits.to_pylist()}
    small = [
        item
        for item in items
        if item.currency in agreed
        and item.amount is not None
        and abs(item.amount) <= agreed[item.currency]["item"]
        and item.blocks == "until accepted"
        and item.kind not in ALWAYS_MATERIAL
        and not item.is_accepted
    ]
    sums: dict[str, list[Decimal]] = {}
    for item in small:
        if item.counted_amount is not None:
            sums.setdefault(item.currency, []).append(abs(item.counted_amount))
    within = {
        currency
        for currency, row in agreed.items()
        if total(sums.get(currency, ())) <= row["total"]
    }
    ids = {item.item_id for item in small if item.currency in within}
    return [
        msgspec.structs.replace(item, is_material=False) if item.item_id in ids else item
        for item in items
    ]


class Limits:
    """The verbs by which two people put the limits of `policy.toml` in force."""

    def __init__(
        self,
        journal: Journal,
        policy: Callable[[], Policy],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._journal = journal
        self._policy = policy
        self._until = until

    def propose(self, reason: str, *, actor: Actor | None = None) -> Rows:
        """Propose the limits that stand in `policy.toml`; a second person accepts them."""
        if not reason.strip():
            raise InputError("limits are changed with a reason", do="give the reason")
        who = actor or self._journal.who()
        content = self._policy().materiality

        def drafts(decided: Decided) -> list[Draft]:
            in_force, proposal = _folded(decided.entries)
            latest = proposal or in_force
            if (latest.content if latest else {}) == content:
                return []
            body = {"limits": _plain(content), "reason": reason.strip()}
            return [Draft(PROPOSED, _hash(content), body, who)]

        return self._decide(drafts, who)

    def accept(self, *, actor: Actor | None = None) -> Rows:
        """Put the proposed limits in force; whoever proposed them cannot."""
        who = actor or self._journal.who()

        def drafts(decided: Decided) -> list[Draft]:
            _, proposal = _folded(decided.entries)
            policy = self._policy()
            if proposal is None:
                raise ActionRefused(
                    "no limits are proposed",
                    do=f"write them below [materiality] in {POLICY_FILE}, then"
                    " `treasury items limits --propose --reason …`",
                )
            if proposal.content != policy.materiality:
                raise ActionRefused(
                    f"{POLICY_FILE} does not say what {proposal.proposed_by} proposed",
                    do="have the limits proposed again as they stand there",
                )
            alone = same_person(proposal.proposed_by, who.name)
            if alone and not policy.one_person:
                raise ActionRefused(
                    f"{who.name} proposed these limits and cannot accept them",
                    do="have a colleague accept them",
                )
            body = {"proposal": proposal.seq, "alone": alone}
            return [Draft(ACCEPTED, _hash(proposal.content), body, who)]

        return self._decide(drafts, who)

    def list(self) -> Rows:
        """The limits in force, and those that wait for a second person."""
        return _listed(read_decided(self._journal, until=self._until), self._zone)

    def _decide(self, drafts: Callable[[Decided], Sequence[Draft]], who: Actor) -> Rows:
        require_present(self._until)
        self._policy().check_identity(who)

        def build(decided: Decided) -> tuple[Sequence[Draft], Decided]:
            return drafts(decided), decided

        added, decided = decide(self._journal, build)
        return _listed(decided.after(added), self._zone)


def _listed(decided: Decided, zone: ZoneInfo | None) -> Rows:
    in_force, proposal = _folded(decided.entries)
    rows = [{"standing": "in force", **row} for row in _rows(in_force)]
    rows += [{"standing": "waits for a second person", **row} for row in _rows(proposal)]
    if proposal is not None and not proposal.content:
        waiting = {"standing": "waits for a second person: no limits"}
        rows.append({**waiting, "proposed_by": proposal.proposed_by})
    return Rows(pa.Table.from_pylist(rows, schema=_STANDING), zone=zone)


def _folded(entries: Iterable[Entry]) -> tuple[_Proposal | None, _Proposal | None]:
    """The limits in force, and those that wait for a second person."""
    in_force: _Proposal | None = None
    proposal: _Proposal | None = None
    for entry in entries:
        if entry.kind == PROPOSED:
            limits = {
                currency: Materiality(
                    item=parse_amount(limit["item"]), total=parse_amount(limit["total"])
                )
                for currency, limit in entry.body["limits"].items()
            }
            proposal = _Proposal(limits, entry.seq, entry.actor.name)
        elif entry.kind == ACCEPTED and proposal is not None:
            alone = same_person(proposal.proposed_by, entry.actor.name)
            if entry.body.get("proposal") != proposal.seq or (
                alone and not entry.body.get("alone")
            ):
                continue
            in_force = msgspec.structs.replace(proposal, accepted_by=entry.actor.name, alone=alone)
            proposal = None
    return in_force, proposal


def _rows(proposal: _Proposal | None) -> list[dict[str, Any]]:
    if proposal is None:
        return []
    people = {
        "proposed_by": proposal.proposed_by,
        "accepted_by": proposal.accepted_by,
        "alone": proposal.alone,
    }
    return [
        {"currency": currency, "item": limit.item, "total": limit.total, **people}
        for currency, limit in sorted(proposal.content.items())
    ]


def _plain(content: dict[str, Materiality]) -> dict[str, dict[str, str]]:
    return {
        currency: {"item": plain_digits(limit.item), "total": plain_digits(limit.total)}
        for currency, limit in sorted(content.items())
    }


def _hash(content: dict[str, Materiality]) -> str:
    return hashlib.sha256(msgspec.json.encode(_plain(content), order="sorted")).hexdigest()
