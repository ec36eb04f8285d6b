"""An answer is compared with its request if it repeats values that were sent."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
from fake_service import Connect, answer
from honest_answers import operation_of
from test_api_operations import FINANCE, RAMP
from test_api_sandbox import (
    Practice,
    practising,
    route_of,
    work_company,
    work_finance,
    work_requests,
    work_transfers,
)

from treasury.api import Client, bodies
from treasury.api.answer_identity import SharedValue, other_record
from treasury.api.exchange import transport
from treasury.api.exchange.network import Network
from treasury.api.operations import IDENTITY, Service
from treasury.core import errors

WITHOUT = {
    "DELETE /accounts/{id}": "the answer has no body",
    "DELETE /parties/{id}": "the answer has no body",
    "GET /account-to-account-transfers": "its filters are applied again here",
    "GET /accounts": "a list of all",
    "GET /accounts/{accountId}/party-roles": "a role does not name its account",
    "GET /bank-accounts/config": "reference data",
    "GET /chains": "reference data",
    "GET /company": "there is one",
    "GET /company-bank-accounts": "a list of all",
    "GET /company-wallets": "a list of all",
    "GET /company/users": "a list of all",
    "GET /crypto-currencies": "reference data",
    "GET /fees": "reference data",
    "GET /fiat-currencies": "reference data",
    "GET /parties": "a list of all",
    "GET /ramp-requests": "a list of all",
    "GET /ramp-requests/off-ramp/pairs": "reference data",
    "GET /ramp-requests/on-ramp/pairs": "reference data",
    "POST /fees/calculate": "its amount is the fee",
}
"""Operations with answers that repeat no sent value, and the reason."""
COMPARED = sorted({*FINANCE, *RAMP} - set(WITHOUT))


class Talk(NamedTuple):
    """A request to the practice services, and the body of their answer."""

    request: httpx.Request
    body: dict[str, Any]

    @property
    def operation(self) -> str:
        return operation_of(self.request)[0]

    def sent(self, comparison: SharedValue) -> Any:
        """Return the value of a comparison in the request; None if it has none."""
        ids = operation_of(self.request)[1]
        sent: Any = ids if comparison.in_path else json.loads(self.request.content or b"{}")
        for name in comparison.sent:
            sent = sent.get(name) if isinstance(sent, dict) else None
        return sent

    def shown(self, comparison: SharedValue) -> list[tuple[str, ...]]:
        """Return the compared fields that are in the answer."""
        [record, *_] = self.records
        return [path for path in comparison.shown if _at(record, path) is not None]

    @property
    def records(self) -> list[dict[str, Any]]:
        result = self.body.get("result")
        return result if isinstance(result, list) else [result] if result else []

    def with_values(self, change: Callable[[Any], Any], *paths: tuple[str, ...]) -> dict[str, Any]:
        """Return the answer with other values at some paths of its first record."""
        body: dict[str, Any] = json.loads(json.dumps(self.body))
        result = body["result"]
        for path in paths:
            place = result[0] if isinstance(result, list) else result
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = change(place[path[-1]])
        return body


def _at(record: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return None if isinstance(record, dict) else record


@pytest.fixture(scope="module")
def talks() -> Iterator[dict[str, Talk]]:
    """Run every operation on the practice services, and yield its request and answer."""
    heard: dict[str, Talk] = {}

    class Listening(Network):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            content = response.read()
            _, base, path = request.url.path.partition("/finance/v1")
            if not base:
                _, base, path = request.url.path.partition("/ramp/v1")
            operation = route_of(request.method, base + path) if base else None
            if operation is not None and response.is_success:
                body = json.loads(content) if content else {}
                talk = Talk(request, body if isinstance(body, dict) else {})
                if talk.records or operation not in heard:
                    heard[operation] = talk
            headers = {name: response.headers[name] for name in ("content-type",) if content}
            return httpx.Response(response.status_code, headers=headers, content=content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "Network", Listening)
        with practising("spec", patch) as practice:
            _work(practice)
            yield heard


def _work(practice: Practice) -> None:
    """Call every operation of both services."""
    work_finance(practice)
    work_transfers(practice)
    work_company(practice)
    work_requests(practice)
    practice.maker.ramp.requests.list()
    list(practice.maker.finance.parties.iterate())
    sender, *_ = practice.accounts()
    practice.sandbox.finance.suspend_account(sender.id)
    practice.maker.finance.accounts.reactivate(sender.id)


def test_every_operation_is_compared_or_listed_with_a_reason(talks: dict[str, Talk]) -> None:
    assert set(talks) == {*FINANCE, *RAMP}
    comparable = {
        name
        for name, talk in talks.items()
        for comparison in map(SharedValue.parse, IDENTITY.get(name, "").split())
        if talk.records and talk.sent(comparison) is not None and talk.shown(comparison)
    }
    assert sorted(comparable) == COMPARED


def ask(connect: Connect, talk: Talk, body: dict[str, Any]) -> None:
    """Send the same request again, answered with `body`."""
    client, _ = connect(lambda _: httpx.Response(200, json=body))
    operation, ids = operation_of(talk.request)
    method, _, route = operation.partition(" ")
    service: Service = "ramp" if "/ramp/v1" in talk.request.url.path else "finance"
    content = msgspec.Raw(talk.request.content) if talk.request.content else None
    client.request(method, route, *ids.values(), service=service, body=content)


@pytest.mark.parametrize("operation", COMPARED)
def test_a_response_about_the_requested_record_is_accepted_and_another_refused(
    connect: Connect, talks: dict[str, Talk], operation: str
) -> None:
    talk = talks[operation]
    ask(connect, talk, talk.body)
    is_read = operation.startswith("GET")
    error = errors.UnexpectedResponse if is_read else errors.OutcomeUnknown
    compared = 0
    for comparison in map(SharedValue.parse, IDENTITY[operation].split()):
        sent, paths = talk.sent(comparison), talk.shown(comparison)
        if sent is None or not paths:
            continue
        compared += 1
        with pytest.raises(error) as caught:
            ask(connect, talk, talk.with_values(_another, *paths))
        text = str(caught.value)
        shown = _another(_at(talk.records[0], paths[0]))
        assert operation in text
        is_number = comparison.sent[-1] in {"iban", "accountNumber"}
        for value in (sent, shown):
            assert (str(value)[-4:] if is_number else str(value)) in text
        assert caught.value.may_have_executed is not is_read
        # A missing value is not a difference.
        ask(connect, talk, talk.with_values(lambda _: None, *paths))
    assert compared


def _another(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, str):
        return "7f3f0000-0000-4000-8000-00000000beef" if value.count("-") == 4 else f"9{value}"
    return value + 1


def _written_otherwise(value: Any) -> Any:
    if isinstance(value, str) and value.count("-") == 4:
        return value.upper()
    if isinstance(value, str) and value.replace(".", "").isdigit() and "." in value:
        return f"{value}000"
    return f" {value} " if isinstance(value, str) else value


@pytest.mark.parametrize("operation", COMPARED)
def test_one_value_in_another_spelling_is_equal(
    connect: Connect, talks: dict[str, Talk], operation: str
) -> None:
    talk = talks[operation]
    for comparison in map(SharedValue.parse, IDENTITY[operation].split()):
        if talk.sent(comparison) is not None:
            ask(connect, talk, talk.with_values(_written_otherwise, *talk.shown(comparison)))


A, B = "F5520527-134b-49e6-ac6e-833cf327cb46", "aaaa0793-25d6-433b-ae47-6f2de3994601"


def compare(operation: str, ids: tuple[str, ...], sent: Any, shown: Any) -> str:
    content = None if sent is None else json.dumps(sent).encode()
    return other_record(operation, ids, content, json.dumps(shown).encode())


@pytest.mark.parametrize(
    ("operation", "sent", "shown"),
    [
        ("POST /parties", {"externalId": "a b"}, {"externalId": " a  b "}),
        ("POST /parties", {"lastName": "Zo\u00eb"}, {"lastName": "Zoe\u0308"}),
        ("POST /company/users/invite", {"email": "V@x.test"}, {"email": "v@X.TEST"}),
        ("POST /company-wallets", {"address": "0xAB12"}, {"address": "0xab12"}),
        ("POST /company-wallets", {"chain": "base-main"}, {"chain": "BASE_MAIN"}),
        ("POST /company-bank-accounts", {"iban": "BE68539007547034"},
         {"iban": "be68 5390 0754 7034"}),
        ("POST /ramp-requests", {"amount": 25000}, {"amount": "25000.00"}),
        ("POST /ramp-requests", {"amount": 25000}, {"amount": 2.5e4, "fiatAmount": 25000.0}),
        ("POST /ramp-requests", {"amount": 25000}, {"fiatAmount": 25000, "cryptoAmount": 1}),
        ("POST /ramp-requests", {"companyWalletId": A}, {"companyWallet": {"id": A.lower()}}),
        ("POST /ramp-requests", {"companyWalletId": A}, {"companyWallet": "0xab"}),
        ("POST /ramp-requests", {"companyWalletId": A}, {"companyWallet": None}),
        ("POST /ramp-requests", {"companyBankAccountId": A}, {"companyWallet": {"id": B}}),
        ("POST /payment-requests", {"paymentRequest": {"amount": 63.9}},
         {"amount": {"fiat": 50}, "originalAmount": {"fiat": 63.90, "crypto": "63.900000"}}),
        ("POST /payment-requests", {"paymentRequest": {"externalId": "x"}}, {"externalId": ""}),
        ("POST /transfers", {"amount": 5, "currency": "EUR"},
         {"amount": 5.43, "asset": "USDC", "fiatOrigin": {"amount": 5, "currency": "EUR"}}),
        ("POST /fees/calculate", {"amount": 5}, {"amount": 0.04}),
    ],
)  # fmt: skip
def test_equal_or_missing_values_are_not_a_difference(
    operation: str, sent: Any, shown: Any
) -> None:
    assert compare(operation, (), sent, shown) == ""


@pytest.mark.parametrize(
    ("operation", "sent", "shown", "words"),
    [
        ("POST /parties", {"externalId": "Cust-1"}, {"externalId": "cust-1"},
         "about externalId cust-1, not externalId Cust-1"),
        ("POST /parties", {"externalId": "007"}, {"externalId": "7"}, "externalId 7"),
        ("POST /ramp-requests", {"amount": 25000}, {"amount": 25000.01}, "amount 25000.01"),
        ("POST /ramp-requests", {"amount": 25000}, {"fiatAmount": 1, "cryptoAmount": 2},
         "about fiatAmount 1, not amount 25000"),
        ("POST /ramp-requests", {"amount": 9007199254740993}, {"amount": 9007199254740992},
         "about amount"),
        ("POST /ramp-requests", {"companyWalletId": A}, {"companyWallet": {"id": B}},
         "about companyWallet.id aaaa0793"),
        ("POST /company-bank-accounts", {"iban": "BE68539007547034"},
         {"iban": "BE71096123456769"}, "about iban …6769, not iban …7034"),
        ("POST /company-wallets", {"address": "So1aNa"}, {"address": "so1ana"}, "so1ana"),
        ("POST /payment-requests", {"paymentRequest": {"amount": 63.9}},
         {"amount": {"fiat": 64, "crypto": "64"}}, "about amount.fiat 64"),
        ("POST /parties", {"name": "x"}, {"name": "\u001b[2J"}, "about name"),
    ],
)  # fmt: skip
def test_a_difference_names_both_values(operation: str, sent: Any, shown: Any, words: str) -> None:
    difference = compare(operation, (), sent, shown)
    assert words in difference
    assert "\u001b" not in difference


def test_a_foreign_record_in_a_list_is_refused_and_one_of_either_party_accepted(
    connect: Connect,
) -> None:
    wallets = [{"id": "w1", "accountId": A.lower()}, {"id": "w2", "accountId": B}]
    client, _ = connect(lambda _: answer(wallets))
    with pytest.raises(errors.UnexpectedResponse, match=f"about accountId {B}, not accountId {A}"):
        list(client.finance.wallets.iterate(A))
    assert compare("GET /accounts/{accountId}/transfers", (A,), None, [
        {"id": "1", "senderAccountId": A, "receiverAccountId": B},
        {"id": "2", "senderAccountId": B, "receiverAccountId": A.upper()},
        {"id": "3", "senderAccountId": A},
        {"id": "4"},
    ]) == ""  # fmt: skip
    others = [{"id": "5", "senderAccountId": B, "receiverAccountId": B}]
    assert "senderAccountId" in compare("GET /accounts/{accountId}/transfers", (A,), None, others)


def test_an_operation_that_is_not_listed_is_compared_by_its_id(connect: Connect) -> None:
    client, _ = connect(lambda _: answer({"id": "f2", "currency": "USD"}))
    with pytest.raises(errors.UnexpectedResponse, match="about id f2, not id f1"):
        client.request("GET", "/fiat-currencies/{id}", "f1", service="ramp")
    client.request("GET", "/fiat-currencies/{id}", "f2", service="ramp")
    client.request("PATCH", "/payment-requests/{paymentRequestId}", "p1", body={"amount": 1})


def test_a_wrapped_record_of_the_newest_generation_is_compared(connect: Connect) -> None:
    wrapped = {"createdResourceId": "p1", "response": {"id": "p1", "externalId": "other"}}
    client, _ = connect(lambda _: answer(wrapped))
    party = bodies.NewParty(party_type="ORGANISATION", name="H", external_id="mine")
    with pytest.raises(errors.OutcomeUnknown, match="about externalId other, not externalId mine"):
        client.finance.parties.create(party)


@pytest.mark.parametrize(
    ("announced", "shown", "is_same"),
    [
        (A, A.upper(), True),
        (A, None, True),
        (7, 7, True),
        (A, B, False),
        ("p1", "p2", False),
        (7, 8, False),
    ],
)
def test_the_created_id_of_the_wrapper_is_the_id_of_its_record(
    connect: Connect, announced: object, shown: object, is_same: bool
) -> None:
    wrapped = {"createdResourceId": announced, "response": {"id": shown, "externalId": "mine"}}
    client, _ = connect(lambda _: answer(wrapped))
    with contextlib.ExitStack() as stack:
        if not is_same:
            difference = f"about id {shown}, not createdResourceId {announced}"
            stack.enter_context(pytest.raises(errors.OutcomeUnknown, match=difference))
        client.request("POST", "/parties", body={"externalId": "mine"})


@pytest.mark.parametrize(
    "content",
    [
        b'{"success":true,"result":{"id":"\\ud800"}}',
        b'{"success":true,"result":{"id":"a","id":"b"}}',
        b'{"success":true,"result":{"id":{"id":"a"}}}',
    ],
    ids=["a lone surrogate", "two ids", "an object"],
)
def test_an_id_that_cannot_be_read_is_an_error(connect: Connect, content: bytes) -> None:
    client, _ = connect(lambda _: httpx.Response(200, content=content))
    with pytest.raises(errors.UnexpectedResponse):
        client.finance.parties.get("a")
    with pytest.raises(errors.OutcomeUnknown):
        client.finance.parties.update("a", bodies.PartyChanges(name="H"))


def test_an_unknown_write_answered_with_another_record_keeps_its_key_and_advice(
    connect: Connect,
) -> None:
    client, service = connect(lambda _: answer({"id": "t", "idempotencyKey": B, "amount": 1}))
    body = bodies.NewCryptoTransfer(
        chain="BASE", asset="USDC", amount=Decimal("1.00"), receiver_account_id=B
    )
    with pytest.raises(errors.OutcomeUnknown, match=f"about idempotencyKey {B}") as caught:
        client.finance.transfers.crypto(A, body)
    assert (caught.value.key, caught.value.ids) == (body.key, (A,))
    assert body.idempotency_key in caught.value.look_up
    assert len(service.requests) == 1


def test_a_read_only_client_compares_too(connect: Connect) -> None:
    client, _ = connect(lambda _: answer({"id": "b"}))
    reader: Client = client.for_reading(lambda operation: operation)
    with pytest.raises(errors.UnexpectedResponse, match="about id b, not id a"):
        reader.ramp.requests.get("a")
