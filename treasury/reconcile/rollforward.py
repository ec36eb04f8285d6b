"""Open items from one month's end to the next: what came, what was received, what is left.

    opening + new - matched + reopened by returns - cancelled - blocked +/- adjusted = closing

per currency and kind of expectation, in exact amounts. Each end is matched by itself from the lines
booked and the requests made until then, in the statuses that they had then, and every movement
between them is named from the shares that lines have in requests. What the provider blocks waits
for no money and is not cancelled: it stands apart, and a release brings it back. Virtual accounts
expect no amount and stand outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.calendar import Month
from treasury.errors import TreasuryError
from treasury.lake import AMOUNT, BOOL, INTEGER, TEXT
from treasury.money import difference, format_amount, total
from treasury.reconcile.facts import contradicts
from treasury.reconcile.known import Known
from treasury.reconcile.matching import Matches, match_references, read_decisions
from treasury.reconcile.memo import Memo, fingerprint
from treasury.reconcile.monthly import requests_at_cut_off, step_sql
from treasury.reconcile.rows import shown
from treasury.reconcile.rules import Rules
from treasury.tabular import Tabular

if TYPE_CHECKING:
    from treasury.reconcile.inputs import TableLike

__all__ = [
    "ADDS",
    "ITEMS",
    "ROLL_FORWARD",
    "MonthEnd",
    "RollForward",
    "month_end",
    "roll_forward",
    "stored_end",
]

ADDS: Final = {
    "opening": True,
    "new": True,
    "matched": False,
    "reopened": True,
    "cancelled": False,
    "blocked": False,
    "adjusted": True,
    "closing": False,
}
"""Which sides of the identity are added, so that all of them together are nothing."""
_AMOUNTS: Final = tuple(ADDS)

ROLL_FORWARD: Final = pa.schema(
    [
        ("kind", TEXT),
        ("currency", TEXT),
        ("opening_items", INTEGER),
        *((name, AMOUNT) for name in _AMOUNTS),
        ("closing_items", INTEGER),
        ("blocked_items", INTEGER),
        ("standing_blocked", AMOUNT),
    ]
)
"""A row for each kind and currency, amounts in `currency`. `blocked` is what the provider blocked
in the month less what it released; `standing_blocked` is blocked at the end and in no closing."""
ITEMS: Final = pa.schema(
    [
        ("expectation_id", TEXT),
        ("code", TEXT),
        ("kind", TEXT),
        ("currency", TEXT),
        ("amount", AMOUNT),
        *((name, AMOUNT) for name in _AMOUNTS),
        ("standing_blocked", AMOUNT),
    ]
)
"""The request behind each row: its own opening, movements and closing."""

POSITIONS: Final = pa.schema(
    [
        ("expectation_id", TEXT),
        ("code", TEXT),
        ("kind", TEXT),
        ("currency", TEXT),
        ("direction", TEXT),
        ("status", TEXT),
        ("amount", AMOUNT),
        ("back", AMOUNT),
        ("cancelled", BOOL),
        ("blocked", BOOL),
        ("open", AMOUNT),
    ]
)
"""Every expectation at a month's end: `open` is what it still waits for, `back` what returned."""
SHARES: Final = pa.schema([("expectation_id", TEXT), ("entry_id", TEXT), ("amount", AMOUNT)])
"""What each bank line has in an expectation at a month's end."""

ZERO: Final = Decimal(0)
BLOCKED: Final = "BLOCKED"
"""The status of a request that the provider holds."""


class _Position(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation at a month's end; `open` is what it still waits for, `back` what returned."""

    row: dict[str, Any]
    amount: Decimal
    shares: dict[str, Decimal]
    back: Decimal
    cancelled: bool
    blocked: bool
    open: Decimal

    @property
    def unpaid(self) -> Decimal:
        """What its lines leave of its amount, cancelled or not."""
        return difference(self.amount, total(self.shares.values()))


class MonthEnd(msgspec.Struct, frozen=True, eq=False):
    """Every expectation with an amount as it stood at the end of `month`."""

    month: Month
    positions: dict[str, _Position]

    def totals(self) -> dict[tuple[str, str], Decimal]:
        """What is open, by kind and currency."""
        sums: dict[tuple[str, str], Decimal] = {}
        for one in self.positions.values():
            key = (one.row["kind"], one.row["currency"])
            sums[key] = total((sums.get(key, ZERO), one.open))
        return sums

    def tables(self) -> dict[str, pa.Table]:
        """All of it as two tables, from which `stored_end` makes it again."""
        places = [
            {name: one.row[name] for name in _READ} | {name: getattr(one, name) for name in _STATES}
            for one in self.positions.values()
        ]
        shares = [
            {"expectation_id": name, "entry_id": line, "amount": share}
            for name, one in self.positions.items()
            for line, share in one.shares.items()
        ]
        return {
            "positions": pa.Table.from_pylist(places, schema=POSITIONS),
            "shares": pa.Table.from_pylist(shares, schema=SHARES),
        }

    def brought_to(self, closing: Mapping[tuple[str, str], Decimal]) -> MonthEnd:
        """The end with what its totals lack of these as a position for each kind and currency.

        A close that stored totals alone was given by other models: what they had open besides is
        named as theirs, and is adjusted in the month after.
        """
        totals = self.totals()
        lacking = {
            key: difference(closing.get(key, ZERO), totals.get(key, ZERO))
            for key in sorted({*totals, *closing})
        }
        added = {
            f"close of {self.month}, {kind}, {currency}": _Position(
                row={
                    "expectation_id": f"close of {self.month}, {kind}, {currency}",
                    "code": f"close of {self.month}",
                    "kind": kind,
                    "currency": currency,
                    "amount": amount,
                },
                amount=amount,
                shares={},
                back=ZERO,
                cancelled=False,
                blocked=False,
                open=amount,
            )
            for (kind, currency), amount in lacking.items()
            if amount
        }
        return MonthEnd(self.month, self.positions | added)


class RollForward(Tabular, msgspec.Struct, frozen=True, eq=False):
    """The month's identity: `totals` as in ROLL_FORWARD, `items` as in ITEMS; both tie exactly."""

    month: Month
    totals: pa.Table
    items: pa.Table

    def sheets(self) -> Mapping[str, pa.Table]:
        """The totals, and the request behind each."""
        return {"Roll-forward": self.totals, "Open items": self.items}

    @property
    def sql(self) -> str:
        """The query of the outcomes, which is asked at both ends of the month."""
        return step_sql("outcomes")

    def __repr__(self) -> str:
        return f"<RollForward {self.month}: {self.items.num_rows} requests>"

    @property
    def items_hash(self) -> str:
        """SHA-256 of the items' canonical text."""
        rows = zip(*(map(shown, column.to_pylist()) for column in self.items.columns), strict=True)
        return hashlib.sha256(msgspec.json.encode(list(rows))).hexdigest()


def month_end(known: Known, month: Month, decisions: TableLike | None = None) -> MonthEnd:
    """Match what was booked and requested until the month's end, and see what was open then."""
    booked = known.lines.filter(
        pc.less_equal(known.lines["booking_date"], pa.scalar(month.last, pa.date32()))
    )
    made = _in_status_then(known, known.expectations.filter(_made_by(known, month)), month)
    matches = _matched(booked, made, read_decisions(decisions), known.rules)
    shares: dict[str, dict[str, Decimal]] = {}
    for share in matches.allocations.to_pylist():
        of = shares.setdefault(share["expectation_id"], {})
        line = share["entry_id"]
        of[line] = total((of.get(line, ZERO), share["amount"]))
    remaining = {
        row["expectation_id"]: row["remaining"] for row in matches.expectations.to_pylist()
    }
    back = _came_back(booked, matches)
    positions = {}
    for row in made.select(_READ).to_pylist():
        if row["amount"] is None:
            continue
        blocked = row["status"] == BLOCKED
        cancelled = contradicts(row["status"], known.rules) and not blocked
        positions[row["expectation_id"]] = _Position(
            row=row,
            amount=row["amount"],
            shares=shares.get(row["expectation_id"], {}),
            back=total(back.get((row["expectation_id"], _OTHER[row["direction"]]), ())),
            cancelled=cancelled,
            blocked=blocked,
            open=ZERO if cancelled or blocked else remaining[row["expectation_id"]],
        )
    return MonthEnd(month, positions)


def _matched(booked: pa.Table, made: pa.Table, decisions: pa.Table, rules: Rules) -> Matches:
    on_them = decisions.filter(pc.is_in(decisions["entry_id"], booked["entry_id"].combine_chunks()))
    key = fingerprint(booked, made, on_them)
    return _ENDS.of(
        None if key is None else (key, rules.hash),
        lambda: match_references(booked, made, decisions=on_them, rules=rules),
    )


_ENDS: Final[Memo[Matches]] = Memo()


def stored_end(month: Month, tables: Mapping[str, pa.Table]) -> MonthEnd:
    """A month's end as its close stored it, in the tables of `MonthEnd.tables`."""
    shares: dict[str, dict[str, Decimal]] = {}
    for share in tables["shares"].to_pylist():
        shares.setdefault(share["expectation_id"], {})[share["entry_id"]] = share["amount"]
    return MonthEnd(
        month,
        {
            row["expectation_id"]: _Position(
                row=row,
                amount=row["amount"],
                shares=shares.get(row["expectation_id"], {}),
                back=row["back"],
                cancelled=row["cancelled"],
                blocked=row["blocked"],
                open=row["open"],
            )
            for row in tables["positions"].to_pylist()
        },
    )


def roll_forward(opening: MonthEnd, closing: MonthEnd) -> RollForward:
    """The movements from one month's end to another; TreasuryError names a request that fails."""
    names = sorted({*opening.positions, *closing.positions})
    items = [_item(name, opening, closing) for name in names]
    for item in items:
        _require_tied(item)
    moving = [item for item in items if any(item[name] for name in _SHOWN)]
    return RollForward(
        closing.month,
        pa.Table.from_pylist(_totals(items), schema=ROLL_FORWARD),
        pa.Table.from_pylist(moving, schema=ITEMS),
    )


def _made_by(known: Known, month: Month) -> pa.ChunkedArray:
    end = pa.scalar(month.end(known.question.zone), pa.timestamp("us", tz="UTC"))
    made = pc.fill_null(pc.less(known.expectations["opened_at"], end), fill_value=True)
    amounts = known.expectations["amount"]
    # A request that is recorded with no money, or less, waits for none.
    some = pc.greater(amounts, pa.scalar(ZERO, amounts.type))
    return pc.and_(made, pc.fill_null(some, fill_value=True))


def _in_status_then(known: Known, made: pa.Table, month: Month) -> pa.Table:
    """The expectations with the status that each request had at the month's end."""
    then = requests_at_cut_off(known.snapshot, month, known.question.zone)
    status = dict(zip(*(then[name].to_pylist() for name in ("request_id", "status")), strict=True))
    columns = (made[name].to_pylist() for name in ("expectation_id", "status"))
    statuses = [status.get(name, now) for name, now in zip(*columns, strict=True)]
    place = made.column_names.index("status")
    return made.set_column(place, "status", pa.array(statuses, pa.string()))


def _came_back(booked: pa.Table, matches: Matches) -> dict[tuple[str | None, str], list[Decimal]]:
    """What returns brought back, by the expectation they belong to and their direction."""
    chosen = pc.equal(matches.lines["outcome"], "returned")
    of = dict(zip(*(matches.lines.filter(chosen)[n].to_pylist() for n in _RETURNED), strict=True))
    lines = booked.filter(pc.is_in(booked["entry_id"], pa.array(list(of), pa.string())))
    found: dict[tuple[str | None, str], list[Decimal]] = {}
    for row in lines.select(["entry_id", "direction", "amount"]).to_pylist():
        found.setdefault((of[row["entry_id"]], row["direction"]), []).append(row["amount"])
    return found


_RETURNED: Final = ("entry_id", "expectation_id")
_READ: Final = ("expectation_id", "code", "kind", "currency", "amount", "direction", "status")
_STATES: Final = ("amount", "back", "cancelled", "blocked", "open")
_SHOWN: Final = (*_AMOUNTS, "standing_blocked")
_OTHER: Final = {"CRDT": "DBIT", "DBIT": "CRDT"}


def _item(name: str, opening: MonthEnd, closing: MonthEnd) -> dict[str, Any]:
    before, after = opening.positions.get(name), closing.positions.get(name)
    row = (after or before or _never()).row
    matched, reopened, lost = _shares_moved(before, after)
    was, is_now = (one.amount if one else ZERO for one in (before, after))
    return {
        "expectation_id": name,
        "code": row["code"],
        "kind": row["kind"],
        "currency": row["currency"],
        "amount": row["amount"],
        "opening": before.open if before else ZERO,
        "new": ZERO if before else is_now,
        "matched": matched,
        "reopened": reopened,
        "cancelled": difference(_cancelled(after), _cancelled(before)),
        "blocked": difference(_blocked(after), _blocked(before)),
        "adjusted": total((lost, difference(is_now, was) if before else ZERO)),
        "closing": after.open if after else ZERO,
        "standing_blocked": _blocked(after),
    }


def _shares_moved(
    before: _Position | None, after: _Position | None
) -> tuple[Decimal, Decimal, Decimal]:
    """What was matched, what returns reopened, and what shares lost otherwise.

    Money that came and went back between the two ends is shown both ways, up to the amount.
    """
    first, last = (one.shares if one else {} for one in (before, after))
    came = total(share for line, share in last.items() if line not in first)
    gone = total(difference(share, last.get(line, ZERO)) for line, share in first.items())
    if after is None:
        return came, ZERO, gone
    back = max(difference(after.back, before.back if before else ZERO), ZERO)
    reopened = max(min(gone, back), ZERO)
    both_ways = max(min(difference(back, reopened), difference(after.amount, came)), ZERO)
    return total((came, both_ways)), total((reopened, both_ways)), difference(gone, reopened)


def _cancelled(one: _Position | None) -> Decimal:
    """What a cancelled request no longer waits for."""
    return one.unpaid if one and one.cancelled else ZERO


def _blocked(one: _Position | None) -> Decimal:
    """What a request waits for that the provider blocks."""
    return one.unpaid if one and one.blocked else ZERO


def _never() -> _Position:
    raise AssertionError("a name of neither end")


def _require_tied(item: dict[str, Any]) -> None:
    left = total(item[name] if adds else item[name].copy_negate() for name, adds in ADDS.items())
    if left:
        raise TreasuryError(
            f"the open items do not roll forward: {item['code'] or item['expectation_id']} is off"
            f" by {format_amount(left, item['currency'])}",
            do="run `treasury doctor`; the month is not closed on figures that do not tie",
        )


def _totals(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in items:
        groups.setdefault((item["kind"], item["currency"]), []).append(item)
    return [
        {
            "kind": kind,
            "currency": currency,
            "opening_items": sum(1 for item in members if item["opening"]),
            **{name: total(item[name] for item in members) for name in _AMOUNTS},
            "closing_items": sum(1 for item in members if item["closing"]),
            "blocked_items": sum(1 for item in members if item["standing_blocked"]),
            "standing_blocked": total(item["standing_blocked"] for item in members),
        }
        for (kind, currency), members in sorted(groups.items())
    ]
