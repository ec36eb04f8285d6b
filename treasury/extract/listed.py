"""Pages of ramp requests, column by column: what makes a list of a million readable in seconds.

Most list items are flat: text, numbers, times. Arrow reads such a page into columns by itself,
exact to the digit, while other threads go on; no row is handled in Python. A page that holds
anything else (a currency as an object, events, a field twice, a value that is not the contract's)
goes the way of every other record, which says what is wrong or takes it as it is. Both ways give
the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from treasury.api import Record
from treasury.api.models import RampRequest
from treasury.extract.ramp import RAMP_FINAL, RAMP_REQUESTS, FoundRequest
from treasury.extract.rows import rows
from treasury.lake import AMOUNT, BOOL, INSTANT, INTEGER, TEXT

__all__ = ["FLAT", "listed_rows", "record_rows"]

NEVER: Final = pa.null()
"""The type of what a flat item does not have: where it comes all the same, Arrow refuses it."""

NUMBER: Final = pa.decimal256(76, 18)
"""What an amount is read as. Arrow's reader lets a number of too many digits run over unnoticed;
one that runs over here is beyond the range of an amount whatever becomes of it, and the cast to an
amount refuses it."""

FLAT: Final = pa.schema(
    {
        "id": TEXT,
        "paymentReference": TEXT,
        "rampType": TEXT,
        "status": TEXT,
        "amount": NUMBER,
        "fiatAmount": NUMBER,
        "fiatNetAmount": NUMBER,
        "fiatFeeAmount": NUMBER,
        "cryptoAmount": NUMBER,
        "exchangeRate": NUMBER,
        "feePercentage": NUMBER,
        "paymentReceived": BOOL,
        "amountReceived": NUMBER,
        "blockchainTransactionHash": TEXT,
        "fiatCurrency": TEXT,
        "fiatCurrencyId": TEXT,
        "cryptoCurrency": TEXT,
        "cryptoCurrencyId": TEXT,
        "companyId": TEXT,
        "companyWalletId": TEXT,
        "companyBankAccountId": TEXT,
        "createdAt": TEXT,
        "createdBy": TEXT,
        "version": INTEGER,
        "companyWallet": NEVER,
        "companyBankAccount": NEVER,
        "depositBankAccount": NEVER,
        "depositWallet": NEVER,
        "events": NEVER,
    }.items()
)
"""A list item that is flat; `RampRequest` is the contract, this is the quick way to read it."""

_IDS: Final = (
    "fiat_currency_id",
    "crypto_currency_id",
    "company_wallet_id",
    "company_bank_account_id",
)
"""An empty id is none."""

_COLUMNS: Final = {
    field.name: field.encode_name
    for field in msgspec.structs.fields(RampRequest)
    if FLAT.field(field.encode_name).type != NEVER
}
"""The columns that a flat item fills, and the field of each."""

_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?$"
_ZONED: Final = r"(Z|[+-]\d\d:\d\d)$"
_FIRST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 30, tzinfo=UTC)

_flat: Final = pyarrow.json.ParseOptions(explicit_schema=FLAT, unexpected_field_behavior="ignore")
_ROW: Final = RAMP_REQUESTS.table.row_schema
_raws: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _NotFlat(Exception):
    """The page holds something that only the way of every other record can judge."""


Read = Callable[[], Sequence[Record[RampRequest]]]


def listed_rows(result: bytes, read: Read) -> pa.Table:
    """The rows of a page of the list, `has_detail` false; `read` reads its records one by one."""
    try:
        return _by_column(result)
    except (_NotFlat, msgspec.MsgspecError, pa.ArrowException):
        return record_rows(read())


def record_rows(records: Sequence[Record[RampRequest]]) -> pa.Table:
    """The same rows from records."""
    found = (FoundRequest(value=r.value, raw=r.raw, has_detail=False) for r in records)
    return rows(RAMP_REQUESTS, found)


def _by_column(result: bytes) -> pa.Table:
    raw = _raw(result)
    known = _read(raw)
    count = len(raw)
    known["is_open"] = pc.invert(pc.is_in(known["status"], value_set=_final()))
    known["has_detail"] = pa.repeat(pa.scalar(False), count)
    known["raw"] = raw
    columns = [
        known[field.name] if field.name in known else pa.nulls(count, field.type) for field in _ROW
    ]
    return pa.Table.from_arrays(columns, schema=_ROW)


@cache
def _final() -> pa.Array:
    return pa.array(sorted(RAMP_FINAL), TEXT)


def _raw(result: bytes) -> pa.Array:
    """The records as received, side by side in one buffer; all of them are JSON objects."""
    items = _raws.decode(result)
    if not items:
        raise _NotFlat
    ends = pc.cumulative_sum(pa.array([0, *map(len, items)], pa.int32()))
    data = pa.py_buffer(b"".join(items))
    raw = pa.Array.from_buffers(TEXT, len(items), [None, ends.buffers()[1], data])
    if not pc.all(
        pc.starts_with(raw, "{")
    ).as_py():  # for a null Arrow's reader has been seen to crash
        raise _NotFlat
    return raw


def _read(raw: pa.Array) -> dict[str, pa.Array]:
    """The fields of the records by the names of their columns."""
    data = raw.buffers()[2]
    whole = pyarrow.json.ReadOptions(use_threads=False, block_size=data.size + 1)
    table = pyarrow.json.read_json(pa.BufferReader(data), whole, _flat)
    known = {name: table[field].combine_chunks() for name, field in _COLUMNS.items()}
    if table.num_rows != len(raw) or known["id"].null_count:
        raise _NotFlat
    known["created_at"] = _instants(known["created_at"])
    for name, column in known.items():
        if column.type == NUMBER:
            empty = column.null_count == len(raw)
            known[name] = pa.nulls(len(raw), AMOUNT) if empty else column.cast(AMOUNT)
        elif name in _IDS and column.null_count < len(raw):
            known[name] = pc.if_else(pc.equal(column, ""), pa.scalar(None, TEXT), column)
    return known


def _instants(texts: pa.Array) -> pa.Array:
    """Times as instants, one without a zone as UTC; no other form than the model reads."""
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), INSTANT)
    if not pc.all(pc.match_substring_regex(texts, _TIME)).as_py():
        raise _NotFlat
    zoned = pc.match_substring_regex(texts, _ZONED)
    if not pc.all(zoned).as_py():
        texts = pc.if_else(zoned, texts, pc.binary_join_element_wise(texts, "Z", ""))
    instants = texts.cast(INSTANT)
    least, most = pc.min_max(instants).values()
    if pc.less(least, _FIRST).as_py() or pc.greater(most, _LAST).as_py():
        raise _NotFlat
    return instants
