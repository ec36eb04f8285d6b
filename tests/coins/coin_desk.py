"""The practice company with measured coins: terms, openings, rates and wallet evidence."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.actions.policies.policy import load_policy
from treasury.close.closing import Closing, Rolled, closing_of
from treasury.close.valuation.coins.agreed_measurement import Measurement, coin_openings
from treasury.close.valuation.coins.coin_accounts import CoinAccounts, CoinHistory
from treasury.journal import Actor, Journal
from treasury.workspace import Workspace

__all__ = [
    "ANNA",
    "BERT",
    "OPENINGS",
    "agreed",
    "copied",
    "evidenced",
    "history_of",
    "holders",
    "policy_text",
    "pool_of",
    "under",
]  # fmt: skip

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
OTHER: Final = "0x00000000000000000000000000000000000000aa"
EURC: Final = ("ETHEREUM", "EURC", Decimal(50000))
USDC: Final = ("BASE", "USDC", Decimal(500000))
"""A company wallet's chain, its coin, and its stated balance on 30 September."""
OPENINGS: Final = {
    ("EURC", "ETHEREUM"): ("50000", "49000.00"),
    ("EURC", "Retail"): ("300000", "300000.00"),
    ("EURC", "Marketplace"): ("124846.70", "124000.00"),
    ("USDC", "BASE"): ("500000", "430000.00"),
    ("USDC", "Operations"): ("400000", "350000.00"),
    ("USDC", "Treasury reserve"): ("900000", "780000.00"),
}
"""Quantity and carrying amount on 30 September, by coin and holder."""
_REQUESTS: Final = """
    SELECT * FROM ramp_requests
    WHERE crypto_currency = $coin AND blockchain_transaction_hash IS NOT NULL
        AND (completed_at IS NULL OR completed_at >= TIMESTAMPTZ '2026-09-30 22:00:00+00')
    ORDER BY created_at, id"""
_SENT: Final = """
    SELECT transaction_hash, updated_at, asset, amount FROM transfers
    WHERE status = 'COMPLETED' AND asset = $coin AND lower(destination_address) = $address
        AND updated_at >= TIMESTAMPTZ '2026-09-30 22:00:00+00'
    ORDER BY updated_at, id"""


def copied(workspace: Workspace, folder: Path) -> Workspace:
    shutil.copytree(workspace.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    return Workspace(folder)


def holders(desk: Workspace) -> dict[str, str]:
    """Return the ids of accounts by name, and the addresses of company wallets by chain."""
    named = desk.sql("SELECT id, name FROM accounts").arrow.to_pylist()
    accounts = {row["name"]: row["id"] for row in named}
    wallets = desk.sql(
        "SELECT DISTINCT company_wallet_chain AS chain, lower(company_wallet_address) AS address"
        " FROM ramp_requests WHERE company_wallet_address IS NOT NULL"
    ).arrow.to_pylist()
    return accounts | {row["chain"]: row["address"] for row in wallets}


def policy_text(
    desk: Workspace,
    measured: dict[str, tuple[str, str, str]],
    pool: str = "wallet",
    openings: dict[tuple[str, str], tuple[str, str]] | None = None,
) -> str:
    """Return a policy's `[coins]`: measurement, formula, reversal and openings of each coin."""
    lines = ["[coins]", f'pool = "{pool}"']
    for coin, terms in measured.items():
        named = zip(("measurement", "cost_formula", "reversal"), terms, strict=True)
        lines += [f"[coins.measured.{coin}]", *(f'{name} = "{value}"' for name, value in named)]
    names = holders(desk)
    for (coin, holder), (quantity, amount) in (OPENINGS if openings is None else openings).items():
        if coin in measured:
            lines += [
                "[[coins.openings]]",
                f'coin = "{coin}"',
                "day = 2026-09-30",
                f'quantity = "{quantity}"',
                f'carrying_amount = "{amount}"',
            ]
            lines += [f'wallet = "{names[holder]}"'] if holder else []
    return "\n".join([*lines, ""])


def agreed(desk: Workspace, text: str) -> Workspace:
    """Write the policy, propose its terms as anna, and accept them as bert."""
    (desk.folder / "policy.toml").write_text(text, "utf-8")
    desk.measurement.propose("as agreed with the auditor", actor=ANNA)
    desk.measurement.accept(actor=BERT)
    return desk


def movement(desk: Workspace, row: dict[str, Any], address: str) -> dict[str, str]:
    """Return the export's row for a request, five minutes before it completed or last changed."""
    is_on_ramp = row["ramp_type"] == "ON_RAMP"
    moved = (row["completed_at"] or row["updated_at"]) - timedelta(minutes=5)
    return {
        "hash": row["blockchain_transaction_hash"],
        "time": moved.isoformat(),
        "from": OTHER if is_on_ramp else address,
        "to": address if is_on_ramp else OTHER,
        "asset": row["crypto_currency"],
        "amount": f"{row['crypto_amount'].normalize():f}",
    }


def arrival(row: dict[str, Any], address: str) -> dict[str, str]:
    """Return the export's row for a transfer from custody to a company wallet."""
    return {
        "hash": row["transaction_hash"],
        "time": row["updated_at"].isoformat(),
        "from": OTHER,
        "to": address,
        "asset": row["asset"],
        "amount": f"{row['amount'].normalize():f}",
    }


Movements = list[dict[str, str]]


def evidenced(
    desk: Workspace,
    wallets: Iterable[tuple[str, str, Decimal]] = (EURC, USDC),
    changed: Callable[[Movements], Movements] = lambda movements: movements,
) -> Workspace:
    """Add an export and a stated balance per wallet; `changed` alters the export's rows."""
    for chain, coin, held in wallets:
        address = holders(desk)[chain]
        rows = desk.sql(_REQUESTS, {"coin": coin}).arrow.to_pylist()
        sent = desk.sql(_SENT, {"coin": coin, "address": address}).arrow.to_pylist()
        movements = changed(
            [movement(desk, row, address) for row in rows] + [arrival(row, address) for row in sent]
        )
        path = desk.folder / f"{coin}.csv"
        lines = [",".join(one.values()) for one in movements]
        path.write_text("\n".join(["hash,time,from,to,asset,amount", *lines, ""]), "utf-8")
        place = {"chain": chain, "address": address}
        desk.wallets.add_evidence(path, **place, first="2026-09-30", last="2026-11-01")
        desk.wallets.add_balance(held, coin, **place, at="2026-09-30", source="the explorer")
    return desk


def history_of(text: str, folder: Path) -> CoinHistory:
    """Return the terms and openings of a policy text, agreed in a separate journal."""
    folder.mkdir()
    (folder / "policy.toml").write_text(text, "utf-8")
    journal = Journal(folder)
    desk = Measurement(
        journal, lambda: load_policy(folder), lambda: datetime(2026, 11, 2, 8, tzinfo=UTC),
        zone=ZoneInfo("Europe/Brussels"),
    )  # fmt: skip
    desk.propose("as agreed with the auditor", actor=ANNA)
    desk.accept(actor=BERT)
    entries = journal.entries()
    return CoinHistory(measured=Measurement.in_force(entries), openings=coin_openings(entries))


def under(october: Closing, history: CoinHistory) -> Closing:
    """Return the same month's closing with these terms, without computing its inputs again."""
    return closing_of(october.r, october.zone, Rolled(coins=history))


def pool_of(coins: CoinAccounts, coin: str, pool: str = "") -> dict[str, Any]:
    """Return the row of a measured pool; by default of the one pool of a coin."""
    rows = coins.measured.arrow.to_pylist()
    (found,) = [row for row in rows if (row["coin"], row["pool"]) == (coin, pool)]
    return found
