"""The sync: stores the services' records in the lake in one commit.

Small tables are fetched completely and in parallel, then the tables with a list per account, then
transfers and ramp requests. Of transfers and ramp requests, a later sync fetches only those that
may have changed. If a sync fails, the lake stays unchanged, and the next sync uses the details of
settled requests that were already fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from treasury.api.models import Wallet
from treasury.core.decoding import decode_json
from treasury.core.errors import InputError, ServiceError
from treasury.extract import finance_tables
from treasury.extract.completeness import unseen_sentences
from treasury.extract.fetched_rows import FetchedRows
from treasury.extract.finance_tables import ACCOUNTS, TRANSFERS, WALLETS
from treasury.extract.ramp_tables import RAMP_REQUEST_EVENTS, RAMP_REQUESTS
from treasury.extract.record_rows import Form, PerAccount, Received, ReceivedRecord, Whole
from treasury.extract.requests.ramp_requests import sync_requests
from treasury.extract.sync_run import (
    REFUSED,
    Drift,
    Progress,
    Scope,
    Silent,
    SyncReport,
    SyncRun,
    asking,
)
from treasury.extract.sync_staging import Staged
from treasury.extract.synced_tables import FORMS, SERVICE_TABLES, TABLES
from treasury.extract.transfer_lists import sync_transfers
from treasury.lake import Lake, Snapshot, tables_of
from treasury.lake.store.lock import command_line, workspace_lock

if TYPE_CHECKING:
    from treasury.api import Client

WORKERS: Final = 8
_STAGING: Final = "staging"
"""Folder next to the lake for fetched rows that are not committed yet."""
_LOCK: Final = "sync.lock"
"""Lock file, next to the workspace's own, that lets only one sync run at a time."""
PATIENCE: Final = 600.0
"""Seconds to wait for another writer before the fetched rows are discarded."""

WHOLE: Final = [(form, form.source) for form in FORMS if isinstance(form.source, Whole)]
_PER_ACCOUNT: Final = [(form, form.source) for form in FORMS if isinstance(form.source, PerAccount)]

TOGETHER: Final = (
    (RAMP_REQUESTS.table.name, RAMP_REQUEST_EVENTS.table.name),
    (WALLETS.table.name, finance_tables.WALLET_BALANCES.table.name),
)
"""Groups of tables that are filled from the same answers."""


def sync(
    client: Client,
    lake: Lake,
    now: datetime,
    *,
    scope: Scope | None = None,
    progress: Progress | None = None,
    workers: int = WORKERS,
    meanwhile: Callable[[], None] = lambda: None,
) -> SyncReport:
    """Bring the lake up to date with both services; `now` is the commit's timestamp.

    `scope` limits the sync to some tables, or extends it to a full comparison. A table that a
    repair could not restore is also compared completely. While the services are called, other
    processes can write to the workspace, and `meanwhile` is called about once a second. The fetched
    rows are written at the end.

    If the sync fails, raise an error such as ServiceError or WorkspaceLocked and leave the stored
    data unchanged; an unknown table in `scope` is an InputError. A table that the credential may
    not read, or that this generation of the service lacks, is not an error: it stays unchanged and
    is reported. Accounts and the list of ramp requests are required.
    """
    scope = _checked(scope or Scope())
    lost = _lost(lake, scope)
    if lost:
        scope = msgspec.structs.replace(scope, full=True)
    staging = lake.folder.parent / _STAGING
    newest = newest_created(lake.snapshot()) if scope.full else None
    with (
        workspace_lock(lake.workspace, command_line("sync"), name=_LOCK),
        closing(Staged(staging, RAMP_REQUESTS.table.name)) as staged,
        closing(FetchedRows(*lake.base("sync", now), staging)) as fetched,
    ):
        with asking(workers) as pool:
            run = SyncRun(
                client,
                fetched,
                pool,
                progress or Silent(),
                scope=scope,
                staging=staging,
                meanwhile=meanwhile,
            )
            if lost:
                run.notice(
                    f"{', '.join(lost)}: read in full, because a repair lost some of its rows"
                )
            accounts = _whole(run)
            _per_account(run, accounts)
            if scope.has(TRANSFERS.table.name):
                sync_transfers(run, accounts)
            if scope.has(*TOGETHER[0]):
                sync_requests(run, staged)
            run.write_findings()
        with lake.writer("sync", fetched.now, patience=PATIENCE) as writer:
            report = run.write(writer, [table.name for table in SERVICE_TABLES])
            if scope.full and scope.since is None:
                # A completely fetched table is now restored; a refused table stays incomplete.
                skipped = {skip.table for skip in report.skipped}
                refused = skipped.union(*(names for names in TOGETHER if skipped & set(names)))
                whole = {lists.table for lists in report.tables}
                whole |= {lists.table for lists in report.unoffered}
                writer.refetch -= whole - refused
        if scope.has(*TOGETHER[0]):
            staged.clear()
    snapshot = lake.snapshot()
    unseen = tuple(unseen_sentences(snapshot))
    report = msgspec.structs.replace(report, notices=(*report.notices, *unseen))
    if newest is None:
        return report
    return msgspec.structs.replace(report, drift=find_drift(snapshot, report.at, newest))


def _checked(scope: Scope) -> Scope:
    """Return the scope with whole groups of tables; raise InputError for an unknown table."""
    if scope.tables is None:
        return scope
    offered = {table.name for table in SERVICE_TABLES}
    unknown = sorted(scope.tables - offered)
    if unknown or not scope.tables:
        raise InputError(
            f"the services have no table {unknown[0]!r}" if unknown else "no table is named",
            do=f"name one or more of: {', '.join(sorted(offered))}",
        )
    along = (names for names in TOGETHER if scope.has(*names))
    return msgspec.structs.replace(scope, tables=scope.tables.union(*along))


def _lost(lake: Lake, scope: Scope) -> list[str]:
    """Return the tables in scope that a repair could not fully restore."""
    last = lake.last_commit()
    if last is None or scope.since is not None:
        return []
    incomplete = set(tables_of(last.refetch))
    return [
        table.name for table in SERVICE_TABLES if table.name in incomplete and scope.has(table.name)
    ]


def _whole(run: SyncRun) -> list[str]:
    """Fill the tables that have a single list; return the account ids if other tables need them."""
    by_account = run.scope.has(TRANSFERS.table.name, *(form.table.name for form, _ in _PER_ACCOUNT))
    questions = [
        (form, source, run.ask(lambda source: list(source.ask(run.client)), source))
        for form, source in WHOLE
        if run.scope.has(form.table.name) or (by_account and form is ACCOUNTS)
    ]
    accounts: list[str] = []
    for form, source, answer in questions:
        if form is ACCOUNTS:
            accounts = [account.value.id for account in run.answer(answer)]
        records, complete = run.collect(form, [answer])
        if complete and run.scope.has(form.table.name):
            run.store(form, _detailed(run, form, source, records), complete=True)
    return accounts


def _detailed(run: SyncRun, form: Form, source: Whole, records: list[Received]) -> list[Received]:
    """Return the records, with incomplete list items replaced by their details."""
    if source.detail is None:
        return records
    answers = {
        record.value.id: run.ask(source.detail, run.client, record.value.id)
        for record in records
        if source.lacks(record.value)
    }
    details: dict[str, Received] = {}
    refused: list[ServiceError] = []
    for name, answer in answers.items():
        try:
            details[name] = run.answer(answer)
        except REFUSED as error:
            refused.append(error)
    if refused:
        table = form.table.name
        run.notice(f"{table}: {len(refused)} are known from the list only ({refused[0].what})")
    return [details.get(record.value.id, record) for record in records]


def _per_account(run: SyncRun, accounts: Sequence[str]) -> None:
    """Fill the tables that have a list per account, and the balances."""

    def ask(source: PerAccount, account: str) -> list[ReceivedRecord]:
        return [
            ReceivedRecord(value=record.value, raw=record.raw, account_id=account)
            for record in source.ask(run.client, account)
        ]

    questions = [
        (form, [run.ask(ask, source, name) for name in accounts])
        for form, source in _PER_ACCOUNT
        if run.scope.has(form.table.name)
    ]
    for form, answers in questions:
        records, complete = run.collect(form, answers)
        if form is WALLETS:
            run.observe(finance_tables.WALLET_BALANCES, _balances(run, records))
            records = [wallet for wallet in records if wallet.value.id is not None]
        run.store(form, records, complete=complete)


class _RawBalances(msgspec.Struct, frozen=True):
    balances: tuple[msgspec.Raw, ...] = ()


def _balances(
    run: SyncRun, wallets: list[ReceivedRecord]
) -> Iterator[finance_tables.ReceivedBalance]:
    """Yield the balances of each wallet; report a balance if its parts do not add up."""
    for record in wallets:
        wallet: Wallet = record.value
        # A service without wallets sends each balance as a row of its own.
        raws = [record.raw]
        if wallet.id is not None:
            raws = [bytes(item) for item in decode_json(record.raw, _RawBalances).balances]
        for balance, raw in zip(wallet.balances, raws, strict=True):
            holding = balance.holding()
            if holding.ties is False:
                run.notice(
                    f"wallet_balances: {holding.asset} of wallet {wallet.id}:"
                    f" {holding.available} available and {holding.reserved} reserved"
                    f" do not add up to {holding.total}"
                )
            yield finance_tables.ReceivedBalance(
                value=holding,
                raw=raw,
                account_id=record.account_id,
                wallet_id=wallet.id,
                chain=wallet.chain,
                observed_at=run.fetched.now,
            )


_EXAMPLES: Final = 5

_SETTLING: Final = tuple(table.name for table in TABLES if table.settles)

_CHANGED: Final = """
    SELECT h.id FROM {table}_history h JOIN {table} c USING (id)
    WHERE h.valid_to = $at AND NOT h.is_open AND h.vanished_at IS NULL AND c.vanished_at IS NULL
"""
_LATE: Final = """
    SELECT id FROM {table} WHERE valid_from = $at AND created_at <= $newest
    AND id NOT IN (SELECT id FROM {table}_history)
"""
_VANISHED: Final = "SELECT id FROM {table} WHERE vanished_at = $at"
_QUESTIONS: Final = {"changed": _CHANGED, "late": _LATE, "vanished": _VANISHED}


def newest_created(snapshot: Snapshot) -> Mapping[str, datetime | None]:
    """Return the newest record's creation time for each table whose records become final."""
    return {
        name: snapshot.sql(f"SELECT max(created_at) AS newest FROM {name}")["newest"][0].as_py()  # noqa: S608 - declared names
        for name in _SETTLING
    }


def find_drift(
    snapshot: Snapshot, at: datetime, newest: Mapping[str, datetime | None]
) -> tuple[Drift, ...]:
    """Return the unexpected changes of settled records that the commit at `at` stored, by table.

    A settled record with a new version has changed, a new record that is older than the newest
    stored one came late, and a record that is no longer in any list has vanished.
    """
    drifts = []
    for table in _SETTLING:
        for kind, query in _QUESTIONS.items():
            values = {"at": at} | ({"newest": newest[table]} if "$newest" in query else {})
            ids = snapshot.sql(query.format(table=table) + " ORDER BY id", values)["id"]
            if len(ids):
                examples = tuple(ids.slice(0, _EXAMPLES).to_pylist())
                drifts.append(Drift(table, kind, len(ids), examples))
    return tuple(drifts)
