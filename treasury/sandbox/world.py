"""Tells the whole story once and keeps what comes of it: the services' records, the bank's lines.

Nothing here looks at the machine's clock or at anything but the seed: two worlds of one seed are
equal to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

import msgspec

from treasury.errors import InputError
from treasury.sandbox.business import tell_business
from treasury.sandbox.cast import COMPANY, FEES, PAYOUT_IBAN, USERS, Cast, make_cast
from treasury.sandbox.clock import CompanyClock
from treasury.sandbox.credits import Credits
from treasury.sandbox.desk import Desk, Funding
from treasury.sandbox.ids import Ids, Streams
from treasury.sandbox.lines import Book, Line, StatementAccount
from treasury.sandbox.plans import plans
from treasury.sandbox.ramps import Life, record_of
from treasury.sandbox.shapes import (
    CompanyBankAccountItem,
    CompanyWalletItem,
    RampRequest,
    brief,
    encode,
)
from treasury.sandbox.store import Record, Store
from treasury.sandbox.transfers import Wallets

__all__ = ["SCENARIOS", "World"]

SCENARIOS: Final = ("full", "no-provider-report")


class World:
    """The services' records, the bank's lines and the clock, as they stand on 2 November."""

    def __init__(self, seed: int, scenario: str) -> None:
        if scenario not in SCENARIOS:
            raise InputError(
                f"there is no scenario {scenario!r}", do=f"use one of: {', '.join(SCENARIOS)}"
            )
        streams, book = Streams(seed), Book()
        self.clock = CompanyClock()
        self.cast = make_cast(streams)
        self.life = Life(self.cast, Ids(streams.of("events")))
        desk = Desk(self.cast, self.life, Ids(streams.of("desk")), streams.of("acts"), book)
        requests = [desk.carry_out(plan) for plan in plans(streams.of("plans"))]
        conversions = Credits(self.cast, streams.of("credits"), book).tell()
        tell_business(self.cast, streams.of("business"), book)
        wallets = Wallets(self.cast, Ids(streams.of("transfers")), streams.of("moves"))
        wallets.tell(conversions)

        self.fundings: list[Funding] = desk.fundings
        self.accounts = _accounts(self.cast, scenario)
        served = {account.iban for account in self.accounts}
        self.lines: list[Line] = [line for line in book.numbered() if line.account in served]
        self.months = book.months()
        self.store = Store()
        self.store.put(_records(self.cast, wallets))
        self.store.put(map(record_of, requests))

    def change(self, request: RampRequest) -> RampRequest:
        """Write a request's next state."""
        self.store.put([record_of(request)])
        return request


def _accounts(cast: Cast, scenario: str) -> list[StatementAccount]:
    name = COMPANY.name
    accounts = [
        StatementAccount(
            PAYOUT_IBAN, "EUR payout account", name, "Test Bank NL", "TESTNL2A", "own_bank",
            Decimal("184210.55"),
        ),
        StatementAccount(
            cast.funding_iban, "EUR operating account", name, "Test Bank BE", "TESTBEBB",
            "own_bank", Decimal("912400.00"),
        ),
        StatementAccount(
            cast.master_iban, "Virtual accounts (provider)", name, "Test Bank", "TESTBEBB",
            "provider_report", Decimal("25310.40"),
        ),
    ]  # fmt: skip
    return accounts if scenario == "full" else accounts[:2]


def _record(kind: str, value: msgspec.Struct, item: object = None, **columns: str) -> Record:
    text = encode(value)
    shown = encode(item) if item is not None else text
    given = {
        name: getattr(value, name)
        for name in ("id", "created_at", "updated_at", "status", "chain")
        if isinstance(getattr(value, name, None), str)
    }
    return Record(kind=kind, item=shown, detail=text, **(given | columns))


def _records(cast: Cast, wallets: Wallets) -> Iterator[Record]:
    yield from _finance(cast, wallets)
    yield from _ramp(cast)


def _finance(cast: Cast, wallets: Wallets) -> Iterator[Record]:
    for party in cast.parties:
        yield _record("party", party, type=party.party_type, reference=party.external_id)
    for account in cast.accounts:
        yield _record("account", account, reference=account.external_id)
        for role in account.party_roles:
            yield _record("party_role", role, id=f"{account.id}/{role.party_id}", owner=account.id)
    for wallet in wallets.wallets():
        yield _record("wallet", wallet, owner=wallet.account_id, reference=wallet.address)
    for virtual in cast.virtual_accounts:
        yield _record(
            "virtual_account", virtual, owner=virtual.account_id, type=virtual.bank_account_type,
            reference=virtual.reference_code,
        )  # fmt: skip
    for transfer in wallets.transfers:
        yield _record(
            "transfer", transfer, owner=transfer.sender_account_id,
            peer=transfer.receiver_account_id or "",
        )  # fmt: skip
    for internal in wallets.internal:
        yield _record(
            "account_transfer", internal, owner=internal.source_account_id,
            peer=internal.destination_account_id,
        )  # fmt: skip


def _ramp(cast: Cast) -> Iterator[Record]:
    yield _record("company", COMPANY)
    for user in USERS.values():
        yield _record("user", user, type=user.role)
    for bank in cast.bank_accounts:
        yield _record(
            "company_bank_account", bank, brief(bank, CompanyBankAccountItem),
            status=bank.verification_status, type=bank.supported_ramp_type,
        )  # fmt: skip
    for wallet in cast.wallets:
        yield _record(
            "company_wallet", wallet, brief(wallet, CompanyWalletItem),
            status=wallet.verification_status, reference=wallet.address,
        )  # fmt: skip
    for fee in FEES:
        yield _record("fee", fee, type=fee.type)
    for fiat in cast.fiat:
        yield _record("fiat_currency", fiat)
    for crypto in cast.crypto:
        yield _record("crypto_currency", crypto)
