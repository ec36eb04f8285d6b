"""Transfers: lists without dates, walked newest first until they hold nothing but what is settled.

A later sync stops at the first page whose transfers are all known and final. Transfers that we hold
as open and that lie further back are read one by one; those between two accounts have no such
reading, so their list is walked until the last open one is met. A list that does not come newest
first, or does not say when its transfers were created, is walked to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from treasury.api import Page, Record
from treasury.api.models import Transfer
from treasury.errors import NotFound
from treasury.extract.finance import (
    ACCOUNT_TO_ACCOUNT,
    TRANSFERS,
    TRANSFERS_FINAL,
    TRANSFERS_KNOWN,
    FoundTransfer,
    kind_of,
)
from treasury.extract.run import REFUSED, Run

__all__ = ["Held", "sync_transfers", "walk_new"]

_COLUMNS = ("id", "kind", "is_open", "first_seen_at", "sender_account_id", "receiver_account_id")


class Held:
    """What the lake holds of transfers, kept as Arrow: there may be millions of them."""

    def __init__(self, stored: pa.Table) -> None:
        self._seen = stored.select(["id", "kind", "first_seen_at"])
        self._settled = stored.filter(pc.invert(stored["is_open"]))["id"]
        self.open = {row["id"]: row for row in stored.filter(stored["is_open"]).to_pylist()}

    def all_settled(self, transfers: Sequence[Transfer]) -> bool:
        """Whether every one of them is final, and known to be."""
        names = pa.array([transfer.id for transfer in transfers], pa.string())
        known = pc.all(pc.is_in(names, value_set=self._settled)).as_py()
        return bool(known) and all(t.status in TRANSFERS_FINAL for t in transfers)

    def seen(self, names: Iterable[str]) -> dict[str, tuple[str, datetime]]:
        """Kind and first sight of those that we hold."""
        wanted = pa.array(list(names), pa.string())
        known = self._seen.filter(pc.is_in(self._seen["id"], value_set=wanted))
        return {row["id"]: (row["kind"], row["first_seen_at"]) for row in known.to_pylist()}


def walk_new(
    pages: Iterable[Page[Transfer]], held: Held, must_meet: set[str]
) -> list[Record[Transfer]]:
    """The records of a list until nothing new can follow; see the module's text."""
    found: list[Record[Transfer]] = []
    last: datetime | None = None
    in_order = True
    missing = set(must_meet)
    for page in pages:
        found += page.items
        transfers = [record.value for record in page.items]
        missing -= {transfer.id for transfer in transfers}
        for transfer in transfers:
            falls = transfer.created_at is not None and (
                last is None or transfer.created_at <= last
            )
            in_order = in_order and falls
            last = transfer.created_at
        if transfers and in_order and not missing and held.all_settled(transfers):
            break
    return found


def sync_transfers(run: Run, accounts: Sequence[str]) -> None:
    """Walk every account's list and the list between accounts; store what they brought."""
    held = Held(run.writer.read(TRANSFERS.table, _COLUMNS))
    between = run.ask(_between_accounts, run, held)
    lists = [run.ask(_of_account, run, held, account) for account in accounts]
    came, _ = run.collect(TRANSFERS, [between, *lists])
    records = {
        record.value.id: (record, kind) for batch in reversed(came) for record, kind in batch
    }
    for name, row in held.open.items():
        if name not in records and row["kind"] != ACCOUNT_TO_ACCOUNT:
            again = _again(run, name, row["sender_account_id"] or row["receiver_account_id"])
            records.update({record.value.id: (record, row["kind"]) for record in again})
    found = list(_found(run, held, records))
    run.notice_statuses(TRANSFERS, found, TRANSFERS_KNOWN)
    run.store(TRANSFERS, found)


Batch = list[tuple[Record[Transfer], str]]


def _of_account(run: Run, held: Held, account: str) -> Batch:
    pages = run.client.finance.transfers.pages(account, sort_order="DESC")
    return [(record, kind_of(record.value)) for record in walk_new(pages, held, set())]


def _between_accounts(run: Run, held: Held) -> Batch:
    pages = run.client.finance.account_to_account_transfers.pages(sort_order="DESC")
    still_open = {name for name, row in held.open.items() if row["kind"] == ACCOUNT_TO_ACCOUNT}
    return [(record, ACCOUNT_TO_ACCOUNT) for record in walk_new(pages, held, still_open)]


def _again(run: Run, name: str, account: str | None) -> Iterator[Record[Transfer]]:
    """An open transfer that no list brought, read by itself."""
    if account is None:
        run.notice(f"transfers: {name} is open, names no account and was not listed again")
        return
    try:
        yield run.client.finance.transfers.get(account, name)
    except REFUSED as error:
        known = (
            "is not known to the service any more" if isinstance(error, NotFound) else error.what
        )
        run.notice(f"transfers: {name} stays as it was: it {known}")


def _found(
    run: Run, held: Held, records: dict[str, tuple[Record[Transfer], str]]
) -> Iterator[FoundTransfer]:
    """A transfer keeps the kind and the first sight that we hold of it."""
    seen = held.seen(records)
    for name, (record, kind) in records.items():
        known_kind, first = seen.get(name, (kind, run.writer.now))
        yield FoundTransfer(
            value=record.value, raw=record.raw, kind=known_kind, first_seen_at=first
        )
