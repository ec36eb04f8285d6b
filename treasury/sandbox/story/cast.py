"""Who and what the simulated company consists of, before anything happens.

Harbour Lane Trading NV, its users, its accounts at both services, the bank accounts on either side
and the customers who pay it. Names, ids and numbers that the contract's examples use are used here
for the same things; the rest is drawn from the seed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.sandbox.state.ids import Ids, Streams
from treasury.sandbox.state.shapes import (
    Account,
    Address,
    Company,
    CompanyBankAccount,
    CompanyWallet,
    CryptoCurrency,
    DepositBankAccount,
    DepositWallet,
    Fee,
    FiatCurrency,
    Party,
    PartyRole,
    User,
    VirtualBankAccount,
    bare,
)

__all__ = [
    "CHAINS", "COMPANY", "FEES", "PAYOUT_IBAN", "PLATFORM", "USERS", "Cast", "Payer", "make_cast",
    "polygon_wallet",
]  # fmt: skip

PAYOUT_IBAN: Final = "NL05TEST0417164300"
CHAINS: Final = ("ETHEREUM", "POLYGON", "BASE", "ARBITRUM", "SUI")
"""The networks of the ramp."""
OPENED: Final = datetime(2026, 5, 4, 8, 12, 31, tzinfo=UTC)

COMPANY: Final = Company(
    id="dc383d8d-8147-48d4-acd7-259bbeef41a4", name="Harbour Lane Trading NV",
    kyb_status="VERIFIED", invoices_url="https://billing.example.test/c/88",
    sequence_customer_id="seq-88", created_at="2026-03-30T08:00:00Z",
)  # fmt: skip


def _user(user_id: str, username: str, name: str, role: str, invited: str = "") -> User:
    first, last = name.split()
    return User(
        id=user_id, username=username, email=f"{username}@harbourlane.test", first_name=first,
        last_name=last, enabled=True, role=role, invitation_url=invited or None,
        invitation_status="PENDING" if invited else "ACCEPTED",
    )  # fmt: skip


USERS: Final = {
    user.username: user
    for user in (
        _user("32876abe-75ac-4f91-a5d8-77c006c11a61", "maker", "Ines Mertens", "COMPANY_MANAGER"),
        _user("bd26d4e4-7f65-4e4b-a6af-934fb78edbe8", "checker", "Jonas Dewit", "COMPANY_ADMIN"),
        _user("eede2eb4-5d1b-443b-a08c-f16c20aab2fa", "viewer", "Tom Bex", "COMPANY_VIEWER"),
        _user(
            "0d4a5a7e-51a0-4a0e-9c1b-6a3f0b7f2e11", "newcomer", "Nora Claes", "COMPANY_MANAGER",
            invited="https://login.example.test/invite/51",
        ),
    )
}  # fmt: skip
PLATFORM: Final = _user(
    "b7ad8679-491f-4295-ad52-cf80e89be2ed", "platform", "Platform Operator", "COMPANY_ADMIN"
)

_EUR = FiatCurrency(
    id="4de2c612-1e9f-4952-a7e5-b9d024c8b985", currency="EUR", label="Euro", enabled=True, version=1
)
_GBP = FiatCurrency(
    id="e5398c3d-acbe-41b8-a68c-aecc62c68ac7", currency="GBP", label="Pound Sterling",
    enabled=True, version=1,
)  # fmt: skip
_USD = FiatCurrency(
    id="0c6f2f0e-6f0b-4d0a-9a39-5b1f3c7f9d44", currency="USD", label="US Dollar", enabled=True,
    version=1,
)  # fmt: skip
_USDC = CryptoCurrency(
    id="f8dc33c7-ec5a-4e80-aec7-41e372696fbe", currency="USDC", chain="BASE", label="USD Coin",
    enabled=True, version=1, coingecko_id="usd-coin",
)  # fmt: skip
_EURC = CryptoCurrency(
    id="96e9648d-5c28-440f-a8dc-6db0332a7d7e", currency="EURC", chain="ETHEREUM",
    label="Euro Coin", enabled=True, version=1, coingecko_id="euro-coin",
)  # fmt: skip

_USDS = CryptoCurrency(
    id="6a0d6c8f-53b5-4a8f-8d6e-2f3b7c1e9a05", currency="USDS", chain="ETHEREUM",
    label="Sky Dollar", enabled=True, version=1, coingecko_id="usds",
)  # fmt: skip
_ETH = CryptoCurrency(
    id="b1d7e2a4-0c95-4e67-a3f8-74d90c5e1b26", currency="ETH", chain="ETHEREUM", label="Ether",
    enabled=True, version=1, coingecko_id="ethereum",
)  # fmt: skip
_POL = CryptoCurrency(
    id="e93f5b07-8a41-4c2d-b6e0-1d5a9f7c3e88", currency="POL", chain="POLYGON", label="Polygon",
    enabled=True, version=1, coingecko_id="polygon-ecosystem-token",
)  # fmt: skip

_SEAT = Address(
    address_line1="Kade 14", address_line2="Unit 3", city="Ghent", state="East Flanders",
    postal_code="9000", country="BE",
)  # fmt: skip


def _fee(fee_id: str, name: str, low: int, high: int, percentage: str) -> Fee:
    direction, _, _ = name.partition(" ")
    return Fee(
        id=fee_id, company_id=COMPANY.id, name=name, type=direction.upper().replace("-", "_"),
        min_volume=Decimal(low), max_volume=Decimal(high), percentage=Decimal(percentage),
        version=1,
    )  # fmt: skip


FEES: Final = (
    _fee("089d6bb4-1e2c-4520-af21-52645d9e152a", "on-ramp tier 1", 0, 50000, "0.8"),
    _fee("ed40f74f-b091-4a51-a340-f75762a28055", "on-ramp tier 2", 50000, 250000, "0.6"),
    _fee("5a1f3a0e-8c3c-4a57-9d2c-0b8e6f1d7c21", "off-ramp tier 1", 0, 50000, "0.8"),
    _fee("c6d9e2b4-7f10-4c3e-8a55-91d4e0c3b672", "off-ramp tier 2", 50000, 250000, "0.6"),
)


class Payer(msgspec.Struct, frozen=True):
    """Somebody at the other end of a bank line."""

    name: str
    iban: str
    bic: str


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that stands still while the months go by."""

    company: Company
    users: dict[str, User]
    """By the name of their credential; one of them is invited only."""
    fees: tuple[Fee, ...]
    parties: tuple[Party, ...]
    accounts: tuple[Account, ...]
    wallet_ids: dict[str, tuple[str, str]]
    """Of each account: its wallet's id and address."""
    contracts: dict[str, str]
    """Of each asset: its contract's address."""
    virtual_accounts: tuple[VirtualBankAccount, ...]
    bank_accounts: tuple[CompanyBankAccount, ...]
    wallets: tuple[CompanyWallet, ...]
    fiat: tuple[FiatCurrency, ...]
    crypto: tuple[CryptoCurrency, ...]
    deposit_bank: DepositBankAccount
    """Where euros are sent."""
    deposit_banks: dict[str, DepositBankAccount]
    """Where the other currencies are sent."""
    deposit_wallets: dict[str, DepositWallet]
    funding_iban: str
    """The account at the Belgian bank: wires, payroll and taxes leave from it."""
    master_iban: str
    """The provider's account that stands behind the virtual IBANs."""
    customers: tuple[Payer, ...]
    operator: Payer
    employees: tuple[Payer, ...]
    clients: tuple[Payer, ...]
    """Who pays Harbour Lane outside the services."""
    tax_office: Payer
    landlord: Payer


_ACCOUNTS: Final = (
    # id, external id, name, chain, target asset, virtual account's name
    ("f5520527-134b-49e6-ac6e-833cf327cb46", "treasury-eur", "Treasury EUR", "BASE", "USDC",
     "EUR collections"),
    ("aaaa0793-25d6-433b-ae47-6f2de3994601", "ops-usd", "Operations USD", "BASE", "USDC",
     "Operations pay-in"),
    ("", "retail-eurc", "Retail EURC", "AVALANCHE", "EURC", "Retail pay-in"),
    ("", "market-usdt", "Marketplace USDT", "AVALANCHE", "USDT", "Marketplace pay-in"),
)  # fmt: skip

_CUSTOMERS: Final = (
    "Noordzee Vis BV", "Atelier Brug", "De Vries Logistiek BV", "Kanaal Koffie NV",
    "Polder Fietsen",
    "Lindeman Optiek", "Studio Getij", "Van Acker Transport", "Maas Elektro BV", "Zilt Catering",
    "Bakkerij Zonneveld", "Duinrand Hotels NV", "Hafenwerk GmbH", "Blumen Alster GmbH",
    "Schelde Marine Parts", "Molenaar Verpakking", "Tuinhuis Verbeke", "Rivierzicht Wonen",
    "Eiland Boeken", "Kust Apotheek", "Vuurtoren Media", "Steen & Kalk BVBA", "Dijk Installaties",
    "Haven Kapitaal NV", "Zuiderlicht Film", "O'Brien & Sons Ltd", "Müller Feinmechanik GmbH",
    '=HYPERLINK("http://x")', "<script>alert(1)</script> Trading", "Société Générale des Quais",
)  # fmt: skip
_EMPLOYEES: Final = (
    "A. Peeters", "B. Janssens", "C. Maes", "D. Jacobs", "E. Willems", "F. Goossens",
)  # fmt: skip
_CLIENTS: Final = (
    "Antwerp Cold Store NV", "Brabant Foods BV", "Ostend Ferry Services", "Rhine Barge Supply GmbH",
)  # fmt: skip
_BICS: Final = {"BE": "TESTBEBB", "NL": "TESTNL2A", "DE": "TESTDEFF", "LT": "TESTLT21"}


def make_cast(streams: Streams) -> Cast:
    """The company as the seed makes it."""
    ids = Ids(streams.of("cast"))
    parties = _parties(ids)
    accounts = _accounts(ids, parties)
    operator = Payer("Ramp Operator BV", "LT353250012345678901", "TESTLT21")
    funding = ids.iban("BE")
    wallet_ids = {account.id: (ids.uuid(), ids.address()) for account in accounts}
    wallet_ids[accounts[0].id] = (
        "1a1b085f-b6b3-40d2-a7d1-71cd51155baf",
        "0x849198ae3d7c5cebae80a1ad55205002370a3595",
    )

    def payers(names: tuple[str, ...], countries: str) -> tuple[Payer, ...]:
        cycle = countries.split()
        chosen = [cycle[n % len(cycle)] for n in range(len(names))]
        return tuple(
            Payer(name, ids.iban(country), _BICS[country])
            for name, country in zip(names, chosen, strict=True)
        )

    return Cast(
        company=COMPANY,
        users=USERS,
        fees=FEES,
        parties=parties,
        accounts=accounts,
        wallet_ids=wallet_ids,
        contracts={
            "USDC": "0xa1b2c3d4e5a1b2c3d4e5a1b2c3d4e5a1b2c3d4e5",
            "EURC": ids.address(),
            "USDT": ids.address(),
        },
        virtual_accounts=_virtual_accounts(ids, accounts),
        bank_accounts=_bank_accounts(ids, funding),
        wallets=_wallets(ids),
        fiat=(_EUR, _GBP, _USD),
        crypto=(_USDC, _EURC, _USDS, _ETH, _POL),
        deposit_bank=DepositBankAccount(
            id="49cbae68-b551-4281-aea3-b6e566845cc8", bank_name="Deposit Test Bank",
            beneficiary=operator.name, fiat_currency=_EUR, label="EUR deposits", is_active=True,
            is_default=True, bank_account_type="EUR_SEPA", version=3, bic=operator.bic,
            iban=operator.iban,
        ),
        deposit_banks=_deposit_banks(operator.name),
        deposit_wallets=_deposit_wallets(ids),
        funding_iban=funding,
        master_iban=ids.iban("BE"),
        customers=payers(_CUSTOMERS, "BE NL BE DE NL"),
        operator=operator,
        employees=payers(_EMPLOYEES, "BE"),
        clients=payers(_CLIENTS, "BE NL BE DE"),
        tax_office=payers(("Tax Collection Office",), "BE")[0],
        landlord=payers(("Kade Vastgoed NV",), "BE")[0],
    )  # fmt: skip


def _parties(ids: Ids) -> tuple[Party, ...]:
    created, changed = bare(OPENED), bare(OPENED + timedelta(minutes=27, seconds=31))

    def person(external: str, name: str, kyc: str, status: str, party_id: str = "") -> Party:
        first, last = name.split()
        return Party(
            id=party_id or ids.uuid(), external_id=external, party_type="INDIVIDUAL", status=status,
            first_name=first, last_name=last, kyc_status=kyc, address=_SEAT,
            created_at=created, updated_at=changed, version=1,
        )  # fmt: skip

    def firm(external: str, name: str, vat: str, kyb: str, party_id: str = "") -> Party:
        return Party(
            id=party_id or ids.uuid(), external_id=external, party_type="ORGANISATION",
            status="ACTIVE", name=name, vat_number=vat, kyb_status=kyb, address=_SEAT,
            created_at=created, updated_at=changed, version=2,
        )  # fmt: skip

    mira, lane = "f9aa0300-9ffd-4aec-a490-394c33507294", "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
    return (
        person("cust-0417", "Mira Okafor", "PENDING", "ACTIVE", mira),
        firm("org-0092", COMPANY.name, "BE0123456749", "VERIFIED", lane),
        firm("org-0101", "Kust Apotheek", "BE0987654312", "PENDING"),
        person("cust-0533", "Sven Holm", "VERIFIED", "ACTIVE"),
        person("cust-0602", "Lea Brandt", "REJECTED", "SUSPENDED"),
    )


def _accounts(ids: Ids, parties: tuple[Party, ...]) -> tuple[Account, ...]:
    created = bare(OPENED)

    def account(account_id: str, external: str, name: str, chain: str, holder: Party) -> Account:
        role = PartyRole(
            party_id=holder.id, role_type="ACCOUNT_HOLDER", status="ACTIVE", party=holder,
            created_at=created, updated_at=created,
        )  # fmt: skip
        return Account(
            id=account_id or ids.uuid(), external_id=external, name=name, chain=chain,
            kyc_status=holder.kyc_status or "VERIFIED", status="ACTIVE", party_roles=[role],
            created_at=created, version=1,
        )  # fmt: skip

    own = [account(account_id, external, name, chain, parties[1])
           for account_id, external, name, chain, _, _ in _ACCOUNTS]  # fmt: skip
    return (*own, account("", "cust-0417", "Mira Okafor", "BASE", parties[0]))


def _virtual_accounts(ids: Ids, accounts: tuple[Account, ...]) -> tuple[VirtualBankAccount, ...]:
    fixed = {
        "treasury-eur": (
            "ee9587b8-6b17-4fc2-a2aa-b68558866188",
            "BE68539007547034",
            "VFY-8M3T-407",
        )
    }
    rows = zip(accounts, _ACCOUNTS, strict=False)
    return tuple(
        VirtualBankAccount(
            id=its_id, account_id=account.id, bank_account_type="EUR_SEPA", name=name,
            status="ACTIVE", currency="EUR", target_cryptocurrency=asset, iban=number,
            bic="TESTBEBBXXX", bank_name="Test Bank", beneficiary_name=COMPANY.name,
            reference_code=code, created_at=bare(OPENED), updated_at=bare(OPENED),
        )
        for account, (_, external, _, _, asset, name) in rows
        for its_id, number, code in [
            fixed.get(external) or (ids.uuid(), ids.iban("BE"), ids.reference_code())
        ]
    )  # fmt: skip


def _bank_accounts(ids: Ids, funding: str) -> tuple[CompanyBankAccount, ...]:
    payout = CompanyBankAccount(
        id="730a509f-01e5-4fe6-a06d-7604e397da93", company_id=COMPANY.id, name="EUR payout account",
        bank_name="Test Bank NL", company_name=COMPANY.name, email="treasury@harbourlane.test",
        phone_number="+3290000000", bank_country="NL", beneficiary_address_line1="Kade 14",
        beneficiary_address_line2="Unit 3", beneficiary_city="Ghent",
        beneficiary_state="East Flanders", beneficiary_postal_code="9000", beneficiary_country="BE",
        bank_account_type="EUR_SEPA", supported_ramp_type="ON_AND_OFF_RAMP",
        verification_status="VERIFIED", verified_at="2026-04-03T10:00:00Z",
        created_at="2026-04-01T12:05:00Z", updated_at="2026-04-03T10:00:00Z", version=1,
        iban=PAYOUT_IBAN, bic="TESTNL2A",
    )  # fmt: skip
    replace = msgspec.structs.replace
    return (
        payout,
        replace(
            payout, id=ids.uuid(), name="EUR operating account", bank_name="Test Bank BE",
            bank_country="BE", supported_ramp_type="ON_RAMP", iban=funding, bic="TESTBEBB",
            created_at="2026-04-01T12:20:00Z", verified_at="2026-04-03T10:10:00Z",
            updated_at="2026-04-03T10:10:00Z",
        ),
        replace(
            payout, id=ids.uuid(), name="GBP account", bank_name="Test Bank UK", bank_country="GB",
            bank_account_type="GBP_FPS", supported_ramp_type="OFF_RAMP", iban=None, bic=None,
            account_number="31926819", sort_code="608371", verification_status="PENDING",
            verified_at=None, created_at="2026-10-27T09:05:00Z", updated_at="2026-10-27T09:05:00Z",
        ),
    )  # fmt: skip


def _wallets(ids: Ids) -> tuple[CompanyWallet, ...]:
    cold = CompanyWallet(
        id="b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a", company_id=COMPANY.id,
        description="Treasury cold wallet", address="0xb7f0d5703ffb52c69a537fd5b51f6b6a34818f75",
        chain="BASE", verification_status="VERIFIED", verified_at="2026-04-02T09:30:00Z",
        created_at="2026-04-01T12:00:00Z", updated_at="2026-04-02T09:30:00Z", version=1,
    )  # fmt: skip
    replace = msgspec.structs.replace
    return (
        cold,
        replace(
            cold, id=ids.uuid(), description="Treasury wallet (Ethereum)", address=ids.address(),
            chain="ETHEREUM", created_at="2026-04-01T12:10:00Z",
        ),
        replace(
            cold, id=ids.uuid(), description="Sui trial", address=ids.hash(), chain="SUI",
            verification_status="PENDING", verified_at=None, version=0,
            created_at="2026-10-20T12:10:00Z", updated_at="2026-10-20T12:10:00Z",
        ),
    )  # fmt: skip


def polygon_wallet(cold: CompanyWallet) -> CompanyWallet:
    """The wallet on Polygon of the company that has one."""
    return msgspec.structs.replace(
        cold, id="5d0c7a31-9e48-4b16-8f27-c3a5e1d90b64", description="Treasury wallet (Polygon)",
        address="0x5d0c7a319e484b168f27c3a5e1d90b64a7f2c815", chain="POLYGON",
        created_at="2026-04-01T12:15:00Z",
    )  # fmt: skip


def _deposit_wallets(ids: Ids) -> dict[str, DepositWallet]:
    base = DepositWallet(
        id="7ecbe649-9205-4e18-ac97-e8a3549a3008",
        address="0x7ecbe64992055e18bc97e8a3549a300876f5c3ea", chain="BASE", label="Base deposits",
        is_default=True, is_active=True, version=2,
    )  # fmt: skip
    ethereum = msgspec.structs.replace(
        base, id=ids.uuid(), address=ids.address(), chain="ETHEREUM", label="Ethereum deposits"
    )
    polygon = msgspec.structs.replace(
        base, id="3f8e1c52-7b64-4d09-95a7-c0e2d6b4a813", chain="POLYGON", label="Polygon deposits",
        address="0x3f8e1c527b644d0915a7c0e2d6b4a8135e90f7d2",
    )  # fmt: skip
    return {"BASE": base, "ETHEREUM": ethereum, "POLYGON": polygon}


def _deposit_banks(beneficiary: str) -> dict[str, DepositBankAccount]:
    pounds = DepositBankAccount(
        id="d2b9a6e1-40c7-4f35-8e1b-6c7a5d3f0924", bank_name="Deposit Test Bank UK",
        beneficiary=beneficiary, fiat_currency=_GBP, label="GBP deposits", is_active=True,
        is_default=True, bank_account_type="GBP_FPS", version=1, account_number="70872490",
        sort_code="404784",
    )  # fmt: skip
    dollars = DepositBankAccount(
        id="95c4f7d8-1e2a-4b60-a9d3-e07f8b6c5a12", bank_name="Deposit Test Bank US",
        beneficiary=beneficiary, fiat_currency=_USD, label="USD deposits", is_active=True,
        is_default=True, bank_account_type="USD_WIRE", version=1, account_number="4417009283",
        routing_number="021000021", company_name=beneficiary, email="deposits@operator.test",
        phone_number="+32 2 555 01 00", bank_country="US", beneficiary_address_line1="Rue Test 2",
        beneficiary_address_line2="Floor 3", beneficiary_city="Brussels",
        beneficiary_state="Brussels", beneficiary_postal_code="1000", beneficiary_country="BE",
    )  # fmt: skip
    return {"GBP": pounds, "USD": dollars}
