"""Writes what explorers export of the company's wallets: lists of transactions, and of tokens.

The company's wallets pay gas for what they send: the coins of off-ramps, transfers that they submit
themselves, and each month a handful of transactions that belong to nothing. All follows from the
seed and from what the services record; nothing is drawn, so that the story stays as it is.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.sandbox.state.clock import FIRST_DAY, at
from treasury.sandbox.state.shapes import CompanyWallet, RampRequest, Transfer, decode
from treasury.sandbox.story.world import World

__all__ = ["ExplorerFile", "WalletBalance", "explorer_files", "wallet_balances"]

_COINS: Final = {"ETHEREUM": "ETH", "BASE": "ETH", "POLYGON": "POL"}
"""The native coins of the chains that have an explorer here."""
_HELD: Final = {"ETH": Decimal("2.5"), "POL": Decimal(480)}
"""What a wallet has of its native coin before the first day."""
_PLANTED: Final = {"ETH": Decimal("0.002"), "POL": Decimal("0.25")}
"""What each transaction pays in the scenario `gas`, so that every sum is known beforehand."""
_PRICES: Final = {"ETH": 41, "POL": 380}
"""Highest price of gas in the coin's billionths."""
_MONTHLY: Final = (
    # day, what happens
    (2, "top-up"), (5, "approval"), (12, "failure"), (19, "to itself"), (26, "payment"),
)  # fmt: skip
_AMOUNTS: Final = {"ETH": Decimal("0.05"), "POL": Decimal("12.5")}
_LIST: Final = (
    "{hash}", "Blockno", "UnixTimestamp", "DateTime (UTC)", "From", "To", "ContractAddress",
    "Value_IN({coin})", "Value_OUT({coin})", "CurrentValue @ $0/{coin}", "TxnFee({coin})",
    "TxnFee(USD)", "Historical $Price/{coin}", "Status", "ErrCode", "Method",
)  # fmt: skip
_TOKENS: Final = (
    "Transaction Hash", "Blockno", "UnixTimestamp", "DateTime (UTC)", "From", "To", "TokenValue",
    "USDValueDayOfTx", "ContractAddress", "TokenName", "TokenSymbol",
)  # fmt: skip
_ZERO: Final = Decimal(0)


class ExplorerFile(msgspec.Struct, frozen=True):
    """An export of a wallet; `tokens` are those that it shows, none where it is of native coin."""

    chain: str
    address: str
    name: str
    content: str
    tokens: tuple[str, ...] = ()


class WalletBalance(msgspec.Struct, frozen=True):
    """What a wallet held of a coin or token at the end of a day."""

    chain: str
    address: str
    asset: str
    balance: Decimal


class _Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction on the chain: native coin, and at most one transfer of a token.

    The fee is paid by whoever sent it; `token_sender` moves the token.
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


def explorer_files(world: World) -> list[ExplorerFile]:
    """Both exports of each wallet whose chain has an explorer, up to now."""
    files = []
    for wallet in _wallets(world):
        coin, whole = _COINS[wallet.chain], _transactions(world, wallet)
        stem = f"{wallet.chain}_{wallet.address}"
        name = f"{stem}_transactions.csv"
        files.append(ExplorerFile(wallet.chain, wallet.address, name, _list(wallet, coin, whole)))
        tokens = tuple(sorted({each.token for each in whole if each.token}))
        if tokens:
            content = _token_list(world, wallet, whole)
            name = f"{stem}_tokens.csv"
            files.append(ExplorerFile(wallet.chain, wallet.address, name, content, tokens))
    return files


def wallet_balances(world: World, day: date) -> list[WalletBalance]:
    """What the wallets held at the end of a day, of native coin and of tokens."""
    end = at(day + timedelta(1), "00:00")
    balances = []
    for wallet in _wallets(world):
        coin, whole = _COINS[wallet.chain], _transactions(world, wallet)
        moves = {coin: [_native_change(wallet, each) for each in whole]}
        for token in sorted({each.token for each in whole if each.token}):
            moves[token] = [
                _token_change(wallet, each) if each.token == token else _ZERO for each in whole
            ]
        for asset, changes in moves.items():
            by_then = [change for change, each in zip(changes, whole, strict=True) if each.at < end]
            opening = _HELD.get(asset) or _least_opening(changes)
            balance = opening + sum(by_then, _ZERO)
            balances.append(WalletBalance(wallet.chain, wallet.address, asset, balance))
    return balances


def _wallets(world: World) -> list[CompanyWallet]:
    return [wallet for wallet in world.cast.wallets if wallet.chain in _COINS]


def _native_change(wallet: CompanyWallet, each: _Transaction) -> Decimal:
    """What a transaction changes of a wallet's native coin, its fee included."""
    sent = each.sender == wallet.address
    received = each.receiver == wallet.address
    moved = _ZERO if each.failed else each.native
    return (moved if received else _ZERO) - (moved + each.fee if sent else _ZERO)


def _token_change(wallet: CompanyWallet, each: _Transaction) -> Decimal:
    came = each.tokens if each.token_receiver == wallet.address else _ZERO
    return came - (each.tokens if each.token_sender == wallet.address else _ZERO)


def _least_opening(changes: Iterable[Decimal]) -> Decimal:
    """What a wallet must have had, in thousands, so that it never held less than nothing."""
    balance = lowest = _ZERO
    for change in changes:
        balance += change
        lowest = min(lowest, balance)
    return Decimal(int(-lowest) // 1000 * 1000 + 1000)


# What happened


def _transactions(world: World, wallet: CompanyWallet) -> list[_Transaction]:
    """Everything of a wallet on its chain in the order in which it happened."""
    happened = [
        *_of_requests(world, wallet),
        *_of_transfers(world, wallet),
        *_of_months(world, wallet),
    ]
    now = world.clock.now
    return sorted((each for each in happened if each.at <= now), key=lambda each: each.at)


def _details(world: World, kind: str) -> Iterator[str]:
    query = "select id from records where kind = ? order by position"
    for (record_id,) in world.store.db.execute(query, (kind,)).fetchall():
        detail = world.store.detail(kind, record_id)
        assert detail is not None
        yield detail


def _of_requests(world: World, wallet: CompanyWallet) -> Iterator[_Transaction]:
    """Coins that the provider delivered for an on-ramp; those that the wallet sent off-ramp."""
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
        is_native = asset == _COINS[wallet.chain]
        yield _Transaction(
            hash=transaction, at=_event_time(request, kind) - timedelta(minutes=3), fee=fee,
            sender=sides[0], receiver=sides[1] if is_native else _contract(asset),
            native=request.crypto_amount if is_native else _ZERO,
            token="" if is_native else asset, tokens=_ZERO if is_native else request.crypto_amount,
            token_sender="" if is_native else sides[0],
            token_receiver="" if is_native else sides[1],
        )  # fmt: skip


def _event_time(request: RampRequest, kind: str) -> datetime:
    return next(
        datetime.fromisoformat(event.created_at)
        for event in reversed(request.events)
        if event.event_type == kind
    )


def _of_transfers(world: World, wallet: CompanyWallet) -> Iterator[_Transaction]:
    """Transfers to the wallet from the accounts' wallets, by a permit that it submits itself."""
    places = {account: address for account, (_, address) in world.cast.wallet_ids.items()}
    for detail in _details(world, "transfer"):
        transfer = decode(detail, Transfer)
        transaction = transfer.transaction_hash
        if transfer.destination_address != wallet.address or transfer.status != "COMPLETED":
            continue
        if not transaction or transfer.fiat_origin is not None:
            continue
        origin = places[transfer.sender_account_id]
        yield _Transaction(
            hash=transaction, at=datetime.fromisoformat(transfer.updated_at),
            sender=wallet.address, receiver=_contract(transfer.asset),
            fee=_fee(world, wallet, transaction), token=transfer.asset,
            method="Transfer With Permit", tokens=transfer.amount, token_sender=origin,
            token_receiver=wallet.address,
        )  # fmt: skip


def _of_months(world: World, wallet: CompanyWallet) -> Iterator[_Transaction]:
    """What the wallet does each month besides: some of it moves nothing, and pays all the same."""
    coin = _COINS[wallet.chain]
    somebody = f"0x{_digest('exchange', wallet.chain).hex()[:40]}"
    month = FIRST_DAY
    while month <= world.clock.today:
        for day, kind in _MONTHLY:
            transaction = f"0x{_digest(wallet.address, str(month), kind).hex()}"
            is_out = kind != "top-up"
            yield _Transaction(
                hash=transaction, at=at(month.replace(day=day), "14:20"),
                sender=wallet.address if is_out else somebody,
                receiver=wallet.address if kind in {"top-up", "to itself"} else somebody,
                native=_ZERO if kind == "approval" else _AMOUNTS[coin],
                fee=_fee(world, wallet, transaction) if is_out else _ZERO,
                failed=kind == "failure", method="Approve" if kind == "approval" else "Transfer",
            )  # fmt: skip
        month = (month + timedelta(days=31)).replace(day=1)


def _fee(world: World, wallet: CompanyWallet, transaction: str) -> Decimal:
    """What a transaction pays: gas that it uses times a price, to the last of 18 decimals."""
    coin = _COINS[wallet.chain]
    if world.has_planted_gas:
        return _PLANTED[coin]
    drawn = _digest("gas", transaction)
    used = 21_000 + int.from_bytes(drawn[:2], "big")
    price = 1 + int.from_bytes(drawn[2:10], "big") % (_PRICES[coin] * 10**9)
    return Decimal(used * price).scaleb(-18)


def _digest(*subjects: str) -> bytes:
    return hashlib.sha256("/".join(subjects).encode()).digest()


def _contract(token: str) -> str:
    return f"0x{_digest('contract', token).hex()[:40]}"


# The files


def _list(wallet: CompanyWallet, coin: str, whole: Sequence[_Transaction]) -> str:
    """The list of transactions, by Etherscan's headings, or Polygonscan's."""
    heading = "Txhash" if coin == "POL" else "Transaction Hash"
    rows = [tuple(name.format(hash=heading, coin=coin) for name in _LIST)]
    for each in whole:
        if wallet.address not in (each.sender, each.receiver):
            continue
        came = each.native if each.receiver == wallet.address else _ZERO
        went = each.native if each.sender == wallet.address else _ZERO
        fee = each.fee or Decimal("0.000021")  # of what somebody else sent, who paid it
        rows.append(
            (
                *_head(each), each.sender, each.receiver, "", f"{came:f}", f"{went:f}", "0",
                f"{fee:f}", "0", "0", "Error(0)" if each.failed else "",
                "Reverted" if each.failed else "", each.method,
            )
        )  # fmt: skip
    return _csv(rows)


def _token_list(world: World, wallet: CompanyWallet, whole: Sequence[_Transaction]) -> str:
    rows: list[tuple[str, ...]] = [_TOKENS]
    labels = {coin.currency: coin.label for coin in world.cast.crypto}
    rows += [
        (
            *_head(each), each.token_sender, each.token_receiver, f"{each.tokens:f}", "0",
            _contract(each.token), labels.get(each.token, each.token), each.token,
        )
        for each in whole
        if wallet.address in (each.token_sender, each.token_receiver)
    ]  # fmt: skip
    return _csv(rows)


def _head(each: _Transaction) -> tuple[str, ...]:
    seconds = int(each.at.timestamp())
    return each.hash, str(seconds // 12), str(seconds), f"{each.at:%Y-%m-%d %H:%M:%S}"


def _csv(rows: Iterable[Sequence[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return written.getvalue()
