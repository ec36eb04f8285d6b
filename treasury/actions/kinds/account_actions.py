"""Actions on an account or a card: virtual accounts, wallets, checkouts, card payments.

Most calls have an idempotency key, so they may be repeated. Some generations of the service ignore
the key when a wallet is created, and reactivation has no body for a key, so both are sent at most
once. Checkouts and card payments cannot be read later, so the answers to their creation are stored.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds import service_records as service
from treasury.actions.kinds.kind import (
    AssetAmount,
    Findings,
    Kind,
    Sent,
    body_from,
    describe,
    ending,
    exact_facts,
    find_by_key,
    find_created,
    is_created,
    lately_like,
    read_back,
    states,
)
from treasury.actions.kinds.transfer_actions import account_name, active
from treasury.api import bodies, models
from treasury.core.errors import InputError
from treasury.core.text import clean

_PAID_IN: Final = ("EUR",)
_COINS: Final = ("USDC", "EURC", "USDT")
"""The coins into which euros can be converted, according to the specification."""


class OnAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The field that names the account at the finance service."""

    account_id: str


class WalletOn(OnAccount, frozen=True, kw_only=True):
    """A new custodial wallet on the account's own chain."""

    chain: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the account, and check its chain."""
        account = records.require(service.ACCOUNT, self.account_id, "account_id")
        chains = {account.chain}
        if not account.chain:
            chains = {wallet.chain for wallet in records.all(service.WALLETS, account.id)}
        chains -= {None}
        places, problem = ", ".join(sorted(filter(None, chains))), ""
        if chains and self.chain not in chains:
            problem = f"account {account_name(account)} is on {places}, not on {self.chain}"
        return describe(
            [*_on(account), fact("account chain", places or None, field="chain", problem=problem)],
            lambda masked: f"wallet on {self.chain} for account {account_name(account, masked)}.",
        )


class NewVirtualAccount(OnAccount, frozen=True, kw_only=True):
    """A new IBAN, and the coin to which received euros are converted."""

    name: str
    in_currency: str
    target_cryptocurrency: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the account, and check that the currency and the coin are offered."""
        _offered(self.in_currency, _PAID_IN, "in_currency")
        _offered(self.target_cryptocurrency, _COINS, "target_cryptocurrency")
        account = records.require(service.ACCOUNT, self.account_id, "account_id")
        lead = f'virtual account "{clean(self.name)}" in {self.in_currency}, converted into'
        coin = self.target_cryptocurrency
        return describe(
            _on(account),
            lambda masked: f"{lead} {coin}, for account {account_name(account, masked)}.",
        )


class Checkout(OnAccount, frozen=True, kw_only=True):
    """A new hosted checkout, with the customer's amount and the coin that the account receives."""

    in_amount: Decimal
    in_currency: str
    out_cryptocurrency: str
    callback_url: str
    success_redirect_url: str | None = None
    failure_redirect_url: str | None = None

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the account, and check that the currency and the coin are offered."""
        _offered(self.in_currency, _PAID_IN, "in_currency")
        _offered(self.out_cryptocurrency, _COINS, "out_cryptocurrency")
        account = records.require(service.ACCOUNT, self.account_id, "account_id")
        money = AssetAmount(self.in_currency, self.in_amount)
        lead = f"checkout of {money}, paid out as {self.out_cryptocurrency} to account"
        return describe(
            [*_on(account), *exact_facts(self.in_amount, self.in_currency, "in_amount")],
            lambda masked: f"{lead} {account_name(account, masked)}.",
            money=money,
        )


class CardPayment(msgspec.Struct, frozen=True, kw_only=True):
    """A payment for a card provider's reference; `type` is the agreed name of that provider."""

    type: str
    reference_id: str
    amount: Decimal
    currency: str
    external_id: str | None = None
    description: str | None = None

    def read(self, _: service.ServiceRecords) -> Findings:
        """Describe the card and the amount; the service shows neither."""
        money = AssetAmount(self.currency, self.amount)
        reference = clean(self.reference_id)
        end = f', described as "{clean(self.description)}"' if self.description else ""
        lead = f"{money} for the {clean(self.type)} card reference"
        return describe(
            (
                fact("card", f"{self.type} {self.reference_id}"),
                *exact_facts(self.amount, self.currency),
            ),
            lambda masked: f"{lead} {ending(reference, masked)}{end}.",
            money=money,
        )


def _offered(value: str, offered: tuple[str, ...], field: str) -> None:
    if value not in offered:
        raise InputError(
            f"{field}: {clean(value)!r} is not offered", do=f"use one of: {', '.join(offered)}"
        )


def _on(account: models.Account) -> list[Fact]:
    return [fact("account", account_name(account)), active(account, "account", "account_id")]


def _read_suspended(fields: OnAccount, records: service.ServiceRecords) -> Findings:
    account = records.require(service.ACCOUNT, fields.account_id, "account_id")
    wrong = account.status != "SUSPENDED"
    problem = f"account {account_name(account)} is {account.status}, not SUSPENDED" if wrong else ""
    return describe(
        (
            fact("account", account_name(account)),
            fact("account status", account.status, field="account_id", problem=clean(problem)),
        ),
        lambda masked: f"account {account_name(account, masked)}.",
    )


def _is_virtual(account: models.VirtualBankAccount, sent: Sent) -> bool:
    likeness = (sent.fields.name, sent.fields.target_cryptocurrency)
    return (
        account.id not in sent.foreign_ids
        and (account.name, account.target_cryptocurrency) == likeness
    )


ACCOUNT_KINDS: Final = (
    Kind(
        name="payment_session.create",
        verb="Open a",
        consequence="Anyone who has its address can pay into the account.",
        operation="POST /accounts/{accountId}/fiat-to-crypto/payment-sessions",
        safety="keyed",
        fields=Checkout,
        model=models.PaymentSession,
        ids=("account_id",),
        body=body_from(bodies.NewPaymentSession),
        shows=states("in_amount", "in_currency"),
        second_person=False,  # Money can only come in.
    ),
    Kind(
        name="payment_request.create",
        verb="Request",
        consequence="The amount is set aside in the wallet behind the card.",
        operation="POST /payment-requests",
        safety="keyed",
        fields=CardPayment,
        model=models.PaymentRequest,
        body=body_from(bodies.NewPaymentRequest),
        shows=states("amount", "currency"),
    ),
    Kind(
        name="virtual_account.create",
        verb="Create",
        consequence="Euros that arrive on it are converted automatically.",
        operation="POST /accounts/{accountId}/virtual-bank-accounts",
        safety="keyed",
        fields=NewVirtualAccount,
        model=models.VirtualBankAccount,
        ids=("account_id",),
        body=body_from(bodies.NewVirtualBankAccount),
        shows=_is_virtual,
        look_up=find_by_key(
            "GET /accounts/{accountId}/virtual-bank-accounts",
            lambda client, sent: client.finance.virtual_bank_accounts.iterate(
                *sent.ids, sort_order="DESC"
            ),
            "name",
            "target_cryptocurrency",
            reference="name",
        ),
        alike=lambda client, fields, _: (
            record.value
            for record in client.finance.virtual_bank_accounts.iterate(fields.account_id)
        ),
        twins=lately_like(service.VIRTUAL_ACCOUNTS, "account_id", "name", "target_cryptocurrency"),
        second_person=False,
    ),
    Kind(
        name="wallet.create",
        verb="Create",
        consequence="The service holds its keys.",
        operation="POST /accounts/{accountId}/wallets",
        fields=WalletOn,
        model=models.Wallet,
        ids=("account_id",),
        body=body_from(bodies.NewWallet),
        has_key=True,
        # Only custodial wallets have an address and one of the other fields.
        shows=lambda wallet, sent: (
            bool(wallet.address and (wallet.account_id or wallet.type or wallet.status))
            and is_created(wallet, sent)
        ),
        look_up=find_created(
            "GET /accounts/{accountId}/wallets",
            lambda client, sent: (
                record
                for record in client.finance.wallets.iterate(*sent.ids)
                if record.value.id is not None
            ),
        ),
        alike=lambda client, fields, _: (
            record.value for record in client.finance.wallets.iterate(fields.account_id)
        ),
        twins=lambda records, fields, _: (  # The service does not show when a wallet was made.
            wallet
            for wallet in records.all(service.WALLETS, fields.account_id)
            if wallet.id is not None and wallet.chain == fields.chain
        ),
        second_person=False,
    ),
    Kind(
        name="account.reactivate",
        verb="Reactivate",
        consequence="Money may then leave it again.",
        operation="POST /accounts/{accountId}/reactivate",
        fields=OnAccount,
        model=models.Account,
        read=_read_suspended,
        ids=("account_id",),
        **read_back(
            lambda client, account: client.finance.accounts.get(account),
            lambda account, _: bool(account.status == "ACTIVE"),
        ),
    ),
)
