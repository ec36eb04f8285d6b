"""The tables of company wallets: evidence, movements on the chain, and the gas that was paid."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from treasury.lake import AMOUNT, BOOL, INSTANT, TEXT, Column, Table

WALLET_EVIDENCE: Final = Table(
    name="wallet_evidence",
    key=("evidence_id",),
    title="What was added of company wallets: spans that exports cover, balances that were stated",
    columns=(
        Column("evidence_id", TEXT, "our id, the same when it is added again"),
        Column("kind", TEXT, "export or balance"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("address", TEXT, "the wallet"),
        Column("asset", TEXT, "what moved, or of what the balance is"),
        Column("covers_from", INSTANT, "an export has every movement of the asset from then"),
        Column("covers_to", INSTANT, "to then, which is not covered itself"),
        Column("observed_at", INSTANT, "when the balance was the wallet's"),
        Column("balance", AMOUNT, "what it held", unit="`asset`"),
        Column("source", TEXT, "where it was read, as whoever added it says"),
        Column("stated_by", TEXT, "who added it"),
        Column("file_name", TEXT, "the export"),
        Column("file_sha256", TEXT, "SHA-256 of its bytes"),
        Column("shows_gas", BOOL, "whether the export names the gas of its transactions"),
    ),
)
WALLET_MOVEMENTS: Final = Table(
    name="wallet_movements",
    key=("movement_id",),
    title="Movements of company wallets on the chain, from explorer exports",
    columns=(
        Column("movement_id", TEXT, "our id, the same when the movement is read again"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("transaction_hash", TEXT, "the transaction"),
        Column("moved_at", INSTANT, "when it was on the chain"),
        Column("from_address", TEXT, "who sent"),
        Column("to_address", TEXT, "who received"),
        Column("asset", TEXT, "what moved"),
        Column("amount", AMOUNT, "how much of it, never negative", unit="`asset`"),
        Column("file_name", TEXT, "the export it was read from"),
    ),
)
WALLET_GAS: Final = Table(
    name="wallet_gas",
    key=("payment_id",),
    title="Gas that company wallets paid, once a transaction, from explorer exports",
    columns=(
        Column("payment_id", TEXT, "our id, the same whichever export shows the transaction"),
        Column("chain", TEXT, "the chain, as the service names it"),
        Column("transaction_hash", TEXT, "the transaction"),
        Column("paid_at", INSTANT, "when it was on the chain"),
        Column("payer_address", TEXT, "the wallet that sent it, and paid"),
        Column("coin", TEXT, "the chain's native coin"),
        Column("amount", AMOUNT, "what it paid for gas, never negative", unit="`coin`"),
        Column("published", TEXT, "the amount as it stands in the export"),
        Column("failed", BOOL, "whether the transaction failed: it moved nothing and paid its gas"),
        Column("file_name", TEXT, "the export it was read from"),
    ),
)
WALLET_TABLES: Final = (WALLET_EVIDENCE, WALLET_MOVEMENTS, WALLET_GAS)


def evidence_key(*parts: str) -> str:
    """An id of ours that the same facts give again."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]
