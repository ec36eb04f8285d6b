"""What closes have settled: lines and requests that take part by what was decided.

Each close stores what it settled newly: lines that need nobody any more and requests that are
finished, in families that shares, texts, returns and decisions tie together. A later question
leaves them out of matching and takes up again (`recall`) every family that anything unsettled may
concern. What a family was taken up again by when another month was closed is settled anew by that
close, or stays open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.calendar import Month
from treasury.identifiers import plain_account
from treasury.journal.chain import Entry
from treasury.journal.decisions import MATCH, read_decision
from treasury.journal.periods import Close, closed_periods
from treasury.lake import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT
from treasury.reconcile.answers import read_some
from treasury.reconcile.memo import Latest
from treasury.settings import BankAccount

__all__ = [
    "SETTLED_LINES",
    "SETTLED_REQUESTS",
    "TAKEN_UP",
    "Settled",
    "families_of",
    "settled_before",
    "settled_tables",
    "standing_tables",
]

WORD: Final = pa.dictionary(pa.int32(), TEXT)
"""Text that few rows have to themselves, read as places in a list of them."""
SETTLED_LINES: Final = pa.schema(
    [
        ("entry_id", TEXT),
        ("family", INTEGER),
        ("account", WORD),
        ("currency", WORD),
        ("direction", WORD),
        ("amount", AMOUNT),
        ("booking_date", DATE),
        ("counterparty_account", WORD),
        ("party", WORD),
        ("is_account", BOOL),
        ("reference", TEXT),
        ("brings_back", WORD),
        ("is_leg", BOOL),
        ("kind", WORD),
        ("tie", WORD),
        ("payer_since", DATE),
        ("expectation_id", TEXT),
    ]
)
"""Every line that a close settled: what may concern it, and from `kind` on what it taught; amounts
are in `currency`."""
SETTLED_REQUESTS: Final = pa.schema(
    [
        ("expectation_id", TEXT),
        ("family", INTEGER),
        ("code", TEXT),
        ("amount", AMOUNT),
    ]
)
"""Every request that a close settled, with its code as texts are compared with it."""
TAKEN_UP: Final = pa.schema([("family", INTEGER)])
"""The families of earlier closes that a close took up again: those settle them no more."""
CLOSES: Final = pa.schema([("close", INTEGER), ("known_at", INSTANT)])
NAMED: Final = pa.schema([("id", TEXT), ("seq", INTEGER)])
DECLARED: Final = pa.schema([("account", TEXT), ("close", INTEGER)])

_FAMILIES: Final = 1 << 32
"""A family's number is the journal's end that its close rests on times this, and its turn."""
_STEPS: Final = b"steps"
_NAMES: Final = ("settled_lines", "settled_requests", "settled_again")


class Settled(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the closes before a month settled, in the order of their months.

    `named` are the lines and expectations that decisions name, each with its place in the journal;
    `declared` the accounts that were declared after a close. What other `steps` of matching settled
    is not settled here.
    """

    workspace: Path
    steps: str
    closes: tuple[Close, ...]
    named: tuple[tuple[str, int], ...]
    declared: tuple[tuple[str, int], ...]

    @property
    def key(self) -> Hashable:
        """All that it tells."""
        files = tuple((one.name, one.known_at, one.answers) for one in self.closes)
        return files, self.named, self.declared

    def tables(self) -> dict[str, pa.Table]:
        """The tables that the steps of recalling read, by name.

        WorkspaceDamaged where a file is not as the journal says.
        """
        read = [
            (one.head.seq, one.known_at, read_some(self.workspace, one, _NAMES))
            for one in self.closes
        ]
        same = [one for one in read if _steps_of(one[2]["settled_again"]) == self.steps]
        return standing_tables(same, self.named, self.declared)


def standing_tables(
    closes: Sequence[tuple[int, datetime, Mapping[str, pa.Table]]],
    named: Sequence[tuple[str, int]],
    declared: Sequence[tuple[str, int]],
) -> dict[str, pa.Table]:
    """The tables that the steps of recalling read, of what each close stored.

    A close is told by the journal's end that it rests on, the instant that it knew, and its tables.
    """
    parts = {name: [tables[name] for _, _, tables in closes] for name in _NAMES}
    again = _joined(TAKEN_UP, parts["settled_again"])["family"]
    known = [(close, known_at) for close, known_at, _ in closes]
    return {
        "settled_lines": _standing(SETTLED_LINES, parts["settled_lines"], again),
        "settled_requests": _standing(SETTLED_REQUESTS, parts["settled_requests"], again),
        "settled_closes": _rows(known, CLOSES),
        "named_since": _rows(named, NAMED),
        "declared_since": _rows(declared, DECLARED),
    }


def settled_before(
    workspace: Path,
    month: Month,
    entries: Sequence[Entry],
    *,
    accounts: Sequence[BankAccount],
    zone: str,
    rules_hash: str,
    steps: str,
) -> Settled | None:
    """What the closes of earlier months settled that stand after these entries; None for nothing.

    A close settles nothing for a question under other rules or in another time zone, nor where an
    account that it had is not declared as it was then: then everything is matched, until the next
    close settles it.
    """
    now = {_declared(one) for one in accounts}
    closes, declared = [], []
    for period in closed_periods(entries).values():
        then = {_declared(one) for one in _accounts_of(period.close)}
        stored = {one.name for one in period.close.answers}
        asked = (period.close.rules_hash, period.close.desk["time_zone"])
        same = asked == (rules_hash, zone) and then <= now
        if period.month < str(month) and stored.issuperset(_NAMES) and same:
            closes.append(period.close)
            declared += [(account, period.close.head.seq) for account, *_ in sorted(now - then)]
    if not closes:
        return None
    first = closes[0].head.seq
    named = tuple(one for one in _NAMED.of(tuple(entries)) if one[1] > first)
    return Settled(
        workspace=workspace,
        steps=steps,
        closes=tuple(closes),
        named=named,
        declared=tuple(declared),
    )


def settled_tables(
    lines: pa.Table,
    requests: pa.Table,
    ties: pa.Table,
    taken_up: pa.Table,
    *,
    close: int,
    steps: str,
) -> dict[str, pa.Table]:
    """What a close stores of what it settles: the families that nothing unsettled belongs to.

    `lines` and `requests` are those that may be settled, `ties` what belongs together, `close` the
    journal's end that the close rests on, `steps` the hash of those that answered.
    """
    line_ids = lines["entry_id"].to_pylist()
    request_ids = requests["expectation_id"].to_pylist()
    family = families_of(line_ids, request_ids, ties)

    def numbered(table: pa.Table, kind: str, ids: list[str], schema: pa.Schema) -> pa.Table:
        numbers = [family.get((kind, name)) for name in ids]
        column = pa.array(
            [None if one is None else close * _FAMILIES + one for one in numbers], INTEGER
        )
        of_one = table.append_column("family", column).filter(pc.is_valid(column))
        return of_one.select(schema.names).cast(schema)

    return {
        "settled_lines": numbered(lines, "line", line_ids, SETTLED_LINES),
        "settled_requests": numbered(requests, "request", request_ids, SETTLED_REQUESTS),
        "settled_again": taken_up.select(TAKEN_UP.names)
        .cast(TAKEN_UP)
        .replace_schema_metadata({_STEPS: steps}),
    }


Member = tuple[str, str]


def families_of(lines: Iterable[str], requests: Iterable[str], ties: pa.Table) -> dict[Member, int]:
    """The number of each settled member's family: `("line", id)` and `("request", id)`.

    A family with a member that is neither of the lines nor of the requests is left out whole.
    """
    may = {("line", name) for name in lines} | {("request", name) for name in requests}
    above: dict[Member, Member] = {}

    def top(one: Member) -> Member:
        path = []
        while (over := above.get(one, one)) != one:
            path.append(one)
            one = over
        for below in path:
            above[below] = one
        return one

    columns = (ties[name].to_pylist() for name in ("entry_id", "expectation_id", "other_id"))
    for entry, expectation, other in zip(*columns, strict=True):
        line = ("line", entry)
        above.setdefault(line, line)
        for member in (expectation and ("request", expectation), other and ("line", other)):
            if member:
                above.setdefault(member, member)
                above[top(member)] = top(line)
    unsettled = {top(one) for one in above if one not in may}
    numbers: dict[Member, int] = {}
    found: dict[Member, int] = {}
    for one in sorted(may):
        head = top(one)
        if head not in unsettled:
            found[one] = numbers.setdefault(head, len(numbers))
    return found


def _steps_of(again: pa.Table) -> str:
    """The hash of the steps that a close was answered by."""
    return ((again.schema.metadata or {}).get(_STEPS) or b"").decode()


def _named(entries: tuple[Entry, ...]) -> tuple[tuple[str, int], ...]:
    """The lines and expectations that entries about lines name, each with its place."""
    decided = [(one, read_decision(one)) for one in entries if one.kind.startswith(MATCH)]
    return tuple(
        (name, entry.seq)
        for entry, decision in decided
        for name in dict.fromkeys((entry.subject, decision.entry_id, *decision.expectations))
    )


_NAMED: Final = Latest(_named)


def _accounts_of(close: Close) -> list[dict[str, Any]]:
    return list(close.desk["accounts"])


def _declared(account: BankAccount | dict[str, Any]) -> tuple[str, str, str]:
    """What of a declared account matching depends on."""
    one = account if isinstance(account, dict) else msgspec.to_builtins(account)
    return plain_account(one["account"]), one["currency"], one["source"]


def _joined(schema: pa.Schema, parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(one.cast(schema) for one in parts)])


def _standing(schema: pa.Schema, parts: Sequence[pa.Table], again: pa.ChunkedArray) -> pa.Table:
    """The rows of all closes but those of families that a later close took up again."""
    rows = _joined(schema, parts)
    if len(again):
        rows = rows.filter(pc.invert(pc.is_in(rows["family"], again.combine_chunks())))
    close = pc.divide(rows["family"], pa.scalar(_FAMILIES, INTEGER))
    return rows.append_column("close", close)


def _rows(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    named = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, schema=schema)
