"""Handmade transaction lists of block explorers, and a lake to add them to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from treasury.lake import Lake
from treasury.statements import TABLES
from treasury.statements.explorer.wallet_place import WalletPlace
from treasury.statements.store.wallet_evidence import WalletEvidence, add_export

OWN: Final = "0xAA00000000000000000000000000000000000001"
SECOND: Final = "0xaa00000000000000000000000000000000000002"
OTHER: Final = "0x00000000000000000000000000000000000000bb"
NOW: Final = datetime(2026, 11, 2, 9, tzinfo=UTC)
ETHEREUM: Final = WalletPlace("ETHEREUM", OWN)
POLYGON: Final = WalletPlace("POLYGON", OWN)
PLAIN: Final = "hash,time,from,to,asset,amount"


def listed(**changed: str) -> dict[str, str]:
    """Return a list's row, by default a transaction of the wallet: 0.5 out, 0.0021 for gas."""
    cells = {
        "hash": "0x01",
        "time": "2026-10-05 09:31:11",
        "from": OWN,
        "to": OTHER,
        "contract": "",
        "came": "0",
        "went": "0.5",
        "fee": "0.0021",
        "status": "",
        "error": "",
    }
    return cells | changed


def list_text(*rows: dict[str, str], coin: str = "ETH", hash_head: str = "Transaction Hash") -> str:
    """Return a list in the export format of Etherscan and Polygonscan, every cell in quotes."""
    head = (
        hash_head, "Blockno", "UnixTimestamp", "DateTime (UTC)", "From", "To", "ContractAddress",
        f"Value_IN({coin})", f"Value_OUT({coin})", f"CurrentValue @ $1841.23/{coin}",
        f"TxnFee({coin})", "TxnFee(USD)", f"Historical $Price/{coin}", "Status", "ErrCode",
        "Method",
    )  # fmt: skip
    lines: list[Sequence[str]] = [head]
    for row in rows:
        moment = datetime.fromisoformat(row["time"]).replace(tzinfo=UTC)
        lines.append(
            (
                row["hash"], "21000001", str(int(moment.timestamp())), row["time"], row["from"],
                row["to"], row["contract"], row["came"], row["went"], "920.61", row["fee"], "3.86",
                "1838.1", row["status"], row["error"], "Transfer",
            )
        )  # fmt: skip
    return "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)


def written(folder: Path, content: str, name: str = "list.csv") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


class Chain:
    """A lake with a wallet's exports; `add` writes a file and stores it as evidence of October."""

    def __init__(self, folder: Path, place: WalletPlace = ETHEREUM) -> None:
        self.folder, self.place = folder, place
        folder.mkdir(parents=True, exist_ok=True)
        self.lake = Lake(folder / "workspace", TABLES)

    def add(
        self, content: str, name: str = "list.csv", *, place: WalletPlace | None = None, **how: Any
    ) -> WalletEvidence:
        october = {
            "first": datetime(2026, 9, 30, 22, tzinfo=UTC),
            "last": datetime(2026, 10, 31, 23, tzinfo=UTC),
        }
        path = written(self.folder, content, name)
        return add_export(self.lake, path, place or self.place, NOW, by="anna", **(october | how))

    def rows(self, table: str) -> list[dict[str, Any]]:
        query = f"SELECT * FROM {table} WHERE vanished_at IS NULL ORDER BY ALL"
        rows: list[dict[str, Any]] = self.lake.snapshot().sql(query).to_pylist()
        return rows
