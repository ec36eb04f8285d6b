"""The open items of a month: the list, its groups and its sums, for all screens and reports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias, get_args

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.core.money import format_amount, total, totals
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import clean, is_it, one_of
from treasury.month.items import evidence_items
from treasury.month.items.carry_proposals import Acceptance, carried
from treasury.month.items.decision_items import action_items, late_items, moved_items
from treasury.month.items.evidence_items import unlisted_items, unseen_items
from treasury.month.items.item_facts import Facts
from treasury.month.items.item_kinds import (
    KIND_WORDS,
    KINDS,
    TASKS,
    TURNS,
    Blocks,
    ItemKind,
    Task,
    Turn,
    kind_named,
)
from treasury.month.items.line_items import line_items
from treasury.month.items.materiality import immaterial
from treasury.month.items.movement_items import conversion_items, own_transfer_items, payment_items
from treasury.month.items.notes.item_owners import with_owners
from treasury.month.items.notes.item_remarks import SETTLED_BY_REMARK, with_remarks
from treasury.month.items.open_item import (
    OpenItem,
    item_filter,
    items_of,
    items_table,
    owner_notes,
)
from treasury.month.items.request_items import request_items

_BUILDERS: Final[tuple[Callable[[Facts], Iterator[OpenItem]], ...]] = (
    evidence_items.journal_items, evidence_items.statement_items, evidence_items.source_items,
    evidence_items.balance_items, evidence_items.virtual_account_items,
    evidence_items.ledger_items, evidence_items.coin_items, evidence_items.exposure_items,
    unseen_items, unlisted_items, line_items, request_items, conversion_items, own_transfer_items,
    payment_items, action_items, moved_items, late_items,
)  # fmt: skip
_TURN_RANK: Final = {turn: rank for rank, turn in enumerate(TURNS)}
_KIND_RANK: Final = {kind: rank for rank, kind in enumerate(KINDS)}
_SHORTEST: Final = 4
"""Minimum number of characters to identify an id."""
_MOST_NAMES: Final = 5
"""Maximum number of ids in an error."""
_OF_MONEY: Final = ("line", "request", "transfer", "conversion")
"""Subjects with an amount of money, unless their record states none; others may have none."""
_OF_ANY_MONTH: Final = ("unknown_outcome", "done_twice", "decision_waits")
_KEYS: Final = ("kind", "name", "amount", "signed_amount", "currency", "age", "next_step")
"""The columns to show first."""
_FILTERS: Final = (
    "kind", "turn", "task", "month", "blocks", "subject", "owner", "currency", "min_amount",
)  # fmt: skip
"""The arguments of `OpenItems.select`."""
_BY_WORD: Final[Mapping[str, Turn]] = {word: turn for turn, word in TURNS.items()}
_TITLE: Final = "Open items"
_NOTE: Final = "state and age as of {day}; LATE and MISSING are stages of the differences"
_CODES: Final[Mapping[str, Mapping[str, str]]] = {
    "kind": KIND_WORDS,
    "turn": {str(turn): word for turn, word in TURNS.items()},
    "blocks": {way: way for way in get_args(Blocks)},
}
"""The codes of the table's columns, with their words."""
_Way: TypeAlias = Literal["in", "out", ""]
_WAYS: Final[Sequence[_Way]] = ("in", "out", "")
_AT_MONTHS_END: Final = ("balance", "ledger", "statement", "virtual_account")
"""The subjects of items about statements and balances, which are proved monthly or daily."""


def flow_words(sums: Sequence[tuple[_Way, Decimal]], currency: str) -> str:
    """Return sums by direction as `EUR 40.00` or `EUR 40.00 in, 5.00 out`; empty without any."""
    if len(sums) == 1:
        return format_amount(sums[0][1], currency)
    parts = [
        f"{format_amount(flow, currency).removeprefix(f'{currency} ')} {way}".rstrip()
        for way, flow in sums
    ]
    return f"{currency} {', '.join(parts)}" if parts else ""


class ItemGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The items of one kind in one currency: a line of a summary.

    `blocking` counts the items that prevent the close, `carried` the items that two people have
    accepted, `unstated` those without an amount in their record, and `earlier` those about bank
    lines of earlier months. `coming`, `going` and `standing` are the sums of money that comes in,
    goes out, or does neither; None without any amount. `next_step` is that of the item if the group
    has only one, or else that of the kind.
    """

    kind: str
    turn: Turn
    currency: str
    items: int
    blocking: int
    carried: int
    coming: Decimal | None
    going: Decimal | None
    standing: Decimal | None
    unstated: int
    earlier: int
    oldest: int
    clock: str
    since: date | None
    next_step: str

    @property
    def words(self) -> ItemKind:
        """The label and next step of the group's kind."""
        return KINDS[self.kind]

    @property
    def sums(self) -> tuple[tuple[_Way, Decimal], ...]:
        """The sums by direction, without empty ones."""
        ways: tuple[tuple[_Way, Decimal | None], ...] = (
            ("in", self.coming), ("out", self.going), ("", self.standing),
        )  # fmt: skip
        return tuple((way, amount) for way, amount in ways if amount is not None)

    @property
    def amount(self) -> Decimal | None:
        """The sum of the group; None without any amount, or with sums in several directions."""
        return self.sums[0][1] if len(self.sums) == 1 else None

    @property
    def money(self) -> str:
        """The sums as `EUR 40.00` or `EUR 40.00 in, 5.00 out`; empty without any."""
        return flow_words(self.sums, self.currency)

    @property
    def worth(self) -> str:
        """The number of items, with their amount if that is known."""
        return ", ".join(filter(None, (f"{self.items:,}", self.money)))


class OpenItems(Tables, msgspec.Struct, frozen=True, eq=False, dict=True):
    """The open items of a month, by who acts next, kind and currency, then the oldest first.

    `sql` is the SQL that computes the outcomes behind the items about bank lines.
    """

    printed: ClassVar[Sequence[str]] = ("table",)

    month: Month
    items: tuple[OpenItem, ...]
    sql: str = ""
    today: date | None = None
    """The day to which ages count."""
    notes: tuple[str, ...] = ()
    """Sentences about the selection, such as an owner that no item has."""

    @cached_property
    def table(self) -> Table:
        """The items as a table; columns as in OPEN_ITEMS."""
        notes = [] if self.today is None else [_NOTE.format(day=f"{self.today:%-d %b %Y}")]
        notes += self.notes
        items = items_table(self.items)
        return Table(items, title=_TITLE, keys=_KEYS, codes=_CODES, notes=notes)

    def sheets(self) -> Mapping[str, Table]:
        """Return the items by sheet name."""
        return {_TITLE: self.table}

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[OpenItem]:
        return iter(self.items)

    def __repr__(self) -> str:
        words = f"{len(self)}, {len(self.blocking)} block the close"
        return f"<OpenItems {self.month}: {'; '.join((words, *self.notes))}>"

    def select(
        self,
        *,
        kind: str | None = None,
        turn: Turn | None = None,
        month: str | Month | None = None,
        blocks: Blocks | None = None,
        subject: str | None = None,
        task: Task | None = None,
        owner: str | None = None,
        currency: str | None = None,
        min_amount: str | int | Decimal | None = None,
        **others: object,
    ) -> OpenItems:
        """Return the items that meet all given conditions.

        For any other condition use `table.where(…)` or `df`.

        Parameters
        ----------
        kind
            The kind, by its name or its word on screen.
        turn
            Who acts next: `us`, `colleague`, `provider`, `bank` or `time`, or the word on screen.
        task
            Our work on the item, such as `pay` or `decide`; `t.status()` has a row for each.
        month
            The month in which the item began.
        blocks
            The way in which the item blocks a close.
        subject
            The kind of record, such as `line` or `request`.
        owner
            The owner as on screen, in any case: a person, or `Treasury`, `Bank`, `Provider`. If no
            item has this owner, a note of the result names the owners that items have.
        currency
            The currency or coin of the amount.
        min_amount
            The least amount without its sign, in the currency of each item. Items without an amount
            are left out.

        Returns
        -------
        OpenItems
            The chosen items, in the order of the list.

        Raises
        ------
        InputError
            If a kind, turn, task or way of blocking is unknown, or the amount is not exact.

        Examples
        --------
        >>> t.open_items("2026-10").select(turn="us", kind="suggested").table
        >>> t.open_items("2026-10").select(owner="ines", currency="EUR", min_amount=10_000)
        """
        for name in others:
            raise InputError(
                f"select has no argument {name!r}{is_it(name, _FILTERS)}",
                do=f"use one of {', '.join(_FILTERS)}, or table.where({name}=…)",
            )
        turn = None if turn is None else _BY_WORD.get(turn, turn)
        known: dict[str, tuple[str | None, Iterable[str]]] = {
            "turn": (turn, TURNS), "task": (task, TASKS), "blocks": (blocks, get_args(Blocks)),
        }  # fmt: skip
        for name, (value, values) in known.items():
            if value is not None and value not in set(values):
                raise InputError(
                    f"{name} has no value {value!r:.60}{is_it(value, values)}",
                    do=one_of(value, values, "give"),
                )
        of = None if month is None else str(month)
        kind = None if kind is None else kind_named(kind)
        filters = {
            "kind": kind, "turn": turn, "task": task, "month": of, "blocks": blocks,
            "subject": subject,
        }  # fmt: skip
        conditions = {name: value for name, value in filters.items() if value is not None}
        of_amount = item_filter(owner, currency, min_amount)
        selected = self.where(
            lambda item: (
                all(getattr(item, name) == value for name, value in conditions.items())
                and of_amount.passes(item.shown_owner, item.currency, item.amount)
            )
        )
        notes = owner_notes(owner, (item.shown_owner for item in self.items))
        return msgspec.structs.replace(selected, notes=(*selected.notes, *notes))

    def where(
        self, condition: Callable[[OpenItem], bool] | None = None, **columns: object
    ) -> OpenItems:
        """Return the items that meet a condition, in the order of the list.

        The condition is a function of an item. To filter by columns, use `select` or
        `table.where(…)`. Raise InputError for a condition on columns.
        """
        if not callable(condition) or columns:
            equal = ", ".join(f"{name}={value!r}" for name, value in columns.items())
            listed = f", or select({equal})" if columns and columns.keys() <= set(_FILTERS) else ""
            raise InputError(
                "where of open items takes a function of an item",
                do=f"use table.where({equal or repr(condition)}){listed}",
            )
        selected = tuple(filter(condition, self.items))
        return OpenItems(self.month, selected, self.sql, self.today, self.notes)

    def find(self, name: str) -> OpenItem:
        """Return the item with this id, start of an id, or reference in its name.

        Raise InputError if no item or more than one matches.
        """
        searched = name.strip()
        matches = self._exactly.get(searched) or [
            item for item in self.items if _may_mean(searched, item)
        ]
        if len(matches) == 1:
            return matches[0]
        listed = f"`treasury exceptions --month {self.month}` lists them with their ids"
        if not matches:
            raise InputError(
                f"no open item of {self.month} matches {clean(searched)[:80]!r}", do=listed
            )
        ids = ", ".join(item.item_id for item in matches[:_MOST_NAMES])
        raise InputError(
            f"{len(matches)} open items of {self.month} match {clean(searched)[:80]!r}: {ids}",
            do=f"give the whole id; {listed}",
        )

    @cached_property
    def _exactly(self) -> Mapping[str, list[OpenItem]]:
        """The items by their complete ids and by the ids of their subjects."""
        by_name: dict[str, list[OpenItem]] = {}
        for item in self.items:
            for name in {item.item_id, item.subject_id}:
                by_name.setdefault(name, []).append(item)
        return by_name

    @cached_property
    def blocking(self) -> OpenItems:
        """The items that prevent the close of the month."""
        return self.where(lambda item: item.is_blocking)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the open items without their acceptances and ages."""
        rows = sorted(
            [
                item.item_id,
                item.kind,
                item.state,
                item.blocks,
                value_text(item.amount),
                item.currency,
            ]
            for item in self.items
        )
        return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()

    @cached_property
    def by_id(self) -> Mapping[str, OpenItem]:
        """The items by their ids."""
        return {item.item_id: item for item in self.items}

    @cached_property
    def turns(self) -> Mapping[Turn, int]:
        """The number of items by who acts next, in the order of lists."""
        counts = {turn: sum(item.turn == turn for item in self.items) for turn in TURNS}
        return {turn: count for turn, count in counts.items() if count}

    @cached_property
    def by_currency(self) -> Mapping[str, Sequence[tuple[_Way, Decimal]]]:
        """The sums of the items by currency and direction, without empty ones."""
        sums = totals(
            ((group.currency, way), amount) for group in self.groups for way, amount in group.sums
        )
        return {
            currency: [(way, sums[currency, way]) for way in _WAYS if (currency, way) in sums]
            for currency in sorted({currency for currency, _ in sums})
        }

    @cached_property
    def groups(self) -> tuple[ItemGroup, ...]:
        """The items by turn, kind and currency; the groups add up to the list."""
        members: dict[tuple[Turn, str, str], list[OpenItem]] = {}
        for item in self.items:
            members.setdefault((item.turn, item.kind, item.currency), []).append(item)
        return tuple(_group(self.month, *key, group) for key, group in members.items())


def _may_mean(name: str, item: OpenItem) -> bool:
    """Return whether a name is the start of an item's id, or a whole word of its name."""
    words = item.name.upper().replace(",", " ").replace(":", " ").split()
    begins = len(name) >= _SHORTEST and (
        item.item_id.startswith(name) or item.subject_id.startswith(name)
    )
    return begins or (bool(name) and name.upper() in words)


def open_items(
    facts: Facts,
    acceptances: Mapping[str, Acceptance] | None = None,
    limits: pa.Table | None = None,
    remarks: pa.Table | None = None,
    owners: pa.Table | None = None,
) -> OpenItems:
    """Return the open items of a month from its facts, each matter once.

    `acceptances` are the agreements to carry items, by item id; lapsed ones have no effect.
    `limits` are the amounts below which an item does not block, as in LIMITS. `remarks` are
    people's remarks on items, as in ITEM_REMARKS, and `owners` the assigned ones, as in
    ITEM_OWNERS. An item of a kind in SETTLED_BY_REMARK is left out once it has a remark.
    """
    counted = _listed(facts)
    standing, today = acceptances or {}, facts.today
    agreed = [carried(item, standing.get(item.item_id), today) for item in counted]
    weighed = agreed if limits is None else immaterial(agreed, limits)
    remarked = (
        item
        for item in with_remarks(with_owners(weighed, owners), remarks, facts.zone)
        if not (item.kind in SETTLED_BY_REMARK and item.remark)
    )
    placed = tuple(sorted(remarked, key=_place))
    return OpenItems(facts.month, placed, facts.r.matches.sql, facts.today)


_LISTED: Final[list[tuple[Facts, list[OpenItem]]]] = []
"""A cache of the last facts and their open items, because a decision lists them several times."""


def _listed(facts: Facts) -> list[OpenItem]:
    """Return the open items without acceptances and remarks."""
    for before, items in _LISTED:
        if before.is_alike(facts):
            return items
    counted = _counted(facts)
    _LISTED[:] = [(facts, counted)]
    return counted


def _counted(facts: Facts) -> list[OpenItem]:
    """Return all items, each once; items that share money name the one that counts it."""
    items: dict[str, OpenItem] = {}
    for build in _BUILDERS:
        for item in build(facts):
            # Items of these kinds are listed in every month: they may have moved money in any, or
            # the colleague who closes an earlier month has to see them.
            begun = item.since is None or item.since <= facts.month.last
            if begun or item.kind in _OF_ANY_MONTH:
                items.setdefault(item.item_id, item)
    counted = []
    for item in items.values():
        # The money counts in the last item of the chain, if there is one.
        names = [item.item_id]
        while (name := items[names[-1]].counted_in) in items and name not in names:
            names.append(name)
        last = names[-1] if len(names) > 1 else None
        alone = item.counted_in == last
        counted.append(item if alone else msgspec.structs.replace(item, counted_in=last))
    return counted


def open_now(
    running: OpenItems, ended: OpenItems | None, *, today: date, is_silent: bool
) -> OpenItems:
    """Return the items that are open now: the running month's, and the previous month's evidence.

    `ended` are the items of the previous month, or None if it is closed. Only its items about
    statements and balances are added, because its other items have ended unless the running month
    has them too. Such items of the running month are left out until their day has ended, because
    today's statement cannot be missing yet. `is_silent` is whether a sync is due.
    """
    now = [
        item
        for item in running
        if (item.kind != "not_synced" or is_silent)
        and not (item.subject in _AT_MONTHS_END and (item.since is None or item.since >= today))
    ]
    present = {item.item_id for item in now}
    evidence = (item for item in ended or () if item.subject in _AT_MONTHS_END)
    everything = (*now, *(item for item in evidence if item.item_id not in present))
    return OpenItems(running.month, tuple(sorted(everything, key=_place)), running.sql, today)


def read_items(month: Month, table: pa.Table, today: date | None = None) -> OpenItems:
    """Return a month's items as a close stored them; columns as in OPEN_ITEMS."""
    return OpenItems(month, items_of(table), today=today)


def _place(item: OpenItem) -> tuple[object, ...]:
    return (
        _TURN_RANK[item.turn],
        _KIND_RANK[item.kind],
        item.currency,
        item.since or date.min,
        -(item.amount or 0),
        item.item_id,
    )


def _group(
    month: Month, turn: Turn, kind: str, currency: str, members: list[OpenItem]
) -> ItemGroup:
    def counted(direction: str) -> Decimal | None:
        own = (item.counted_amount for item in members if item.direction == direction)
        amounts = [amount for amount in own if amount is not None]
        return total(amounts) if amounts else None

    oldest = max(members, key=lambda item: item.age)
    return ItemGroup(
        kind=kind,
        turn=turn,
        currency=currency,
        items=len(members),
        blocking=sum(item.is_blocking for item in members),
        carried=sum(item.is_accepted for item in members),
        coming=counted("in"),
        going=counted("out"),
        standing=counted(""),
        unstated=sum(item.subject in _OF_MONEY and item.amount is None for item in members),
        earlier=sum(item.subject == "line" and item.month < str(month) for item in members),
        oldest=oldest.age,
        clock=oldest.clock,
        since=min((item.since for item in members if item.since is not None), default=None),
        next_step=oldest.next_step if len(members) == 1 else KINDS[kind].next_step,
    )
