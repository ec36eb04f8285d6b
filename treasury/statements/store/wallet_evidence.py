"""What proves a company's own wallet: explorer exports, and balances that somebody read off.

No service shows these wallets. An export (hash, time, from, to, asset, amount) holds every movement
of an asset over a span of time; a balance is stated by a person who says where it was read. Both
are facts of the world and lie in the lake, known from when they were added.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.calendar import parse_instant
from treasury.errors import InputError
from treasury.lake import AMOUNT, INSTANT, TEXT, Column, Lake, Table
from treasury.lake.writer import Writer
from treasury.money import format_amount
from treasury.tables.csv_input import CsvColumn, CsvLine, amount, read_csv, text
from treasury.tables.tabular import Tabular

__all__ = [
    "EXPORT_COLUMNS", "WALLET_EVIDENCE", "WALLET_MOVEMENTS", "WALLET_TABLES", "WalletEvidence",
    "WalletPlace", "add_balance", "add_export", "require_company_wallet",
]  # fmt: skip

WALLET_EVIDENCE: Final = Table(
    name="wallet_evidence",
    key=("evidence_id",),
    title="What was added of company wallets: spans that exports cover, balances that were stated",
    columns=(
        Column("evidence_id", TEXT, "our id, the same when it is added again"),
        Column("kind", TEXT, "export or balance"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("address", TEXT, "the wallet"),
        Column("asset", TEXT, "what moved, or of what the balance is"),
        Column("covers_from", INSTANT, "an export has every movement of the asset from then"),
        Column("covers_to", INSTANT, "to then, which is not covered itself"),
        Column("observed_at", INSTANT, "when the balance was the wallet's"),
        Column("balance", AMOUNT, "what it held", unit="`asset`"),
        Column("source", TEXT, "where it was read, as whoever added it says"),
        Column("stated_by", TEXT, "who added it"),
        Column("file_name", TEXT, "the export"),
        Column("file_sha256", TEXT, "SHA-256 of its bytes"),
    ),
)
WALLET_MOVEMENTS: Final = Table(
    name="wallet_movements",
    key=("movement_id",),
    title="Movements of company wallets on the chain, from explorer exports",
    columns=(
        Column("movement_id", TEXT, "our id, the same when the movement is read again"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("transaction_hash", TEXT, "the transaction"),
        Column("moved_at", INSTANT, "when it was on the chain"),
        Column("from_address", TEXT, "who sent"),
        Column("to_address", TEXT, "who received"),
        Column("asset", TEXT, "what moved"),
        Column("amount", AMOUNT, "how much of it, never negative", unit="`asset`"),
        Column("file_name", TEXT, "the export it was read from"),
    ),
)
WALLET_TABLES: Final = (WALLET_EVIDENCE, WALLET_MOVEMENTS)


class WalletPlace(msgspec.Struct, frozen=True):
    """A wallet: its chain and its address."""

    chain: str
    address: str

    @property
    def key(self) -> tuple[str, str]:
        """How wallets are compared: an address is the same in either case."""
        return self.chain.upper(), self.address.lower()

    def __str__(self) -> str:
        return f"{self.address} on {self.chain}"


class WalletEvidence(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What adding did: the evidence, one row an asset, and the movements that were not known."""

    title: str
    evidence: pa.Table
    movements: pa.Table
    sql: str = "SELECT * FROM wallet_evidence ORDER BY chain, address, asset, evidence_id"

    def sheets(self) -> Mapping[str, pa.Table]:
        """The evidence and its movements."""
        return {"Evidence": self.evidence, "Movements": self.movements}

    def __str__(self) -> str:
        return self.title


def _instant(cell: str, label: str) -> datetime:
    try:
        return parse_instant(cell)
    except InputError as error:
        raise InputError(f"{label}: {error.what}", do=error.do) from None


def _positive(cell: str, label: str) -> Decimal:
    value = amount(cell, label)
    if value < 0:
        raise InputError(f"{label}: {cell[:40]} is negative", do="from and to say the direction")
    return value


EXPORT_COLUMNS: Final = (
    CsvColumn("hash", text),
    CsvColumn("time", _instant),
    CsvColumn("from", text),
    CsvColumn("to", text),
    CsvColumn("asset", text),
    CsvColumn("amount", _positive),
    CsvColumn("index", text, required=False),
)
"""What an export has. `index` parts transfers of a transaction that are alike in all the rest."""


def require_company_wallet(lake: Lake, chain: str, address: str) -> WalletPlace:
    """The wallet as the service writes it; InputError where the company has none such."""
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
        raise InputError(f"{typed} is no wallet of the company", do=f"it has {names}")
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
    """Add an explorer's export of a wallet; the same again adds nothing.

    It covers from its first movement to its last, or from `first` to before `last`; `assets` are
    what it would show, beyond those in it. `names` gives its own headings: {"hash": "Txhash"}.
    With `replace`, movements of an earlier export that this one lacks are dropped.
    InputError names the line that is wrong; then nothing is stored.
    """
    lines = read_csv(file, _columns(names or {}))
    rows = _movements(file, lines, place, names or {})
    span = _span(file, rows, first, last, now)
    covered_assets = sorted(
        {*(row["asset"] for row in rows), *filter(None, map(str.strip, assets))}
    )
    if not covered_assets:
        raise InputError(f"{file} has no movement", do="name the assets that it would show")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    evidence = [
        {
            "evidence_id": _id("export", *place.key, asset, digest, *map(str, span)),
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
        }
        for asset in covered_assets
    ]
    with lake.writer("wallets", now) as writer:
        dropped = _lacking(
            writer, place, covered_assets, span, {row["movement_id"] for row in rows}
        )
        if dropped and not replace:
            movement = dropped[0]
            raise InputError(
                f"{file} lacks {format_amount(movement['amount'], movement['asset'])} of"
                f" {movement['moved_at']:%Y-%m-%d %H:%M} UTC, hash {movement['transaction_hash']},"
                f" which {movement['file_name']} has",
                do="export again without a filter; add with replace where this one is right",
            )
        writer.vanish(WALLET_MOVEMENTS, _table(WALLET_MOVEMENTS, dropped).select(["movement_id"]))
        new = _new(writer, WALLET_MOVEMENTS, rows)
        return _added(writer, place, evidence, new)


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
    """State what a wallet held at an instant, and where that was read.

    Another balance of the same instant takes its place; the former stays in the history.
    """
    if not source.strip():
        raise InputError("a balance needs its source", do="say where it was read")
    if not asset.strip() or balance < 0:
        raise InputError("a balance is of an asset and not negative", do="write it as 1234.56 USDC")
    if at > now:
        raise InputError(f"{at:%Y-%m-%d %H:%M} UTC has not come yet", do="state a balance that was")
    stated = {
        "evidence_id": _id("balance", *place.key, asset.strip(), str(at)),
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
        return _added(writer, place, [stated], [], restated=True)


def _columns(names: Mapping[str, str]) -> list[CsvColumn]:
    own = {column.name for column in EXPORT_COLUMNS}
    strange = sorted(names.keys() - own)
    if strange:
        raise InputError(
            f"{strange[0]!r:.40} is no column of an export", do=f"name {', '.join(sorted(own))}"
        )
    return [
        msgspec.structs.replace(export, name=names.get(export.name, export.name).strip().lower())
        for export in EXPORT_COLUMNS
    ]


def _movements(
    file: Path, lines: Sequence[CsvLine], place: WalletPlace, names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The rows to store. Lines that are alike are refused: nobody can tell them from a repeat."""
    heads = {
        column.name: names.get(column.name, column.name).strip().lower()
        for column in EXPORT_COLUMNS
    }
    line_numbers: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    rows = []
    for line in lines:
        values: dict[str, Any] = {name: line.values.get(head) for name, head in heads.items()}
        own = place.address.lower()
        if own not in (values["from"].lower(), values["to"].lower()):
            raise InputError(
                f"{file}, line {line.number}: neither from nor to is {place.address}",
                do="name the wallet that the export is of",
            )
        core = (
            *place.key,
            *(values[name].lower() for name in ("hash", "from", "to")),
            values["asset"],
            f"{values['amount'].normalize():f}",
        )
        index = values["index"] or ""
        if index in line_numbers[core]:
            raise InputError(
                f"{file}, line {line.number}: repeats line {line_numbers[core][index]}",
                do="remove it, or add a column index that tells the two transfers apart",
            )
        line_numbers[core][index] = line.number
        rows.append(
            {
                "movement_id": _id(*core, str(len(line_numbers[core]))),
                "chain": place.chain,
                "transaction_hash": values["hash"],
                "moved_at": values["time"],
                "from_address": values["from"],
                "to_address": values["to"],
                "asset": values["asset"],
                "amount": values["amount"],
                "file_name": file.name,
                "line": line.number,
            }
        )
    return rows


def _span(
    file: Path,
    rows: Sequence[Mapping[str, Any]],
    first: datetime | None,
    last: datetime | None,
    now: datetime,
) -> tuple[datetime, datetime]:
    """What the export covers; InputError where it is empty, ends later than now or misses a row."""
    times = [row["moved_at"] for row in rows]
    since, until = first or min(times, default=None), last or max(times, default=None)
    if since is None or until is None:
        raise InputError(
            f"{file} has no movement", do="say from when and to when it would show one"
        )
    if since > until or until > now:
        raise InputError(
            f"{file}: no export covers {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC",
            do="give the days that it was made for, none later than now",
        )
    for row in rows:
        if not since <= row["moved_at"] <= until:
            raise InputError(
                f"{file}, line {row['line']}: {row['moved_at']:%Y-%m-%d %H:%M} UTC is outside what"
                " the export is said to cover",
                do="give the days that it was made for",
            )
    return since, until


def _lacking(
    writer: Writer,
    place: WalletPlace,
    assets: Sequence[str],
    span: tuple[datetime, datetime],
    here: set[str],
) -> list[dict[str, Any]]:
    """Movements of earlier exports within this one's span that it has not got."""
    chain, address = place.key
    return [
        row
        for row in writer.read(WALLET_MOVEMENTS, where="vanished_at IS NULL").to_pylist()
        if row["asset"] in assets
        and row["chain"].upper() == chain
        and address in (row["from_address"].lower(), row["to_address"].lower())
        and span[0] <= row["moved_at"] < span[1]
        and row["movement_id"] not in here
    ]


def _new(writer: Writer, table: Table, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows whose key is not stored."""
    (key,) = table.key
    stored = writer.read(table, columns=[key], where="vanished_at IS NULL")[key].to_pylist()
    return [row for row in rows if row[key] not in set(stored)]


def _added(
    writer: Writer,
    place: WalletPlace,
    evidence: list[dict[str, Any]],
    movements: list[dict[str, Any]],
    *,
    restated: bool = False,
) -> WalletEvidence:
    new_evidence = evidence if restated else _new(writer, WALLET_EVIDENCE, evidence)
    moved = _table(WALLET_MOVEMENTS, movements)
    writer.upsert(WALLET_EVIDENCE, _table(WALLET_EVIDENCE, new_evidence))
    writer.upsert(WALLET_MOVEMENTS, moved)
    word = f"{len(movements):,} movements new" if new_evidence or movements else "known before"
    if restated:
        word = format_amount(evidence[0]["balance"], evidence[0]["asset"])
    return WalletEvidence(
        title=f"{place}: {word}",
        evidence=_table(WALLET_EVIDENCE, evidence),
        movements=moved,
    )


def _table(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as the lake takes them; `raw` is the record as it was given."""
    names = [column.name for column in table.columns]
    records = ({name: row.get(name) for name in names} for row in rows)
    return pa.Table.from_pylist(
        [row | {"raw": msgspec.json.encode(row).decode()} for row in records],
        schema=table.row_schema,
    )


def _id(*parts: str) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]
