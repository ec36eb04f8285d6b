"""Lines of an explorer's export, in any of its forms, and the rules common to all forms.

The plain form has a line for each movement: hash, time, from, to, asset, amount, and the gas of its
transaction if the explorer states it. The sender pays the gas: a line that brings coins to the
wallet states gas that another wallet paid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from treasury.core.calendar import parse_instant
from treasury.core.coins import current_coin
from treasury.core.errors import InputError
from treasury.core.tables.csv_input import CsvColumn, amount, csv_lines, text
from treasury.statements.explorer.wallet_place import WalletPlace

_SUCCESS: Final = frozenset({"", "1", "ok", "success", "succeeded", "true"})
_FAILURE: Final = ("0", "error", "fail", "false", "revert")


class ExportLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of an export. `place` is its number; `amount` is None if no coins moved.

    `gas` is the transaction fee in the chain's native coin, None if the line does not state it;
    `gas_text` has its digits as written. `index` distinguishes equal movements of one transaction.
    """

    place: int
    transaction: str
    at: datetime
    sender: str
    receiver: str
    asset: str
    amount: Decimal | None
    index: str = ""
    gas: Decimal | None = None
    gas_text: str = ""
    failed: bool = False


def at_instant(cell: str, label: str) -> datetime:
    """Return a cell as an instant; without a time zone it is in UTC."""
    try:
        return parse_instant(cell)
    except InputError as error:
        raise InputError(f"{label}: {error.what}", do=error.do) from None


def positive(
    cell: str, label: str, do: str = "write it without a sign: from and to give the direction"
) -> Decimal:
    """Return a cell as an exact amount. Raises InputError if it is negative or not a number."""
    number = amount(cell, label)
    if number < 0:
        raise InputError(f"{label}: {cell[:40]} is negative", do=do)
    return number


def gas_paid(cell: str, label: str) -> Decimal:
    """Return a cell as the gas fee of a transaction."""
    return positive(cell, label, do="a fee is zero or more; export the wallet again")


def has_failed(cell: str, label: str) -> bool:
    """Return whether a transaction failed, by the words that explorers use.

    Raises InputError for any other word.
    """
    word = cell.strip().lower()
    if word in _SUCCESS:
        return False
    if word.startswith(_FAILURE):
        return True
    raise InputError(
        f"{label}: {cell[:40]!r} means neither success nor failure",
        do="write success or error",
    )


EXPORT_COLUMNS: Final = (
    CsvColumn("hash", text),
    CsvColumn("time", at_instant),
    CsvColumn("from", text),
    CsvColumn("to", text),
    CsvColumn("asset", text),
    CsvColumn("amount", positive),
    CsvColumn("index", text, required=False),
    CsvColumn("gas", text, required=False),
    CsvColumn("gas_coin", text, required=False),
    CsvColumn("status", has_failed, required=False),
)
"""Columns of the plain form; `gas` is an amount of `gas_coin`, the chain's native coin."""


def plain_lines(
    path: Path,
    rows: Sequence[tuple[int, list[str]]],
    place: WalletPlace,
    names: Mapping[str, str],
    word: str,
) -> Iterator[ExportLine]:
    """Yield the lines of a file in the plain form; `names` maps columns to the file's headings.

    Raises InputError for an unknown column and for an invalid value.
    """
    own = {column.name for column in EXPORT_COLUMNS}
    strange = sorted(names.keys() - own)
    if strange:
        raise InputError(
            f"{strange[0]!r:.40} is not an export column", do=f"use {', '.join(sorted(own))}"
        )
    heads = {name: names.get(name, name).strip().lower() for name in own}
    columns = [
        msgspec.structs.replace(column, name=heads[column.name]) for column in EXPORT_COLUMNS
    ]
    for line in csv_lines(path, rows, columns, word):
        where = f"{path}, {word} {line.number}"
        cells: dict[str, Any] = {name: line.values.get(head) for name, head in heads.items()}
        gas, asset, failed = None, cells["asset"], bool(cells["status"])
        if cells["gas"] is not None:
            gas = gas_paid(cells["gas"], f"{where}, {heads['gas']}")
            require_native(cells["gas_coin"] or place.native_coin, place, where)
        if place.native_coin and current_coin(asset) == place.native_coin:
            asset = place.native_coin
        yield ExportLine(
            place=line.number,
            transaction=cells["hash"],
            at=cells["time"],
            sender=cells["from"],
            receiver=cells["to"],
            asset=asset,
            amount=None if failed else cells["amount"],
            index=cells["index"] or "",
            gas=gas,
            gas_text=cells["gas"] or "",
            failed=failed,
        )


def require_native(coin: str, place: WalletPlace, where: str) -> str:
    """Return the chain's native coin.

    Raises InputError if the export has gas in another coin, or the chain's coin is unknown.
    """
    if not place.native_coin:
        raise InputError(
            f"{where}: the coin of gas fees on {place.chain} is not known",
            do="add the export without its gas",
        )
    if current_coin(coin) != place.native_coin:
        raise InputError(
            f"{where}: gas in {coin[:40]!r}, but {place.chain} charges it in {place.native_coin}",
            do="name the chain of the wallet, or export the wallet again",
        )
    return place.native_coin
