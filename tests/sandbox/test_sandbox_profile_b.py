"""Profile b: shapes, names and refusals of the published generation, for the same company."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from plain_http import plain_client

from treasury.sandbox import Sandbox

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples.json"
needs_examples = pytest.mark.skipif(
    not EXAMPLES.is_file(),
    reason=f"no file {EXAMPLES}: answers of profile b are not compared with its examples",
)
ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
OPERATIONS = "aaaa0793-25d6-433b-ae47-6f2de3994601"
MIRA = "f9aa0300-9ffd-4aec-a490-394c33507294"
LANE = "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
VIRTUAL = "ee9587b8-6b17-4fc2-a2aa-b68558866188"
ADDRESS = {
    "addressLine1": "Kade 14", "addressLine2": "Unit 3", "city": "Ghent", "state": "East Flanders",
    "postalCode": "9000", "country": "BE",
}  # fmt: skip
PERSON = {
    "partyType": "INDIVIDUAL", "firstName": "Noor", "lastName": "Aerts", "externalId": "cust-9",
    "address": ADDRESS,
}  # fmt: skip


@pytest.fixture(scope="module")
def b() -> Sandbox:
    return Sandbox(7, profile="b")


@pytest.fixture(scope="module")
def shared(b: Sandbox, caller_of: Callable[..., Any]) -> Iterator[Any]:
    """Return a maker on one sandbox, for tests that only read or are refused."""
    with b.serve() as running, plain_client() as client:
        yield caller_of(b, running, client, "maker")


@pytest.fixture
def own() -> Sandbox:
    return Sandbox(7, profile="b")


@pytest.fixture
def maker(own: Sandbox, caller_of: Callable[..., Any], http: httpx.Client) -> Iterator[Any]:
    with own.serve() as running:
        yield caller_of(own, running, http, "maker")


def outline(value: Any, path: str = "") -> set[tuple[str, str]]:
    """Return every path in a JSON value with its type."""
    if isinstance(value, dict):
        return {(path, "object")}.union(*(outline(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list):
        return {(path, "list")}.union(*(outline(v, f"{path}[]") for v in value))
    kinds = {bool: "bool", int: "number", float: "number", type(None): "null"}
    return {(path, kinds.get(type(value), "text"))}


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["code"]


def key() -> str:
    return str(uuid4())


def example(title: str) -> Any:
    return json.loads(EXAMPLES.read_text("utf-8"))[title]


# Shapes

READ: dict[str, str] = {
    # The title of an example with status 200, and the id in its path.
    "GET /parties": "", "GET /parties/{id}": LANE, "GET /accounts": "",
    "GET /accounts/{id}": ACCOUNT, "GET /accounts/{accountId}/party-roles": "",
    "GET /accounts/{accountId}/wallets": "", "GET /accounts/{accountId}/virtual-bank-accounts": "",
    "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}": VIRTUAL,
    "GET /accounts/{accountId}/transfers": "",
}  # fmt: skip


@needs_examples
@pytest.mark.parametrize("title", READ)
def test_a_read_record_has_the_keys_and_types_of_the_example(shared: Any, title: str) -> None:
    path = title.removeprefix("GET ").replace("{accountId}", ACCOUNT)
    body = shared.finance(re.sub(r"{\w+}", READ[title], path), size=1000).json()
    assert outline(body) == outline(example(f"{title} 200"))


SENT = {
    "receiverAccountId": OPERATIONS, "description": "Supplier run 19",
    "merchantReference": "run-19",
}  # fmt: skip
MADE: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "POST /parties 201": ("/parties", lambda: PERSON),
    "POST /accounts 201": (
        "/accounts", lambda: {"externalId": "e", "name": "E", "chain": "BASE", "partyId": MIRA},
    ),
    "POST /accounts/{accountId}/party-roles 201": (
        f"/accounts/{ACCOUNT}/party-roles",
        lambda: {"partyId": MIRA, "roleType": "ACCOUNT_HOLDER"},
    ),
    "POST /accounts/{accountId}/virtual-bank-accounts 201": (
        f"/accounts/{ACCOUNT}/virtual-bank-accounts",
        lambda: {
            "name": "EUR collections", "inCurrency": "EUR", "targetCryptocurrency": "USDC",
            "idempotencyKey": key(),
        },
    ),
    "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions 201": (
        f"/accounts/{ACCOUNT}/fiat-to-crypto/payment-sessions",
        lambda: {
            "inAmount": "480.50", "inCurrency": "EUR", "outCryptocurrency": "USDC",
            "callbackUrl": "https://localhost/paid", "externalRef": "inv-2211",
            "metadata": {"invoice": "2211"}, "idempotencyKey": key(),
        },
    ),
    "POST /accounts/{senderAccountId}/transfers/crypto 201": (
        f"/accounts/{ACCOUNT}/transfers/crypto",
        lambda: {
            "chain": "BASE", "asset": "USDC", "amount": 12.25, "idempotencyKey": key(), **SENT,
        },
    ),
    "POST /accounts/{senderAccountId}/transfers/fiat 201": (
        f"/accounts/{ACCOUNT}/transfers/fiat",
        lambda: {"currency": "EUR", "amount": 500, "idempotencyKey": key(), **SENT},
    ),
    "POST /payment-requests 201": (
        "/payment-requests",
        lambda: {
            "cardProviderReference": {"type": "paymentology", "referenceId": "ops-usd"},
            "paymentRequest": {
                "amount": 63.9, "currency": "USD", "externalId": "card-tx-881",
                "description": "Card purchase", "idempotencyKey": key(),
            },
        },
    ),
}  # fmt: skip


@pytest.mark.first_case
@needs_examples
@pytest.mark.parametrize("title", MADE)
def test_a_created_record_has_the_keys_and_types_of_its_example(maker: Any, title: str) -> None:
    path, body = MADE[title]
    answer = maker.write("POST", path, body())
    assert answer.status_code == 201, answer.text
    assert outline(answer.json()) == outline(example(title))


@needs_examples
@pytest.mark.parametrize("title", MADE)
def test_the_body_of_the_specification_profile_has_all_keys_of_the_example(
    callers: dict[str, Any], title: str
) -> None:
    path, body = MADE[title]
    left_out = {"merchantReference", "externalRef", "invoice", "metadata"}
    sent = {name: value for name, value in body().items() if name not in left_out}
    answer = callers["maker"].write("POST", path, sent)
    assert answer.status_code == 201, answer.text
    lacking = outline(example(title)) - outline(answer.json())
    assert {found.rpartition(".")[2] for found, _ in lacking} <= left_out


@needs_examples
def test_a_changed_party_has_the_keys_and_types_of_its_example(maker: Any) -> None:
    answer = maker.write("PATCH", f"/parties/{MIRA}", {"firstName": "Miriam", "version": 1})
    assert outline(answer.json()) == outline(example("PATCH /parties/{id} 200"))


@needs_examples
@pytest.mark.parametrize(
    ("title", "method", "path", "body"),
    [
        ("POST /parties 400", "POST", "/parties", {"partyType": "INDIVIDUAL", "firstName": "x"}),
        ("GET /accounts/{id} 404", "PATCH", "/parties/nobody", None),
        ("PUT /parties 405", "PUT", "/parties", {}),
        ("POST /parties 415", "POST", "/parties", None),
    ],
)
def test_a_refusal_has_the_shape_of_its_example(
    shared: Any, title: str, method: str, path: str, body: object
) -> None:
    if title.endswith("404"):
        answer = shared.finance("/accounts/nobody")
    elif title.endswith("415"):
        headers = {**shared._headers, "Content-Type": "text/plain"}
        answer = shared._http.post(
            f"{shared.served.finance_url}{path}", content="x", headers=headers
        )
    else:
        answer = shared.write(method, path, body)
    expected = example(title)
    assert answer.status_code == int(title[-3:])
    assert answer.json()["errors"][0]["code"] == expected["errors"][0]["code"]


def test_a_call_without_a_token_has_the_error_code_of_this_profile(shared: Any) -> None:
    answer = httpx.get(f"{shared.served.finance_url}/accounts")
    assert code_of(answer) == (401, "unauthenticated")


# Names


def test_verification_statuses_have_the_names_of_this_profile(own: Sandbox, maker: Any) -> None:
    seen = []
    for status in ("PENDING", "IN_PROGRESS", "MANUAL_REVIEW", "REJECTED", "VERIFIED"):
        own.finance.kyc(MIRA, status)
        own.finance.kyc(LANE, status)
        seen.append(
            (
                maker.finance(f"/parties/{MIRA}").json()["result"]["kycStatus"],
                maker.finance(f"/parties/{LANE}").json()["result"]["kybStatus"],
            )
        )
    waiting = ("VERIFICATION_PENDING", "PENDING")
    assert seen == [waiting, waiting, waiting, ("REJECTED", "DENIED"), ("VERIFIED", "VERIFIED")]


def test_a_processing_transfer_is_pending_also_in_the_filter(shared: Any) -> None:
    pending = 0
    for account in shared.finance("/accounts").json()["result"]:
        path = f"/accounts/{account['id']}/transfers"
        every = shared.finance(path, size=1000).json()["result"]
        asked = shared.finance(path, size=1000, status="PENDING").json()["result"]
        assert "PROCESSING" not in {transfer["status"] for transfer in every}
        assert asked == [transfer for transfer in every if transfer["status"] == "PENDING"]
        pending += sum("transactionHash" in transfer for transfer in asked)
    assert pending


def test_a_blocked_account_is_shown_as_closed(own: Sandbox, maker: Any) -> None:
    own.finance.account_status(ACCOUNT, "BLOCKED")
    found = maker.finance("/accounts", status="CLOSED").json()["result"]
    assert [(account["id"], account["status"]) for account in found] == [(ACCOUNT, "CLOSED")]


# Rules


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", f"/accounts/{ACCOUNT}/wallets", 405),
        ("PATCH", f"/accounts/{ACCOUNT}", 405),
        ("DELETE", f"/accounts/{ACCOUNT}", 405),
        ("POST", f"/accounts/{ACCOUNT}/reactivate", 404),
        ("POST", "/transfers", 404),
        ("POST", "/account-to-account-transfers", 404),
        ("GET", "/account-to-account-transfers", 404),
    ],
)
def test_operations_that_this_profile_omits_are_absent(
    shared: Any, method: str, path: str, status: int
) -> None:
    assert shared.write(method, path, {}).status_code == status


def test_an_account_is_created_with_its_wallet(maker: Any) -> None:
    body = {"externalId": "e", "chain": "AVALANCHE", "partyId": MIRA}
    account = maker.write("POST", "/accounts", body).json()["result"]
    (wallet,) = maker.finance(f"/accounts/{account['id']}/wallets").json()["result"]
    assert (wallet["chain"], wallet["balances"]) == ("AVALANCHE", [])


def test_an_idempotency_key_of_a_party_is_ignored(own: Sandbox, maker: Any) -> None:
    body = PERSON | {"idempotencyKey": str(UUID(int=1, version=4))}
    ids = {maker.write("POST", "/parties", body).json()["result"]["id"] for _ in range(2)}
    assert len(ids) == len(own.finance.effects()) == 2


def test_a_party_changes_only_with_its_version(maker: Any) -> None:
    refused = maker.write("PATCH", f"/parties/{MIRA}", {"firstName": "Miriam"})
    assert code_of(refused) == (400, "invalid-request")
    stale = maker.write("PATCH", f"/parties/{MIRA}", {"firstName": "Miriam", "version": 0})
    assert code_of(stale) == (409, "concurrent-modification")


def test_an_unverified_account_cannot_send_or_receive(maker: Any) -> None:
    body = {"externalId": "e", "chain": "BASE", "partyId": MIRA}
    account = maker.write("POST", "/accounts", body).json()["result"]["id"]
    expected = {
        "virtual-bank-accounts": (400, "kyc-not-verified"),
        "fiat-to-crypto/payment-sessions": (422, "kyc-required"),
        "transfers/crypto": (422, "kyc-not-verified"),
        "transfers/fiat": (422, "kyc-not-verified"),
    }
    for path, refusal in expected.items():
        sent = next(make() for made, make in MADE.values() if made == f"/accounts/{ACCOUNT}/{path}")
        assert code_of(maker.write("POST", f"/accounts/{account}/{path}", sent)) == refusal
    payment = MADE["POST /payment-requests 201"][1]()
    payment["cardProviderReference"]["referenceId"] = account
    assert code_of(maker.write("POST", "/payment-requests", payment)) == (400, "account-not-active")


@pytest.mark.parametrize(
    ("path", "outside"),
    [
        ("crypto", {"destinationAddress": "0x" + "ab" * 20}),
        ("fiat", {"bankAccount": {"iban": "NL05TEST0417164300", "beneficiaryName": "x"}}),
    ],
)
def test_a_transfer_to_an_address_or_bank_account_is_refused(
    shared: Any, path: str, outside: dict[str, Any]
) -> None:
    body = {
        "crypto": {"chain": "BASE", "asset": "USDC"}, "fiat": {"currency": "EUR"},
    }[path] | {"amount": 1, "idempotencyKey": key(), **outside}  # fmt: skip
    answer = shared.write("POST", f"/accounts/{ACCOUNT}/transfers/{path}", body)
    assert code_of(answer) == (400, "invalid-request")


def test_a_used_key_and_an_empty_wallet_have_the_error_codes_of_this_profile(maker: Any) -> None:
    path = f"/accounts/{ACCOUNT}/transfers/crypto"
    body = MADE["POST /accounts/{senderAccountId}/transfers/crypto 201"][1]()
    much = maker.write("POST", path, body | {"amount": 9_000_000})
    assert code_of(much) == (422, "insufficient-funds")
    assert code_of(maker.write("POST", path, body)) == (422, "idempotency-conflict")
