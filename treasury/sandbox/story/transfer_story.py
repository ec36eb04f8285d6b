"""The wallets' past: conversions bring stablecoins in, three kinds of transfers move them.

Every movement is booked in the ledger, day by day, so that balances agree with the listed
transfers.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from random import Random
from typing import Final

import msgspec

from treasury.core.calendar import is_target_day
from treasury.sandbox.state import shapes
from treasury.sandbox.state.clock import FIRST_DAY, LAST_DAY, at
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.ledger import CONVERSION, WORLD, Ledger, Posting, available, reserved
from treasury.sandbox.state.shapes import AccountTransfer, Balance, FiatOrigin, Transfer, zulu
from treasury.sandbox.story.cast import Cast
from treasury.sandbox.story.credits import Conversion
from treasury.sandbox.story.rates import payout_rate

_KINDS: Final = ("crypto", "crypto", "fiat", "internal")
_LAST: Final = ("COMPLETED", "FAILED", "PROCESSING", "PENDING")
FAILURE: Final = ("INSUFFICIENT_BALANCE", "Insufficient available balance")
_SMALLEST: Final = Decimal(50)
_FAILING: Final = 0.1


class _Move(msgspec.Struct, frozen=True):
    """A stablecoin transfer; without a receiver, it leaves the service."""

    sender: str
    receiver: str
    asset: str
    amount: Decimal
    status: str
    at: datetime

    @property
    def failure(self) -> tuple[str | None, str | None]:
        """Return the failure's code and reason; both are None without a failure."""
        return FAILURE if self.status == "FAILED" else (None, None)


class Wallets:
    """Stablecoin transfers between the accounts' wallets and out of the service."""

    def __init__(self, cast: Cast, ids: Ids, random: Random, ledger: Ledger) -> None:
        self._cast = cast
        self._ids = ids
        self._random = random
        self._ledger = ledger
        self._places = {
            account: available(wallet) for account, (wallet, _) in cast.wallet_ids.items()
        }
        self._chains = {account.id: account.chain for account in cast.accounts}
        self.transfers: list[Transfer] = []
        self.internal: list[AccountTransfer] = []

    def tell(self, conversions: list[Conversion]) -> None:
        """Book six months of conversions and transfers."""
        coming = defaultdict(list)
        for conversion in conversions:
            coming[conversion.day].append(conversion)
        for day in (FIRST_DAY + timedelta(n) for n in range((LAST_DAY - FIRST_DAY).days + 2)):
            for place, conversion in enumerate(coming[day]):
                wallet = self._places[conversion.account_id]
                self._ledger.move(
                    "conversion", f"{day}/{place}", at(conversion.day, "12:00").isoformat(),
                    Posting(WORLD, CONVERSION, "EUR", conversion.euros),
                    Posting(CONVERSION, wallet, conversion.asset, conversion.amount),
                )  # fmt: skip
            if is_target_day(day):
                self._transfer(day, "COMPLETED")
        for status in _LAST:
            for kind in ("crypto", "fiat", "internal"):
                self._transfer(date(2026, 10, 30), status, kind)

    def wallets(self) -> list[shapes.Wallet]:
        """Return all wallets with their current balances."""
        return [
            shapes.Wallet(
                id=wallet_id, account_id=account.id, chain=account.chain, type="CUSTODIAL",
                address=address, status="ACTIVE",
                balances=balances_of(self._ledger, self._cast, wallet_id),
                aml_status="APPROVED",
            )
            for account in self._cast.accounts
            for wallet_id, address in [self._cast.wallet_ids[account.id]]
        ]  # fmt: skip

    def _free(self, account: str, asset: str) -> Decimal:
        return self._ledger.balance(self._places[account], asset)

    def _transfer(self, day: date, status: str, kind: str = "") -> None:
        kind = kind or self._random.choice(_KINDS)
        virtual = self._cast.virtual_accounts
        # An internal transfer is in USDC and comes from the account with the highest balance.
        if kind == "internal":
            virtual = tuple(v for v in virtual if v.target_cryptocurrency == "USDC")
            chosen = max(virtual, key=lambda v: self._total(v.account_id, "USDC"))
        else:
            chosen = self._random.choice(virtual)
        sender, asset = chosen.account_id, chosen.target_cryptocurrency
        share = Decimal(self._random.randrange(2, 15)) / 100
        amount = (self._free(sender, asset) * share).quantize(Decimal("0.01"), rounding=ROUND_DOWN)
        if amount < _SMALLEST:
            return
        if status == "COMPLETED" and self._random.random() < _FAILING:
            status = "FAILED"
        clock = f"{self._random.randrange(9, 17):02d}:{self._random.randrange(60):02d}"
        move = _Move(sender, self._receiver(kind, sender), asset, amount, status, at(day, clock))
        if kind == "internal":
            self.internal.append(AccountTransfer(
                id=self._ids.uuid(), source_account_id=move.sender,
                destination_account_id=move.receiver, amount=f"{move.amount:.6f}",
                cryptocurrency=move.asset, status=move.status, created_at=zulu(move.at),
                updated_at=zulu(move.at + timedelta(seconds=4)),
                failure_code=move.failure[0], failure_reason=move.failure[1],
            ))  # fmt: skip
            self._settle(move, self.internal[-1].id)
        else:
            self.transfers.append(self._outward(kind, move))
            self._settle(move, self.transfers[-1].id)

    def _receiver(self, kind: str, sender: str) -> str:
        """Return the company's other account on the chain; empty for its outside wallet."""
        if kind == "crypto" and self._chains[sender] == "BASE" and self._random.random() < 0.5:
            return ""
        own = [v.account_id for v in self._cast.virtual_accounts]
        return next(a for a in own if a != sender and self._chains[a] == self._chains[sender])

    def _total(self, account: str, asset: str) -> Decimal:
        promised = self._ledger.balance(reserved(self._cast.wallet_ids[account][0]), asset)
        return self._free(account, asset) + promised

    def _settle(self, move: _Move, reference: str) -> None:
        if move.status == "FAILED":
            return
        kind, target = "transfer", self._places.get(move.receiver, WORLD)
        if move.status != "COMPLETED":
            kind, target = "reserve", reserved(self._cast.wallet_ids[move.sender][0])
        self._ledger.move(
            kind, reference, move.at.isoformat(),
            Posting(self._places[move.sender], target, move.asset, move.amount),
        )  # fmt: skip

    def _outward(self, kind: str, move: _Move) -> Transfer:
        run = self._random.randrange(10, 60)
        on_chain = move.status in {"COMPLETED", "PROCESSING"}
        return Transfer(
            id=self._ids.uuid(), sender_account_id=move.sender,
            receiver_account_id=move.receiver or None,
            destination_address=None if move.receiver else self._cast.wallets[0].address,
            chain=self._chains[move.sender], asset=move.asset, amount=shapes.number(move.amount),
            description=f"Supplier run {run}" if move.receiver else "To the cold wallet",
            merchant_reference=f"run-{run}", idempotency_key=self._ids.uuid(), status=move.status,
            created_at=zulu(move.at), updated_at=zulu(move.at + timedelta(seconds=12)),
            fiat_origin=origin_of(move.asset, move.amount) if kind == "fiat" else None,
            transaction_hash=self._ids.hash() if on_chain else None,
            error_message=move.failure[1], failure_code=move.failure[0],
            failure_reason=move.failure[1],
        )  # fmt: skip


def balances_of(ledger: Ledger, cast: Cast, wallet: str) -> list[Balance]:
    """Return a wallet's balances from the ledger, in the form used in answers."""
    promised = ledger.holdings(reserved(wallet))
    free = ledger.holdings(available(wallet))
    return [
        Balance(
            asset=asset, contract_address=cast.contracts[asset],
            amount=shapes.Amount(
                total=f"{spendable + reserve:.6f}", available=f"{spendable:.6f}",
                reserved=f"{reserve:.6f}",
            ),
        )
        for asset, spendable in free.items()
        for reserve in [promised.get(asset, Decimal(0))]
    ]  # fmt: skip


def origin_of(asset: str, amount: Decimal) -> FiatOrigin:
    """Return the fiat origin of a fiat transfer: its amount in euros."""
    rate = payout_rate(asset)
    euros = (amount * rate).quantize(Decimal("0.01"))
    return FiatOrigin(currency="EUR", amount=shapes.number(euros), exchange_rate=rate)
