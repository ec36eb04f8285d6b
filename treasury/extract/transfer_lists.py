"""Syncs transfers: their lists have no date filter and are read newest first.

All lists are read in parallel, one page of each per round. Each round is then compared with the
stored transfers. Reading stops at the first page on which every transfer is stored and
final, if the list was sorted newest first so far. An unsorted list is read to its end, and
reported. Stored open transfers that were not reached are fetched individually. Transfers between
two accounts cannot be fetched individually, so their list is read until all open ones are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Record
from treasury.api.models import Transfer
from treasury.core.errors import NotFound, ServiceError
from treasury.core.statuses import TRANSFER_FINAL, TRANSFER_KNOWN
from treasury.extract.finance_tables import (
    ACCOUNT_TO_ACCOUNT,
    TRANSFERS,
    ReceivedTransfer,
    kind_of,
)
from treasury.extract.sync_run import REFUSED, SyncRun

if TYPE_CHECKING:
    from treasury.api import ListPage

PAGE: Final = 1000
_BATCH: Final = 20_000
"""Number of transfers stored at once."""

_COLUMNS: Final = (
    "id", "kind", "is_open", "first_seen_at", "sender_account_id", "receiver_account_id",
    "created_at",
)  # fmt: skip


class StoredTransfers:
    """The stored transfers as Arrow columns, because there may be millions."""

    def __init__(self, stored: pa.Table) -> None:
        self.rows = stored.combine_chunks()
        self.open = {row["id"]: row for row in stored.filter(stored["is_open"]).to_pylist()}
        self._known: dict[str, tuple[str, datetime, bool]] = {}

    def look_up(self, names: Sequence[str]) -> None:
        """Load the stored transfers with these ids, for `of`."""
        ids = pa.array(names, pa.string())
        stored = self.rows.filter(pc.is_in(self.rows["id"], value_set=ids))
        for row in stored.select(_COLUMNS[:4]).to_pylist():
            self._known[row["id"]] = (row["kind"], row["first_seen_at"], row["is_open"])

    def of(self, name: str) -> tuple[str, datetime] | None:
        """Return the kind and the first sync's time of a loaded transfer; None if not stored."""
        stored = self._known.get(name)
        return None if stored is None else stored[:2]

    def all_settled(self, transfers: Sequence[Transfer]) -> bool:
        """Return True if all transfers are final, as listed and as stored; call `look_up` first."""
        stored = (self._known.get(transfer.id) for transfer in transfers)
        settled = all(row is not None and not row[2] for row in stored)
        return settled and all(t.status in TRANSFER_FINAL for t in transfers)


class TransferListing:
    """The state of reading one list: its order so far, and whether reading may stop.

    `name` identifies the list in messages. `kind` is the kind of transfer, if the list implies one.
    `account` is None for the list of transfers between accounts.
    """

    def __init__(
        self,
        pages: Iterator[ListPage[Transfer]],
        must_meet: set[str],
        name: str = "",
        kind: str | None = None,
        account: str | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.account = account
        self._pages = pages
        self._missing = must_meet
        self._last: datetime | None = None
        self.in_order = True
        self.number = 0
        self.total: int | None = None
        """Number of records in the list, as the service states it."""

    def next_page(self) -> tuple[Record[Transfer], ...] | None:
        """Return the records of the next page; None after the last."""
        page = next(self._pages, None)
        if page is None:
            return None
        self.total = page.total
        return page.items

    def may_end(
        self, page: Sequence[Transfer], stored: StoredTransfers, since: datetime | None
    ) -> bool:
        """Return True if reading may stop after this page.

        Transfers since `since` are always read.
        """
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
        return reached and stored.all_settled(page)


def sync_transfers(run: SyncRun, accounts: Sequence[str]) -> None:
    """Read every account's list and the list between accounts, and store the transfers."""
    stored = StoredTransfers(run.fetched.read(TRANSFERS.table, _COLUMNS, "vanished_at IS NULL"))
    sync = _Sync(run, stored)
    pages = run.client.finance.account_to_account_transfers.pages(size=PAGE, sort_order="DESC")
    still_open = {name for name, row in stored.open.items() if row["kind"] == ACCOUNT_TO_ACCOUNT}
    walks = [TransferListing(pages, still_open, "between accounts", ACCOUNT_TO_ACCOUNT)]
    for account in accounts:
        own = run.client.finance.transfers.pages(account, size=PAGE, sort_order="DESC")
        walks.append(TransferListing(own, set(), f"of account {account}", account=account))
    complete = sync.walk(walks)
    sync.count_held()
    sync.read_open()
    if run.scope.full and run.scope.since is None and complete:
        sync.mark_vanished()
    sync.store()
    run.notice_statuses(TRANSFERS, sync.statuses, TRANSFER_KNOWN)


class _Sync:
    """Reads the transfers of all lists and queues them for the lake."""

    def __init__(self, run: SyncRun, stored: StoredTransfers) -> None:
        self._run = run
        self._stored = stored
        self._between: set[str] = set()
        self._unoffered: set[str | None] = set()
        self._received: dict[str, ReceivedTransfer] = {}
        self._listed: set[str] = set()
        self._new: dict[str, tuple[str, set[str | None]]] = {}
        self._mixed: set[str | None] = set()
        self._ended_early: list[TransferListing] = []
        self.statuses: set[str | None] = set()
        since = run.scope.since
        self._since = None if since is None else datetime.combine(since, time(), UTC)

    def walk(self, walks: Sequence[TransferListing]) -> bool:
        """Read the lists in parallel; return False if one could not be read far enough.

        A list that the service does not offer counts as read; its stored transfers stay.
        """
        progress, task = self._run.progress, TRANSFERS.table.name
        progress.start(task, len(walks))
        complete = True
        unfinished = list(walks)
        while unfinished:
            questions = [(walk, self._run.ask(walk.next_page)) for walk in unfinished]
            pages = []
            for walk, answer in questions:
                try:
                    pages.append((walk, self._run.answer(answer)))
                except REFUSED as error:
                    pages.append((walk, None))
                    if walk.number == 0 and self._run.lacks(TRANSFERS, error):
                        self._unoffered.add(walk.kind)
                    else:
                        self._run.skip(TRANSFERS, error)
                        complete = False
            unfinished = self._add_pages([(walk, page) for walk, page in pages if page is not None])
            for _ in range(len(questions) - len(unfinished)):
                progress.advance(task)
        progress.finish(task)
        return complete

    def _add_pages(
        self, round_: Sequence[tuple[TransferListing, Sequence[Record[Transfer]]]]
    ) -> list[TransferListing]:
        """Process one page of each list; return the lists that have to be read further."""
        self._stored.look_up([record.value.id for _, page in round_ for record in page])
        goes_on = []
        for walk, page in round_:
            transfers = [record.value for record in page]
            for record in page:
                self._add(record, walk.kind)
                name = record.value.id
                stored = self._stored.of(name)
                is_between = stored is not None and stored[0] == ACCOUNT_TO_ACCOUNT
                if walk.account is not None and (is_between or name in self._between):
                    self._mixed.add(walk.account)
            was_in_order = walk.in_order
            ends = walk.may_end(transfers, self._stored, self._since)
            if was_in_order and not walk.in_order and self._stored.rows.num_rows:
                self._run.notice(
                    f"transfers: the list {walk.name} is not sorted newest first, so it was read "
                    "completely"
                )
            if not ends or self._run.scope.full:
                goes_on.append(walk)
            else:
                self._ended_early.append(walk)
        if len(self._received) >= _BATCH:
            self.store()
        return goes_on

    def _add(self, record: Record[Transfer], kind: str | None) -> None:
        """Add a transfer; its stored kind and first sync do not change."""
        value = record.value
        if kind == ACCOUNT_TO_ACCOUNT:
            self._between.add(value.id)
        elif value.id in self._between:
            return
        self.statuses.add(value.status)
        self._listed.add(value.id)
        usual = (kind or kind_of(value), self._run.fetched.now)
        known_kind, first = self._stored.of(value.id) or usual
        if self._stored.rows.num_rows and self._stored.of(value.id) is None:
            accounts = {value.sender_account_id, value.receiver_account_id}
            self._new[value.id] = known_kind, accounts
        self._received[value.id] = ReceivedTransfer(
            value=value, raw=record.raw, kind=known_kind, first_seen_at=first
        )

    def count_held(self) -> None:
        """Compare the service's count for each partly read list with the stored transfers.

        An account's list may include transfers between accounts; the pages already read show
        whether it does. A count below the stored number is left to a full comparison.
        """
        rows = self._stored.rows
        between = pc.equal(rows["kind"], ACCOUNT_TO_ACCOUNT)
        for walk in self._ended_early:
            kinds = between
            if walk.account is not None:
                own = pc.or_kleene(
                    pc.equal(rows["sender_account_id"], walk.account),
                    pc.equal(rows["receiver_account_id"], walk.account),
                )
                is_mixed = walk.account in self._mixed
                kinds = own if is_mixed else pc.and_kleene(own, pc.invert(between))
            held = pc.sum(pc.fill_null(kinds, False)).as_py() or 0
            held += sum(
                (kind == ACCOUNT_TO_ACCOUNT) == (walk.account is None)
                or (walk.account in self._mixed)
                for kind, accounts in self._new.values()
                if walk.account is None or walk.account in accounts
            )
            if walk.total is not None and walk.total > held:
                self._run.count(TRANSFERS, walk.name, walk.total, held)

    def read_open(self) -> None:
        """Fetch each stored open transfer that no page had, except transfers between accounts."""
        unlisted = [row for name, row in self._stored.open.items() if name not in self._listed]
        self._stored.look_up([row["id"] for row in unlisted])
        self._read([row for row in unlisted if row["kind"] != ACCOUNT_TO_ACCOUNT])

    def mark_vanished(self) -> None:
        """Mark transfers as vanished if no list has them and the service does not find them.

        A transfer between accounts cannot be fetched, so for it the lists decide.
        """
        rows = self._stored.rows
        unmet = rows.filter(
            pc.invert(pc.is_in(rows["id"], value_set=pa.array(self._listed, pa.string())))
        )
        offered = [row for row in unmet.to_pylist() if row["kind"] not in self._unoffered]
        self._stored.look_up([row["id"] for row in offered])
        vanished = [row["id"] for row in offered if row["kind"] == ACCOUNT_TO_ACCOUNT]
        self._run.fetched.vanish(TRANSFERS.table, vanished)
        self._read([row for row in offered if row["kind"] != ACCOUNT_TO_ACCOUNT])

    def _read(self, rows: Sequence[dict[str, Any]]) -> None:
        vanished = []
        for row, answer in zip(rows, self._run.answers(self._ask, rows), strict=True):
            name = row["id"]
            if isinstance(answer, Record):
                self._add(answer, row["kind"])
            elif isinstance(answer, NotFound):
                vanished.append(name)
            elif answer is None:
                self._run.notice(
                    f"transfers: {name} has no account and was not listed, so it was not read"
                )
            else:
                self._run.notice(f"transfers: {name} stays unchanged: {answer.what}")
        self._run.fetched.vanish(TRANSFERS.table, vanished)

    def _ask(self, row: dict[str, Any]) -> Record[Transfer] | ServiceError | None:
        account = row["sender_account_id"] or row["receiver_account_id"]
        if account is None:
            return None
        try:
            return self._run.client.finance.transfers.get(account, row["id"])
        except REFUSED as error:
            return error

    def store(self) -> None:
        """Queue the buffered transfers for the lake."""
        self._run.store(TRANSFERS, self._received.values())
        self._received = {}
