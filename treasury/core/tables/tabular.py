"""Tabular answers show themselves in a notebook, become pandas and go to Excel.

A result says which tables it is made of, the first of all first; the rest is the same for all.
Amounts stay exact, and outside text stays text wherever it goes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.core.money import format_amount
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.counted_tables import CountedTables
from treasury.core.text import safe_html
from treasury.core.wording import in_words, instant_words

if TYPE_CHECKING:
    import pandas as pd

_PREVIEW: Final = 200
"""Rows of a table that a notebook shows."""


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
