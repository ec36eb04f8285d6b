"""Behaviour that the finance service's specification leaves open, and the client's handling."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from fake_service import Connect, HandClock, answer, refusal
from gap_rows import read, row, serving

from treasury.api import bodies
from treasury.api.models import (
    Account,
    Balance,
    Party,
    PaymentRequest,
    PaymentSession,
    RampRequest,
    Transfer,
    VirtualBankAccount,
)
from treasury.api.service_errors import error_for
from treasury.core import errors


@row("Party mandatory (45)", "Create mandatory (211)")
def mandatory(connect: Connect, _: HandClock) -> None:
    with pytest.raises(errors.InputError):
        bodies.NewParty(party_type="INDIVIDUAL", first_name="Mira")
    keyed = (bodies.NewParty, bodies.NewAccount, *bodies.Keyed.__subclasses__())
    for body in keyed:  # a key is sent wherever the specification accepts one
        assert "idempotency_key" in body.__struct_fields__


@row("Address mandatory (45)")
def address(connect: Connect, _: HandClock) -> None:
    with pytest.warns(UserWarning, match="lacks address_line1, city, postal_code"):
        sent = bodies.PostalAddress(country="BE")
    assert sent.wire() == {"country": "BE"}


@row("Party status (46)", "kybStatus (46)", "Account status (79)", "VBA status (115)",
     "supportedRampType (87)", "verificationStatus (87)", "Deprecation (252)",
     "Compatibility (227)")  # fmt: skip
def open_enums(connect: Connect, _: HandClock) -> None:
    odd = {"id": "x", "status": "ODD", "kybStatus": "ODD", "verificationStatus": "ODD"}
    client, _service = serving(connect, [{**odd, "supportedRampType": "ODD", "later": {"a": 1}}])
    lists = (
        client.finance.parties.list(),
        client.finance.accounts.list(),
        client.finance.virtual_bank_accounts.list("a"),
        client.ramp.bank_accounts.list(),
        client.ramp.wallets.list(),
    )
    for page in lists:
        (record,) = page
        assert "ODD" in {getattr(record.value, name) for name in record.value.__struct_fields__}
        assert b'"later":{"a":1}' in record.raw.replace(b" ", b"")
    assert not read(Transfer, id="t", status="ODD").is_final
    assert not read(RampRequest, id="r", status="ODD").is_final


@row("kycStatus (46)")
def kyc(connect: Connect, _: HandClock) -> None:
    for model in (Party, Account):
        unlocked = {"VERIFIED": True, "NOT_REQUIRED": True, None: None}
        unlocked |= dict.fromkeys(("PENDING", "VERIFICATION_PENDING", "REJECTED", "ODD"), False)
        for said, may in unlocked.items():
            assert read(model, id="x", kycStatus=said).may_send is may


@row("Account fields (79)")
def account_fields(connect: Connect, _: HandClock) -> None:
    roles = [{"partyId": "p", "roleType": "ACCOUNT_HOLDER", "status": "ACTIVE"}]
    first = {"id": "a", "externalId": "e", "status": "ACTIVE", "partyRoles": roles}
    for body in ({"id": "a"}, first, {"id": "a", "kycStatus": "VERIFIED", "version": 1}):
        assert read(Account, **body).id == "a"
    client, service = serving(connect, roles)
    assert client.finance.party_roles.all("a")[0].value.party_id == "p"
    assert service.requests[0].url.path.endswith("/accounts/a/party-roles")


@row("balances element (92)")
def balances(connect: Connect, _: HandClock) -> None:
    split = {"total": 10.5, "available": 10.25, "reserved": 0.25}
    text = {name: str(value) for name, value in split.items()}
    first = {"balance": "10.5", "availableBalance": "10.25", "pendingBalance": "0.25"}
    for shape in (
        {"token": "USDC", **first},
        {"asset": "USDC", "amount": text},
        {"asset": "USDC", "amount": split},
        {"asset": "USDC", **text},
    ):
        holding = read(Balance, **shape).holding()
        assert (holding.asset, holding.total, holding.ties) == ("USDC", Decimal("10.5"), True)
    assert read(Balance, asset="USDC", amount={**split, "total": 11}).holding().ties is False


@row("VBA types (115)")
def rails(connect: Connect, _: HandClock) -> None:
    rail = {"railType": "WIRE", "paymentReference": "WIRE-77"}
    own = {"railType": "ACH", "paymentReference": "VFY-1"}
    account = read(
        VirtualBankAccount, id="v", referenceCode="VFY-1", depositRails=[rail, own, rail]
    )
    assert (account.reference_code, account.rail_references) == ("VFY-1", ("WIRE-77",))
    assert read(VirtualBankAccount, id="v", bankAccountType="USD_FEDNOW").rail_references == ()


@row("Session response (119)")
def session(connect: Connect, _: HandClock) -> None:
    said = {"id": "s", "inAmount": 480.5, "paymentUrl": "https://x", "metadata": {"invoice": "1"}}
    client, _service = serving(connect, said)
    body = bodies.NewPaymentSession(
        in_amount="480.50", in_currency="EUR", out_cryptocurrency="USDC", callback_url="https://c"
    )
    record = client.finance.payment_sessions.create("a", body)
    assert record.value.in_amount == Decimal("480.5")
    # No endpoint returns a session again, so a caller can keep the whole answer.
    assert json.loads(record.raw) == said
    assert read(PaymentSession, paymentUrl="https://x").payment_url == "https://x"


@row("Transfer fields (123)")
def failure(connect: Connect, _: HandClock) -> None:
    for name in ("failureCode", "failureReason", "errorMessage"):
        assert read(Transfer, id="t", status="FAILED", **{name: "why"}).failure == "why"
    both = read(Transfer, id="t", failureCode="F1", failureReason="no gas", errorMessage="no gas")
    assert both.failure == "F1: no gas"
    assert read(Transfer, id="t", status="COMPLETED").failure is None


@row("Payment-request response (127)")
def payment_request(connect: Connect, _: HandClock) -> None:
    for amount in (63.9, {"fiat": 63.9, "crypto": "63.900000"}, {"fiat": 63.9, "crypto": 63.9}):
        whole = {"createdResourceId": "p", "response": {"id": "p", "amount": amount}}
        for result in (whole["response"], whole):
            client, _service = serving(connect, result)
            body = bodies.NewPaymentRequest(
                type="x", reference_id="r", amount="63.90", currency="USD"
            )
            record = client.finance.payment_requests.create(body)
            assert record.value.fiat_amount == Decimal("63.9")
            assert json.loads(record.raw) == whole["response"]
    assert read(PaymentRequest, id="p", status="SETTLED_WITH_SHORTFALL").status


@row("reactivate source (145)")
def not_offered(connect: Connect, _: HandClock) -> None:
    client, _service = connect(lambda _: refusal(405, "METHOD_NOT_SUPPORTED"))
    with pytest.raises(errors.NotOffered):
        client.finance.accounts.reactivate("a")


@row("Transfer moves (159)")
def moves(connect: Connect, clock: HandClock) -> None:
    said = ["PENDING", "COMPLETED"]
    client, _service = connect(lambda _: answer({"id": "t", "status": said.pop(0)}))
    assert client.finance.transfers.wait("a", "t").value.status == "COMPLETED"
    at_once, _service = serving(connect, {"id": "t", "status": "COMPLETED"})
    waited = len(clock.slept)
    assert at_once.finance.transfers.wait("a", "t").value.is_final
    assert len(clock.slept) == waited


@row("Page parameters (204)", "size, page, sortOrder (222)")
def page_parameters(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, [])
    client.finance.parties.list()
    client.ramp.requests.list()
    for request in service.requests:
        assert set(request.url.params) == {"page", "size", "sortOn", "sortOrder"}


@row("Page response (204)")
def page_response(connect: Connect, _: HandClock) -> None:
    stated, _service = serving(connect, [{"id": "a"}] * 3, pagination={"hasNextPage": False})
    assert [r.value.id for r in stated.finance.parties.iterate(size=3)] == ["a"]
    again, _service = serving(connect, [{"id": "a"}], pagination={"hasNextPage": True})
    with pytest.raises(errors.UnexpectedResponse, match="has only records of earlier pages"):
        list(again.finance.parties.iterate())
    lost, _service = connect(lambda _: httpx.Response(200, json={"success": True}))
    with pytest.raises(errors.UnexpectedResponse, match="no result"):
        lost.finance.parties.list()


@row("List filters (204)")
def filters(connect: Connect, _: HandClock) -> None:
    rows = [
        {"id": "1", "status": "ACTIVE", "senderAccountId": "a", "receiverAccountId": "b"},
        {"id": "2", "status": "ODD", "senderAccountId": "b", "receiverAccountId": "a"},
        {"id": "3"},
    ]
    client, service = serving(connect, rows)

    def kept(page: Any) -> list[str]:
        return [record.value.id for record in page]

    assert kept(client.finance.parties.list(status="ACTIVE")) == ["1", "3"]
    assert kept(client.finance.transfers.list("a", account_role="SENDER")) == ["1", "3"]
    assert kept(client.finance.transfers.list("a", account_role="RECEIVER")) == ["2", "3"]
    assert service.requests[-1].url.params["accountRole"] == "RECEIVER"
    # A full page is not the last one if the filter removes all its records.
    pages = [[{"id": "1", "status": "ODD"}, {"id": "2", "status": "ODD"}], [{"id": "3"}]]
    walked, service = connect(lambda r: answer(pages[int(r.url.params["page"]) - 1]))
    found = walked.finance.parties.iterate(size=2, status="ACTIVE")
    assert [record.value.id for record in found] == ["3"]
    first = walked.finance.parties.list(size=2, status="ACTIVE")
    assert (len(first), first.has_next) == (0, True)
    following = first.next()
    assert following is not None
    assert kept(following) == ["3"]


@row("PATCH bodies (205)")
def patch(connect: Connect, _: HandClock) -> None:
    assert bodies.PartyChanges(version=0, name="H").wire() == {"version": 0, "name": "H"}
    assert bodies.PartyChanges(name="H").wire() == {"name": "H"}
    assert bodies.AccountChanges(external_id="e").wire() == {"externalId": "e"}


@row("DELETE effect (205)", "Success codes (209)")
def success(connect: Connect, _: HandClock) -> None:
    client, _service = connect(lambda _: httpx.Response(204))
    client.finance.parties.delete("p")
    client.finance.accounts.delete("a")
    body = bodies.NewWallet(chain="BASE")
    for status in (200, 201, 202):
        client, _service = connect(
            lambda _, status=status: httpx.Response(status, json={"result": {"id": "w"}})
        )
        assert client.finance.wallets.create("a", body).value.id == "w"


@row("POST /transfers body (206)")
def transfers(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, {"id": "t"})
    body = bodies.NewFiatTransfer(currency="EUR", amount=1, receiver_account_id="b")
    client.finance.transfers.fiat("a", body)
    assert service.requests[0].url.path.endswith("/accounts/a/transfers/fiat")
    client.finance.transfers.create("a", body)
    assert json.loads(service.requests[1].content) == {"senderAccountId": "a", **_json(body)}


def _json(body: bodies.Body) -> dict[str, Any]:
    return {k: int(v) if isinstance(v, Decimal) else v for k, v in body.wire().items()}


@row("Destination address name (207)")
def outside(connect: Connect, _: HandClock) -> None:
    crypto = {"chain": "BASE", "asset": "USDC", "amount": 1}
    with pytest.raises(TypeError):
        bodies.ExternalAddress(address="0xb7")  # there is no default for the field's name
    named = bodies.ExternalAddress("toAddress", "0xb7")
    body = bodies.NewCryptoTransfer(**crypto, external_address=named)
    assert body.wire()["toAddress"] == "0xb7"


@row("Fiat receiver (unstated)")
def receiver(connect: Connect, _: HandClock) -> None:
    for given in ({}, {"receiver_account_id": "a", "receiver_external_id": "e"}):
        with pytest.raises(errors.InputError, match="one of receiver_account_id"):
            bodies.NewFiatTransfer(currency="EUR", amount=1, **given)


@row("Permits (208)", "Allowances (208)")
def announced(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, [{"asset": {"name": "USDC"}, "allowance": "5000.000000"}])
    (allowance,) = client.finance.wallets.allowances("a", "w", "USDC")
    assert allowance.value.allowance == Decimal(5000)
    assert not allowance.value.is_unlimited
    for text in (str(2**256 - 1), f"{(2**256 - 1) // 10**6}.{(2**256 - 1) % 10**6:06}"):
        client, _ = serving(
            connect, [{"asset": {"name": "USDC", "decimals": 6}, "allowance": text}]
        )
        (allowance,) = client.finance.wallets.allowances("a", "w", "USDC")
        assert allowance.value.is_unlimited
    client, service = serving(connect, [{"asset": "USDC", "status": "CONFIRMED"}])
    assert client.finance.wallets.permits("a", "w")[0].value.status == "CONFIRMED"
    assert {request.method for request in service.requests} == {"GET"}
    assert not hasattr(client.finance.wallets, "permit")


@row("cardProviderReference.type (210)", "Payment-request currency (210)")
def pass_through(connect: Connect, _: HandClock) -> None:
    body = bodies.NewPaymentRequest(type="Odd-Type", reference_id="r", amount=1, currency="xyz")
    assert body.wire()["cardProviderReference"]["type"] == "Odd-Type"
    assert body.wire()["paymentRequest"]["currency"] == "xyz"


@row("Finance roles (221)", "Scopes by endpoint (196)")
def scopes(connect: Connect, _: HandClock) -> None:
    named = {
        "POST /parties": "manage:parties",
        "POST /accounts/{senderAccountId}/transfers/fiat": "manage:transfers",
        "POST /payment-requests": "manage:payment-requests",
        "POST /ramp-requests/{id}/approve": "approve:ramp-request",
        "GET /ramp-requests/on-ramp/pairs": "create:ramp-request",
        "GET /company/users": "manage:company-users",
    }
    for operation, scope in named.items():
        error = error_for(refusal(403, "FORBIDDEN"), operation)
        assert isinstance(error, errors.Forbidden)
        assert scope in str(error)
    assert "role allows it" in str(error_for(refusal(403), "GET /fees"))


@row("Error codes (235)", "Error body (215)")
def codes(connect: Connect, _: HandClock) -> None:
    for code in ("VALIDATION_ERROR", "validation-error", "Validation-Error"):
        assert error_for(refusal(400, code), "POST /x").code == "VALIDATION_ERROR"
    # A known code with an unexpected status does not change the class of the error.
    assert type(error_for(refusal(500, "insufficient-funds"), "POST /x")) is errors.ServiceFault
    for status in (402, 422):
        error = error_for(refusal(status, "insufficient-funds"), "POST /x")
        assert type(error) is errors.InsufficientFunds
    bare = httpx.Response(400, json={"failures": [{"code": "X"}], "traceCode": "t1"})
    assert error_for(bare, "POST /x").trace == "t1"


@row("Key reused, other body (235)")
def spent(connect: Connect, _: HandClock) -> None:
    body = bodies.NewPaymentRequest(type="x", reference_id="r", amount=1, currency="EUR")
    for refused in (refusal(422, "idempotency-conflict"), refusal(409, "CONFLICT")):
        client, service = connect(lambda _, refused=refused: refused)
        with pytest.raises(errors.KeySpent, match="before you send it with a new key"):
            client.finance.payment_requests.create(body)
        assert len(service.requests) == 1


@row("KYC unverified (235)")
def not_ready(connect: Connect, _: HandClock) -> None:
    for status, code in (
        (400, "kyc-not-verified"), (422, "kyc-required"), (400, "account-not-active"),
        (400, "account-wallet-not-active"), (422, "KYC_NOT_VERIFIED"), (403, "KYB_NOT_VERIFIED"),
    ):  # fmt: skip
        assert type(error_for(refusal(status, code), "POST /x")) is errors.NotReady


@row("Rate limits (244)", "Rate limits (221)")
def rate(connect: Connect, clock: HandClock) -> None:
    asked = refusal(429, **{"Retry-After": "4"})
    answers = [asked, refusal(429), refusal(429), answer({"id": "c"})]
    client, _service = connect(lambda _: answers.pop(0))
    client.ramp.company.get()
    assert clock.slept == [4.0, 0.5, 1.0]


@row("Amount bounds (245)", "Ramp amount bounds (223)")
def bounds(connect: Connect, _: HandClock) -> None:
    for amount in ("0", "-1", "NaN", 1.0):
        with pytest.raises(errors.InputError):
            bodies.NewFiatTransfer(currency="EUR", amount=amount, receiver_account_id="a")
    said = httpx.Response(
        400,
        json={
            "success": False,
            "errors": [{"code": "AMOUNT_BELOW_MINIMUM", "message": "At least 50 EUR."}],
        },
    )
    client, _service = connect(lambda _: said)
    with pytest.raises(errors.InvalidRequest, match=r"AMOUNT_BELOW_MINIMUM: At least 50 EUR\."):
        client.ramp.requests.change_amount("r", amount=1, version=1)


@row("Timestamps (unstated)")
def times(connect: Connect, _: HandClock) -> None:
    mixed = read(
        PaymentSession, createdAt="2026-05-04T08:12:31", expiresAt="2026-05-04T10:12:31+02:00"
    )
    assert mixed.created_at == mixed.expires_at == datetime(2026, 5, 4, 8, 12, 31, tzinfo=UTC)
