"""Fees of the requests that completed in a month, each in its own currency, with the rate it means.

Amounts are as the service recorded them. The effective rate is computed here, from exact decimals:
the fee over the gross amount of the requests whose fee is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.lake import AMOUNT, DATE, INTEGER, TEXT
from treasury.money import basis_points, total
from treasury.reconcile.inputs import exact_pandas
from treasury.reconcile.monthly import Reconciliation
from treasury.report.words import DIRECTIONS, amount_words, count
from treasury.text import safe_html

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FeeTotal", "Fees", "fees_of"]

RATE: Final = pa.decimal128(38, 2)
"""Basis points, two decimals."""
BEYOND: Final = Decimal(10) ** 36

REQUESTS: Final = pa.schema(
    [
        ("request_id", TEXT),
        ("reference", TEXT),
        ("month", TEXT),
        ("completed_on", DATE),
        ("direction", TEXT),
        ("pair", TEXT),
        ("chain", TEXT),
        ("fiat_currency", TEXT),
        ("fiat_gross", AMOUNT),
        ("fee", AMOUNT),
        ("fiat_net", AMOUNT),
        ("crypto_currency", TEXT),
        ("crypto", AMOUNT),
        ("exchange_rate", AMOUNT),
        ("fee_percentage", AMOUNT),
        ("rate_bp", RATE),
        ("tier", TEXT),
    ]
)
TOTALS: Final = pa.schema(
    [
        ("month", TEXT),
        ("direction", TEXT),
        ("pair", TEXT),
        ("tier", TEXT),
        ("requests", INTEGER),
        ("fiat_currency", TEXT),
        ("fiat_gross", AMOUNT),
        ("fee", AMOUNT),
        ("fiat_net", AMOUNT),
        ("rate_bp", RATE),
        ("without_fee", INTEGER),
    ]
)
_GROUP: Final = ("fiat_currency", "direction", "pair", "tier")


class FeeTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of some requests in one fiat currency; `rate_bp` covers those with a fee."""

    currency: str
    requests: int
    without_fee: int
    gross: Decimal
    fee: Decimal
    net: Decimal
    rate_bp: Decimal | None


class Fees(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A month's fees. `requests`: a row each; `totals`: by direction, pair and tier.

    Gross, fee and net are in `fiat_currency`, crypto in `crypto_currency`, `rate_bp` in basis
    points. `accruals`: requests funded by the end of the month that had not completed by then.
    """

    month: Month
    requests: pa.Table
    totals: pa.Table
    accruals: pa.Table

    @property
    def title(self) -> str:
        """`Fees of October 2026: EUR 1,912.40 on 18 completed requests`."""
        parts = [
            f"{amount_words(sums.fee, sums.currency)} on "
            + count(sums.requests, "completed request")
            for sums in self.by_currency()
        ]
        return f"Fees of {self.month.title}: {' · '.join(parts) or 'no request completed'}"

    def by_currency(self) -> list[FeeTotal]:
        """The month's sums, a row for each fiat currency."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in self.requests.to_pylist():
            groups.setdefault(row["fiat_currency"], []).append(row)
        return [_total(currency, groups[currency]) for currency in sorted(groups)]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each request, with exact Decimals."""
        return exact_pandas(self.requests)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        titles = ("Direction", "Pair", "Tier", "Requests", "Gross", "Fee", "Net", "Rate, bp")
        head = "".join(f"<th scope='col'>{title}</th>" for title in titles)
        body = "".join(_html_row(row) for row in self.totals.to_pylist())
        caption = f"<caption>{safe_html(self.title)}</caption>"
        return f"<table class='tex2jax_ignore'>{caption}<tr>{head}</tr>{body}</table>"


def fees_of(r: Reconciliation) -> Fees:
    """The fees of a reconciled month."""
    requests = [_request(row, r.month) for row in r.fee_requests.to_pylist()]
    return Fees(
        month=r.month,
        requests=pa.Table.from_pylist(requests, schema=REQUESTS),
        totals=pa.Table.from_pylist(_totals(requests, r.month), schema=TOTALS),
        accruals=r.fee_accruals,
    )


def _request(row: Mapping[str, Any], month: Month) -> dict[str, Any]:
    fiat, crypto = row["fiat_currency"] or "?", row["crypto_currency"] or "?"
    on_ramp = row["ramp_type"] == "ON_RAMP"
    return {
        **{name: row[name] for name in REQUESTS.names if name in row},
        "month": str(month),
        "direction": DIRECTIONS.get(row["ramp_type"], row["ramp_type"]),
        "pair": f"{fiat} → {crypto}" if on_ramp else f"{crypto} → {fiat}",
        "chain": row["crypto_chain"],
        "fiat_currency": fiat,
        "rate_bp": _rate(row["fee"], row["fiat_gross"]),
    }


def _totals(requests: Iterable[Mapping[str, Any]], month: Month) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in requests:
        groups.setdefault(tuple(row[name] or "" for name in _GROUP), []).append(row)
    rows = []
    for key in sorted(groups):
        sums = _total(key[0], groups[key])
        rows.append(
            {
                **dict(zip(_GROUP, key, strict=True)),
                "month": str(month),
                "requests": sums.requests,
                "fiat_gross": sums.gross,
                "fee": sums.fee,
                "fiat_net": sums.net,
                "rate_bp": sums.rate_bp,
                "without_fee": sums.without_fee,
            }
        )
    return rows


def _total(currency: str, rows: Iterable[Mapping[str, Any]]) -> FeeTotal:
    rows = list(rows)
    with_fee = [row for row in rows if row["fee"] is not None]
    fee = _sum(with_fee, "fee")
    return FeeTotal(
        currency=currency,
        requests=len(rows),
        without_fee=len(rows) - len(with_fee),
        gross=_sum(rows, "fiat_gross"),
        fee=fee,
        net=_sum(rows, "fiat_net"),
        rate_bp=_rate(fee, _sum(with_fee, "fiat_gross")),
    )


def _rate(fee: Decimal | None, gross: Decimal | None) -> Decimal | None:
    """Basis points; None where they cannot be told, or are beyond what any column holds."""
    if fee is None or gross is None:
        return None
    rate = basis_points(fee, gross)
    return rate if rate is not None and abs(rate) < BEYOND else None


def _sum(rows: Iterable[Mapping[str, Any]], name: str) -> Decimal:
    return total(row[name] for row in rows if row[name] is not None)


def _html_row(row: Mapping[str, Any]) -> str:
    currency = row["fiat_currency"]
    amounts = (amount_words(row[name], currency) for name in ("fiat_gross", "fee", "fiat_net"))
    rate = "" if row["rate_bp"] is None else f"{row['rate_bp']:,.2f}"
    cells = (row["direction"], row["pair"], row["tier"], row["requests"], *amounts, rate)
    return "<tr>" + "".join(f"<td>{safe_html(cell)}</td>" for cell in cells) + "</tr>"
