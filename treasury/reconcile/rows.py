"""Rows to look at: an Arrow table that shows itself safely and leaves as exact pandas."""

from __future__ import annotations

import html
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from treasury.reconcile.inputs import exact_pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "shown"]

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

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return self.arrow.to_pylist()

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.arrow.column_names)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col'>{_text(name)}</th>" for name in self.arrow.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_text(shown(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.arrow.slice(0, PREVIEW).to_pylist()
        )
        more = len(self) - PREVIEW
        note = f"<p>{more} more rows: use .to_pandas()</p>" if more > 0 else ""
        # Jupyter must not take "$5 and $6" for mathematics.
        return f"<div class='tex2jax_ignore'><table><tr>{head}</tr>{body}</table>{note}</div>"


def shown(value: object) -> str:
    """A value as a person reads it: a decimal with every digit it has and no idle zeros."""
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


def _text(value: str) -> str:
    return html.escape(value).replace("$", "&#36;")
