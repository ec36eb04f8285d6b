"""Request bodies of the ramp service: one struct per body of its specification."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from typing import Any, ClassVar, Final

import msgspec

from treasury.api.bodies.body_base import Amount, Body, Repeats
from treasury.core.identifiers import is_bic, is_iban, plain_address

__all__ = [
    "BankAccountChanges", "CompanyWalletChanges", "FeeQuestion", "Invitation", "NewBankAccount",
    "NewCompanyWallet", "NewRampRequest", "RampAmount", "RampTransactionHash", "RecordVersion",
]  # fmt: skip

RAMP_TYPES = ("ON_RAMP", "OFF_RAMP")
LEAST = Decimal("1e-8")
"""The smallest documented amount."""


class RecordVersion(Body, frozen=True, kw_only=True):
    """The body of approve, reject and cancel: the version of the request that the person saw."""

    REPEATS: ClassVar[Repeats] = "versioned"

    version: int


class RampAmount(RecordVersion, frozen=True, kw_only=True):
    """`PUT /ramp-requests/{id}/amount`: the new gross amount (on-ramp: fiat, off-ramp: crypto)."""

    amount: Amount

    def __post_init__(self) -> None:
        super().__post_init__()
        self._as_number(None)
        _check_least(self, self.amount)


class RampTransactionHash(Body, frozen=True, kw_only=True):
    """`PATCH /ramp-requests/{id}/tx-hash`: the hash of the transaction that paid an off-ramp."""

    REPEATS: ClassVar[Repeats] = "versioned"
    NEEDED = ("blockchain_transaction_hash",)

    blockchain_transaction_hash: str
    version: int


class BankAccountChanges(RecordVersion, frozen=True, kw_only=True):
    """`PATCH /company-bank-accounts/{id}`: the new name of a bank account."""

    name: str

    NEEDED = ("name",)


class CompanyWalletChanges(RecordVersion, frozen=True, kw_only=True):
    """`PATCH /company-wallets/{id}`: the new description of a wallet."""

    description: str

    LONGEST: ClassVar = {"description": 500}


class Invitation(Body, frozen=True, kw_only=True):
    """`POST /company/users/invite`: the person to invite."""

    email: str
    role: str
    first_name: str
    last_name: str

    NEEDED = ("email", "role", "first_name", "last_name")

    def is_like(self, record: Any) -> bool:
        """Return True if the e-mail address matches."""
        return (record.email or "").lower() == self.email.lower()


class FeeQuestion(Body, frozen=True, kw_only=True):
    """`POST /fees/calculate`: the gross amount (on-ramp: fiat, off-ramp: crypto)."""

    amount: Amount
    type: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self._as_number(None)
        _check_type(self, self.type)


class NewRampRequest(Body, frozen=True, kw_only=True):
    """`POST /ramp-requests`: `amount` is gross (on-ramp: fiat, off-ramp: crypto).

    The specification has an idempotency key, but the deployed service ignores it. So the call is
    never retried automatically, and the key only serves as evidence.
    """

    ramp_type: str
    amount: Amount
    fiat_currency_id: str
    crypto_currency_id: str
    company_wallet_id: str | None = None
    company_bank_account_id: str | None = None
    idempotency_key: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_type(self, self.ramp_type)
        self._require("fiat_currency_id", "crypto_currency_id")
        target, excluded = "company_wallet_id", "company_bank_account_id"
        if self.ramp_type == "OFF_RAMP":
            target, excluded = excluded, target
        self._require(target)
        self._forbid(f"but an {self.ramp_type} has none", excluded)
        self._as_number(None)
        _check_least(self, self.amount)

    def is_like(self, record: Any) -> bool:
        """Return True if the direction and every other value stated in the record match."""
        return record.ramp_type == self.ramp_type and not self.differences(record)

    def differences(self, record: Any) -> tuple[str, ...]:
        """Describe each difference between this body and the created request.

        Show the differences to the approver. The result is empty if every value in the record
        equals the sent one.
        """
        amount = record.fiat_amount if self.ramp_type == "ON_RAMP" else record.crypto_amount
        pairs = (
            ("amount", self.amount, amount if amount is not None else record.amount),
            ("fiat currency", self.fiat_currency_id, _id(record, "fiat_currency")),
            ("crypto currency", self.crypto_currency_id, _id(record, "crypto_currency")),
            ("wallet", self.company_wallet_id, _id(record, "company_wallet")),
            ("bank account", self.company_bank_account_id, _id(record, "company_bank_account")),
        )
        return tuple(
            f"{name}: {sent} was sent, but the request has {stated}"
            for name, sent, stated in pairs
            if stated is not None and sent != stated
        )


def _id(record: Any, name: str) -> str | None:
    """Return a nested record's id, from its id field or its object; None if it is a code."""
    stated: str | None = getattr(record, f"{name}_id", None)
    return stated or getattr(getattr(record, name, None), "id", None)


def _check_type(body: Body, ramp_type: str) -> None:
    if ramp_type not in RAMP_TYPES:
        raise body.wrong(f"{ramp_type!r} is not a ramp type", "use ON_RAMP or OFF_RAMP")


def _check_least(body: Body, amount: Amount) -> None:
    if Decimal(amount) < LEAST:
        raise body.wrong(f"amount {amount} is below the minimum of {LEAST}", "give a larger amount")


class NewCompanyWallet(Body, frozen=True, kw_only=True):
    """`POST /company-wallets`: a wallet of the company.

    To verify the wallet, send 1 USDC from it to one of the provider's deposit wallets.
    """

    address: str
    chain: str
    description: str | None = None

    NEEDED = ("address", "chain")
    LONGEST: ClassVar = {"address": 255, "description": 500}

    def is_like(self, record: Any) -> bool:
        """Return True if address and chain match."""
        is_same = plain_address(record.address or "") == plain_address(self.address)
        return is_same and record.chain == self.chain


class NewBankAccount(Body, frozen=True, kw_only=True):
    """`POST /company-bank-accounts`: a bank account of the company.

    Which account numbers are mandatory depends on the account type.
    """

    bank_account_type: str
    supported_ramp_type: str
    name: str
    bank_name: str
    company_name: str
    bank_country: str
    beneficiary_address_line1: str = msgspec.field(name="beneficiaryAddressLine1")
    beneficiary_city: str
    beneficiary_postal_code: str
    beneficiary_country: str
    beneficiary_address_line2: str | None = msgspec.field(
        default=None, name="beneficiaryAddressLine2"
    )
    beneficiary_state: str | None = None
    email: str | None = None
    phone_number: str | None = None
    iban: str | None = None
    bic: str | None = None
    intermediary_bank_name: str | None = None
    intermediary_bic: str | None = None
    intermediary_account_number: str | None = None
    account_number: str | None = None
    routing_number: str | None = None
    sort_code: str | None = None
    currency: str | None = None
    bank_street_address: str | None = None
    bank_city: str | None = None
    bank_postal_code: str | None = None

    ALWAYS: ClassVar[tuple[str, ...]] = (
        "supported_ramp_type", "name", "bank_name", "company_name", "bank_country",
        "beneficiary_address_line1", "beneficiary_city", "beneficiary_postal_code",
        "beneficiary_country",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bank_account_type not in _REQUIRED:
            types = ", ".join(_REQUIRED)
            raise self.wrong(
                f"{self.bank_account_type!r} is not an account type", f"use one of {types}"
            )
        self._require(*self.ALWAYS, *_REQUIRED[self.bank_account_type])
        is_unnumbered = self.iban is None and self.account_number is None
        if self.bank_account_type == "OTHER_SWIFT" and is_unnumbered:
            raise self.wrong("iban or account_number is needed", "give one or both")
        if self.bank_account_type == "EUR_SEPA" and self.bic is None:
            warnings.warn("without a BIC some services refuse a SEPA account", stacklevel=3)
        if self.iban is not None and not is_iban(self.iban):
            raise self.wrong("the check digits of iban are wrong", "check it")
        for name in ("bic", "intermediary_bic"):
            value = getattr(self, name)
            if value is not None and not is_bic(value):
                raise self.wrong(f"{name} is not a BIC", "give 8 or 11 characters")
        for name, form, words in _DIGITS.get(self.bank_account_type, ()):
            if not form.fullmatch(getattr(self, name)):
                raise self.wrong(f"{name} is not {words}", "check it")

    def is_like(self, record: Any) -> bool:
        """Return True if type, names and every account number stated in the record match."""
        mandatory = ("bank_account_type", "name", "bank_name")
        optional = ("iban", "account_number", "routing_number", "sort_code")
        return all(getattr(record, n) == getattr(self, n) for n in mandatory) and all(
            getattr(record, n) in {getattr(self, n), None} for n in optional
        )


_US: Final = ("account_number", "routing_number")
_UK: Final = ("account_number", "sort_code")
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "EUR_SEPA": ("iban",),
    "USD_WIRE": _US,
    "USD_ACH": _US,
    "USD_SWIFT": (
        "bic", "account_number", "bank_street_address", "bank_city", "bank_postal_code",
    ),
    "GBP_FPS": _UK,
    "GBP_CHAPS": _UK,
    "OTHER_SWIFT": ("currency", "bic"),
}  # fmt: skip

_Form = tuple[str, "re.Pattern[str]", str]
_US_DIGITS: Final[tuple[_Form, ...]] = (
    ("account_number", re.compile(r"[0-9]{8,17}", re.ASCII), "8 to 17 digits"),
    ("routing_number", re.compile(r"[0-9]{9}", re.ASCII), "9 digits"),
)
_UK_DIGITS: Final[tuple[_Form, ...]] = (
    ("account_number", re.compile(r"[0-9]{8}", re.ASCII), "8 digits"),
    ("sort_code", re.compile(r"[0-9]{6}", re.ASCII), "6 digits"),
)
_DIGITS: Final = {
    "USD_WIRE": _US_DIGITS,
    "USD_ACH": _US_DIGITS,
    "GBP_FPS": _UK_DIGITS,
    "GBP_CHAPS": _UK_DIGITS,
}
