"""Every operation of both specifications exists in the client, with the request that it sends.

The tables below are compared with the endpoint tables of the specifications, so a test fails if
they lack an operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from recorder import Recorder

from treasury.api import Client, bodies
from treasury.api.operations import SERVICE_OF
from treasury.core.settings import Credential

SPEC = Path(__file__).parents[3] / "shared" / "spec"
KEY = "0b2f3a52-6c1d-4a57-9d8e-5a1f0e6c7b21"
PAGE = "page=1&size=100&sortOn=createdAt&sortOrder=ASC"
VERSION = {"version": 4}


class Case(NamedTuple):
    """A call and the expected request; in paths, a1 is an account and x1 any other record."""

    call: Callable[[Client], Any]
    path: str
    body: Any = None
    query: str = ""


ADDRESS = bodies.PostalAddress(
    address_line1="Kade 14", city="Ghent", postal_code="9000", country="BE"
)
PERSON = {
    "partyType": "INDIVIDUAL",
    "firstName": "Mira",
    "lastName": "Okafor",
    "address": {
        "addressLine1": "Kade 14",
        "city": "Ghent",
        "postalCode": "9000",
        "country": "BE",
    },
    "externalId": "cust-1",
}

FINANCE: dict[str, Case] = {
    "POST /parties": Case(
        lambda c: c.finance.parties.create(
            bodies.NewParty(
                party_type="INDIVIDUAL",
                first_name="Mira",
                last_name="Okafor",
                address=ADDRESS,
                external_id="cust-1",
                idempotency_key=KEY,
            )
        ),
        "/parties",
        {**PERSON, "idempotencyKey": KEY},
    ),
    "GET /parties": Case(lambda c: c.finance.parties.list(), "/parties", query=PAGE),
    "GET /parties/{id}": Case(lambda c: c.finance.parties.get("x1"), "/parties/x1"),
    "PATCH /parties/{id}": Case(
        lambda c: c.finance.parties.update(
            "x1", bodies.PartyChanges(version=4, first_name="Miriam")
        ),
        "/parties/x1",
        {"version": 4, "firstName": "Miriam"},
    ),
    "DELETE /parties/{id}": Case(lambda c: c.finance.parties.delete("x1"), "/parties/x1"),
    "POST /accounts": Case(
        lambda c: c.finance.accounts.create(
            bodies.NewAccount(
                external_id="t", name="T", chain="BASE", party_id="p1", idempotency_key=KEY
            )
        ),
        "/accounts",
        {"idempotencyKey": KEY, "externalId": "t", "name": "T", "chain": "BASE", "partyId": "p1"},
    ),
    "GET /accounts": Case(lambda c: c.finance.accounts.list(), "/accounts", query=PAGE),
    "GET /accounts/{id}": Case(lambda c: c.finance.accounts.get("a1"), "/accounts/a1"),
    "PATCH /accounts/{id}": Case(
        lambda c: c.finance.accounts.update("a1", bodies.AccountChanges(external_id="u")),
        "/accounts/a1",
        {"externalId": "u"},
    ),
    "DELETE /accounts/{id}": Case(lambda c: c.finance.accounts.delete("a1"), "/accounts/a1"),
    "POST /accounts/{accountId}/reactivate": Case(
        lambda c: c.finance.accounts.reactivate("a1"), "/accounts/a1/reactivate"
    ),
    "POST /accounts/{accountId}/party-roles": Case(
        lambda c: c.finance.party_roles.create(
            "a1", bodies.NewPartyRole(party_id="p1", role_type="ACCOUNT_HOLDER")
        ),
        "/accounts/a1/party-roles",
        {"partyId": "p1", "roleType": "ACCOUNT_HOLDER"},
    ),
    "GET /accounts/{accountId}/party-roles": Case(
        lambda c: c.finance.party_roles.all("a1"), "/accounts/a1/party-roles"
    ),
    "POST /accounts/{accountId}/wallets": Case(
        lambda c: c.finance.wallets.create("a1", bodies.NewWallet(chain="BASE")),
        "/accounts/a1/wallets",
        {"chain": "BASE"},
    ),
    "GET /accounts/{accountId}/wallets": Case(
        lambda c: c.finance.wallets.list("a1"), "/accounts/a1/wallets", query=PAGE
    ),
    "POST /accounts/{accountId}/virtual-bank-accounts": Case(
        lambda c: c.finance.virtual_bank_accounts.create(
            "a1",
            bodies.NewVirtualBankAccount(
                name="EUR", in_currency="EUR", target_cryptocurrency="USDC", idempotency_key=KEY
            ),
        ),
        "/accounts/a1/virtual-bank-accounts",
        {
            "idempotencyKey": KEY,
            "name": "EUR",
            "inCurrency": "EUR",
            "targetCryptocurrency": "USDC",
        },
    ),
    "GET /accounts/{accountId}/virtual-bank-accounts": Case(
        lambda c: c.finance.virtual_bank_accounts.list("a1"),
        "/accounts/a1/virtual-bank-accounts",
        query=PAGE,
    ),
    "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}": Case(
        lambda c: c.finance.virtual_bank_accounts.get("a1", "x1"),
        "/accounts/a1/virtual-bank-accounts/x1",
    ),
    "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions": Case(
        lambda c: c.finance.payment_sessions.create(
            "a1",
            bodies.NewPaymentSession(
                in_amount="480.50",
                in_currency="EUR",
                out_cryptocurrency="USDC",
                callback_url="https://shop.example.test/paid",
                success_redirect_url="https://shop.example.test/thanks",
                failure_redirect_url="https://shop.example.test/sorry",
                idempotency_key=KEY,
            ),
        ),
        "/accounts/a1/fiat-to-crypto/payment-sessions",
        {
            "idempotencyKey": KEY,
            "inAmount": "480.50",
            "inCurrency": "EUR",
            "outCryptocurrency": "USDC",
            "callbackUrl": "https://shop.example.test/paid",
            "successRedirectUrl": "https://shop.example.test/thanks",
            "failureRedirectUrl": "https://shop.example.test/sorry",
        },
    ),
    "POST /account-to-account-transfers": Case(
        lambda c: c.finance.account_to_account_transfers.create(
            bodies.NewAccountToAccountTransfer(
                source_account_id="a1",
                destination_account_id="a2",
                amount="10.250000",
                cryptocurrency="USDC",
                idempotency_key=KEY,
            )
        ),
        "/account-to-account-transfers",
        {
            "idempotencyKey": KEY,
            "sourceAccountId": "a1",
            "destinationAccountId": "a2",
            "amount": "10.250000",
            "cryptocurrency": "USDC",
        },
    ),
    "GET /account-to-account-transfers": Case(
        lambda c: c.finance.account_to_account_transfers.list(),
        "/account-to-account-transfers",
        query=PAGE,
    ),
    "POST /accounts/{senderAccountId}/transfers/crypto": Case(
        lambda c: c.finance.transfers.crypto(
            "a1",
            bodies.NewCryptoTransfer(
                chain="BASE",
                asset="USDC",
                amount="1250.25",
                receiver_account_id="a2",
                description="run 19",
                idempotency_key=KEY,
            ),
        ),
        "/accounts/a1/transfers/crypto",
        {
            "idempotencyKey": KEY,
            "amount": 1250.25,
            "receiverAccountId": "a2",
            "description": "run 19",
            "chain": "BASE",
            "asset": "USDC",
        },
    ),
    "POST /accounts/{senderAccountId}/transfers/fiat": Case(
        lambda c: c.finance.transfers.fiat(
            "a1",
            bodies.NewFiatTransfer(
                currency="EUR", amount=500, receiver_external_id="sup", idempotency_key=KEY
            ),
        ),
        "/accounts/a1/transfers/fiat",
        {"idempotencyKey": KEY, "amount": 500, "receiverExternalId": "sup", "currency": "EUR"},
    ),
    "POST /transfers": Case(
        lambda c: c.finance.transfers.create(
            "a1",
            bodies.NewFiatTransfer(
                currency="EUR", amount=500, receiver_account_id="a2", idempotency_key=KEY
            ),
        ),
        "/transfers",
        {
            "senderAccountId": "a1",
            "idempotencyKey": KEY,
            "amount": 500,
            "receiverAccountId": "a2",
            "currency": "EUR",
        },
    ),
    "GET /accounts/{accountId}/transfers": Case(
        lambda c: c.finance.transfers.list("a1"), "/accounts/a1/transfers", query=PAGE
    ),
    "GET /accounts/{accountId}/transfers/{transferId}": Case(
        lambda c: c.finance.transfers.get("a1", "x1"), "/accounts/a1/transfers/x1"
    ),
    "POST /payment-requests": Case(
        lambda c: c.finance.payment_requests.create(
            bodies.NewPaymentRequest(
                type="paymentology",
                reference_id="card-1",
                amount="63.90",
                currency="USD",
                external_id="tx-1",
                description="Card purchase",
                idempotency_key=KEY,
            )
        ),
        "/payment-requests",
        {
            "cardProviderReference": {"type": "paymentology", "referenceId": "card-1"},
            "paymentRequest": {
                "idempotencyKey": KEY,
                "amount": 63.9,
                "currency": "USD",
                "externalId": "tx-1",
                "description": "Card purchase",
            },
        },
    ),
}

SEPA = bodies.NewBankAccount(
    bank_account_type="EUR_SEPA",
    supported_ramp_type="ON_AND_OFF_RAMP",
    name="EUR payouts",
    bank_name="Test Bank",
    company_name="Harbour Lane Trading NV",
    bank_country="NL",
    beneficiary_address_line1="Kade 14",
    beneficiary_city="Ghent",
    beneficiary_postal_code="9000",
    beneficiary_country="BE",
    iban="NL05TEST0417164300",
    bic="TESTNL2A",
)

RAMP: dict[str, Case] = {
    "GET /company": Case(lambda c: c.ramp.company.get(), "/company"),
    "GET /company/users": Case(lambda c: c.ramp.users.all(), "/company/users"),
    "POST /company/users/invite": Case(
        lambda c: c.ramp.users.invite(
            bodies.Invitation(
                email="v@harbour.test", role="COMPANY_VIEWER", first_name="Tom", last_name="Bex"
            )
        ),
        "/company/users/invite",
        {
            "email": "v@harbour.test",
            "role": "COMPANY_VIEWER",
            "firstName": "Tom",
            "lastName": "Bex",
        },
    ),
    "GET /company-bank-accounts": Case(
        lambda c: c.ramp.bank_accounts.list(), "/company-bank-accounts", query=PAGE
    ),
    "POST /company-bank-accounts": Case(
        lambda c: c.ramp.bank_accounts.create(SEPA),
        "/company-bank-accounts",
        {
            "bankAccountType": "EUR_SEPA",
            "supportedRampType": "ON_AND_OFF_RAMP",
            "name": "EUR payouts",
            "bankName": "Test Bank",
            "companyName": "Harbour Lane Trading NV",
            "bankCountry": "NL",
            "beneficiaryAddressLine1": "Kade 14",
            "beneficiaryCity": "Ghent",
            "beneficiaryPostalCode": "9000",
            "beneficiaryCountry": "BE",
            "iban": "NL05TEST0417164300",
            "bic": "TESTNL2A",
        },
    ),
    "GET /company-bank-accounts/{id}": Case(
        lambda c: c.ramp.bank_accounts.get("x1"), "/company-bank-accounts/x1"
    ),
    "PATCH /company-bank-accounts/{id}": Case(
        lambda c: c.ramp.bank_accounts.update("x1", name="Main", version=4),
        "/company-bank-accounts/x1",
        {"version": 4, "name": "Main"},
    ),
    "GET /company-wallets": Case(lambda c: c.ramp.wallets.list(), "/company-wallets", query=PAGE),
    "POST /company-wallets": Case(
        lambda c: c.ramp.wallets.create(
            bodies.NewCompanyWallet(address="0xb7", chain="BASE", description="cold")
        ),
        "/company-wallets",
        {"address": "0xb7", "chain": "BASE", "description": "cold"},
    ),
    "GET /company-wallets/{id}": Case(lambda c: c.ramp.wallets.get("x1"), "/company-wallets/x1"),
    "PATCH /company-wallets/{id}": Case(
        lambda c: c.ramp.wallets.update("x1", description="hot", version=4),
        "/company-wallets/x1",
        {"version": 4, "description": "hot"},
    ),
    "GET /ramp-requests": Case(lambda c: c.ramp.requests.list(), "/ramp-requests", query=PAGE),
    "POST /ramp-requests": Case(
        lambda c: c.ramp.requests.create(
            bodies.NewRampRequest(
                ramp_type="ON_RAMP",
                amount="25000.10",
                fiat_currency_id="f1",
                crypto_currency_id="c1",
                company_wallet_id="w1",
            )
        ),
        "/ramp-requests",
        {
            "rampType": "ON_RAMP",
            "amount": 25000.1,
            "fiatCurrencyId": "f1",
            "cryptoCurrencyId": "c1",
            "companyWalletId": "w1",
        },
    ),
    "GET /ramp-requests/{id}": Case(lambda c: c.ramp.requests.get("x1"), "/ramp-requests/x1"),
    **{
        f"POST /ramp-requests/{{id}}/{verb}": Case(
            lambda c, verb=verb: getattr(c.ramp.requests, verb)("x1", version=4),
            f"/ramp-requests/x1/{verb}",
            VERSION,
        )
        for verb in ("approve", "reject", "cancel")
    },
    "PUT /ramp-requests/{id}/amount": Case(
        lambda c: c.ramp.requests.change_amount("x1", amount="30000", version=4),
        "/ramp-requests/x1/amount",
        {"version": 4, "amount": 30000},
    ),
    "PATCH /ramp-requests/{id}/tx-hash": Case(
        lambda c: c.ramp.requests.add_transaction_hash("x1", transaction_hash="0x4c", version=4),
        "/ramp-requests/x1/tx-hash",
        {"blockchainTransactionHash": "0x4c", "version": 4},
    ),
    "GET /ramp-requests/on-ramp/pairs": Case(
        lambda c: c.ramp.on_ramp_pairs.all(), "/ramp-requests/on-ramp/pairs"
    ),
    "GET /ramp-requests/off-ramp/pairs": Case(
        lambda c: c.ramp.off_ramp_pairs.all(), "/ramp-requests/off-ramp/pairs"
    ),
    "GET /fees": Case(lambda c: c.ramp.fees.all(), "/fees"),
    "POST /fees/calculate": Case(
        lambda c: c.ramp.fees.calculate(amount="25000", ramp_type="ON_RAMP"),
        "/fees/calculate",
        {"amount": 25000, "type": "ON_RAMP"},
    ),
    "GET /fiat-currencies": Case(lambda c: c.ramp.fiat_currencies.all(), "/fiat-currencies"),
    "GET /crypto-currencies": Case(lambda c: c.ramp.crypto_currencies.all(), "/crypto-currencies"),
    "GET /chains": Case(lambda c: c.ramp.chains.all(), "/chains"),
    "GET /bank-accounts/config": Case(lambda c: c.ramp.bank_config.all(), "/bank-accounts/config"),
}

CASES = {
    **{(f"/{service}/v1", name): case for service, table in (("finance", FINANCE), ("ramp", RAMP))
       for name, case in table.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    running = Recorder()
    yield running
    running.stop()


@pytest.fixture
def client(recorder: Recorder, credential: Credential) -> Iterator[Client]:
    with Client(recorder.services, credential) as opened:
        recorder.sent.clear()
        yield opened


@pytest.mark.parametrize(("base", "operation"), CASES, ids=lambda part: part)
def test_operation_sends_what_the_specification_says(
    recorder: Recorder, client: Client, base: str, operation: str
) -> None:
    case = CASES[base, operation]
    case.call(client)
    method = operation.partition(" ")[0]
    assert recorder.sent[-1] == (method, base + case.path, case.query, case.body)


def test_every_operation_is_declared_with_its_service() -> None:
    sent = {operation: base.split("/")[1] for base, operation in CASES}
    assert {operation: SERVICE_OF.get(operation) for operation in sent} == sent


def endpoints(document: str) -> set[str]:
    """Return the rows of a specification's endpoint tables."""
    text = (SPEC / document).read_text("utf-8")
    rows = re.findall(r"^\| (GET|POST|PUT|PATCH|DELETE) \| (/\S+) \|", text, re.MULTILINE)
    return {f"{method} {path}" for method, path in rows}


@pytest.mark.skipif(
    not SPEC.exists(), reason=f"no folder {SPEC}: not tested that no specified operation is missing"
)
@pytest.mark.parametrize(
    ("document", "table"), [("finance-service.md", FINANCE), ("ramp-service.md", RAMP)]
)
def test_no_operation_of_the_specifications_is_missing(document: str, table: dict) -> None:
    specified = endpoints(document)
    assert len(specified) > 20
    assert set(table) == specified


def test_the_ramp_request_is_checked_against_its_building_blocks(
    recorder: Recorder, client: Client
) -> None:
    RAMP["POST /ramp-requests"].call(client)
    assert [sent[:2] for sent in recorder.sent] == [
        ("GET", "/ramp/v1/company"),
        ("GET", "/ramp/v1/company-wallets/w1"),
        ("POST", "/ramp/v1/ramp-requests"),
    ]


def test_a_number_keeps_its_own_digits_on_the_wire(recorder: Recorder, client: Client) -> None:
    RAMP["POST /ramp-requests"].call(client)
    assert b'"amount":25000.10,' in recorder.content[-1]


@pytest.mark.acceptance
def test_every_result_names_its_credential(client: Client) -> None:
    records = [
        client.finance.parties.get("x1"),
        *client.finance.parties.list(),
        *client.finance.wallets.list("a1"),
        *client.finance.party_roles.all("a1"),
        *client.ramp.chains.all(),
        *client.ramp.bank_config.all(),
        client.ramp.fees.calculate(amount=1, ramp_type="ON_RAMP"),
        client.ramp.requests.approve("x1", version=4),
    ]
    assert {record.credential for record in records} == {"harbour-maker"}


def test_announced_operations_can_be_read(recorder: Recorder, client: Client) -> None:
    client.finance.wallets.permits("a1", "w1")
    client.finance.wallets.allowances("a1", "w1", "USDC")
    assert [sent[1:3] for sent in recorder.sent] == [
        ("/finance/v1/accounts/a1/wallets/w1/permits", ""),
        ("/finance/v1/accounts/a1/wallets/w1/allowances", "asset=USDC"),
    ]
