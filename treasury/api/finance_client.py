"""The finance service: parties, accounts, wallets, virtual bank accounts, transfers.

Each attribute is a collection of `resources` with the specification's routes. A create takes a body
of `bodies`, which is checked and given its idempotency key on creation.
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
    """Natural persons and companies; identity checks start automatically."""

    def create(self, body: bodies.NewParty) -> Record[models.Party]:
        """Create a party, without automatic retries: later generations ignore the key."""
        return self._write("POST", "/parties", body=body, look_up=_FIND)

    def update(self, party_id: str, body: bodies.PartyChanges) -> Record[models.Party]:
        """Change names, VAT number or address of the party read at `version`."""
        return self._write("PATCH", "/parties/{id}", party_id, body=body)

    def delete(self, party_id: str) -> None:
        """Delete a party; documented services refuse one that has accounts."""
        self._send("DELETE", "/parties/{id}", party_id, look_up=_deletion_check("party", party_id))


class Accounts(Collection[models.Account]):
    """Accounts, each on one blockchain network."""

    def create(self, body: bodies.NewAccount) -> Record[models.Account]:
        """Open an account, without automatic retries: later generations ignore the key."""
        return self._write("POST", "/accounts", body=body, look_up=_FIND)

    def update(self, account_id: str, body: bodies.AccountChanges) -> Record[models.Account]:
        """Change an account; not offered by later generations."""
        return self._write("PATCH", "/accounts/{id}", account_id, body=body)

    def delete(self, account_id: str) -> None:
        """Delete an account. Later generations of the service do not offer this."""
        self._send(
            "DELETE", "/accounts/{id}", account_id, look_up=_deletion_check("account", account_id)
        )

    def reactivate(self, account_id: str) -> Record[models.Account]:
        """Make a suspended account active again; not offered by later generations."""
        route = "/accounts/{accountId}/reactivate"
        return self._write("POST", route, account_id)


def _deletion_check(kind: str, record_id: str) -> str:
    return f"read {kind} {record_id}: it is deleted if the service does not find it"


class PartyRoles(UnpagedList[models.PartyRole]):
    """Roles of parties in an account."""

    def create(self, account_id: str, body: bodies.NewPartyRole) -> Record[models.PartyRole]:
        """Give a party a role, without automatic retries: later generations ignore the key."""
        return self._write("POST", self.route, account_id, body=body, look_up=_FIND)


class _Sniff(msgspec.Struct, frozen=True):
    """The fields of a wallet list's row that distinguish a wallet from a bare balance."""

    id: str | None = None
    asset: str | None = None
    token: str | None = None


class AccountWallets(Collection[models.Wallet]):
    """Wallets with their balances; a bare balance row becomes a wallet without an id."""

    def create(self, account_id: str, body: bodies.NewWallet) -> Record[models.Wallet]:
        """Create a wallet on the account's own chain, without automatic retries.

        Later generations create it with the account and do not offer this operation.
        """
        return self._write("POST", self.route, account_id, body=body, look_up=_FIND)

    def permits(self, account_id: str, wallet_id: str) -> list[Record[models.Permit]]:
        """Return the signed permissions to spend tokens: an announced resource, read-only here."""
        route = f"{self.route}/{{walletId}}/permits"
        return self._ask(route, account_id, wallet_id).records(models.Permit)

    def allowances(
        self, account_id: str, wallet_id: str, asset: str
    ) -> list[Record[models.Allowance]]:
        """Return the allowances of a wallet: an announced resource, read-only here."""
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
        """Issue a virtual bank account; later generations require a verified account."""
        return self._write("POST", self.route, account_id, body=body)


class PaymentSessions(Endpoint[models.PaymentSession]):
    """Hosted checkouts. They cannot be read again, so keep the answer of `create`."""

    def create(
        self, account_id: str, body: bodies.NewPaymentSession
    ) -> Record[models.PaymentSession]:
        """Open a checkout; `payment_url` is for the customer."""
        return self._write("POST", self.route, account_id, body=body)


class Transfers(Collection[models.Transfer]):
    """Transfers of one account, on-chain and by SEPA; `account_role` is SENDER or RECEIVER."""

    def crypto(
        self, sender_account_id: str, body: bodies.NewCryptoTransfer
    ) -> Record[models.Transfer]:
        """Send crypto; the sender's party must be verified."""
        route = "/accounts/{senderAccountId}/transfers/crypto"
        return self._write("POST", route, sender_account_id, body=body)

    def fiat(self, sender_account_id: str, body: bodies.NewFiatTransfer) -> Record[models.Transfer]:
        """Send fiat to an account of the service, or by SEPA to `body.bank_receiver`.

        Some services move stablecoin between accounts instead, so a fiat transfer alone does not
        prove a bank payment. Raise InputError if the field names of a bank receiver are not
        configured.
        """
        route = "/accounts/{senderAccountId}/transfers/fiat"
        return self._write("POST", route, sender_account_id, body=self._with_names(body))

    def create(
        self, sender_account_id: str, body: bodies.NewCryptoTransfer | bodies.NewFiatTransfer
    ) -> Record[models.Transfer]:
        """Send a transfer of either kind by `POST /transfers`, which has an undocumented body.

        Prefer `crypto` and `fiat`.
        """
        whole = _WithSender(sender_account_id=sender_account_id, transfer=self._with_names(body))
        return self._write("POST", "/transfers", body=whole)

    def wait(
        self, account_id: str, transfer_id: str, *, timeout: float = 60.0, every: float = 2.0
    ) -> Record[models.Transfer]:
        """Return the transfer once it is final, or its state after `timeout` seconds.

        Parameters
        ----------
        account_id, transfer_id
            An account of the transfer, and its id.
        timeout, every
            The maximum time and the pause between two reads, in seconds.

        Returns
        -------
        Record
            The transfer as last read.

        Raises
        ------
        ServiceError
            The service does not know the transfer or could not be reached.
        """
        clock = self.client.clock
        until = clock.monotonic() + timeout
        record = self.get(account_id, transfer_id)
        while not record.value.is_final and clock.monotonic() < until:
            clock.sleep(every)
            record = self.get(account_id, transfer_id)
        return record

    def _with_names(self, body: _NewTransfer) -> _NewTransfer | _ToBank:
        """Return the body, with a bank receiver under the configured field names."""
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
    """A fiat transfer to a bank account, under the field names of this service."""

    REPEATS = "keyed"

    transfer: bodies.NewFiatTransfer
    names: BankReceiverFields

    @property
    def key(self) -> str | None:
        return self.transfer.key

    def wire(self) -> dict[str, Any]:
        return self.transfer.wire_to_bank(self.names)


class _WithSender(bodies.Body, frozen=True, kw_only=True):
    """The sender's account together with the fields of a transfer; the key is the transfer's."""

    REPEATS = "keyed"

    sender_account_id: str
    transfer: bodies.NewCryptoTransfer | bodies.NewFiatTransfer | _ToBank

    @property
    def key(self) -> str | None:
        return self.transfer.key

    def wire(self) -> dict[str, Any]:
        return {"senderAccountId": self.sender_account_id, **self.transfer.wire()}


class AccountToAccountTransfers(Collection[models.Transfer]):
    """Transfers between two accounts of the service; not offered by later generations."""

    def create(self, body: bodies.NewAccountToAccountTransfer) -> Record[models.Transfer]:
        """Move funds without the blockchain."""
        return self._write("POST", self.route, body=body)


class PaymentRequests(Endpoint[models.PaymentRequest]):
    """Payments tied to a card. They cannot be read again, so keep the answer of `create`."""

    def create(self, body: bodies.NewPaymentRequest) -> Record[models.PaymentRequest]:
        """Request a payment."""
        return self._write("POST", self.route, body=body)


class Finance:
    """Every operation of the finance service."""

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
            # The id, or the assets if the service lists bare balances.
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
