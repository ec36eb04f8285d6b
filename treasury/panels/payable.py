"""What waits for its funds, beside the deposit details as the service delivered them.

Details are for paying by, so they are given for nothing that must not be paid: a request that is
not approved, one whose payment the bank may show already, one that a colleague says was sent. They
are held against the last ones that a payment reached: an account that changed is how money is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from treasury.identifiers import plain_account
from treasury.lake import Snapshot
from treasury.panels.paging import Source
from treasury.text import clean

__all__ = ["PAYABLE", "changed_details", "payable_table"]

PAYABLE: Final = frozenset({"PAY", "RETURNED", "SEND CRYPTO"})
"""States in which our side is to pay; CHECK BANK is none of them."""
DETAILS: Final = {
    "deposit_beneficiary": "beneficiary",
    "deposit_iban": "IBAN",
    "deposit_bic": "BIC",
    "deposit_bank_name": "bank",
    "deposit_account_number": "account number",
    "deposit_sort_code": "sort code",
    "deposit_routing_number": "routing number",
    "deposit_wallet_address": "address",
    "deposit_wallet_chain": "chain",
}
_ACCOUNTS: Final = frozenset({"deposit_iban", "deposit_bic", "deposit_account_number"})
_COLUMNS: Final = ", ".join(DETAILS)
_PLACE: Final = "coalesce(deposit_iban, deposit_account_number, deposit_wallet_address)"
_ONE_LINE: Final = "ramp_type, coalesce(deposit_wallet_chain, fiat_currency)"

_OPEN: Final = f"""\
SELECT id, ramp_type, fiat_currency, crypto_currency, version,
    coalesce(deposit_wallet_chain, fiat_currency) AS line, {_COLUMNS}
FROM ramp_requests WHERE status = 'AWAITING_FUNDS' AND vanished_at IS NULL
"""  # noqa: S608 - declared column names
_PAID: Final = f"""\
SELECT ramp_type, coalesce(deposit_wallet_chain, fiat_currency) AS line, payment_reference AS name,
    {_COLUMNS}
FROM ramp_requests
WHERE status IN ('PROCESSING', 'SUCCEEDED') AND {_PLACE} IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY {_ONE_LINE} ORDER BY coalesce(completed_at, approved_at, created_at) DESC, id
) = 1
"""  # noqa: S608 - declared column names
_BEFORE: Final = f"""\
SELECT id, {_COLUMNS}
FROM ramp_requests_history
WHERE status = 'AWAITING_FUNDS' AND {_PLACE} IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY valid_from, version) = 1
"""  # noqa: S608 - declared column names


def payable_table(waiting: pa.Table, source: Source | Snapshot) -> pa.Table:
    """The rows of `waiting` (columns of FUNDING) with deposit details, in their order.

    Adds the columns of DETAILS (empty where it must not be paid), `asset`, `payable`, `differs`
    (how the details differ from the last ones paid, or from what they first were), `first_time` and
    `number`, the row's place.
    """
    open_ones = {row["id"]: row for row in source.sql(_OPEN).to_pylist()}
    paid = {(row["ramp_type"], row["line"]): row for row in source.sql(_PAID).to_pylist()}
    before = {row["id"]: row for row in source.sql(_BEFORE).to_pylist()}
    told = [
        _told(row, open_ones.get(row["request"]), paid, before.get(row["request"]))
        for row in waiting.select(["request", "state", "marked", "currency"]).to_pylist()
    ]
    table = waiting
    columns = [*DETAILS, "asset", "payable", "differs", "first_time"]
    for name in columns:
        values = [one[name] for one in told]
        kind = pa.bool_() if name in {"payable", "first_time"} else pa.string()
        table = table.append_column(name, pa.array(values, kind))
    return table.append_column("number", pa.array(range(table.num_rows), pa.int64()))


def changed_details(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """`IBAN was LT35…, is LT99…`, for each detail that differs; blanks in accounts do not count."""
    return [
        f"{name} was {clean(was[column]) or 'not given'}, is {clean(now[column]) or 'not given'}"
        for column, name in DETAILS.items()
        if _plain(column, was[column]) != _plain(column, now[column])
    ]


def _told(
    row: Mapping[str, Any],
    known: Mapping[str, Any] | None,
    paid: Mapping[tuple[str, str], Mapping[str, Any]],
    before: Mapping[str, Any] | None,
) -> dict[str, Any]:
    payable = known is not None and row["state"] in PAYABLE and not row["marked"]
    last = None if known is None else paid.get((known["ramp_type"], known["line"]))
    differs = "" if known is None else "; ".join(_differences(known, last, before))
    return {
        **{name: known[name] if known is not None and payable else None for name in DETAILS},
        "asset": None if known is None else known["crypto_currency"],
        "payable": payable,
        "differs": differs,
        "first_time": payable and last is None,
    }


def _differences(
    known: Mapping[str, Any], last: Mapping[str, Any] | None, before: Mapping[str, Any] | None
) -> Iterable[str]:
    if before is not None:
        for change in changed_details(before, known):
            yield f"{change}, since we first saw it"
    if last is not None:
        for change in changed_details(last, known):
            yield f"{change}, since {clean(last['name'])} was paid"


def _plain(column: str, value: object) -> str:
    text = "" if value is None else str(value)
    return plain_account(text) if column in _ACCOUNTS else text
