"""The client has the fields of the published services, and works with them over a real socket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from fake_service import HandClock

from treasury.api import Client
from treasury.api.models import finance_models as finance
from treasury.api.models import ramp_models
from treasury.core.errors import (
    Forbidden,
    InsufficientFunds,
    InvalidRequest,
    NotFound,
    NotOffered,
    OutcomeUnknown,
    ServiceError,
)
from treasury.core.settings import Credential, Service, Services
from treasury.sandbox import Sandbox

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
PUBLISHED = Path(__file__).parents[3] / "shared" / "spec" / "published.md"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_file(),
    reason=f"no file {PUBLISHED}: models are not compared with the published fields",
)
OUR_WORD = {
    # Schemas of the contract, and the names of their models if these differ.
    "RampRequestEvent": "RampEvent", "User": "CompanyUser", "UserCompany": "Company",
    "TokenBalance": "Balance", "PermitMessage": "Permit", "SettlementAsset": "Token",
}  # fmt: skip
NO_RECORD = {
    # Requests, envelopes, data read into another shape, and data that the client never requests.
    "Pagination", "ErrorBody", "ErrorResponse", "Sort", "CardProviderReference",
    "PaymentRequestReference", "CryptoBalance", "PaymentRequestAmount", "Eip712TypeEntry",
    "Eip712Domain", "PermitData", "Eip712PermitMessage", "PermitSignature", "PermitResult",
    "CompanyClaim", "AuthenticatedUserPrincipal", "FiatPairItem", "CryptoPairItem", "OnRampPair",
    "OffRampPair", "SupportedChains", "BankAccountType", "Country", "CurrencyItem",
    "BankAccountConfig",
}  # fmt: skip
REQUESTS = ("Create", "Update", "Submit", "Settle", "Reverse", "Edit", "Add", "CalculateF", "CardP")
KINDS = "EurSepa|GbpFps|GbpChaps|UsAch|UsWire|UsSwift|OtherCurrencySwift"


@needs_published
@pytest.mark.parametrize(("service", "models"), [("Finance", finance), ("Ramp", ramp_models)])
def test_every_published_field_of_a_record_has_a_field_of_its_model(
    service: str, models: object
) -> None:
    text = PUBLISHED.read_text("utf-8").partition(f"## {service}: schemas\n")[2]
    compared = 0
    for schema, said in re.findall(
        r"^- \*\*(\w+)\*\*: (.+)$", text.partition("\n## ")[0], re.MULTILINE
    ):
        name = re.sub(f"^({KINDS})", "", schema)
        name = re.sub("(Dto|ListItem)$", "", name)
        names = re.sub(r"[\[{][^\]}]*[\]}]", "", said).split(", ")
        is_request = schema.startswith(REQUESTS) and schema != "Address"
        if is_request or name in NO_RECORD or all(one.isupper() for one in names):
            continue
        model = getattr(models, OUR_WORD.get(name, name))
        ours = {field.encode_name for field in msgspec.structs.fields(model)}
        secret = {"invitationUrl"} if model is ramp_models.CompanyUser else set()
        assert {one.split()[0] for one in names} - ours == secret, schema
        compared += len(names)
    assert compared > 100


@pytest.fixture(params=["spec", "b"])
def generation(
    request: pytest.FixtureRequest, hand_clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Sandbox, Client]]:
    """Yield the name of a service generation, its sandbox and a client."""
    sandbox = Sandbox(7, profile=request.param)
    client_id, secret = sandbox.credentials["maker"]
    monkeypatch.setenv("PUBLISHED_SECRET", secret)
    with sandbox.serve() as served:
        services = Services(
            token_url=served.token_url,
            finance=Service(served.finance_url),
            ramp=Service(served.ramp_url),
        )
        credential = Credential(client_id, "env:PUBLISHED_SECRET")
        with Client(services, credential, clock=hand_clock.clock()) as client:
            yield request.param, sandbox, client


def test_operations_missing_from_a_generation_are_not_offered_and_unknown_records_not_found(
    generation: tuple[str, Sandbox, Client],
) -> None:
    profile, sandbox, client = generation
    finance = client.finance
    (wallet,) = finance.wallets.iterate(ACCOUNT)
    its_id = wallet.value.id
    assert its_id is not None
    with pytest.raises(NotFound):
        finance.accounts.reactivate("nobody")
    if profile == "b":
        with pytest.raises(NotOffered) as caught:
            finance.accounts.reactivate(ACCOUNT)
        assert caught.value.by_service
        permits = finance.wallets.permits(ACCOUNT, its_id)
        signed = {
            "supportedAssetId": permits[0].value.supported_asset_id,
            "signature": {"v": "27", "r": "0x" + "1" * 64, "s": "0x" + "2" * 64},
        }
        route = "/accounts/{accountId}/wallets/{walletId}/permits"
        client.request("POST", route, ACCOUNT, its_id, body=signed)
        sandbox.clock.advance(minutes=1)
        asset = permits[0].value.asset
        assert asset is not None
        (allowance,) = finance.wallets.allowances(ACCOUNT, its_id, asset)
        assert allowance.value.is_unlimited
        return
    sandbox.finance.suspend_account(ACCOUNT)
    assert finance.accounts.reactivate(ACCOUNT).value.status == "ACTIVE"
    for ask in (
        lambda: finance.wallets.permits(ACCOUNT, its_id),
        lambda: finance.wallets.allowances(ACCOUNT, its_id, "USDC"),
    ):
        with pytest.raises(NotOffered):
            ask()
    with pytest.raises(NotFound):
        finance.wallets.permits(ACCOUNT, "nobody")


PAYMENTS = "/accounts/{accountId}/payment-requests"
UNKNOWN = "00000000-0000-4000-8000-00000000ffff"


@pytest.mark.parametrize("generation", ["b"], indirect=True)
@pytest.mark.parametrize(
    ("route", "ids", "body", "error"),
    [
        (PAYMENTS, (ACCOUNT,), {}, InvalidRequest),
        (PAYMENTS, (ACCOUNT,), {"amount": 1e9}, InsufficientFunds),
        (PAYMENTS, (UNKNOWN,), {"amount": 1}, NotFound),
    ],
)
def test_a_refused_write_without_its_own_table_row_is_a_refusal(
    generation: tuple[str, Sandbox, Client],
    route: str,
    ids: tuple[str, ...],
    body: dict[str, object],
    error: type[ServiceError],
) -> None:
    _, _, client = generation
    whole = {"amount": 1, "currency": "USD", "idempotencyKey": UNKNOWN} | body if body else {}
    with pytest.raises(error) as caught:
        client.request("POST", route, *ids, body=whole)
    assert not isinstance(caught.value, OutcomeUnknown)
    assert not caught.value.may_have_executed


@pytest.mark.parametrize("generation", ["b"], indirect=True)
def test_a_refused_change_of_a_user_s_role_is_forbidden(
    generation: tuple[str, Sandbox, Client],
) -> None:
    _, _, client = generation
    with pytest.raises(Forbidden):
        client.request(
            "PUT", "/company/users/{userId}/role", UNKNOWN, service="ramp",
            body={"role": "COMPANY_VIEWER"},
        )  # fmt: skip


@pytest.mark.parametrize("generation", ["b"], indirect=True)
def test_the_csv_export_is_a_file(generation: tuple[str, Sandbox, Client]) -> None:
    _, _, client = generation
    reply = client.request("GET", "/ramp-requests/export", service="ramp")
    assert reply.file is not None
    header, *lines = reply.file.decode().splitlines()
    assert header.startswith("id,")
    assert len(lines) == len(list(client.ramp.requests.iterate()))


def test_an_account_s_party_roles_are_read(generation: tuple[str, Sandbox, Client]) -> None:
    profile, _, client = generation
    roles = client.finance.accounts.get(ACCOUNT).value.party_roles
    if profile == "b":
        assert roles is None
        return
    assert roles is not None
    assert {role.role_type for role in roles} == {"ACCOUNT_HOLDER"}
    assert all(role.party is not None and role.party.id == role.party_id for role in roles)
