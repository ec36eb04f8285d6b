"""Evidence for a company's own wallets: explorer exports, and balances stated by a person.

No service reports these wallets. An export has every movement of an asset in a period, and may have
the gas that the wallet paid, which is stored once per transaction. A person states a balance
together with its source. All evidence is stored in the lake with the time when it was added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.money import format_amount
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.lake import Lake
from treasury.lake import Table as LakeTable
from treasury.lake.writer import Writer
from treasury.statements.explorer import wallet_conflicts, wallet_export
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.statements.explorer.wallet_tables import (
    WALLET_EVIDENCE,
    WALLET_GAS,
    WALLET_MOVEMENTS,
    evidence_key,
)


class WalletEvidence(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Result of adding: the evidence, one row per asset, and the new rows.

    `movements` has transfers of coins, `gas` the fees of transactions.
    """

    title: str
    evidence: Table
    movements: Table
    gas: Table = msgspec.field(default_factory=WALLET_GAS.schema.empty_table)
    sql: str = "SELECT * FROM wallet_evidence ORDER BY chain, address, asset, evidence_id"

    def sheets(self) -> Mapping[str, Table]:
        """Return the evidence, the movements and the gas as tables."""
        return {"Evidence": self.evidence, "Movements": self.movements, "Gas": self.gas}

    def __str__(self) -> str:
        return self.title


def require_company_wallet(lake: Lake, chain: str, address: str) -> WalletPlace:
    """Return the wallet as the service spells it.

    Raises InputError if the company has no such wallet.
    """
    addresses = lake.snapshot().sql(
        "SELECT chain, address FROM company_wallets UNION SELECT company_wallet_chain,"
        " company_wallet_address FROM ramp_requests WHERE company_wallet_address IS NOT NULL"
        " ORDER BY ALL"
    )
    wallets = [
        WalletPlace(**row) for row in addresses.to_pylist() if row["chain"] and row["address"]
    ]
    typed = WalletPlace(chain.strip(), address.strip())
    place = next((wallet for wallet in wallets if wallet.key == typed.key), None)
    if place is None:
        names = "; ".join(map(str, wallets)) or "none: run `treasury sync` first"
        raise InputError(f"{typed} is not a wallet of the company", do=f"it has {names}")
    return place


def add_export(
    lake: Lake,
    file: Path,
    place: WalletPlace,
    now: datetime,
    *,
    by: str,
    source: str = "",
    first: datetime | None = None,
    last: datetime | None = None,
    assets: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
    replace: bool = False,
) -> WalletEvidence:
    """Add an explorer's export of a wallet; adding a file twice has no effect.

    The export covers the time from its first line to its last, or from `first` to before `last`;
    `assets` are further assets that it covers. `names` maps columns to the file's headings, such as
    {"hash": "Txhash"}. With `replace`, stored movements that this export lacks are withdrawn, and
    its gas overrides conflicting gas. Raises InputError with the line that is wrong, or that
    another export contradicts; then nothing is stored.
    """
    export = wallet_export.read_wallet_export(file, place, names or {})
    span = _span(export, first, last, now)
    rows, gas = wallet_export.movement_rows(export), wallet_export.payment_rows(export)
    payments = [payment for payment in gas if payment["payer_address"]]
    further = {*filter(None, map(str.strip, assets))} - {export.native}
    if export.native and further:
        raise InputError(
            f"{file} shows {export.native} alone, not {', '.join(sorted(further))}",
            do="add the wallet's token export too",
        )
    covered_assets = sorted({*(row["asset"] for row in rows), *further, export.native} - {""})
    if not covered_assets:
        raise InputError(f"{file} has no movement", do="name the assets that the export covers")
    digest = hashlib.sha256(export.content).hexdigest()
    evidence = [
        {
            "evidence_id": evidence_key("export", *place.key, asset, digest, *map(str, span)),
            "kind": "export",
            "chain": place.chain,
            "address": place.address,
            "asset": asset,
            "covers_from": span[0],
            "covers_to": span[1],
            "source": source.strip() or f"explorer export {file.name}",
            "stated_by": by,
            "file_name": file.name,
            "file_sha256": digest,
            "shows_gas": export.shows_gas,
        }
        for asset in covered_assets
    ]
    with lake.writer("wallets", now) as writer:
        wallet_conflicts.call_as_stored(writer, rows)
        dropped = wallet_conflicts.lacking_movements(
            writer, place, covered_assets, span, {row["movement_id"] for row in rows}
        )
        if dropped and not replace:
            movement = dropped[0]
            raise InputError(
                f"{file} lacks {format_amount(movement['amount'], movement['asset'])} of"
                f" {movement['moved_at']:%Y-%m-%d %H:%M} UTC, hash {movement['transaction_hash']},"
                f" which {movement['file_name']} has",
                do="export again without a filter; if this export is right, add it with replace",
            )
        wallet_conflicts.require_moved(writer, export, {row["movement_id"] for row in dropped})
        is_whole = export.shows_gas and place.native_coin in covered_assets
        unpaid = wallet_conflicts.lacking_payments(
            writer, export, payments, span if is_whole else None
        )
        if unpaid and not replace:
            payment = unpaid[0]
            raise InputError(
                f"{file} lacks the gas of {payment['transaction_hash']},"
                f" {payment['published']} {payment['coin']}, which {payment['file_name']} has",
                do="export again without a filter; if this export is right, add it with replace",
            )
        other = wallet_conflicts.disagreeing_payments(writer, gas)
        if other and not replace:
            payment, stored = other[0]
            raise InputError(
                f"{export.path}, {export.word} {payment['line']}: gas of"
                f" {payment['transaction_hash']} is {wallet_conflicts.gas_words(payment)}, and"
                f" {wallet_conflicts.gas_words(stored)} in {stored['file_name']}",
                do="correct the wrong export; if this one is right, add it with replace",
            )
        writer.vanish(WALLET_MOVEMENTS, _table(WALLET_MOVEMENTS, dropped).select(["movement_id"]))
        writer.vanish(WALLET_GAS, _table(WALLET_GAS, unpaid).select(["payment_id"]))
        new = _new(writer, WALLET_MOVEMENTS, rows)
        restated = (
            {**stored, **wallet_conflicts.without_payer(payment)} for payment, stored in other
        )
        paid = [*_new(writer, WALLET_GAS, payments), *restated]
        return _added(writer, place, evidence, new, paid)


def add_balance(
    lake: Lake,
    place: WalletPlace,
    now: datetime,
    *,
    asset: str,
    balance: Decimal,
    at: datetime,
    by: str,
    source: str,
) -> WalletEvidence:
    """Store the balance of a wallet at an instant, with its source.

    It replaces a stored balance of the same instant, which remains in the history. Raises
    InputError for a negative or future balance, or without an asset or a source.
    """
    if not source.strip():
        raise InputError("a balance needs a source", do="state where you read the balance")
    if not asset.strip() or balance < 0:
        raise InputError(
            "a balance needs an asset and must not be negative", do="write it as 1234.56 USDC"
        )
    if at > now:
        raise InputError(
            f"{at:%Y-%m-%d %H:%M} UTC is in the future", do="state a balance of the past"
        )
    stated = {
        "evidence_id": evidence_key("balance", *place.key, asset.strip(), str(at)),
        "kind": "balance",
        "chain": place.chain,
        "address": place.address,
        "asset": asset.strip(),
        "observed_at": at,
        "balance": balance,
        "source": source.strip(),
        "stated_by": by,
    }
    with lake.writer("wallets", now) as writer:
        return _added(writer, place, [stated], [], [], restated=True)


def _span(
    export: wallet_export.WalletExport, first: datetime | None, last: datetime | None, now: datetime
) -> tuple[datetime, datetime]:
    """Return the period that the export covers.

    Raises InputError if the period is empty, ends in the future, or excludes a row.
    """
    times = [line.at for line in export.lines]
    since, until = first or min(times, default=None), last or max(times, default=None)
    if since is None or until is None:
        raise InputError(
            f"{export.path} has no movement", do="state the period that the export covers"
        )
    if since > until or until > now:
        raise InputError(
            f"{export.path}: an export cannot cover {since:%Y-%m-%d %H:%M} to"
            f" {until:%Y-%m-%d %H:%M} UTC",
            do="give the period of the export, which must not end in the future",
        )
    for line in export.lines:
        if not since <= line.at <= until:
            raise InputError(
                f"{export.where(line)}: {line.at:%Y-%m-%d %H:%M} UTC is outside the stated period"
                " of the export",
                do="give the days that it was made for",
            )
    return since, until


def _new(writer: Writer, table: LakeTable, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with keys that are not stored yet."""
    (key,) = table.key
    stored = writer.read(table, columns=[key], where="vanished_at IS NULL")[key].to_pylist()
    return [row for row in rows if row[key] not in set(stored)]


def _added(
    writer: Writer,
    place: WalletPlace,
    evidence: list[dict[str, Any]],
    movements: list[dict[str, Any]],
    payments: list[dict[str, Any]],
    *,
    restated: bool = False,
) -> WalletEvidence:
    new_evidence = evidence if restated else _new(writer, WALLET_EVIDENCE, evidence)
    moved, paid = _table(WALLET_MOVEMENTS, movements), _table(WALLET_GAS, payments)
    writer.upsert(WALLET_EVIDENCE, _table(WALLET_EVIDENCE, new_evidence))
    writer.upsert(WALLET_MOVEMENTS, moved)
    writer.upsert(WALLET_GAS, paid)
    word = "known before"
    if new_evidence or movements or payments:
        word = f"{len(movements):,} movements new"
        word += f", gas of {len(payments):,} transactions" if payments else ""
    if restated:
        word = format_amount(evidence[0]["balance"], evidence[0]["asset"])
    return WalletEvidence(
        title=f"{place}: {word}",
        evidence=_table(WALLET_EVIDENCE, evidence),
        movements=moved,
        gas=paid,
    )


def _table(table: LakeTable, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as a table for the lake; `raw` is the row as JSON."""
    names = [column.name for column in table.columns]
    records = ({name: row.get(name) for name in names} for row in rows)
    return pa.Table.from_pylist(
        [row | {"raw": msgspec.json.encode(row).decode()} for row in records],
        schema=table.row_schema,
    )
