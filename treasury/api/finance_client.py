"""The finance service: parties, accounts, wallets, virtual bank accounts, transfers.

Each attribute of `Finance` offers the operations of one kind of record, by the base classes in
`resources`. A method that creates or changes a record takes a struct of `bodies`. The struct checks
its values and fixes its idempotency key when it is constructed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from treasury.api import bodies, models
from treasury.api.codec import Record, decode, split
from treasury.api.resources import Collection, Endpoint, Filter, UnpagedList
from treasury.core.settings import BankReceiverFields

if TYPE_CHECKING:
    from treasury.api.operations import Service
    from treasury.api.service_calls import Reply, ServiceCalls

_FIND = "look it up with `find` and this body before sending it again"


class Parties(Collection[models.Party]):
    """Parties (natural persons and companies); the service checks the identity of each new one."""

    def create(self, body: bodies.NewParty) -> Record[models.Party]:
        """Create a party.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        body
            The party: a person or a company.

        Returns
        -------
        Record
            The created party.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Quay Foods BV")
        >>> client.finance.parties.create(body).value.name
        'Quay Foods BV'
        """
        return self._write("POST", "/parties", body=body, look_up=_FIND)

    def update(self, party_id: str, body: bodies.PartyChanges) -> Record[models.Party]:
        """Change a party's names, VAT number or address.

        Parameters
        ----------
        party_id
            The id of the party.
        body
            The changed fields, and the version of the party on which the change is based.

        Returns
        -------
        Record
            The changed party.

        Raises
        ------
        VersionConflict
            The party changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Quay Food BV")
        >>> party = client.finance.parties.create(body).value
        >>> changes = bodies.PartyChanges(name="Quay Foods BV", version=party.version)
        >>> client.finance.parties.update(party.id, changes).value.name
        'Quay Foods BV'
        """
        return self._write("PATCH", "/parties/{id}", party_id, body=body)

    def delete(self, party_id: str) -> None:
        """Delete a party. Documented services refuse to delete a party that has accounts.

        Parameters
        ----------
        party_id
            The id of the party.

        Raises
        ------
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Short Lived BV")
        >>> party = client.finance.parties.create(body).value
        >>> client.finance.parties.delete(party.id)
        """
        self._send("DELETE", "/parties/{id}", party_id, look_up=_deletion_check("party", party_id))


class Accounts(Collection[models.Account]):
    """Accounts, each on one blockchain network."""

    def create(self, body: bodies.NewAccount) -> Record[models.Account]:
        """Open an account.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        body
            The account, with the id of its party or with a new party.

        Returns
        -------
        Record
            The created account.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-1", chain="BASE", party_id=party.id)
        >>> client.finance.accounts.create(body).value.chain
        'BASE'
        """
        return self._write("POST", "/accounts", body=body, look_up=_FIND)

    def update(self, account_id: str, body: bodies.AccountChanges) -> Record[models.Account]:
        """Change an account. Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.
        body
            The changed fields.

        Returns
        -------
        Record
            The changed account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-2", chain="BASE", party_id=party.id)
        >>> account = client.finance.accounts.create(body).value
        >>> changes = bodies.AccountChanges(external_id="reserve-3")
        >>> client.finance.accounts.update(account.id, changes).value.external_id
        'reserve-3'
        """
        return self._write("PATCH", "/accounts/{id}", account_id, body=body)

    def delete(self, account_id: str) -> None:
        """Delete an account. Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> party = client.finance.parties.list(size=1).items[0].value
        >>> body = bodies.NewAccount(external_id="reserve-4", chain="BASE", party_id=party.id)
        >>> account = client.finance.accounts.create(body).value
        >>> client.finance.accounts.delete(account.id)
        """
        self._send(
            "DELETE", "/accounts/{id}", account_id, look_up=_deletion_check("account", account_id)
        )

    def reactivate(self, account_id: str) -> Record[models.Account]:
        """Reactivate a suspended account.

        Later generations of the service do not offer this operation.

        Parameters
        ----------
        account_id
            The id of the account.

        Returns
        -------
        Record
            The account.

        Raises
        ------
        NotOffered
            The service does not have the operation.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> for suspended in client.finance.accounts.iterate(status="SUSPENDED"):
        ...     reactivated = client.finance.accounts.reactivate(suspended.value.id)
        """
        route = "/accounts/{accountId}/reactivate"
        return self._write("POST", route, account_id)


def _deletion_check(kind: str, record_id: str) -> str:
    return f"read {kind} {record_id}: it is deleted if the service does not find it"


class PartyRoles(UnpagedList[models.PartyRole]):
    """The roles that parties have in an account."""

    def create(self, account_id: str, body: bodies.NewPartyRole) -> Record[models.PartyRole]:
        """Give a party a role in an account.

        The call is not retried automatically, because later generations of the service ignore
        the idempotency key.

        Parameters
        ----------
        account_id
            The id of the account.
        body
            The party and its role.

        Returns
        -------
        Record
            The created role.

        Raises
        ------
        OutcomeUnknown
            The answer was lost; look the record up with `find` before sending it again.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1, sort_order="DESC").items[0].value
        >>> new_party = bodies.NewParty(party_type="ORGANISATION", name="Lock Gate BV")
        >>> party = client.finance.parties.create(new_party).value
        >>> body = bodies.NewPartyRole(party_id=party.id, role_type="ACCOUNT_HOLDER")
        >>> client.finance.party_roles.create(account.id, body).value.role_type
        'ACCOUNT_HOLDER'
        """
        return self._write("POST", self.route, account_id, body=body, look_up=_FIND)


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
        return self._write("POST", self.route, account_id, body=body, look_up=_FIND)

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


class VirtualBankAccounts(Collection[models.VirtualBankAccount]):
    """Virtual bank accounts, which receive customers' euros."""

    def create(
        self, account_id: str, body: bodies.NewVirtualBankAccount
    ) -> Record[models.VirtualBankAccount]:
        """Issue a virtual bank account.

        Later generations of the service require a verified account.

        Parameters
        ----------
        account_id
            The id of the account that receives the deposits.
        body
            The name, the currency of the deposits and the cryptocurrency they become.

        Returns
        -------
        Record
            The created virtual bank account.

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
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> body = bodies.NewVirtualBankAccount(
        ...     name="Shop deposits", in_currency="EUR", target_cryptocurrency="USDC"
        ... )
        >>> client.finance.virtual_bank_accounts.create(account.id, body).value.currency
        'EUR'
        """
        return self._write("POST", self.route, account_id, body=body)


class PaymentSessions(Endpoint[models.PaymentSession]):
    """Hosted checkouts. No operation reads a checkout later, so keep the answer of `create`."""

    def create(
        self, account_id: str, body: bodies.NewPaymentSession
    ) -> Record[models.PaymentSession]:
        """Open a checkout, where a customer pays in fiat and the account receives crypto.

        Parameters
        ----------
        account_id
            The id of the account that receives the crypto.
        body
            The amount in `in_currency`, the cryptocurrency, and the callback addresses.

        Returns
        -------
        Record
            The checkout; the customer pays at its `payment_url`.

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
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> body = bodies.NewPaymentSession(
        ...     in_amount="25.00",
        ...     in_currency="EUR",
        ...     out_cryptocurrency="USDC",
        ...     callback_url="https://shop.example/paid",
        ... )
        >>> client.finance.payment_sessions.create(account.id, body).value.payment_url is not None
        True
        """
        return self._write("POST", self.route, account_id, body=body)


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


class PaymentRequests(Endpoint[models.PaymentRequest]):
    """Payments tied to a card. No operation reads one later, so keep the answer of `create`."""

    def create(self, body: bodies.NewPaymentRequest) -> Record[models.PaymentRequest]:
        """Request a payment that is tied to a card provider's reference.

        Parameters
        ----------
        body
            The reference, and the amount in `currency`.

        Returns
        -------
        Record
            The created payment request.

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
        >>> body = bodies.NewPaymentRequest(
        ...     type="paymentology", reference_id="ops-usd", amount="12.50", currency="EUR"
        ... )
        >>> client.finance.payment_requests.create(body).value.fiat_amount
        Decimal('12.5')
        """
        return self._write("POST", self.route, body=body)


class Finance:
    """Every operation of the finance service, by kind of record; available as `client.finance`."""

    def __init__(self, client: ServiceCalls) -> None:
        at: tuple[ServiceCalls, Service] = client, "finance"
        account = "/accounts/{accountId}"
        self.parties: Parties = Parties(
            *at, "/parties", models.Party, single="/parties/{id}",
            filters=("party_type", "status", "external_id"),
        )  # fmt: skip
        self.accounts: Accounts = Accounts(
            *at, "/accounts", models.Account, single="/accounts/{id}",
            filters=("external_id", "status", "party_id"),
        )  # fmt: skip
        self.party_roles: PartyRoles = PartyRoles(*at, f"{account}/party-roles", models.PartyRole)
        self.wallets: AccountWallets = AccountWallets(
            *at, f"{account}/wallets", models.Wallet,
            filters=("chain", "status"),
            # Wallets made from bare balances have no id, so their assets identify them.
            key=lambda wallet: wallet.id
            or tuple((b.asset, b.token, b.contract_address) for b in wallet.balances),
        )  # fmt: skip
        self.virtual_bank_accounts: VirtualBankAccounts = VirtualBankAccounts(
            *at, f"{account}/virtual-bank-accounts", models.VirtualBankAccount,
            single=f"{account}/virtual-bank-accounts/{{virtualBankAccountId}}",
            filters=("bank_account_type", "status"),
        )  # fmt: skip
        self.payment_sessions: PaymentSessions = PaymentSessions(
            *at, f"{account}/fiat-to-crypto/payment-sessions", models.PaymentSession
        )
        self.transfers: Transfers = Transfers(
            *at, f"{account}/transfers", models.Transfer,
            single=f"{account}/transfers/{{transferId}}",
            filters=("account_role", "status"),
        )  # fmt: skip
        self.account_to_account_transfers: AccountToAccountTransfers = AccountToAccountTransfers(
            *at, "/account-to-account-transfers", models.Transfer,
            filters=("source_account_id", "destination_account_id"),
        )  # fmt: skip
        self.payment_requests: PaymentRequests = PaymentRequests(
            *at, "/payment-requests", models.PaymentRequest
        )
