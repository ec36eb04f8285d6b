"""Operations on transfers, on a blockchain, by SEPA or between two accounts."""

from __future__ import annotations

from typing import Any

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.api.resources import Collection, Filter
from treasury.core.settings import BankReceiverFields


class Transfers(Collection[models.Transfer]):
    """An account's transfers, on a blockchain or by SEPA.

    The filter `account_role` is `SENDER` or `RECEIVER`.
    """

    def crypto(
        self, sender_account_id: str, body: bodies.NewCryptoTransfer
    ) -> Record[models.Transfer]:
        """Send crypto from an account with a verified party.

        Parameters
        ----------
        sender_account_id
            The id of the account that pays.
        body
            The receiver, and the amount in units of `asset`.

        Returns
        -------
        Record
            The created transfer.

        Raises
        ------
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> sender, receiver = [record.value for record in client.finance.accounts.list(size=2)]
        >>> body = bodies.NewCryptoTransfer(
        ...     chain=sender.chain, asset="USDC", amount="1.5", receiver_account_id=receiver.id
        ... )
        >>> client.finance.transfers.crypto(sender.id, body).value.amount
        Decimal('1.5')
        """
        route = "/accounts/{senderAccountId}/transfers/crypto"
        return self._write("POST", route, sender_account_id, body=body)

    def fiat(self, sender_account_id: str, body: bodies.NewFiatTransfer) -> Record[models.Transfer]:
        """Send fiat to an account of the service, or by SEPA to `body.bank_receiver`.

        Some services move stablecoin between accounts instead of fiat, so a fiat transfer alone
        does not prove a bank payment.

        Parameters
        ----------
        sender_account_id
            The id of the account that pays.
        body
            The receiver, and the amount in `currency`.

        Returns
        -------
        Record
            The created transfer.

        Raises
        ------
        InputError
            The body has a bank receiver, but `treasury.toml` has no `[services.bank_receiver]`.
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> sender, receiver = [record.value for record in client.finance.accounts.list(size=2)]
        >>> body = bodies.NewFiatTransfer(
        ...     amount="10.00", currency="EUR", receiver_account_id=receiver.id
        ... )
        >>> client.finance.transfers.fiat(sender.id, body).value.fiat_origin.currency
        'EUR'
        """
        route = "/accounts/{senderAccountId}/transfers/fiat"
        return self._write("POST", route, sender_account_id, body=self._with_names(body))

    def create(
        self, sender_account_id: str, body: bodies.NewCryptoTransfer | bodies.NewFiatTransfer
    ) -> Record[models.Transfer]:
        """Send a transfer of either kind by `POST /transfers`.

        Prefer `crypto` and `fiat`, because the specification does not document the body of
        `POST /transfers`.

        Parameters
        ----------
        sender_account_id
            The id of the account that pays.
        body
            The transfer, as for `crypto` or `fiat`.

        Returns
        -------
        Record
            The created transfer.

        Raises
        ------
        InputError
            The body has a bank receiver, but `treasury.toml` has no `[services.bank_receiver]`.
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> sender, receiver = [record.value for record in client.finance.accounts.list(size=2)]
        >>> body = bodies.NewCryptoTransfer(
        ...     chain=sender.chain, asset="USDC", amount="2", receiver_account_id=receiver.id
        ... )
        >>> client.finance.transfers.create(sender.id, body).value.asset
        'USDC'
        """
        whole = _WithSender(sender_account_id=sender_account_id, transfer=self._with_names(body))
        return self._write("POST", "/transfers", body=whole)

    def wait(
        self, account_id: str, transfer_id: str, *, timeout: float = 60.0, every: float = 2.0
    ) -> Record[models.Transfer]:
        """Wait until a transfer is final, for at most `timeout` seconds.

        Parameters
        ----------
        account_id, transfer_id
            The id of the sender's or receiver's account, and the id of the transfer.
        timeout, every
            The maximum time to wait, and the pause between two reads, both in seconds.

        Returns
        -------
        Record
            The transfer as last read; check its `is_final`.

        Raises
        ------
        ServiceError
            The service does not know the transfer or could not be reached.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> (transfer, *_) = client.finance.transfers.iterate(account.id, status="COMPLETED")
        >>> client.finance.transfers.wait(account.id, transfer.value.id).value.is_final
        True
        """
        clock = self.client.clock
        until = clock.monotonic() + timeout
        record = self.get(account_id, transfer_id)
        while not record.value.is_final and clock.monotonic() < until:
            clock.sleep(every)
            record = self.get(account_id, transfer_id)
        return record

    def _with_names(self, body: _NewTransfer) -> _NewTransfer | _ToBank:
        """Return the body; a bank receiver uses the field names set in `treasury.toml`."""
        names = self.client.bank_receiver
        if names is None or not isinstance(body, bodies.NewFiatTransfer) or not body.bank_receiver:
            return body
        return _ToBank(transfer=body, names=names)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "account_role":
            return super()._passes(value, name, condition, parents)
        side = {"SENDER": value.sender_account_id, "RECEIVER": value.receiver_account_id}
        account = side.get(str(condition))
        return account is None or account in parents


_NewTransfer = bodies.NewCryptoTransfer | bodies.NewFiatTransfer


class _ToBank(bodies.Body, frozen=True, kw_only=True):
    """A fiat transfer to a bank account, with the field names that this service uses."""

    REPEATS = "keyed"

    transfer: bodies.NewFiatTransfer
    names: BankReceiverFields

    @property
    def key(self) -> str | None:
        return self.transfer.key

    def wire(self) -> dict[str, Any]:
        return self.transfer.wire_to_bank(self.names)


class _WithSender(bodies.Body, frozen=True, kw_only=True):
    """A transfer with its sender's account; its key is the transfer's key."""

    REPEATS = "keyed"

    sender_account_id: str
    transfer: bodies.NewCryptoTransfer | bodies.NewFiatTransfer | _ToBank

    @property
    def key(self) -> str | None:
        return self.transfer.key

    def wire(self) -> dict[str, Any]:
        return {"senderAccountId": self.sender_account_id, **self.transfer.wire()}


class AccountToAccountTransfers(Collection[models.Transfer]):
    """Transfers between two accounts of the service.

    Later generations of the service do not offer these operations.
    """

    def create(self, body: bodies.NewAccountToAccountTransfer) -> Record[models.Transfer]:
        """Move funds between two accounts within the service, without a blockchain transaction.

        Parameters
        ----------
        body
            The two accounts, and the amount in units of `cryptocurrency`.

        Returns
        -------
        Record
            The created transfer.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost. Sending the same body again is safe: its key is executed once.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> source, destination = [record.value for record in client.finance.accounts.list(size=2)]
        >>> body = bodies.NewAccountToAccountTransfer(
        ...     source_account_id=source.id,
        ...     destination_account_id=destination.id,
        ...     amount="3",
        ...     cryptocurrency="USDC",
        ... )
        >>> client.finance.account_to_account_transfers.create(body).value.cryptocurrency
        'USDC'
        """
        return self._write("POST", self.route, body=body)
