"""Table of the finance service's operations with their handlers."""

from __future__ import annotations

from typing import Final

from treasury.sandbox.finance.finance_accounts import ACCOUNT_ROUTES
from treasury.sandbox.finance.finance_parties import PARTY_ROUTES
from treasury.sandbox.finance.finance_transfers import TRANSFER_ROUTES
from treasury.sandbox.finance.payments import PAYMENT_ROUTES
from treasury.sandbox.finance.profile_b import routes_b
from treasury.sandbox.finance.sessions import SESSION_ROUTES
from treasury.sandbox.http.exchange import Route

_ROUTES: Final = (
    *PARTY_ROUTES, *ACCOUNT_ROUTES, *SESSION_ROUTES, *TRANSFER_ROUTES, *PAYMENT_ROUTES,
)  # fmt: skip


def routes(profile: str) -> tuple[Route, ...]:
    """Return the operations of a profile, `spec` or `b`."""
    return routes_b(_ROUTES) if profile == "b" else _ROUTES
