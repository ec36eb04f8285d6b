"""A ramp request in a panel: as a row of the list, and as the facts of a decision.

The field `amount` is not shown, because it is fiat for an on-ramp and crypto for an off-ramp. The
amounts are shown as `fiat gross`, `fee`, `fiat net` and `crypto`, each with its currency. Payment
details are hidden until the request awaits its funds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from treasury.actions import Confirmation, RampSeen
from treasury.core.money import format_amount
from treasury.core.wording import RAMP_TYPES
from treasury.panels.frames.blocks import Detail, Heading, ListRow, Text, detail
from treasury.panels.frames.panel_text import instant

COLUMNS: Final = (
    Heading("Request"),
    Heading("Direction", wide=True),
    Heading("Fiat gross", end=True),
    Heading("Fee", end=True),
    Heading("Fiat net", end=True),
    Heading("Crypto", end=True),
)
_KNOWN_HOW: Final = {
    "hub": "verified: logged in at the notebook hub",
    "environment": "claimed: named by an environment variable, unverified",
    "system": "verified: this machine's user",
}


def request_row(
    row: Mapping[str, Any], news: Iterable[Text] = (), *, settled: bool = False
) -> ListRow:
    """Return the list row for a record of `ramp_requests` and its newer updates `news`."""
    request = RampSeen.from_row(row)
    gross, fee, net, crypto = _amounts(request)
    creator = request.created_by or "an unknown user"
    return ListRow(
        label=f"{request.name}, {_direction(request)}, fiat gross {gross}, crypto {crypto}",
        cells=(
            (
                Text(request.name, "strong"),
                Text(request.id, "code"),
                Text(f"by {creator}", "quiet"),
                Text(instant(row["created_at"]), "quiet"),
                *news,
            ),
            (Text(_direction(request)), Text(_exchange(request), "quiet")),
            (Text(gross),),
            (Text(fee),),
            (Text(net),),
            (Text(crypto),),
        ),
        may_choose=not settled,
        settled=settled,
    )


def request_details(confirmed: Confirmation, read_at: datetime) -> tuple[Detail, ...]:
    """Return the facts of a decision: person, amounts, account, version and time."""
    request = confirmed.request
    # All kinds of action that are shown this way concern a request.
    assert request is not None
    gross, fee, net, crypto = _amounts(request)
    actor = confirmed.actor
    kind = "our wallet" if request.on_ramp else "our bank account"
    if request.on_ramp and request.payee_chain:
        kind += f" on {request.payee_chain}"
    payee = [Text(f"{kind}, which the service does not show", "warn")]
    if request.payee_account is not None:
        payee = [Text(request.payee_account, "code"), Text(kind, "quiet")]
    return (
        detail("Request", Text(request.name, "strong"), Text(request.id, "code")),
        detail("Direction", Text(f"{_direction(request)}, {_exchange(request)}")),
        detail("Fiat gross", Text(gross)),
        detail("Fee", Text(fee)),
        detail("Fiat net", Text(net)),
        detail("Crypto", Text(crypto)),
        detail("Goes to", *payee),
        detail("Created by", Text(request.created_by or "unknown")),
        detail("Version", Text(f"{request.version}, read from the service at {instant(read_at)}")),
        detail(
            "Decided by",
            Text(actor.name, "strong"),
            Text(_KNOWN_HOW[actor.verified_source], "quiet"),
        ),
        detail("Credential", Text(f"{confirmed.credential} ({confirmed.client_id})")),
        detail("When", Text(instant(confirmed.at))),
    )


def _direction(request: RampSeen) -> str:
    words = RAMP_TYPES.get(request.ramp_type)
    return request.ramp_type if words is None else words.capitalize()


def _exchange(request: RampSeen) -> str:
    fiat, crypto = request.fiat_currency or "?", request.crypto_currency or "?"
    coins = f"{crypto} on {request.crypto_chain}" if request.crypto_chain else crypto
    return f"{fiat} to {coins}" if request.on_ramp else f"{coins} to {fiat}"


def _amounts(request: RampSeen) -> tuple[str, str, str, str]:
    fiat, crypto = request.fiat_currency, request.crypto_currency
    return (
        _amount(request.fiat_amount, fiat),
        _amount(request.fiat_fee_amount, fiat),
        _amount(request.fiat_net_amount, fiat),
        _amount(request.crypto_amount, crypto),
    )


def _amount(amount: Decimal | None, currency: str | None) -> str:
    return "not shown" if amount is None else format_amount(amount, currency or "?")
