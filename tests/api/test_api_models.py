from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from fake_service import Connect, answer
from hypothesis import given
from hypothesis import strategies as st

from treasury.api.codec import decode, encode, open_envelope, unwrap, without_secrets
from treasury.api.models import Balance, Party, RampRequest, Transfer, Wallet
from treasury.core.errors import UnexpectedResponse


@pytest.mark.parametrize(
    "text", ["2026-01-15T09:30:00", "2026-01-15T09:30:00Z", "2026-01-15T10:30:00.000+01:00"]
)
def test_a_time_is_an_instant_in_utc_with_or_without_zone(text: str) -> None:
    raw = json.dumps({"id": "p", "createdAt": text}).encode()
    created = decode(raw, Party, "GET").value.created_at
    assert created == datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
    assert created is not None
    assert created.tzinfo is UTC


digits = st.decimals(
    min_value=0, max_value=Decimal("99999999999999999999.99"), places=18, allow_nan=False
)


@given(digits, st.booleans())
def test_every_digit_of_an_amount_survives_as_number_and_as_string(
    amount: Decimal, quoted: bool
) -> None:
    written = f'"{amount:f}"' if quoted else f"{amount:f}"
    raw = b'{"id":"t","amount":%s}' % written.encode()
    assert str(decode(raw, Transfer, "GET").value.amount) == str(amount)


@given(digits)
def test_an_amount_is_sent_with_its_own_digits(amount: Decimal) -> None:
    sent = encode({"amount": amount})
    assert json.loads(sent, parse_float=Decimal, parse_int=Decimal)["amount"] == amount


@pytest.mark.parametrize("amount", ['"NaN"', '"Infinity"', "1e400", "1e-19", '"12,5"', "true"])
def test_an_invalid_amount_is_refused_and_named(amount: str) -> None:
    raw = b'{"id":"t","amount":%s}' % amount.encode()
    with pytest.raises(UnexpectedResponse, match="GET /x: a Transfer cannot be decoded"):
        decode(raw, Transfer, "GET /x")


def test_unknown_fields_and_values_survive_in_the_raw_bytes(connect: Connect) -> None:
    body = b'{"success":true,"result":[{"id":"p", "status":"NEW_ONE","later":{"x":1.10}}]}'
    client, _ = connect(lambda _: __import__("httpx").Response(200, content=body))
    (record,) = client.finance.parties.iterate()
    assert record.value.status == "NEW_ONE"
    assert record.raw == b'{"id":"p", "status":"NEW_ONE","later":{"x":1.10}}'


SHAPES = {
    "token and strings": {
        "token": "USDC", "balance": "10.50", "availableBalance": "10.25", "pendingBalance": "0.25"
    },
    "amount of strings": {
        "asset": "USDC", "amount": {"total": "10.50", "available": "10.25", "reserved": "0.25"}
    },
    "amount of numbers": {
        "asset": "USDC", "amount": {"total": 10.50, "available": 10.25, "reserved": 0.25}
    },
    "flat": {"asset": "USDC", "total": "10.5", "available": 10.25, "reserved": 0.25},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_balances_of_every_shape_are_read_alike(shape: str) -> None:
    holding = decode(json.dumps(SHAPES[shape]).encode(), Balance, "GET").value.holding()
    assert holding.asset == "USDC"
    assert (holding.total, holding.available, holding.reserved) == (
        Decimal("10.5"), Decimal("10.25"), Decimal("0.25"),
    )  # fmt: skip
    assert holding.ties


def test_a_balance_that_does_not_add_up_is_reported() -> None:
    raw = b'{"asset":"USDC","amount":{"total":"3","available":"1","reserved":"1"}}'
    assert decode(raw, Balance, "GET").value.holding().ties is False
    assert decode(b'{"asset":"USDC","amount":"3"}', Balance, "GET").value.holding().ties is None


def test_bare_balance_rows_become_wallets_without_id(connect: Connect) -> None:
    other = SHAPES["amount of strings"] | {"asset": "EURC"}
    rows = [SHAPES["amount of strings"], other, {"id": "w1", "balances": []}]
    client, _ = connect(lambda _: answer(rows))
    *bare, known = client.finance.wallets.iterate("a1")
    assert known.value.id == "w1"
    assert [wallet.value.id for wallet in bare] == [None, None]
    assert [b.holding().asset for w in bare for b in w.value.balances] == ["USDC", "EURC"]
    assert json.loads(bare[1].raw) == other


@pytest.mark.parametrize(
    "result",
    [
        {"supportedChains": ["BASE", "SUI"]},
        ["BASE", "SUI"],
        [{"name": "BASE"}, {"chain": "SUI"}],
        {"supportedChains": [{"name": "BASE"}, {"name": "SUI"}]},
    ],
)
def test_chains_of_every_shape_are_read(connect: Connect, result: object) -> None:
    client, _ = connect(lambda _: answer(result))
    assert [chain.value.name for chain in client.ramp.chains.all()] == ["BASE", "SUI"]


def test_a_ramp_request_is_read_from_a_list_item_and_from_its_detail() -> None:
    item = decode(b'{"id":"r","fiatCurrency":"EUR"}', RampRequest, "GET").value
    detail = decode(b'{"id":"r","fiatCurrency":{"id":"f","currency":"EUR"}}', RampRequest, "GET")
    assert item.fiat_currency == "EUR"
    assert not isinstance(detail.value.fiat_currency, str)


def test_the_subject_of_an_event_is_kept_unchanged() -> None:
    said = b'{"previousAmount":25000.10,"newAmount":30000}'
    raw = b'{"id":"r","events":[{"metadata":%s},{"metadata":null},{}]}' % said
    events = decode(raw, RampRequest, "GET").value.events
    assert events is not None
    assert [event.metadata and bytes(event.metadata) for event in events] == [said, None, None]


def test_a_wrapped_create_is_unwrapped() -> None:
    body = b'{"success":true,"result":{"createdResourceId":"w","response":{"id":"w"}}}'
    assert decode(unwrap(open_envelope(body, "POST"))[0], Wallet, "POST").value.id == "w"


def test_the_link_of_an_invitation_is_not_stored(connect: Connect) -> None:
    link = "https://login.example.test/invite/51"
    rows = [{"id": "u", "invitationUrl": link, "n": [{"invitationUrl": link, "version": 1}]}]
    client, _ = connect(lambda _: answer(rows))
    (user,) = client.ramp.users.all()
    reply = client.request("GET", "/company/users", service="ramp")
    assert link not in repr(user)
    assert link not in repr(reply)
    assert json.loads(user.raw) == {"id": "u", "n": [{"version": 1}]}


def test_stripping_keeps_numbers_exact() -> None:
    body = b'{"invitationUrl":"x","a":12345678901234567890.123456789012345678}'
    assert without_secrets(body, "GET /x") == b'{"a":12345678901234567890.123456789012345678}'
