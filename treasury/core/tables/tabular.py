"""Tabular answers show themselves in a notebook, become pandas and go to Excel.

A result says which tables it is made of, the first of all first; the rest is the same for all.
Amounts stay exact, and outside text stays text wherever it goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.money import format_amount, plain_digits
from treasury.core.tables.counted_tables import CountedTables
from treasury.core.text import clean, safe_html
from treasury.core.wording import in_words, instant_words

if TYPE_CHECKING:
    import pandas as pd

_PREVIEW: Final = 200
"""Rows of a table that a notebook shows."""
_BATCH: Final = 10_000
"""Rows that are hashed together."""
_PLAIN: Final = "^[!-~·]+( [!-~·]+)*$"
"""A text that is clean: visible characters with one space between words."""


class Tabular(CountedTables):
    """A result made of tables. Those who are one say `sheets`, and `sql`: the query behind."""

    __slots__ = ()

    def sheets(self) -> Mapping[str, pa.Table]:
        """Each table by the name of its sheet in Excel, the one that stands for all first."""
        raise NotImplementedError

    def time_zone(self) -> ZoneInfo | None:
        """The zone in which instants are shown; None where they are shown in UTC."""
        return None

    def to_arrow(self) -> pa.Table:
        """The first table, as Arrow."""
        return next(iter(self.sheets().values()))

    def to_pandas(self) -> pd.DataFrame:
        """The first table as a DataFrame with exact Decimals."""
        return exact_pandas(self.to_arrow())

    def to_excel(self, path: str | Path) -> Path:
        """Write every table as a sheet of one workbook; text stays text, digits are never lost.

        StorageError where it cannot be written, InputError where a table is longer than a sheet;
        then a former file stays as it was.
        """
        # Imported here: who only looks at rows needs no Excel.
        from treasury.core.tables.workbook import write_tables

        return write_tables(Path(path), self.sheets(), units_of)

    def _repr_html_(self) -> str:
        lines = (safe_html(line) for line in str(self).strip("<>").splitlines())
        zone = self.time_zone()
        tables = (html_table(table, zone) for table in self.sheets().values() if table.num_rows)
        return f"<p class='tex2jax_ignore'>{'<br>'.join(lines)}</p>" + "".join(tables)


def exact_pandas(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as pandas: Decimals stay Decimals, and an integer beside a null an integer.

    A Decimal has the digits that say something, and two decimals at least: `14000.00`.
    """
    import pandas as pd

    integers = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=integers.get)
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            values = table.column(at).to_pylist()
            frame.isetitem(
                at, [None if amount is None else Decimal(value_text(amount)) for amount in values]
            )
    return frame


def in_zone(table: pa.Table, zone: ZoneInfo | None) -> pa.Table:
    """The table with its instants in a time zone; they stay the instants that they are."""
    if zone is None:
        return table
    fields = [
        pa.field(field.name, pa.timestamp(field.type.unit, tz=zone.key))
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def html_table(table: pa.Table, zone: ZoneInfo | None = None, *, as_stored: bool = False) -> str:
    """The first rows of a table as HTML in which no outside text is markup.

    Instants are shown in `zone`; `as_stored` leaves values as a query would name them.
    """
    names = table.column_names
    style = {}
    for field in table.schema:  # amounts stand below each other; an amount or a date is unbroken
        is_amount = pa.types.is_decimal(field.type)
        unbroken = is_amount or pa.types.is_temporal(field.type)
        style[field.name] = (
            f"text-align:{'right' if is_amount else 'left'}{';white-space:nowrap' * unbroken}"
        )

    def row(tag: str, texts: list[str]) -> str:
        cells = (
            f"<{tag} style='{style[name]}'>{safe_html(text)}</{tag}>"
            for name, text in zip(names, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = row("th", [name.replace("_", " ") for name in names])
    preview = in_zone(table.slice(0, _PREVIEW), zone).to_pylist()
    body = "".join(
        row("td", [cell(values, name, as_stored=as_stored) for name in names]) for values in preview
    )
    more = table.num_rows - _PREVIEW
    note = f"<p>{more:,} more rows: use .to_pandas()</p>" if more > 0 else ""
    # Jupyter must not take "$5 and $6" for mathematics.
    return (
        f"<div class='tex2jax_ignore' style='overflow-x:auto'><table>{head}{body}</table>"
        f"{note}</div>"
    )


_OWN: Final = (
    "amount", "accepted_amount", "matched_amount", "send", "opening_balance", "closing_balance",
    "fiat", "balance", "in_transit_in", "in_transit_out", "expected", "ledger", "difference",
    "invoiced", "recorded", "vat", "money_in", "money_out", "fees", "unexplained", "in_doubt",
    "undecided", "cleared", "peak", "limit", "above_limit",
    "new", "matched", "reopened", "cancelled", "blocked", "adjusted", "standing_blocked",
    "report", "journal", "roll_forward",
)  # fmt: skip
_FIAT: Final = ("fiat_gross", "fee", "fiat_net", "expected_fee", "variance", "fee_change")
_VALUED: Final = (
    "given_value", "received_value", "cost", "stated_fee", "reference_difference", "gas_value",
)  # fmt: skip
_ASSET: Final = ("known_in", "known_out", "converted")
CURRENCY_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(_OWN, ("currency",)),
    **dict.fromkeys(_FIAT, ("fiat_currency",)),
    **dict.fromkeys(_ASSET, ("asset",)),
    **dict.fromkeys(("opening", "closing"), ("asset", "currency")),
    "value": ("value_currency",),
    "gas": ("coin", "currency"),
    "crypto": ("crypto_currency",),
    "given": ("given_currency",),
    "received": ("received_currency",),
    **dict.fromkeys(_VALUED, ("value_currency",)),
}
"""The column that holds the currency of an amount's column: the first of these that is there."""


def units_of(names: Collection[str]) -> dict[str, str]:
    """Of these columns of a table, those of amounts with the column that holds their currency."""
    return {
        # The last word is the first of them.
        name: unit
        for name in names
        for unit in reversed(CURRENCY_OF.get(name, ()))
        if unit in names
    }


def cell(row: Mapping[str, Any], name: str, *, as_stored: bool = False) -> str:
    """A value of a row as a person reads it: in words, with its currency, with its time zone."""
    value = row[name]
    unit = next((unit for unit in CURRENCY_OF.get(name, ()) if unit in row), "")
    currency = row.get(unit)
    if isinstance(value, Decimal) and currency:
        return format_amount(value, currency)
    if isinstance(value, datetime):
        return instant_words(value)
    return value_text(value if as_stored else in_words(name, value))


def column_texts(column: pa.ChunkedArray) -> list[str]:
    """`value_text` of each value of a column."""
    if pa.types.is_string(column.type):
        texts = column
    elif pa.types.is_decimal(column.type):
        texts = amount_texts(column)
    else:
        return [value_text(value) for value in column.to_pylist()]
    shown_texts: list[str] = pc.fill_null(texts, "").to_pylist()
    return shown_texts


def rows_hash(table: pa.Table) -> str:
    """SHA-256 of a table's rows as one JSON list, each value as its `value_text`."""
    digest = hashlib.sha256(b"[")
    for start in range(0, table.num_rows, _BATCH):
        columns = map(column_texts, table.slice(start, _BATCH).columns)
        rows = msgspec.json.encode(list(zip(*columns, strict=True)))
        digest.update(b"," * bool(start) + rows[1:-1])
    digest.update(b"]")
    return digest.hexdigest()


def amount_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """`value_text` of each decimal of a column, none where there is none."""
    plain = plain_amounts(column)
    if column.type.scale <= 0:
        return plain
    point = pc.find_substring(plain, ".")
    has_one_decimal = pc.equal(pc.subtract(pc.binary_length(plain), point), 2)
    lacking = pc.if_else(pc.less(point, 0), ".00", pc.if_else(has_one_decimal, "0", ""))
    return pc.binary_join_element_wise(plain, lacking, "")


def wide(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Amounts in a type in which no sum of them is too large."""
    return amounts.cast(pa.decimal256(76, amounts.type.scale))


def distinct_rows(table: pa.Table, names: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """The rows that differ in these columns, how many there are of each, and each row's place.

    The first table has `names` and `count`; the places say for each row of `table` which it is.
    """
    numbered = table.select(names).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    wanted = [("row", "count"), ("row", "list")]
    groups = numbered.group_by(names, use_threads=False).aggregate(wanted).combine_chunks()
    rows = groups["row_list"].combine_chunks()
    places = pc.list_parent_indices(rows).take(pc.sort_indices(rows.flatten()))
    return groups.select([*names, "row_count"]).rename_columns([*names, "count"]), places


def clean_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """`text.clean` of each text of a column; most are plain already, and stay as they are."""
    texts = column.combine_chunks()
    is_other = pc.fill_null(pc.invert(pc.match_substring_regex(texts, _PLAIN)), False)
    cleaned = pa.array(map(clean, texts.filter(is_other).to_pylist()), pa.string())
    return pa.chunked_array([pc.replace_with_mask(texts, is_other, cleaned)])


def plain_amounts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """`money.plain_digits` of each decimal of a column, as a column of texts."""
    texts = column.cast(pa.string()).combine_chunks()
    if column.type.scale > 0:
        texts = pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
    # So Arrow writes zero, and what is very small.
    texts = pc.if_else(pc.starts_with(texts, "0E"), "0", texts)
    if b"E" in in_one(pc.fill_null(texts, "")):
        is_scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
        values = column.filter(is_scientific).to_pylist()
        texts = pc.replace_with_mask(
            texts, is_scientific, pa.array(map(plain_digits, values), pa.string())
        )
    return pa.chunked_array([texts])


def in_one(texts: pa.Array, between: str = "") -> bytes:
    """Texts, of which none is null, one after another in UTF-8."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    joined: bytes = pc.binary_join(whole, between)[0].as_buffer().to_pybytes()
    return joined


def value_text(value: object) -> str:
    """A value as text: a decimal with every digit it has and no idle zeros."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        whole, _, fraction = plain.partition(".")
        fraction = fraction.rstrip("0")
        return f"{whole}.{fraction.ljust(2, '0')}" if fraction or "." in plain else whole
    if isinstance(value, list):
        return " | ".join(value_text(item) for item in value)
    return str(value)
