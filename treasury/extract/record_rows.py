"""Converts received records to table rows, as declared by a form.

A form declares a table of the lake, and how each column gets its value from a record: by a path
through the model (`deposit_bank_account.iban`, null if a part is missing), or by a function. The
form also declares how to fetch the records. Small tables are fetched completely at every sync, so
that vanished records can be marked. Transfers and ramp requests grow without limit and have their
own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Record
from treasury.core.decoding import decode_json
from treasury.core.tables.column_types import AMOUNT, BOOL, INSTANT, INTEGER, TEXT, TEXTS, Column
from treasury.core.text import camel_case
from treasury.lake import Table

if TYPE_CHECKING:
    from treasury.api import Client

_Take = Callable[[Any], Any]


class ReceivedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A received record: as a model, as bytes, and with the account whose list it came from."""

    value: Any
    raw: bytes
    account_id: str | None = None


Received = Record[Any] | ReceivedRecord


class Whole(msgspec.Struct, frozen=True):
    """A table filled from one list; `detail` fetches a record if its list item `lacks` values."""

    ask: Callable[[Client], Iterable[Received]]
    detail: Callable[[Client, str], Record[Any]] | None = None
    lacks: Callable[[Any], bool] = lambda _value: True


class PerAccount(msgspec.Struct, frozen=True):
    """A table filled from one list per account."""

    ask: Callable[[Client, str], Iterable[Record[Any]]]


class RecordField(msgspec.Struct, frozen=True):
    """A column and the source of its value; `Column` describes meaning and unit.

    `take` is a path through the model, or a function of the received record.
    """

    name: str
    type: pa.DataType
    take: str | _Take
    meaning: str
    source: str = ""
    """The service's name of the field, if `take` is not a path to it."""
    unit: str = ""


def _fields_of(kind: pa.DataType) -> Callable[..., RecordField]:
    """Return a function that declares columns of one type; by default, name and path are equal."""

    def declared(
        name: str, meaning: str, take: str | _Take = "", source: str = "", unit: str = ""
    ) -> RecordField:
        return RecordField(name, kind, take or name, meaning, source, unit)

    return declared


text, texts, amount = _fields_of(TEXT), _fields_of(TEXTS), _fields_of(AMOUNT)
instant, integer, flag = _fields_of(INSTANT), _fields_of(INTEGER), _fields_of(BOOL)


class Form(msgspec.Struct, frozen=True):
    """A table of the lake, with the sources of its records and columns."""

    table: Table
    takes: tuple[_Take, ...]
    source: Whole | PerAccount | None = None
    """None if the table is filled by another module, or from another table's records."""
    model: type[Any] | None = None
    """The type that parses a record. A field that the type does not know is reported as new, unless
    it is in `unread`.
    """
    unread: frozenset[str] = frozenset()
    """Known fields that are stored only in `raw`."""


def form(
    name: str,
    record: str,
    *fields: RecordField,
    key: tuple[str, ...] = ("id",),
    title: str,
    source: Whole | PerAccount | None = None,
    settles: bool = False,
    observations: bool = False,
    volatile: tuple[str, ...] = (),
    model: type[Any] | None = None,
    unread: tuple[str, ...] = (),
) -> Form:
    """Declare a table's form; `record` is the specification's heading above its fields.

    `model` parses stored records again when a new column is declared. `unread` lists fields that
    the model lacks on purpose, so that they are not reported as new.
    """
    takes = {field.name: (field.type, _taker(field.take)) for field in fields}
    paths = {field.name for field in fields if isinstance(field.take, str)}

    def reread(names: Sequence[str], raws: Sequence[str]) -> dict[str, pa.Array]:
        """Return the columns whose source is a path in the record."""
        readable = [name for name in names if name in paths]
        if model is None or not readable:
            return {}
        records = [ReceivedRecord(value=decode_json(raw, model), raw=b"") for raw in raws]
        return {
            name: pa.array([takes[name][1](record) for record in records], takes[name][0])
            for name in readable
        }

    table = Table(
        name=name,
        columns=tuple(
            Column(field.name, field.type, field.meaning, _source(record, field), field.unit)
            for field in fields
        ),
        key=key,
        settles=settles,
        kind="observations" if observations else "records",
        title=title,
        volatile=volatile,
        reread=reread,
    )
    return Form(
        table,
        tuple(_taker(field.take) for field in fields),
        source,
        model,
        frozenset((*volatile, *unread)),
    )


def forms(module: Mapping[str, object]) -> tuple[Form, ...]:
    """Return a module's forms in declaration order; pass the module's `globals()`."""
    return tuple(value for value in module.values() if isinstance(value, Form))


def rows(form: Form, records: Iterable[Received]) -> pa.Table:
    """Return a table with one row per record: its declared columns, and `raw` as received."""
    listed = list(records)
    columns = [
        pa.array([take(record) for record in listed], column.type)
        for column, take in zip(form.table.columns, form.takes, strict=True)
    ]
    raw = pa.array([record.raw.decode() for record in listed], pa.string())
    return pa.Table.from_arrays([*columns, raw], schema=form.table.row_schema)


def first_of_each(table: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """Return the first row of each key."""
    if len(key) == 1 and len(pc.unique(table[key[0]])) == table.num_rows:
        return table
    place = pa.array(range(table.num_rows), pa.int64())
    keyed = table.select(list(key)).append_column("place", place)
    firsts = keyed.group_by(list(key), use_threads=False).aggregate([("place", "min")])
    return table.take(firsts["place_min"].sort())


def _taker(take: str | _Take) -> _Take:
    if not isinstance(take, str):
        return take
    steps = ("value", *take.split("."))

    def follow(record: ReceivedRecord) -> Any:
        value: Any = record
        for step in steps:
            value = getattr(value, step, None)
        return value

    return follow


def _source(record: str, field: RecordField) -> str:
    path = field.source
    if not path and isinstance(field.take, str):
        path = ".".join(map(camel_case, field.take.split(".")))
    return f"{record}.{path}" if path else ""
