"""The limits on money with the provider that two people put in force, as a table.

The table [exposure] of `policy.toml` proposes them. Like the materiality limits, they are
journaled, so that an answer for an earlier time or a closed month uses the limits in force then.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from treasury.actions.policies.policy import Policy
from treasury.core.money import parse_amount, plain_digits
from treasury.core.tables.column_types import BOOL, TEXT
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.month.decisions.agreed_terms import AgreedTerms, TermsKind, TermsVerbs

WHOLE: Final = "all"
"""The scope of all money with the provider, in the reporting currency."""
EXPOSURE_LIMITS: Final = grouped_schema(
    (TEXT, "scope"),
    (amount_in("currency"), "limit"),
    (TEXT, "proposed_by", "accepted_by"),
    (BOOL, "alone"),
)
"""One row per limit: `scope` is the currency of `limit`, or `all` for a total limit in euros."""
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
    """Decisions by which two people put limits on money with the provider in force.

    They are available as `t.exposure_limits`. Tables have a row per limit, in the row's `currency`.

    >>> t.exposure_limits.propose("board decision of 12 November")
    """

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
        """Return a row per limit with its currency, the limit of scope `all` first."""
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
