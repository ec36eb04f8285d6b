"""Pages read column by column: the same rows as record by record, whatever is in them."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.api import Record
from treasury.api.models import RampRequest
from treasury.extract import listed
from treasury.extract.listed import ListedRequest, listed_rows, record_rows

encoder = msgspec.json.Encoder(decimal_format="number")
text = st.none() | st.text(max_size=8)
amount = st.none() | st.decimals(
    allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12
)
times = st.none() | st.sampled_from(
    [
        "2026-10-01T10:00:00Z",
        "2026-10-01T10:00:00",
        "2026-10-01T10:00:00.123456+02:00",
        "2026-02-28T23:59:59.9Z",
    ]
)
item = st.fixed_dictionaries(
    {"id": st.uuids().map(str)},
    optional={
        "paymentReference": text,
        "status": st.none() | st.sampled_from(["SUCCEEDED", "AWAITING_FUNDS", "NEW", ""]),
        "fiatAmount": amount,
        "cryptoAmount": amount | amount.map(str),
        "fiatCurrency": text,
        "fiatCurrencyId": text,
        "companyWalletId": text,
        "createdAt": times,
        "createdBy": text,
        "version": st.none() | st.integers(0, 2**40),
        "paymentReceived": st.none() | st.booleans(),
        "unknown": st.none() | st.dictionaries(st.text(max_size=3), st.integers()),
    },
)


def records(result: bytes) -> list[Record[RampRequest]]:
    raws = msgspec.json.decode(result, type=list[msgspec.Raw])
    return [Record(msgspec.json.decode(raw, type=RampRequest), bytes(raw)) for raw in raws]


def not_this_way() -> list[Record[RampRequest]]:
    pytest.fail("the page was not read by column")


@settings(deadline=None)  # the first one loads libraries
@given(st.lists(item, max_size=5))
def test_both_ways_give_the_same_rows(items: list[dict]) -> None:
    items = [{k: v for k, v in one.items() if v != "None"} for one in items]
    result = encoder.encode(items)
    assert listed_rows(result, not_this_way).equals(record_rows(records(result)))


@pytest.mark.parametrize(
    "odd",
    [
        {"fiatCurrency": {"id": "1", "currency": "EUR"}},
        {"events": [{"eventType": "CREATED", "email": "a@b.test"}]},
        {"companyWallet": {"id": "w", "address": "0x1"}},
    ],
)
def test_a_page_with_more_than_flat_items_goes_the_way_of_all_records(odd: dict) -> None:
    result = encoder.encode([{"id": "1", "status": "SUCCEEDED"}, {"id": "2", **odd}])
    asked = []

    def read() -> list[Record[RampRequest]]:
        asked.append(True)
        return records(result)

    assert listed_rows(result, read).equals(record_rows(records(result)))
    assert asked


@pytest.mark.parametrize(
    "number", ["123456789012345678901234567890", "1e29", "0.1234567890123456789"]
)
def test_an_amount_that_cannot_be_stored_exactly_is_never_stored(number: str) -> None:
    result = b'[{"id": "1", "fiatAmount": %s}]' % number.encode()

    class Told(Exception):
        pass

    def read() -> list[Record[RampRequest]]:
        raise Told

    with pytest.raises(Told):
        listed_rows(result, read)


def test_all_digits_are_kept() -> None:
    result = b'[{"id": "1", "fiatAmount": 12345678901234567890.123456789012345678}]'
    (row,) = listed_rows(result, not_this_way).to_pylist()
    assert row["fiat_amount"] == Decimal("12345678901234567890.123456789012345678")


def test_every_field_of_the_contract_is_read_or_refused() -> None:
    names = {field.name for field in msgspec.structs.fields(RampRequest)}
    assert {field.name for field in msgspec.structs.fields(ListedRequest)} == names
    assert listed.__doc__
