"""Materiality: the amount below which an open item is listed without blocking a close.

`policy.toml` proposes limits per currency, one per item and one for all items together. They are in
force once two people have journaled them. Editing the file alone changes nothing, and an answer for
an earlier time uses the limits that were in force then.

    [materiality.EUR]
    item = 50
    total = "200.00"
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import Policy
from treasury.core.money import parse_amount, plain_digits, total
from treasury.core.tables.column_types import AMOUNT, BOOL, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.month.decisions.agreed_terms import AgreedTerms, TermsKind, TermsVerbs
from treasury.month.items.open_item import OpenItem

_ALWAYS_MATERIAL: Final = frozenset({"paid_twice", "hash_in_doubt", "unknown_status"})
"""Kinds that block at any amount: double payments, hashes in doubt and unknown statuses."""
LIMITS: Final = grouped_schema(
    (TEXT, "currency"),
    (AMOUNT, "item", "total"),
    (TEXT, "proposed_by", "accepted_by"),
    (BOOL, "alone"),
)
"""One row per currency that has limits; amounts in `currency`."""


def immaterial(items: Sequence[OpenItem], limits: pa.Table) -> list[OpenItem]:
    """Return the items; those within the limits are marked as immaterial.

    If the small items of a currency add up to more than its limit `total`, each blocks.
    """
    agreed = {row["currency"]: row for row in limits.to_pylist()}
    small = [
        item
        for item in items
        if item.currency in agreed
        and item.amount is not None
        and abs(item.amount) <= agreed[item.currency]["item"]
        and item.blocks == "until accepted"
        and item.kind not in _ALWAYS_MATERIAL
        and not item.is_accepted
    ]
    sums: dict[str, list[Decimal]] = {}
    for item in small:
        if item.counted_amount is not None:
            sums.setdefault(item.currency, []).append(abs(item.counted_amount))
    within = {
        currency
        for currency, row in agreed.items()
        if total(sums.get(currency, ())) <= row["total"]
    }
    ids = {item.item_id for item in small if item.currency in within}
    return [
        msgspec.structs.replace(item, is_material=False) if item.item_id in ids else item
        for item in items
    ]


def _plain(policy: Policy) -> dict[str, Any]:
    return {
        currency: {"item": plain_digits(limit.item), "total": plain_digits(limit.total)}
        for currency, limit in sorted(policy.materiality.items())
    }


class Limits(TermsVerbs):
    """The decisions (`t.limits`) by which two people put materiality limits into force.

    Tables have a row per currency; the limits `item` and `total` are in that currency.

    >>> t.limits.propose("limits for the new year")
    """

    kind = TermsKind(
        proposed="item.limits_proposed",
        accepted="item.limits_accepted",
        name="limits",
        table="[materiality]",
        command="treasury items limits",
        content=_plain,
    )
    terms = LIMITS
    columns = pa.schema([("standing", TEXT), *LIMITS])
    without = "no limits"

    @staticmethod
    def rows(terms: AgreedTerms | None) -> list[dict[str, Any]]:
        """Return a row per currency with its limits and the people who agreed to them."""
        if terms is None:
            return []
        return [
            {
                "currency": currency,
                "item": parse_amount(limit["item"]),
                "total": parse_amount(limit["total"]),
                **terms.people,
            }
            for currency, limit in sorted(terms.content.items())
        ]
