"""Behaviour that the ramp service's specification leaves open, and the client's handling."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from fake_service import Connect, HandClock, answer, refusal
from gap_rows import read, row, serving

from treasury.api import bodies
from treasury.api.models import Fee, RampRequest
from treasury.core import errors

NEW_REQUEST = bodies.NewRampRequest(
    ramp_type="ON_RAMP", amount=1, fiat_currency_id="f", crypto_currency_id="c",
    company_wallet_id="w",
)  # fmt: skip


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
        # There is no default: the caller passes the version that `get` showed.
        assert version.default is inspect.Parameter.empty


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
    assert off.differences(made) == ("amount: 100 was sent, but the request has 108",)


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
    with pytest.raises(errors.NotReady, match="the company is DENIED"):
        client.ramp.requests.create(NEW_REQUEST)
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
    assert NEW_REQUEST.key is None
    client, service = connect(lambda _: refusal(503))
    with pytest.raises(errors.OutcomeUnknown, match="look it up with `find`"):
        client.ramp.requests.create(NEW_REQUEST, check=False)
    assert len(service.requests) == 1
    assert "idempotency-key" not in service.requests[0].headers
