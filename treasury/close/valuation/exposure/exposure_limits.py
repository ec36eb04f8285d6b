"""How much may stand with the provider: the limits that two people put in force, as a table.

`policy.toml` proposes them below [exposure]. They rest in the journal as the limits of materiality
do, so that an answer of any earlier instant, or of a closed month, is given under those of then.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from treasury.actions.policies.policy import Policy
from treasury.core.money import parse_amount, plain_digits
from treasury.core.tables.column_types import AMOUNT, BOOL, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.month.decisions.agreed_terms import AgreedTerms, TermsKind, TermsVerbs

WHOLE: Final = "all"
"""The scope of all that stands there, in the reporting currency."""
EXPOSURE_LIMITS: Final = grouped_schema(
    (TEXT, "scope"), (AMOUNT, "limit"), (TEXT, "proposed_by", "accepted_by"), (BOOL, "alone")
)
"""A row for each limit: `scope` is a currency, in which its `limit` is, or `all`, in euros."""
REPORTING: Final = "EUR"
"""The currency of every reference value."""


def _plain(policy: Policy) -> dict[str, Any]:
    limits = policy.exposure
    if limits is None:
        return {}
    whole = {} if limits.total is None else {WHOLE: plain_digits(limits.total)}
    own = {currency: plain_digits(limit) for currency, limit in sorted(limits.currencies.items())}
    return whole | own


class ExposureLimits(TermsVerbs):
    """The verbs by which two people put limits of what stands with the provider in force."""

    kind = TermsKind(
        proposed="exposure.limits_proposed",
        accepted="exposure.limits_accepted",
        name="limits",
        table="[exposure]",
        command="treasury exposure-limits",
        content=_plain,
    )
    terms = EXPOSURE_LIMITS
    columns = pa.schema([("standing", TEXT), *EXPOSURE_LIMITS, ("currency", TEXT)])
    without = "no limit"

    @staticmethod
    def rows(terms: AgreedTerms | None) -> list[dict[str, Any]]:
        """A row for each limit, that of all first, with the currency in which it is."""
        if terms is None:
            return []
        limits = sorted(terms.content.items(), key=lambda each: (each[0] != WHOLE, each[0]))
        return [
            {
                "scope": scope,
                "limit": parse_amount(limit),
                "currency": REPORTING if scope == WHOLE else scope,
                **terms.people,
            }
            for scope, limit in limits
        ]
