"""A second company at the same services: each company sees only its own records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from plain_http import plain_client

from treasury.sandbox import Sandbox
from treasury.sandbox.finance.finance_routes import routes as finance_routes
from treasury.sandbox.http.exchange import Route
from treasury.sandbox.ramp.ramp_routes import routes as ramp_routes

COLLECTIONS = {
    "party": "/parties",
    "account": "/accounts",
    "bank": "/company-bank-accounts",
    "wallet": "/company-wallets",
    "request": "/ramp-requests",
}
BELOW = {
    # Lists below an account, with the names of their kinds of records.
    "wallets": "custodial",
    "virtual-bank-accounts": "virtual",
    "party-roles": "role",
}
SHARED = {"/fiat-currencies/{id}", "/crypto-currencies/{id}"}
PLACES = {
    "/parties/{id}": "party", "/accounts/{id}": "account", "/company-bank-accounts/{id}": "bank",
    "/company-wallets/{id}": "wallet", "/ramp-requests/{id}": "request",
}  # fmt: skip


class Neighbour:
    """The callers of the other company, with its own credentials."""

    def __init__(self, sandbox: Sandbox, caller_of: Callable[..., Any], served: Any) -> None:
        class Other:
            credentials = sandbox.neighbour_credentials

        self._http = plain_client()
        self.maker = caller_of(Other, served, self._http, "maker")
        self.checker = caller_of(Other, served, self._http, "checker")

    def close(self) -> None:
        self._http.close()


Both = tuple[Any, Neighbour]


@pytest.fixture(scope="module", params=["spec", "b"])
def both(request: pytest.FixtureRequest, caller_of: Callable[..., Any]) -> Iterator[Both]:
    """Return an administrator of our company, and the other company."""
    sandbox = Sandbox(7, profile=request.param)
    with sandbox.serve() as served, plain_client() as client:
        other = Neighbour(sandbox, caller_of, served)
        yield caller_of(sandbox, served, client, "checker"), other
        other.close()


def service_of(path: str) -> str:
    return "finance" if path in {"/parties", "/accounts"} else "ramp"


def ids_of(caller: Any) -> dict[str, str]:
    """Return one id of each kind of record of a company."""
    found = {
        kind: getattr(caller, service_of(path))(path).json()["result"][0]["id"]
        for kind, path in COLLECTIONS.items()
    }
    for name, kind in BELOW.items():
        first = caller.finance(f"/accounts/{found['account']}/{name}").json()["result"][0]
        found[kind] = first["partyId"] if kind == "role" else first["id"]
    found["user"] = caller.ramp("/company/users").json()["result"][0]["id"]
    return found


def every_id(caller: Any) -> set[str]:
    """Return every id in the lists of a company and below its accounts."""
    text = ""
    for path in COLLECTIONS.values():
        text += getattr(caller, service_of(path))(path, size=1000).text
    text += caller.ramp("/company").text + caller.ramp("/company/users").text
    accounts = caller.finance("/accounts", size=1000).json()["result"]
    for account in accounts:
        for name in (*BELOW, "transfers"):
            text += caller.finance(f"/accounts/{account['id']}/{name}", size=1000).text
    return set(re.findall("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text))


@pytest.mark.first_case
def test_two_companies_share_no_record(both: Both) -> None:
    ours, theirs = every_id(both[0]), every_id(both[1].checker)
    assert len(theirs) > 20
    assert ours & theirs == set()
    assert both[0].ramp("/company").json()["result"]["name"] == "Harbour Lane Trading NV"
    assert both[1].checker.ramp("/company").json()["result"]["name"] == "Quayside Imports BV"


def test_both_companies_have_the_same_reference_data(both: Both) -> None:
    for path in ("/fiat-currencies", "/crypto-currencies", "/chains", "/bank-accounts/config"):
        assert both[0].ramp(path).json() == both[1].checker.ramp(path).json()


def filled(route: Route, ids: dict[str, str]) -> str:
    """Return the path of a route, filled with ids of a company."""
    path = next((route.path.replace("{id}", ids[kind]) for place, kind in PLACES.items()
                 if route.path.startswith(place)), route.path)  # fmt: skip
    named = {
        "accountId": "account", "senderAccountId": "account", "partyId": "role",
        "virtualBankAccountId": "virtual", "walletId": "custodial", "userId": "user",
    }  # fmt: skip
    for name, kind in named.items():
        path = path.replace(f"{{{name}}}", ids[kind])
    return re.sub(r"{\w+}", ids["request"], path)


def asked(caller: Any, base: str, route: Route, path: str) -> httpx.Response:
    body = None if route.takes is None else json.dumps(BODIES.get(route.path, {"version": 1}))
    headers = caller._headers | {"Content-Type": "application/json"}
    return caller._http.request(route.method, base + path, content=body, headers=headers)


BODIES: dict[str, dict[str, Any]] = {
    "/ramp-requests/{id}/tx-hash": {"version": 1, "blockchainTransactionHash": "0x1"},
    "/ramp-requests/{id}/initiate": {"version": 1, "blockchainTransactionHash": "0x1"},
    "/ramp-requests/{id}/amount": {"version": 1, "amount": 5},
    "/accounts/{senderAccountId}/transfers/crypto": {
        "chain": "BASE", "asset": "USDC", "amount": 1, "receiverExternalId": "ops-usd",
        "idempotencyKey": "6f1f6f0e-7b1c-4d0a-9a39-5b1f3c7f9d44",
    },
    "/accounts/{senderAccountId}/transfers/fiat": {
        "currency": "EUR", "amount": 1, "receiverExternalId": "ops-usd",
        "idempotencyKey": "7f1f6f0e-7b1c-4d0a-9a39-5b1f3c7f9d44",
    },
}  # fmt: skip


@pytest.mark.parametrize("service", ["finance", "ramp"])
def test_an_id_of_another_company_in_a_path_is_unknown(both: Both, service: str) -> None:
    ours, neighbour = both
    ids, before = ids_of(neighbour.checker), every_id(neighbour.checker)
    profile = "spec" if "kycStatus" in ours.finance("/parties").text else "b"
    table = finance_routes(profile) if service == "finance" else ramp_routes(profile)
    base = getattr(ours.served, f"{service}_url")
    tried = [route for route in table if "{" in route.path and route.path not in SHARED]
    assert len(tried) >= 10
    for route in tried:
        answer = asked(ours, base, route, filled(route, ids))
        assert answer.status_code == 404, (route.method, route.path, answer.text)
        assert "result" not in answer.json()
        assert not before & set(re.findall(r"[0-9a-f-]{36}", answer.text))
    assert every_id(neighbour.checker) == before


def test_an_id_of_another_company_in_a_body_is_unknown(both: Both) -> None:
    ours, neighbour = both
    theirs, own = ids_of(neighbour.checker), ids_of(ours)
    before = ours.ramp("/ramp-requests").json()["pagination"]["numberOfElements"]
    account = {"externalId": "x-1", "chain": "BASE", "partyId": theirs["party"]}
    assert ours.write("POST", "/accounts", account).status_code == 404
    role = {"partyId": theirs["party"], "roleType": "ACCOUNT_HOLDER"}
    path = f"/accounts/{own['account']}/party-roles"
    assert ours.write("POST", path, role).status_code == 404
    names = {"/fiat-currencies": "EUR", "/crypto-currencies": "USDC"}
    fiat, crypto = (
        next(c["id"] for c in ours.ramp(path).json()["result"] if c["currency"] == name)
        for path, name in names.items()
    )
    request = {
        "rampType": "ON_RAMP", "amount": 50, "fiatCurrencyId": fiat, "cryptoCurrencyId": crypto,
        "companyWalletId": theirs["wallet"],
    }  # fmt: skip
    assert ours.ramp_write("POST", "/ramp-requests", request).status_code == 404
    del request["companyWalletId"]
    request |= {"rampType": "OFF_RAMP", "companyBankAccountId": theirs["bank"]}
    assert ours.ramp_write("POST", "/ramp-requests", request).status_code == 404
    assert ours.ramp("/ramp-requests").json()["pagination"]["numberOfElements"] == before


def test_an_account_of_another_company_cannot_receive(both: Both) -> None:
    ours, neighbour = both
    new = {"externalId": "q-1", "chain": "BASE", "partyId": ids_of(neighbour.checker)["party"]}
    account = neighbour.maker.write("POST", "/accounts", new).json()["result"]
    own = ids_of(ours)["account"]
    named = {"receiverAccountId": account["id"]}, {"receiverExternalId": "q-1"}
    for receiver in named:
        for path, more in (
            ("crypto", {"chain": "BASE", "asset": "USDC"}), ("fiat", {"currency": "EUR"}),
        ):  # fmt: skip
            body = {"amount": 1, "idempotencyKey": str(uuid4()), **receiver, **more}
            answer = ours.write("POST", f"/accounts/{own}/transfers/{path}", body)
            assert answer.status_code == 404, answer.text
    inside = {
        "sourceAccountId": own, "destinationAccountId": account["id"], "amount": "1.00",
        "cryptocurrency": "USDC",
    }  # fmt: skip
    assert ours.write("POST", "/account-to-account-transfers", inside).status_code == 404


def test_the_other_company_works_with_its_own_records(
    caller_of: Callable[..., Any], tmp_path: Path
) -> None:
    """This holds after a restart too: the state of each company is stored separately."""
    versions = []
    for turn in range(2):
        sandbox = Sandbox(7, state=tmp_path)
        with sandbox.serve() as served:
            other = Neighbour(sandbox, caller_of, served)
            (item,) = other.maker.ramp("/ramp-requests").json()["result"]
            if turn == 0:
                answer = other.checker.decide(f"{item['id']}/approve", {"version": 1})
                assert answer.json()["result"]["status"] == "AWAITING_FUNDS"
            detail = other.maker.ramp(f"/ramp-requests/{item['id']}").json()["result"]
            versions.append((detail["id"], detail["version"], detail["status"]))
            other.close()
        sandbox.close()
    assert all(first == second for first, second in pairwise(versions))
    assert versions[0][1:] == (2, "AWAITING_FUNDS")
