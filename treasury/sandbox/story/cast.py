"""The company, its accounts and its customers before the first event of the story.

The company is Harbour Lane Trading NV, with its users, its accounts at both services, the bank
accounts on both sides and the customers who pay it. `cast.json` has the fixed part, with the names,
ids and numbers from the contract's examples. Empty values in it are drawn from the seed. An account
number that is only a country code is replaced by a drawn number of that country.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec.structs import replace

from treasury.core.decoding import decode_json
from treasury.core.files.package_files import package_text
from treasury.sandbox.state import shapes
from treasury.sandbox.state.ids import Ids, Streams

PAYOUT_IBAN: Final = "NL05TEST0417164300"
CHAINS: Final = ("ETHEREUM", "POLYGON", "BASE", "ARBITRUM", "SUI")
"""The chains of the ramp service."""


class Payer(msgspec.Struct, frozen=True):
    """The counterparty of a bank line."""

    name: str
    iban: str
    bic: str


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """The records that do not change during the story."""

    company: shapes.Company
    users: dict[str, shapes.User]
    """Users by the name of their credential; one of them is only invited."""
    fees: tuple[shapes.Fee, ...]
    parties: tuple[shapes.Party, ...]
    accounts: tuple[shapes.Account, ...]
    wallet_ids: dict[str, tuple[str, str]]
    """The id and address of each account's wallet."""
    contracts: dict[str, str]
    """The contract address of each asset."""
    virtual_accounts: tuple[shapes.VirtualBankAccount, ...]
    bank_accounts: tuple[shapes.CompanyBankAccount, ...]
    wallets: tuple[shapes.CompanyWallet, ...]
    fiat: tuple[shapes.FiatCurrency, ...]
    crypto: tuple[shapes.CryptoCurrency, ...]
    deposit_bank: shapes.DepositBankAccount
    """The provider's account to which euros are sent."""
    deposit_banks: dict[str, shapes.DepositBankAccount]
    """The provider's accounts to which other currencies are sent."""
    deposit_wallets: dict[str, shapes.DepositWallet]
    funding_iban: str
    """Account at the Belgian bank, from which wires, payroll and taxes are paid."""
    master_iban: str
    """The provider's account behind the virtual IBANs."""
    customers: tuple[Payer, ...]
    operator: Payer
    employees: tuple[Payer, ...]
    clients: tuple[Payer, ...]
    """Clients who pay Harbour Lane outside the services."""
    tax_office: Payer
    landlord: Payer


class _Fixed(Cast, frozen=True, kw_only=True):
    platform: shapes.User
    polygon_wallet: shapes.CompanyWallet


_FIXED: Final = decode_json(package_text(__package__, "cast.json"), _Fixed)
COMPANY: Final = _FIXED.company
USERS: Final = _FIXED.users
FEES: Final = _FIXED.fees
PLATFORM: Final = _FIXED.platform
POLYGON_WALLET: Final = _FIXED.polygon_wallet
"""The company's wallet on Polygon."""


def make_cast(streams: Streams) -> Cast:
    """Return the company for a seed; the story depends on the order of the random draws."""
    ids = Ids(streams.of("cast"))

    def payers(fixed: tuple[Payer, ...]) -> tuple[Payer, ...]:
        return tuple(replace(payer, iban=ids.iban(payer.iban)) for payer in fixed)

    parties = tuple(replace(party, id=party.id or ids.uuid()) for party in _FIXED.parties)
    customer, company = (
        shapes.PartyRole(
            party_id=holder.id, role_type="ACCOUNT_HOLDER", status="ACTIVE", party=holder,
            created_at=holder.created_at, updated_at=holder.created_at,
        )
        for holder in parties[:2]
    )  # fmt: skip
    accounts = tuple(
        replace(account, id=account.id or ids.uuid(), party_roles=[role])
        for account, role in zip(_FIXED.accounts, (*[company] * 4, customer), strict=True)
    )
    funding = ids.iban("BE")
    wallet_ids = {account.id: (ids.uuid(), ids.address()) for account in accounts}
    return Cast(
        company=COMPANY, users=USERS, fees=FEES, parties=parties, accounts=accounts,
        wallet_ids=wallet_ids | _FIXED.wallet_ids,
        contracts={name: fixed or ids.address() for name, fixed in _FIXED.contracts.items()},
        virtual_accounts=tuple(
            replace(
                virtual, id=virtual.id or ids.uuid(), account_id=account.id,
                iban=virtual.iban or ids.iban("BE"),
                reference_code=virtual.reference_code or ids.reference_code(),
            )
            for virtual, account in zip(_FIXED.virtual_accounts, accounts, strict=False)
        ),
        bank_accounts=tuple(
            replace(own, id=own.id or ids.uuid(), iban=funding if own.iban == "" else own.iban)
            for own in _FIXED.bank_accounts
        ),
        wallets=tuple(
            replace(
                wallet, id=wallet.id or ids.uuid(),
                address=wallet.address or (ids.hash() if wallet.chain == "SUI" else ids.address()),
            )
            for wallet in _FIXED.wallets
        ),
        fiat=_FIXED.fiat, crypto=_FIXED.crypto, deposit_bank=_FIXED.deposit_bank,
        deposit_banks=_FIXED.deposit_banks,
        deposit_wallets={
            chain: replace(
                wallet, id=wallet.id or ids.uuid(), address=wallet.address or ids.address()
            )
            for chain, wallet in _FIXED.deposit_wallets.items()
        },
        funding_iban=funding, master_iban=ids.iban("BE"), customers=payers(_FIXED.customers),
        operator=_FIXED.operator, employees=payers(_FIXED.employees),
        clients=payers(_FIXED.clients), tax_office=payers((_FIXED.tax_office,))[0],
        landlord=payers((_FIXED.landlord,))[0],
    )  # fmt: skip


NEIGHBOUR_CREDENTIALS: Final = {
    name: (f"quayside-{name}", f"sandbox-quayside-{name}-secret") for name in ("maker", "checker")
}
_OWN_STREAM: Final = 7919
_UUID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES: Final = {
    "Harbour Lane Trading NV": "Quayside Imports BV", "harbourlane.test": "quayside.test",
}  # fmt: skip


def neighbour_cast(seed: int) -> Cast:
    """Return another company at the same services; its ids are unknown to the first company.

    It has the records of a new company, with its own ids and names. Its state and clock change only
    when its own users act. Reference data belongs to the services and is the same for both
    companies.
    """
    cast = make_cast(Streams(seed + _OWN_STREAM))
    shared = {fiat.id for fiat in cast.fiat} | {crypto.id for crypto in cast.crypto}
    return decode_json(_renamed(shapes.encode(cast), shared), Cast)


def _renamed(text: str, shared: set[str]) -> str:
    """Return the JSON with new names and ids, keeping shared ids."""

    def another(match: re.Match[str]) -> str:
        record_id = match[0]
        if record_id in shared:
            return record_id
        return str(uuid5(NAMESPACE_URL, f"https://quayside.test/{record_id}"))

    for name, replacement in _NAMES.items():
        text = text.replace(name, replacement)
    return _UUID.sub(another, text)


NEIGHBOUR_USERS: Final = decode_json(_renamed(shapes.encode(USERS), set()), dict[str, shapes.User])
"""The other company's users, by the name of their credential."""
