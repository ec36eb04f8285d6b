"""Rows to look at: an Arrow table that shows itself safely and leaves as exact pandas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from treasury.money import format_amount
from treasury.reconcile.inputs import exact_pandas
from treasury.text import safe_html

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "cell", "shown"]

PREVIEW = 200


class Rows(msgspec.Struct, frozen=True, eq=False):
    """The rows of an answer. `arrow` holds them all; amounts are Decimals."""

    arrow: pa.Table

    def to_arrow(self) -> pa.Table:
        """The rows as Arrow."""
        return self.arrow

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame with exact Decimals."""
        return exact_pandas(self.arrow)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """What Polars, DuckDB and others take a table by: `polars.DataFrame(rows)`."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return self.arrow.to_pylist()

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.arrow.column_names)}>"

    def _repr_html_(self) -> str:
        names = self.arrow.column_names
        numeric = {f.name for f in self.arrow.schema if pa.types.is_decimal(f.type)}
        side = {name: "right" if name in numeric else "left" for name in names}

        def row(tag: str, texts: list[str]) -> str:
            cells = (
                f"<{tag} style='text-align:{side[name]}'>{safe_html(text)}</{tag}>"
                for name, text in zip(names, texts, strict=True)
            )
            return f"<tr>{''.join(cells)}</tr>"

        head = row("th", [name.replace("_", " ") for name in names])
        preview = self.arrow.slice(0, PREVIEW).to_pylist()
        body = "".join(row("td", [cell(values, name) for name in names]) for values in preview)
        more = len(self) - PREVIEW
        note = f"<p>{more:,} more rows: use .to_pandas()</p>" if more > 0 else ""
        # Jupyter must not take "$5 and $6" for mathematics.
        return (
            f"<div class='tex2jax_ignore' style='overflow-x:auto'><table>{head}{body}</table>"
            f"{note}</div>"
        )


CURRENCY_OF = {
    "amount": "currency",
    "matched_amount": "currency",
    "send": "currency",
    "opening_balance": "currency",
    "closing_balance": "currency",
    "fiat_gross": "fiat_currency",
    "fee": "fiat_currency",
    "fiat_net": "fiat_currency",
    "crypto": "crypto_currency",
    "fiat": "currency",
    "opening": "asset",
    "closing": "asset",
    "known_in": "asset",
    "known_out": "asset",
    "converted": "asset",
    "expected_fee": "fiat_currency",
    "variance": "fiat_currency",
    "fee_change": "fiat_currency",
}
"""The column that holds the currency of an amount's column."""


def cell(row: Mapping[str, Any], name: str) -> str:
    """A value of a row as a person reads it: an amount with its currency, an instant in UTC."""
    value = row[name]
    currency = row.get(CURRENCY_OF.get(name, ""))
    if isinstance(value, Decimal) and currency:
        return format_amount(value, currency)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    return shown(value)


def shown(value: object) -> str:
    """A value as text: a decimal with every digit it has and no idle zeros."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        whole, _, fraction = plain.partition(".")
        fraction = fraction.rstrip("0")
        return f"{whole}.{fraction.ljust(2, '0')}" if fraction or "." in plain else whole
    if isinstance(value, list):
        return " | ".join(shown(item) for item in value)
    return str(value)
