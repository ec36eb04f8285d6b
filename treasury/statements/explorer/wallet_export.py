"""An explorer's export of one wallet, read as a whole and converted to rows.

The export is CSV or Parquet, in the plain form or as a transaction list, which shows only native
coin and gas. Equal lines are refused, because they may be duplicates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.money import plain_digits
from treasury.core.tables.csv_input import csv_rows, small_file
from treasury.core.text import visible
from treasury.statements.explorer.export_lines import ExportLine, plain_lines
from treasury.statements.explorer.transaction_list import fee_coins, transaction_lines
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.statements.explorer.wallet_tables import evidence_key


class WalletExport(msgspec.Struct, frozen=True, kw_only=True):
    """A wallet's export; with `shows_gas`, every transaction that the wallet sent has its gas.

    `native` is the only coin in it, empty for the plain form. `content` has its bytes; `word` is
    what errors call a position, `line` or `row`.
    """

    path: Path
    place: WalletPlace
    word: str
    lines: tuple[ExportLine, ...]
    shows_gas: bool
    native: str
    content: bytes

    def where(self, line: ExportLine) -> str:
        """Return the file and position of a line, for an error message."""
        return f"{self.path}, {self.word} {line.place}"

    def require_sound(self) -> None:
        """Raise InputError for lines of another wallet or lines that disagree on a transaction."""
        first: dict[str, ExportLine] = {}
        for line in self.lines:
            if not (self.place.is_at(line.sender) or self.place.is_at(line.receiver)):
                raise InputError(
                    f"{self.where(line)}: neither from nor to is {self.place.address}",
                    do="name the wallet to which the export belongs",
                )
            if line.gas is None:
                continue
            before = first.setdefault(line.transaction.lower(), line)
            if before.gas != line.gas or before.failed != line.failed:
                raise InputError(
                    f"{self.where(line)}: {line.transaction} paid {line.gas_text} for gas"
                    f"{' and failed' if line.failed else ''}, and {before.gas_text}"
                    f"{' and failed' if before.failed else ''} on {self.word} {before.place}",
                    do="delete the wrong one; nothing was stored",
                )


def read_wallet_export(path: Path, place: WalletPlace, names: Mapping[str, str]) -> WalletExport:
    """Return a wallet's export; `names` maps columns of the plain form to the file's headings.

    Raises InputError with file and line for an invalid value, for a line of another wallet, and for
    lines that disagree on a transaction.
    """
    content = small_file(path)
    if content.startswith(b"PAR1"):
        word, rows = "row", parquet_cells(path, content)
    else:
        word, rows = "line", csv_rows(path, content)
    head = [name.strip().lower() for name in rows[0][1]] if rows else []
    is_list = bool(fee_coins(head)) and not names
    lines = tuple(
        transaction_lines(path, rows, place, word)
        if is_list
        else plain_lines(path, rows, place, names, word)
    )
    has_gas = is_list or names.get("gas", "gas").strip().lower() in head
    export = WalletExport(
        path=path,
        place=place,
        word=word,
        lines=lines,
        shows_gas=has_gas
        and all(line.gas is not None for line in lines if place.is_at(line.sender)),
        native=place.native_coin if is_list else "",
        content=content,
    )
    export.require_sound()
    return export


def movement_rows(export: WalletExport) -> list[dict[str, Any]]:
    """Return the movements to store. Raises InputError for equal lines, a possible duplicate."""
    place = export.place
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
                do="delete the duplicate, or add a column index that numbers the two transfers",
            )
        line_numbers[core][line.index] = line.place
        turn = str(len(line_numbers[core]))
        chain, address = place.key
        other = line.sender if place.is_at(line.receiver) else line.receiver
        rows.append(
            {
                "movement_id": evidence_key(chain, address, *core, turn),
                # The other wallet's export gives the movement this id.
                "other_id": evidence_key(chain, other.lower(), *core, turn),
                "chain": place.chain,
                "transaction_hash": line.transaction,
                "moved_at": line.at,
                "from_address": line.sender,
                "to_address": line.receiver,
                "asset": line.asset,
                "amount": line.amount,
                "file_name": visible(export.path.name),
            }
        )
    return rows


def payment_rows(export: WalletExport) -> list[dict[str, Any]]:
    """Return one gas payment for each transaction with stated gas.

    `payer_address` is empty if the wallet only received coins. Gas that the wallet paid is stored;
    gas of another payer is compared with stored gas.
    """
    place = export.place
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
            "file_name": visible(export.path.name),
            "line": line.place,
        }
        for transaction, line in lines.items()
    ]


_MOST: Final = 2_000_000
"""Maximum number of rows in a Parquet file."""
_EXACT: Final = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_decimal,
    pa.types.is_timestamp, pa.types.is_null,
)  # fmt: skip
"""Column types whose values have exact digits as text."""


def parquet_cells(path: Path, content: bytes) -> list[tuple[int, list[str]]]:
    """Return the rows of a Parquet file as text with their numbers, the headings first.

    Raises InputError for a file that is broken or too long, and for types without exact digits.
    """
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows > _MOST:
            raise InputError(f"{path} has more than {_MOST:,} rows", do="give the right file")
        for column in file.schema_arrow:
            if pa.types.is_floating(column.type):
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a float; {column.type} does not hold an"
                    " amount's digits",
                    do="write the column as text or as a decimal",
                )
            if not any(is_of(column.type) for is_of in _EXACT):
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a {column.type}", do="write it as text"
                )
            if pa.types.is_timestamp(column.type) and column.type.tz is None:
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a timestamp without its zone",
                    do="write it as text, or in UTC",
                )
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} cannot be read: {str(error)[:120]}", do="write it again"
        ) from None
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    cells = ((number, list(map(_cell, row))) for number, row in enumerate(rows, 1))
    return [(0, table.column_names), *cells]


def _cell(stored: Any) -> str:
    if isinstance(stored, Decimal):
        return plain_digits(stored)
    if isinstance(stored, datetime):
        return stored.isoformat()
    return "" if stored is None else str(stored)
