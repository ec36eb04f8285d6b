"""The measurement of coins: the terms that two people put in force, as tables.

The table [coins] of `policy.toml` proposes them. Like the materiality limits, they are journaled:
two people decide about a balance sheet figure, and an answer for an earlier time or a closed month
uses the terms that were in force then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import POLICY_FILE, Policy
from treasury.core.errors import InputError
from treasury.core.money import CURRENCIES, EXPONENTS, parse_amount, plain_digits
from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.journal import Actor, Entry, Journal
from treasury.journal.chain import reads_entries
from treasury.month.decisions.agreed_terms import (
    AgreedTerms,
    TermsKind,
    TermsVerbs,
    agreed_terms,
    standing_rows,
)

MEASURED: Final = grouped_schema(
    (TEXT, "coin", "measurement", "cost_formula", "reversal", "pool", "proposed_by"),
    (TEXT, "accepted_by"),
    (BOOL, "alone"),
)
"""One row per coin that is measured; other coins are only disclosed."""
COIN_OPENINGS: Final = grouped_schema(
    (TEXT, "coin", "pool"), (DATE, "day"), (AMOUNT, "quantity", "carrying_amount")
)
"""One row per coin and pool: quantity and carrying amount at a day's end, as the company states."""
_COINS: Final = EXPONENTS.keys() - CURRENCIES
"""The coins that the services name; a workspace may know more."""


@reads_entries
def coin_openings(entries: Iterable[Entry]) -> pa.Table:
    """Return the stated openings by the terms in force; columns as in COIN_OPENINGS."""
    in_force, _ = agreed_terms(entries, Measurement.kind)
    return pa.Table.from_pylist(_opened(in_force), schema=COIN_OPENINGS)


def _opened(terms: AgreedTerms | None) -> list[dict[str, Any]]:
    openings = terms.content.get("openings", ()) if terms else ()
    return [
        {
            "coin": opening["coin"],
            "pool": opening["wallet"],
            "day": date.fromisoformat(opening["day"]),
            "quantity": parse_amount(opening["quantity"]),
            "carrying_amount": parse_amount(opening["carrying_amount"]),
        }
        for opening in openings
    ]


def _plain(policy: Policy) -> dict[str, Any]:
    coins = policy.coins
    if coins is None or not coins.measured:
        return {}
    return {
        "pool": coins.pool,
        "measured": {
            coin: msgspec.to_builtins(terms) for coin, terms in sorted(coins.measured.items())
        },
        "openings": [
            {
                "coin": opening.coin,
                "wallet": opening.wallet.lower(),
                "day": opening.day.isoformat(),
                "quantity": plain_digits(opening.quantity),
                "carrying_amount": plain_digits(opening.carrying_amount),
            }
            for opening in coins.openings
        ],
    }


class Measurement(TermsVerbs):
    """Decisions by which two people put the measurement of coins in force, as `t.measurement`.

    Tables have a row per measured coin.

    >>> t.measurement.propose("coins at cost from November on")
    """

    kind = TermsKind(
        proposed="coins.measurement_proposed",
        accepted="coins.measurement_accepted",
        name="terms of measurement",
        table="[coins]",
        command="treasury coins measurement",
        content=_plain,
    )
    terms = MEASURED
    columns = pa.schema([("standing", TEXT), *MEASURED])
    without = "no coin is measured"

    def __init__(
        self,
        journal: Journal,
        policy: Callable[[], Policy],
        now: Callable[[], datetime],
        *,
        until: datetime | None = None,
        zone: ZoneInfo,
        coins: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Use this journal; `coins` returns the coins that the records and the rules name."""
        super().__init__(journal, policy, until=until, zone=zone)
        self._coins = coins
        self._now = now

    @staticmethod
    def rows(terms: AgreedTerms | None) -> list[dict[str, Any]]:
        """Return a row per measured coin, with its terms and the people who agreed to them."""
        if terms is None or not terms.content:
            return []
        pool, measured = terms.content["pool"], terms.content["measured"]
        return [
            {"coin": coin, **chosen, "pool": pool, **terms.people}
            for coin, chosen in sorted(measured.items())
        ]

    def propose(self, reason: str, *, actor: Actor | None = None) -> Table:
        """Propose the terms below [coins] in `policy.toml`; a second person accepts them.

        `actor` is by default the person at the login. Raise InputError without a reason, for an
        unknown coin, and for an opening on a day that has not ended.

        >>> t.measurement.propose("coins at cost from November on")
        """
        coins = self._policy().coins
        if coins and coins.measured:
            known = sorted({*_COINS, *self._coins()} - CURRENCIES)
            for coin in coins.measured:
                if coin not in known:
                    problem = "is a currency" if coin in CURRENCIES else "is not a known coin"
                    raise InputError(
                        f"{POLICY_FILE}: coins.measured.{coin} {problem}; nothing was proposed",
                        # Codes of coins are alike, so a guess might name another one.
                        do=f"name one of {', '.join(known)}",
                    )
        today = self._now().astimezone(self._zone).date()
        for place, opening in enumerate(coins.openings if coins else (), 1):
            if opening.day >= today:
                raise InputError(
                    f"{POLICY_FILE}: the opening {place} of [[coins.openings]] is for"
                    f" {opening.day}, which has not ended",
                    do="state the opening at the end of a month that has ended",
                )
        return super().propose(reason, actor=actor)

    def openings(self) -> Table:
        """Return the openings that the company stated, in force and waiting for a second person.

        Each row is a pool of a coin: its quantity in `coin`, and its carrying amount in euros.

        >>> t.measurement.openings()
        """
        terms = agreed_terms(self._decided().entries, Measurement.kind)
        columns = pa.schema([("standing", TEXT), *COIN_OPENINGS])
        return Table(standing_rows(terms, _opened, columns), zone=self._zone)
