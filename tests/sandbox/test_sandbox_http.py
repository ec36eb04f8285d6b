"""Both services over a real socket: tokens, pages, filters, decisions and faults."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from plain_http import plain_client

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox, Served

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
FIRST = "eeefe351-e8ff-4dd6-a062-f7f43c5bbb0e"


def waiting(caller: Any) -> dict[str, Any]:
    found = caller.ramp("/ramp-requests", status="AWAITING_APPROVAL").json()["result"]
    detail: dict[str, Any] = caller.ramp(f"/ramp-requests/{found[0]['id']}").json()["result"]
    return detail


# Tokens


def test_a_bearer_token_is_valid_for_300_seconds(
    sandbox: Sandbox, served: Served, http: httpx.Client
) -> None:
    client, secret = sandbox.credentials["maker"]
    form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
    answer = http.post(served.token_url, data=form).json()
    assert answer.pop("access_token")
    assert answer == {"expires_in": 300, "token_type": "Bearer"}


def test_a_wrong_secret_and_an_unknown_client_get_the_same_answer(
    served: Served, http: httpx.Client
) -> None:
    form = {"grant_type": "client_credentials", "client_secret": "wrong"}
    for client in ("harbour-maker", "nobody"):
        answer = http.post(served.token_url, data={**form, "client_id": client})
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid_client"})


def test_only_client_credentials_are_granted(served: Served, http: httpx.Client) -> None:
    answer = http.post(served.token_url, data={"grant_type": "password"})
    assert (answer.status_code, answer.json()) == (400, {"error": "unsupported_grant_type"})


def test_a_call_without_a_token_is_401_with_the_errors_of_the_specification(
    served: Served, http: httpx.Client
) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic x"}):
        answer = http.get(f"{served.ramp_url}/fees", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["success"] is False
        assert answer.json()["errors"][0]["code"] == "UNAUTHORIZED"


def test_expired_tokens_are_401_until_a_new_one_is_fetched(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    assert callers["maker"].ramp("/fees").status_code == 200
    own_sandbox.expire_tokens()
    assert callers["maker"].ramp("/fees").status_code == 401


# Lists


def test_pages_cover_a_list_exactly_once_and_mark_the_last(viewer: Any) -> None:
    seen, number, more = [], 1, True
    while more:
        query = {"page": number, "size": 40, "sortOn": "createdAt", "sortOrder": "DESC"}
        body = viewer.ramp("/ramp-requests", **query).json()
        page = body["pagination"]
        assert (page["pageNumber"], page["pageSize"]) == (number, 40)
        assert page["hasPreviousPage"] is (number > 1)
        assert body["sort"] == {"orders": ["DESC"]}
        seen += body["result"]
        more, number = page["hasNextPage"], number + 1
    assert len({item["id"] for item in seen}) == len(seen) == page["numberOfElements"]
    assert number - 1 == page["numberOfPages"]
    created = [item["createdAt"] for item in seen]
    assert created == sorted(created, reverse=True)


def test_a_size_above_a_thousand_is_served_as_a_thousand(viewer: Any) -> None:
    page = viewer.finance("/parties", size=5000).json()["pagination"]
    assert (page["pageSize"], page["numberOfPages"]) == (1000, 1)


def test_a_page_past_the_end_is_empty(viewer: Any) -> None:
    body = viewer.finance("/accounts", page=9).json()
    assert body["result"] == []
    assert body["pagination"]["hasNextPage"] is False


@pytest.mark.parametrize(
    "query",
    [
        {"page": 0}, {"page": "x"}, {"page": "²"}, {"size": 0}, {"sortOrder": "down"},
        {"sortOn": "1; drop table records"},
    ],
)  # fmt: skip
def test_list_parameters_out_of_bounds_are_400(viewer: Any, query: dict[str, Any]) -> None:
    answer = viewer.finance("/parties", **query)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/ramp-requests", {"rampType": "OFF_RAMP"}, "rampType"),
        ("/ramp-requests", {"status": "BLOCKED"}, "status"),
        ("/ramp-requests", {"paymentReference": "PAY-2026-004417"}, "paymentReference"),
        ("/company-wallets", {"chain": "ETHEREUM"}, "chain"),
        ("/company-wallets", {"verificationStatus": "PENDING"}, "verificationStatus"),
        ("/company-bank-accounts", {"verificationStatus": "VERIFIED"}, "verificationStatus"),
    ],
)
def test_a_filter_of_the_ramp_service_returns_exactly_the_matching_records(
    viewer: Any, path: str, query: dict[str, str], field: str
) -> None:
    everything = viewer.ramp(path, size=1000).json()["result"]
    found = viewer.ramp(path, size=1000, **query).json()["result"]
    assert found == [item for item in everything if item[field] == query[field]]
    assert 0 < len(found) < len(everything)


def test_a_repeated_filter_matches_any_of_its_values(viewer: Any) -> None:
    answer = viewer.ramp("/company-bank-accounts", supportedRampTypes=["ON_RAMP", "OFF_RAMP"])
    kinds = {item["supportedRampType"] for item in answer.json()["result"]}
    assert kinds == {"ON_RAMP", "OFF_RAMP"}


def test_date_filters_of_ramp_requests_are_inclusive(viewer: Any) -> None:
    query = {"fromDate": "2026-10-28", "toDate": "2026-10-28", "size": 1000}
    found = viewer.ramp("/ramp-requests", **query).json()["result"]
    assert found
    assert all(item["createdAt"].startswith("2026-10-28T") for item in found)
    assert viewer.ramp("/ramp-requests", fromDate="28/10/2026").status_code == 400


def test_an_account_lists_the_transfers_of_both_sides_by_role_and_by_id(viewer: Any) -> None:
    path = f"/accounts/{ACCOUNT}/transfers"
    both = viewer.finance(path, size=1000).json()["result"]
    sent = viewer.finance(path, size=1000, accountRole="SENDER").json()["result"]
    received = viewer.finance(path, size=1000, accountRole="RECEIVER").json()["result"]
    assert sent
    assert received
    assert all(transfer["senderAccountId"] == ACCOUNT for transfer in sent)
    assert all(transfer["receiverAccountId"] == ACCOUNT for transfer in received)
    assert len(both) == len(sent) + len(received)
    one = viewer.finance(f"{path}/{received[0]['id']}").json()["result"]
    assert one == received[0]


def test_records_under_another_account_are_not_found(viewer: Any) -> None:
    accounts = viewer.finance("/accounts").json()["result"]
    stranger = accounts[-1]["id"]
    virtual = viewer.finance(f"/accounts/{ACCOUNT}/virtual-bank-accounts").json()["result"][0]
    own = f"/accounts/{ACCOUNT}/virtual-bank-accounts/{virtual['id']}"
    assert viewer.finance(own).json()["result"] == virtual
    assert viewer.finance(own.replace(ACCOUNT, stranger)).status_code == 404
    assert viewer.finance("/accounts/nobody/wallets").status_code == 404
    transfer = viewer.finance(f"/accounts/{ACCOUNT}/transfers").json()["result"][0]
    assert viewer.finance(f"/accounts/{stranger}/transfers/{transfer['id']}").status_code == 404


def test_an_unknown_address_is_404_and_a_wrong_method_405(
    served: Served, http: httpx.Client
) -> None:
    unknown = http.get(f"{served.finance_url}/nothing")
    assert (unknown.status_code, unknown.json()["errors"][0]["code"]) == (404, "NOT_FOUND")
    wrong = http.put(f"{served.finance_url}/parties")
    assert wrong.status_code == 405
    assert wrong.json()["errors"] == [
        {"code": "METHOD_NOT_SUPPORTED", "message": "Supported methods: GET, POST."}
    ]


def test_calls_are_recorded_in_order(own_sandbox: Sandbox, http: httpx.Client) -> None:
    with own_sandbox.serve() as running:
        http.get(f"{running.ramp_url}/fees?page=2")
        http.post(running.token_url)
        assert running.requests == [
            ("GET", "/ramp/v1/fees", "page=2"),
            ("POST", "/oauth/token", ""),
        ]


# Decisions


def test_an_approval_by_the_checker_keeps_the_deposit_details(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    before = own_sandbox.now
    request = waiting(callers["checker"])
    answer = callers["checker"].decide(f"{request['id']}/approve", {"version": request["version"]})
    approved = answer.json()["result"]
    assert (answer.status_code, approved["status"]) == (200, "AWAITING_FUNDS")
    assert approved["version"] == request["version"] + 1
    assert approved["depositBankAccount"] == request["depositBankAccount"]
    events = [event["eventType"] for event in approved["events"]]
    assert events == ["CREATED", "APPROVED", "STATUS_CHANGED"]
    assert approved["events"][1]["username"] == "checker"
    assert own_sandbox.now > before
    listed = callers["maker"].ramp("/ramp-requests", status="AWAITING_FUNDS", size=1000).json()
    assert request["id"] in {item["id"] for item in listed["result"]}


def test_a_stale_version_is_a_conflict_and_changes_nothing(callers: dict[str, Any]) -> None:
    checker = callers["checker"]
    request = waiting(checker)
    answer = checker.decide(f"{request['id']}/approve", {"version": request["version"] - 1})
    assert answer.status_code == 409
    assert answer.json()["errors"][0]["code"] == "OPTIMISTIC_LOCK_EXCEPTION"
    assert checker.ramp(f"/ramp-requests/{request['id']}").json()["result"] == request


def test_a_decision_needs_a_version_and_a_json_object(
    own_sandbox: Sandbox, callers: dict[str, Any], http: httpx.Client
) -> None:
    checker = callers["checker"]
    request = waiting(checker)
    for body in ({}, {"version": "1"}, {"version": True}, [1]):
        answer = checker.decide(f"{request['id']}/approve", body)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "VALIDATION_ERROR")
    url = f"{checker.served.ramp_url}/ramp-requests/{request['id']}/approve"
    headers = {**checker._headers, "Content-Type": "text/plain"}
    assert http.post(url, content="1", headers=headers).status_code == 415


def test_each_role_may_make_only_its_decisions(callers: dict[str, Any]) -> None:
    request = waiting(callers["viewer"])
    body = {"version": request["version"]}
    refused = [
        ("viewer", "approve"), ("viewer", "reject"), ("viewer", "cancel"),
        ("maker", "approve"), ("maker", "reject"), ("checker", "cancel"),
    ]  # fmt: skip
    for name, verb in refused:
        answer = callers[name].decide(f"{request['id']}/{verb}", body)
        code = "FORBIDDEN" if name == "checker" else "INSUFFICIENT_SCOPE"
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (403, code)
    cancelled = callers["maker"].decide(f"{request['id']}/cancel", body)
    assert cancelled.json()["result"]["status"] == "CANCELLED"


def test_the_creator_of_a_request_may_not_approve_it_even_as_administrator(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    from treasury.sandbox.state.shapes import zulu
    from treasury.sandbox.story.cast import USERS
    from treasury.sandbox.story.request_life import record_of

    world = own_sandbox._world
    request = world.life.create(
        "ON_RAMP", Decimal(100), Decimal("0.92"), "USDC",
        reference="PAY-2026-999999", user=USERS["checker"], at=world.clock.now,
    )  # fmt: skip
    world.store.put([record_of(request)])
    answer = callers["checker"].decide(f"{request.id}/approve", {"version": 1})
    assert answer.status_code == 403
    assert "creator" in answer.json()["errors"][0]["message"]
    assert request.created_at == zulu(own_sandbox.now)


@pytest.mark.parametrize(
    ("name", "verb", "state"),
    [
        ("checker", "approve", "APPROVABLE"), ("checker", "reject", "REJECTABLE"),
        ("maker", "cancel", "CANCELLABLE"),
    ],
)  # fmt: skip
def test_a_decision_on_a_request_in_another_state_is_400(
    callers: dict[str, Any], name: str, verb: str, state: str
) -> None:
    answer = callers[name].decide(f"{FIRST}/{verb}", {"version": 4})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["code"] == f"RAMP_REQUEST_NOT_IN_{state}_STATE"
    assert callers[name].decide(f"nobody/{verb}", {"version": 1}).status_code == 404


# Faults


def test_a_queued_status_answers_exactly_the_next_calls(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    own_sandbox.faults.add("/ramp/v1/fees", status=429, retry_after="3", times=2)
    own_sandbox.faults.add("/finance/v1", status=500)
    maker = callers["maker"]
    answers = [maker.ramp("/fees") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "3"
    assert answers[0].json()["errors"][0]["code"] == "RATE_LIMITED"
    assert [maker.finance("/parties").status_code for _ in range(2)] == [500, 200]


@pytest.mark.parametrize(
    ("drop", "status"), [("before", "AWAITING_APPROVAL"), ("after", "REJECTED")]
)
def test_a_connection_is_dropped_before_or_after_the_effect(
    own_sandbox: Sandbox, callers: dict[str, Any], drop: str, status: str
) -> None:
    checker = callers["checker"]
    request = waiting(checker)
    own_sandbox.faults.add("/ramp/v1/ramp-requests", method="POST", drop=drop)
    with pytest.raises(httpx.TransportError):
        checker.decide(f"{request['id']}/reject", {"version": request["version"]})
    after = checker.ramp(f"/ramp-requests/{request['id']}").json()["result"]
    assert after["status"] == status


@pytest.mark.acceptance
def test_a_delay_exceeds_the_timeout_of_a_client(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker = callers["maker"]
    own_sandbox.faults.add("/ramp/v1/fees", delay=1.0)
    with (
        plain_client(0.05, headers=maker._headers) as hasty,
        pytest.raises(httpx.ReadTimeout),
    ):
        hasty.get(f"{maker.served.ramp_url}/fees")
    own_sandbox.faults.add("/ramp/v1/fees", status=500)
    own_sandbox.faults.clear()
    assert maker.ramp("/fees").status_code == 200


# The sandbox itself


def test_a_port_in_use_is_an_error_with_the_next_step(served: Served) -> None:
    port = int(served.base_url.rpartition(":")[2])
    with (
        pytest.raises(InputError, match=f"port {port} cannot be used.*--port"),
        Sandbox(1).serve(port),
    ):
        pass


def test_an_unknown_scenario_or_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="full, no-provider-report"):
        Sandbox(scenario="empty")
    with pytest.raises(InputError, match="use one of: spec"):
        Sandbox(profile="z")


def test_a_sandbox_served_again_keeps_its_state(
    own_sandbox: Sandbox, http: httpx.Client, tmp_path: Path
) -> None:
    form = {"grant_type": "client_credentials"}
    form["client_id"], form["client_secret"] = own_sandbox.credentials["checker"]
    for expected in (3, 2):
        with own_sandbox.serve() as running:
            token = http.post(running.token_url, data=form).json()["access_token"]
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{running.ramp_url}/ramp-requests"
            found = http.get(f"{url}?status=AWAITING_APPROVAL", headers=headers).json()["result"]
            assert len(found) == expected
            answer = http.post(
                f"{url}/{found[0]['id']}/reject", json={"version": 1}, headers=headers
            )
            assert answer.status_code == 200
    own_sandbox.write_truth(tmp_path / "truth.json")
    assert set(json.loads((tmp_path / "truth.json").read_text())) == {"lines", "requests"}


@pytest.mark.acceptance
def test_serve_forever_ends_quietly_on_an_interrupt() -> None:
    program = (
        "from treasury.sandbox import Sandbox, serve_forever;"
        "serve_forever(Sandbox(7), 0, ready=lambda served: print(served.base_url, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert httpx.get(f"{url}/nothing").status_code == 404
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0


def test_the_token_endpoint_accepts_only_form_encoded_bodies(
    own_sandbox: Sandbox, http: httpx.Client
) -> None:
    client_id, secret = own_sandbox.credentials["maker"]
    fields = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    with own_sandbox.serve() as running:
        as_json = http.post(running.token_url, json=fields)
        untyped = http.post(running.token_url, content=urlencode(fields).encode())
        form = http.post(running.token_url, data=fields)
    assert [as_json.status_code, untyped.status_code, form.status_code] == [400, 400, 200]
    assert as_json.json() == {"error": "invalid_request"}


def test_a_write_without_a_body_is_400(callers: dict[str, Any]) -> None:
    maker = callers["maker"]
    party = maker.finance("/parties").json()["result"][0]["id"]
    for method, path in (("PATCH", f"/parties/{party}"), ("POST", "/parties")):
        answer = maker.write(method, path)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["code"] == "VALIDATION_ERROR"


def test_an_unknown_card_is_404(callers: dict[str, Any]) -> None:
    body = {
        "cardProviderReference": {"type": "paymentology", "referenceId": "card-unknown"},
        "paymentRequest": {
            "amount": 1, "currency": "EUR",
            "idempotencyKey": "7f0c4b0e-3f5d-4b1e-9a44-2b6d0f8e1a11",
        },
    }  # fmt: skip
    answer = callers["maker"].write("POST", "/payment-requests", body)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("USD_WIRE", {"accountNumber": "12345678", "routingNumber": "021000021"}),
        ("USD_ACH", {"accountNumber": "12345678", "routingNumber": "021000021"}),
        ("USD_SWIFT", {
            "bic": "TESTUS33", "accountNumber": "12345678", "bankStreetAddress": "1 Wall Street",
            "bankCity": "New York", "bankPostalCode": "10005",
        }),
    ],
)  # fmt: skip
def test_a_us_account_needs_only_the_specified_fields(
    callers: dict[str, Any], kind: str, numbers: dict[str, str]
) -> None:
    body = {
        "name": "Second account", "bankName": "Test Bank", "companyName": "Harbour Lane Trading NV",
        "bankCountry": "US", "beneficiaryAddressLine1": "Kade 14", "beneficiaryCity": "Ghent",
        "beneficiaryPostalCode": "9000", "beneficiaryCountry": "BE",
        "supportedRampType": "OFF_RAMP", "bankAccountType": kind, **numbers,
    }  # fmt: skip
    answer = callers["checker"].ramp_write("POST", "/company-bank-accounts", body)
    assert answer.status_code == 201, answer.text
