"""Steps in the life of a ramp request; each takes a request and returns its next state.

The same steps create the company's past and serve live calls. A step adds events and increments the
version. It does not check permissions; the routes do.

Amounts, with rates in fiat per crypto: for an on-ramp, the fee is deducted from the gross fiat and
the rest is divided by the rate; for an off-ramp, the crypto is multiplied by the rate and the fee
is deducted from the result.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from treasury.core.money import convert, fee_of, net_crypto
from treasury.sandbox.state import shapes
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.shapes import Event, RampRequest, User, encode, number, zulu
from treasury.sandbox.state.store import Record, sortable
from treasury.sandbox.story.cast import FEES, PLATFORM, Cast
from treasury.sandbox.story.rates import Quotes

_BRUSSELS: Final = ZoneInfo("Europe/Brussels")


class Life:
    """The steps of ramp requests; event ids come from one random stream."""

    def __init__(self, cast: Cast, ids: Ids, quotes: Quotes = Quotes()) -> None:  # noqa: B008 - it is frozen
        self._cast = cast
        self._ids = ids
        self._quotes = quotes
        self.deposit_bank = cast.deposit_bank
        """The euro deposit account for requests that are created or approved from now on."""

    def create(
        self,
        ramp_type: str,
        amount: Decimal,
        rate: Decimal,
        asset: str,
        *,
        reference: str,
        user: User,
        at: datetime,
        id: str = "",  # noqa: A002 - the services' word
        wallet: shapes.CompanyWallet | None = None,
        bank: shapes.CompanyBankAccount | None = None,
        fiat: shapes.FiatCurrency | None = None,
    ) -> RampRequest:
        """Create a request that awaits approval, with the default wallet or bank account."""
        cast = self._cast
        crypto = next(coin for coin in cast.crypto if coin.currency == asset)
        fiat = fiat or cast.fiat[0]
        if ramp_type == "ON_RAMP":
            wallet = wallet or next(w for w in cast.wallets if w.chain == crypto.chain)
        else:
            bank = bank or cast.bank_accounts[0]
        request = RampRequest(
            id=id or self._ids.uuid(), company_id=cast.company.id, company_name=cast.company.name,
            ramp_type=ramp_type, status="AWAITING_APPROVAL", exchange_rate=number(rate),
            **amounts_of(ramp_type, amount, rate, asset), payment_reference=reference,
            payment_received=False, created_at=zulu(at), fiat_currency_id=fiat.id,
            crypto_currency_id=crypto.id, company_wallet_id=wallet.id if wallet else None,
            company_wallet=wallet, company_bank_account_id=bank.id if bank else None,
            company_bank_account=bank, fiat_currency=fiat, crypto_currency=crypto,
            events=[self._event("CREATED", user, at, 1)], version=1,
        )  # fmt: skip
        return self._with_deposit(request)

    def _with_deposit(self, request: RampRequest) -> RampRequest:
        """Return the request with the current deposit details."""
        if request.ramp_type == "OFF_RAMP":
            wallet = self._cast.deposit_wallets[request.crypto_currency.chain]
            return replace(request, deposit_wallet=wallet)
        bank = self._cast.deposit_banks.get(request.fiat_currency.currency, self.deposit_bank)
        return replace(request, deposit_bank_account=bank)

    def approve(self, request: RampRequest, user: User, at: datetime) -> RampRequest:
        """Approve a request: set the current deposit details, and await the funds."""
        request = self._with_deposit(request)
        return self._step(
            request, ("APPROVED", "STATUS_CHANGED"), user, at, status="AWAITING_FUNDS"
        )

    def change_amount(
        self, request: RampRequest, user: User, amount: Decimal, at: datetime
    ) -> RampRequest:
        """Change the amount, and with it the fee and the net amount, at the same rate."""
        asset = request.crypto_currency.currency
        changes = amounts_of(request.ramp_type, amount, request.exchange_rate, asset)
        metadata = {"previousAmount": request.amount, "newAmount": number(amount)}
        return self._step(request, ("AMOUNT_CHANGED",), user, at, metadata, **changes)

    def reject(self, request: RampRequest, user: User, at: datetime) -> RampRequest:
        """Reject a request, as a colleague does."""
        return self._step(request, ("REJECTED",), user, at, status="REJECTED")

    def cancel(self, request: RampRequest, user: User, at: datetime) -> RampRequest:
        """Cancel a request, as its creator does."""
        return self._step(request, ("CANCELLED",), user, at, status="CANCELLED")

    def deny(self, request: RampRequest, at: datetime) -> RampRequest:
        """Deny a request, as the platform does."""
        return self._step(request, ("ADMIN_REJECTED",), PLATFORM, at, status="DENIED")

    def block(self, request: RampRequest, at: datetime) -> RampRequest:
        """Block a request, as the platform does."""
        return self._step(request, ("STATUS_CHANGED",), PLATFORM, at, status="BLOCKED")

    def add_hash(self, request: RampRequest, user: User, hash: str, at: datetime) -> RampRequest:  # noqa: A002 - the services' word
        """Set the hash of the crypto transaction, as submitted by the company."""
        return self._step(request, ("TX_HASH_ADDED",), user, at, blockchain_transaction_hash=hash)

    def receive(self, request: RampRequest, amount: Decimal, at: datetime) -> RampRequest:
        """Receive the funds and start processing."""
        return self._step(
            request, ("PAYMENT_RECEIVED",), PLATFORM, at,
            status="PROCESSING", payment_received=True, amount_received=number(amount),
        )  # fmt: skip

    def complete(self, request: RampRequest, at: datetime) -> RampRequest:
        """Deliver the crypto or pay out the fiat; if rates are published, use this day's rate."""
        on_ramp = request.ramp_type == "ON_RAMP"
        if self._quotes.is_published:
            asset, day = request.crypto_currency.currency, at.astimezone(_BRUSSELS).date()
            rate = self._quotes.rate(asset, day, request.fiat_currency.currency, on_ramp=on_ramp)
            amounts = amounts_of(request.ramp_type, request.amount, rate, asset)
            request = replace(request, exchange_rate=number(rate), **amounts)
        if not on_ramp:
            return self._step(
                request, ("PAYMENT_SENT", "COMPLETED"), PLATFORM, at, status="SUCCEEDED"
            )
        return self._step(
            request, ("COMPLETED",), PLATFORM, at,
            status="SUCCEEDED", blockchain_transaction_hash=self._ids.hash(),
        )  # fmt: skip

    def fail(self, request: RampRequest, at: datetime) -> RampRequest:
        """Fail a request, as if the service could not execute it."""
        return self._step(request, ("FAILED",), PLATFORM, at, status="FAILED")

    def release(self, request: RampRequest, at: datetime) -> RampRequest:
        """Return a blocked request to its previous status."""
        approved = any(event.event_type == "APPROVED" for event in request.events)
        status = "AWAITING_FUNDS" if approved else "AWAITING_APPROVAL"
        if request.payment_received:
            status = "PROCESSING"
        return self._step(request, ("STATUS_CHANGED",), PLATFORM, at, status=status)

    def _step(
        self,
        request: RampRequest,
        kinds: tuple[str, ...],
        user: User,
        at: datetime,
        metadata: dict[str, Decimal] | None = None,
        **changes: object,
    ) -> RampRequest:
        version = request.version + 1
        events = [
            *request.events,
            *(self._event(kind, user, at, version, metadata) for kind in kinds),
        ]
        return replace(request, events=events, version=version, **changes)

    def _event(
        self,
        kind: str,
        user: User,
        at: datetime,
        version: int,
        metadata: dict[str, Decimal] | None = None,
    ) -> Event:
        return Event(
            id=self._ids.uuid(), event_type=kind, user_id=user.id, username=user.username,
            email=user.email, role=user.role, created_at=zulu(at), version=version,
            metadata=metadata,
        )  # fmt: skip


def tier_percentage(ramp_type: str, volume: Decimal) -> Decimal:
    """Return the fee percentage for a volume; the last tier has no upper limit."""
    tiers = [fee for fee in FEES if fee.type == ramp_type]
    return next((t.percentage for t in tiers if volume < t.max_volume), tiers[-1].percentage)


def amounts_of(ramp_type: str, amount: Decimal, rate: Decimal, asset: str) -> dict[str, Any]:
    """Return all amounts of a request, computed from the ordered amount and the rate."""
    on_ramp = ramp_type == "ON_RAMP"
    fiat = amount if on_ramp else convert(amount, rate, "EUR")
    percentage = tier_percentage(ramp_type, fiat)
    fee = fee_of(fiat, percentage, "EUR")
    coins = net_crypto(fiat, fee, rate, asset) if on_ramp else amount
    amounts = {
        "amount": amount, "net_amount": fiat - fee, "fiat_amount": fiat,
        "fiat_net_amount": fiat - fee, "crypto_amount": coins, "fiat_fee_amount": fee,
        "fee_percentage": percentage,
    }  # fmt: skip
    return {name: number(value) for name, value in amounts.items()}


def record_of(request: RampRequest) -> Record:
    """Return the request as a record for the store."""
    item = shapes.brief(
        request,
        shapes.RampItem,
        fiat_currency=request.fiat_currency.currency,
        crypto_currency=request.crypto_currency.currency,
        created_by=request.creator.email,
    )
    return Record(
        kind="ramp_request", id=request.id, item=encode(item), detail=encode(request),
        created_at=request.created_at, updated_at=request.events[-1].created_at,
        status=request.status, type=request.ramp_type, chain=request.crypto_currency.chain,
        reference=request.payment_reference, amount=sortable(request.amount),
        fiat_amount=sortable(request.fiat_amount), crypto_amount=sortable(request.crypto_amount),
    )  # fmt: skip
