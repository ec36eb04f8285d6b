"""An idempotency key gives one effect and one answer per body, even after a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from treasury.sandbox import Sandbox

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
OPERATIONS = "aaaa0793-25d6-433b-ae47-6f2de3994601"
LANE = "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
KEY = str(UUID(int=1, version=4))
SEND = f"/accounts/{ACCOUNT}/transfers/crypto"

KEYED: dict[str, dict[str, Any]] = {
    "/parties": {"partyType": "INDIVIDUAL", "firstName": "Noor", "lastName": "Aerts"},
    "/accounts": {"externalId": "x", "chain": "BASE", "partyId": LANE},
    f"/accounts/{ACCOUNT}/wallets": {"chain": "BASE"},
    f"/accounts/{ACCOUNT}/virtual-bank-accounts": {
        "name": "x", "inCurrency": "EUR", "targetCryptocurrency": "USDC",
    },
    f"/accounts/{ACCOUNT}/fiat-to-crypto/payment-sessions": {
        "inAmount": "480.50", "inCurrency": "EUR", "outCryptocurrency": "USDC",
        "callbackUrl": "https://shop.example.test/paid",
    },
    "/account-to-account-transfers": {
        "sourceAccountId": ACCOUNT, "destinationAccountId": OPERATIONS, "amount": "1.5",
        "cryptocurrency": "USDC",
    },
    SEND: {"chain": "BASE", "asset": "USDC", "amount": 1.5, "receiverAccountId": OPERATIONS},
    f"/accounts/{ACCOUNT}/transfers/fiat": {
        "currency": "EUR", "amount": 1.5, "receiverAccountId": OPERATIONS,
    },
    "/transfers": {
        "senderAccountId": ACCOUNT, "chain": "BASE", "asset": "USDC", "amount": 1.5,
        "receiverAccountId": OPERATIONS,
    },
    "/payment-requests": {
        "cardProviderReference": {"type": "paymentology", "referenceId": "ops-usd"},
        "paymentRequest": {"amount": 63.9, "currency": "USD"},
    },
}  # fmt: skip


def body_of(path: str, key: str = KEY) -> bytes:
    body = KEYED[path]
    if path == "/payment-requests":
        body = body | {"paymentRequest": body["paymentRequest"] | {"idempotencyKey": key}}
    else:
        body = body | {"idempotencyKey": key}
    return json.dumps(body).encode()


@pytest.mark.parametrize("path", KEYED)
def test_a_repeated_call_gets_the_first_answer_and_no_second_effect(
    own_sandbox: Sandbox, callers: dict[str, Any], path: str
) -> None:
    maker, body = callers["maker"], body_of(path)
    first, balances = maker.write("POST", path, body), own_sandbox.finance.ledger_balances()
    again = maker.write("POST", path, body)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert own_sandbox.finance.ledger_balances() == balances
    (effect,) = own_sandbox.finance.effects()
    assert (effect.key, effect.record) == (KEY, first.json()["result"]["id"])


@pytest.mark.parametrize("path", KEYED)
def test_a_different_body_with_the_same_key_is_422_and_has_no_effect(
    own_sandbox: Sandbox, callers: dict[str, Any], path: str
) -> None:
    maker, body = callers["maker"], body_of(path)
    assert maker.write("POST", path, body).status_code == 201
    for other in (body + b" ", body.replace(b"1.5", b"1.6").replace(b'"x"', b'"y"') + b"\n"):
        answer = maker.write("POST", path, other)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["code"] == "IDEMPOTENCY_CONFLICT"
    assert len(own_sandbox.finance.effects()) == 1


def test_a_key_is_bound_to_its_operation_and_not_to_a_user(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    body = body_of(SEND)
    first = callers["maker"].write("POST", SEND, body)
    assert first.status_code == 201
    elsewhere = SEND.replace(ACCOUNT, OPERATIONS)
    assert callers["maker"].write("POST", elsewhere, body).status_code == 422
    again = callers["checker"].write("POST", SEND, body)
    assert (again.status_code, again.content) == (201, first.content)
    assert len(own_sandbox.finance.effects()) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"amount": 10_000_000}, 422),
        ({"receiverAccountId": "nobody"}, 404),
        ({"amount": "1.5"}, 400),
    ],
)
def test_a_key_is_used_up_even_by_a_failed_attempt(
    callers: dict[str, Any], change: dict[str, Any], status: int
) -> None:
    maker = callers["maker"]
    wrong = json.dumps(json.loads(body_of(SEND)) | change).encode()
    # The same body may be tried again with its key, and fails again.
    for _ in range(2):
        assert maker.write("POST", SEND, wrong).status_code == status
    assert maker.write("POST", SEND, body_of(SEND)).status_code == 422


def test_a_refused_call_succeeds_with_its_key_after_the_reason_is_removed(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker, body = callers["maker"], body_of(SEND)
    own_sandbox.finance.suspend_account(ACCOUNT)
    assert maker.write("POST", SEND, body).status_code == 422
    own_sandbox.finance.account_status(ACCOUNT, "ACTIVE")
    first = maker.write("POST", SEND, body)
    assert first.status_code == 201
    assert maker.write("POST", SEND, body).content == first.content


def test_many_equal_concurrent_calls_take_effect_once(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker = callers["maker"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: maker.write("POST", SEND, body_of(SEND)), range(16)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert len(own_sandbox.finance.effects()) == 1


def test_every_call_without_a_key_takes_effect(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    body = KEYED["/account-to-account-transfers"]
    ids = {
        callers["maker"].write("POST", "/account-to-account-transfers", body).json()["result"]["id"]
        for _ in range(2)
    }
    assert len(ids) == len(own_sandbox.finance.effects()) == 2


def test_a_retry_with_its_key_finds_the_effect_of_a_dropped_answer(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker = callers["maker"]
    own_sandbox.faults.add("/finance/v1", method="POST", drop="after")
    with pytest.raises(httpx.TransportError):
        maker.write("POST", SEND, body_of(SEND))
    found = maker.write("POST", SEND, body_of(SEND)).json()["result"]
    assert [effect.record for effect in own_sandbox.finance.effects()] == [found["id"]]
    assert own_sandbox.finance.ledger_effects(found["id"]) == ["reserve", "network_fee"]


@pytest.mark.acceptance
def test_keys_balances_and_effects_survive_a_restart(
    http: httpx.Client, tmp_path: Path, caller_of: Callable[..., Any]
) -> None:
    seen = []
    for _ in range(2):
        sandbox = Sandbox(7, state=tmp_path)
        with sandbox.serve() as running:
            answer = caller_of(sandbox, running, http, "maker").write("POST", SEND, body_of(SEND))
        drivers = sandbox.finance
        seen.append((answer.content, drivers.ledger_balances(), drivers.effects()))
        # In use, the end of the process closes the database.
        sandbox._world.store.db.close()
    assert seen[0] == seen[1]
