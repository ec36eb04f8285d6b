"""Served bodies compared with the contract's examples: same keys and JSON types, exact digits."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from treasury.core.money import convert, fee_of, net_crypto
from treasury.sandbox.state.shapes import RampRequest

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples.json"
needs_examples = pytest.mark.skipif(
    not EXAMPLES.is_file(),
    reason=f"no file {EXAMPLES}: the sandbox's answers are not compared with its examples",
)
ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
VIRTUAL = "ee9587b8-6b17-4fc2-a2aa-b68558866188"
OFF_RAMP = "5c739fba-638d-49b6-aa12-7bd6b4f1fc1c"
ON_RAMP = "eeefe351-e8ff-4dd6-a062-f7f43c5bbb0e"
BARE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
ZULU = re.compile(BARE.pattern + "Z")

# SERVED has for the title of an example the id in its path, and the keys that the specification
# adds to the body of the published generation.
SERVED: dict[str, tuple[str, set[str]]] = {
    "GET /parties": ("", {"kycStatus", "kybStatus", "address", "updatedAt", "version"}),
    "GET /parties/{id}": ("235d4a24-73a9-4ffd-ada5-1b1e24ddf07c", set()),
    "GET /accounts": ("", {"chain", "partyRoles"}),
    "GET /accounts/{id}": (ACCOUNT, {"chain", "partyRoles"}),
    "GET /accounts/{accountId}/party-roles": ("", {"party"}),
    "GET /accounts/{accountId}/wallets": ("", {"accountId", "status"}),
    "GET /accounts/{accountId}/virtual-bank-accounts": ("", set()),
    "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}": (VIRTUAL, set()),
    "GET /accounts/{accountId}/transfers": (
        "", {"failureCode", "failureReason", "destinationAddress"},
    ),
    "GET /company": ("", set()),
    "GET /company-bank-accounts": ("", set()),
    "GET /company-bank-accounts/{id}": ("730a509f-01e5-4fe6-a06d-7604e397da93", set()),
    "GET /company-wallets": ("", set()),
    "GET /company-wallets/{id}": ("b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a", set()),
    "GET /ramp-requests": ("", set()),
    "GET /ramp-requests/{id}": (ON_RAMP, {*RampRequest.BEYOND}),
    "PATCH /ramp-requests/{id}/tx-hash": (
        OFF_RAMP, {*RampRequest.BEYOND, "amountReceived"},
    ),
    "GET /ramp-requests/on-ramp/pairs": ("", set()),
    "GET /ramp-requests/off-ramp/pairs": ("", set()),
    "GET /fees": ("", set()),
    "GET /fiat-currencies": ("", set()),
    "GET /crypto-currencies": ("", set()),
    "GET /bank-accounts/config": ("", set()),
}  # fmt: skip


def kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    return "number" if isinstance(value, int | float) else type(value).__name__


def outline(value: Any, path: str = "") -> set[tuple[str, str]]:
    """Return every path in a JSON value with its type."""
    if isinstance(value, dict):
        return {(path, "dict")}.union(*(outline(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list):
        return {(path, "list")}.union(*(outline(v, f"{path}[]") for v in value))
    found = kind(value)
    return {(path, "bool" if found in {"True", "False"} else found)}


@needs_examples
@pytest.mark.parametrize("title", SERVED)
def test_a_body_has_the_keys_and_types_of_its_example(viewer: Any, title: str) -> None:
    its_id, added = SERVED[title]
    path = title.partition(" ")[2].removesuffix("/tx-hash").replace("{accountId}", ACCOUNT)
    path = re.sub(r"{\w+}", its_id, path)
    service = viewer.finance if path.startswith(("/parties", "/accounts")) else viewer.ramp
    order = "DESC" if path == "/ramp-requests" else "ASC"
    body = service(path, size=1000, sortOrder=order).json()
    expected = outline(json.loads(EXAMPLES.read_text("utf-8"))[f"{title} 200"])
    served = outline(body)
    assert expected - served == set()
    extra = {found for found, _ in served - expected}
    assert {found for found in extra if not added & set(re.split(r"\W+", found))} == set()


@needs_examples
def test_a_decision_returns_the_shape_of_its_example(callers: dict[str, Any]) -> None:
    examples = json.loads(EXAMPLES.read_text("utf-8"))
    found = (
        callers["maker"]
        .ramp("/ramp-requests", status="AWAITING_APPROVAL", rampType="ON_RAMP")
        .json()
    )
    first, second = (item["id"] for item in found["result"])
    for name, verb, request in (("checker", "approve", first), ("maker", "cancel", second)):
        body = callers[name].decide(f"{request}/{verb}", {"version": 1}).json()
        example = outline(examples[f"POST /ramp-requests/{{id}}/{verb} 200"])
        assert example - outline(body) == set()
        extra = {
            path.rpartition(".")[2]
            for path, _ in outline(body) - example
            # In the sandbox, a request has deposit details as soon as it is created.
            if ".depositBankAccount" not in path
        }
        assert extra == RampRequest.BEYOND & set(body["result"])


def test_older_resources_have_times_without_a_zone_and_newer_ones_with_it(viewer: Any) -> None:
    def first(path: str) -> str:
        value: str = viewer.finance(path).json()["result"][0]["createdAt"]
        return value

    for path in ("/parties", "/accounts", f"/accounts/{ACCOUNT}/party-roles",
                 f"/accounts/{ACCOUNT}/virtual-bank-accounts"):  # fmt: skip
        assert BARE.fullmatch(first(path))
    assert ZULU.fullmatch(first(f"/accounts/{ACCOUNT}/transfers"))
    assert ZULU.fullmatch(first("/account-to-account-transfers"))


def test_an_internal_transfer_has_a_decimal_string_and_a_crypto_one_a_number(viewer: Any) -> None:
    for internal in viewer.finance("/account-to-account-transfers").json()["result"]:
        failure = {"failureCode", "failureReason"} if internal["status"] == "FAILED" else set()
        assert set(internal) == failure | {
            "id", "sourceAccountId", "destinationAccountId", "amount", "cryptocurrency", "status",
            "createdAt", "updatedAt",
        }  # fmt: skip
        assert re.fullmatch(r"\d+\.\d{6}", internal["amount"])
    body = viewer.finance(f"/accounts/{ACCOUNT}/transfers").text
    assert re.search(r'"amount":\d+(\.\d{1,2})?,', body)


def test_each_kind_of_transfer_occurs_in_every_status_and_a_failed_one_has_a_reason(
    viewer: Any,
) -> None:
    every = {"PENDING", "PROCESSING", "COMPLETED", "FAILED"}
    internal = viewer.finance("/account-to-account-transfers", size=1000).json()["result"]
    assert {transfer["status"] for transfer in internal} == every
    statuses: dict[bool, set[str]] = {True: set(), False: set()}
    for account in viewer.finance("/accounts").json()["result"]:
        path = f"/accounts/{account['id']}/transfers"
        for transfer in viewer.finance(path, size=1000).json()["result"]:
            statuses["fiatOrigin" in transfer].add(transfer["status"])
            assert ("failureCode" in transfer) is (transfer["status"] == "FAILED")
            on_chain = transfer["status"] in {"PROCESSING", "COMPLETED"}
            assert ("transactionHash" in transfer) is on_chain
    assert statuses == {True: every, False: every}


def test_chains_are_an_object_and_a_pending_user_has_an_invitation(viewer: Any) -> None:
    chains = viewer.ramp("/chains").json()["result"]
    assert chains["supportedChains"][:2] == ["ETHEREUM", "POLYGON"]
    users = viewer.ramp("/company/users").json()["result"]
    invited = {u["username"] for u in users if "invitationUrl" in u}
    assert invited == {u["username"] for u in users if u["invitationStatus"] == "PENDING"} != set()


@pytest.mark.acceptance
def test_the_amounts_of_every_ramp_request_follow_the_examples_exactly(
    requests: list[dict[str, Any]],
) -> None:
    for request in requests:
        crypto, rate = request["cryptoCurrency"]["currency"], request["exchangeRate"]
        gross, fee = request["fiatAmount"], request["fiatFeeAmount"]
        assert fee == fee_of(gross, request["feePercentage"], "EUR")
        assert request["fiatNetAmount"] == gross - fee
        if request["rampType"] == "ON_RAMP":
            assert request["amount"] == gross
            assert request["cryptoAmount"] == net_crypto(gross, fee, rate, crypto)
        else:
            assert request["amount"] == request["cryptoAmount"]
            assert gross == convert(request["amount"], rate, "EUR")


def test_the_requests_of_the_examples_have_the_same_amounts(viewer: Any) -> None:
    on_ramp = viewer.ramp(f"/ramp-requests/{ON_RAMP}").text
    assert '"cryptoAmount":26865.995017,' in on_ramp
    assert '"paymentReference":"PAY-2026-004417"' in on_ramp
    off_ramp = viewer.ramp(f"/ramp-requests/{OFF_RAMP}").text
    assert '"fiatNetAmount":9126.4,' in off_ramp
    assert '"fiatFeeAmount":73.6,' in off_ramp
    assert '"paymentReference":"PAY-2026-004418"' in off_ramp


def test_every_wallet_balance_is_available_plus_reserved_and_never_negative(viewer: Any) -> None:
    accounts = viewer.finance("/accounts").json()["result"]
    held = []
    for account in accounts:
        for wallet in viewer.finance(f"/accounts/{account['id']}/wallets").json()["result"]:
            assert wallet["chain"] == account["chain"]
            held += [balance["amount"] for balance in wallet["balances"]]
    assert len(held) >= 4
    for amount in held:
        total, available, reserved = (
            Decimal(amount[k]) for k in ("total", "available", "reserved")
        )
        assert total == available + reserved
        assert available >= 0
    assert any(Decimal(amount["reserved"]) > 0 for amount in held)


def test_events_are_in_order_and_their_versions_rise_to_that_of_the_request(
    requests: list[dict[str, Any]],
) -> None:
    for request in requests:
        times = [event["createdAt"] for event in request["events"]]
        versions = [event["version"] for event in request["events"]]
        assert times == sorted(times)
        assert times[0] == request["createdAt"]
        assert versions == sorted(versions)
        assert set(versions) == set(range(1, int(request["version"]) + 1))
