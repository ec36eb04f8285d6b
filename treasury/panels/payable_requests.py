"""What waits for its funds, beside the deposit details as the service delivered them.

Details are for paying by, so they are given for nothing that must not be paid: a request that is
not approved, one whose payment the bank may show already, one that a colleague says was sent, one
whose details the service calls inactive. Every field of them is held against the last ones that a
payment reached: an account that changed is how money is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from treasury.identifiers import plain_account
from treasury.lake import TEXT, Snapshot
from treasury.panels.frames.query_pages import ArrowTables, QuerySource
from treasury.text import clean

__all__ = ["PAYABLE", "changed_details", "payable_table"]

PAYABLE: Final = frozenset({"PAY", "REJECTED", "RETURNED", "SEND CRYPTO"})
"""States in which our side is to pay; CHECK BANK is none of them."""
DETAILS: Final = {
    "deposit_beneficiary": "beneficiary",
    "deposit_iban": "IBAN",
    "deposit_bic": "BIC",
    "deposit_bank_name": "bank",
    "deposit_account_number": "account number",
    "deposit_sort_code": "sort code",
    "deposit_routing_number": "routing number",
    "deposit_currency": "currency",
    "deposit_bank_account_type": "account type",
    "deposit_intermediary_bank_name": "intermediary bank",
    "deposit_intermediary_bic": "intermediary BIC",
    "deposit_intermediary_account_number": "intermediary account",
    "deposit_company_name": "company",
    "deposit_email": "email",
    "deposit_phone_number": "telephone",
    "deposit_bank_country": "bank's country",
    "deposit_bank_street_address": "bank's street",
    "deposit_bank_city": "bank's city",
    "deposit_bank_postal_code": "bank's postal code",
    "deposit_beneficiary_address_line1": "beneficiary's street",
    "deposit_beneficiary_address_line2": "beneficiary's street, line 2",
    "deposit_beneficiary_city": "beneficiary's city",
    "deposit_beneficiary_state": "beneficiary's state",
    "deposit_beneficiary_postal_code": "beneficiary's postal code",
    "deposit_beneficiary_country": "beneficiary's country",
    "deposit_wallet_address": "address",
    "deposit_wallet_chain": "chain",
    "deposit_label": "label",
    "deposit_is_active": "active",
    "deposit_is_default": "default",
    "deposit_version": "version",
    "deposit_wallet_label": "label",
    "deposit_wallet_is_active": "active",
    "deposit_wallet_is_default": "default",
    "deposit_wallet_version": "version",
}
"""Every column of the deposit details, and what it is called beside its value."""
_ACCOUNTS: Final = frozenset(
    {
        "deposit_iban",
        "deposit_bic",
        "deposit_account_number",
        "deposit_intermediary_bic",
        "deposit_intermediary_account_number",
    }
)
_COLUMNS: Final = ", ".join(DETAILS)
_PLACE: Final = "coalesce(deposit_iban, deposit_account_number, deposit_wallet_address)"
_LINE: Final = "ramp_type, coalesce(deposit_wallet_chain, fiat_currency)"
_OPEN: Final = f"""\
SELECT id, ramp_type, crypto_currency AS asset,
    coalesce(deposit_wallet_chain, fiat_currency) AS line, {_COLUMNS}
FROM ramp_requests
WHERE status = 'AWAITING_FUNDS' AND vanished_at IS NULL
    AND coalesce(deposit_is_active, TRUE) AND coalesce(deposit_wallet_is_active, TRUE)
"""  # noqa: S608 - declared column names
_PAID: Final = f"""\
SELECT ramp_type, coalesce(deposit_wallet_chain, fiat_currency) AS line, payment_reference AS name,
    {_COLUMNS}
FROM ramp_requests
WHERE status IN ('PROCESSING', 'SUCCEEDED') AND {_PLACE} IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY {_LINE} ORDER BY coalesce(completed_at, approved_at, created_at) DESC, id
) = 1
"""  # noqa: S608 - declared column names
_BEFORE: Final = f"""\
SELECT id, {_COLUMNS}
FROM ramp_requests_history
WHERE status = 'AWAITING_FUNDS' AND {_PLACE} IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY id ORDER BY valid_from, version) = 1
"""  # noqa: S608 - declared column names
_PACKED: Final = "{{" + ", ".join(f"'{name}': {{0}}.{name}" for name in DETAILS) + "}}"
_CHANGED: Final = f"""\
SELECT was, now, name, list(id) AS ids
FROM (
    SELECT o.id, {_PACKED.format("b")} AS was, {_PACKED.format("o")} AS now, NULL AS name
    FROM open AS o JOIN before AS b ON b.id = o.id
    UNION ALL
    SELECT o.id, {_PACKED.format("p")}, {_PACKED.format("o")}, coalesce(p.name, '')
    FROM open AS o JOIN paid AS p ON p.ramp_type = o.ramp_type AND p.line = o.line
)
WHERE was IS DISTINCT FROM now
GROUP BY was, now, name
"""  # noqa: S608 - declared column names
_PAYABLE_DETAILS: Final = ", ".join(
    f"CASE WHEN w.payable THEN o.{name} END AS {name}" for name in DETAILS
)
_TABLE: Final = f"""\
SELECT w.* EXCLUDE (number, payable), {_PAYABLE_DETAILS}, o.asset, w.payable,
    concat_ws('; ', f.words, l.words) AS differs,
    w.payable AND p.ramp_type IS NULL AS first_time,
    w.number
FROM (
    SELECT *, marked = '' AND request IN (SELECT id FROM open)
        AND state IN (SELECT state FROM payable_states) AS payable
    FROM waiting
) AS w
LEFT JOIN open AS o ON o.id = w.request
LEFT JOIN paid AS p ON p.ramp_type = o.ramp_type AND p.line = o.line
LEFT JOIN (SELECT unnest(ids) AS id, words FROM worded WHERE name IS NULL) AS f ON f.id = w.request
LEFT JOIN (SELECT unnest(ids) AS id, words FROM worded WHERE name IS NOT NULL) AS l
    ON l.id = w.request
ORDER BY w.number
"""  # noqa: S608 - declared column names


def payable_table(waiting: pa.Table, source: QuerySource | Snapshot) -> pa.Table:
    """The rows of `waiting` (columns of FUNDING) with deposit details, in their order.

    Adds the columns of DETAILS (empty where it must not be paid), `asset`, `payable`, `differs`
    (how the details differ from the last ones paid, or from what they first were), `first_time` and
    `number`, the row's place. How details differ is worded once for all requests that share them.
    """
    numbers = pa.array(range(waiting.num_rows), pa.int64())
    tables = ArrowTables(
        waiting=waiting.append_column("number", numbers),
        open=source.sql(_OPEN),
        paid=source.sql(_PAID),
        before=source.sql(_BEFORE),
        payable_states=pa.table({"state": sorted(PAYABLE)}),
    )
    changed = tables.sql(_CHANGED)
    texts = []
    for row in changed.select(["was", "now", "name"]).to_pylist():
        since = "we first saw it" if row["name"] is None else f"{clean(row['name'])} was paid"
        changes = changed_details(row["was"], row["now"])  # none where it is of blanks only
        texts.append("; ".join(f"{change}, since {since}" for change in changes) or None)
    words = pa.array(texts, TEXT)
    tables.add(worded=changed.select(["name", "ids"]).append_column("words", words))
    return tables.sql(_TABLE)


def changed_details(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """`IBAN was LT35…, is LT99…`, for each detail that differs; blanks in accounts do not count."""
    return [
        f"{name} was {_detail_text(was[column])}, is {_detail_text(now[column])}"
        for column, name in DETAILS.items()
        if _plain(column, was[column]) != _plain(column, now[column])
    ]


def _detail_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(None if value is None else str(value)) or "not given"


def _plain(column: str, value: object) -> str:
    text = "" if value is None else str(value)
    return plain_account(text) if column in _ACCOUNTS else text
