"""The bodies of `examples.json` agree with the models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_service import REQUESTED, Connect
from honest_answers import about_request
from test_api_operations import FINANCE, RAMP

from treasury.api.codec import Record
from treasury.api.service_errors import error_for
from treasury.core import errors

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples.json"
pytestmark = pytest.mark.skipif(
    not EXAMPLES.exists(), reason=f"no file {EXAMPLES}: the client is not tested on its bodies"
)

READS = {
    "GET /parties": lambda c, *ids: c.finance.parties.list().items,
    "GET /parties/{id}": lambda c, *ids: [c.finance.parties.get(*ids)],
    "GET /accounts": lambda c, *ids: c.finance.accounts.list().items,
    "GET /accounts/{id}": lambda c, *ids: [c.finance.accounts.get(*ids)],
    "GET /accounts/{accountId}/party-roles": lambda c, *ids: c.finance.party_roles.all(*ids),
    "GET /accounts/{accountId}/wallets": lambda c, *ids: c.finance.wallets.list(*ids).items,
    "GET /accounts/{accountId}/virtual-bank-accounts": lambda c, *ids: (
        c.finance.virtual_bank_accounts.list(*ids).items
    ),
    "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}": lambda c, *ids: [
        c.finance.virtual_bank_accounts.get(*ids)
    ],
    "GET /accounts/{accountId}/transfers": lambda c, *ids: c.finance.transfers.list(*ids).items,
    "GET /accounts/{accountId}/transfers/{transferId}": lambda c, *ids: [
        c.finance.transfers.get(*ids)
    ],
    "GET /accounts/{accountId}/wallets/{walletId}/allowances": lambda c, *ids: (
        c.finance.wallets.allowances(*ids, "USDC")
    ),
    "GET /accounts/{accountId}/wallets/{walletId}/permits": lambda c, *ids: (
        c.finance.wallets.permits(*ids)
    ),
    "GET /ramp-requests": lambda c, *ids: c.ramp.requests.list().items,
    "GET /ramp-requests/{id}": lambda c, *ids: [c.ramp.requests.get(*ids)],
    "POST /ramp-requests/{id}/approve": lambda c, *ids: [c.ramp.requests.approve(*ids, version=1)],
    "POST /ramp-requests/{id}/reject": lambda c, *ids: [c.ramp.requests.reject(*ids, version=1)],
    "POST /ramp-requests/{id}/cancel": lambda c, *ids: [c.ramp.requests.cancel(*ids, version=1)],
    "GET /ramp-requests/on-ramp/pairs": lambda c, *ids: c.ramp.on_ramp_pairs.all(),
    "GET /ramp-requests/off-ramp/pairs": lambda c, *ids: c.ramp.off_ramp_pairs.all(),
    "GET /fees": lambda c, *ids: c.ramp.fees.all(),
    "GET /fiat-currencies": lambda c, *ids: c.ramp.fiat_currencies.all(),
    "GET /crypto-currencies": lambda c, *ids: c.ramp.crypto_currencies.all(),
    "GET /company": lambda c, *ids: [c.ramp.company.get()],
    "GET /company-bank-accounts": lambda c, *ids: c.ramp.bank_accounts.list().items,
    "GET /company-bank-accounts/{id}": lambda c, *ids: [c.ramp.bank_accounts.get(*ids)],
    "GET /company-wallets": lambda c, *ids: c.ramp.wallets.list().items,
    "GET /company-wallets/{id}": lambda c, *ids: [c.ramp.wallets.get(*ids)],
}


def examples() -> dict[str, object]:
    found: dict[str, object] = json.loads(EXAMPLES.read_text("utf-8")) if EXAMPLES.exists() else {}
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def succeeded() -> dict[str, object]:
    """Return the bodies of successful answers by operation."""
    keys = {key: body for key, body in examples().items() if key[-3:] < "300" and body is not None}
    return {key[:-4]: body for key, body in keys.items()}


WRITES = {
    operation: case.call
    for operation, case in {**FINANCE, **RAMP}.items()
    if not operation.startswith(("GET", "DELETE")) and operation in succeeded()
}


@pytest.mark.parametrize("operation", [*READS, *WRITES])
def test_the_example_parses_completely(connect: Connect, operation: str) -> None:
    body = succeeded()[operation]

    def handler(request: httpx.Request) -> httpx.Response:
        if not _is(request, operation):
            return httpx.Response(200, json=CHECKED)
        result = body["result"]
        # The values that the call sends differ from the example's.
        if operation in WRITES:
            result = about_request(request, result)
        return httpx.Response(200, json=body | {"result": result})

    client, _ = connect(handler)
    read = READS.get(operation) or (lambda c, *_: [WRITES[operation](c)])
    records: list[Record] = list(read(client, *ids_in(operation, body["result"])))
    result = body["result"]
    assert len(records) == (len(result) if isinstance(result, list) else 1)
    for record in records:
        received = json.loads(record.raw)
        named = {snake(key) for key in received} & set(record.value.__struct_fields__)
        lost = {key for key in named if getattr(record.value, key) is None}
        assert {key for key in lost if received[camel(key)] is not None} == set()


def ids_in(operation: str, result: Any) -> list[str]:
    """Return ids for the operation's path, from the record in its example."""
    first = result[0] if isinstance(result, list) else result
    parent = first.get("accountId") or first.get("senderAccountId") or "x"
    ids = [parent] * operation.count("{")
    if operation.endswith("Id}") or "/{id}" in operation:
        ids[-1] = first["id"]
    return ids


CHECKED = {"result": {"id": REQUESTED, "kybStatus": "VERIFIED", "verificationStatus": "VERIFIED"}}
"""An answer that fits each record that is read before a ramp request is sent."""


def _is(request: httpx.Request, operation: str) -> bool:
    return request.method == operation.partition(" ")[0]


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


BEYOND = {
    operation
    for operation, body in succeeded().items()
    if operation not in {*READS, *WRITES, *FINANCE, *RAMP} and "result" in body
} - {"GET /ramp-requests/export"}
"""Operations that have an example but are in no specification, without the export, a file."""


@pytest.mark.parametrize("operation", sorted(BEYOND))
def test_an_example_outside_the_specifications_is_reached_by_a_plain_request(
    connect: Connect, operation: str
) -> None:
    body = succeeded()[operation]
    client, _ = connect(lambda _: httpx.Response(200, json=body))
    method, route = operation.split(" ")
    ids = ["x"] * route.count("{")
    if route.endswith("/{id}"):
        ids = [body["result"]["id"]]
    reply = client.request(method, route, *ids)
    assert json.loads(reply.result) == body["result"]


def test_the_bank_configuration_is_one_list(connect: Connect) -> None:
    body = json.dumps(examples()["GET /bank-accounts/config 200"])
    client, _ = connect(lambda _: httpx.Response(200, content=body))
    entries = [(e.value.kind, e.value.code, e.value.name) for e in client.ramp.bank_config.all()]
    assert entries == [
        ("account_type", "EUR_SEPA", "SEPA credit transfer"),
        ("country", "BE", "Belgium"),
        ("currency", "EUR", "Euro"),
    ]


REFUSED = {key: body for key, body in examples().items() if key[-3:] >= "400"}


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_an_example_refusal_raises_an_error_of_the_tree(key: str) -> None:
    operation, _, status = key.rpartition(" ")
    error = error_for(httpx.Response(int(status), json=REFUSED[key]), operation)
    first = REFUSED[key]["errors"][0]
    assert error.code == first["code"].upper().replace("-", "_")
    assert first.get("message", "") in str(error)
    assert type(error) is not errors.ServiceError
