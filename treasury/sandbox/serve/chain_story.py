"""The blockchain transactions of the company's wallets, with gas fees.

A wallet pays gas for the transactions that it sends: coins for off-ramps, transfers that it submits
itself, and some unrelated transactions each month. They are derived from the seed and the services'
records, without drawing from the story's random streams, so they do not change the story.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.sandbox.state.clock import FIRST_DAY, at
from treasury.sandbox.state.shapes import CompanyWallet, RampRequest, Transfer, decode
from treasury.sandbox.story.world import World

NATIVE_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "POLYGON": "POL"}
"""Native coins of the chains that have an explorer in the sandbox."""
HELD: Final = {"ETH": Decimal("2.5"), "POL": Decimal(480)}
"""A wallet's initial balance of native coin."""
_PLANTED: Final = {"ETH": Decimal("0.002"), "POL": Decimal("0.25")}
"""Gas fee of each transaction in the scenario `gas`, fixed so that every sum is known."""
_PRICES: Final = {"ETH": 41, "POL": 380}
"""Maximum gas price, in billionths of the coin."""
_MONTHLY: Final = (
    # The day of the month and the kind of each transaction.
    (2, "top-up"), (5, "approval"), (12, "failure"), (19, "to itself"), (26, "payment"),
)  # fmt: skip
_AMOUNTS: Final = {"ETH": Decimal("0.05"), "POL": Decimal("12.5")}
_ZERO: Final = Decimal(0)


class ChainTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction on the chain: an amount of native coin, and at most one token transfer.

    The sender pays the fee; `token_sender` moves the token.
    """

    hash: str
    at: datetime
    sender: str
    receiver: str
    native: Decimal = _ZERO
    fee: Decimal = _ZERO
    failed: bool = False
    method: str = "Transfer"
    token: str = ""
    tokens: Decimal = _ZERO
    token_sender: str = ""
    token_receiver: str = ""

    def native_change(self, address: str) -> Decimal:
        """Return the change of a wallet's native coin, including the fee."""
        moved = _ZERO if self.failed else self.native
        came = moved if self.receiver == address else _ZERO
        return came - (moved + self.fee if self.sender == address else _ZERO)

    def token_change(self, address: str, token: str) -> Decimal:
        """Return the change of a wallet's token balance."""
        if self.token != token:
            return _ZERO
        came = self.tokens if self.token_receiver == address else _ZERO
        return came - (self.tokens if self.token_sender == address else _ZERO)


def chain_transactions(world: World, wallet: CompanyWallet) -> list[ChainTransaction]:
    """Return all transactions of a wallet on its chain until now, oldest first."""
    happened = [
        *request_transactions(world, wallet),
        *transfer_transactions(world, wallet),
        *monthly_transactions(world, wallet),
    ]
    by_now = (each for each in happened if each.at <= world.clock.now)
    return sorted(by_now, key=lambda each: each.at)


def _details(world: World, kind: str) -> Iterator[str]:
    query = "select id from records where kind = ? order by position"
    for (record_id,) in world.store.db.execute(query, (kind,)).fetchall():
        detail = world.store.detail(kind, record_id)
        assert detail is not None
        yield detail


def request_transactions(world: World, wallet: CompanyWallet) -> Iterator[ChainTransaction]:
    """Return the transactions of ramp requests: coins received on-ramp and sent off-ramp."""
    for detail in _details(world, "ramp_request"):
        request = decode(detail, RampRequest)
        transaction, asset = request.blockchain_transaction_hash, request.crypto_currency.currency
        deposit = world.cast.deposit_wallets.get(wallet.chain)
        if not transaction or request.crypto_currency.chain != wallet.chain or deposit is None:
            continue
        sides, kind, fee = (deposit.address, wallet.address), "COMPLETED", _ZERO
        if request.ramp_type != "ON_RAMP":
            sides, kind = (wallet.address, deposit.address), "TX_HASH_ADDED"
            fee = _fee(world, wallet, transaction)
        elif request.company_wallet is None or request.company_wallet.address != wallet.address:
            continue
        moment = next(
            datetime.fromisoformat(event.created_at)
            for event in reversed(request.events)
            if event.event_type == kind
        )
        is_native = asset == NATIVE_COINS[wallet.chain]
        yield ChainTransaction(
            hash=transaction, at=moment - timedelta(minutes=3), fee=fee,
            sender=sides[0], receiver=sides[1] if is_native else token_contract(asset),
            native=request.crypto_amount if is_native else _ZERO,
            token="" if is_native else asset, tokens=_ZERO if is_native else request.crypto_amount,
            token_sender="" if is_native else sides[0],
            token_receiver="" if is_native else sides[1],
        )  # fmt: skip


def transfer_transactions(world: World, wallet: CompanyWallet) -> Iterator[ChainTransaction]:
    """Return the completed transfers from accounts to the wallet, which the wallet submits."""
    places = {account: address for account, (_, address) in world.cast.wallet_ids.items()}
    for detail in _details(world, "transfer"):
        transfer = decode(detail, Transfer)
        transaction = transfer.transaction_hash
        if transfer.destination_address != wallet.address or transfer.status != "COMPLETED":
            continue
        if not transaction or transfer.fiat_origin is not None:
            continue
        origin = places[transfer.sender_account_id]
        yield ChainTransaction(
            hash=transaction, at=datetime.fromisoformat(transfer.updated_at), sender=wallet.address,
            receiver=token_contract(transfer.asset), fee=_fee(world, wallet, transaction),
            token=transfer.asset, method="Transfer With Permit", tokens=transfer.amount,
            token_sender=origin, token_receiver=wallet.address,
        )  # fmt: skip


def monthly_transactions(world: World, wallet: CompanyWallet) -> Iterator[ChainTransaction]:
    """Return a wallet's unrelated transactions, some each month; some of them only pay gas."""
    coin = NATIVE_COINS[wallet.chain]
    somebody = f"0x{_digest('exchange', wallet.chain).hex()[:40]}"
    month = FIRST_DAY
    while month <= world.clock.today:
        for day, kind in _MONTHLY:
            transaction = f"0x{_digest(wallet.address, str(month), kind).hex()}"
            is_out = kind != "top-up"
            yield ChainTransaction(
                hash=transaction, at=at(month.replace(day=day), "14:20"),
                sender=wallet.address if is_out else somebody,
                receiver=wallet.address if kind in {"top-up", "to itself"} else somebody,
                native=_ZERO if kind == "approval" else _AMOUNTS[coin],
                fee=_fee(world, wallet, transaction) if is_out else _ZERO,
                failed=kind == "failure", method="Approve" if kind == "approval" else "Transfer",
            )  # fmt: skip
        month = (month + timedelta(days=31)).replace(day=1)


def _fee(world: World, wallet: CompanyWallet, transaction: str) -> Decimal:
    """Return a transaction's fee: gas times price, or the fixed fee of the scenario `gas`."""
    coin = NATIVE_COINS[wallet.chain]
    if world.has_planted_gas:
        return _PLANTED[coin]
    drawn = _digest("gas", transaction)
    used = 21_000 + int.from_bytes(drawn[:2], "big")
    price = 1 + int.from_bytes(drawn[2:10], "big") % (_PRICES[coin] * 10**9)
    return Decimal(used * price).scaleb(-18)


def _digest(*subjects: str) -> bytes:
    return hashlib.sha256("/".join(subjects).encode()).digest()


def token_contract(token: str) -> str:
    """Return the address of a token's contract."""
    return f"0x{_digest('contract', token).hex()[:40]}"
