"""Writes to the ramp service over a real socket: permissions, states, bodies and effects."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from treasury.core.errors import InputError
from treasury.core.money import convert, fee_of, net_crypto
from treasury.sandbox import Sandbox
from treasury.sandbox.ramp.people import SCOPES
from treasury.sandbox.ramp.ramp_routes import routes
from treasury.sandbox.state.shapes import RampRequest

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples.json"
EUR, GBP = "4de2c612-1e9f-4952-a7e5-b9d024c8b985", "e5398c3d-acbe-41b8-a68c-aecc62c68ac7"
USDC, EURC = "f8dc33c7-ec5a-4e80-aec7-41e372696fbe", "96e9648d-5c28-440f-a8dc-6db0332a7d7e"
COLD, PAYOUT = "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a", "730a509f-01e5-4fe6-a06d-7604e397da93"
NOBODY = "00000000-0000-4000-8000-000000000000"
ON: dict[str, Any] = {
    "rampType": "ON_RAMP", "amount": 25000, "fiatCurrencyId": EUR, "cryptoCurrencyId": USDC,
    "companyWalletId": COLD,
}  # fmt: skip
OFF: dict[str, Any] = {
    "rampType": "OFF_RAMP", "amount": 10000, "fiatCurrencyId": EUR, "cryptoCurrencyId": USDC,
    "companyBankAccountId": PAYOUT,
}  # fmt: skip
BANK: dict[str, Any] = {
    "name": "Second account", "bankName": "Test Bank NL", "companyName": "Harbour Lane Trading NV",
    "bankCountry": "NL", "beneficiaryAddressLine1": "Kade 14", "beneficiaryCity": "Ghent",
    "beneficiaryPostalCode": "9000", "beneficiaryCountry": "BE", "supportedRampType": "OFF_RAMP",
}  # fmt: skip
US = {"accountNumber": "12345678", "routingNumber": "021000021"}
UK = {"accountNumber": "31926819", "sortCode": "608371"}
TYPES: dict[str, dict[str, str]] = {
    "EUR_SEPA": {"iban": "NL05TEST0417164300", "bic": "TESTNL2A"},
    "USD_WIRE": US,
    "USD_ACH": US,
    "USD_SWIFT": {
        "bic": "TESTUS33", "accountNumber": "12345678", "bankStreetAddress": "1 Wall Street",
        "bankCity": "New York", "bankPostalCode": "10005",
    },
    "GBP_FPS": UK,
    "GBP_CHAPS": UK,
    "OTHER_SWIFT": {"currency": "CHF", "bic": "TESTCHZZ", "accountNumber": "12345678"},
}  # fmt: skip


def made(answer: httpx.Response) -> Any:
    assert answer.status_code in {200, 201}, answer.text
    return json.loads(answer.text, parse_float=Decimal, parse_int=Decimal)["result"]


def refused(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert body["success"] is False
    return answer.status_code, body["errors"][0]["code"]


def outline(value: Any, path: str = "") -> set[tuple[str, str]]:
    if isinstance(value, dict):
        return {(path, "dict")}.union(*(outline(v, f"{path}.{k}") for k, v in value.items()))
    if isinstance(value, list):
        return {(path, "list")}.union(*(outline(v, f"{path}[]") for v in value))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {(path, "number" if number else type(value).__name__)}


# Creating requests


@pytest.mark.parametrize(
    ("amount", "percentage"),
    [("25000", "0.8"), ("49999.99", "0.8"), ("50000", "0.6"), ("300000.01", "0.6")],
)
def test_an_on_ramp_has_the_exact_amounts_of_its_fee_tier(
    callers: dict[str, Any], amount: str, percentage: str
) -> None:
    request = made(
        callers["maker"].ramp_write("POST", "/ramp-requests", ON | {"amount": float(amount)})
    )
    gross, rate = Decimal(amount), request["exchangeRate"]
    fee = fee_of(gross, Decimal(percentage), "EUR")
    assert (request["amount"], request["fiatAmount"]) == (gross, gross)
    assert (request["feePercentage"], request["fiatFeeAmount"]) == (Decimal(percentage), fee)
    assert request["fiatNetAmount"] == request["netAmount"] == gross - fee
    assert request["cryptoAmount"] == net_crypto(gross, fee, rate, "USDC")
    assert (request["status"], request["version"]) == ("AWAITING_APPROVAL", 1)
    assert request["companyWallet"]["id"] == COLD
    assert [event["eventType"] for event in request["events"]] == ["CREATED"]
    assert request["depositBankAccount"]["iban"] == "LT353250012345678901"


def test_a_new_off_ramp_states_its_deposit_wallet(callers: dict[str, Any]) -> None:
    request = made(callers["maker"].ramp_write("POST", "/ramp-requests", OFF))
    assert request["status"] == "AWAITING_APPROVAL"
    assert request["depositWallet"]["chain"] == "BASE"
    assert request["depositWallet"]["isActive"] is True


def named_currencies(caller: Any, path: str) -> dict[str, dict[str, Any]]:
    return {item["currency"]: item for item in caller.ramp(path).json()["result"]}


def test_every_currency_of_the_specification_exists_and_has_pairs(viewer: Any) -> None:
    fiat = named_currencies(viewer, "/fiat-currencies")
    crypto = named_currencies(viewer, "/crypto-currencies")
    assert set(fiat) == {"EUR", "USD", "GBP"}
    assert {name: coin["chain"] for name, coin in crypto.items()} == {
        "USDC": "BASE", "EURC": "ETHEREUM", "USDS": "ETHEREUM", "ETH": "ETHEREUM", "POL": "POLYGON",
    }  # fmt: skip
    on = viewer.ramp("/ramp-requests/on-ramp/pairs").json()["result"]
    off = viewer.ramp("/ramp-requests/off-ramp/pairs").json()["result"]
    pairs = {(pair["from"]["currency"], pair["to"]["currency"]) for pair in on}
    assert pairs == {(pair["to"]["currency"], pair["from"]["currency"]) for pair in off}
    assert {("USD", "USDC"), ("GBP", "ETH"), ("EUR", "EURC"), ("USD", "POL")} <= pairs
    assert ("GBP", "EURC") not in pairs


@pytest.mark.parametrize(
    ("currency", "kind", "field"),
    [("GBP", "GBP_FPS", "sortCode"), ("USD", "USD_WIRE", "routingNumber")],
)
def test_an_on_ramp_in_another_currency_is_paid_to_an_account_of_that_currency(
    own_sandbox: Sandbox, callers: dict[str, Any], currency: str, kind: str, field: str
) -> None:
    given = named_currencies(callers["maker"], "/fiat-currencies")[currency]["id"]
    request = made(
        callers["maker"].ramp_write("POST", "/ramp-requests", ON | {"fiatCurrencyId": given})
    )
    deposit = request["depositBankAccount"]
    assert (deposit["bankAccountType"], deposit["fiatCurrency"]["currency"]) == (kind, currency)
    assert deposit[field]
    assert "iban" not in deposit
    assert request["fiatCurrency"]["currency"] == currency
    approved = callers["checker"].decide(f"{request['id']}/approve", {"version": 1}).json()
    assert approved["result"]["depositBankAccount"]["id"] == deposit["id"]
    with pytest.raises(InputError, match="receive"):
        own_sandbox.ramp.fund(request["id"])
    own_sandbox.ramp.receive(request["id"])
    assert own_sandbox.ramp.complete(request["id"]).status == "SUCCEEDED"


def test_an_off_ramp_is_paid_to_an_account_in_its_currency(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker, lines = callers["maker"], len(own_sandbox.truth())
    pounds = next(
        item["id"]
        for item in maker.ramp("/company-bank-accounts").json()["result"]
        if item["bankAccountType"] == "GBP_FPS"
    )
    own_sandbox.ramp.verify_bank_account(pounds)
    body = OFF | {"companyBankAccountId": pounds}
    assert refused(maker.ramp_write("POST", "/ramp-requests", body)) == (400, "VALIDATION_ERROR")
    request = made(maker.ramp_write("POST", "/ramp-requests", body | {"fiatCurrencyId": GBP}))
    callers["checker"].decide(f"{request['id']}/approve", {"version": 1})
    own_sandbox.ramp.receive(request["id"])
    own_sandbox.ramp.complete(request["id"])
    assert len(own_sandbox.truth()) == lines


def test_an_off_ramp_deducts_its_fee_from_the_euros(callers: dict[str, Any]) -> None:
    request = made(
        callers["maker"].ramp_write("POST", "/ramp-requests", OFF | {"amount": 10000.123456})
    )
    gross = convert(Decimal("10000.123456"), request["exchangeRate"], "EUR")
    assert request["amount"] == request["cryptoAmount"] == Decimal("10000.123456")
    assert request["fiatAmount"] == gross
    assert request["fiatNetAmount"] == gross - fee_of(gross, Decimal("0.8"), "EUR")
    assert request["companyBankAccount"]["iban"] == "NL05TEST0417164300"


def test_each_request_has_a_unique_reference_and_is_listed(callers: dict[str, Any]) -> None:
    maker = callers["maker"]
    made_now = [made(maker.ramp_write("POST", "/ramp-requests", ON)) for _ in range(3)]
    references = {request["paymentReference"] for request in made_now}
    assert len(references) == 3
    for request in made_now:
        found = maker.ramp("/ramp-requests", paymentReference=request["paymentReference"])
        (item,) = found.json()["result"]
        assert (item["id"], item["createdBy"]) == (request["id"], "maker@harbourlane.test")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"amount": 0}, 400, "VALIDATION_ERROR"),
        ({"amount": -5}, 400, "VALIDATION_ERROR"),
        ({"amount": "100"}, 400, "VALIDATION_ERROR"),
        ({"amount": None}, 400, "VALIDATION_ERROR"),
        ({"amount": 10.001}, 400, "VALIDATION_ERROR"),
        ({"amount": 1e-9}, 400, "AMOUNT_BELOW_MINIMUM"),
        ({"amount": 1e300}, 400, "AMOUNT_ABOVE_MAXIMUM"),
        ({"rampType": "SIDEWAYS"}, 400, "VALIDATION_ERROR"),
        ({"fiatCurrencyId": NOBODY}, 400, "VALIDATION_ERROR"),
        ({"cryptoCurrencyId": NOBODY}, 400, "VALIDATION_ERROR"),
        ({"fiatCurrencyId": GBP, "cryptoCurrencyId": EURC}, 400, "UNSUPPORTED_CURRENCY_PAIR"),
        ({"cryptoCurrencyId": EURC}, 400, "VALIDATION_ERROR"),
        ({"companyWalletId": None}, 400, "VALIDATION_ERROR"),
        ({"companyWalletId": NOBODY}, 404, "NOT_FOUND"),
        ({"companyBankAccountId": PAYOUT}, 400, "VALIDATION_ERROR"),
        ({"rampType": "OFF_RAMP"}, 400, "VALIDATION_ERROR"),
    ],
)
def test_an_invalid_body_creates_no_request(
    callers: dict[str, Any], change: dict[str, Any], status: int, code: str
) -> None:
    maker = callers["maker"]
    before = maker.ramp("/ramp-requests").json()["pagination"]["numberOfElements"]
    assert refused(maker.ramp_write("POST", "/ramp-requests", ON | change)) == (status, code)
    assert maker.ramp("/ramp-requests").json()["pagination"]["numberOfElements"] == before


def test_a_request_needs_a_verified_company_wallet_and_bank_account(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker = callers["maker"]
    own_sandbox.ramp.verify_wallet(COLD, "DENIED")
    assert refused(maker.ramp_write("POST", "/ramp-requests", ON)) == (400, "WALLET_NOT_VERIFIED")
    own_sandbox.ramp.verify_bank_account(PAYOUT, "PENDING")
    assert refused(maker.ramp_write("POST", "/ramp-requests", OFF)) == (
        400,
        "BANK_ACCOUNT_NOT_VERIFIED",
    )
    own_sandbox.ramp.kyb("PENDING")
    assert maker.ramp("/company").json()["result"]["kybStatus"] == "PENDING"
    assert refused(maker.ramp_write("POST", "/ramp-requests", ON)) == (403, "KYB_NOT_VERIFIED")


def test_an_off_ramp_needs_an_account_for_payouts_in_euros(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker = callers["maker"]
    accounts = maker.ramp("/company-bank-accounts").json()["result"]
    for account in accounts[1:]:
        own_sandbox.ramp.verify_bank_account(account["id"])
        answer = maker.ramp_write(
            "POST", "/ramp-requests", OFF | {"companyBankAccountId": account["id"]}
        )
        assert refused(answer) == (400, "VALIDATION_ERROR")


def test_the_amount_limits_are_those_of_the_sandbox(
    http: httpx.Client, speak: Callable[..., Any]
) -> None:
    sandbox = Sandbox(7, ramp_bounds=(Decimal(100), Decimal(1000)))
    with sandbox.serve() as running:
        maker = speak(sandbox, running, http, "maker")
        for amount, code in ((99, "AMOUNT_BELOW_MINIMUM"), (1001, "AMOUNT_ABOVE_MAXIMUM")):
            answer = maker.ramp_write("POST", "/ramp-requests", ON | {"amount": amount})
            assert refused(answer) == (400, code)
        made(maker.ramp_write("POST", "/ramp-requests", ON | {"amount": 1000}))


def test_a_repeated_key_creates_once_and_refuses_another_body(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    maker, key = callers["maker"], "7f0c4b0e-3f5d-4b1e-9a44-2b6d0f8e1a11"
    body = ON | {"idempotencyKey": key}
    first, again = (maker.ramp_write("POST", "/ramp-requests", body) for _ in range(2))
    assert (first.status_code, first.content) == (again.status_code, again.content)
    other = maker.ramp_write("POST", "/ramp-requests", body | {"amount": 1})
    assert refused(other) == (422, "IDEMPOTENCY_CONFLICT")
    assert [effect.key for effect in own_sandbox.finance.effects()] == [key]


# Changing requests


def test_a_changed_amount_keeps_the_rate_and_records_both_amounts(callers: dict[str, Any]) -> None:
    maker = callers["maker"]
    request = made(maker.ramp_write("POST", "/ramp-requests", ON))
    path = f"/ramp-requests/{request['id']}/amount"
    changed = made(maker.ramp_write("PUT", path, {"amount": 60000, "version": 1}))
    assert changed["exchangeRate"] == request["exchangeRate"]
    assert (changed["feePercentage"], changed["fiatFeeAmount"]) == (Decimal("0.6"), 360)
    event = changed["events"][-1]
    assert (event["eventType"], event["version"]) == ("AMOUNT_CHANGED", changed["version"])
    assert event["metadata"] == {"previousAmount": 25000, "newAmount": 60000}
    assert refused(maker.ramp_write("PUT", path, {"amount": 1, "version": 1}))[0] == 409
    callers["checker"].decide(f"{request['id']}/approve", {"version": 2})
    answer = maker.ramp_write("PUT", path, {"amount": 1, "version": 3})
    assert refused(answer) == (400, "RAMP_REQUEST_NOT_IN_EDITABLE_STATE")


def test_a_hash_is_accepted_only_for_an_off_ramp_that_awaits_its_coins(
    callers: dict[str, Any],
) -> None:
    maker, checker = callers["maker"], callers["checker"]
    request = made(maker.ramp_write("POST", "/ramp-requests", OFF))
    path, body = f"/ramp-requests/{request['id']}/tx-hash", {"blockchainTransactionHash": "0xab"}
    early = maker.ramp_write("PATCH", path, body | {"version": 1})
    assert refused(early) == (400, "RAMP_REQUEST_NOT_IN_AWAITING_FUNDS_STATE")
    approved = made(checker.decide(f"{request['id']}/approve", {"version": 1}))
    assert approved["depositWallet"]["chain"] == "BASE"
    assert refused(maker.ramp_write("PATCH", path, body | {"version": 1}))[0] == 409
    assert refused(maker.ramp_write("PATCH", path, {"version": 2}))[0] == 400
    hashed = made(maker.ramp_write("PATCH", path, body | {"version": 2}))
    assert (hashed["status"], hashed["blockchainTransactionHash"]) == ("AWAITING_FUNDS", "0xab")
    on_ramp = made(maker.ramp_write("POST", "/ramp-requests", ON))
    checker.decide(f"{on_ramp['id']}/approve", {"version": 1})
    path = f"/ramp-requests/{on_ramp['id']}/tx-hash"
    assert refused(maker.ramp_write("PATCH", path, body | {"version": 2}))[0] == 400


# Roles


WRITES = [route for route in routes("spec") if route.scope]


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
def test_a_write_is_allowed_only_to_roles_with_its_scope(
    callers: dict[str, Any], route: Any
) -> None:
    roles = {"maker": "COMPANY_MANAGER", "checker": "COMPANY_ADMIN", "viewer": "COMPANY_VIEWER"}
    assert route.scope not in SCOPES["COMPANY_VIEWER"]
    assert route.scope in SCOPES["COMPANY_ADMIN"]
    for name, role in roles.items():
        answer = callers[name].ramp_write(route.method, route.path.replace("{id}", NOBODY), {})
        held = route.scope in SCOPES[role]
        if not held:
            assert refused(answer) == (403, "INSUFFICIENT_SCOPE")
            assert route.scope in answer.json()["errors"][0]["message"]
        assert (answer.status_code in {400, 404}) is held


# Bank accounts and wallets


@pytest.mark.first_case
@pytest.mark.parametrize("kind", TYPES)
def test_a_bank_account_of_each_type_needs_its_required_fields(
    callers: dict[str, Any], kind: str
) -> None:
    checker, body = callers["checker"], BANK | {"bankAccountType": kind} | TYPES[kind]
    account = made(checker.ramp_write("POST", "/company-bank-accounts", body))
    assert (account["verificationStatus"], account["version"]) == ("PENDING", 0)
    assert account.items() >= body.items()
    assert made(checker.ramp(f"/company-bank-accounts/{account['id']}")) == account
    for name in {*TYPES[kind], *BANK, "bankAccountType"}:
        without = {field: value for field, value in body.items() if field != name}
        answer = checker.ramp_write("POST", "/company-bank-accounts", without)
        assert refused(answer) == (400, "VALIDATION_ERROR"), name
        assert name in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("EUR_SEPA", "iban", "NL06TEST0417164300"), ("EUR_SEPA", "iban", "NL05"),
        ("EUR_SEPA", "bic", "TEST"), ("USD_ACH", "routingNumber", "1234"),
        ("USD_WIRE", "accountNumber", "1234567"), ("USD_WIRE", "accountNumber", "1" * 18),
        ("GBP_FPS", "sortCode", "60-83-71"), ("GBP_CHAPS", "accountNumber", "319268190"),
        ("OTHER_SWIFT", "currency", "francs"), ("EUR_SEPA", "bankCountry", "nl"),
        ("EUR_SEPA", "supportedRampType", "BOTH"), ("EUR_SEPA", "name", ""),
    ],
)  # fmt: skip
def test_an_invalid_account_number_is_refused(
    callers: dict[str, Any], kind: str, field: str, value: str
) -> None:
    body = BANK | {"bankAccountType": kind} | TYPES[kind] | {field: value}
    answer = callers["checker"].ramp_write("POST", "/company-bank-accounts", body)
    assert refused(answer) == (400, "VALIDATION_ERROR")
    assert field in answer.json()["errors"][0]["message"]


def test_a_swift_account_may_have_an_iban_as_its_number(callers: dict[str, Any]) -> None:
    body = BANK | {"bankAccountType": "OTHER_SWIFT", "currency": "CHF", "bic": "TESTCHZZ"}
    checker = callers["checker"]
    made(
        checker.ramp_write("POST", "/company-bank-accounts", body | {"iban": "NL05TEST0417164300"})
    )
    wrong = checker.ramp_write(
        "POST", "/company-bank-accounts", body | {"iban": "NL06TEST0417164300"}
    )
    assert refused(wrong)[0] == 400


@pytest.mark.parametrize(
    ("path", "field"),
    [(f"/company-bank-accounts/{PAYOUT}", "name"), (f"/company-wallets/{COLD}", "description")],
)
def test_a_record_is_renamed_with_its_current_version(
    callers: dict[str, Any], path: str, field: str
) -> None:
    checker, before = callers["checker"], made(callers["viewer"].ramp(path))
    after = made(checker.ramp_write("PATCH", path, {"version": 1, field: "Renamed"}))
    same = set(before) - {field, "version", "updatedAt"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert (after[field], after["version"]) == ("Renamed", 2)
    stale = checker.ramp_write("PATCH", path, {"version": 1, field: "Again"})
    assert refused(stale) == (409, "OPTIMISTIC_LOCK_EXCEPTION")
    for body in ({field: "x"}, {}, {"version": True, field: "x"}):
        assert refused(checker.ramp_write("PATCH", path, body)) == (400, "VALIDATION_ERROR")
    assert made(checker.ramp_write("PATCH", path, {"version": 2}))[field] == "Renamed"
    assert refused(checker.ramp_write("PATCH", path[:-12] + NOBODY[-12:], {}))[0] == 404


def test_a_new_wallet_needs_a_known_chain_and_awaits_verification(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    checker, body = callers["checker"], {"address": "0xabc", "chain": "BASE", "description": "Hot"}
    wallet = made(checker.ramp_write("POST", "/company-wallets", body))
    assert (wallet["verificationStatus"], wallet["version"]) == ("PENDING", 0)
    own_sandbox.clock.advance(days=30)
    ramp = ON | {"companyWalletId": wallet["id"]}
    assert refused(callers["maker"].ramp_write("POST", "/ramp-requests", ramp))[0] == 400
    own_sandbox.ramp.verify_wallet(wallet["id"])
    listed = checker.ramp("/company-wallets", address="0xabc").json()["result"]
    assert [item["verificationStatus"] for item in listed] == ["VERIFIED"]
    assert set(listed[0]).isdisjoint({"companyId", "verifiedAt", "version"})
    made(callers["maker"].ramp_write("POST", "/ramp-requests", ramp))
    for wrong in (
        body | {"chain": "BITCOIN"},
        body | {"address": ""},
        body | {"address": "0" * 256},
    ):
        assert refused(checker.ramp_write("POST", "/company-wallets", wrong))[0] == 400


# People and fees


def test_an_invited_user_is_pending_until_they_accept(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    checker = callers["checker"]
    body = {
        "email": "ada@harbourlane.test", "role": "COMPANY_VIEWER", "firstName": "Ada",
        "lastName": "Vos",
    }  # fmt: skip
    user = made(checker.ramp_write("POST", "/company/users/invite", body))
    assert (user["invitationStatus"], user["username"]) == ("PENDING", "ada")
    assert user["invitationUrl"].startswith("https://login.example.test/invite/")
    assert refused(checker.ramp_write("POST", "/company/users/invite", body))[0] == 400
    for name in body:
        without = {field: value for field, value in body.items() if field != name}
        assert refused(checker.ramp_write("POST", "/company/users/invite", without))[0] == 400
    own_sandbox.ramp.accept_invitation("ada@harbourlane.test")
    (listed,) = [u for u in made(checker.ramp("/company/users")) if u["id"] == user["id"]]
    assert (listed["invitationStatus"], "invitationUrl" in listed) == ("ACCEPTED", False)


@pytest.mark.parametrize(
    ("kind", "amount", "fee", "percentage"),
    [
        ("ON_RAMP", 25000, "200", "0.8"), ("ON_RAMP", 50000, "300", "0.6"),
        ("ON_RAMP", 0.63, "0.01", "0.8"), ("OFF_RAMP", 10000, "80", "0.8"),
        ("OFF_RAMP", 0.0001, "0.000001", "0.8"),
    ],
)  # fmt: skip
def test_a_fee_is_calculated_in_the_unit_of_the_amount(
    viewer: Any, kind: str, amount: float, fee: str, percentage: str
) -> None:
    answer = viewer.ramp_write("POST", "/fees/calculate", {"amount": amount, "type": kind})
    assert made(answer) == {"amount": Decimal(fee), "percentage": Decimal(percentage)}


def test_a_fee_needs_an_amount_and_a_type(viewer: Any) -> None:
    for body in ({"amount": 1}, {"type": "ON_RAMP"}, {"amount": "1", "type": "ON_RAMP"}):
        assert refused(viewer.ramp_write("POST", "/fees/calculate", body)) == (
            400,
            "VALIDATION_ERROR",
        )


# Shapes


@pytest.mark.skipif(
    not EXAMPLES.is_file(),
    reason=f"no file {EXAMPLES}: answers to ramp writes are not compared with its examples",
)
def test_a_write_response_has_the_keys_and_types_of_its_example(
    callers: dict[str, Any],
) -> None:
    examples = json.loads(EXAMPLES.read_text("utf-8"))
    maker, checker = callers["maker"], callers["checker"]
    request = maker.ramp_write("POST", "/ramp-requests", ON).json()
    its_id = request["result"]["id"]
    sepa = BANK | TYPES["EUR_SEPA"] | {
        "bankAccountType": "EUR_SEPA", "email": "a@b.test", "phoneNumber": "+32",
        "beneficiaryAddressLine2": "Unit 3", "beneficiaryState": "East Flanders",
    }  # fmt: skip
    person = {"email": "a@b.test", "role": "COMPANY_VIEWER", "firstName": "A", "lastName": "B"}
    bank, wallet = f"/company-bank-accounts/{PAYOUT}", f"/company-wallets/{COLD}"
    served = {
        "POST /ramp-requests 201": request,
        "PUT /ramp-requests/{id}/amount 200": maker.ramp_write(
            "PUT", f"/ramp-requests/{its_id}/amount", {"amount": 30000, "version": 1}
        ).json(),
        "POST /ramp-requests/{id}/reject 200": checker.decide(
            f"{its_id}/reject", {"version": 2}
        ).json(),
        "POST /fees/calculate 200": maker.ramp_write(
            "POST", "/fees/calculate", {"amount": 25000, "type": "ON_RAMP"}
        ).json(),
        "POST /company/users/invite 200": checker.ramp_write(
            "POST", "/company/users/invite", person
        ).json(),
        "POST /company-bank-accounts 201": checker.ramp_write(
            "POST", "/company-bank-accounts", sepa
        ).json(),
        "PATCH /company-bank-accounts/{id} 200": checker.ramp_write(
            "PATCH", bank, {"version": 1, "name": "x"}
        ).json(),
        "POST /company-wallets 201": checker.ramp_write(
            "POST", "/company-wallets", {"address": "0xa", "chain": "BASE", "description": "x"}
        ).json(),
        "PATCH /company-wallets/{id} 200": checker.ramp_write(
            "PATCH", wallet, {"version": 1, "description": "x"}
        ).json(),
    }
    for title, body in served.items():
        # The examples lack the deposit details, which the specification requires.
        deposit = ".depositBankAccount"
        example = {one for one in outline(examples[title]) if deposit not in one[0]}
        found = {one for one in outline(body) if deposit not in one[0]}
        assert example - found == set(), title
        extra = {path.rpartition(".")[2] for path, _ in found - example}
        assert extra - RampRequest.BEYOND - {"metadata", "previousAmount", "newAmount"} == set(), (
            title
        )
