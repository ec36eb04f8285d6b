"""Request bodies of both services: frozen structs, checked and keyed when they are made."""

from treasury.api.bodies.body_base import Amount, Body, Keyed, new_key
from treasury.api.bodies.finance_bodies import (
    AccountChanges,
    ExternalAddress,
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
    PartyDetails,
    PostalAddress,
)
from treasury.api.bodies.ramp_bodies import (
    BankAccountChanges,
    CompanyWalletChanges,
    FeeQuestion,
    Invitation,
    NewBankAccount,
    NewCompanyWallet,
    NewRampRequest,
    RampAmount,
    RampTransactionHash,
    RecordVersion,
)

__all__ = [
    "AccountChanges", "Amount", "BankAccountChanges", "Body", "CompanyWalletChanges",
    "ExternalAddress", "FeeQuestion", "Invitation", "Keyed", "NewAccount",
    "NewAccountToAccountTransfer", "NewBankAccount", "NewCompanyWallet", "NewCryptoTransfer",
    "NewFiatTransfer", "NewParty", "NewPartyRole", "NewPaymentRequest", "NewPaymentSession",
    "NewRampRequest", "NewVirtualBankAccount", "NewWallet", "PartyChanges", "PartyDetails",
    "PostalAddress", "RampAmount", "RampTransactionHash", "RecordVersion", "new_key",
]  # fmt: skip
