"""Comparison of an export with stored exports: contradictions and missing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from treasury.core.errors import InputError
from treasury.core.money import format_amount, plain_digits
from treasury.lake.writer import Writer
from treasury.statements.explorer.wallet_export import WalletExport
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.statements.explorer.wallet_tables import (
    WALLET_EVIDENCE,
    WALLET_GAS,
    WALLET_MOVEMENTS,
)


def call_as_stored(writer: Writer, rows: Sequence[dict[str, Any]]) -> None:
    """Give movements between two own wallets the ids that the other wallet's export gave them."""
    stored = writer.read(WALLET_MOVEMENTS, columns=["movement_id"], where="vanished_at IS NULL")
    ids = set(stored["movement_id"].to_pylist())
    for row in rows:
        if row["other_id"] in ids and row["movement_id"] not in ids:
            row["movement_id"] = row["other_id"]


def lacking_movements(
    writer: Writer,
    place: WalletPlace,
    assets: Sequence[str],
    span: tuple[datetime, datetime],
    here: set[str],
) -> list[dict[str, Any]]:
    """Return stored movements within this export's period that the export lacks."""
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


def require_moved(writer: Writer, export: WalletExport, dropped: set[str]) -> None:
    """Raise InputError if a transaction failed in one export and moved coins in another."""
    place = export.place
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
                f"{export.where(line)}: {line.transaction} moved coins, but"
                f" failed in {row['file_name']}",
                do="export both again; nothing was stored",
            )


def lacking_payments(
    writer: Writer,
    export: WalletExport,
    payments: Sequence[Mapping[str, Any]],
    span: tuple[datetime, datetime] | None,
) -> list[dict[str, Any]]:
    """Return stored gas payments in `span`, the period of a complete list, that this export lacks.

    Without a complete list, `span` is None and the result is empty; InputError is raised if this
    export has gas that a stored complete list lacks.
    """
    place = export.place
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


def disagreeing_payments(
    writer: Writer, payments: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return gas payments that differ from a stored export, each with the stored payment."""
    stored = {
        row["payment_id"]: row
        for row in writer.read(WALLET_GAS, where="vanished_at IS NULL").to_pylist()
    }
    pairs = ((payment, stored.get(payment["payment_id"])) for payment in payments)
    return [
        (payment, before)
        for payment, before in pairs
        if before is not None
        and gas_words({**before, **without_payer(payment)}) != gas_words(before)
    ]


def without_payer(payment: Mapping[str, Any]) -> dict[str, Any]:
    """Return a gas payment, without its payer if another wallet paid it."""
    return {name: cell for name, cell in payment.items() if cell or name != "payer_address"}


def gas_words(payment: Mapping[str, Any]) -> str:
    """Return amount, payer and failure of a gas payment as text, such as `0.0021 ETH by 0x…`."""
    paid = f"{plain_digits(payment['amount'])} {payment['coin']}"
    by = f" by {payment['payer_address'].lower()}" if payment["payer_address"] else ""
    return f"{paid}{by}{' and failed' if payment['failed'] else ''}"
