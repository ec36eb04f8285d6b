"""The finance service: parties, accounts, wallets, virtual bank accounts, transfers.

Each attribute is a collection of `resources`; its routes are the specification's. What is created
takes a body of `bodies`, which is checked and has its idempotency key from the moment it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from treasury.api.bodies import (
    AccountChanges,
    Body,
    NewAccount,
    NewAccountToAccountTransfer,
    NewCryptoTransfer,
    NewFiatTransfer,
    NewParty,
    NewPartyRole,
    NewPaymentRequest,
    NewPaymentSession,
    NewVirtualBankAccount,
    NewWallet,
    PartyChanges,
)
from treasury.api.codec import Record, decode, split
from treasury.api.models import (
    Account,
    Allowance,
    Balance,
    Party,
    PartyRole,
    PaymentRequest,
    PaymentSession,
    Permit,
    Transfer,
    VirtualBankAccount,
    Wallet,
)
from treasury.api.resources import Collection, Endpoint, Filter, UnpagedList

if TYPE_CHECKING:
    from treasury.api.service_calls import Reply, ServiceCalls

__all__ = ["Finance"]

FIND = "look it up with `find` and this body before sending it again"


class Parties(Collection[Party]):
    """Natural persons and companies; identity checks begin by themselves."""

    def create(self, body: NewParty) -> Record[Party]:
        """Create a party. Not repeated by itself: later generations ignore its key."""
        return self._send("POST", "/parties", body=body, look_up=FIND).record(Party)

    def update(self, party_id: str, body: PartyChanges) -> Record[Party]:
        """Change names, VAT number or address of what was read at `version`."""
        return self._send("PATCH", "/parties/{id}", party_id, body=body).record(Party)

    def delete(self, party_id: str) -> None:
        """Delete a party; documented services refuse one that has accounts."""
        self._send("DELETE", "/parties/{id}", party_id, look_up=_deletion_check("party", party_id))


class Accounts(Collection[Account]):
    """Accounts, each on one blockchain network."""

    def create(self, body: NewAccount) -> Record[Account]:
        """Open an account. Not repeated by itself: later generations ignore its key."""
        return self._send("POST", "/accounts", body=body, look_up=FIND).record(Account)

    def update(self, account_id: str, body: AccountChanges) -> Record[Account]:
        """Change an account; not offered by later generations."""
        return self._send("PATCH", "/accounts/{id}", account_id, body=body).record(Account)

    def delete(self, account_id: str) -> None:
        """Delete an account; not offered by later generations."""
        self._send(
            "DELETE", "/accounts/{id}", account_id, look_up=_deletion_check("account", account_id)
        )

    def reactivate(self, account_id: str) -> Record[Account]:
        """Make a suspended account active again; not offered by later generations."""
        route = "/accounts/{accountId}/reactivate"
        return self._send("POST", route, account_id).record(Account)


def _deletion_check(kind: str, record_id: str) -> str:
    return f"read {kind} {record_id}: it is deleted where the service does not know it any more"


class PartyRoles(UnpagedList[PartyRole]):
    """Who is what to an account."""

    def create(self, account_id: str, body: NewPartyRole) -> Record[PartyRole]:
        """Give a party a role. Not repeated by itself: later generations ignore its key."""
        return self._send("POST", self.route, account_id, body=body, look_up=FIND).record(PartyRole)


class _Sniff(msgspec.Struct, frozen=True):
    """Enough of a wallet list's row to tell a wallet from a bare balance."""

    id: str | None = None
    asset: str | None = None
    token: str | None = None


class AccountWallets(Collection[Wallet]):
    """Wallets with their balances; a bare balance row is a wallet without id that holds just it."""

    def create(self, account_id: str, body: NewWallet) -> Record[Wallet]:
        """Provision a wallet on the account's own chain. Not repeated by itself.

        Later generations provision it with the account and do not offer this.
        """
        return self._send("POST", self.route, account_id, body=body, look_up=FIND).record(Wallet)

    def permits(self, account_id: str, wallet_id: str) -> list[Record[Permit]]:
        """Signed leave to spend tokens: announced, and read only here."""
        route = f"{self.route}/{{walletId}}/permits"
        return self._ask(route, account_id, wallet_id).records(Permit)

    def allowances(self, account_id: str, wallet_id: str, asset: str) -> list[Record[Allowance]]:
        """What may be spent for a wallet: announced, and read only here."""
        route = f"{self.route}/{{walletId}}/allowances"
        reply = self._ask(route, account_id, wallet_id, params=(("asset", asset),))
        return reply.records(Allowance)

    def _records(self, reply: Reply) -> tuple[Record[Wallet], ...]:
        records = []
        for raw in split(reply.result, self._listing):
            row = decode(raw, _Sniff, reply.operation).value
            if row.id is not None or (row.asset or row.token) is None:
                records.append(reply.read(raw, Wallet))
            else:
                balance = reply.read(raw, Balance)
                wallet = Wallet(balances=(balance.value,))
                records.append(Record(wallet, raw, balance.credential))
        return tuple(records)


class VirtualBankAccounts(Collection[VirtualBankAccount]):
    """Where customers' euros arrive."""

    def create(self, account_id: str, body: NewVirtualBankAccount) -> Record[VirtualBankAccount]:
        """Issue a virtual bank account; later generations want the account verified first."""
        return self._send("POST", self.route, account_id, body=body).record(VirtualBankAccount)


class PaymentSessions(Endpoint[PaymentSession]):
    """Hosted checkouts. They cannot be read again: keep what `create` answers."""

    def create(self, account_id: str, body: NewPaymentSession) -> Record[PaymentSession]:
        """Open a checkout; `payment_url` is for the customer."""
        return self._send("POST", self.route, account_id, body=body).record(PaymentSession)


class Transfers(Collection[Transfer]):
    """Transfers of one account, on-chain and by SEPA; `account_role` is SENDER or RECEIVER."""

    def crypto(self, sender_account_id: str, body: NewCryptoTransfer) -> Record[Transfer]:
        """Send crypto; the sender's party has to be verified."""
        route = "/accounts/{senderAccountId}/transfers/crypto"
        return self._send("POST", route, sender_account_id, body=body).record(Transfer)

    def fiat(self, sender_account_id: str, body: NewFiatTransfer) -> Record[Transfer]:
        """Send fiat. Some services move stablecoin between accounts instead: no bank is implied."""
        route = "/accounts/{senderAccountId}/transfers/fiat"
        return self._send("POST", route, sender_account_id, body=body).record(Transfer)

    def create(
        self, sender_account_id: str, body: NewCryptoTransfer | NewFiatTransfer
    ) -> Record[Transfer]:
        """`POST /transfers`, whose body is not shown: the sender, and a body of either kind.

        Prefer `crypto` and `fiat`.
        """
        whole = _WithSender(sender_account_id=sender_account_id, transfer=body)
        return self._send("POST", "/transfers", body=whole).record(Transfer)

    def wait(
        self, account_id: str, transfer_id: str, *, timeout: float = 60.0, every: float = 2.0
    ) -> Record[Transfer]:
        """The transfer when it is final, or as it is after `timeout` seconds."""
        clock = self._client.clock
        until = clock.monotonic() + timeout
        record = self.get(account_id, transfer_id)
        while not record.value.is_final and clock.monotonic() < until:
            clock.sleep(every)
            record = self.get(account_id, transfer_id)
        return record

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "account_role":
            return super()._passes(value, name, condition, parents)
        side = {"SENDER": value.sender_account_id, "RECEIVER": value.receiver_account_id}
        account = side.get(str(condition))
        return account is None or account in parents


class _WithSender(Body, frozen=True, kw_only=True):
    """The sender's account beside the fields of a transfer; the key is the transfer's."""

    REPEATS = "keyed"

    sender_account_id: str
    transfer: NewCryptoTransfer | NewFiatTransfer

    @property
    def key(self) -> str | None:
        return self.transfer.key

    def wire(self) -> dict[str, Any]:
        return {"senderAccountId": self.sender_account_id, **self.transfer.wire()}


class AccountToAccountTransfers(Collection[Transfer]):
    """Transfers between two accounts of the service; not offered by later generations."""

    def create(self, body: NewAccountToAccountTransfer) -> Record[Transfer]:
        """Move funds without the blockchain."""
        return self._send("POST", self.route, body=body).record(Transfer)


class PaymentRequests(Endpoint[PaymentRequest]):
    """Payments tied to a card. They cannot be read again: keep what `create` answers."""

    def create(self, body: NewPaymentRequest) -> Record[PaymentRequest]:
        """Request a payment."""
        return self._send("POST", self.route, body=body).record(PaymentRequest)


class Finance:
    """Every operation of the finance service."""

    def __init__(self, client: ServiceCalls) -> None:
        account = "/accounts/{accountId}"
        self.parties: Parties = Parties(
            client, "finance", "/parties", Party, single="/parties/{id}",
            filters=("party_type", "status", "external_id"),
        )  # fmt: skip
        self.accounts: Accounts = Accounts(
            client, "finance", "/accounts", Account, single="/accounts/{id}",
            filters=("external_id", "status", "party_id"),
        )  # fmt: skip
        self.party_roles: PartyRoles = PartyRoles(
            client, "finance", f"{account}/party-roles", PartyRole
        )
        self.wallets: AccountWallets = AccountWallets(
            client, "finance", f"{account}/wallets", Wallet,
            filters=("chain", "status"),
            # the id, or the assets where balances came bare
            key=lambda wallet: wallet.id
            or tuple((b.asset, b.token, b.contract_address) for b in wallet.balances),
        )  # fmt: skip
        self.virtual_bank_accounts: VirtualBankAccounts = VirtualBankAccounts(
            client, "finance", f"{account}/virtual-bank-accounts", VirtualBankAccount,
            single=f"{account}/virtual-bank-accounts/{{virtualBankAccountId}}",
            filters=("bank_account_type", "status"),
        )  # fmt: skip
        self.payment_sessions: PaymentSessions = PaymentSessions(
            client, "finance", f"{account}/fiat-to-crypto/payment-sessions", PaymentSession
        )
        self.transfers: Transfers = Transfers(
            client, "finance", f"{account}/transfers", Transfer,
            single=f"{account}/transfers/{{transferId}}",
            filters=("account_role", "status"),
        )  # fmt: skip
        self.account_to_account_transfers: AccountToAccountTransfers = AccountToAccountTransfers(
            client, "finance", "/account-to-account-transfers", Transfer,
            filters=("source_account_id", "destination_account_id"),
        )  # fmt: skip
        self.payment_requests: PaymentRequests = PaymentRequests(
            client, "finance", "/payment-requests", PaymentRequest
        )
