"""Accounts that two people took out of the comparison with the books, each with its reason.

The table [out_of_scope] of `policy.toml` proposes them. Like the materiality limits, they are
journaled, so that an answer for an earlier time or a closed month uses the scope of that time.

    [out_of_scope]
    "BE45 5399 5187 6689" = "kept in the books of the parent company"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from treasury.actions.policies.policy import Policy
from treasury.close.review.controls import SCOPE_PROPOSED
from treasury.core.identifiers import plain_account
from treasury.core.tables.column_types import BOOL, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.month.decisions.agreed_terms import AgreedTerms, TermsKind, TermsVerbs
from treasury.month.items.evidence_items import OUT_OF_SCOPE

SCOPE = grouped_schema((TEXT, "account", "reason", "proposed_by", "accepted_by"), (BOOL, "alone"))
"""One row per account that is not compared with the books, in any currency, and why."""


def _plain(policy: Policy) -> dict[str, Any]:
    reasons = {plain_account(name): reason for name, reason in policy.out_of_scope.items()}
    return dict(sorted(reasons.items()))


def scope_words(scope: pa.Table) -> Mapping[str, str]:
    """Return the finding on each account out of scope, by its number; `scope` is as in SCOPE."""
    return {
        row["account"]: f"{OUT_OF_SCOPE}{clean(row['reason'])}, says {clean(row['proposed_by'])}"
        + (", alone" if row["alone"] else f" and {clean(row['accepted_by'])}")
        for row in scope.to_pylist()
    }


class LedgerScope(TermsVerbs):
    """Decisions by which two people take accounts out of the comparison with the books.

    They are available as `t.scope`. Tables have a row per account.

    >>> t.scope.propose("the parent company keeps this account")
    """

    kind = TermsKind(
        proposed=SCOPE_PROPOSED,
        accepted="item.scope_accepted",
        name="accounts",
        table="[out_of_scope]",
        command="treasury items scope",
        content=_plain,
    )
    terms = SCOPE
    columns = pa.schema([("standing", TEXT), *SCOPE])
    without = "every account is in scope"

    @staticmethod
    def rows(terms: AgreedTerms | None) -> list[dict[str, Any]]:
        """Return a row per account with its reason and the people who agreed."""
        if terms is None:
            return []
        return [
            {"account": account, "reason": reason, **terms.people}
            for account, reason in sorted(terms.content.items())
        ]
