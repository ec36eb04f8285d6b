"""schemathesis against both services over a real socket, with valid and invalid bodies.

Each operation gets a fixed number of calls, the same in every run. A schema does not determine the
values of ids, versions and amounts, so about half of the calls get valid ones and can succeed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plain_http import plain_client
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from treasury.sandbox import Sandbox, Served
from treasury.sandbox.serve.published.openapi import FINANCE, RAMP, document

pytestmark = pytest.mark.acceptance

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
BUDGET = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SCHEMAS = {profile: schemathesis.openapi.from_dict(document(profile)) for profile in ("spec", "b")}
OPERATIONS = [
    pytest.param(profile, path, method, id=f"{profile} {method.upper()} {path}")
    for profile, service in (("spec", FINANCE), ("spec", RAMP), ("b", FINANCE))
    for path, methods in document(profile)["paths"].items()
    if path.startswith(service)
    for method in methods
]
LISTS = {
    "party": (f"{FINANCE}/parties?partyType=INDIVIDUAL", "id"),
    "bank": (f"{RAMP}/company-bank-accounts?verificationStatus=VERIFIED", "id"),
    "wallet": (f"{RAMP}/company-wallets?verificationStatus=VERIFIED", "id"),
    "fiat": (f"{RAMP}/fiat-currencies", "id"),
    "crypto": (f"{RAMP}/crypto-currencies", "id"),
}
"""Lists from which ids are taken, by kind, with the field of the id."""
PATHS = {
    "/parties/{id}": {"id": "party"},
    "/accounts/{id}": {"id": "account"},
    "/company-bank-accounts/{id}": {"id": "bank"},
    "/company-wallets/{id}": {"id": "wallet"},
    "/ramp-requests/{id}": {"id": "request"},
    "/accounts/{accountId}": {"accountId": "account"},
    "/accounts/{senderAccountId}": {"senderAccountId": "account"},
    "/{virtualBankAccountId}": {"virtualBankAccountId": "virtual"},
    "/{transferId}": {"transferId": "transfer"},
    "/party-roles/{partyId}": {"partyId": "party"},
    "/wallets/{walletId}": {"walletId": "custodial"},
    "/{paymentRequestId}": {"paymentRequestId": "payment"},
}
IDS = {
    "partyId": "party",
    "sourceAccountId": "account",
    "destinationAccountId": "account",
    "senderAccountId": "account",
    "referenceId": "account",
    "fiatCurrencyId": "fiat",
    "cryptoCurrencyId": "crypto",
    "supportedAssetId": "asset",
}
FITTING: dict[str, dict[type, object]] = {
    # A valid value for a field of this name, by its type.
    "amount": {str: "12.50", int: 12.5, float: 12.5},
    "inAmount": {str: "25.00"},
    "asset": {str: "USDC"},
    "callbackUrl": {str: "https://hooks.example.test/in"},
    "successRedirectUrl": {str: "https://shop.example.test/done"},
    "failureRedirectUrl": {str: "https://shop.example.test/sorry"},
    "bankAccountType": {str: "EUR_SEPA"},
    "chain": {str: "BASE"},
    "currency": {str: "EUR"},
}


class Known:
    """A served sandbox, tokens of two roles, and ids of existing records."""

    def __init__(self, sandbox: Sandbox, served: Served) -> None:
        self.base_url, self._served, self._sandbox = served.base_url, served, sandbox
        self._http = plain_client()
        self._tokens, self._since = [""], -math.inf
        self._listed = {
            name: [each[field] for each in self._result("GET", at)]
            for name, (at, field) in LISTS.items()
        }
        cast = sandbox._world.cast
        self._listed["account"] = [
            virtual.account_id
            for virtual in cast.virtual_accounts
            for account in cast.accounts
            if account.id == virtual.account_id
            and (account.chain, virtual.target_cryptocurrency) == ("BASE", "USDC")
        ]
        self.ids: dict[str, list[str]] = {}
        self._keys = 0

    def close(self) -> None:
        self._http.close()

    @property
    def tokens(self) -> list[str]:
        """Return tokens of maker and checker, renewed each minute before they expire."""
        if time.monotonic() - self._since > 60:
            credentials = self._sandbox.credentials
            self._tokens = [self._token(*credentials[name]) for name in ("maker", "checker")]
            self._since = time.monotonic()
        return self._tokens

    def _token(self, client: str, secret: str) -> str:
        form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
        return self._http.post(self._served.token_url, data=form).json()["access_token"]

    def _result(self, method: str, path: str, body: object = None, who: int = 0) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        url = self.base_url + path
        return self._http.request(method, url, json=body, headers=headers).json()["result"]

    def key(self) -> str:
        """Return an unused idempotency key."""
        self._keys += 1
        return str(UUID(int=self._keys, version=4))

    def version(self, path: str) -> int:
        """Return the version of the record at a path, or 1 if it has none."""
        found = self._result("GET", path)
        return found.get("version", 1) if isinstance(found, dict) else 1

    def prepare(self, path: str) -> None:
        """Create the records that an operation needs to succeed."""
        self.ids = dict(self._listed)
        if path.startswith(f"{RAMP}/ramp-requests/{{id}}"):
            self.ids["request"] = [self._off_ramp(path) for _ in range(12)]
        if "{virtualBankAccountId}" in path or "{transferId}" in path:
            self._with_one_account("virtual", "/virtual-bank-accounts")
            self._with_one_account("transfer", "/transfers")
        if path == f"{FINANCE}/parties/{{id}}" or path.endswith("/party-roles"):
            self.ids["party"] = [self._party() for _ in range(12)]
        if path == f"{FINANCE}/accounts/{{id}}" or path.endswith("/party-roles"):
            self.ids["account"] = [self._account() for _ in range(12)]
        if path.endswith("/party-roles/{partyId}"):
            self.ids["account"] = [self._account()]
            roles = self._result("GET", f"{FINANCE}/accounts/{self.ids['account'][0]}/party-roles")
            self.ids["party"] = [role["partyId"] for role in roles]
        if "/wallets/{walletId}" in path:
            self._with_one_account("custodial", "/wallets")
            at = f"/accounts/{self.ids['account'][0]}/wallets/{self.ids['custodial'][0]}/permits"
            permits = self._result("GET", f"{FINANCE}{at}")
            self.ids["asset"] = [permit["supportedAssetId"] for permit in permits]
        if "/payment-requests/" in path:
            self.ids["payment"] = [self._payment() for _ in range(24)]
        if path.endswith("/reactivate"):
            made = [self._account() for _ in range(12)]
            self.ids["account"] = [self._sandbox.finance.suspend_account(a).id for a in made]

    def _with_one_account(self, name: str, path: str) -> None:
        account = self.ids["account"] = self.ids["account"][:1]
        found = self._result("GET", f"{FINANCE}/accounts/{account[0]}{path}")
        self.ids[name] = [each["id"] for each in found]

    def _off_ramp(self, path: str) -> str:
        body = {
            "rampType": "OFF_RAMP", "amount": 100, "fiatCurrencyId": self.ids["fiat"][0],
            "cryptoCurrencyId": self.ids["crypto"][0], "companyBankAccountId": self.ids["bank"][0],
        }  # fmt: skip
        made = self._result("POST", f"{RAMP}/ramp-requests", body)
        if path.endswith("/tx-hash"):
            at = f"{RAMP}/ramp-requests/{made['id']}/approve"
            self._result("POST", at, {"version": made["version"]}, who=1)
        return made["id"]

    def _payment(self) -> str:
        """Create a payment request with its idempotency key as external id, and return its id."""
        key = self.key()
        body = {
            "cardProviderReference": {"type": "card", "referenceId": self.ids["account"][0]},
            "paymentRequest": {
                "amount": 12.5, "currency": "EUR", "externalId": key, "idempotencyKey": key,
            },
        }  # fmt: skip
        made = self._result("POST", f"{FINANCE}/payment-requests", body)
        self.ids.setdefault("card", []).append(key)
        return made["id"]

    def _party(self) -> str:
        body = {"partyType": "INDIVIDUAL", "firstName": "Mira", "lastName": "Okafor"}
        return self._result("POST", f"{FINANCE}/parties", body)["id"]

    def _account(self) -> str:
        body = {"externalId": self.key(), "chain": "BASE", "partyId": self._party()}
        return self._result("POST", f"{FINANCE}/accounts", body)["id"]


@pytest.fixture(scope="module")
def known() -> Iterator[dict[str, Known]]:
    """Yield the company of each profile; it keeps the effects of earlier operations."""
    spec, b = Sandbox(7), Sandbox(7, profile="b")
    with spec.serve() as first, b.serve() as second:
        both = {"spec": Known(spec, first), "b": Known(b, second)}
        yield both
        for each in both.values():
            each.close()


def acquaint(case: Case, path: str, here: Known, draw: st.DataObject) -> None:
    """Replace ids and versions of a call with existing ones, and amounts with valid ones."""

    def pick(name: str) -> str:
        return draw.draw(st.sampled_from(here.ids[name]))

    for part, parameters in PATHS.items():
        if part in path:
            case.path_parameters |= {name: pick(kind) for name, kind in parameters.items()}
    if isinstance(case.body, dict):
        _fit(case.body, pick, here)
        _agree(case.body, path, pick)
        if "version" in case.body and "{" in path:
            at = "/".join(path.split("/")[:5]).format(**case.path_parameters)
            case.body["version"] = here.version(at)


def _agree(body: dict[str, Any], path: str, pick: Callable[[str], str]) -> None:
    """Adjust the fields of a body that depend on each other."""
    if "paymentRequestReference" in body:
        body["paymentRequestReference"] = {
            "cardProviderReference": {"type": "card", "referenceId": pick("account")},
            "externalId": pick("card"),
        }
    if "/transfers" in path:
        _one_of(body, RECEIVERS, "receiverAccountId", pick("account"))
    elif "externalId" in body and "chain" in body:
        _one_of(body, ("party",), "partyId", pick("party"))
    elif "rampType" in body:
        kind, name = RAMPS[body["rampType"]]
        _one_of(body, ("companyWalletId", "companyBankAccountId"), name, pick(kind))
    elif "bankAccountType" in body:
        body |= {"iban": "BE68539007547034", "bic": "TESTBEBB"}
    elif path.endswith("/parties/{id}"):
        _one_of(body, ("name", "vatNumber"), "firstName", "Miriam")


RECEIVERS = ("receiverExternalId", "destinationAddress", "bankAccount")
RAMPS = {"ON_RAMP": ("wallet", "companyWalletId"), "OFF_RAMP": ("bank", "companyBankAccountId")}


def _one_of(body: dict[str, Any], others: Iterable[str], name: str, value: str) -> None:
    for other in others:
        body.pop(other, None)
    body[name] = value


def _fit(body: dict[str, Any], pick: Callable[[str], str], here: Known) -> None:
    for name, value in body.items():
        if name in IDS and value is not None:
            body[name] = pick(IDS[name])
        elif isinstance(value, dict):
            _fit(value, pick, here)
        else:
            body[name] = FITTING.get(name, {}).get(type(value), value)
    if "idempotencyKey" in body:
        body["idempotencyKey"] = here.key()


@pytest.mark.parametrize(("profile", "path", "method"), OPERATIONS)
def test_every_answer_conforms_to_the_published_document(
    known: Mapping[str, Known], profile: str, path: str, method: str
) -> None:
    operation, here, seen = SCHEMAS[profile][path][method], known[profile], set()
    here.prepare(path)

    fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    def ask(data: st.DataObject, token: str, acquainted: bool) -> None:
        case = data.draw(fitting if acquainted else st.one_of(fitting, wrong))
        if acquainted:
            acquaint(case, path, here, data)
        # Replaced values may make an invalid call valid, so rejections are checked without them.
        checks = CHECKS if acquainted else (*CHECKS, negative_data_rejection)
        headers = {"Authorization": f"Bearer {token}"}
        answer = case.call_and_validate(base_url=here.base_url, headers=headers, checks=checks)
        seen.add(answer.status_code)

    BUDGET(given(st.data(), st.sampled_from(here.tokens), st.booleans())(ask))()
    assert seen & {200, 201, 202, 204}, f"never carried out, only {sorted(seen)}"
