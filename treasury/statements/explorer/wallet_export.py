"""A file that an explorer exports of a wallet, read whole: its lines, and what it can prove.

CSV or Parquet, in the plain form or as a list of transactions. A list of transactions shows native
coin and gas alone. Lines that are alike are refused: nobody can tell them from a repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.errors import InputError
from treasury.money import plain_digits
from treasury.statements.explorer.export_lines import ExportLine, plain_lines
from treasury.statements.explorer.transaction_list import fee_coins, transaction_lines
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.tables.csv_input import csv_rows, small_file

__all__ = ["WalletExport", "read_wallet_export"]

_MOST: Final = 2_000_000
"""Rows that a Parquet file may have."""
_EXACT: Final = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_decimal,
    pa.types.is_timestamp, pa.types.is_null,
)  # fmt: skip
"""The types whose values have their digits."""


class WalletExport(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of an export. `shows_gas`: it names the gas of every transaction that it has.

    `native` is the coin that it shows alone, empty where it is of the plain form. `sha256` is that
    of its bytes; `word` is what an error calls a place, `line` or `row`.
    """

    path: Path
    word: str
    lines: tuple[ExportLine, ...]
    shows_gas: bool
    native: str
    content: bytes

    def where(self, line: ExportLine) -> str:
        """The file and the place of a line, for an error."""
        return f"{self.path}, {self.word} {line.place}"


def read_wallet_export(path: Path, place: WalletPlace, names: Mapping[str, str]) -> WalletExport:
    """The lines of an export of a wallet; `names` gives the own headings of a plain form.

    InputError names the file and the line of a value that cannot be right, of one that is not the
    wallet's, and of a transaction that two lines say different things of.
    """
    content = small_file(path)
    if content.startswith(b"PAR1"):
        word, rows = "row", _parquet_rows(path, content)
    else:
        word, rows = "line", csv_rows(path, content)
    head = [name.strip().lower() for name in rows[0][1]] if rows else []
    is_list = bool(fee_coins(head)) and not names
    lines = (
        transaction_lines(path, rows, place, word)
        if is_list
        else plain_lines(path, rows, place, names, word)
    )
    export = WalletExport(
        path=path,
        word=word,
        lines=tuple(lines),
        shows_gas=is_list or names.get("gas", "gas").strip().lower() in head,
        native=place.native_coin if is_list else "",
        content=content,
    )
    _require_sound(export, place)
    return export


def _require_sound(export: WalletExport, place: WalletPlace) -> None:
    """InputError for a line of another wallet, and for two of one transaction that disagree."""
    first: dict[str, ExportLine] = {}
    for line in export.lines:
        if not (place.is_at(line.sender) or place.is_at(line.receiver)):
            raise InputError(
                f"{export.where(line)}: neither from nor to is {place.address}",
                do="name the wallet that the export is of",
            )
        if line.gas is None:
            continue
        before = first.setdefault(line.transaction.lower(), line)
        if before.gas != line.gas or before.failed != line.failed:
            raise InputError(
                f"{export.where(line)}: {line.transaction} paid {line.gas_text} for gas"
                f"{' and failed' if line.failed else ''}, and {before.gas_text}"
                f"{' and failed' if before.failed else ''} on {export.word} {before.place}",
                do="leave the right one; nothing was stored",
            )


def _parquet_rows(path: Path, content: bytes) -> list[tuple[int, list[str]]]:
    """The headings and the cells of a Parquet file as text; a column of floats is refused."""
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
        raise InputError(f"{path} does not read: {str(error)[:120]}", do="write it again") from None
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    cells = ((number, list(map(_cell, row))) for number, row in enumerate(rows, 1))
    return [(0, table.column_names), *cells]


def _cell(stored: Any) -> str:
    match stored:
        case None:
            return ""
        case Decimal():
            return plain_digits(stored)
        case datetime():
            return stored.isoformat()
        case _:
            return str(stored)
