"""How a ramp request reads in a panel: as a row, and as the facts of a decision.

`amount` is fiat on-ramp and crypto off-ramp, so it is never shown: the amounts are named `fiat
gross`, `fee`, `fiat net` and `crypto`, each with its currency. Where to pay stays hidden until the
request awaits its funds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from treasury.actions import Confirmation, RampSeen
from treasury.money import format_amount
from treasury.panels.frames.blocks import Column, Fact, Line, Row
from treasury.panels.frames.panel_text import instant

__all__ = ["COLUMNS", "facts", "request_row"]

COLUMNS: Final = (
    Column("Request"),
    Column("Direction", wide=True),
    Column("Fiat gross", end=True),
    Column("Fee", end=True),
    Column("Fiat net", end=True),
    Column("Crypto", end=True),
)
_DIRECTIONS: Final = {"ON_RAMP": "On-ramp", "OFF_RAMP": "Off-ramp"}
_KNOWN_HOW: Final = {
    "hub": "logged in at the notebook hub",
    "environment": "claimed: named by an environment variable, and nobody vouches for it",
    "system": "this machine's user",
}


def request_row(
    key: str, row: Mapping[str, Any], told: Iterable[Line] = (), *, settled: bool = False
) -> Row:
    """A row of `ramp_requests`; `told` is what else is known of it."""
    seen = RampSeen.from_row(row)
    gross, fee, net, crypto = _amounts(seen)
    creator = seen.created_by or "an unknown user"
    return Row(
        key=key,
        label=f"{seen.name}, {_direction(seen)}, fiat gross {gross}, crypto {crypto}",
        cells=(
            (
                Line(seen.name, "strong"),
                Line(seen.id, "code"),
                Line(f"by {creator}", "quiet"),
                Line(instant(row["created_at"]), "quiet"),
                *told,
            ),
            (Line(_direction(seen)), Line(_exchange(seen), "quiet")),
            (Line(gross),),
            (Line(fee),),
            (Line(net),),
            (Line(crypto),),
        ),
        may_choose=not settled,
        settled=settled,
    )


def facts(confirmed: Confirmation, read_at: datetime) -> tuple[Fact, ...]:
    """Who decides what, in which amounts, to whose account, on which version, when."""
    seen = confirmed.request
    assert seen is not None  # every kind that is shown so is about a request
    gross, fee, net, crypto = _amounts(seen)
    actor = confirmed.actor
    return (
        _fact("Request", Line(seen.name, "strong"), Line(seen.id, "code")),
        _fact("Direction", Line(f"{_direction(seen)}, {_exchange(seen)}")),
        _fact("Fiat gross", Line(gross)),
        _fact("Fee", Line(fee)),
        _fact("Fiat net", Line(net)),
        _fact("Crypto", Line(crypto)),
        _fact("Goes to", *_payee(seen)),
        _fact("Created by", Line(seen.created_by or "unknown")),
        _fact("Version", Line(f"{seen.version}, read from the service at {instant(read_at)}")),
        _fact(
            "Decided by",
            Line(actor.name, "strong"),
            Line(_KNOWN_HOW[actor.verified_source], "quiet"),
        ),
        _fact("Credential", Line(f"{confirmed.credential} ({confirmed.client_id})")),
        _fact("When", Line(instant(confirmed.at))),
    )


def _fact(name: str, *lines: Line) -> Fact:
    return Fact(name, lines)


def _payee(seen: RampSeen) -> tuple[Line, ...]:
    kind = "our wallet" if seen.on_ramp else "our bank account"
    if seen.on_ramp and seen.payee_chain:
        kind += f" on {seen.payee_chain}"
    if seen.payee_account is None:
        return (Line(f"{kind}, which the service does not show", "warn"),)
    return (Line(seen.payee_account, "code"), Line(kind, "quiet"))


def _direction(seen: RampSeen) -> str:
    return _DIRECTIONS.get(seen.ramp_type, seen.ramp_type)


def _exchange(seen: RampSeen) -> str:
    fiat, crypto = seen.fiat_currency or "?", seen.crypto_currency or "?"
    coins = f"{crypto} on {seen.crypto_chain}" if seen.crypto_chain else crypto
    return f"{fiat} to {coins}" if seen.on_ramp else f"{coins} to {fiat}"


def _amounts(seen: RampSeen) -> tuple[str, str, str, str]:
    fiat, crypto = seen.fiat_currency, seen.crypto_currency
    return (
        _amount(seen.fiat_amount, fiat),
        _amount(seen.fiat_fee_amount, fiat),
        _amount(seen.fiat_net_amount, fiat),
        _amount(seen.crypto_amount, crypto),
    )


def _amount(amount: Decimal | None, currency: str | None) -> str:
    return "not shown" if amount is None else format_amount(amount, currency or "?")
