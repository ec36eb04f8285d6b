"""Writes block explorers' exports for the company's wallets: transactions and tokens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Final

import msgspec

from treasury.sandbox.serve import chain_story
from treasury.sandbox.serve.chain_story import NATIVE_COINS, ChainTransaction, chain_transactions
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.shapes import CompanyWallet
from treasury.sandbox.story.world import World

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
    """A wallet's export; `tokens` lists the tokens in it, and is empty for a native coin export."""

    chain: str
    address: str
    name: str
    content: str
    tokens: tuple[str, ...] = ()


class WalletBalance(msgspec.Struct, frozen=True):
    """A wallet's balance of a coin or token at the end of a day."""

    chain: str
    address: str
    asset: str
    balance: Decimal


def explorer_files(world: World) -> list[ExplorerFile]:
    """Return the exports until now of each wallet on a chain that has an explorer.

    They are the transactions and, if the wallet has any, the token transfers.
    """
    files = []
    labels = {coin.currency: coin.label for coin in world.cast.crypto}
    for wallet in _wallets(world):
        coin, whole = NATIVE_COINS[wallet.chain], chain_transactions(world, wallet)
        stem = f"{wallet.chain}_{wallet.address}"
        name = f"{stem}_transactions.csv"
        files.append(ExplorerFile(wallet.chain, wallet.address, name, _list(wallet, coin, whole)))
        tokens = tuple(sorted({each.token for each in whole if each.token}))
        if tokens:
            rows = [_TOKENS] + [
                (
                    *_head(each), each.token_sender, each.token_receiver, f"{each.tokens:f}", "0",
                    chain_story.token_contract(each.token), labels.get(each.token, each.token),
                    each.token,
                )
                for each in whole
                if wallet.address in (each.token_sender, each.token_receiver)
            ]  # fmt: skip
            name = f"{stem}_tokens.csv"
            files.append(ExplorerFile(wallet.chain, wallet.address, name, _csv(rows), tokens))
    return files


def wallet_balances(world: World, day: date) -> list[WalletBalance]:
    """Return the wallets' balances of native coin and tokens at the end of a day."""
    end = at(day + timedelta(1), "00:00")
    balances = []
    for wallet in _wallets(world):
        coin, whole = NATIVE_COINS[wallet.chain], chain_transactions(world, wallet)
        moves = {coin: [each.native_change(wallet.address) for each in whole]}
        for token in sorted({each.token for each in whole if each.token}):
            moves[token] = [each.token_change(wallet.address, token) for each in whole]
        for asset, changes in moves.items():
            by_then = [change for change, each in zip(changes, whole, strict=True) if each.at < end]
            # The initial token balance is the smallest multiple of 1,000 with which it always stays
            # above 0.
            lowest = min(accumulate(changes, initial=_ZERO))
            opening = chain_story.HELD.get(asset) or Decimal(int(-lowest) // 1000 * 1000 + 1000)
            balance = opening + sum(by_then, _ZERO)
            balances.append(WalletBalance(wallet.chain, wallet.address, asset, balance))
    return balances


def _wallets(world: World) -> list[CompanyWallet]:
    return [wallet for wallet in world.cast.wallets if wallet.chain in NATIVE_COINS]


def _list(wallet: CompanyWallet, coin: str, whole: Sequence[ChainTransaction]) -> str:
    """Return the transaction list, with Etherscan's or Polygonscan's headings."""
    heading = "Txhash" if coin == "POL" else "Transaction Hash"
    rows = [tuple(name.format(hash=heading, coin=coin) for name in _LIST)]
    for each in whole:
        if wallet.address not in (each.sender, each.receiver):
            continue
        came = each.native if each.receiver == wallet.address else _ZERO
        went = each.native if each.sender == wallet.address else _ZERO
        # An explorer also shows the fee of an incoming transaction, which its sender paid.
        fee = each.fee or Decimal("0.000021")
        rows.append(
            (
                *_head(each), each.sender, each.receiver, "", f"{came:f}", f"{went:f}", "0",
                f"{fee:f}", "0", "0", "Error(0)" if each.failed else "",
                "Reverted" if each.failed else "", each.method,
            )
        )  # fmt: skip
    return _csv(rows)


def _head(each: ChainTransaction) -> tuple[str, ...]:
    seconds = int(each.at.timestamp())
    return each.hash, str(seconds // 12), str(seconds), f"{each.at:%Y-%m-%d %H:%M:%S}"


def _csv(rows: Iterable[Sequence[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return written.getvalue()
