"""The client of both services: one credential, one connection pool, everything typed.

`client.finance` and `client.ramp` hold the collections; `client.request` reaches any other route
with the same authentication, repeats and errors. The HTTP method says whether a call writes: one
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

    `clock` and `inner` (the innermost HTTP transport) are there for tests.
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
        """Ask each service for one record with this credential; ServiceError where one has none.

        It is what a first sync cannot do without: accounts of the one, requests of the other.
        """
        self.finance.accounts.list(size=1)
        self.ramp.requests.list(size=1)

    def for_reading(self, propose: Callable[[str], str]) -> Client:
        """The same connections and token without leave to write; it is closed with this client.

        `propose` says of an operation what to do in place of writing it directly.
        """
        reader = copy(self)
        reader._propose = propose  # noqa: SLF001 - one object, twice
        reader.finance, reader.ramp = Finance(reader), Ramp(reader)
        return reader

    def has_record(self, ids: tuple[str, ...]) -> bool:
        """Whether the account, and its wallet where one is named, are there."""
        account, *wallets = ids
        try:
            if not wallets:
                self.finance.accounts.get(account)
                return True
            listed = self.finance.wallets.iterate(account)
            return any(wallet.value.id in wallets for wallet in listed)
        except errors.ServiceError:  # then what was answered first stands
            return False
