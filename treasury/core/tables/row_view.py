"""Rows to look at: an Arrow table that shows itself safely and leaves as exact pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.tables.tabular import Tabular, html_table


class Rows(Tabular, msgspec.Struct, frozen=True, eq=False):
    """The rows of an answer. `arrow` holds them all; amounts are Decimals.

    `sql` is the query that was run for them; empty where they are not what a query gave. Instants
    are shown in `zone`; rows `as_stored` are shown in the words that a query names them by.
    """

    arrow: pa.Table
    sql: str = ""
    zone: ZoneInfo | None = None
    as_stored: bool = False

    def sheets(self) -> Mapping[str, pa.Table]:
        """The rows."""
        return {"Rows": self.arrow}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow stream that Polars, DuckDB and others read: `polars.DataFrame(rows)`."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return self.arrow.to_pylist()

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.arrow.column_names)}>"

    def _repr_html_(self) -> str:
        return html_table(self.arrow, self.zone, as_stored=self.as_stored)
