"""Pages parsed column by column give the same rows as pages parsed record by record."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.api import Record
from treasury.api.models import RampRequest
from treasury.extract.requests.request_columns import FLAT, ListedRows, listed_rows, record_rows

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
        "cryptoAmount": amount | amount.filter(lambda one: one is not None).map(str),
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


def expected_rows(result: bytes) -> pa.Table:
    return record_rows(records(result)).table


def unknown_fields(result: bytes) -> set[str]:
    return {name for one in msgspec.json.decode(result) for name in one} - {*FLAT.names}


def not_this_way() -> list[Record[RampRequest]]:
    pytest.fail("the page was not read by column")


@pytest.mark.acceptance
# The first example loads libraries, so there is no deadline.
@settings(deadline=None)
@given(st.lists(item, min_size=1, max_size=5))
def test_both_parsers_give_the_same_rows(items: list[dict]) -> None:
    result = encoder.encode(items)
    assert listed_rows([(result, not_this_way)]).table.equals(expected_rows(result))


@pytest.mark.acceptance
@settings(deadline=None)
@given(st.lists(st.lists(item, max_size=3), min_size=2, max_size=4))
def test_pages_parsed_together_give_the_rows_of_each(pages: list[list[dict]]) -> None:
    results = [encoder.encode(items) for items in pages]
    told = listed_rows([(result, partial(records, result)) for result in results])
    expected = pa.concat_tables([expected_rows(result) for result in results])
    assert told.table.combine_chunks().equals(expected.combine_chunks())


def test_a_page_that_is_not_flat_does_not_affect_the_others() -> None:
    flat = encoder.encode([{"id": "1", "status": "SUCCEEDED"}])
    other = encoder.encode([{"id": "2", "fiatCurrency": {"id": "3", "currency": "EUR"}}])
    told = listed_rows([(flat, not_this_way), (other, partial(records, other))])
    assert told.table["fiat_currency"].to_pylist() == [None, "EUR"]


@pytest.mark.parametrize("places", [(0,), (1,), (0, 1)])
def test_rows_without_unknown_fields_are_marked_as_such(
    places: tuple[int, ...],
) -> None:
    items = [{"id": "1", "status": "SUCCEEDED"}, {"id": "2", "status": "SUCCEEDED"}]
    assert listed_rows([(encoder.encode(items), not_this_way)]).is_known
    for place in places:
        items[place]["settledBy"] = "batch"
    assert not listed_rows([(encoder.encode(items), not_this_way)]).is_known


odd_amounts = st.from_regex(
    r"[-+]?[0-9]{0,22}\.?[0-9]{0,20}([eE][-+]?[0-9]{1,3})?|-?[1-9][0-9]{18,90}([eE][0-9]{1,2})?",
    fullmatch=True,
)
odd_times = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9](\.[0-9]{0,8})?)?)?)?"
    r"(Z|[+-][0-2][0-9](:?[0-5][0-9])?)?",
    fullmatch=True,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | odd_amounts | odd_times,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
members = st.lists(
    st.tuples(
        st.sampled_from([*FLAT.names, "unknown"]), anything.map(encoder.encode) | odd_amounts
    ),
    max_size=6,
)


def as_json(fields: list[tuple[str, bytes | str]]) -> bytes:
    texts = [v.encode() if isinstance(v, str) else v for _, v in fields]
    pairs = zip((name for name, _ in fields), texts, strict=True)
    return b"{" + b", ".join(b'"%s": %s' % (name.encode(), text) for name, text in pairs) + b"}"


def outcome(read: Callable[[], ListedRows]) -> ListedRows | type[Exception]:
    try:
        return read()
    except (msgspec.MsgspecError, pa.ArrowException, OverflowError, UnicodeDecodeError) as error:
        return type(error)


@pytest.mark.acceptance
@settings(max_examples=400)
@given(st.lists(members | st.none(), max_size=3))
def test_both_parsers_give_the_same_rows_or_the_same_error(items: list[Any]) -> None:
    texts = [b"null" if one is None else as_json([("id", b'"1"'), *one]) for one in items]
    result = b"[" + b", ".join(texts) + b"]"
    told = outcome(lambda: listed_rows([(result, lambda: records(result))]))
    expected = outcome(lambda: record_rows(records(result)))
    if isinstance(expected, type):
        assert told == expected
        return
    assert told.table.equals(expected.table)
    assert not (told.is_known and unknown_fields(result))


@pytest.mark.parametrize(
    "result",
    [
        b"[null]",
        b"[[]]",
        b'[{"id": "1"}, null]',
        b'[{"id": "1", "status": "\\udc00"}]',
        b'[{"id": null}]',
        b"[{}]",
        b'[{"id": "1", "createdAt": "2026-10-01"}]',
        b'[{"id": "1", "createdAt": "9999-12-31T23:59:59-10:00"}]',
        b'[{"id": "1", "version": 1.0}]',
        b'[{"id": "1", "unknown": NaN}]',
        b'[{"id": "1", "status": 5}]',
    ],
)
def test_input_outside_the_contract_is_never_parsed_by_column(result: bytes) -> None:
    class Told(Exception):
        pass

    def read() -> list[Record[RampRequest]]:
        raise Told

    with pytest.raises(Told):
        listed_rows([(result, read)])


def test_the_last_of_two_equal_fields_counts() -> None:
    result = b'[{"id": "1", "status": "NEW", "status": "SUCCEEDED"}]'
    (row,) = listed_rows([(result, lambda: records(result))]).table.to_pylist()
    assert (row["status"], row["is_open"]) == ("SUCCEEDED", False)


@pytest.mark.parametrize(
    "odd",
    [
        {"fiatCurrency": {"id": "1", "currency": "EUR"}},
        {"events": [{"eventType": "CREATED", "email": "a@b.test"}]},
        {"companyWallet": {"id": "w", "address": "0x1"}},
    ],
)
def test_a_page_with_more_than_flat_items_is_parsed_record_by_record(odd: dict) -> None:
    result = encoder.encode([{"id": "1", "status": "SUCCEEDED"}, {"id": "2", **odd}])
    asked = []

    def read() -> list[Record[RampRequest]]:
        asked.append(True)
        return records(result)

    assert listed_rows([(result, read)]).table.equals(expected_rows(result))
    assert asked


@pytest.mark.parametrize(
    "number",
    [
        "123456789012345678901234567890",
        "100000000000000000000",
        "1e20",
        "-1e29",
        "1e75",
        "0.1234567890123456789",
        "1e-19",
        # Multiplied by 10**18, this number is 0 in 256 bits.
        str(2**238),
        str(2**238 * 3),
        str(2**240 + 2**238),
        str(-(2**246)),
        f'"{2**238 * 12345}"',
    ],
)
def test_an_inexact_amount_is_never_stored(number: str) -> None:
    result = b'[{"id": "1", "fiatAmount": %s}]' % number.encode()

    class Told(Exception):
        pass

    def read() -> list[Record[RampRequest]]:
        raise Told

    with pytest.raises(Told):
        listed_rows([(result, read)])


def test_all_digits_are_kept() -> None:
    result = b'[{"id": "1", "fiatAmount": 12345678901234567890.123456789012345678}]'
    (row,) = listed_rows([(result, not_this_way)]).table.to_pylist()
    assert row["fiat_amount"] == Decimal("12345678901234567890.123456789012345678")


def test_every_field_of_the_contract_is_read_or_refused() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(RampRequest)}
    assert set(FLAT.names) == fields
