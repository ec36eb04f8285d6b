"""What stands between a month and its close: who has to do what, and what is not proved.

Each thing to do is counted once, by item and currency; the screen and the report print the same
counts, so that they add up wherever they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.money import total
from treasury.reconcile.monthly import Reconciliation
from treasury.report.balances import month_balances
from treasury.report.words import count
from treasury.text import clean

__all__ = [
    "KINDS",
    "Need",
    "Verdict",
    "funding_kind",
    "in_transit",
    "synced_at",
    "unexplained",
    "verdict",
]

NOT_PROVABLE: Final = "NOT PROVABLE"


class Kind(msgspec.Struct, frozen=True):
    """A sort of thing to do: its words, the command that lists it, who acts and how."""

    label: str
    command: str
    owner: str
    next_step: str
    section: str


_FUNDS: Final = "treasury awaiting-funds"
_OPEN: Final = "treasury reconcile --open"
KINDS: Final = {
    "overdue": Kind(
        "Overdue, not paid", _FUNDS, "Treasury", "Pay each with its own reference", "awaiting"
    ),
    "unsent": Kind(
        "Overdue, not paid",
        _FUNDS,
        "Treasury",
        "Send each, then submit its transaction hash",
        "awaiting",
    ),
    "check_bank": Kind(
        "Overdue, check the bank",
        _FUNDS,
        "Treasury",
        "Add the missing statements; do not pay twice",
        "awaiting",
    ),
    "silent": Kind(
        "Sent, service silent",
        _FUNDS,
        "Provider",
        "Ask the provider; do not pay twice",
        "awaiting",
    ),
    "wrong": Kind(
        "Sent wrong or returned",
        _FUNDS,
        "Treasury",
        "Correct each with the provider, as its row says",
        "awaiting",
    ),
    "early": Kind(
        "Paid before approval",
        _FUNDS,
        "Checker",
        "Have it approved, or recall the payment",
        "awaiting",
    ),
    "suggested": Kind(
        "Need your decision",
        _OPEN,
        "Treasury",
        "Accept or reject what each line may belong to",
        "exceptions",
    ),
    "conflict": Kind(
        "Contradicted",
        _OPEN,
        "Treasury",
        "Find out what is wrong: the payment, or the record",
        "exceptions",
    ),
    "duplicate": Kind(
        "Paid twice", _OPEN, "Treasury", "Ask for the second payment back", "exceptions"
    ),
    "unreferenced": Kind(
        "No reference",
        _OPEN,
        "Treasury",
        "Ask the payer, or close the line with a reason",
        "exceptions",
    ),
    "earlier": Kind(
        "Open from earlier months",
        _OPEN,
        "Treasury",
        "Explain each, or close it with a reason",
        "earlier",
    ),
}
"""In the order of the first screen."""

UNEXPLAINED: Final = ("suggested", "conflict", "duplicate", "unreferenced")
"""Outcomes that somebody has still to explain."""
_STATES: Final = {"SENT WRONG": "wrong", "RETURNED": "wrong", "PAID BEFORE APPROVAL": "early"}
_OVERDUE: Final = {"CHECK BANK": "check_bank", "SEND CRYPTO": "unsent"}


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Items of one kind in one currency; an amount is None where a record does not state one.

    `apart` of them belong to another month than the one that is closed, and do not block it;
    `amount_here` and `since_here` are those of the others.
    """

    kind: str
    currency: str
    items: int
    amount: Decimal | None
    since: date | None
    apart: int
    amount_here: Decimal | None
    since_here: date | None

    @property
    def words(self) -> Kind:
        """How to say it."""
        return KINDS[self.kind]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the month can be closed. `not_provable` counts virtual accounts by the reason.

    `synced` says whether the services were read after the month's end; None where that is not
    known. `balances` counts those that should be proved and are not.
    """

    needs: tuple[Need, ...]
    accounts: int
    proved: int
    proved_to: date | None
    not_provable: tuple[tuple[str, int], ...]
    synced: bool | None = None
    balances: int = 0

    @property
    def unproved(self) -> int:
        """Accounts whose statements do not prove the month; one where none is declared at all."""
        return self.accounts - self.proved if self.accounts else 1

    @property
    def apart(self) -> int:
        """Items of other months, which do not block this one."""
        return sum(need.apart for need in self.needs)

    @property
    def blocking(self) -> int:
        """How many items block the close."""
        items = sum(need.items for need in self.needs) - self.apart
        return items + self.unproved + (self.synced is False) + self._not_proved

    @property
    def all_but_proof(self) -> bool:
        """Whether all that blocks is what cannot be proved."""
        return 0 < self.blocking == self._not_proved

    @property
    def _not_proved(self) -> int:
        return self.balances + sum(number for _, number in self.not_provable)

    @property
    def exceptions(self) -> str:
        """`credits to 4 virtual accounts: no provider report`, or nothing."""
        return "; ".join(
            f"credits to {count(number, 'virtual account')}: {reason}"
            for reason, number in self.not_provable
        )

    @property
    def unproved_words(self) -> str:
        """The same, and the balances that are not proved."""
        balances = f"{count(self.balances, 'balance')} not proved" if self.balances else ""
        return "; ".join(part for part in (self.exceptions, balances) if part)

    @property
    def close(self) -> str:
        """`ready`, or what blocks; reconciled is said of nothing that is not proved."""
        if not self.blocking:
            return "ready"
        blocked = f"BLOCKED by {count(self.blocking, 'item')}"
        return (
            f"{blocked}; reconciled except {self.unproved_words}" if self.all_but_proof else blocked
        )


def synced_at(r: Reconciliation) -> datetime | None:
    """When the services were last read before this answer; None where nothing says so."""
    if r.basis is None:
        return None
    with r.basis.snapshot.connection() as connection:
        found = connection.execute(
            "SELECT max(\"at\") AS synced FROM commits WHERE kind LIKE 'sync%'"
        ).to_arrow_table()
    at: datetime | None = found["synced"][0].as_py()
    return at


def verdict(r: Reconciliation, zone: ZoneInfo, balances: pa.Table | None = None) -> Verdict:
    """The verdict on a month; months end in the reporting time zone.

    `balances` are the month's, where they are known already.
    """
    held = month_balances(r, zone) if balances is None else balances
    at = synced_at(r)
    accounts = r.statements.to_pylist()
    reached = [row["covered_to"] for row in accounts if row["statements"]]
    return Verdict(
        needs=_needs(r, zone),
        accounts=len(accounts),
        proved=sum(1 for row in accounts if row["complete"]),
        proved_to=min((min(to, r.month.last) for to in reached if to), default=None),
        not_provable=_not_provable(r),
        synced=None if r.basis is None else at is not None and at >= r.month.end(zone),
        balances=sum(held["blocks"].to_pylist()),
    )


def unexplained(lines: pa.Table) -> pa.Table:
    """Those of a month's lines that nobody has explained yet."""
    wanted = pc.is_in(lines["outcome"], pa.array(UNEXPLAINED, pa.string()))
    return lines.filter(pc.and_(wanted, pc.is_null(lines["line_class"])))


def funding_kind(row: Mapping[str, Any]) -> str | None:
    """Which kind of thing to do a row of `awaiting_funds` is; None where it need only wait."""
    if row["state"] in _STATES:
        return _STATES[row["state"]]
    if row["silent"]:
        return "silent"
    if row["overdue"] > 0:
        return _OVERDUE.get(row["state"], "overdue")
    return None


def in_transit(r: Reconciliation) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was in transit when the month ended, and what may have arrived by then.

    The second are those for which some line that needs a decision may be the arrival: they are not
    counted as in transit.
    """
    sure: list[dict[str, Any]] = []
    maybe: list[dict[str, Any]] = []
    for row in r.in_transit.to_pylist():
        arrived = row["may_have_arrived_on"]
        (maybe if arrived is not None and arrived <= r.month.last else sure).append(row)
    return sure, maybe


def _not_provable(r: Reconciliation) -> tuple[tuple[str, int], ...]:
    reasons: dict[str, int] = {}
    for proof in r.virtual_accounts["proof"].to_pylist():
        if proof.startswith(NOT_PROVABLE):
            reason = clean(proof.removeprefix(NOT_PROVABLE).lstrip(": ")) or "no evidence"
            reasons[reason] = reasons.get(reason, 0) + 1
    return tuple(sorted(reasons.items()))


def _needs(r: Reconciliation, zone: ZoneInfo) -> tuple[Need, ...]:
    month_end = r.month.end(zone)
    groups: dict[tuple[str, str], list[_Member]] = {}
    told = ["state", "silent", "overdue", "approved", "currency", "send", "due"]
    for row in r.awaiting_funds.select(told).to_pylist():
        kind = funding_kind(row)
        if kind is not None:
            later = row["approved"] is not None and row["approved"] >= month_end
            groups.setdefault((kind, row["currency"] or "?"), []).append(
                (row["send"], row["due"], later)
            )
    columns = ["outcome", "currency", "amount", "booking_date"]
    for line in unexplained(r.lines).select(columns).to_pylist():
        groups.setdefault((line["outcome"], line["currency"]), []).append(
            (line["amount"], line["booking_date"], False)
        )
    for line in r.earlier_lines.select(columns).to_pylist():
        groups.setdefault(("earlier", line["currency"]), []).append(
            (line["amount"], line["booking_date"], True)
        )
    order = list(KINDS)
    keys = sorted(groups, key=lambda key: (order.index(key[0]), key[1]))
    return tuple(_need(*key, groups[key]) for key in keys)


_Member: TypeAlias = tuple[Decimal | None, date | None, bool]
"""An item's amount, since when it is open, and whether it belongs to another month."""


def _need(kind: str, currency: str, members: list[_Member]) -> Need:
    here = [one for one in members if not one[2]]
    return Need(
        kind=kind,
        currency=currency,
        items=len(members),
        amount=_amount(members),
        since=_since(members),
        apart=len(members) - len(here),
        amount_here=_amount(here),
        since_here=_since(here),
    )


def _amount(members: list[_Member]) -> Decimal | None:
    amounts = [amount for amount, _, _ in members if amount is not None]
    return total(amounts) if len(amounts) == len(members) else None


def _since(members: list[_Member]) -> date | None:
    return min((since for _, since, _ in members if since is not None), default=None)
