"""The accounting policy for coins that `policy.toml` proposes.

Two people put the proposal in force. The keys below [coins] have no defaults (docs/coins.md shows
an example), because the company and its auditor choose the measurement. A coin that is not named is
disclosed but not posted. With `pool = "wallet"`, each opening names its wallet: the id of a
custodial account, or the address of a company wallet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import is_exact_in, written_amount
from treasury.core.toml_text import at_key

_REPORTING: Final = "EUR"
"""The currency of carrying amounts."""
_CHOICES: Final = {
    "measurement": ("cost", "reserves", "profit_and_loss"),
    "cost_formula": ("weighted_average", "fifo"),
    "reversal": ("none", "next_month"),
}
_POOLS: Final = ("entity", "wallet")
_COIN: Final = re.compile(r"[A-Z0-9]{2,20}", re.ASCII)
_DAY: Final = timedelta(days=1)


class CoinMeasurement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a coin is measured: its carrying amount, cost formula and reversal of differences.

    `measurement`: `cost` means the lower of cost and value; `reserves` and `profit_and_loss` mean
    value, and name where the difference is posted. `reversal`: with `none`, the measured amount
    becomes the carrying amount; with `next_month`, the difference is reversed on the first of the
    next month.
    """

    measurement: Literal["cost", "reserves", "profit_and_loss"] | None = None
    cost_formula: Literal["weighted_average", "fifo"] | None = None
    reversal: Literal["none", "next_month"] | None = None


class CoinOpening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A coin's opening quantity and carrying amount in a pool, at a month's end."""

    coin: str
    day: date
    quantity: Decimal
    carrying_amount: Decimal
    wallet: str = ""


class CoinPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measured coins and their pools; a coin that is not named is only disclosed."""

    pool: Literal["entity", "wallet"] | None = None
    measured: dict[str, CoinMeasurement] = {}
    openings: tuple[CoinOpening, ...] = ()


def with_coin_amounts(coins: Any) -> None:
    """Replace the amounts of openings by exact Decimals; raise InputError naming the key."""
    openings = coins.get("openings", []) if isinstance(coins, dict) else []
    for place, opening in enumerate(openings if isinstance(openings, list) else ()):
        for name in ("quantity", "carrying_amount"):
            if isinstance(opening, dict) and name in opening:
                key = f"coins.openings[{place}].{name}"
                opening[name] = written_amount(opening[name], name=key)


def check_coins(coins: CoinPolicy | None, text: str) -> None:
    """Raise InputError for an invalid coin name, a missing choice or an invalid opening."""
    if coins is None:
        return
    for coin, terms in coins.measured.items():
        if not _COIN.fullmatch(coin):
            raise InputError(f"coins.measured: {coin!r:.40} is not a coin", do="name it as USDC")
        for name, choices in _CHOICES.items():
            _require(getattr(terms, name), f"coins.measured.{coin}", name, choices)
    if coins.measured:
        _require(coins.pool, "coins", "pool", _POOLS)
    days: dict[str, date] = {}
    pools: set[tuple[str, str]] = set()
    for place, opening in enumerate(coins.openings):
        problem = _problem(coins, opening) or _beside(opening, days, pools)
        if problem:
            with at_key(text, "coins", "openings", place):
                raise InputError(
                    f"opening {place + 1} of [[coins.openings]] {problem}",
                    do="correct that opening",
                )


def _require(value: str | None, table: str, name: str, choices: Iterable[str]) -> None:
    if value is None:
        raise InputError(
            f"{table} does not set {name}, which has no default",
            do=f"add {name} = {' or '.join(map(repr, choices))}, as agreed with your auditor",
        )


def _beside(opening: CoinOpening, days: dict[str, date], pools: set[tuple[str, str]]) -> str:
    """Return how an opening contradicts an earlier one; empty if it does not."""
    pool = opening.coin, opening.wallet.lower()
    if pool in pools:
        return f"opens {opening.coin} a second time"
    pools.add(pool)
    if days.setdefault(opening.coin, opening.day) != opening.day:
        return f"opens {opening.coin} on a different day from its first opening"
    return ""


def _problem(coins: CoinPolicy, opening: CoinOpening) -> str:
    """Return why an opening is invalid; empty if it is valid."""
    if opening.coin not in coins.measured:
        return f"is for {opening.coin!r:.40}, which [coins.measured] does not name"
    if (opening.day + _DAY).day != 1:
        return f"is dated {opening.day}, which is not the last day of a month"
    if opening.quantity <= 0:
        return f"has the quantity {opening.quantity:f}, which is not above 0"
    if opening.carrying_amount < 0 or not is_exact_in(opening.carrying_amount, _REPORTING):
        amount = f"{opening.carrying_amount:f}"
        return f"has the carrying amount {amount}, not 0 or more whole cents of {_REPORTING}"
    if coins.pool == "wallet" and not opening.wallet:
        return "names no wallet, but pools are wallets"
    if coins.pool == "entity" and opening.wallet:
        return "names a wallet, but the pool is the entity"
    return ""
