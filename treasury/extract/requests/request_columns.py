"""Parses pages of ramp requests by column, so that a million requests take seconds.

Most list items are flat: they have only texts, numbers and times. Arrow parses pages of such items
into columns without losing digits, while other Python threads run. A page with anything else (a
currency as an object, events, a duplicate field, an unexpected value) is parsed record by record,
like other lists; that parser accepts the page or reports the error. Both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple, get_args, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from treasury.api.codec import Record, is_plain
from treasury.api.models import RampRequest
from treasury.api.models.model_base import LONGEST_ID
from treasury.core.statuses import REQUEST_FINAL
from treasury.core.tables.column_types import AMOUNT, BOOL, INSTANT, INTEGER, TEXT
from treasury.extract.ramp_tables import RAMP_REQUESTS, ReceivedRequest
from treasury.extract.record_rows import rows

_NEVER: Final = pa.null()
"""Type of the fields that a flat item lacks; Arrow refuses a page that has a value in one."""

_NUMBER: Final = pa.decimal256(76, 18)
"""Type in which an amount is parsed. Arrow's reader overflows without an error if a number has too
many digits. A number that overflows even this wide type becomes one that is still far too large, so
the cast to an amount refuses it.
"""

_TYPES: Final = {bool: BOOL, int: INTEGER, Decimal: _NUMBER, datetime: TEXT, str: TEXT}


_KINDS: Final = {
    name: (hint, *get_args(hint)) for name, hint in get_type_hints(RampRequest).items()
}
FLAT: Final = pa.schema(
    (
        field.encode_name,
        next((arrow for kind, arrow in _TYPES.items() if kind in _KINDS[field.name]), _NEVER),
    )
    for field in msgspec.structs.fields(RampRequest)
)
"""The schema of a flat list item, derived from `RampRequest` for fast parsing."""

_IDS: Final = (
    "fiat_currency_id",
    "crypto_currency_id",
    "company_wallet_id",
    "company_bank_account_id",
)
"""Fields with ids, in which an empty string means null."""

_FIELDS: Final = frozenset(FLAT.names)
_NAMES: Final = {field.encode_name: field.name for field in msgspec.structs.fields(RampRequest)}
"""Column names by the service's field names, for fields that have a column."""

_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?$"
_ZONED: Final = r"(Z|[+-]\d\d:\d\d)$"
_FIRST: Final = datetime(1, 1, 2, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 30, tzinfo=UTC)

_ROW: Final = RAMP_REQUESTS.table.row_schema
_raws: Final = msgspec.json.Decoder(list[msgspec.Raw])
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _NotFlat(Exception):
    """Raised for a page that is not flat, so that it has to be parsed record by record."""


_ListedPage = tuple[bytes, Callable[[], Sequence[Record[RampRequest]]]]
"""A page's JSON, and a function that parses its records one by one."""


class ListedRows(NamedTuple):
    """Rows from pages of the list; their `has_detail` is false."""

    table: pa.Table
    is_known: bool
    """True if no item can have a field that the model lacks."""


def listed_rows(pages: Sequence[_ListedPage]) -> ListedRows:
    """Return the rows for these pages of the list."""
    try:
        return _by_column([item for result, _ in pages for item in _raws.decode(result)])
    except (_NotFlat, msgspec.MsgspecError, RecursionError, pa.ArrowException):
        if len(pages) == 1:
            return record_rows(pages[0][1]())
        parts = [listed_rows([page]) for page in pages]
        table = pa.concat_tables([part.table for part in parts])
        return ListedRows(table, all(part.is_known for part in parts))


def record_rows(records: Sequence[Record[RampRequest]]) -> ListedRows:
    """Return the rows of records parsed one by one."""
    received = (ReceivedRequest(value=r.value, raw=r.raw, has_detail=False) for r in records)
    return ListedRows(rows(RAMP_REQUESTS, received), is_known=False)


def _by_column(items: list[msgspec.Raw]) -> ListedRows:
    if not items:
        raise _NotFlat
    # The received records are joined in one buffer; each must be a JSON object.
    ends = pc.cumulative_sum_checked(pa.array([0, *map(len, items)], pa.int32()))
    joined = b"".join(items)
    if not is_plain(joined, len(items)):
        raise _NotFlat
    buffers = [None, ends.buffers()[1], pa.py_buffer(joined)]
    raw = pa.Array.from_buffers(TEXT, len(items), buffers)
    # A null instead of a record crashes Arrow's reader.
    if not pc.all(pc.starts_with(raw, "{")).as_py():
        raise _NotFlat
    first = _members.decode(items[0])
    # Try the first record's fields first, because parsing absent columns takes time.
    some = frozenset(name for name, value in first.items() if bytes(value) != b"null")
    allowed = frozenset(first) if first.keys() <= _FIELDS else None
    try:
        parsed = _read(raw, _options(some & _FIELDS, allowed))
    # Another record has more fields, so all fields are parsed.
    except pa.ArrowInvalid:
        allowed = None
        parsed = _read(raw, _options(_FIELDS, allowed))
    filled = _converted(parsed)
    columns = [
        filled[field.name] if field.name in filled else _nulls(len(raw), field.type)
        for field in _ROW.remove(_ROW.get_field_index("raw"))
    ]
    table = pa.Table.from_arrays([*columns, raw], schema=_ROW)
    return ListedRows(table, is_known=allowed is not None)


def _read(raw: pa.Array, options: pyarrow.json.ParseOptions) -> pa.RecordBatch:
    """Parse the records into columns; raise ArrowInvalid for a field outside the options."""
    data = raw.buffers()[2]
    whole = pyarrow.json.ReadOptions(use_threads=False, block_size=data.size + 1)
    (batch,) = pyarrow.json.read_json(pa.BufferReader(data), whole, options).to_batches()
    if batch.num_rows != len(raw):
        raise _NotFlat
    return batch


@lru_cache(64)
def _options(some: frozenset[str], allowed: frozenset[str] | None) -> pyarrow.json.ParseOptions:
    """Return the parse options for `some` fields; any other field must be null.

    Fields outside `allowed` are refused. If `allowed` is None, unknown fields are ignored.
    """
    types = {
        field.name: field.type if field.name in some else _NEVER
        for field in FLAT
        if allowed is None or field.name in allowed
    }
    return pyarrow.json.ParseOptions(
        explicit_schema=pa.schema(types.items()),
        unexpected_field_behavior="ignore" if allowed is None else "error",
    )


def _converted(read: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the non-empty columns by name, with `is_open` and `has_detail`."""
    names = map(_NAMES.__getitem__, read.schema.names)
    filled = {
        name: _value(name, column)
        for name, column in zip(names, read.columns, strict=True)
        if column.null_count < read.num_rows
    }
    if "id" not in filled or filled["id"].null_count:
        raise _NotFlat
    status = filled.get("status", _nulls(read.num_rows, TEXT))
    filled["is_open"] = pc.invert(pc.is_in(status, value_set=pa.array(sorted(REQUEST_FINAL), TEXT)))
    filled["has_detail"] = pa.repeat(False, read.num_rows)
    return filled


def _value(name: str, column: pa.Array) -> pa.Array:
    if column.type == _NUMBER:
        return column.cast(AMOUNT)
    # A page with an id over the byte limit is left to the record-by-record parser, which counts
    # characters.
    is_id = name == "id" or name.endswith("_id")
    if is_id and pc.max(pc.binary_length(column)).as_py() > LONGEST_ID:
        raise _NotFlat
    if name != "created_at":
        return pc.if_else(pc.equal(column, ""), None, column) if name in _IDS else column
    # Only the formats that the model accepts are parsed; a time without a zone is UTC.
    if not pc.all(pc.match_substring_regex(column, _TIME)).as_py():
        raise _NotFlat
    if not pc.all(pc.ends_with(column, "Z")).as_py():
        zoned = pc.match_substring_regex(column, _ZONED)
        column = pc.if_else(zoned, column, pc.binary_join_element_wise(column, "Z", ""))
    instants = column.cast(INSTANT)
    least, most = pc.min_max(instants).values()
    if pc.less(least, _FIRST).as_py() or pc.greater(most, _LAST).as_py():
        raise _NotFlat
    return instants


@lru_cache(64)
def _nulls(count: int, kind: pa.DataType) -> pa.Array:
    return pa.nulls(count, kind)
