"""Pages of ramp requests, column by column: what makes a list of a million readable in seconds.

Most list items are flat: text, numbers, times. They are decoded into a struct without any code of
its own and turned into Arrow by column; no row is handled by itself. A page that holds anything
else (a currency as an object, events, an amount that cannot be stored) goes the way of every other
record, which says what is wrong or takes it as it is. Both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api import Record
from treasury.api.models import RampRequest
from treasury.extract.ramp import RAMP_FINAL, RAMP_REQUESTS, FoundRequest
from treasury.extract.rows import rows

__all__ = ["ListedRequest", "listed_rows", "record_rows"]


class ListedRequest(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A list item that is flat; `RampRequest` is the contract, this is the quick way to read it.

    A field that a flat item does not have is of type None: where it comes all the same, the page is
    not read this way.
    """

    id: str
    payment_reference: str | None = None
    ramp_type: str | None = None
    status: str | None = None
    amount: Decimal | None = None
    fiat_amount: Decimal | None = None
    fiat_net_amount: Decimal | None = None
    fiat_fee_amount: Decimal | None = None
    crypto_amount: Decimal | None = None
    exchange_rate: Decimal | None = None
    fee_percentage: Decimal | None = None
    payment_received: bool | None = None
    amount_received: Decimal | None = None
    blockchain_transaction_hash: str | None = None
    fiat_currency: str | None = None
    fiat_currency_id: str | None = None
    crypto_currency: str | None = None
    crypto_currency_id: str | None = None
    company_id: str | None = None
    company_wallet_id: str | None = None
    company_bank_account_id: str | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    version: int | None = None
    company_wallet: None = None
    company_bank_account: None = None
    deposit_bank_account: None = None
    deposit_wallet: None = None
    events: None = None


_FLAT: Final = tuple(
    field.name for field in msgspec.structs.fields(ListedRequest) if field.type is not type(None)
)
_IDS: Final = (
    "fiat_currency_id",
    "crypto_currency_id",
    "company_wallet_id",
    "company_bank_account_id",
)
"""An empty id is none."""

_items: Final = msgspec.json.Decoder(list[ListedRequest])
_raws: Final = msgspec.json.Decoder(list[msgspec.Raw])


Read = Callable[[], Sequence[Record[RampRequest]]]


def listed_rows(result: bytes, read: Read) -> pa.Table:
    """The rows of a page of the list, `has_detail` false; `read` reads its records one by one."""
    try:
        return _by_column(result)
    except (msgspec.MsgspecError, UnicodeDecodeError, pa.ArrowException):
        return record_rows(read())


def record_rows(records: Sequence[Record[RampRequest]]) -> pa.Table:
    """The same rows from records."""
    found = (FoundRequest(value=r.value, raw=r.raw, has_detail=False) for r in records)
    return rows(RAMP_REQUESTS, found)


def _by_column(result: bytes) -> pa.Table:
    items = _items.decode(result)
    known = {name: list(map(attrgetter(name), items)) for name in _FLAT}
    known |= {name: [given or None for given in known[name]] for name in _IDS}
    status = pa.array(known["status"], pa.string())
    derived = {
        "is_open": pc.invert(pc.is_in(status, value_set=pa.array(sorted(RAMP_FINAL)))),
        "has_detail": pa.array([False] * len(items)),
    }
    columns = [
        derived[column.name]
        if column.name in derived
        else pa.array(known[column.name], column.type)
        if column.name in known
        else pa.nulls(len(items), column.type)
        for column in RAMP_REQUESTS.table.columns
    ]
    raw = pa.array([str(item, "utf-8") for item in _raws.decode(result)], pa.string())
    return pa.Table.from_arrays([*columns, raw], schema=RAMP_REQUESTS.table.row_schema)
