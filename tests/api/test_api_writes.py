"""Writes: sent once or retried safely, looked up after a lost answer, and only if permitted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest
from fake_service import REQUESTED, Connect, FakeService, HandClock, answer, refusal

from treasury.api import Client, bodies
from treasury.api.operations import refusals_of
from treasury.core import errors
from treasury.core.files.package_files import package_rows
from treasury.core.settings import Credential, Services
from treasury.sandbox.finance import finance_routes
from treasury.sandbox.ramp import ramp_routes

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
LOST = httpx.ReadTimeout("no answer")
PARTY = bodies.NewParty(
    party_type="ORGANISATION", name="Harbour Lane Trading NV", external_id="org-1"
)
ACCOUNT = bodies.NewAccount(external_id="t", chain="BASE", party_id="p")
VBA = bodies.NewVirtualBankAccount(name="E", in_currency="EUR", target_cryptocurrency="USDC")
CRYPTO = bodies.NewCryptoTransfer(chain="BASE", asset="USDC", amount=1, receiver_account_id="b")
FIAT = bodies.NewFiatTransfer(currency="EUR", amount=1, receiver_account_id="b")
BETWEEN = bodies.NewAccountToAccountTransfer(
    source_account_id="a", destination_account_id="b", amount=1, cryptocurrency="USDC"
)
CARD = bodies.NewPaymentRequest(type="x", reference_id="r", amount=1, currency="EUR")
SESSION = bodies.NewPaymentSession(
    in_amount=1, in_currency="EUR", out_cryptocurrency="USDC", callback_url="https://x.test"
)
REQUEST = bodies.NewRampRequest(
    ramp_type="ON_RAMP",
    amount=25000,
    fiat_currency_id="f1",
    crypto_currency_id="c1",
    company_wallet_id="w1",
)
WALLET = bodies.NewCompanyWallet(address="0xB7", chain="BASE")
ROLE = bodies.NewPartyRole(party_id="p", role_type="ACCOUNT_HOLDER")
VIEWER = bodies.Invitation(email="V@x.test", role="COMPANY_VIEWER", first_name="T", last_name="B")

Write = Callable[[Client], Any]
KEYED: dict[str, Write] = {
    "virtual bank account": lambda c: c.finance.virtual_bank_accounts.create("a", VBA),
    "payment session": lambda c: c.finance.payment_sessions.create("a", SESSION),
    "between accounts": lambda c: c.finance.account_to_account_transfers.create(BETWEEN),
    "crypto": lambda c: c.finance.transfers.crypto("a", CRYPTO),
    "fiat": lambda c: c.finance.transfers.fiat("a", FIAT),
    "either transfer": lambda c: c.finance.transfers.create("a", FIAT),
    "payment request": lambda c: c.finance.payment_requests.create(CARD),
}
ONCE: dict[str, Write] = {
    "party": lambda c: c.finance.parties.create(PARTY),
    "party change": lambda c: c.finance.parties.update("p", bodies.PartyChanges(name="H")),
    "party deletion": lambda c: c.finance.parties.delete("p"),
    "account": lambda c: c.finance.accounts.create(ACCOUNT),
    "account change": lambda c: c.finance.accounts.update("a", bodies.AccountChanges(name="H")),
    "account deletion": lambda c: c.finance.accounts.delete("a"),
    "reactivation": lambda c: c.finance.accounts.reactivate("a"),
    "role": lambda c: c.finance.party_roles.create("a", ROLE),
    "wallet": lambda c: c.finance.wallets.create("a", bodies.NewWallet(chain="BASE")),
    "company wallet": lambda c: c.ramp.wallets.create(WALLET),
    "company wallet change": lambda c: c.ramp.wallets.update("w", description="d", version=1),
    "bank account change": lambda c: c.ramp.bank_accounts.update("b", name="n", version=1),
    "invitation": lambda c: c.ramp.users.invite(VIEWER),
    "ramp request": lambda c: c.ramp.requests.create(REQUEST, check=False),
    "cancel": lambda c: c.ramp.requests.cancel("r", version=1),
    "amount": lambda c: c.ramp.requests.change_amount("r", amount=1, version=1),
    "hash": lambda c: c.ramp.requests.add_transaction_hash("r", transaction_hash="0x", version=1),
}


def scripted(*outcomes: httpx.Response | Exception) -> Callable[[httpx.Request], httpx.Response]:
    """Return a handler that gives these outcomes in order, and then repeats the last."""
    left = list(outcomes)

    def handler(_request: httpx.Request) -> httpx.Response:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return handler


def contents(service: FakeService) -> list[bytes]:
    return [request.content for request in service.requests]


@pytest.mark.parametrize("name", KEYED)
def test_a_keyed_write_is_retried_with_identical_bytes(connect: Connect, name: str) -> None:
    client, service = connect(scripted(LOST, refusal(503), answer({"id": "x"})))
    assert KEYED[name](client).value.id == "x"
    sent = contents(service)
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert b'"idempotencyKey":"' in sent[0]


@pytest.mark.parametrize("name", KEYED)
def test_an_unanswered_keyed_write_names_the_key_to_resend(connect: Connect, name: str) -> None:
    client, service = connect(scripted(LOST))
    with pytest.raises(errors.OutcomeUnknown) as caught:
        KEYED[name](client)
    assert len(service.requests) == 6
    assert caught.value.key is not None
    assert caught.value.key in caught.value.look_up
    assert caught.value.key.encode() in contents(service)[0]


@pytest.mark.parametrize("failure", [LOST, httpx.RemoteProtocolError("cut"), refusal(502)])
@pytest.mark.parametrize("name", ONCE)
def test_any_other_write_is_never_retried_automatically(
    connect: Connect, name: str, failure: Exception | httpx.Response
) -> None:
    client, service = connect(scripted(failure))
    with pytest.raises(errors.OutcomeUnknown) as caught:
        ONCE[name](client)
    assert len(service.requests) == 1
    assert caught.value.may_have_executed
    assert caught.value.look_up


VERSIONED = ("company wallet change", "bank account change", "cancel", "amount", "hash")
BARE = [name for name in ONCE if name not in VERSIONED]
DONE = answer({"id": REQUESTED, "partyId": "p", "roleType": "ACCOUNT_HOLDER"})


@pytest.mark.parametrize("name", [*KEYED, *VERSIONED])
def test_a_write_with_key_or_version_is_retried_after_a_rate_limit(
    connect: Connect, hand_clock: HandClock, name: str
) -> None:
    limited = refusal(429, "RATE_LIMITED", **{"Retry-After": "3"})
    client, service = connect(scripted(limited, DONE))
    (KEYED | ONCE)[name](client)
    assert hand_clock.slept == [3.0]
    assert len(set(contents(service))) == 1


@pytest.mark.parametrize("name", [*KEYED, *VERSIONED])
def test_a_write_with_key_or_version_is_retried_with_a_new_token(
    connect: Connect, name: str
) -> None:
    client, service = connect(scripted(refusal(401, "UNAUTHORIZED"), DONE))
    (KEYED | ONCE)[name](client)
    assert len(service.requests) == service.token_requests == 2
    assert len(set(contents(service))) == 1


@pytest.mark.parametrize("name", BARE)
def test_a_write_without_key_or_version_is_never_retried_after_429(
    connect: Connect, name: str
) -> None:
    client, service = connect(scripted(refusal(429, "RATE_LIMITED"), DONE))
    with pytest.raises(errors.RateLimited) as caught:
        ONCE[name](client)
    assert len(service.requests) == 1
    assert not caught.value.may_have_executed


@pytest.mark.parametrize("name", BARE)
def test_a_plain_write_is_retried_once_after_the_services_own_401(
    connect: Connect, name: str
) -> None:
    client, service = connect(scripted(refusal(401, "UNAUTHORIZED"), DONE))
    ONCE[name](client)
    assert len(service.requests) == service.token_requests == 2
    assert len(set(contents(service))) == 1


def test_a_plain_write_without_retry_unauthorized_is_sent_once(connect: Connect) -> None:
    client, service = connect(scripted(refusal(401, "UNAUTHORIZED"), DONE))
    with pytest.raises(errors.Unauthorized) as caught:
        client.request("POST", "/accounts/{accountId}/reactivate", "a", retry_unauthorized=False)
    assert len(service.requests) == 1
    assert not caught.value.may_have_executed


@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("status", [401, 429])
def test_an_intermediarys_401_and_429_leave_a_write_without_key_unknown(
    connect: Connect, name: str, status: int
) -> None:
    client, service = connect(scripted(httpx.Response(status, html="<h1>proxy</h1>"), DONE))
    with pytest.raises(errors.OutcomeUnknown):
        ONCE[name](client)
    assert len(service.requests) == 1


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize("status", [401, 429])
def test_an_intermediarys_401_is_remembered_when_the_retry_of_a_keyed_write_is_refused(
    connect: Connect, name: str, status: int
) -> None:
    client, service = connect(
        scripted(httpx.Response(status, html="<h1>proxy</h1>"), refusal(403, "FORBIDDEN"))
    )
    with pytest.raises(errors.Forbidden) as caught:
        KEYED[name](client)
    assert len(service.requests) == 2
    assert caught.value.may_have_executed


def test_a_keyed_write_stays_unknown_if_no_token_is_available_for_its_retry(
    services: Services, credential: Credential, hand_clock: HandClock
) -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if not request.url.path.endswith("/token"):
            return httpx.Response(401, html="<h1>proxy</h1>")
        if len(asked) > 1:
            return httpx.Response(400, json={"error": "invalid_client"})
        return httpx.Response(200, json={"access_token": "t", "expires_in": 300})

    inner = httpx.MockTransport(handler)
    with (
        Client(services, credential, clock=hand_clock.clock(), inner=inner) as client,
        pytest.raises(errors.OutcomeUnknown, match="BadCredentials"),
    ):
        KEYED["crypto"](client)
    assert len(asked) == 3


def test_an_expiring_token_is_renewed_before_a_write_is_sent(
    connect: Connect, hand_clock: HandClock
) -> None:
    client, service = connect(lambda _: DONE)
    client.ramp.company.get()
    hand_clock.seconds += 271
    ONCE["party"](client)
    assert service.token_requests == 2
    assert service.requests[-1].headers["Authorization"].endswith("-2")


@pytest.mark.parametrize("name", [*KEYED, *ONCE])
@pytest.mark.parametrize("status", [400, 402, 403, 404, 405, 409, 410, 413, 415, 418, 422])
def test_a_refusal_is_not_retried(connect: Connect, name: str, status: int) -> None:
    client, service = connect(scripted(refusal(status, "NO")))
    with pytest.raises(errors.ServiceError) as caught:
        (KEYED | ONCE)[name](client)
    assert len([one for one in service.requests if one.method != "GET"]) == 1
    assert caught.value.operation is not None
    documented = status in refusals_of(caught.value.operation)
    assert caught.value.may_have_executed is not documented


FOREIGN = (
    {"html": "<h1>403 Forbidden</h1>"},
    {"json": {"message": "Forbidden"}},
    {"json": {"success": False, "errors": [{"code": 1020, "message": "Access denied"}]}},
    {"json": {"success": False, "errors": []}},
    {"json": {"success": False, "errors": [{"message": "no code"}]}},
    {"json": {"errors": [{"code": "FORBIDDEN", "message": "without success"}]}},
    {"json": {"success": True, "errors": [{"code": "FORBIDDEN"}]}},
    {"json": {"success": 0, "errors": [{"code": "FORBIDDEN"}]}},
    {"json": [{"code": "FORBIDDEN"}]},
    {"content": b'{"success":false,"errors":[{"code":"FORBIDDEN"}]}'},
    {"text": '{"success":false,"errors":[{"code":"FORBIDDEN"}]}'},
    {"content": b'{"success":false,"errors":[{"code":"FORB',
     "headers": {"Content-Type": "application/json"}},
    {"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}},
    {"content": b'{"success":false,"x":' + b"9" * 100_000 + b"}",
     "headers": {"Content-Type": "application/json"}},
    {"content": b"\xff\xfe", "headers": {"Content-Type": "application/json"}},
    {},
)  # fmt: skip


@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("name", ["crypto", "ramp request", "cancel", "party deletion"])
def test_a_response_that_is_not_the_services_own_refusal_does_not_count_as_one(
    connect: Connect, name: str, foreign: dict[str, Any]
) -> None:
    client, service = connect(scripted(httpx.Response(403, **foreign)))
    with pytest.raises(errors.OutcomeUnknown, match="answered 403"):
        (KEYED | ONCE)[name](client)
    assert len(service.requests) == 1


def test_every_write_of_the_practice_services_is_in_the_table_of_refusals() -> None:
    places = re.compile(r"{\w+}")
    rows = [row for row in package_rows("treasury.api", "operations.csv") if row["refuses"]]
    listed = {places.sub("{}", row["operation"]): refusals_of(row["operation"]) for row in rows}
    for route in (*finance_routes.routes("spec"), *ramp_routes.routes("spec")):
        name = places.sub("{}", f"{route.method} {route.path}")
        if route.method != "GET" and name != "POST /fees/calculate":
            assert set(route.refuses) <= listed[name], name


@pytest.mark.parametrize(
    ("status", "code"), [(422, "idempotency-conflict"), (409, "IDEMPOTENCY_CONFLICT"), (409, "X")]
)
def test_a_used_key_is_reported_and_not_replaced(connect: Connect, status: int, code: str) -> None:
    client, service = connect(scripted(LOST, refusal(status, code)))
    with pytest.raises(errors.KeySpent) as caught:
        client.finance.transfers.crypto("a", CRYPTO)
    assert len(set(contents(service))) == 1
    assert caught.value.key == CRYPTO.idempotency_key
    # The first attempt may have used the key.
    assert caught.value.may_have_executed


def test_an_error_names_operation_ids_key_and_trace(connect: Connect) -> None:
    client, _ = connect(scripted(refusal(422, "insufficient-funds", **{"X-Trace-Id": "t-1"})))
    with pytest.raises(errors.InsufficientFunds) as caught:
        client.finance.transfers.crypto("acc-1", CRYPTO)
    error = caught.value
    assert (error.operation, error.ids, error.key, error.trace) == (
        "POST /accounts/{senderAccountId}/transfers/crypto",
        ("acc-1",),
        CRYPTO.idempotency_key,
        "t-1",
    )
    assert "(id acc-1, trace t-1)" in str(error)


# ---- looking up an effect ------------------------------------------------------------------------


def request_row(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "rampType": "ON_RAMP",
        "status": "AWAITING_APPROVAL",
        "fiatAmount": 25000,
        "createdAt": "2026-11-02T08:00:01Z",
        "createdBy": "maker@harbour.test",
        "companyWalletId": "w1",
        **changes,
    }


def listing(*rows: dict[str, Any]) -> Callable[[httpx.Request], httpx.Response]:
    """Return a handler that gives `companyWalletId` only in single records, not in the list."""

    def handler(request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        if name == "ramp-requests":
            short = [{k: v for k, v in row.items() if k != "companyWalletId"} for row in rows]
            return answer(short)
        return answer(next(row for row in rows if row["id"] == name))

    return handler


def test_the_only_matching_request_is_found(connect: Connect) -> None:
    client, service = connect(
        listing(
            request_row("yesterday", createdAt="2026-11-01T08:00:00Z"),
            request_row("before-in-the-list"),
            request_row("other-amount", fiatAmount=2500),
            request_row("other-way", rampType="OFF_RAMP"),
            request_row("other-wallet", companyWalletId="w2"),
            request_row("other-maker", createdBy="anna@harbour.test"),
            request_row("ours"),
        )
    )
    found = client.ramp.requests.find(
        body=REQUEST, since=NOW, earlier_ids={"before-in-the-list"}, created_by="maker@harbour.test"
    )
    assert found.value.id == "ours"
    asked = dict(service.requests[0].url.params)
    assert (asked["fromDate"], asked["sortOrder"]) == ("2026-11-01", "DESC")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((), "no matching record is listed"),
        ((request_row("r1"), request_row("r2")), "2 records may be the created one: r1, r2"),
    ],
)
def test_none_or_several_matching_requests_give_no_result(
    connect: Connect, rows: tuple, said: str
) -> None:
    client, _ = connect(listing(*rows))
    with pytest.raises(errors.OutcomeUnknown, match=said):
        client.ramp.requests.find(body=REQUEST, since=NOW)


FINDS: dict[str, tuple[dict[str, Any], dict[str, Any], Write]] = {
    "party": (
        {"id": "1", "partyType": "ORGANISATION", "externalId": "org-1"},
        {"externalId": "org-2"},
        lambda c: c.finance.parties.find(body=PARTY, since=NOW),
    ),
    "account": (
        {"id": "1", "externalId": "t"},
        {"externalId": "u"},
        lambda c: c.finance.accounts.find(body=ACCOUNT, since=NOW),
    ),
    "role": (
        {"partyId": "p", "roleType": "ACCOUNT_HOLDER"},
        {"partyId": "q"},
        lambda c: c.finance.party_roles.find("a", body=ROLE, since=NOW),
    ),
    "wallet": (
        {"id": "1", "chain": "BASE"},
        {"chain": "AVALANCHE"},
        lambda c: c.finance.wallets.find("a", body=bodies.NewWallet(chain="BASE"), since=NOW),
    ),
    "company wallet": (
        {"id": "1", "address": "0xb7", "chain": "BASE"},
        {"address": "0xb8"},
        lambda c: c.ramp.wallets.find(body=WALLET, since=NOW),
    ),
    "invitation": (
        {"id": "1", "email": "v@x.test"},
        {"email": "w@x.test"},
        lambda c: c.ramp.users.find(body=VIEWER, since=NOW),
    ),
}


@pytest.mark.parametrize("name", FINDS)
def test_a_record_created_without_a_key_can_be_found(connect: Connect, name: str) -> None:
    row, change, find = FINDS[name]
    other = {**row, **change, "id": "2"}
    client, _ = connect(lambda _: answer([other, row]))
    record = find(client)
    assert json.loads(record.raw) == row


# ---- permission to write -------------------------------------------------------------------------


@pytest.fixture
def production(services: Services, credential: Credential, hand_clock: HandClock) -> Any:
    def opened(*, allow: bool) -> tuple[Client, FakeService]:
        service = FakeService(lambda _: answer({"id": "x", "partyId": "p", "roleType": "r"}))
        there = msgspec.structs.replace(services, environment="production", allow_writes=allow)
        inner = httpx.MockTransport(service)
        return Client(there, credential, clock=hand_clock.clock(), inner=inner), service

    return opened


@pytest.mark.parametrize("name", [*KEYED, *ONCE])
def test_production_is_not_written_to_without_permission(production: Any, name: str) -> None:
    client, service = production(allow=False)
    with client, pytest.raises(errors.ActionRefused, match=r"nothing was sent.*allow_writes"):
        (KEYED | ONCE)[name](client)
    assert (service.requests, service.token_requests) == ([], 0)
    assert not client.may_write


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post", "get"])
@pytest.mark.parametrize("route", ["/parties", "/fees/calculate"])
def test_no_argument_makes_a_write_method_count_as_a_read(
    production: Any, method: str, route: str
) -> None:
    client, service = production(allow=False)
    with client:
        with pytest.raises(errors.InputError, match="the method decides"):
            client.request(method, route, kind="read", body={})
        with pytest.raises(errors.ActionRefused):
            client.request(method, route, body={})
        for kind in ("keyed", "versioned", "write"):
            with pytest.raises(errors.ActionRefused):
                client.request(method, route, kind=kind, body={})
    assert (service.requests, service.token_requests) == ([], 0)


@pytest.mark.parametrize("name", [*KEYED, *ONCE])
def test_a_read_only_client_writes_nothing_and_names_the_remedy(
    connect: Connect, name: str
) -> None:
    client, service = connect(scripted(DONE))
    reader = client.for_reading(lambda operation: f"do {operation} otherwise")
    with pytest.raises(errors.ActionRefused, match=r"is read-only; nothing was sent - do [A-Z]+ /"):
        (KEYED | ONCE)[name](reader)
    assert service.requests == []
    assert (reader.may_write, client.may_write) == (False, True)
    assert reader.ramp.company.get().value.id == "x"
    (KEYED | ONCE)[name](client)
    # Both clients use the same token.
    assert service.token_requests == 1


def test_production_is_read_without_permission_to_write(production: Any) -> None:
    client, _ = production(allow=False)
    with client:
        assert client.ramp.company.get().value.id == "x"
        assert client.ramp.fees.calculate(amount=1, ramp_type="ON_RAMP").value.unit == "fiat"


def test_production_is_written_to_with_permission(production: Any) -> None:
    client, service = production(allow=True)
    with client:
        client.finance.transfers.crypto("a", CRYPTO)
    assert len(service.requests) == 1


# ---- before a ramp request -----------------------------------------------------------------------


@pytest.mark.parametrize("unready", ["company", "company-wallets", "company-bank-accounts"])
def test_a_request_with_an_unverified_party_is_not_sent(connect: Connect, unready: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        status = "PENDING" if unready == request.url.path.split("/")[3] else "VERIFIED"
        return answer({"id": REQUESTED, "kybStatus": status, "verificationStatus": status})

    client, service = connect(handler)
    off_ramp = msgspec.structs.replace(
        REQUEST, ramp_type="OFF_RAMP", company_wallet_id=None, company_bank_account_id="b1"
    )
    body = off_ramp if unready == "company-bank-accounts" else REQUEST
    with pytest.raises(errors.NotReady, match="PENDING, not VERIFIED; no ramp request was sent"):
        client.ramp.requests.create(body)
    assert {request.method for request in service.requests} == {"GET"}


@pytest.mark.parametrize("status", [403, 405])
def test_unreadable_prerequisites_are_left_to_the_service(connect: Connect, status: int) -> None:
    client, _ = connect(
        lambda r: answer({"id": "new"}) if r.method == "POST" else refusal(status, "X")
    )
    assert client.ramp.requests.create(REQUEST).value.id == "new"


def test_a_transfer_is_watched_until_it_is_final(connect: Connect, hand_clock: HandClock) -> None:
    said = ["PENDING", "SOMETHING_NEW", "COMPLETED"]
    client, _ = connect(lambda _: answer({"id": "t", "status": said.pop(0)}))
    assert client.finance.transfers.wait("a", "t", every=2).value.status == "COMPLETED"
    assert hand_clock.slept == [2, 2]


def test_watching_a_transfer_ends_at_the_deadline(connect: Connect, hand_clock: HandClock) -> None:
    client, _ = connect(lambda _: answer({"id": "t", "status": "PENDING"}))
    record = client.finance.transfers.wait("a", "t", timeout=10, every=4)
    assert not record.value.is_final
    assert hand_clock.slept == [4, 4, 4]


def test_reference_data_is_cached_for_a_while(connect: Connect, hand_clock: HandClock) -> None:
    client, service = connect(lambda _: answer([{"id": "f", "currency": "EUR"}]))
    currencies = client.ramp.fiat_currencies
    first = currencies.recent()
    # A caller that changes its list does not change the cache.
    first.clear()
    assert [record.value.currency for record in currencies.recent()] == ["EUR"]
    assert len(service.requests) == 1
    currencies.all()
    hand_clock.seconds += timedelta(hours=1).total_seconds()
    currencies.recent()
    assert len(service.requests) == 3
