"""A ramp request as a person saw it when deciding, and its facts for the decision.

The name of each amount states its meaning, such as `fiat_net_amount`. The payee is the account or
wallet that receives the money or the coins.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import NOT_SHOWN, Fact, Moved, changed
from treasury.api.models import CryptoCurrency, FiatCurrency, RampRequest
from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.money import format_amount
from treasury.core.text import clean


class RampSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A ramp request as shown to a person: amounts in fiat and crypto, and the payee.

    The payee is our wallet for an on-ramp and our bank account for an off-ramp. None means that the
    service did not show the value.
    """

    id: str
    status: str
    ramp_type: str
    version: int | None = None
    payment_reference: str | None = None
    fiat_amount: Decimal | None = None
    fiat_fee_amount: Decimal | None = None
    fiat_net_amount: Decimal | None = None
    fiat_currency: str | None = None
    crypto_amount: Decimal | None = None
    crypto_currency: str | None = None
    crypto_chain: str | None = None
    payee_account: str | None = None
    payee_chain: str | None = None
    created_by: str | None = None

    @property
    def name(self) -> str:
        """The name shown to people: the payment reference, or else the id."""
        return self.payment_reference or self.id

    @property
    def on_ramp(self) -> bool:
        """Whether the request exchanges fiat for crypto."""
        return self.ramp_type == "ON_RAMP"

    @classmethod
    def of(cls, request: RampRequest) -> RampSeen:
        """Build it from a request's detail, as read from the service."""
        wallet, bank = request.company_wallet, request.company_bank_account
        fiat, crypto = request.fiat_currency, request.crypto_currency
        on_ramp = request.ramp_type == "ON_RAMP"
        account = (
            wallet and wallet.address if on_ramp else bank and (bank.iban or bank.account_number)
        )
        maker = request.event("CREATED")
        return cls(
            id=request.id,
            status=request.status or "",
            ramp_type=request.ramp_type or "",
            version=request.version,
            payment_reference=request.payment_reference,
            fiat_amount=request.fiat_amount,
            fiat_fee_amount=request.fiat_fee_amount,
            fiat_net_amount=request.fiat_net_amount,
            fiat_currency=fiat.currency if isinstance(fiat, FiatCurrency) else fiat,
            crypto_amount=request.crypto_amount,
            crypto_currency=crypto.currency if isinstance(crypto, CryptoCurrency) else crypto,
            crypto_chain=crypto.chain if isinstance(crypto, CryptoCurrency) else None,
            payee_account=account or None,
            payee_chain=wallet.chain if on_ramp and wallet else None,
            created_by=(maker and (maker.email or maker.username)) or request.created_by,
        )

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> RampSeen:
        """Build it from a row of the table `ramp_requests`."""
        on_ramp = row["ramp_type"] == "ON_RAMP"
        payee = {
            "payee_account": row.get(
                "company_wallet_address" if on_ramp else "company_bank_account_iban"
            ),
            "payee_chain": row.get("company_wallet_chain") if on_ramp else None,
        }
        facts = {name: row.get(name) for name in cls.__struct_fields__ if name not in payee}
        try:
            return convert({**facts, **payee}, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"ramp request {row.get('id')}: {error}", do="sync again") from None


_MATERIAL: Final = tuple(
    name for name in RampSeen.__struct_fields__ if name not in {"id", "version", "created_by"}
)
_UNITS: Final = {
    "fiat_amount": "fiat_currency",
    "fiat_fee_amount": "fiat_currency",
    "fiat_net_amount": "fiat_currency",
    "crypto_amount": "crypto_currency",
}


def facts_of(request: RampSeen) -> tuple[Fact, ...]:
    """Return the facts of the request.

    Version and maker are not material, because they do not affect what was decided.
    """
    facts = [Fact(name=name.replace("_", " "), value=_text(request, name)) for name in _MATERIAL]
    facts.append(Fact(name="created by", value=_text(request, "created_by"), material=False))
    facts.append(Fact(name="version", value=_text(request, "version"), material=False))
    return tuple(facts)


def moved(agreed: RampSeen, fresh: RampSeen) -> tuple[Moved, ...]:
    """Return the facts that differ, except the version and the maker."""
    return changed(facts_of(agreed), facts_of(fresh))


def _text(request: RampSeen, name: str) -> str:
    value = getattr(request, name)
    if value is None:
        return NOT_SHOWN
    if name in _UNITS:
        return format_amount(value, clean(getattr(request, _UNITS[name])) or "?")
    return clean(value)
