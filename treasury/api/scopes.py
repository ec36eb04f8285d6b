"""Which authority an operation needs: what a 403 names, so that a person knows what to ask for.

Neither specification lists scopes by endpoint; these are the documented ones of deployed services
(`docs/assumptions.md`). They are shown as the likely authority and decide nothing.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SCOPES"]

_BY_SCOPE: Final = {
    "view:ramp-request": ("GET /ramp-requests", "GET /ramp-requests/{id}"),
    "create:ramp-request": (
        "POST /ramp-requests",
        "GET /ramp-requests/on-ramp/pairs",
        "GET /ramp-requests/off-ramp/pairs",
    ),
    "edit:ramp-request": (
        "PUT /ramp-requests/{id}/amount",
        "PATCH /ramp-requests/{id}/tx-hash",
    ),
    "approve:ramp-request (role COMPANY_ADMIN)": ("POST /ramp-requests/{id}/approve",),
    "reject:ramp-request (role COMPANY_ADMIN)": ("POST /ramp-requests/{id}/reject",),
    "cancel:ramp-request": ("POST /ramp-requests/{id}/cancel",),
    "view:company-wallet": ("GET /company-wallets", "GET /company-wallets/{id}"),
    "manage:company-wallet": ("POST /company-wallets", "PATCH /company-wallets/{id}"),
    "view:company-bank-account": ("GET /company-bank-accounts", "GET /company-bank-accounts/{id}"),
    "manage:company-bank-account": (
        "POST /company-bank-accounts",
        "PATCH /company-bank-accounts/{id}",
    ),
    "manage:company-users": ("GET /company/users", "POST /company/users/invite"),
    "manage:parties": (
        "POST /parties",
        "GET /parties",
        "GET /parties/{id}",
        "PATCH /parties/{id}",
        "DELETE /parties/{id}",
    ),
    "manage:accounts": (
        "POST /accounts", "GET /accounts", "GET /accounts/{id}", "PATCH /accounts/{id}",
        "DELETE /accounts/{id}", "POST /accounts/{accountId}/reactivate",
        "POST /accounts/{accountId}/party-roles", "GET /accounts/{accountId}/party-roles",
        "POST /accounts/{accountId}/wallets", "GET /accounts/{accountId}/wallets",
        "POST /accounts/{accountId}/virtual-bank-accounts",
        "GET /accounts/{accountId}/virtual-bank-accounts",
        "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}",
    ),
    "manage:pay-in-sessions": ("POST /accounts/{accountId}/fiat-to-crypto/payment-sessions",),
    "manage:transfers": (
        "POST /account-to-account-transfers",
        "GET /account-to-account-transfers",
        "POST /accounts/{senderAccountId}/transfers/crypto",
        "POST /accounts/{senderAccountId}/transfers/fiat",
        "POST /transfers",
        "GET /accounts/{accountId}/transfers",
        "GET /accounts/{accountId}/transfers/{transferId}",
    ),
    "manage:payment-requests": ("POST /payment-requests",),
}  # fmt: skip

SCOPES: Final = {
    operation: scope for scope, operations in _BY_SCOPE.items() for operation in operations
}
"""Authority by operation; the company, fees and reference data need none."""
