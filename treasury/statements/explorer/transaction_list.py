"""Reader of the transaction list that Etherscan and similar explorers export.

A column such as `TxnFee(ETH)` identifies the form, which shows only the native coin and gas.
Incoming and outgoing amounts have their own columns; the sender of a transaction pays its gas. A
failed transaction moves no coins but pays its gas. Explorers list transfers by contracts (internal
transactions) separately: these lines may be appended with an empty fee.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from treasury.core.errors import InputError
from treasury.core.tables.csv_input import CsvColumn, csv_lines, text
from treasury.statements.explorer import export_lines
from treasury.statements.explorer.export_lines import ExportLine
from treasury.statements.explorer.wallet_place import WalletPlace

_FEE: Final = re.compile(r"txnfee\((.*)\)")
_MONEY: Final = "USD"
"""Unit of ignored columns, which have values in dollars at the explorer's price."""
_HASHES: Final = ("transaction hash", "txhash")
_ZERO: Final = Decimal(0)


def fee_coins(head: Sequence[str]) -> list[str]:
    """Return the coins in the headings of the fee columns."""
    fees = (_FEE.fullmatch(name.strip().lower()) for name in head)
    coins = (match[1].strip().upper() for match in fees if match)
    return [coin for coin in coins if coin != _MONEY]


def transaction_lines(
    path: Path, rows: Sequence[tuple[int, list[str]]], place: WalletPlace, word: str
) -> Iterator[ExportLine]:
    """Yield the lines of a wallet's transaction list. Raises InputError naming the wrong line."""
    number, head = rows[0]
    where = f"{path}, {word} {number}" if number else f"{path}"
    coins = fee_coins(head)
    if len(coins) != 1:
        raise InputError(
            f"{where}: fees in {' and in '.join(coins)[:80]}", do="export each chain separately"
        )
    coin = export_lines.require_native(coins[0], place, where)
    columns = _columns(coins[0], [name.strip().lower() for name in head])
    for line in csv_lines(path, rows, tuple(columns.values()), word):
        cells = {name: line.values.get(column.name) for name, column in columns.items()}
        yield _line(f"{path}, {word} {line.number}", line.number, cells, place, coin)


def _columns(coin: str, head: Sequence[str]) -> dict[str, CsvColumn]:
    """Return the columns by meaning; the heading of the hash and the form of the time vary."""
    unit = coin.lower()
    time = (
        CsvColumn("unixtimestamp", _unix_instant)
        if "unixtimestamp" in head
        else CsvColumn("datetime (utc)", export_lines.at_instant)
    )
    return {
        "hash": CsvColumn(next((name for name in _HASHES if name in head), _HASHES[0]), text),
        "time": time,
        "from": CsvColumn("from", text),
        "to": CsvColumn("to", text, required=False),
        "contract": CsvColumn("contractaddress", text, required=False),
        "came": CsvColumn(f"value_in({unit})", export_lines.positive, required=False),
        "went": CsvColumn(f"value_out({unit})", export_lines.positive, required=False),
        "fee": CsvColumn(f"txnfee({unit})", text, required=False),
        "status": CsvColumn("status", export_lines.has_failed, required=False),
        "error": CsvColumn("errcode", text, required=False),
    }


def _line(
    where: str, number: int, cells: dict[str, Any], place: WalletPlace, coin: str
) -> ExportLine:
    sender, receiver = cells["from"], cells["to"] or cells["contract"]
    if receiver is None:
        raise InputError(f"{where}: to is empty", do="fill in the recipient or the contract")
    is_sender, is_receiver = place.is_at(sender), place.is_at(receiver)
    came, went = cells["came"] or _ZERO, cells["went"] or _ZERO
    amounts = {side for side in (came, went) if side}
    wrong_way = (came and not is_receiver) or (went and not is_sender)
    if wrong_way or len(amounts) > 1:
        raise InputError(
            f"{where}: {came} in and {went} out contradict from and to",
            do="export it again, for this wallet",
        )
    if is_sender and cells["fee"] is None:
        raise InputError(f"{where}: the wallet sent it, and its fee is empty", do="export it again")
    failed = bool(cells["status"])
    if cells["error"] is not None and cells["status"] is False:
        raise InputError(
            f"{where}: the status is success, but errcode is {cells['error'][:40]!r}",
            do="export it again",
        )
    failed = failed or cells["error"] is not None
    fee = cells["fee"]
    return ExportLine(
        place=number,
        transaction=cells["hash"],
        at=cells["time"],
        sender=sender,
        receiver=receiver,
        asset=coin,
        amount=next(iter(amounts)) if amounts and not failed else None,
        gas=None if fee is None else export_lines.gas_paid(fee, f"{where}, fee"),
        gas_text=fee or "",
        failed=failed,
    )


def _unix_instant(cell: str, label: str) -> datetime:
    """Return seconds since 1970 as an instant."""
    is_number = cell.isascii() and cell.isdigit() and len(cell) <= len("9999999999")
    if not is_number:
        raise InputError(
            f"{label}: {cell[:40]!r} is not a number of seconds", do="write it as 1790931600"
        )
    return export_lines.at_instant(datetime.fromtimestamp(int(cell), UTC).isoformat(), label)
