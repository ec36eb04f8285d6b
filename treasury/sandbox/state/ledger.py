"""The double-entry ledger of all balances, in which each movement sums to zero per asset.

A place is a ledger account: a wallet's available or reserved part, the amounts held for an account
until it is verified, the place where euros are converted, and the world outside both services. Only
the last two may be negative. Amounts are integers in the asset's smallest unit, so that sums are
exact. All served balances are read from the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.core.money import exponent
from treasury.sandbox.state.store import Store

WORLD: Final = "world"
"""The place for the outside world: other wallets, banks, the issuers of coins."""
CONVERSION: Final = "conversion"
"""The place where euros are converted to stablecoins: one asset enters and another leaves."""

_MAKE: Final = step_sql(__package__, "ledger")
_LARGEST: Final = 2**62


def available(wallet: str) -> str:
    """Return the place for a wallet's available amounts."""
    return f"wallet/{wallet}/available"


def reserved(wallet: str) -> str:
    """Return the place for a wallet's amounts that are reserved for open operations."""
    return f"wallet/{wallet}/reserved"


def suspense(account: str) -> str:
    """Return the place for amounts held until an account is verified and has a wallet."""
    return f"account/{account}/held"


class Posting(msgspec.Struct, frozen=True):
    """An amount of an asset that moves from one place to another."""

    source: str
    target: str
    asset: str
    amount: Decimal


class Overdrawn(Exception):
    """A place holds less than the movement takes from it; the ledger is unchanged."""

    def __init__(self, place: str, asset: str) -> None:
        super().__init__(f"{place} does not hold enough {asset}")
        self.place = place
        self.asset = asset


class Ledger:
    """The ledger; a movement is written completely or not at all."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._db = store.db
        self._db.executescript(_MAKE)

    def move(self, kind: str, reference: str, at: str, *postings: Posting) -> None:
        """Write one movement.

        Raises Overdrawn if a place would become negative, and ValueError for an amount that is not
        positive, too large, or finer than the asset's smallest unit.
        """
        changes: dict[tuple[str, str], int] = defaultdict(int)
        for posting in postings:
            scaled = posting.amount.scaleb(exponent(posting.asset))
            units = int(scaled)
            if scaled != units or not 0 < units < _LARGEST:
                raise ValueError(f"{posting.amount} {posting.asset} cannot move")
            changes[posting.source, posting.asset] -= units
            changes[posting.target, posting.asset] += units
        with self._store.transaction():
            number = self._db.execute(
                "insert into movements (kind, reference, at) values (?, ?, ?)",
                (kind, reference, at),
            ).lastrowid
            for (place, asset), units in changes.items():
                (balance,) = self._db.execute(
                    "insert into balances values (?, ?, ?) on conflict (place, asset)"
                    " do update set units = units + excluded.units returning units",
                    (place, asset, units),
                ).fetchone()
                if balance < 0 and place not in {WORLD, CONVERSION}:
                    raise Overdrawn(place, asset)
                self._db.execute(
                    "insert into postings values (?, ?, ?, ?)", (number, place, asset, units)
                )

    def balance(self, place: str, asset: str) -> Decimal:
        """Return the balance of a place, with the asset's number of decimals."""
        row = self._db.execute(
            "select units from balances where place = ? and asset = ?", (place, asset)
        ).fetchone()
        return _amount(row[0] if row else 0, asset)

    def holdings(self, place: str) -> dict[str, Decimal]:
        """Return the balances of all assets that a place ever held, by asset."""
        rows = self._db.execute(
            "select asset, units from balances where place = ? order by asset", (place,)
        )
        return {asset: _amount(units, asset) for asset, units in rows}

    def is_empty(self, places: Iterable[str]) -> bool:
        """Return whether all of these places are empty."""
        return not any(any(self.holdings(place).values()) for place in places)

    def under_way(self, reference: str) -> list[tuple[str, str, Decimal]]:
        """Return the amounts that a record still reserves, each with its place and asset."""
        rows = self._db.execute(
            "select place, asset, sum(units) from postings"
            " join movements on movements.number = movement"
            " where reference = ? and place like 'wallet/%/reserved'"
            " group by place, asset having sum(units) > 0",
            (reference,),
        )
        return [(place, asset, _amount(units, asset)) for place, asset, units in rows]

    def sums(self) -> dict[str, Decimal]:
        """Return the sum over all places by asset, which is always zero."""
        rows = self._db.execute("select asset, sum(units) from postings group by asset")
        return {asset: _amount(units, asset) for asset, units in rows}

    def balances(self) -> dict[str, dict[str, Decimal]]:
        """Return the balances of all places and assets."""
        balances: dict[str, dict[str, Decimal]] = defaultdict(dict)
        for place, asset, units in self._db.execute("select place, asset, units from balances"):
            balances[place][asset] = _amount(units, asset)
        return dict(balances)

    def movements(self, reference: str) -> list[str]:
        """Return the kinds of movements caused by a record, in order."""
        rows = self._db.execute(
            "select kind from movements where reference = ? order by number", (reference,)
        )
        return [kind for (kind,) in rows]


def _amount(units: int, asset: str) -> Decimal:
    return Decimal(units).scaleb(-exponent(asset))
