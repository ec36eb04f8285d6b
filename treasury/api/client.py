"""The client of both services: one credential, one connection pool, everything typed.

`client.finance` and `client.ramp` hold the collections; `client.request` reaches any other route
with the same authentication, retries and errors. The HTTP method decides whether a call writes: one
place refuses it where the environment, or the caller at hand, is for reading.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import httpx

from treasury.api.exchange.transport import CallLimits, Clock
from treasury.api.finance_client import Finance
from treasury.api.ramp_client import Ramp
from treasury.api.service_calls import ServiceCalls
from treasury.core import errors
from treasury.core.settings import Credential, Services


class Client(ServiceCalls):
    """Both services with one credential; safe to use from several threads; close it after use.

    Parameters
    ----------
    services, credential
        The addresses of the services, and the client id with the place of its secret.
    limits
        Limits of time, attempts and sizes.
    clock, inner
        The clock and the innermost HTTP transport, replaceable in tests.

    Examples
    --------
    >>> client.ramp.company.get().value.kyb_status
    'VERIFIED'
    """

    def __init__(
        self,
        services: Services,
        credential: Credential,
        *,
        limits: CallLimits | None = None,
        clock: Clock | None = None,
        inner: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(services, credential, limits=limits, clock=clock, inner=inner)
        self.finance: Finance = Finance(self)
        self.ramp: Ramp = Ramp(self)

    def require_answers(self) -> None:
        """Request one record from each service; raise ServiceError if one fails.

        These are the minimum for a first sync: accounts of one service, requests of the other.
        """
        self.finance.accounts.list(size=1)
        self.ramp.requests.list(size=1)

    def for_reading(self, propose: Callable[[str], str]) -> Client:
        """Return a read-only client on the same connections and token, closed with this one.

        `propose` returns, for a refused operation, the advice on what to do instead.
        """
        reader = copy(self)
        reader._propose = propose  # noqa: SLF001 - one object, twice
        reader.finance, reader.ramp = Finance(reader), Ramp(reader)
        return reader

    def has_record(self, ids: tuple[str, ...]) -> bool:
        """Return True if the account exists, and its wallet if one is named."""
        account, *wallets = ids
        try:
            if not wallets:
                self.finance.accounts.get(account)
                return True
            listed = self.finance.wallets.iterate(account)
            return any(wallet.value.id in wallets for wallet in listed)
        # The first answer is reported instead.
        except errors.ServiceError:
            return False
