"""A file that an explorer exports of a wallet, read whole: its lines, and what it can prove.

CSV or Parquet, in the plain form or as a list of transactions. A list of transactions shows native
coin and gas alone. Lines that are alike are refused: nobody can tell them from a repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from treasury.errors import InputError
from treasury.statements.explorer.export_lines import ExportLine, plain_lines
from treasury.statements.explorer.parquet_cells import parquet_cells
from treasury.statements.explorer.transaction_list import fee_coins, transaction_lines
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.tables.csv_input import csv_rows, small_file

__all__ = ["WalletExport", "read_wallet_export"]


class WalletExport(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of an export. `shows_gas`: it names the gas of all that the wallet sent.

    `native` is the coin that it shows alone, empty where it is of the plain form. `content` are its
    bytes; `word` is what an error calls a place, `line` or `row`.
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

    def require_sound(self, place: WalletPlace) -> None:
        """InputError for a line of another wallet, and for two of one transaction that disagree."""
        first: dict[str, ExportLine] = {}
        for line in self.lines:
            if not (place.is_at(line.sender) or place.is_at(line.receiver)):
                raise InputError(
                    f"{self.where(line)}: neither from nor to is {place.address}",
                    do="name the wallet that the export is of",
                )
            if line.gas is None:
                continue
            before = first.setdefault(line.transaction.lower(), line)
            if before.gas != line.gas or before.failed != line.failed:
                raise InputError(
                    f"{self.where(line)}: {line.transaction} paid {line.gas_text} for gas"
                    f"{' and failed' if line.failed else ''}, and {before.gas_text}"
                    f"{' and failed' if before.failed else ''} on {self.word} {before.place}",
                    do="leave the right one; nothing was stored",
                )


def read_wallet_export(path: Path, place: WalletPlace, names: Mapping[str, str]) -> WalletExport:
    """The lines of an export of a wallet; `names` gives the own headings of a plain form.

    InputError names the file and the line of a value that cannot be right, of one that is not the
    wallet's, and of a transaction that two lines say different things of.
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
        word=word,
        lines=lines,
        shows_gas=has_gas
        and all(line.gas is not None for line in lines if place.is_at(line.sender)),
        native=place.native_coin if is_list else "",
        content=content,
    )
    export.require_sound(place)
    return export
