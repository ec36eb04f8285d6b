"""Tables of company wallets: evidence, movements on the chain, and gas payments."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from treasury.core.tables.column_types import columns_of
from treasury.lake import Table

WALLET_EVIDENCE: Final = Table(
    name="wallet_evidence",
    key=("evidence_id",),
    title="Evidence of company wallets: periods that exports cover, and stated balances",
    columns=columns_of("treasury.statements", "wallet_evidence"),
)
WALLET_MOVEMENTS: Final = Table(
    name="wallet_movements",
    key=("movement_id",),
    title="Movements of company wallets on the chain, from explorer exports",
    columns=columns_of("treasury.statements", "wallet_movements"),
)
WALLET_GAS: Final = Table(
    name="wallet_gas",
    key=("payment_id",),
    title="Gas that company wallets paid, one row per transaction, from explorer exports",
    columns=columns_of("treasury.statements", "wallet_gas"),
)
WALLET_TABLES: Final = (WALLET_EVIDENCE, WALLET_MOVEMENTS, WALLET_GAS)


def evidence_key(*parts: str) -> str:
    """Return a hash of the parts: equal facts get equal ids."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]
