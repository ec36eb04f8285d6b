"""Operations on the wallets of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from treasury.api import bodies, models
from treasury.api.codec import Record, decode, split
from treasury.api.created_records import FIND_FIRST
from treasury.api.resources import Collection

if TYPE_CHECKING:
    from treasury.api.service_calls import Reply


class _Sniff(msgspec.Struct, frozen=True):
    """The fields of a row in the wallet list that tell a wallet from a bare balance."""

    id: str | None = None
    asset: str | None = None
    token: str | None = None


class AccountWallets(Collection[models.Wallet]):
    """An account's wallets with their balances.

    Some services list balances without wallets. Each such balance becomes a wallet without an id.
    """

    def create(self, account_id: str, body: bodies.NewWallet) -> Record[models.Wallet]:
        """Create a wallet on the account's own chain.

        Later generations of the service create the wallet with the account and do not offer this
        operation. The call is not retried automatically, because a key does not make repeats safe.

        Parameters
        ----------
        account_id
            The id of the account.
        body
            The chain of the wallet.

        Returns
        -------
        Record
            The created wallet.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> body = bodies.NewWallet(chain=account.chain)
        >>> client.finance.wallets.create(account.id, body).value.chain == account.chain
        True
        """
        return self._write("POST", self.route, account_id, body=body, look_up=FIND_FIRST)

    def permits(self, account_id: str, wallet_id: str) -> list[Record[models.Permit]]:
        """Return the signed permissions to spend tokens from a wallet.

        The specification announces this resource without documenting it completely. The client
        only reads it.

        Parameters
        ----------
        account_id, wallet_id
            The ids of the account and of its wallet.

        Returns
        -------
        list of Record
            The permits.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> wallet = client.finance.wallets.list(account.id).items[0].value
        >>> permits = client.finance.wallets.permits(account.id, wallet.id)  # doctest: +SKIP
        >>> permits[0].value.asset  # doctest: +SKIP
        'USDC'
        """
        route = f"{self.route}/{{walletId}}/permits"
        return self._ask(route, account_id, wallet_id).records(models.Permit)

    def allowances(
        self, account_id: str, wallet_id: str, asset: str
    ) -> list[Record[models.Allowance]]:
        """Return the amounts of an asset that others may spend from a wallet.

        The specification announces this resource without documenting it completely. The client
        only reads it.

        Parameters
        ----------
        account_id, wallet_id
            The ids of the account and of its wallet.
        asset
            The code of the asset, such as `USDC`.

        Returns
        -------
        list of Record
            The allowances; their unit is not documented.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> wallet = client.finance.wallets.list(account.id).items[0].value
        >>> allowances = client.finance.wallets.allowances(  # doctest: +SKIP
        ...     account.id, wallet.id, "USDC"
        ... )
        >>> allowances[0].value.is_unlimited  # doctest: +SKIP
        True
        """
        route = f"{self.route}/{{walletId}}/allowances"
        reply = self._ask(route, account_id, wallet_id, params=(("asset", asset),))
        return reply.records(models.Allowance)

    def _records(self, reply: Reply) -> tuple[Record[models.Wallet], ...]:
        records = []
        for raw in split(reply.result, self._listing):
            row = decode(raw, _Sniff, reply.operation).value
            if row.id is not None or (row.asset or row.token) is None:
                records.append(reply.read(raw, models.Wallet))
            else:
                balance = reply.read(raw, models.Balance)
                wallet = models.Wallet(balances=(balance.value,))
                records.append(Record(wallet, raw, balance.credential))
        return tuple(records)
