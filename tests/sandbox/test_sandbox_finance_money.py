"""Money at the practice finance service: movements, held amounts, refusals."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID

import httpx
import pytest

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox

ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"
OPERATIONS = "aaaa0793-25d6-433b-ae47-6f2de3994601"
MIRA = "f9aa0300-9ffd-4aec-a490-394c33507294"
LANE = "235d4a24-73a9-4ffd-ada5-1b1e24ddf07c"
IBAN, CODE = "BE68539007547034", "VFY-8M3T-407"
HASH = "transactionHash"


def key(number: int) -> str:
    return str(UUID(int=number, version=4))


@pytest.fixture
def maker(callers: dict[str, Any]) -> Any:
    return callers["maker"]


@pytest.fixture
def drive(own_sandbox: Sandbox) -> Iterator[Any]:
    """Yield the drivers; check after the test that the ledger sums to zero."""
    yield own_sandbox.finance
    assert set(own_sandbox.finance.ledger_sums().values()) == {Decimal(0)}


def balance(maker: Any, account: str, asset: str = "USDC") -> tuple[Decimal, Decimal]:
    """Return the available and reserved amounts that the service states for an account."""
    wallets = maker.finance(f"/accounts/{account}/wallets").json()["result"]
    found = [b["amount"] for w in wallets for b in w["balances"] if b["asset"] == asset]
    for amount in found:
        parts = Decimal(amount["available"]) + Decimal(amount["reserved"])
        assert Decimal(amount["total"]) == parts
    return (
        sum((Decimal(amount["available"]) for amount in found), Decimal(0)),
        sum((Decimal(amount["reserved"]) for amount in found), Decimal(0)),
    )


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["errors"][0]["code"]


def made(maker: Any, path: str, body: object) -> dict[str, Any]:
    answer = maker.write("POST", path, body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = json.loads(answer.text, parse_float=Decimal)["result"]
    return found


def crypto(amount: float = 100.25, number: int = 1, **more: object) -> dict[str, Any]:
    receiver = more if {"receiverExternalId", "destinationAddress"} & set(more) else {
        "receiverAccountId": OPERATIONS, **more
    }  # fmt: skip
    return {
        "chain": "BASE", "asset": "USDC", "amount": amount, "idempotencyKey": key(number),
        **receiver,
    }  # fmt: skip


SEND = f"/accounts/{ACCOUNT}/transfers/crypto"


# Transfers


@pytest.mark.parametrize("receiver", [
    {"receiverAccountId": OPERATIONS}, {"receiverExternalId": "ops-usd"},
])  # fmt: skip
def test_a_transfer_is_reserved_then_delivered_to_the_other_account(
    maker: Any, drive: Any, receiver: dict[str, str]
) -> None:
    (free, kept), (other, _) = balance(maker, ACCOUNT), balance(maker, OPERATIONS)
    transfer = made(maker, SEND, crypto(description="Run 7", **receiver))
    assert (transfer["status"], transfer["amount"]) == ("PENDING", Decimal("100.25"))
    assert transfer["receiverAccountId"] == OPERATIONS
    assert HASH not in transfer
    amount, fee = transfer["amount"], transfer["networkFee"]
    assert balance(maker, ACCOUNT) == (free - amount - fee, kept + amount)
    path = f"/accounts/{ACCOUNT}/transfers/{transfer['id']}"
    assert drive.process_transfer(transfer["id"]).status == "PROCESSING"
    processing = maker.finance(path).json()["result"]
    drive.settle_transfer(transfer["id"])
    completed = maker.finance(path).json()["result"]
    assert completed["status"] == "COMPLETED"
    assert completed[HASH] == processing[HASH]
    assert balance(maker, ACCOUNT) == (free - amount - fee, kept)
    assert balance(maker, OPERATIONS)[0] == other + amount
    assert drive.ledger_effects(transfer["id"]) == ["reserve", "network_fee", "deliver"]
    with pytest.raises(InputError, match="COMPLETED"):
        drive.fail_transfer(transfer["id"])


def test_a_failed_transfer_releases_its_amount_and_states_the_reason(
    maker: Any, drive: Any
) -> None:
    free, kept = balance(maker, ACCOUNT)
    transfer = made(maker, SEND, crypto(destinationAddress="0x" + "ab" * 20))
    drive.process_transfer(transfer["id"])
    drive.fail_transfer(transfer["id"], "GAS", "Out of gas")
    found = maker.finance(f"/accounts/{ACCOUNT}/transfers/{transfer['id']}").json()["result"]
    assert (found["status"], found["failureCode"], found["failureReason"]) == (
        "FAILED", "GAS", "Out of gas",
    )  # fmt: skip
    assert HASH not in found
    assert balance(maker, ACCOUNT) == (free - transfer["networkFee"], kept)


def test_a_transfer_to_an_outside_address_reduces_the_balances(maker: Any, drive: Any) -> None:
    free, _ = balance(maker, ACCOUNT)
    transfer = made(maker, SEND, crypto(destinationAddress="0x" + "ab" * 20))
    assert "receiverAccountId" not in transfer
    outside = drive.ledger_balances()["world"]["USDC"]
    drive.settle_transfer(transfer["id"])
    assert drive.ledger_balances()["world"]["USDC"] == outside + transfer["amount"]
    assert balance(maker, ACCOUNT)[0] == free - transfer["amount"] - transfer["networkFee"]


@pytest.mark.acceptance
def test_past_transfers_can_be_settled_or_failed(maker: Any, drive: Any) -> None:
    accounts = [account["id"] for account in maker.finance("/accounts").json()["result"]]
    past = maker.finance("/account-to-account-transfers", size=1000).json()["result"]
    for account in accounts:
        query = {"accountRole": "SENDER", "size": 1000}
        past += maker.finance(f"/accounts/{account}/transfers", **query).json()["result"]
    steps = {"PENDING": drive.fail_transfer, "PROCESSING": drive.settle_transfer}
    for transfer in past:
        if transfer["status"] in steps:
            steps[transfer["status"]](transfer["id"])
    for account in accounts:
        assert {balance(maker, account, asset)[1] for asset in ("USDC", "EURC", "USDT")} == {0}


def test_a_fiat_transfer_states_its_rate_and_pays_an_account_or_a_bank(
    maker: Any, drive: Any
) -> None:
    path = f"/accounts/{ACCOUNT}/transfers/fiat"
    body = {"currency": "EUR", "amount": 500, "idempotencyKey": key(1)}
    transfer = made(maker, path, body | {"receiverAccountId": OPERATIONS})
    assert (transfer["asset"], transfer["amount"]) == ("USDC", Decimal("543.48"))
    assert transfer["fiatOrigin"] == {
        "currency": "EUR", "amount": 500, "exchangeRate": Decimal("0.92"),
    }  # fmt: skip
    bank = {"iban": "NL05TEST0417164300", "beneficiaryName": "Noordzee Vis BV"}
    paid = made(maker, path, body | {"bankAccount": bank, "idempotencyKey": key(2)})
    assert paid["bankAccount"] == bank
    before = drive.ledger_balances()["world"]["EUR"]
    drive.settle_transfer(paid["id"])
    assert drive.ledger_balances()["world"]["EUR"] == before + 500


def test_an_internal_transfer_states_amounts_as_decimal_strings(maker: Any, drive: Any) -> None:
    (free, _), (other, _) = balance(maker, ACCOUNT), balance(maker, OPERATIONS)
    body = {
        "sourceAccountId": ACCOUNT, "destinationAccountId": OPERATIONS, "amount": "12.5",
        "cryptocurrency": "USDC",
    }  # fmt: skip
    transfer = made(maker, "/account-to-account-transfers", body)
    assert transfer["amount"] == "12.500000"
    drive.settle_transfer(transfer["id"])
    assert balance(maker, ACCOUNT)[0] == free - Decimal("12.5")
    assert balance(maker, OPERATIONS)[0] == other + Decimal("12.5")
    query = {"sourceAccountId": ACCOUNT, "destinationAccountId": OPERATIONS, "size": 1000}
    listed = maker.finance("/account-to-account-transfers", **query).json()["result"]
    assert listed[-1] == {**transfer, "status": "COMPLETED", "updatedAt": listed[-1]["updatedAt"]}


def test_crypto_and_fiat_transfers_can_be_made_without_an_account_in_the_path(maker: Any) -> None:
    sender = {"senderAccountId": ACCOUNT}
    assert "fiatOrigin" not in made(maker, "/transfers", crypto() | sender)
    fiat = {"currency": "EUR", "amount": 5, "receiverAccountId": OPERATIONS}
    made_of = made(maker, "/transfers", {**fiat, **sender, "idempotencyKey": key(2)})
    assert made_of["fiatOrigin"]["currency"] == "EUR"


def test_a_transfer_completes_as_the_clock_advances(
    own_sandbox: Sandbox, maker: Any, drive: Any
) -> None:
    on_chain = made(maker, SEND, crypto())
    fiat = {"currency": "EUR", "amount": 5, "receiverAccountId": OPERATIONS}
    by_rail = made(maker, f"/accounts/{ACCOUNT}/transfers/fiat", {**fiat, "idempotencyKey": key(2)})

    def status(transfer: dict[str, Any]) -> str:
        path = f"/accounts/{ACCOUNT}/transfers/{transfer['id']}"
        found: str = maker.finance(path).json()["result"]["status"]
        return found

    seen = []
    for step in (timedelta(seconds=3), timedelta(minutes=2), timedelta(days=2)):
        own_sandbox.clock.advance(step)
        seen.append((status(on_chain), status(by_rail)))
    assert seen == [
        ("PROCESSING", "PENDING"), ("COMPLETED", "PROCESSING"), ("COMPLETED", "COMPLETED"),
    ]  # fmt: skip


# Refusals


def test_a_transfer_above_the_available_balance_is_refused_and_moves_nothing(
    maker: Any, drive: Any
) -> None:
    free, kept = balance(maker, ACCOUNT)
    body = crypto(0) | {"amount": float(free + 1)}
    assert code_of(maker.write("POST", SEND, body)) == (422, "INSUFFICIENT_FUNDS")
    assert balance(maker, ACCOUNT) == (free, kept)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"asset": "EURC"}, (422, "ASSET_NOT_HELD")),
        ({"asset": "ETH"}, (422, "ASSET_NOT_HELD")),
        ({"chain": "AVALANCHE"}, (422, "ASSET_NOT_HELD")),
        ({"receiverAccountId": "nobody"}, (404, "NOT_FOUND")),
        ({"receiverAccountId": None, "receiverExternalId": "nobody"}, (404, "NOT_FOUND")),
        ({"receiverAccountId": None, "receiverExternalId": "retail"}, (422, "CHAIN_MISMATCH")),
    ],
)
def test_a_transfer_needs_an_asset_of_the_sender_and_a_receiver_on_its_chain(
    maker: Any, change: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert code_of(maker.write("POST", SEND, crypto() | change)) == expected


def unverified(maker: Any) -> str:
    """Return the account of the only party with a pending verification."""
    found: str = maker.finance("/accounts", externalId="cust-0417").json()["result"][0]["id"]
    return found


def outbound(account: str) -> list[tuple[str, dict[str, Any]]]:
    fiat = {"currency": "EUR", "amount": 5, "receiverAccountId": OPERATIONS}
    internal = {
        "sourceAccountId": account, "destinationAccountId": OPERATIONS, "amount": "1",
        "cryptocurrency": "USDC",
    }  # fmt: skip
    return [
        (f"/accounts/{account}/transfers/crypto", crypto(1, 11)),
        (f"/accounts/{account}/transfers/fiat", {**fiat, "idempotencyKey": key(12)}),
        ("/transfers", {**crypto(1, 13), "senderAccountId": account}),
        ("/account-to-account-transfers", internal),
    ]


def test_an_account_of_an_unverified_party_cannot_send(maker: Any, drive: Any) -> None:
    account = unverified(maker)
    for status in ("PENDING", "IN_PROGRESS", "REJECTED", "MANUAL_REVIEW"):
        drive.kyc(MIRA, status)
        for path, body in outbound(account):
            assert code_of(maker.write("POST", path, body)) == (422, "KYC_NOT_VERIFIED")
    drive.kyc(MIRA, "VERIFIED")
    for path, body in outbound(account):
        assert code_of(maker.write("POST", path, body)) == (422, "ASSET_NOT_HELD")


def test_a_suspended_account_cannot_send_or_receive(maker: Any, drive: Any) -> None:
    drive.suspend_account(ACCOUNT)
    assert code_of(maker.write("POST", SEND, crypto())) == (422, "ACCOUNT_NOT_ACTIVE")
    back = crypto(1, 2, receiverAccountId=ACCOUNT)
    answer = maker.write("POST", f"/accounts/{OPERATIONS}/transfers/crypto", back)
    assert code_of(answer) == (422, "ACCOUNT_NOT_ACTIVE")
    assert maker.write("POST", f"/accounts/{ACCOUNT}/reactivate").status_code == 200
    assert maker.write("POST", SEND, crypto()).status_code == 201


def test_a_suspended_party_or_wallet_cannot_send(maker: Any, drive: Any) -> None:
    drive.party_status(LANE, "SUSPENDED")
    assert code_of(maker.write("POST", SEND, crypto())) == (422, "PARTY_NOT_ACTIVE")
    drive.party_status(LANE, "ACTIVE")
    wallet = maker.finance(f"/accounts/{ACCOUNT}/wallets").json()["result"][0]
    drive.wallet_status(wallet["id"], "SUSPENDED")
    assert code_of(maker.write("POST", SEND, crypto())) == (400, "ACCOUNT_WALLET_NOT_ACTIVE")


def test_a_receiver_without_a_wallet_is_refused(maker: Any) -> None:
    made(maker, "/accounts", {"externalId": "bare", "chain": "BASE", "partyId": LANE})
    answer = maker.write("POST", SEND, crypto(receiverExternalId="bare"))
    assert code_of(answer) == (422, "ACCOUNT_WALLET_MISSING")


# Incoming euros


def test_an_instant_credit_with_the_code_reaches_the_wallet_immediately(
    maker: Any, drive: Any
) -> None:
    free, _ = balance(maker, ACCOUNT)
    arrival = drive.sepa_credit(IBAN, "920.00", f"Invoice 7 {CODE.lower()}.", instant=True)
    assert (arrival.status, arrival.asset) == ("CREDITED", "USDC")
    assert arrival.coins == (Decimal(920) / arrival.rate).quantize(Decimal("0.000001"))
    assert balance(maker, ACCOUNT)[0] == free + arrival.coins


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("text", "instant", "hours"),
    [
        # An ordinary credit with its code is converted on the next business day.
        (CODE, False, (20, 26)),
        ("Invoice 7", True, (24, 48)),
        (f"X{CODE}X", False, (24, 48)),
    ],
)
def test_a_credit_waits_for_the_next_business_day_or_for_manual_assignment(
    own_sandbox: Sandbox, drive: Any, text: str, instant: bool, hours: tuple[int, int]
) -> None:
    start, (early, late) = own_sandbox.now, (timedelta(hours=count) for count in hours)
    arrival = drive.sepa_credit(IBAN, "100.00", text, instant=instant)
    assert arrival.status == "RECEIVED"
    own_sandbox.clock.set(start + early)
    assert drive.all_arrivals() == [arrival]
    own_sandbox.clock.set(start + late)
    (converted,) = drive.all_arrivals()
    assert converted.status == "CREDITED"
    # Assigning it again has no further effect.
    assert drive.place_credit(arrival.id) == converted
    assert drive.ledger_effects(arrival.id) == ["conversion", "credit"]


def test_a_credit_to_a_closed_virtual_account_waits_for_manual_assignment(
    own_sandbox: Sandbox, maker: Any, drive: Any
) -> None:
    drive.virtual_account_status("ee9587b8-6b17-4fc2-a2aa-b68558866188", "CLOSED")
    arrival = drive.sepa_credit(IBAN, "100.00", CODE, instant=True)
    own_sandbox.clock.advance(timedelta(days=9))
    assert drive.all_arrivals() == [arrival]
    assert drive.place_credit(arrival.id).status == "CREDITED"


def test_funds_are_held_until_the_party_is_verified_and_has_a_wallet(
    maker: Any, drive: Any
) -> None:
    party = made(maker, "/parties", {"partyType": "ORGANISATION", "name": "Duinrand"})
    account = made(
        maker, "/accounts", {"externalId": "d", "chain": "BASE", "partyId": party["id"]}
    )["id"]
    virtual = made(
        maker, f"/accounts/{account}/virtual-bank-accounts",
        {
            "name": "In", "inCurrency": "EUR", "targetCryptocurrency": "EURC",
            "idempotencyKey": key(1),
        },
    )  # fmt: skip
    arrival = drive.sepa_credit(virtual["iban"], "50.00", virtual["referenceCode"], instant=True)
    assert arrival.status == "HELD"
    drive.kyc(party["id"], "VERIFIED")
    assert drive.all_arrivals()[-1].status == "HELD"
    wallet = made(maker, f"/accounts/{account}/wallets", {"chain": "BASE"})
    assert wallet["balances"] == []
    assert balance(maker, account, "EURC") == (Decimal(50), Decimal(0))
    drive.kyc(party["id"], "REJECTED")
    drive.sepa_credit(virtual["iban"], "7.00", virtual["referenceCode"], instant=True)
    assert balance(maker, account, "EURC")[0] == 50
    drive.kyc(party["id"], "NOT_REQUIRED")
    assert balance(maker, account, "EURC")[0] == 57
    assert drive.ledger_effects(arrival.id) == ["conversion", "credit"]


# Payment sessions


class Listener:
    """A server on the loopback address that keeps the bodies that it receives."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.heard = threading.Event()
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                listener.bodies.append(json.loads(self.rfile.read(length)))
                self.send_response(204)
                self.end_headers()
                listener.heard.set()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/paid?order=7"


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    thread = threading.Thread(target=found.server.serve_forever, args=(0.01,))
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def session_body(url: str, number: int = 1) -> dict[str, str]:
    return {
        "inAmount": "480.50", "inCurrency": "EUR", "outCryptocurrency": "USDC",
        "callbackUrl": url, "idempotencyKey": key(number),
    }  # fmt: skip


def sessions_of(account: str) -> str:
    return f"/accounts/{account}/fiat-to-crypto/payment-sessions"


def test_a_paid_session_credits_the_wallet_and_sends_a_callback(
    maker: Any, drive: Any, listener: Listener
) -> None:
    free, _ = balance(maker, ACCOUNT)
    session = made(maker, sessions_of(ACCOUNT), session_body(listener.url))
    assert (session["status"], session["inAmount"]) == ("CREATED", Decimal("480.5"))
    assert session["paymentUrl"].startswith("https://")
    done = drive.complete_session(session["id"])
    assert (done.status, done.cancellable) == ("COMPLETED", False)
    assert done.blockchain_tx_id
    assert balance(maker, ACCOUNT)[0] == free + drive.all_arrivals()[0].coins
    assert listener.heard.wait(10)
    (told,) = listener.bodies
    assert (told["sessionId"], told["status"]) == (session["id"], "COMPLETED")
    assert "invented" in told["sandbox"]
    with pytest.raises(InputError, match="COMPLETED"):
        drive.complete_session(session["id"])


def test_the_callback_for_an_unverified_account_is_sent_when_its_funds_are_released(
    maker: Any, drive: Any, listener: Listener
) -> None:
    account = unverified(maker)
    session = made(maker, sessions_of(account), session_body(listener.url))
    assert drive.complete_session(session["id"]).status == "PAYMENT_RECEIVED"
    assert balance(maker, account) == (0, 0)
    assert listener.bodies == []
    drive.kyc(MIRA, "VERIFIED")
    assert drive.all_sessions()[0].status == "COMPLETED"
    assert balance(maker, account)[0] > 500
    assert listener.heard.wait(10)


def test_callbacks_go_only_to_loopback_and_the_record_states_it(maker: Any, drive: Any) -> None:
    url = "https://shop.example.test/paid"
    session = made(maker, sessions_of(ACCOUNT), session_body(url))
    assert "loopback" in session["metadata"]["sandbox"]
    drive.complete_session(session["id"])
    (invocation,) = drive.callbacks()
    assert (invocation.subject, invocation.url) == (session["id"], url)
    assert "loopback" in invocation.outcome


def test_a_failed_or_unpaid_session_moves_nothing_and_sends_no_callback(
    own_sandbox: Sandbox, maker: Any, drive: Any, listener: Listener
) -> None:
    before = balance(maker, ACCOUNT)
    first, second = (
        made(maker, sessions_of(ACCOUNT), session_body(listener.url, n)) for n in (1, 2)
    )
    assert drive.fail_session(first["id"]).status == "FAILED"
    own_sandbox.clock.advance(timedelta(hours=2))
    assert [session.status for session in drive.all_sessions()] == ["FAILED", "EXPIRED"]
    with pytest.raises(InputError, match="EXPIRED"):
        drive.complete_session(second["id"])
    assert balance(maker, ACCOUNT) == before
    assert listener.bodies == drive.callbacks() == []


# Payment requests


def payment(amount: float, currency: str = "USD", number: int = 1) -> dict[str, Any]:
    return {
        "cardProviderReference": {"type": "paymentology", "referenceId": "ops-usd"},
        "paymentRequest": {
            "amount": amount, "currency": currency, "externalId": "card-tx-881",
            "description": "Card purchase", "idempotencyKey": key(number),
        },
    }  # fmt: skip


@pytest.mark.parametrize(("currency", "coins"), [("USD", "63.900000"), ("EUR", "69.456522")])
def test_a_payment_request_reserves_its_amount_in_the_account_of_the_card(
    maker: Any, drive: Any, currency: str, coins: str
) -> None:
    free, kept = balance(maker, OPERATIONS)
    found = made(maker, "/payment-requests", payment(63.9, currency))
    assert (found["status"], found["accountId"]) == ("RESERVED", OPERATIONS)
    assert found["amount"] == {"fiat": Decimal("63.9"), "crypto": coins}
    assert balance(maker, OPERATIONS) == (free - Decimal(coins), kept + Decimal(coins))
    drive.settle_payment(found["id"])
    assert balance(maker, OPERATIONS) == (free - Decimal(coins), kept)
    again = made(maker, "/payment-requests", payment(5, currency, 2))
    assert drive.reverse_payment(again["id"]).status == "REVERSED"
    assert balance(maker, OPERATIONS) == (free - Decimal(coins), kept)
    with pytest.raises(InputError, match="SETTLED"):
        drive.reverse_payment(found["id"])


def test_a_payment_request_beyond_the_balance_is_402(maker: Any) -> None:
    answer = maker.write("POST", "/payment-requests", payment(9_000_000))
    assert code_of(answer) == (402, "INSUFFICIENT_FUNDS")


# Drivers over HTTP


@pytest.mark.parametrize(
    ("driver", "arguments"),
    [
        ("sepa_credit", {"iban": IBAN, "amount": 12.5, "text": CODE, "instant": True}),
        ("kyc", {"partyId": MIRA, "status": "VERIFIED"}),
        ("suspend_account", {"accountId": ACCOUNT}),
        ("all_arrivals", {}), ("all_sessions", {}), ("callbacks", {}), ("effects", {}),
        ("ledger_sums", {}), ("ledger_balances", {}), ("ledger_effects", {"reference": "x"}),
    ],
)  # fmt: skip
def test_a_driver_can_be_called_over_http(
    maker: Any, http: httpx.Client, driver: str, arguments: dict[str, Any]
) -> None:
    answer = http.post(f"{maker.served.base_url}/sandbox/drive/{driver}", json=arguments)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("submitted", [False, True])
def test_the_sender_of_a_crypto_transfer_pays_the_network_fee(
    maker: Any, drive: Any, submitted: bool
) -> None:
    free, kept = balance(maker, ACCOUNT)
    amount = Decimal("100.25")
    transfer = made(maker, SEND, crypto())
    fee = transfer["networkFee"]
    assert fee > 0
    assert balance(maker, ACCOUNT) == (free - amount - fee, kept + amount)
    if submitted:
        drive.process_transfer(transfer["id"])
    drive.fail_transfer(transfer["id"], "GAS", "Out of gas")
    spent = fee if submitted else Decimal(0)
    assert balance(maker, ACCOUNT) == (free - spent, kept)
    assert set(drive.ledger_sums().values()) == {0}


def test_a_transfer_of_the_whole_balance_is_refused_for_lack_of_the_network_fee(
    maker: Any, drive: Any
) -> None:
    before = balance(maker, ACCOUNT)
    body = crypto(float(before[0]))
    answer = maker.write("POST", SEND, body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "INSUFFICIENT_FUNDS"
    assert balance(maker, ACCOUNT) == before
