"""Which answer to a write is the service's own refusal: by its body first, then by its status.

Between here and the service stand proxies, gateways and filters that answer by themselves, also
after the service has acted. Such a page says nothing of the effect, whatever its status is. So a
write counts as refused only where the body has the services' own error shape and the status is one
that this operation is documented to refuse with (the specifications and what is published of the
deployed generations). Any other answer without success leaves the outcome unknown. Whoever forges
the shape and the status cannot be told apart from the service.
"""

from __future__ import annotations

from typing import Final

import httpx

from treasury.api.service_errors import read_refusal

__all__ = ["REFUSES", "is_refusal"]

_BARE: Final = frozenset({400, 401, 403, 404, 405, 429})
"""What every write may be refused with: its content, token, right, record, method or rate."""
_USUAL: Final = _BARE | {415}
"""The same for a write that has a body, whose media type may be refused."""
_CREATE: Final = _USUAL | {409, 422}
"""A conflict, and a key that was used for another body, which is 422 or 409."""
_CHANGE: Final = _USUAL | {409}

REFUSES: Final[dict[str, frozenset[int]]] = {
    "POST /parties": _CREATE,
    "PATCH /parties/{id}": _CHANGE,
    "DELETE /parties/{id}": _BARE | {409},
    "POST /accounts": _CREATE,
    "PATCH /accounts/{id}": _CHANGE,
    "DELETE /accounts/{id}": _BARE | {409},
    "POST /accounts/{accountId}/reactivate": _BARE | {409},
    "POST /accounts/{accountId}/party-roles": _CREATE,
    "POST /accounts/{accountId}/wallets": _CREATE,
    "POST /accounts/{accountId}/virtual-bank-accounts": _CREATE,
    "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions": _CREATE,
    "POST /account-to-account-transfers": _CREATE | {402},
    "POST /accounts/{senderAccountId}/transfers/crypto": _CREATE | {402},
    "POST /accounts/{senderAccountId}/transfers/fiat": _CREATE | {402},
    "POST /transfers": _CREATE | {402},
    "POST /payment-requests": _CREATE | {402},
    "POST /ramp-requests": _CREATE,
    "POST /ramp-requests/{id}/approve": _CHANGE,
    "POST /ramp-requests/{id}/reject": _CHANGE,
    "POST /ramp-requests/{id}/cancel": _CHANGE,
    "PUT /ramp-requests/{id}/amount": _CHANGE,
    "PATCH /ramp-requests/{id}/tx-hash": _CHANGE,
    "POST /company-bank-accounts": _CHANGE,
    "PATCH /company-bank-accounts/{id}": _CHANGE,
    "POST /company-wallets": _CHANGE,
    "PATCH /company-wallets/{id}": _CHANGE,
    "POST /company/users/invite": _CHANGE,
}
"""The statuses of a refusal, by operation; an operation that is not listed has none."""


def is_refusal(response: httpx.Response, operation: str) -> bool:
    """Whether the service itself says of this write that it did not carry it out."""
    documented = response.status_code in REFUSES.get(operation, frozenset())
    return read_refusal(response).is_ours and documented
