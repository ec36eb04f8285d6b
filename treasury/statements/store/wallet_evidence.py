"""What proves a company's own wallet: explorer exports, and balances that somebody read off.

No service shows these wallets. An export holds every movement of an asset over a span of time, and
may name the gas that the wallet paid: once a transaction, whichever exports show it. A balance is
stated by a person who says where it was read. All are facts of the world and lie in the lake, known
from when they were added.
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

from treasury.errors import InputError
from treasury.lake import AMOUNT, BOOL, INSTANT, TEXT, Column, Lake, Table
from treasury.lake.writer import Writer
from treasury.money import format_amount, plain_digits
from treasury.statements.explorer.export_lines import ExportLine
from treasury.statements.explorer.wallet_export import WalletExport, read_wallet_export
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.tables.tabular import Tabular

__all__ = [
    "WALLET_EVIDENCE", "WALLET_GAS", "WALLET_MOVEMENTS", "WALLET_TABLES", "WalletEvidence",
    "add_balance", "add_export", "require_company_wallet",
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
        Column("shows_gas", BOOL, "whether the export names the gas of its transactions"),
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
WALLET_GAS: Final = Table(
    name="wallet_gas",
    key=("payment_id",),
    title="Gas that company wallets paid, once a transaction, from explorer exports",
    columns=(
        Column("payment_id", TEXT, "our id, the same whichever export shows the transaction"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("transaction_hash", TEXT, "the transaction"),
        Column("paid_at", INSTANT, "when it was on the chain"),
        Column("payer_address", TEXT, "the wallet that sent it, and paid"),
        Column("coin", TEXT, "the chain's native coin"),
        Column("amount", AMOUNT, "what it paid for gas, never negative", unit="`coin`"),
        Column("published", TEXT, "the amount as it stands in the export"),
        Column("failed", BOOL, "whether the transaction failed: it moved nothing and paid its gas"),
        Column("file_name", TEXT, "the export it was read from"),
    ),
)
WALLET_TABLES: Final = (WALLET_EVIDENCE, WALLET_MOVEMENTS, WALLET_GAS)


class WalletEvidence(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What adding did: the evidence, one row an asset, and what was not known before.

    `movements` are coins that moved, `gas` what transactions paid.
    """

    title: str
    evidence: pa.Table
    movements: pa.Table
    gas: pa.Table = msgspec.field(default_factory=WALLET_GAS.schema.empty_table)
    sql: str = "SELECT * FROM wallet_evidence ORDER BY chain, address, asset, evidence_id"

    def sheets(self) -> Mapping[str, pa.Table]:
        """The evidence, its movements and the gas that was paid."""
        return {"Evidence": self.evidence, "Movements": self.movements, "Gas": self.gas}

    def __str__(self) -> str:
        return self.title


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

    It covers from its first line to its last, or from `first` to before `last`; `assets` are what
    it would show, beyond those in it. `names` gives its own headings: {"hash": "Txhash"}. With
    `replace`, what an earlier export has and this one lacks is dropped, and gas that they disagree
    about is taken from this one. InputError names the line that is wrong, or that another export
    contradicts; then nothing is stored.
    """
    export = read_wallet_export(file, place, names or {})
    span = _span(export, first, last, now)
    rows, gas = _movements(export, place), _payments(export, place)
    payments = [payment for payment in gas if payment["payer_address"]]
    further = {*filter(None, map(str.strip, assets))} - {export.native}
    if export.native and further:
        raise InputError(
            f"{file} shows {export.native} alone, not {', '.join(sorted(further))}",
            do="add the export of its tokens too",
        )
    covered_assets = sorted({*(row["asset"] for row in rows), *further, export.native} - {""})
    if not covered_assets:
        raise InputError(f"{file} has no movement", do="name the assets that it would show")
    digest = hashlib.sha256(export.content).hexdigest()
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
            "shows_gas": export.shows_gas,
        }
        for asset in covered_assets
    ]
    with lake.writer("wallets", now) as writer:
        _known_to_both(writer, rows)
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
        _require_moved(writer, export, place, {row["movement_id"] for row in dropped})
        is_whole = export.shows_gas and place.native_coin in covered_assets
        unpaid = _unpaid(writer, export, place, payments, span if is_whole else None)
        if unpaid and not replace:
            payment = unpaid[0]
            raise InputError(
                f"{file} lacks the gas of {payment['transaction_hash']},"
                f" {payment['published']} {payment['coin']}, which {payment['file_name']} has",
                do="export again without a filter; add with replace where this one is right",
            )
        other = _disagreeing(writer, gas)
        if other and not replace:
            payment, stored = other[0]
            raise InputError(
                f"{export.path}, {export.word} {payment['line']}: gas of"
                f" {payment['transaction_hash']} is {_gas_words(payment)}, and"
                f" {_gas_words(stored)} in {stored['file_name']}",
                do="correct the one that is wrong; add with replace where this one is right",
            )
        writer.vanish(WALLET_MOVEMENTS, _table(WALLET_MOVEMENTS, dropped).select(["movement_id"]))
        writer.vanish(WALLET_GAS, _table(WALLET_GAS, unpaid).select(["payment_id"]))
        new = _new(writer, WALLET_MOVEMENTS, rows)
        restated = ({**stored, **_without_payer(payment)} for payment, stored in other)
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
        return _added(writer, place, [stated], [], [], restated=True)


def _movements(export: WalletExport, place: WalletPlace) -> list[dict[str, Any]]:
    """The movements to store. Lines that are alike are refused: one may be a repeat."""
    line_numbers: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    rows = []
    for line in export.lines:
        if line.amount is None:
            continue
        core = (
            *(text.lower() for text in (line.transaction, line.sender, line.receiver)),
            line.asset,
            f"{line.amount.normalize():f}",
        )
        if line.index in line_numbers[core]:
            raise InputError(
                f"{export.where(line)}: repeats {export.word} {line_numbers[core][line.index]}",
                do="remove it, or add a column index that tells the two transfers apart",
            )
        line_numbers[core][line.index] = line.place
        turn = str(len(line_numbers[core]))
        chain, address = place.key
        other = line.sender if place.is_at(line.receiver) else line.receiver
        rows.append(
            {
                "movement_id": _id(chain, address, *core, turn),
                # So it is called where the export of the wallet at the other end showed it first.
                "other_id": _id(chain, other.lower(), *core, turn),
                "chain": place.chain,
                "transaction_hash": line.transaction,
                "moved_at": line.at,
                "from_address": line.sender,
                "to_address": line.receiver,
                "asset": line.asset,
                "amount": line.amount,
                "file_name": export.path.name,
            }
        )
    return rows


def _payments(export: WalletExport, place: WalletPlace) -> list[dict[str, Any]]:
    """The gas of each transaction, once; `payer_address` is empty where the wallet only received.

    The gas that the wallet paid is stored; that of another is held against what is stored of it.
    """
    lines: dict[str, ExportLine] = {}
    for line in export.lines:
        if line.gas is not None:
            before = lines.setdefault(line.transaction.lower(), line)
            if place.is_at(line.sender) and not place.is_at(before.sender):
                lines[line.transaction.lower()] = line
    return [
        {
            "payment_id": _id("gas", place.key[0], transaction),
            "chain": place.chain,
            "transaction_hash": line.transaction,
            "paid_at": line.at,
            "payer_address": place.address if place.is_at(line.sender) else "",
            "coin": place.native_coin,
            "amount": line.gas,
            "published": line.gas_text,
            "failed": line.failed,
            "file_name": export.path.name,
            "line": line.place,
        }
        for transaction, line in lines.items()
    ]


def _span(
    export: WalletExport, first: datetime | None, last: datetime | None, now: datetime
) -> tuple[datetime, datetime]:
    """What the export covers; InputError where it is empty, ends later than now or misses a row."""
    times = [line.at for line in export.lines]
    since, until = first or min(times, default=None), last or max(times, default=None)
    if since is None or until is None:
        raise InputError(
            f"{export.path} has no movement", do="say from when and to when it would show one"
        )
    if since > until or until > now:
        raise InputError(
            f"{export.path}: no export covers {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC",
            do="give the days that it was made for, none later than now",
        )
    for line in export.lines:
        if not since <= line.at <= until:
            raise InputError(
                f"{export.where(line)}: {line.at:%Y-%m-%d %H:%M} UTC is outside what the export is"
                " said to cover",
                do="give the days that it was made for",
            )
    return since, until


def _known_to_both(writer: Writer, rows: Sequence[dict[str, Any]]) -> None:
    """Call a movement between two own wallets as the other's export did: it is the same one."""
    stored = writer.read(WALLET_MOVEMENTS, columns=["movement_id"], where="vanished_at IS NULL")
    ids = set(stored["movement_id"].to_pylist())
    for row in rows:
        if row["other_id"] in ids and row["movement_id"] not in ids:
            row["movement_id"] = row["other_id"]


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


def _require_moved(
    writer: Writer, export: WalletExport, place: WalletPlace, dropped: set[str]
) -> None:
    """InputError for a transaction that failed by one export, and moved coins by another."""
    lines = {line.transaction.lower(): line for line in export.lines}
    for row in writer.read(WALLET_MOVEMENTS, where="vanished_at IS NULL").to_pylist():
        line = lines.get(row["transaction_hash"].lower())
        is_of_chain = row["chain"].upper() == place.key[0] and row["movement_id"] not in dropped
        if line is not None and line.failed and is_of_chain:
            raise InputError(
                f"{export.where(line)}: {line.transaction} failed, and {row['file_name']} has"
                f" {format_amount(row['amount'], row['asset'])} moved by it",
                do="export both again; nothing was stored",
            )
    for row in writer.read(WALLET_GAS, where="vanished_at IS NULL AND failed").to_pylist():
        line = lines.get(row["transaction_hash"].lower())
        is_of_chain = row["chain"].upper() == place.key[0]
        is_another = line is not None and (line.gas is None or not place.is_at(line.sender))
        if line is not None and line.amount is not None and is_another and is_of_chain:
            raise InputError(
                f"{export.where(line)}: {line.transaction} moved coins, and {row['file_name']} has"
                " that it failed",
                do="export both again; nothing was stored",
            )


def _unpaid(
    writer: Writer,
    export: WalletExport,
    place: WalletPlace,
    payments: Sequence[Mapping[str, Any]],
    span: tuple[datetime, datetime] | None,
) -> list[dict[str, Any]]:
    """Gas of earlier exports that this one lacks, where it has all that was paid in its span.

    InputError where it is the other way round: this one has gas of days whose list lacks it.
    """
    own = {payment["payment_id"] for payment in payments}
    stored = [
        row
        for row in writer.read(WALLET_GAS, where="vanished_at IS NULL").to_pylist()
        if row["chain"].upper() == place.key[0] and place.is_at(row["payer_address"])
    ]
    if span is not None:
        return [
            row
            for row in stored
            if span[0] <= row["paid_at"] < span[1] and row["payment_id"] not in own
        ]
    known = {row["payment_id"] for row in stored}
    lists = [
        row
        for row in writer.read(WALLET_EVIDENCE, where="vanished_at IS NULL").to_pylist()
        if row["shows_gas"]
        and row["asset"] == place.native_coin
        and (row["chain"].upper(), row["address"].lower()) == place.key
    ]
    for payment in payments:
        at = payment["paid_at"]
        whole = [row for row in lists if row["covers_from"] <= at < row["covers_to"]]
        if whole and payment["payment_id"] not in known:
            raise InputError(
                f"{export.path}, {export.word} {payment['line']}: gas of"
                f" {payment['transaction_hash']}, which {whole[0]['file_name']} lacks",
                do="add the whole list of transactions again, or leave the gas out",
            )
    return []


def _disagreeing(
    writer: Writer, payments: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Payments that an earlier export tells otherwise, each with what that says."""
    stored = {
        row["payment_id"]: row
        for row in writer.read(WALLET_GAS, where="vanished_at IS NULL").to_pylist()
    }
    pairs = ((payment, stored.get(payment["payment_id"])) for payment in payments)
    return [
        (payment, before)
        for payment, before in pairs
        if before is not None
        and _gas_words({**before, **_without_payer(payment)}) != _gas_words(before)
    ]


def _without_payer(payment: Mapping[str, Any]) -> dict[str, Any]:
    """A payment without its payer, where it only says what another's transaction paid."""
    return {name: cell for name, cell in payment.items() if cell or name != "payer_address"}


def _gas_words(payment: Mapping[str, Any]) -> str:
    """`0.0021 ETH by 0x…`: what was paid, by whom, and whether for nothing."""
    paid = f"{plain_digits(payment['amount'])} {payment['coin']}"
    by = f" by {payment['payer_address'].lower()}" if payment["payer_address"] else ""
    return f"{paid}{by}{' and failed' if payment['failed'] else ''}"


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
