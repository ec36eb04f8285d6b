"""The records of both services as frozen structs: the contract, one class for each resource."""

from treasury.api.models.finance_models import (
    Account,
    Address,
    Allowance,
    Balance,
    DepositRail,
    FiatOrigin,
    Holding,
    Party,
    PartyRole,
    PaymentAmount,
    PaymentExecution,
    PaymentRequest,
    PaymentSession,
    Permit,
    Token,
    Transfer,
    VirtualBankAccount,
    Wallet,
)
from treasury.api.models.model_base import Model
from treasury.api.models.ramp_models import (
    CalculatedFee,
    Chain,
    Company,
    CompanyBankAccount,
    CompanyUser,
    CompanyWallet,
    ConfigEntry,
    CryptoCurrency,
    CurrencyPair,
    DepositBankAccount,
    DepositWallet,
    Fee,
    FiatCurrency,
    RampEvent,
    RampRequest,
)

__all__ = [
    "Account", "Address", "Allowance", "Balance", "CalculatedFee", "Chain", "Company",
    "CompanyBankAccount", "CompanyUser", "CompanyWallet", "ConfigEntry", "CryptoCurrency",
    "CurrencyPair", "DepositBankAccount", "DepositRail", "DepositWallet", "Fee", "FiatCurrency",
    "FiatOrigin", "Holding", "Model", "Party", "PartyRole", "PaymentAmount", "PaymentExecution",
    "PaymentRequest", "PaymentSession", "Permit", "RampEvent", "RampRequest", "Token", "Transfer",
    "VirtualBankAccount", "Wallet",
]  # fmt: skip
