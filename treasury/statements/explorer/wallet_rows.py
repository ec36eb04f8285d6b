"""An export's lines as rows of the lake: each movement, and the gas of each transaction once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from treasury.errors import InputError
from treasury.statements.explorer.export_lines import ExportLine
from treasury.statements.explorer.wallet_export import WalletExport
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.statements.explorer.wallet_tables import evidence_key

__all__ = ["movement_rows", "payment_rows"]


def movement_rows(export: WalletExport, place: WalletPlace) -> list[dict[str, Any]]:
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
                "movement_id": evidence_key(chain, address, *core, turn),
                # So it is called where the export of the wallet at the other end showed it first.
                "other_id": evidence_key(chain, other.lower(), *core, turn),
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


def payment_rows(export: WalletExport, place: WalletPlace) -> list[dict[str, Any]]:
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
            "payment_id": evidence_key("gas", place.key[0], transaction),
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
