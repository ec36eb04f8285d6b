"""Transfers: lists without dates, walked newest first until they hold nothing but what is settled.

All lists are walked at the same time, a page of each in a round; one question to the lake then says
which pages overlap with what we hold. A list ends at the first page whose transfers are all known
and final, if it came newest first up to there; a list that does not is walked to its end, and the
report says so. Transfers that we hold as open and that lie further back are read one by one; those
between two accounts have no such reading, so their list is walked until the last open one is met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Record
from treasury.api.models import Transfer
from treasury.errors import NotFound, ServiceError
from treasury.extract.finance_tables import (
    ACCOUNT_TO_ACCOUNT,
    TRANSFERS,
    TRANSFERS_FINAL,
    TRANSFERS_KNOWN,
    FoundTransfer,
    kind_of,
)
from treasury.extract.sync_run import REFUSED, Run

if TYPE_CHECKING:
    from treasury.api import ListPage

__all__ = ["Held", "Walk", "sync_transfers"]

PAGE: Final = 1000
BATCH: Final = 20_000
"""Transfers that are stored at once."""

_COLUMNS: Final = (
    "id",
    "kind",
    "is_open",
    "first_seen_at",
    "sender_account_id",
    "receiver_account_id",
    "created_at",
)


class Held:
    """What the lake holds of transfers, kept as Arrow: there may be millions of them."""

    def __init__(self, stored: pa.Table) -> None:
        self.rows = stored.combine_chunks()
        self.open = {row["id"]: row for row in stored.filter(stored["is_open"]).to_pylist()}
        self._kept: dict[str, tuple[str, datetime, bool]] = {}

    def look_up(self, names: Sequence[str]) -> None:
        """Make these known to `of`: one look at all rows for many names."""
        wanted = pa.array(names, pa.string())
        known = self.rows.filter(pc.is_in(self.rows["id"], value_set=wanted))
        for row in known.select(_COLUMNS[:4]).to_pylist():
            self._kept[row["id"]] = (row["kind"], row["first_seen_at"], row["is_open"])

    def of(self, name: str) -> tuple[str, datetime] | None:
        """Kind and first sight of a transfer that was looked up; None where we do not hold it."""
        kept = self._kept.get(name)
        return None if kept is None else kept[:2]

    def all_settled(self, transfers: Sequence[Transfer]) -> bool:
        """Whether every one of them is final, and known to be; they were looked up."""
        kept = (self._kept.get(transfer.id) for transfer in transfers)
        known = all(one is not None and not one[2] for one in kept)
        return known and all(t.status in TRANSFERS_FINAL for t in transfers)


class Walk:
    """One list under way: whether it comes newest first, and whether it may end here."""

    def __init__(self, pages: Iterator[ListPage[Transfer]], must_meet: set[str]) -> None:
        self._pages = pages
        self._missing = must_meet
        self._last: datetime | None = None
        self.in_order = True
        self.number = 0

    def next_page(self) -> tuple[Record[Transfer], ...] | None:
        """The records of the next page; None after the last."""
        page = next(self._pages, None)
        return None if page is None else page.items

    def may_end(self, page: Sequence[Transfer], held: Held, since: datetime | None) -> bool:
        """Whether nothing new can follow this page; `since` is from when everything is wanted."""
        self.number += 1
        self._missing -= {transfer.id for transfer in page}
        for transfer in page:
            when = transfer.created_at
            falls = when is not None and (self._last is None or when <= self._last)
            self.in_order = self.in_order and falls
            self._last = when
        if not page or not self.in_order or self._missing:
            return False
        reached = since is None or (self._last is not None and self._last < since)
        return reached and held.all_settled(page)


class _List(msgspec.Struct, frozen=True):
    """A list of transfers: the walk, its name for people, and the kind where the list says it."""

    walk: Walk
    name: str
    kind: str | None


def sync_transfers(run: Run, accounts: Sequence[str]) -> None:
    """Walk every account's list and the list between accounts; store what they brought."""
    held = Held(run.writer.read(TRANSFERS.table, _COLUMNS, "vanished_at IS NULL"))
    sync = _Sync(run, held)
    pages = run.client.finance.account_to_account_transfers.pages(size=PAGE, sort_order="DESC")
    still_open = {name for name, row in held.open.items() if row["kind"] == ACCOUNT_TO_ACCOUNT}
    between = _List(Walk(pages, still_open), "between accounts", ACCOUNT_TO_ACCOUNT)
    complete = sync.walk([between, *(_of_account(run, account) for account in accounts)])
    sync.read_open()
    if run.scope.full and run.scope.since is None and complete:
        sync.mark_vanished()
    sync.store()
    run.notice_statuses(TRANSFERS, sync.statuses, TRANSFERS_KNOWN)


def _of_account(run: Run, account: str) -> _List:
    pages = run.client.finance.transfers.pages(account, size=PAGE, sort_order="DESC")
    return _List(Walk(pages, set()), f"of account {account}", None)


class _Sync:
    """What the lists bring, on its way into the lake."""

    def __init__(self, run: Run, held: Held) -> None:
        self._run = run
        self._held = held
        self._between: set[str] = set()
        self._unoffered: set[str | None] = set()
        self._came: dict[str, FoundTransfer] = {}
        self._met: set[str] = set()
        self.statuses: set[str | None] = set()
        since = run.scope.since
        self._since = None if since is None else datetime.combine(since, time(), UTC)

    def walk(self, lists: Sequence[_List]) -> bool:
        """Walk lists side by side; whether each could be read to where it may end.

        A list that the service itself says it does not have is not missing: what is stored of its
        kind stays as it is.
        """
        progress, task = self._run.progress, TRANSFERS.table.name
        progress.start(task, len(lists))
        complete = True
        left = list(lists)
        while left:
            asked = [(one, self._run.ask(one.walk.next_page)) for one in left]
            came = []
            for one, answer in asked:
                try:
                    came.append((one, answer.result()))
                except REFUSED as error:
                    came.append((one, None))
                    if one.walk.number == 0 and self._run.lacks(TRANSFERS, error):
                        self._unoffered.add(one.kind)
                    else:
                        self._run.skip(TRANSFERS, error)
                        complete = False
            left = self._take([(one, page) for one, page in came if page is not None])
            for _ in range(len(asked) - len(left)):
                progress.advance(task)
        progress.finish(task)
        return complete

    def _take(self, round_: Sequence[tuple[_List, Sequence[Record[Transfer]]]]) -> list[_List]:
        """Take a page of each list; the lists that go on."""
        self._held.look_up([record.value.id for _, page in round_ for record in page])
        goes_on = []
        for one, page in round_:
            transfers = [record.value for record in page]
            for record in page:
                self._add(record, one.kind)
            was_in_order = one.walk.in_order
            ends = one.walk.may_end(transfers, self._held, self._since)
            if was_in_order and not one.walk.in_order and self._held.rows.num_rows:
                self._run.notice(
                    f"transfers: the list {one.name} does not come newest first; all of it was read"
                )
            if not ends or self._run.scope.full:
                goes_on.append(one)
        if len(self._came) >= BATCH:
            self.store()
        return goes_on

    def _add(self, record: Record[Transfer], kind: str | None) -> None:
        """Take a transfer; it keeps the kind and the first sight that we hold of it."""
        value = record.value
        if kind == ACCOUNT_TO_ACCOUNT:
            self._between.add(value.id)
        elif value.id in self._between:
            return
        self.statuses.add(value.status)
        self._met.add(value.id)
        known_kind, first = self._held.of(value.id) or (
            kind or kind_of(value),
            self._run.writer.now,
        )
        self._came[value.id] = FoundTransfer(
            value=value, raw=record.raw, kind=known_kind, first_seen_at=first
        )

    def read_open(self) -> None:
        """Read by themselves the transfers that we hold as open and that no list brought."""
        left = [row for name, row in self._held.open.items() if name not in self._met]
        self._held.look_up([row["id"] for row in left])
        self._read([row for row in left if row["kind"] != ACCOUNT_TO_ACCOUNT])

    def mark_vanished(self) -> None:
        """Mark what no list has any more and what cannot be read by itself either."""
        rows = self._held.rows
        unmet = rows.filter(
            pc.invert(pc.is_in(rows["id"], value_set=pa.array(self._met, pa.string())))
        )
        left = [row for row in unmet.to_pylist() if row["kind"] not in self._unoffered]
        self._held.look_up([row["id"] for row in left])
        gone = [row["id"] for row in left if row["kind"] == ACCOUNT_TO_ACCOUNT]
        self._run.vanish(TRANSFERS, pa.table({"id": pa.array(gone, pa.string())}))
        self._read([row for row in left if row["kind"] != ACCOUNT_TO_ACCOUNT])

    def _read(self, rows: Sequence[dict[str, Any]]) -> None:
        gone = []
        for row, said in zip(rows, self._run.answers(self._ask, rows), strict=True):
            name = row["id"]
            if isinstance(said, Record):
                self._add(said, row["kind"])
            elif isinstance(said, NotFound):
                gone.append(name)
            elif said is None:
                self._run.notice(
                    f"transfers: {name} is open, names no account and was not listed again"
                )
            else:
                self._run.notice(f"transfers: {name} stays as it was: {said.what}")
        self._run.vanish(TRANSFERS, pa.table({"id": pa.array(gone, pa.string())}))

    def _ask(self, row: dict[str, Any]) -> Record[Transfer] | ServiceError | None:
        account = row["sender_account_id"] or row["receiver_account_id"]
        if account is None:
            return None
        try:
            return self._run.client.finance.transfers.get(account, row["id"])
        except REFUSED as error:
            return error

    def store(self) -> None:
        """Write what came."""
        self._run.store(TRANSFERS, self._came.values())
        self._came = {}
