"""How much may stand with the provider: the limits that two people put in force, as a table.

`policy.toml` proposes them below [exposure]. They rest in the journal as the limits of materiality
do, so that an answer of any earlier instant, or of a closed month, is given under those of then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.actions.authority.policy import Policy
from treasury.decisions.agreed_terms import AgreedTerms, TermsDesk, TermsKind, agreed_terms
from treasury.journal import Actor, Entry, Journal
from treasury.journal.decision_log import Decided
from treasury.lake import AMOUNT, BOOL, TEXT
from treasury.money import parse_amount, plain_digits
from treasury.tables.row_view import Rows
from treasury.tables.schemas import schema_of

__all__ = [
    "EXPOSURE_LIMITS",
    "REPORTING",
    "WHOLE",
    "ExposureLimits",
    "exposure_limits",
    "limits_not_in_force",
]

WHOLE: Final = "all"
"""The scope of all that stands there, in the reporting currency."""
EXPOSURE_LIMITS: Final = schema_of(
    (TEXT, "scope"),
    (AMOUNT, "limit"),
    (TEXT, "proposed_by", "accepted_by"),
    (BOOL, "alone"),
)
"""A row for each limit: `scope` is a currency, in which its `limit` is, or `all`, in euros."""
REPORTING: Final = "EUR"
"""The currency of every reference value."""
_STANDING: Final = pa.schema([("standing", TEXT), *EXPOSURE_LIMITS, ("currency", TEXT)])


def exposure_limits(entries: Iterable[Entry]) -> pa.Table:
    """The limits that two people agreed on last; columns as in EXPOSURE_LIMITS."""
    return pa.Table.from_pylist(_rows(agreed_terms(entries, _TERMS)[0]), schema=EXPOSURE_LIMITS)


def limits_not_in_force(entries: Iterable[Entry], policy: Policy) -> bool:
    """Whether `policy.toml` has other limits than those that two people agreed on last."""
    in_force, _ = agreed_terms(entries, _TERMS)
    return _plain(policy) != (in_force.content if in_force else {})


class ExposureLimits:
    """The verbs by which two people put limits of what stands with the provider in force."""

    def __init__(
        self,
        journal: Journal,
        policy: Callable[[], Policy],
        *,
        until: datetime | None = None,
        zone: ZoneInfo,
    ) -> None:
        self._zone = zone
        self._terms = TermsDesk(_TERMS, journal, policy, until=until)

    def propose(self, reason: str, *, actor: Actor | None = None) -> Rows:
        """Propose what stands below [exposure] in `policy.toml`; a second person accepts it."""
        return self._listed(self._terms.propose(reason, actor))

    def accept(self, *, actor: Actor | None = None) -> Rows:
        """Put what is proposed in force; whoever proposed it cannot."""
        return self._listed(self._terms.accept(actor))

    def list(self) -> Rows:
        """The limits in force, and those that wait for a second person."""
        return self._listed(self._terms.decided())

    def _listed(self, decided: Decided) -> Rows:
        in_force, proposal = agreed_terms(decided.entries, _TERMS)
        rows = [{"standing": "in force", **row} for row in _rows(in_force)]
        rows += [{"standing": "waits for a second person", **row} for row in _rows(proposal)]
        for row in rows:
            row["currency"] = REPORTING if row["scope"] == WHOLE else row["scope"]
        if proposal is not None and not proposal.content:
            words = "waits for a second person: no limit"
            rows.append({"standing": words, **proposal.people})
        return Rows(pa.Table.from_pylist(rows, schema=_STANDING), zone=self._zone)


def _rows(terms: AgreedTerms | None) -> list[dict[str, Any]]:
    limits = terms.content if terms is not None else {}
    people = terms.people if terms is not None else {}
    return [
        {"scope": scope, "limit": parse_amount(limit), **people}
        for scope, limit in sorted(limits.items(), key=lambda each: (each[0] != WHOLE, each[0]))
    ]


def _plain(policy: Policy) -> dict[str, Any]:
    limits = policy.exposure
    if limits is None:
        return {}
    whole = {} if limits.total is None else {WHOLE: plain_digits(limits.total)}
    own = {currency: plain_digits(limit) for currency, limit in sorted(limits.currencies.items())}
    return whole | own


_TERMS: Final = TermsKind(
    proposed="exposure.limits_proposed",
    accepted="exposure.limits_accepted",
    name="limits",
    table="[exposure]",
    command="treasury exposure-limits",
    content=_plain,
)
