"""Measured coins in double entry: the postings of each movement of a pool, in one currency.

The role `coins` has the carrying amount. An acquisition and the proceeds of a disposal are posted
against `conversion` (or a transfer's role); the difference from the carrying amount is a gain or a
loss. Gas is a disposal; its proceeds are the expense `gas`. The fee of a request is not part of
these postings, but posted to `ramp fees`. A coin with a problem is left out and listed, because a
wrong entry is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.close.ledger.book_entries import BookEntry, BookLeg
from treasury.close.valuation.coins.coin_accounts import CoinAccounts
from treasury.close.valuation.coins.coin_value import REPORTING
from treasury.core.money import total, totals
from treasury.core.text import clean

_WORDS: Final = {
    "acquired": "{coin} acquired: {reference}",
    "disposed": "{coin} disposed of: {reference}",
    "reversed": "{coin}: the difference of the month before taken back",
    "remeasured": "{coin} measured at the month's end",
}


class CoinPrice(msgspec.Struct, frozen=True):
    """The value of a coin at the month's end, in the reporting currency."""

    coin: str
    on: date
    rate: Decimal
    currency: str = REPORTING


class CoinBooks(msgspec.Struct, frozen=True):
    """The postings of a month's coins: entries, balances at both ends, and prices.

    `opening` and `closing` are the carrying amounts by coin. `notes` say why a coin is not posted.
    """

    entries: tuple[BookEntry, ...] = ()
    opening: tuple[BookLeg, ...] = ()
    closing: tuple[BookLeg, ...] = ()
    prices: tuple[CoinPrice, ...] = ()
    notes: tuple[str, ...] = ()


def coin_books(coins: CoinAccounts | None) -> CoinBooks:
    """Return the book entries of the measured coins; empty if no coins were measured."""
    if coins is None:
        return CoinBooks()
    rows = coins.measured.arrow.to_pylist()
    wrong = {row["coin"]: row for row in rows if row["problem"]}
    posted = [row for row in rows if row["coin"] not in wrong]
    names = sorted({row["coin"] for row in posted})
    opening, closing = (_carried(posted, side) for side in ("opening", "closing"))
    first, last = coins.month.previous.last, coins.month.last
    entries = [
        BookEntry(
            f"opening:coins:{leg.of}",
            first,
            f"Opening carrying amount of {leg.of}",
            leg.against("opening"),
        )
        for leg in opening
        if leg.amount
    ]
    for movement in coins.movements.arrow.to_pylist():
        if movement["coin"] in names:
            entries += _entries(movement)
    prices = {
        (row["coin"], last): CoinPrice(row["coin"], last, row["rate"])
        for row in posted
        if row["rate"] is not None
    }
    return CoinBooks(
        entries=tuple(entries),
        opening=opening,
        closing=closing,
        prices=tuple(prices.values()),
        notes=tuple(
            f"{coin} is not posted: {clean(row['problem'])}" for coin, row in sorted(wrong.items())
        ),
    )


def _carried(rows: list[dict[str, Any]], name: str) -> tuple[BookLeg, ...]:
    """Return the carrying amount of each coin over all its pools, at the month's start or end."""
    sums = totals((row["coin"], row[name]) for row in rows)
    return tuple(BookLeg("coins", REPORTING, sums[coin], coin) for coin in sorted(sums))


def _entries(movement: Mapping[str, Any]) -> Iterator[BookEntry]:
    """Yield the entry of a movement; zero amounts and moves between pools of a coin have none."""
    coin, carrying = movement["coin"], movement["carrying_amount"]
    legs = [BookLeg("coins", REPORTING, carrying, coin)]
    match movement["kind"]:
        case "transferred":
            return
        case "disposed":
            legs.append(BookLeg(movement["contra"], REPORTING, movement["proceeds"]))
            gain = movement["gain"].copy_negate()
            legs.append(BookLeg("coin gains" if gain < 0 else "coin losses", REPORTING, gain))
        case _:
            legs.append(BookLeg(movement["contra"], REPORTING, carrying.copy_negate()))
    moved = tuple(leg for leg in legs if leg.amount)
    if not moved:
        return
    assert not total(leg.amount for leg in moved), movement["event_id"]
    yield BookEntry(
        f"coins:{movement['event_id']}",
        movement["day"],
        clean(_WORDS[movement["kind"]].format(coin=coin, reference=movement["reference"])),
        moved,
        (movement["source_id"],) if movement["source_id"] else (),
    )
