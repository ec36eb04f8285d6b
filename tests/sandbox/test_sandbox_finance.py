"""The finance service over a real socket: creating, changing and deleting records."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox
from treasury.sandbox.state.ids import is_iban

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
OPERATIONS = "aaaa0793-25d6-433b-ae47-6f2de3994601"
MIRA = "f9aa0300-9ffd-4aec-a490-394c33507294"
LANE = "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
ADDRESS = {
    "addressLine1": "Kaai 1", "city": "Antwerp", "postalCode": "2000", "country": "BE",
}  # fmt: skip
PERSON = {
    "partyType": "INDIVIDUAL", "firstName": "Noor", "lastName": "Aerts", "address": ADDRESS,
}  # fmt: skip
FIRM = {"partyType": "ORGANISATION", "name": "Ostend Ferry Services", "vatNumber": "BE0400"}


def key(number: int) -> str:
    return str(UUID(int=number, version=4))


@pytest.fixture
def maker(callers: dict[str, Any]) -> Any:
    return callers["maker"]


def made(maker: Any, path: str, body: object, status: int = 201) -> dict[str, Any]:
    answer = maker.write("POST", path, body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["result"]
    return found


def account_of(maker: Any, external_id: str = "new-1", **more: object) -> dict[str, Any]:
    return made(maker, "/accounts", {"externalId": external_id, "chain": "BASE", **more})


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["code"]


# Parties


def test_a_new_person_is_unverified_and_is_read_as_created(maker: Any) -> None:
    party = made(maker, "/parties", PERSON | {"externalId": "cust-9", "idempotencyKey": key(1)})
    assert (party["status"], party["kycStatus"], party["version"]) == ("ACTIVE", "PENDING", 0)
    assert maker.finance(f"/parties/{party['id']}").json()["result"] == party
    listed = maker.finance("/parties", externalId="cust-9").json()["result"]
    assert listed == [party]


def test_an_organisation_has_a_kyb_and_no_kyc_status(maker: Any) -> None:
    party = made(maker, "/parties", FIRM)
    assert party["kybStatus"] == "PENDING"
    assert "kycStatus" not in party
    assert "address" not in party


def test_a_party_is_changed_with_its_version_and_a_stale_one_is_a_conflict(maker: Any) -> None:
    before = maker.finance(f"/parties/{MIRA}").json()["result"]
    change = {"firstName": "Miriam", "version": before["version"]}
    after = maker.write("PATCH", f"/parties/{MIRA}", change).json()["result"]
    assert (after["firstName"], after["version"]) == ("Miriam", before["version"] + 1)
    assert after["lastName"] == before["lastName"]
    assert code_of(maker.write("PATCH", f"/parties/{MIRA}", change)) == (409, "CONFLICT")
    without = maker.write("PATCH", f"/parties/{MIRA}", {"lastName": "Okafor-Maes"})
    assert without.json()["result"]["version"] == before["version"] + 2
    holder = next(
        account for account in maker.finance("/accounts").json()["result"]
        if account["externalId"] == "cust-0417"
    )  # fmt: skip
    assert holder["partyRoles"][0]["party"]["lastName"] == "Okafor-Maes"


def test_a_party_refuses_the_fields_of_the_other_type(maker: Any) -> None:
    answer = maker.write("PATCH", f"/parties/{MIRA}", {"vatNumber": "BE1"})
    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert "vatNumber" in answer.json()["errors"][0]["message"]


def test_only_an_unblocked_party_without_accounts_is_deleted(
    own_sandbox: Sandbox, maker: Any
) -> None:
    assert code_of(maker.write("DELETE", f"/parties/{LANE}")) == (409, "CONFLICT")
    party = made(maker, "/parties", PERSON)
    own_sandbox.finance.party_status(party["id"], "BLOCKED")
    assert code_of(maker.write("DELETE", f"/parties/{party['id']}")) == (409, "CONFLICT")
    own_sandbox.finance.party_status(party["id"], "ACTIVE")
    gone = maker.write("DELETE", f"/parties/{party['id']}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert maker.finance(f"/parties/{party['id']}").status_code == 404
    assert maker.write("DELETE", f"/parties/{party['id']}").status_code == 404


# Accounts


def test_an_account_is_opened_for_an_existing_unverified_party(maker: Any) -> None:
    party = made(maker, "/parties", PERSON)
    account = account_of(maker, partyId=party["id"], name="Noor")
    assert (account["status"], account["kycStatus"]) == ("ACTIVE", "PENDING")
    (role,) = account["partyRoles"]
    assert (role["partyId"], role["roleType"], role["status"]) == (
        party["id"], "ACCOUNT_HOLDER", "ACTIVE",
    )  # fmt: skip
    assert role["party"] == party
    roles = maker.finance(f"/accounts/{account['id']}/party-roles").json()["result"]
    assert roles == [role]
    held = maker.finance("/accounts", partyId=party["id"]).json()["result"]
    assert held == [account]
    assert maker.finance("/accounts", partyId="nobody").json()["result"] == []


def test_an_account_may_be_created_together_with_its_party(maker: Any) -> None:
    account = account_of(maker, party=FIRM)
    party = account["partyRoles"][0]["party"]
    assert maker.finance(f"/parties/{party['id']}").json()["result"] == party


def test_an_account_needs_exactly_one_party(maker: Any) -> None:
    body = {"externalId": "x", "chain": "BASE"}
    for more in ({}, {"partyId": LANE, "party": FIRM}):
        assert code_of(maker.write("POST", "/accounts", body | more)) == (400, "VALIDATION_ERROR")
    unknown = maker.write("POST", "/accounts", body | {"partyId": "nobody"})
    assert code_of(unknown) == (404, "NOT_FOUND")


def test_an_external_id_is_unique_to_an_account(maker: Any) -> None:
    body = {"externalId": "treasury-eur", "chain": "BASE", "partyId": LANE}
    assert code_of(maker.write("POST", "/accounts", body)) == (409, "CONFLICT")
    taken = maker.write("PATCH", f"/accounts/{OPERATIONS}", {"externalId": "treasury-eur"})
    assert code_of(taken) == (409, "CONFLICT")
    changed = maker.write("PATCH", f"/accounts/{OPERATIONS}", {"externalId": "ops"})
    assert changed.json()["result"]["externalId"] == "ops"
    assert [a["id"] for a in maker.finance("/accounts", externalId="ops").json()["result"]] == [
        OPERATIONS
    ]


def test_only_a_suspended_account_is_reactivated(own_sandbox: Sandbox, maker: Any) -> None:
    path = f"/accounts/{ACCOUNT}/reactivate"
    assert code_of(maker.write("POST", path)) == (409, "CONFLICT")
    own_sandbox.finance.suspend_account(ACCOUNT)
    answer = maker.write("POST", path)
    assert (answer.status_code, answer.json()["result"]["status"]) == (200, "ACTIVE")
    own_sandbox.finance.account_status(ACCOUNT, "BLOCKED")
    assert code_of(maker.write("POST", path)) == (409, "CONFLICT")


def test_only_an_empty_account_without_pending_movements_is_deleted(
    own_sandbox: Sandbox, maker: Any
) -> None:
    assert code_of(maker.write("DELETE", f"/accounts/{ACCOUNT}")) == (409, "CONFLICT")
    account = account_of(maker, partyId=MIRA)
    path = f"/accounts/{account['id']}"
    virtual = made(maker, f"{path}/virtual-bank-accounts", virtual_body(1))
    arrival = own_sandbox.finance.sepa_credit(virtual["iban"], "10.00", "no code")
    # The credit is not assigned yet.
    assert code_of(maker.write("DELETE", path)) == (409, "CONFLICT")
    own_sandbox.finance.place_credit(arrival.id)
    # The assigned credit is still held.
    assert code_of(maker.write("DELETE", path)) == (409, "CONFLICT")
    other = account_of(maker, "new-2", partyId=MIRA)
    made(maker, f"/accounts/{other['id']}/wallets", {"chain": "BASE"})
    assert maker.write("DELETE", f"/accounts/{other['id']}").status_code == 204
    assert maker.finance(f"/accounts/{other['id']}/wallets").status_code == 404


def test_a_role_is_added_once_and_blocks_the_account_until_its_party_is_verified(
    own_sandbox: Sandbox, maker: Any
) -> None:
    party = made(maker, "/parties", PERSON)
    path, body = f"/accounts/{ACCOUNT}/party-roles", {"roleType": "ACCOUNT_HOLDER"}
    role = made(maker, path, body | {"partyId": party["id"]})
    assert role["party"] == party
    assert code_of(maker.write("POST", path, body | {"partyId": party["id"]})) == (409, "CONFLICT")
    kyc = [maker.finance(f"/accounts/{ACCOUNT}").json()["result"]["kycStatus"]]
    own_sandbox.finance.kyc(party["id"], "VERIFIED")
    kyc.append(maker.finance(f"/accounts/{ACCOUNT}").json()["result"]["kycStatus"])
    assert kyc == ["PENDING", "VERIFIED"]


# Wallets and virtual bank accounts


def virtual_body(number: int, asset: str = "USDC") -> dict[str, str]:
    return {
        "name": "Pay-in", "inCurrency": "EUR", "targetCryptocurrency": asset,
        "idempotencyKey": key(number),
    }  # fmt: skip


def test_a_new_wallet_is_empty_and_on_the_chain_of_its_account(maker: Any) -> None:
    account = account_of(maker, partyId=LANE)
    path = f"/accounts/{account['id']}/wallets"
    wrong = maker.write("POST", path, {"chain": "AVALANCHE"})
    assert code_of(wrong) == (400, "VALIDATION_ERROR")
    wallet = made(maker, path, {"chain": "BASE"})
    assert (wallet["accountId"], wallet["status"], wallet["balances"]) == (
        account["id"], "ACTIVE", [],
    )  # fmt: skip
    assert maker.finance(path).json()["result"] == [wallet]


def test_a_virtual_account_has_its_own_iban_and_code(maker: Any) -> None:
    path = f"/accounts/{ACCOUNT}/virtual-bank-accounts"
    first, second = (made(maker, path, virtual_body(n)) for n in (1, 2))
    assert is_iban(first["iban"])
    assert first["beneficiaryName"] == "Harbour Lane Trading NV"
    assert first["referenceCode"] != second["referenceCode"]
    assert maker.finance(f"{path}/{first['id']}").json()["result"] == first


@pytest.mark.parametrize("status", ["SUSPENDED", "BLOCKED", "CLOSED"])
def test_an_inactive_account_cannot_open_wallets_or_virtual_accounts(
    own_sandbox: Sandbox, maker: Any, status: str
) -> None:
    own_sandbox.finance.account_status(ACCOUNT, status)
    for path, body in (
        ("wallets", {"chain": "BASE"}),
        ("virtual-bank-accounts", virtual_body(1)),
    ):
        answer = maker.write("POST", f"/accounts/{ACCOUNT}/{path}", body)
        assert code_of(answer) == (400, "ACCOUNT_NOT_ACTIVE")


# Permissions


WRITES = (
    ("POST", "/parties"), ("PATCH", f"/parties/{MIRA}"), ("DELETE", f"/parties/{MIRA}"),
    ("POST", "/accounts"), ("PATCH", f"/accounts/{ACCOUNT}"), ("DELETE", f"/accounts/{ACCOUNT}"),
    ("POST", f"/accounts/{ACCOUNT}/reactivate"), ("POST", f"/accounts/{ACCOUNT}/party-roles"),
    ("POST", f"/accounts/{ACCOUNT}/wallets"),
    ("POST", f"/accounts/{ACCOUNT}/virtual-bank-accounts"),
    ("POST", f"/accounts/{ACCOUNT}/fiat-to-crypto/payment-sessions"),
    ("POST", "/account-to-account-transfers"), ("POST", f"/accounts/{ACCOUNT}/transfers/crypto"),
    ("POST", f"/accounts/{ACCOUNT}/transfers/fiat"), ("POST", "/transfers"),
    ("POST", "/payment-requests"),
)  # fmt: skip


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_viewer_cannot_write(viewer: Any, method: str, path: str) -> None:
    assert code_of(viewer.write(method, path, {})) == (403, "FORBIDDEN")


@pytest.mark.parametrize(
    "path",
    [
        "/accounts/nobody/wallets", "/accounts/nobody/virtual-bank-accounts",
        "/accounts/nobody/party-roles", "/accounts/nobody/reactivate",
        "/accounts/nobody/fiat-to-crypto/payment-sessions",
    ],
)  # fmt: skip
def test_writing_to_an_unknown_account_is_404(maker: Any, path: str) -> None:
    assert code_of(maker.write("POST", path, {})) == (404, "NOT_FOUND")


# Invalid bodies


PARTY = ("POST", "/parties")
NEW = ("POST", "/accounts")
VIRTUAL = ("POST", f"/accounts/{ACCOUNT}/virtual-bank-accounts")
SESSION = ("POST", f"/accounts/{ACCOUNT}/fiat-to-crypto/payment-sessions")
INTERNAL = ("POST", "/account-to-account-transfers")
CRYPTO = ("POST", f"/accounts/{ACCOUNT}/transfers/crypto")
FIAT = ("POST", f"/accounts/{ACCOUNT}/transfers/fiat")
ANY = ("POST", "/transfers")
PAYMENT = ("POST", "/payment-requests")

GOOD: dict[tuple[str, str], dict[str, Any]] = {
    PARTY: PERSON | {"idempotencyKey": key(1)},
    NEW: {"externalId": "x", "chain": "BASE", "partyId": LANE, "idempotencyKey": key(1)},
    VIRTUAL: virtual_body(1),
    SESSION: {
        "inAmount": "480.50", "inCurrency": "EUR", "outCryptocurrency": "USDC",
        "callbackUrl": "https://shop.example.test/paid", "idempotencyKey": key(1),
    },
    INTERNAL: {
        "sourceAccountId": ACCOUNT, "destinationAccountId": OPERATIONS, "amount": "1.5",
        "cryptocurrency": "USDC", "idempotencyKey": key(1),
    },
    CRYPTO: {
        "chain": "BASE", "asset": "USDC", "amount": 1.5, "receiverAccountId": OPERATIONS,
        "idempotencyKey": key(1),
    },
    FIAT: {
        "currency": "EUR", "amount": 1.5, "receiverAccountId": OPERATIONS,
        "idempotencyKey": key(1),
    },
    ANY: {
        "senderAccountId": ACCOUNT, "chain": "BASE", "asset": "USDC", "amount": 1.5,
        "receiverAccountId": OPERATIONS, "idempotencyKey": key(1),
    },
    PAYMENT: {
        "cardProviderReference": {"type": "paymentology", "referenceId": "ops-usd"},
        "paymentRequest": {"amount": 63.9, "currency": "USD", "idempotencyKey": key(1)},
    },
}  # fmt: skip
REQUIRED: dict[tuple[str, str], tuple[str, ...]] = {
    PARTY: ("partyType", "firstName", "lastName"),
    NEW: ("externalId", "chain"),
    VIRTUAL: ("name", "inCurrency", "targetCryptocurrency", "idempotencyKey"),
    SESSION: ("inAmount", "inCurrency", "outCryptocurrency", "callbackUrl", "idempotencyKey"),
    INTERNAL: ("sourceAccountId", "destinationAccountId", "amount", "cryptocurrency"),
    CRYPTO: ("chain", "asset", "amount", "idempotencyKey"),
    FIAT: ("currency", "amount", "idempotencyKey"),
    ANY: ("senderAccountId", "chain", "asset", "amount", "idempotencyKey"),
    PAYMENT: ("cardProviderReference", "paymentRequest"),
}
BAD: tuple[tuple[tuple[str, str], dict[str, Any], str], ...] = (
    (PARTY, {"partyType": "PERSON"}, "partyType"),
    (PARTY, {"firstName": ""}, "firstName"),
    (PARTY, {"lastName": "x" * 101}, "lastName"),
    (PARTY, {"firstName": 3}, "firstName"),
    (PARTY, {"name": "a firm's"}, "name"),
    (PARTY, {"nickname": "x"}, "nickname"),
    (PARTY, {"address": {"city": "Ghent"}}, "addressLine1"),
    (PARTY, {"address": ADDRESS | {"country": "Belgium"}}, "country"),
    (PARTY, {"externalId": "x" * 256}, "externalId"),
    (NEW, {"chain": "POLYGON"}, "chain"),
    (NEW, {"partyId": None, "party": PERSON | {"idempotencyKey": key(2)}}, "party"),
    (VIRTUAL, {"inCurrency": "USD"}, "inCurrency"),
    (VIRTUAL, {"targetCryptocurrency": "ETH"}, "targetCryptocurrency"),
    (SESSION, {"inAmount": 480.5}, "inAmount"),
    (SESSION, {"inAmount": "480.505"}, "inAmount"),
    (SESSION, {"inAmount": "4e2"}, "inAmount"),
    (SESSION, {"inAmount": "0"}, "inAmount"),
    (SESSION, {"callbackUrl": "http://shop.example.test/paid"}, "callbackUrl"),
    (SESSION, {"callbackUrl": "paid"}, "callbackUrl"),
    (SESSION, {"callbackUrl": "https://[::1"}, "callbackUrl"),
    (SESSION, {"successRedirectUrl": "javascript:alert(1)"}, "successRedirectUrl"),
    (INTERNAL, {"amount": 1.5}, "amount"),
    (INTERNAL, {"amount": "1.0000001"}, "amount"),
    (INTERNAL, {"amount": "-1"}, "amount"),
    (INTERNAL, {"cryptocurrency": "EURC"}, "cryptocurrency"),
    (INTERNAL, {"destinationAccountId": ACCOUNT}, "receiver"),
    (CRYPTO, {"amount": "1.5"}, "amount"),
    (CRYPTO, {"amount": None}, "amount"),
    (CRYPTO, {"amount": True}, "amount"),
    (CRYPTO, {"amount": 0}, "amount"),
    (CRYPTO, {"amount": -5}, "amount"),
    (CRYPTO, {"amount": 0.0000001}, "amount"),
    (CRYPTO, {"amount": 10**30}, "amount"),
    (CRYPTO, {"amount": 10**11}, "amount"),
    (CRYPTO, {"receiverAccountId": None}, "receiverAccountId"),
    (CRYPTO, {"receiverExternalId": "ops-usd"}, "receiverExternalId"),
    (CRYPTO, {"destinationAddress": "0x" + "0" * 40}, "destinationAddress"),
    (CRYPTO, {"receiverAccountId": None, "destinationAddress": "home"}, "destinationAddress"),
    (CRYPTO, {"receiverAccountId": ACCOUNT}, "receiver"),
    (FIAT, {"currency": "USD"}, "currency"),
    (FIAT, {"amount": "1.50"}, "amount"),
    (FIAT, {"amount": 1.505}, "amount"),
    (FIAT, {"bankAccount": {"iban": "BE1", "beneficiaryName": "x"}}, "bankAccount"),
    (
        FIAT,
        {"receiverAccountId": None, "bankAccount": {"iban": "BE1", "beneficiaryName": "x"}},
        "bankAccount.iban",
    ),
    (ANY, {"currency": "EUR"}, "chain"),
    (PAYMENT, {"cardProviderReference": {"type": "", "referenceId": "1"}}, "type"),
    (PAYMENT, {"paymentRequest": {"amount": "1", "currency": "USD"}}, "idempotencyKey"),
    (
        PAYMENT,
        {"paymentRequest": {"amount": "1", "currency": "USD", "idempotencyKey": key(1)}},
        "amount",
    ),
    (
        PAYMENT,
        {"paymentRequest": {"amount": 1, "currency": "GBP", "idempotencyKey": key(1)}},
        "currency",
    ),
)
MISSING = [(call, {name: ...}, name) for call, names in REQUIRED.items() for name in names]
NOT_A_KEY = [
    (call, {"idempotencyKey": given}, "idempotencyKey")
    for call in GOOD
    if call != PAYMENT
    for given in ("once", "f9aa0300-9ffd-1aec-a490-394c33507294", 7)
]
NOT_FIELDS = [(call, {"surprise": 1}, "surprise") for call in GOOD]


@pytest.mark.parametrize(
    ("call", "change", "named"), [*BAD, *MISSING, *NOT_A_KEY, *NOT_FIELDS],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_an_invalid_body_is_400_and_names_the_field(
    sandbox: Sandbox,
    shared_maker: Any,
    call: tuple[str, str],
    change: dict[str, Any],
    named: str,
) -> None:
    body = {name: value for name, value in (GOOD[call] | change).items() if value is not ...}
    content = json.dumps(body).replace(key(1), str(uuid4())).encode()
    before = sandbox.finance.effects()
    answer = shared_maker.write(*call, content)
    assert code_of(answer) == (400, "VALIDATION_ERROR"), answer.text
    assert named in answer.json()["errors"][0]["message"]
    assert sandbox.finance.effects() == before


@pytest.mark.parametrize("call", GOOD, ids=str)
def test_the_same_bodies_without_the_error_are_accepted(maker: Any, call: Any) -> None:
    answer = maker.write(*call, GOOD[call])
    assert answer.status_code == 201, answer.text
    assert answer.json()["success"] is True


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a":"\xff"}', b"[" * 5000, b"null"])
def test_a_body_that_is_not_a_json_object_is_400(maker: Any, content: bytes) -> None:
    assert code_of(maker.write("POST", "/parties", content)) == (400, "VALIDATION_ERROR")


# Drivers


@pytest.mark.parametrize(
    ("driver", "arguments"),
    [
        ("kyc", ("nobody", "VERIFIED")), ("kyc", (MIRA, "MAYBE")),
        ("account_status", ("nobody", "ACTIVE")), ("account_status", (ACCOUNT, "TIRED")),
        ("party_status", (MIRA, "TIRED")), ("wallet_status", ("nobody", "ACTIVE")),
        ("virtual_account_status", ("nobody", "CLOSED")),
        ("sepa_credit", ("BE68539007547035", "1.00", "")),
        ("sepa_credit", ("BE68539007547034", "1.005", "")),
        ("sepa_credit", ("BE68539007547034", "-1", "")), ("place_credit", ("nobody",)),
        ("settle_transfer", ("nobody",)), ("complete_session", ("nobody",)),
        ("settle_payment", ("nobody",)),
    ],
)  # fmt: skip
def test_an_impossible_driver_call_names_the_next_step(
    sandbox: Sandbox, driver: str, arguments: tuple[str, ...]
) -> None:
    now = sandbox.now
    with pytest.raises(InputError) as caught:
        getattr(sandbox.finance, driver)(*arguments)
    assert caught.value.do
    assert sandbox.now == now


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (PARTY, {"lastName": ...}, "lastName is required."),
        (PARTY, {"nickname": 1}, "nickname is not a field of this request."),
        (PARTY, {"address": {"city": "x"}}, "address.addressLine1 is required."),
        (PARTY, {"firstName": 3}, "firstName: Expected `str`, got `int`."),
        (CRYPTO, {"amount": -1}, "amount must be positive."),
        (CRYPTO, {"amount": "1.5"}, "amount must be a JSON number."),
        (INTERNAL, {"amount": 1.5}, "amount: Expected `str`, got `float`."),
        (
            CRYPTO,
            {"idempotencyKey": "once"},
            "idempotencyKey: Expected `str` of the required form.",
        ),
    ],
)
def test_a_refusal_names_the_field_and_the_error(
    shared_maker: Any, call: tuple[str, str], change: dict[str, Any], message: str
) -> None:
    body = {name: value for name, value in (GOOD[call] | change).items() if value is not ...}
    answer = shared_maker.write(*call, json.dumps(body).replace(key(1), str(uuid4())).encode())
    assert answer.json() == {
        "success": False, "errors": [{"code": "VALIDATION_ERROR", "message": message}],
    }  # fmt: skip
