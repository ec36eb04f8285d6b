"""The client of both services: one credential, one connection pool, everything typed.

`client.finance` and `client.ramp` offer the operations of the two services; `client.request` sends
any other request with the same authentication, retries and errors. The HTTP method decides whether
a call writes. A read-only client, or a client of a read-only environment, refuses every write.
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
    """A client of both services with one credential.

    Several threads may share a client. Close it after use, or use it as a context manager.

    Parameters
    ----------
    services, credential
        The services' addresses; and the client id with the location of its secret.
    limits
        Limits of time, attempts and sizes; None means the defaults of `CallLimits`.
    clock, inner
        The clock and the innermost HTTP transport; tests replace them.

    Raises
    ------
    SettingsError
        An address is not filled in or not encrypted, or the environment names a proxy that cannot
        be used. If the secret cannot be read, the first call raises it.

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
        """Check that both services answer this credential.

        One account and one ramp request are read, because a first sync needs at least their lists.

        Raises
        ------
        ServiceError
            A service refused the call or could not be reached.

        Examples
        --------
        >>> client.require_answers()
        """
        self.finance.accounts.list(size=1)
        self.ramp.requests.list(size=1)

    def for_reading(self, propose: Callable[[str], str]) -> Client:
        """Return a read-only client that shares this client's connections and token.

        Parameters
        ----------
        propose
            A function that returns the advice for a refused operation, such as `POST
            /ramp-requests`.

        Returns
        -------
        Client
            The read-only client. Closing either client closes the connections of both.

        Examples
        --------
        >>> client.for_reading(lambda operation: "use t.actions").may_write
        False
        """
        reader = copy(self)
        reader._propose = propose  # noqa: SLF001 - one object, twice
        reader.finance, reader.ramp = Finance(reader), Ramp(reader)
        return reader

    def has_record(self, ids: tuple[str, ...]) -> bool:
        """Return True if the account exists, and its wallet if `ids` has a second id."""
        account, *wallets = ids
        try:
            if not wallets:
                self.finance.accounts.get(account)
                return True
            listed = self.finance.wallets.iterate(account)
            return any(wallet.value.id in wallets for wallet in listed)
        # The caller then reports its own 404.
        except errors.ServiceError:
            return False
