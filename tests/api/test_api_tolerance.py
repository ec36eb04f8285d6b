"""What the specifications leave open: a test for each row that says something about the client.

Rows are named as in the table of gaps (`docs/assumptions.md` says the same for readers), and a test
holds the two together. Rows that are about another room's work are listed with that room.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_service import Connect, HandClock, answer, refusal

from treasury import errors
from treasury.api import Client, bodies
from treasury.api.codec import decode
from treasury.api.models import (
    Account,
    Balance,
    Fee,
    Party,
    PaymentRequest,
    PaymentSession,
    RampRequest,
    Transfer,
    VirtualBankAccount,
)
from treasury.api.service_errors import error_for

GAPS = Path(__file__).parents[3] / "shared" / "spec" / "gaps.md"

Check = Callable[[Connect, HandClock], None]
ROWS: dict[str, Check] = {}

ELSEWHERE = {
    "referenceCode format (unstated)": "reconcile: references are normalised and matched whole",
    "A2A record (123)": "extract: first_seen_at",
    "Party, KYB, account, wallet, VBA moves (160)": "actions: read again before money moves",
    "callbackUrl call (227)": "extract: balances are read again, callbacks are not taken in",
    "Key retention (246)": "actions: key and body are journaled before sending",
    "paymentReference format (unstated)": "reconcile: as referenceCode",
    "Under- or overpayment (unstated)": "reconcile: SENT WRONG and variance exceptions",
    "To AWAITING_FUNDS (131)": "actions: the creator is refused locally too",
    "Roles by endpoint (196)": "actions and panels: a credential's role is shown",
    "Webhooks (200)": "extract: polling is the truth, nothing is taken in",
    "Ramp list item (114)": "extract: each request is read in detail",
}


def row(*names: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        for name in names:
            assert name not in ROWS
            ROWS[name] = check
        return check

    return register


@pytest.mark.parametrize("name", ROWS)
def test_gap(connect: Connect, hand_clock: HandClock, name: str) -> None:
    ROWS[name](connect, hand_clock)


@pytest.mark.skipif(not GAPS.exists(), reason="the table of gaps is not beside the project")
def test_every_row_of_the_table_is_here_or_elsewhere() -> None:
    lines = [line for line in GAPS.read_text("utf-8").splitlines() if line.startswith("|")]
    names = {line.split("|")[1].strip() for line in lines} - {"-", "Gap"}
    assert len(names) > 80
    assert set(ROWS) | set(ELSEWHERE) == names
    assert not set(ROWS) & set(ELSEWHERE)


def read(model: type, **fields: Any) -> Any:
    return decode(json.dumps(fields).encode(), model, "GET /x").value


def serving(connect: Connect, result: Any, **beside: Any) -> tuple[Client, Any]:
    return connect(lambda _: answer(result, **beside))


# ---- finance -------------------------------------------------------------------------------------


@row("Party mandatory (45)", "Create mandatory (211)")
def mandatory(connect: Connect, _: HandClock) -> None:
    with pytest.raises(errors.InputError):
        bodies.NewParty(party_type="INDIVIDUAL", first_name="Mira")
    keyed = (bodies.NewParty, bodies.NewAccount, *bodies.Keyed.__subclasses__())
    for body in keyed:  # wherever the specification takes a key, one is sent
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
    assert json.loads(record.raw) == said  # nothing reads it again: all of it is there to be kept
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
    with pytest.raises(errors.UnexpectedResponse, match="brought nothing new"):
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
    # Nothing filters by date, so the whole list is walked: a full page is not the last one for
    # want of records that pass the filter.
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
    # The status decides: a familiar code under another status changes nothing.
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
        with pytest.raises(errors.KeySpent, match="do not send with a new key"):
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


# ---- ramp ----------------------------------------------------------------------------------------


@row("Wallet fields (91)", "Bank update (181)", "First version (unstated)", "Amount body (180)")
def versions(connect: Connect, _: HandClock) -> None:
    client, _service = serving(connect, [{"id": "w"}])
    assert client.ramp.wallets.list().items[0].value.version is None
    for change in (
        client.ramp.wallets.update,
        client.ramp.bank_accounts.update,
        client.ramp.requests.change_amount,
        client.ramp.requests.approve,
    ):
        version = inspect.signature(change).parameters["version"]
        assert version.default is inspect.Parameter.empty  # the one that `get` showed, no other


@row("Company (95)")
def company(connect: Connect, _: HandClock) -> None:
    said = {"id": "c", "invoicesUrl": "https://x", "sequenceCustomerId": None, "later": [1]}
    client, _service = serving(connect, said)
    assert json.loads(client.ramp.company.get().raw) == said


@row("User (95)", "Invite body (180)")
def users(connect: Connect, _: HandClock) -> None:
    client, _service = serving(connect, {"id": "u", "invitationUrl": "https://secret.test/51"})
    body = bodies.Invitation(email="e", role="COMPANY_VIEWER", first_name="f", last_name="l")
    record = client.ramp.users.invite(body)
    assert "secret.test" not in repr(record)


@row("Ramp detail (114)")
def detail(connect: Connect, _: HandClock) -> None:
    times = ("2026-05-05T09:00:00Z", "2026-05-07T09:00:00Z", "2026-05-06T09:00:00Z")
    amounts = {"fiatAmount": 25000, "fiatFeeAmount": 200}
    request = read(
        RampRequest,
        id="r",
        **amounts,
        fiatNetAmount=24800.01,
        fiatCurrency={"id": "f", "currency": "EUR"},
        events=[{"eventType": "X", "createdAt": at} for at in times],
    )
    assert request.changed_at == datetime(2026, 5, 7, 9, tzinfo=UTC)
    assert request.doubts() == ()
    off = read(RampRequest, id="r", **amounts, fiatNetAmount=24799)
    assert off.doubts() == ("gross 25000 less fee 200 is not net 24799",)


@row("events[] (114)")
def maker(connect: Connect, _: HandClock) -> None:
    event = {"eventType": "CREATED", "userId": "u", "username": "ines", "email": "i@x.test"}
    assert read(RampRequest, id="r", events=[event], createdBy="else").maker == "i@x.test"
    assert read(RampRequest, id="r", createdBy="ines").maker == "ines"
    assert read(RampRequest, id="r", events=[{"eventType": "ODD"}]).maker is None


@row("depositBankAccount (114)")
def deposit_account(connect: Connect, _: HandClock) -> None:
    for status in ("AWAITING_APPROVAL", "AWAITING_FUNDS", "SUCCEEDED"):
        assert read(RampRequest, id="r", status=status).deposit_bank_account is None
        given = read(RampRequest, id="r", status=status, depositBankAccount={"iban": "BE1"})
        assert given.deposit_bank_account.iban == "BE1"


@row("depositWallet (114)")
def deposit_wallet(connect: Connect, _: HandClock) -> None:
    asset = {"id": "c", "currency": "USDC", "chain": "BASE"}
    right = read(RampRequest, id="r", cryptoCurrency=asset, depositWallet={"chain": "BASE"})
    wrong = read(RampRequest, id="r", cryptoCurrency=asset, depositWallet={"chain": "SUI"})
    assert right.doubts() == ()
    assert wrong.doubts() == ("the deposit wallet is on SUI, the asset on BASE",)


@row("Unit of amount (unstated)")
def unit(connect: Connect, _: HandClock) -> None:
    names = {"amount": 100, "fiat_currency_id": "f", "crypto_currency_id": "c"}
    on = bodies.NewRampRequest(ramp_type="ON_RAMP", company_wallet_id="w", **names)
    off = bodies.NewRampRequest(ramp_type="OFF_RAMP", company_bank_account_id="b", **names)
    made = read(RampRequest, id="r", fiatAmount=100, cryptoAmount=108, amount=100)
    assert on.differences(made) == ()
    assert off.differences(made) == ("amount: asked for 100, the request says 108",)


@row("Pairs (115)")
def pairs(connect: Connect, _: HandClock) -> None:
    source, target = {"id": "f", "currency": "EUR"}, {"id": "c", "currency": "USDC"}
    client, _service = serving(connect, [{"from": source, "to": {**target, "chain": "BASE"}}])
    (pair,) = client.ramp.on_ramp_pairs.all()
    assert (pair.value.source.id, pair.value.target.id) == ("f", "c")
    assert (pair.value.source.chain, pair.value.target.chain) == (None, "BASE")


@row("Fees shape, parameters (115, 180)", "fees/calculate (180)")
def fees(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, {"amount": 73.6, "percentage": 0.8})
    on = client.ramp.fees.calculate(amount=9200, ramp_type="ON_RAMP").value
    off = client.ramp.fees.calculate(amount=10000, ramp_type="OFF_RAMP").value
    assert (on.unit, off.unit, off.amount) == ("fiat", "crypto", Decimal("73.6"))
    assert json.loads(service.requests[0].content) == {"amount": 9200, "type": "ON_RAMP"}
    assert read(Fee, id="f", minVolume=0).max_volume is None
    client, service = serving(connect, [])
    client.ramp.fees.all()
    assert not service.requests[0].url.params


@row("Fiat currencies (115)", "Crypto currencies (115)", "Bank config (115)")
def cached(connect: Connect, clock: HandClock) -> None:
    results = {"config": {"supportedCountries": [{"countryCode": "BE"}]}}
    client, service = connect(
        lambda r: answer(results.get(r.url.path.rpartition("/")[2], [{"id": "x"}]))
    )
    ramp = client.ramp
    for reference in (ramp.fiat_currencies, ramp.crypto_currencies, ramp.bank_config, ramp.fees):
        before = len(service.requests)
        assert reference.recent() == reference.recent() != []
        assert len(service.requests) == before + 1
        clock.seconds += 3600
        reference.recent()
        assert len(service.requests) == before + 2


@row("Chains (115)")
def chains(connect: Connect, _: HandClock) -> None:
    names = ["BASE", "SUI"]
    for said in ({"supportedChains": names}, names, [{"name": name} for name in names]):
        client, _service = serving(connect, said)
        assert [chain.value.name for chain in client.ramp.chains.recent()] == ["BASE", "SUI"]


@row("To PROCESSING (131)", "To SUCCEEDED (131)", "DENIED, BLOCKED (132)")
def final(connect: Connect, _: HandClock) -> None:
    finals = {"SUCCEEDED", "FAILED", "CANCELLED", "REJECTED", "DENIED"}
    held = {"AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED", "ODD"}
    for status in finals | held:
        assert read(RampRequest, id="r", status=status).is_final is (status in finals)


@row("CANCELLED (132)", "REJECTED (132)", "Reject, cancel bodies (180)")
def reject_cancel(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, {"id": "r"})
    client.ramp.requests.cancel("r", version=1)
    client.ramp.requests.reject("r", version=1)
    assert [json.loads(request.content) for request in service.requests] == [{"version": 1}] * 2
    refused, _service = connect(lambda _: refusal(400, "RAMP_REQUEST_NOT_IN_CANCELLABLE_STATE"))
    with pytest.raises(errors.InvalidRequest, match="NOT_IN_CANCELLABLE_STATE"):
        refused.ramp.requests.cancel("r", version=1)


@row("Bank create (181)")
def bank(connect: Connect, _: HandClock) -> None:
    names = dict.fromkeys(bodies.NewBankAccount.ALWAYS, "x")
    sepa = {**names, "bank_account_type": "EUR_SEPA", "bic": "TESTBEBB"}
    assert bodies.NewBankAccount(**sepa, iban="BE68539007547034").iban
    with pytest.raises(errors.InputError, match="check digits of iban"):
        bodies.NewBankAccount(**sepa, iban="BE68539007547043")


@row("Wallet create, update (181)")
def wallet(connect: Connect, _: HandClock) -> None:
    assert "1 USDC" in (bodies.NewCompanyWallet.__doc__ or "")
    assert bodies.NewCompanyWallet(address="0x", chain="BASE").wire() == {
        "address": "0x",
        "chain": "BASE",
    }


@row("Ramp create mandatory (182)")
def verified(connect: Connect, _: HandClock) -> None:
    client, service = serving(connect, {"id": "x", "kybStatus": "DENIED"})
    body = bodies.NewRampRequest(
        ramp_type="ON_RAMP",
        amount=1,
        fiat_currency_id="f",
        crypto_currency_id="c",
        company_wallet_id="w",
    )
    with pytest.raises(errors.NotReady, match="the company is DENIED"):
        client.ramp.requests.create(body)
    assert {request.method for request in service.requests} == {"GET"}


@row("Ramp filters (unstated)")
def ramp_filters(connect: Connect, _: HandClock) -> None:
    days = (
        "2026-09-30T23:59:59Z",
        "2026-10-01T00:00:00Z",
        "2026-10-31T23:59:59",
        "2026-11-01T00:00:00Z",
    )
    client, service = serving(connect, [{"id": str(n), "createdAt": d} for n, d in enumerate(days)])
    month = client.ramp.requests.list(created_from=date(2026, 10, 1), created_to="2026-10-31")
    assert [record.value.id for record in month] == ["1", "2"]
    sent = service.requests[0].url.params
    assert (sent["fromDate"], sent["toDate"]) == ("2026-09-30", "2026-11-01")
    client.ramp.requests.list(payment_reference="PAY-2026-004417")
    client.ramp.wallets.list(address="0xb7")
    client.ramp.bank_accounts.list(supported_ramp_types=("ON_RAMP", "ON_AND_OFF_RAMP"))
    queries = [str(request.url.query, "ascii") for request in service.requests[1:]]
    assert "paymentReference=PAY-2026-004417" in queries[0]
    assert "address=0xb7" in queries[1]
    assert "supportedRampTypes=ON_RAMP&supportedRampTypes=ON_AND_OFF_RAMP" in queries[2]
    for wrong in (datetime(2026, 10, 1, tzinfo=UTC), "October"):
        with pytest.raises(errors.InputError):
            client.ramp.requests.list(created_from=wrong)


@row("sort object (unstated)")
def sort(connect: Connect, _: HandClock) -> None:
    for said in ({"orders": ["ASC"]}, {"property": "createdAt", "direction": "ASC"}, "ASC", None):
        client, _service = serving(connect, [{"id": "r"}], sort=said)
        assert len(client.ramp.requests.list()) == 1


@row("Ramp idempotency (unstated)")
def no_key(connect: Connect, _: HandClock) -> None:
    body = bodies.NewRampRequest(
        ramp_type="ON_RAMP",
        amount=1,
        fiat_currency_id="f",
        crypto_currency_id="c",
        company_wallet_id="w",
    )
    assert body.key is None
    client, service = connect(lambda _: refusal(503))
    with pytest.raises(errors.OutcomeUnknown, match="look it up with `find`"):
        client.ramp.requests.create(body, check=False)
    assert len(service.requests) == 1
    assert "idempotency-key" not in service.requests[0].headers


# ---- the contradictions between the specifications and what is deployed --------------------------

DROPPED: dict[str, Callable[[Client], Any]] = {
    "transfers between accounts": lambda c: c.finance.account_to_account_transfers.list(),
    "creating one": lambda c: c.finance.account_to_account_transfers.create(
        bodies.NewAccountToAccountTransfer(
            source_account_id="a", destination_account_id="b", amount=1, cryptocurrency="USDC"
        )
    ),
    "wallet creation": lambda c: c.finance.wallets.create("a", bodies.NewWallet(chain="BASE")),
    "account change": lambda c: c.finance.accounts.update("a", bodies.AccountChanges(name="n")),
    "account deletion": lambda c: c.finance.accounts.delete("a"),
    "reactivation": lambda c: c.finance.accounts.reactivate("a"),
    "either transfer": lambda c: c.finance.transfers.create(
        "a", bodies.NewFiatTransfer(currency="EUR", amount=1, receiver_account_id="b")
    ),
}


@pytest.mark.parametrize("name", DROPPED)
def test_contradiction_1_what_later_generations_dropped_is_not_offered(
    connect: Connect, name: str
) -> None:
    client, _ = connect(lambda _: refusal(405, "METHOD_NOT_SUPPORTED"))
    with pytest.raises(errors.NotOffered):
        DROPPED[name](client)


def test_contradiction_2_a_fiat_transfer_may_be_stablecoin_between_accounts() -> None:
    origin = {"currency": "EUR", "amount": 500, "exchangeRate": 0.92}
    moved = read(Transfer, id="t", chain="BASE", asset="USDC", amount=543.48, fiatOrigin=origin)
    assert (moved.asset, moved.amount) == ("USDC", Decimal("543.48"))
    assert (moved.fiat_origin.currency, moved.fiat_origin.amount) == ("EUR", Decimal(500))
    assert read(Transfer, id="t", currency="EUR", amount=500).fiat_origin is None


def test_contradiction_4_processing_is_not_final() -> None:
    assert not read(Transfer, id="t", status="PROCESSING").is_final


def test_contradiction_8_a_party_is_not_sent_twice_though_it_carries_a_key(
    connect: Connect,
) -> None:
    body = bodies.NewParty(party_type="ORGANISATION", name="H")
    client, service = connect(lambda _: refusal(503))
    with pytest.raises(errors.OutcomeUnknown):
        client.finance.parties.create(body)
    (sent,) = service.requests
    assert json.loads(sent.content)["idempotencyKey"] == body.idempotency_key


def test_contradiction_9_an_amount_is_a_string_on_its_way_in_and_a_number_on_its_way_out() -> None:
    body = bodies.NewPaymentSession(
        in_amount="480.50", in_currency="EUR", out_cryptocurrency="USDC", callback_url="https://c"
    )
    assert body.wire()["inAmount"] == "480.50"
    assert read(PaymentSession, inAmount=480.5).in_amount == Decimal(body.wire()["inAmount"])


@pytest.mark.parametrize(
    "create",
    [
        lambda c: c.finance.parties.create(bodies.NewParty(party_type="ORGANISATION", name="H")),
        lambda c: c.finance.transfers.crypto(
            "a",
            bodies.NewCryptoTransfer(chain="BASE", asset="USDC", amount=1, receiver_account_id="b"),
        ),
    ],
)
def test_contradiction_10_a_created_record_may_be_wrapped(
    connect: Connect, create: Callable[[Client], Any]
) -> None:
    client, _ = serving(connect, {"createdResourceId": "x", "response": {"id": "x"}})
    assert create(client).value.id == "x"


def test_contradiction_12_a_party_is_changed_with_and_without_a_version() -> None:
    assert "version" in bodies.PartyChanges(version=2, name="H").wire()
    assert "version" not in bodies.PartyChanges(name="H").wire()


def test_contradiction_14_roles_and_wallets_of_every_generation(connect: Connect) -> None:
    early = {"partyId": "p", "roleType": "ACCOUNT_HOLDER", "party": {"id": "p", "name": "H"}}
    late = {"partyId": "p", "roleType": "PAYOUT_RECIPIENT", "status": "INACTIVE"}
    client, _ = serving(connect, [early, late])
    roles = [record.value for record in client.finance.party_roles.all("a")]
    assert [(role.role_type, role.party and role.party.name) for role in roles] == [
        ("ACCOUNT_HOLDER", "H"),
        ("PAYOUT_RECIPIENT", None),
    ]
    wallets = [
        {"id": "1", "accountId": "a", "chain": "BASE", "status": "ACTIVE", "balances": []},
        {"id": "2", "chain": "BASE", "type": "CUSTODIAL", "amlStatus": "APPROVED"},
    ]
    client, _ = serving(connect, wallets)
    first, second = (record.value for record in client.finance.wallets.list("a"))
    assert (first.status, second.type, second.aml_status) == ("ACTIVE", "CUSTODIAL", "APPROVED")


def test_contradiction_17_networks_that_no_specification_names(connect: Connect) -> None:
    assert read(Account, id="a", chain="SOLANA").chain == "SOLANA"
    assert bodies.NewWallet(chain="POLYGON").wire() == {"chain": "POLYGON"}
