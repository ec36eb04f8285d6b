"""Edge cases of both services' conventions, on each profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest
from plain_http import plain_client

from treasury.sandbox import Sandbox

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
PARTY = {"partyType": "INDIVIDUAL", "firstName": "Noor", "lastName": "Aerts"}


@pytest.fixture(scope="module", params=["spec", "b"])
def maker(request: pytest.FixtureRequest, caller_of: Callable[..., Any]) -> Iterator[Any]:
    sandbox = Sandbox(profile=request.param)
    with sandbox.serve() as served, plain_client() as client:
        yield caller_of(sandbox, served, client, "maker")


@pytest.fixture(params=["spec", "b"])
def own_callers(request: pytest.FixtureRequest, caller_of: Callable[..., Any]) -> Iterator[Any]:
    """Return callers of a sandbox that the test may change."""
    sandbox = Sandbox(profile=request.param)
    with sandbox.serve() as served, plain_client() as client:
        yield {name: caller_of(sandbox, served, client, name) for name in sandbox.credentials}


def refused(answer: httpx.Response, status: int) -> str:
    """Check the status and shape of a refusal, and return its message."""
    body = answer.json()
    assert (answer.status_code, body["success"]) == (status, False)
    message: str = body["errors"][0]["message"]
    return message


def test_a_date_range_may_end_on_the_last_day_of_the_calendar(maker: Any) -> None:
    everything = maker.ramp("/ramp-requests").json()["pagination"]["numberOfElements"]
    answer = maker.ramp("/ramp-requests", fromDate="0001-01-01", toDate="9999-12-31")
    assert answer.status_code == 200
    assert answer.json()["pagination"]["numberOfElements"] == everything > 0


@pytest.mark.parametrize(
    "text", ["20260601", "2026-W23-1", "2026-6-1", "2026-02-30", "２026-06-01"]
)
def test_a_date_must_be_written_as_yyyy_mm_dd(maker: Any, text: str) -> None:
    assert "YYYY-MM-DD" in refused(maker.ramp("/ramp-requests", fromDate=text), 400)


@pytest.mark.parametrize(
    ("service", "path", "name"),
    [
        ("ramp", "/ramp-requests", "status"),
        ("ramp", "/ramp-requests", "rampType"),
        ("ramp", "/company-wallets", "chain"),
        ("ramp", "/company-wallets", "verificationStatus"),
        ("ramp", "/company-bank-accounts", "verificationStatus"),
        ("ramp", "/company-bank-accounts", "supportedRampTypes"),
        ("finance", "/parties", "status"),
        ("finance", "/parties", "partyType"),
        ("finance", "/accounts", "status"),
        ("finance", f"/accounts/{ACCOUNT}/transfers", "status"),
        ("finance", f"/accounts/{ACCOUNT}/transfers", "accountRole"),
    ],
)
def test_an_unknown_value_of_a_filter_is_refused(
    maker: Any, service: str, path: str, name: str
) -> None:
    assert name in refused(getattr(maker, service)(path, **{name: "NOPE"}), 400)


def test_a_filter_accepts_several_values_separated_by_commas(maker: Any) -> None:
    one = maker.ramp("/ramp-requests", status=["SUCCEEDED", "CANCELLED"]).json()
    other = maker.ramp("/ramp-requests", status="SUCCEEDED,CANCELLED").json()
    assert one == other
    assert one["pagination"]["numberOfElements"] > 0


@pytest.mark.parametrize("kind", ["application/jsonx", "text/plain", ""])
def test_another_media_type_is_refused(maker: Any, kind: str) -> None:
    assert "application/json" in refused(post(maker, "/parties", kind), 415)


@pytest.mark.first_case
@pytest.mark.parametrize("kind", ["Application/JSON", "application/json;charset=UTF-8"])
def test_a_media_type_is_accepted_in_every_form_of_the_standard(
    own_callers: Any, kind: str
) -> None:
    assert post(own_callers["maker"], "/parties", kind).status_code == 201


def post(caller: Any, path: str, kind: str) -> httpx.Response:
    headers = caller._headers | {"Content-Type": kind}
    return httpx.post(caller.served.finance_url + path, content=json.dumps(PARTY), headers=headers)


@pytest.mark.parametrize("path", ["/parties/", f"/accounts/{ACCOUNT}/wallets/"])
def test_a_path_with_a_trailing_slash_is_unknown(maker: Any, path: str) -> None:
    refused(maker.finance(path), 404)
    refused(maker.ramp("/fees/"), 404)


def test_a_wrong_method_is_refused_with_the_supported_ones(maker: Any) -> None:
    answer = maker.write("PUT", "/parties", PARTY)
    assert "GET, POST" in refused(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_a_path_that_fits_two_routes_names_the_methods_of_its_own_route(maker: Any) -> None:
    answer = maker.write("PUT", f"/accounts/{ACCOUNT}/transfers/crypto", {})
    assert "Supported methods: POST." in refused(answer, 405)
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "word"),
    [(f"/accounts/{ACCOUNT}/transfers", "PROCESSING"), ("/accounts", "BLOCKED")],
)
def test_a_profile_refuses_a_status_of_the_other_profile(maker: Any, path: str, word: str) -> None:
    is_published = "kycStatus" not in maker.finance("/parties").text
    answer = maker.finance(path, status=word)
    if is_published:
        assert word not in refused(answer, 400)
    else:
        assert {one["status"] for one in answer.json()["result"]} <= {word}


def test_a_call_without_a_token_gets_the_authentication_scheme(maker: Any) -> None:
    answer = httpx.get(maker.served.ramp_url + "/fees")
    refused(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("field", ["fiatAmount", "cryptoAmount"])
def test_ramp_requests_are_sorted_by_amount_as_numbers(maker: Any, field: str) -> None:
    text = maker.ramp("/ramp-requests", sortOn=field, sortOrder="DESC", size=1000).text
    found = [item[field] for item in json.loads(text, parse_float=Decimal)["result"]]
    assert found == sorted(found, reverse=True)
    assert len({len(str(amount)) for amount in found}) > 1


def test_lists_are_sorted_by_amount_and_type(maker: Any) -> None:
    path = f"/accounts/{ACCOUNT}/transfers"
    text = maker.finance(path, sortOn="amount", size=1000).text
    amounts = [item["amount"] for item in json.loads(text, parse_float=Decimal)["result"]]
    assert amounts == sorted(amounts)
    found = maker.ramp("/ramp-requests", sortOn="rampType", size=1000).json()["result"]
    kinds = [item["rampType"] for item in found]
    assert kinds == sorted(kinds)
    assert maker.ramp("/ramp-requests", sortOn="amount").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ramp-requests", {"rampType": "ON_RAMP", "amount": 5, "fiatCurrencyId": "x",
                            "cryptoCurrencyId": "y", "companyWalletID": "z"}),
        ("/fees/calculate", {"amount": 5, "type": "ON_RAMP", "currency": "EUR"}),
    ],
)  # fmt: skip
def test_the_ramp_service_refuses_an_unknown_field(
    maker: Any, path: str, body: dict[str, Any]
) -> None:
    assert "is not a field" in refused(maker.ramp_write("POST", path, body), 400)


def test_an_account_is_renamed_with_its_current_version(
    callers: dict[str, Any],
) -> None:
    maker, path = callers["maker"], f"/accounts/{ACCOUNT}"
    was = maker.finance(path).json()["result"]
    changed = maker.write("PATCH", path, {"name": "Harbour", "version": was["version"]})
    assert changed.json()["result"]["name"] == "Harbour"
    assert changed.json()["result"]["externalId"] == was["externalId"]
    refused(maker.write("PATCH", path, {"name": "Late", "version": was["version"]}), 409)
    refused(maker.write("PATCH", path, {}), 400)


@pytest.mark.parametrize("number", [None, "77A1"])
def test_a_foreign_account_has_an_iban_a_number_or_both(own_callers: Any, number: str) -> None:
    body = {
        "bankAccountType": "OTHER_SWIFT", "supportedRampType": "OFF_RAMP", "name": "Oslo",
        "bankName": "Test Bank NO", "companyName": "Harbour", "bankCountry": "BE",
        "beneficiaryAddressLine1": "Kade 1", "beneficiaryCity": "Ghent",
        "beneficiaryPostalCode": "9000", "beneficiaryCountry": "BE", "currency": "NOK",
        "bic": "TESTNOKK", "iban": "NO9386011117947",
    }  # fmt: skip
    if number is not None:
        body["accountNumber"] = number
    answer = own_callers["checker"].ramp_write("POST", "/company-bank-accounts", body)
    assert answer.status_code == 201
    assert answer.json()["result"].get("accountNumber") == number


def test_an_idempotency_key_of_a_party_counts_only_in_the_specification_profile(
    own_callers: Any,
) -> None:
    """Profile b, the published generation, ignores the key."""
    maker, body = own_callers["maker"], PARTY | {"idempotencyKey": str(uuid4())}
    first, second = (maker.write("POST", "/parties", body).json()["result"]["id"] for _ in "12")
    listed = maker.finance("/parties", sortOrder="DESC").json()["result"]
    is_published = "kycStatus" not in listed[0]
    assert (first != second) is is_published
    wallet = {"address": "0x" + "a" * 40, "chain": "BASE", "idempotencyKey": str(uuid4())}
    made = [
        own_callers["checker"].ramp_write("POST", "/company-wallets", wallet).json()["result"]["id"]
        for _ in "12"
    ]
    assert (made[0] != made[1]) is is_published


def test_an_internal_error_is_a_500_and_keeps_the_connection(
    caller_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = Sandbox()
    with sandbox.serve() as served, plain_client() as client:
        caller = caller_of(sandbox, served, client, "maker")
        monkeypatch.setattr(sandbox._world.store, "page", None)
        assert refused(caller.finance("/parties"), 500) == "Try later."
        monkeypatch.undo()
        assert caller.finance("/parties").status_code == 200
