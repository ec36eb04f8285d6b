"""The provider's invoice compared with the fees that the service recorded, request by request.

VAT is kept separate, because only the invoice has it. Currencies are never added together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
import pyarrow as pa

from treasury.close.fees.fee_table import Fees
from treasury.close.result_words import amount_words, count
from treasury.core.money import difference, total
from treasury.core.tables.column_types import INTEGER, TEXT
from treasury.core.tables.csv_input import CsvColumn, CsvLine, amount, read_csv, text
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table

COLUMNS: Final = (
    CsvColumn("reference", text),
    CsvColumn("fee", amount),
    CsvColumn("currency", text),
    CsvColumn("vat", amount, required=False),
)
"""An invoice's columns; `reference` is a payment reference or a request's id."""

_LINES: Final = grouped_schema(
    (TEXT, "reference", "request_id"),
    (INTEGER, "line"),
    (TEXT, "currency"),
    (amount_in("currency"), "invoiced", "recorded", "difference", "vat"),
    (TEXT, "finding"),
)
_TOTALS: Final = grouped_schema(
    (TEXT, "currency"),
    (INTEGER, "requests"),
    (amount_in("currency"), "invoiced", "recorded", "difference", "vat"),
    (INTEGER, "open"),
)
_AGREES: Final = "agrees"
_MISSING: Final = "recorded, not on the invoice"
_STRANGE: Final = "on the invoice, but no such request was completed in these months"
_TWICE: Final = "on the invoice more than once"
_CURRENCY: Final = "recorded in another currency"
_NO_FEE: Final = "the service recorded no fee"


class Tied(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """An invoice compared with the recorded fees.

    `lines` has a row per invoice line, and per recorded fee without an invoice line. `invoiced`
    (without VAT), `recorded`, `difference` (invoiced less recorded) and `vat` are in `currency`.
    `totals` has a row per currency; `open` counts the lines that do not agree.
    """

    printed: ClassVar[Sequence[str]] = ("totals",)

    fiat_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "lines": ("invoiced", "recorded", "difference", "vat"),
        "totals": ("invoiced", "recorded", "difference", "vat"),
    }

    title: str
    lines: Table
    totals: Table
    sql: str = ""
    """The SQL of the recorded fees."""

    @property
    def agrees(self) -> bool:
        """Whether all invoice lines agree with recorded fees, and no recorded fee lacks a line."""
        return all(finding == _AGREES for finding in self.lines.arrow["finding"].to_pylist())

    def sheets(self) -> Mapping[str, Table]:
        """Return lines and totals by sheet name."""
        return {"Lines": self.lines, "Totals": self.totals}

    def __repr__(self) -> str:
        return f"<{self.title}>"


def tie_invoice(fees: Fees, path: Path) -> Tied:
    """Compare the invoice in the CSV file `path` with the recorded `fees`.

    The file has the columns reference, fee, currency and, optionally, vat. Raise InputError, naming
    the file and the line, if a line cannot be read.
    """
    # A payment reference that two requests share identifies neither of them.
    by_name: dict[str, Mapping[str, Any]] = {}
    twice: set[str] = set()
    for row in fees.rows:
        for name in filter(None, (row["reference"], row["request_id"])):
            key = _plain(name)
            twice |= {key} & by_name.keys()
            by_name[key] = row
    requests = {name: row for name, row in by_name.items() if name not in twice}
    invoiced: set[str] = set()
    rows = [_line(line, requests, invoiced) for line in read_csv(path, COLUMNS)]
    rows += [_missing(r) for r in fees.rows if r["request_id"] not in invoiced and r["fee"]]
    rows.sort(key=lambda row: (row["currency"], row["reference"], row.get("line") or 0))
    totals = _totals(rows)
    return Tied(
        title=f"Invoice against fees of {fees.months.title}: {_words(totals)}",
        lines=pa.Table.from_pylist(rows, schema=_LINES),
        totals=pa.Table.from_pylist(totals, schema=_TOTALS),
        sql=fees.sql,
    )


def _plain(name: str) -> str:
    return "".join(name.split()).upper()


def _line(
    line: CsvLine, requests: Mapping[str, Mapping[str, Any]], invoiced: set[str]
) -> dict[str, Any]:
    values = line.values
    currency = values["currency"].upper()
    recorded = requests.get(_plain(values["reference"]))
    request = recorded["request_id"] if recorded else None
    fee = recorded["fee"] if recorded and recorded["fiat_currency"] == currency else None
    row = {
        "reference": values["reference"],
        "request_id": request,
        "line": line.number,
        "currency": currency,
        "invoiced": values["fee"],
        "recorded": None if request in invoiced else fee,
        "vat": values["vat"],
    }
    row["difference"] = difference(values["fee"], row["recorded"] or Decimal())
    row["finding"] = _finding(recorded, row, again=request in invoiced)
    if recorded is not None and recorded["fiat_currency"] == currency:
        # A request invoiced in another currency still lacks an invoice line in its own currency.
        invoiced.add(recorded["request_id"])
    return row


def _finding(recorded: Mapping[str, Any] | None, row: Mapping[str, Any], *, again: bool) -> str:
    if recorded is None:
        return _STRANGE
    if again:
        return _TWICE
    if recorded["fiat_currency"] != row["currency"]:
        return _CURRENCY
    if recorded["fee"] is None:
        return _NO_FEE
    gap = row["difference"]
    if not gap:
        return _AGREES
    side = "more" if gap > 0 else "less"
    return f"{amount_words(gap.copy_abs(), row['currency'])} {side} than recorded"


def _missing(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "reference": row["reference"] or row["request_id"],
        "request_id": row["request_id"],
        "currency": row["fiat_currency"],
        "recorded": row["fee"],
        "difference": row["fee"].copy_negate(),
        "finding": _MISSING,
    }


def _totals(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "currency": currency,
            "requests": len(own),
            **{
                name: total(row.get(name) or Decimal() for row in own)
                for name in ("invoiced", "recorded", "difference", "vat")
            },
            "open": sum(row["finding"] != _AGREES for row in own),
        }
        for currency in sorted({row["currency"] for row in rows})
        for own in [[row for row in rows if row["currency"] == currency]]
    ]


def _words(totals: Sequence[Mapping[str, Any]]) -> str:
    parts = [
        f"{amount_words(row['invoiced'], row['currency'])} invoiced,"
        f" {amount_words(row['recorded'], row['currency'])} recorded,"
        f" VAT {amount_words(row['vat'], row['currency'])},"
        f" {count(row['open'], 'line')} to look at"
        for row in totals
    ]
    return " · ".join(parts) or "nothing on either side"
