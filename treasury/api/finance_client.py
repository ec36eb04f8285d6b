"""The finance service: parties, accounts, wallets, virtual bank accounts, transfers.

Each attribute of `Finance` offers the operations of one kind of record; their base classes are in
`resources`. A method that creates or changes a record takes a struct of `bodies`. The struct checks
its values and fixes its idempotency key when it is constructed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.api import models
from treasury.api.endpoints.party_endpoints import Accounts, Parties, PartyRoles
from treasury.api.endpoints.payment_endpoints import (
    PaymentRequests,
    PaymentSessions,
    VirtualBankAccounts,
)
from treasury.api.endpoints.transfer_endpoints import AccountToAccountTransfers, Transfers
from treasury.api.endpoints.wallet_endpoints import AccountWallets

if TYPE_CHECKING:
    from treasury.api.operations import Service
    from treasury.api.service_calls import ServiceCalls


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
