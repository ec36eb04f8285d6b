"""Profile b has every operation and body field of the published generation, and they work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import httpx
import msgspec
import pytest
from plain_http import plain_client

from treasury.sandbox import Sandbox
from treasury.sandbox.finance.finance_routes import routes as finance_routes
from treasury.sandbox.http.exchange import Route
from treasury.sandbox.ramp.ramp_routes import routes as ramp_routes

PUBLISHED = Path(__file__).parents[3] / "shared" / "spec" / "published.md"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_file(),
    reason=f"no file {PUBLISHED}: profile b is not compared with the published operations",
)
ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
LANE = "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
EUR, GBP = "4de2c612-1e9f-4952-a7e5-b9d024c8b985", "e5398c3d-acbe-41b8-a68c-aecc62c68ac7"
USDC = "f8dc33c7-ec5a-4e80-aec7-41e372696fbe"
PAYOUT = "730a509f-01e5-4fe6-a06d-7604e397da93"
NEWCOMER = "0d4a5a7e-51a0-4a0e-9c1b-6a3f0b7f2e11"
ADDRESS = "0x" + "ab" * 20
TABLES: dict[str, tuple[Route, ...]] = {"Finance": finance_routes("b"), "Ramp": ramp_routes("b")}


@pytest.fixture
def own() -> Sandbox:
    return Sandbox(7, profile="b")


@pytest.fixture
def desk(own: Sandbox, caller_of: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    with own.serve() as served, plain_client() as client:
        yield {name: caller_of(own, served, client, name) for name in own.credentials}


def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()["result"]


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["code"]


# The contract


def section(title: str) -> str:
    text = PUBLISHED.read_text("utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def shape(route: str) -> str:
    """Return a route without the names of its placeholders."""
    return re.sub(r"{\w+}", "{}", route)


@needs_published
@pytest.mark.parametrize("service", TABLES)
def test_exactly_the_operations_of_the_published_contract_exist(service: str) -> None:
    listed = re.findall(r"^- `(\w+ [^`]+)`", section(f"{service}: operations"), re.MULTILINE)
    ours = {shape(f"{route.method} {route.path}") for route in TABLES[service]}
    assert {shape(one) for one in listed} == ours


@needs_published
@pytest.mark.parametrize("service", TABLES)
def test_every_field_of_a_published_body_is_accepted(service: str) -> None:
    schemas = dict(
        re.findall(r"^- \*\*(\w+)\*\*: (.+)$", section(f"{service}: schemas"), re.MULTILINE)
    )
    named = re.findall(
        r"^- `(\w+ [^`]+)` body (\w+)", section(f"{service}: operations"), re.MULTILINE
    )
    assert named
    taken = {shape(f"{route.method} {route.path}"): route.takes for route in TABLES[service]}
    for operation, body in named:
        plain = re.sub(r"[\[{][^\]}]*[\]}]", "", schemas[body])
        fields = {part.split()[0].rstrip("*") for part in plain.split(", ")}
        types = get_args(taken[shape(operation)]) or (taken[shape(operation)],)
        ours = {field.encode_name for kind in types for field in msgspec.structs.fields(kind)}
        ours |= {msgspec.inspect.type_info(kind).tag_field or "" for kind in types}
        assert fields - ours == set(), operation


# Finance


def test_an_account_accepts_its_own_network_wallet_and_card(desk: dict[str, Any]) -> None:
    maker = desk["maker"]
    body = {
        "externalId": "own-1", "chain": "POLYGON", "partyId": LANE, "address": ADDRESS,
        "cardProviderReference": {"type": "paymentology", "referenceId": "card-9"},
    }  # fmt: skip
    account = done(maker.write("POST", "/accounts", body), 201)["id"]
    (wallet,) = maker.finance(f"/accounts/{account}/wallets").json()["result"]
    assert (wallet["type"], wallet["address"], wallet["chain"]) == (
        "SELF_CUSTODY", ADDRESS, "POLYGON",
    )  # fmt: skip
    payment = {
        "cardProviderReference": body["cardProviderReference"],
        "paymentRequest": {"amount": 5, "currency": "USD", "idempotencyKey": "no-uuid"},
    }
    assert code_of(maker.write("POST", "/payment-requests", payment)) == (402, "insufficient-funds")
    managed = maker.finance(f"/accounts/{ACCOUNT}/wallets").json()["result"]
    assert {one["type"] for one in managed} == {"VENLY_MANAGED"}


def test_a_party_accepts_a_partial_address(desk: dict[str, Any]) -> None:
    maker = desk["maker"]
    person = {"partyType": "INDIVIDUAL", "firstName": "Noor", "lastName": "Aerts"}
    made = done(maker.write("POST", "/parties", person | {"address": {"city": "Ghent"}}), 201)
    assert made["address"] == {"city": "Ghent"}
    change = {"version": made["version"], "address": {"country": "BE"}}
    assert done(maker.write("PATCH", f"/parties/{made['id']}", change))["address"] == {
        "country": "BE"
    }


def test_a_role_is_removed(desk: dict[str, Any]) -> None:
    maker, path = desk["maker"], f"/accounts/{ACCOUNT}/party-roles"
    assert [role["partyId"] for role in done(maker.finance(path))] == [LANE]
    assert maker.write("DELETE", f"{path}/{LANE}").status_code == 204
    assert done(maker.finance(path)) == []
    assert maker.write("DELETE", f"{path}/{LANE}").status_code == 404


@pytest.mark.parametrize("currency", ["EUR", "USD", "GBP"])
def test_a_fiat_transfer_accepts_any_currency(desk: dict[str, Any], currency: str) -> None:
    other = "aaaa0793-25d6-433b-ae47-6f2de3994601"
    body = {"receiverAccountId": other, "currency": currency, "amount": 10, "idempotencyKey": "k"}
    made = done(desk["maker"].write("POST", f"/accounts/{ACCOUNT}/transfers/fiat", body), 201)
    assert made["fiatOrigin"]["currency"] == currency
    assert made["fiatOrigin"]["amount"] == 10


def test_a_key_is_any_text_and_another_body_for_a_virtual_account_is_409(
    desk: dict[str, Any],
) -> None:
    maker, path = desk["maker"], f"/accounts/{ACCOUNT}/virtual-bank-accounts"
    body = {
        "name": "Shop", "inCurrency": "EUR", "targetCryptocurrency": "USDC",
        "idempotencyKey": "shop/1",
    }  # fmt: skip
    first = done(maker.write("POST", path, body), 201)
    assert done(maker.write("POST", path, body), 201) == first
    other = maker.write("POST", path, body | {"name": "Other"})
    assert code_of(other) == (409, "idempotency-conflict")


def test_a_session_accepts_any_reference_text_and_keeps_its_metadata(
    desk: dict[str, Any],
) -> None:
    path = f"/accounts/{ACCOUNT}/fiat-to-crypto/payment-sessions"
    body = {
        "inAmount": "5.00", "inCurrency": "EUR", "outCryptocurrency": "USDC",
        "callbackUrl": "http://127.0.0.1:9/paid", "idempotencyKey": "s-1",
        "metadata": {"order": {"lines": 2}},
    }  # fmt: skip
    made = done(desk["maker"].write("POST", path, body), 201)
    assert made["externalRef"] == ""
    assert made["metadata"] == {"order": {"lines": 2}}
    named = body | {"externalRef": "order-7", "idempotencyKey": "s-2"}
    assert done(desk["maker"].write("POST", path, named), 201)["externalRef"] == "order-7"


CARD = {"type": "paymentology", "referenceId": ACCOUNT}


def requested(maker: Any, key: str, amount: float = 100) -> dict[str, Any]:
    body = {
        "cardProviderReference": CARD,
        "paymentRequest": {
            "amount": amount, "currency": "USD", "externalId": key, "idempotencyKey": key,
        },
    }  # fmt: skip
    made: dict[str, Any] = done(maker.write("POST", "/payment-requests", body), 201)
    return made


@pytest.mark.parametrize(
    ("asked", "status", "settled"),
    [(100, "SETTLED", 100), (60, "SETTLED", 60), (130, "SETTLED_WITH_SHORTFALL", 100)],
)
def test_a_payment_is_settled_up_to_its_reserved_amount(
    own: Sandbox, desk: dict[str, Any], asked: float, status: str, settled: float
) -> None:
    maker = desk["maker"]
    made = requested(maker, "p-1")
    body = {"amount": asked, "currency": "USD", "idempotencyKey": "s-1"}
    path = f"/payment-requests/{made['id']}/settlements"
    going = done(maker.write("POST", path, body), 202)
    assert (going["status"], going["settlementAmount"]["fiat"]) == ("SETTLING", asked)
    assert done(maker.write("POST", path, body), 202) == going
    own.clock.advance(minutes=1)
    assert code_of(maker.write("POST", path, body | {"idempotencyKey": "s-2"}))[0] == 400
    kept = own._world.store.detail("payment_request", made["id"])
    ended = json.loads(kept)
    assert (ended["status"], ended["settledAmount"]["fiat"]) == (status, settled)
    assert ("shortfallAmount" in ended) is (status == "SETTLED_WITH_SHORTFALL")
    assert own._world.ledger.under_way(made["id"]) == []
    assert set(own.finance.ledger_sums().values()) == {0}


def test_a_payment_named_by_its_card_is_settled_or_reversed(
    own: Sandbox, desk: dict[str, Any]
) -> None:
    maker = desk["maker"]
    before = own.finance.ledger_balances()
    requested(maker, "p-1")
    named = {"paymentRequestReference": {"cardProviderReference": CARD, "externalId": "p-1"}}
    reason = {"reason": "MERCHANT_VOID", "description": "Order withdrawn", "idempotencyKey": "r"}
    going = done(maker.write("POST", "/payment-requests/reversals", named | reason), 202)
    assert (going["status"], going["reversalDescription"]) == ("REVERSING", "Order withdrawn")
    own.clock.advance(minutes=1)
    assert own.finance.ledger_balances() == before
    unknown = {"paymentRequestReference": {"cardProviderReference": CARD, "externalId": "none"}}
    body = {"amount": 5, "currency": "USD", "idempotencyKey": "x"}
    settle = "/payment-requests/settlements"
    assert maker.write("POST", settle, unknown | body).status_code == 404
    requested(maker, "p-2")
    named["paymentRequestReference"]["externalId"] = "p-2"
    body = {"amount": 100, "currency": "USD", "idempotencyKey": "y"}
    assert done(maker.write("POST", settle, named | body), 202)["status"] == "SETTLING"


def test_the_amount_of_a_payment_can_be_increased_and_decreased(
    own: Sandbox, desk: dict[str, Any]
) -> None:
    maker = desk["maker"]
    body = {"amount": 40, "currency": "USD", "idempotencyKey": "p", "description": "Card"}
    made = done(maker.write("POST", f"/accounts/{ACCOUNT}/payment-requests", body), 201)
    path = f"/payment-requests/{made['id']}"
    for amount, kind in ((70, "INCREMENTAL_AUTHORIZATION"), (25, "AUTHORIZATION_ADJUSTMENT")):
        change = {"amount": amount, "currency": "USD", "idempotencyKey": f"c{amount}"}
        changed = done(maker.write("PATCH", path, change))
        assert changed["amount"] == {"fiat": amount, "crypto": f"{amount}.000000"}
        assert changed["originalAmount"]["fiat"] == 40
        assert changed["executions"][-1]["type"] == kind
        ((_, _, reserved),) = own._world.ledger.under_way(made["id"])
        assert reserved == amount
    much = {"amount": 99_000_000, "currency": "USD", "idempotencyKey": "much"}
    assert code_of(maker.write("PATCH", path, much)) == (402, "insufficient-funds")


def test_a_signed_permit_becomes_an_allowance(own: Sandbox, desk: dict[str, Any]) -> None:
    maker = desk["maker"]
    (wallet,) = done(maker.finance(f"/accounts/{ACCOUNT}/wallets"))
    path = f"/accounts/{ACCOUNT}/wallets/{wallet['id']}"
    permit = next(one for one in done(maker.finance(f"{path}/permits")) if one["asset"] == "USDC")
    assert permit["status"] == "PENDING"
    assert permit["typedData"]["message"]["owner"] == wallet["address"]
    (none,) = done(maker.finance(f"{path}/allowances", asset="USDC"))
    assert none["allowance"] == "0"
    signed = {
        "supportedAssetId": permit["supportedAssetId"],
        "signature": {"v": "27", "r": "0x" + "1" * 64, "s": "0x" + "2" * 64},
    }
    first = done(maker.write("POST", f"{path}/permits", signed))
    assert (first["status"], first["skipped"]) == ("SUBMITTED", False)
    own.clock.advance(minutes=1)
    again = done(maker.write("POST", f"{path}/permits", signed))
    assert (again["id"], again["status"], again["skipped"]) == (first["id"], "CONFIRMED", True)
    (given,) = done(maker.finance(f"{path}/allowances", asset="USDC"))
    assert given["allowance"] == str(2**256 - 1)
    assert maker.finance(f"/accounts/{ACCOUNT}/wallets/nobody/permits").status_code == 404


# Ramp


def test_an_off_ramp_is_submitted_with_its_hash(desk: dict[str, Any]) -> None:
    body = {
        "rampType": "OFF_RAMP", "amount": 100, "fiatCurrencyId": EUR, "cryptoCurrencyId": USDC,
        "companyBankAccountId": PAYOUT,
    }  # fmt: skip
    made = done(desk["maker"].ramp_write("POST", "/ramp-requests", body), 201)
    desk["checker"].decide(f"{made['id']}/approve", {"version": 1})
    given = {"version": 2, "blockchainTransactionHash": "0x" + "c" * 64}
    path = f"/ramp-requests/{made['id']}/initiate"
    started = done(desk["maker"].ramp_write("PATCH", path, given))
    assert (started["status"], started["version"]) == ("PROCESSING", 3)
    assert started["blockchainTransactionHash"] == given["blockchainTransactionHash"]


def test_all_requests_are_exported_as_a_file(desk: dict[str, Any]) -> None:
    viewer = desk["viewer"]
    answer = viewer.ramp("/ramp-requests/export")
    assert answer.headers["content-type"].startswith("text/csv")
    head, *lines = answer.text.splitlines()
    assert head.startswith("id,paymentReference,rampType,status,fiatAmount,fiatCurrency")
    assert len(lines) == viewer.ramp("/ramp-requests").json()["pagination"]["numberOfElements"]


def test_a_single_currency_and_a_deposit_wallet_can_be_read(desk: dict[str, Any]) -> None:
    viewer = desk["viewer"]
    assert done(viewer.ramp(f"/fiat-currencies/{GBP}"))["currency"] == "GBP"
    assert done(viewer.ramp(f"/crypto-currencies/{USDC}"))["chain"] == "BASE"
    assert viewer.ramp(f"/fiat-currencies/{USDC}").status_code == 404
    chains = {wallet["chain"] for wallet in done(viewer.ramp("/deposit-wallets"))}
    assert chains == {"BASE", "ETHEREUM", "POLYGON"}
    (one,) = done(viewer.ramp("/deposit-wallets", chain="POLYGON"))
    assert one["chain"] == "POLYGON"


def test_currency_pairs_and_users_require_a_scope(desk: dict[str, Any]) -> None:
    for path in ("/ramp-requests/on-ramp/pairs", "/ramp-requests/off-ramp/pairs"):
        assert desk["viewer"].ramp(path).status_code == 403
        assert desk["maker"].ramp(path).status_code == 200
    assert desk["maker"].ramp("/company/users").status_code == 403
    assert desk["checker"].ramp("/company/users").status_code == 200


def test_the_user_of_a_token_can_be_read(desk: dict[str, Any]) -> None:
    told = done(desk["maker"].ramp("/auth/user"))
    assert (told["username"], told["realmRoles"]) == ("maker", ["COMPANY_MANAGER"])
    assert told["company"]["name"] == "Harbour Lane Trading NV"


def test_an_administrator_changes_users_and_their_roles(desk: dict[str, Any]) -> None:
    checker, viewer = desk["checker"], desk["viewer"]
    its_id = done(viewer.ramp("/auth/user"))["userId"]
    path = f"/company/users/{its_id}"
    changed = done(checker.ramp_write("PUT", f"{path}/role", {"role": "COMPANY_MANAGER"}))
    assert changed["role"] == "COMPANY_MANAGER"
    assert viewer.ramp("/ramp-requests/on-ramp/pairs").status_code == 200
    changed = done(checker.ramp_write("PATCH", f"{path}/status", {"enabled": False}))
    assert changed["enabled"] is False
    assert viewer.ramp("/fees").status_code == 401
    assert checker.ramp_write("DELETE", f"/company/users/{NEWCOMER}", {}).status_code == 200
    left = {user["id"] for user in done(checker.ramp("/company/users"))}
    assert NEWCOMER not in left
    own_id = done(checker.ramp("/auth/user"))["userId"]
    refused = checker.ramp_write("PATCH", f"/company/users/{own_id}/status", {"enabled": False})
    assert refused.status_code == 403


def test_a_bank_account_can_be_updated_without_a_new_name(desk: dict[str, Any]) -> None:
    checker = desk["checker"]
    was = done(checker.ramp(f"/company-bank-accounts/{PAYOUT}"))
    path = f"/company-bank-accounts/{PAYOUT}"
    now = done(checker.ramp_write("PATCH", path, {"version": was["version"]}))
    assert (now["name"], now["version"]) == (was["name"], was["version"] + 1)
