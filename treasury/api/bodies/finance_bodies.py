"""Request bodies of the finance service: one struct per body of its specification."""

from __future__ import annotations

import re
import warnings
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

import msgspec

from treasury.api.bodies.body_base import Amount, Body, Keyed, Repeats, new_key
from treasury.core.identifiers import is_bic, is_iban
from treasury.core.settings import BankReceiverFields, is_loopback

__all__ = [
    "AccountChanges", "BankReceiver", "ExternalAddress", "NewAccount",
    "NewAccountToAccountTransfer", "NewCryptoTransfer", "NewFiatTransfer", "NewParty",
    "NewPartyRole", "NewPaymentRequest", "NewPaymentSession", "NewVirtualBankAccount", "NewWallet",
    "PartyChanges", "PartyDetails", "PostalAddress",
]  # fmt: skip

_COUNTRY = re.compile(r"[A-Z]{2}", re.ASCII)
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)


class PostalAddress(Body, frozen=True, kw_only=True):
    """A postal address.

    The specification does not say which parts are mandatory. The first generation of the service
    requires `address_line1`, `city`, `postal_code` and `country`, so a warning is issued if one of
    these is missing.
    """

    address_line1: str | None = msgspec.field(default=None, name="addressLine1")
    address_line2: str | None = msgspec.field(default=None, name="addressLine2")
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.country is not None and not _COUNTRY.fullmatch(self.country):
            raise self.wrong(f"country {self.country!r} is not a two-letter code", "write it as BE")
        mandatory = ("address_line1", "city", "postal_code", "country")
        lacking = [name for name in mandatory if not getattr(self, name)]
        if lacking:
            warnings.warn(
                f"the address lacks {', '.join(lacking)}: some services refuse it", stacklevel=3
            )


class PartyDetails(Body, frozen=True, kw_only=True):
    """The details of a new party: a natural person or a company."""

    party_type: Literal["INDIVIDUAL", "ORGANISATION"]
    first_name: str | None = None
    last_name: str | None = None
    name: str | None = None
    vat_number: str | None = None
    address: PostalAddress | None = None
    external_id: str | None = None

    LONGEST: ClassVar = {
        "first_name": 100,
        "last_name": 100,
        "name": 255,
        "external_id": 255,
        "vat_number": 50,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        person, company = ("first_name", "last_name"), ("name", "vat_number")
        if self.party_type == "INDIVIDUAL":
            self._require(*person)
            self._forbid("but an individual has none", *company)
        elif self.party_type == "ORGANISATION":
            self._require("name")
            self._forbid("but an organisation has none", *person)
        else:
            raise self.wrong(f"party_type is {self.party_type!r}", "use INDIVIDUAL or ORGANISATION")

    def is_like(self, record: Any) -> bool:
        """Return True if type and external id match, and no name in the record differs."""
        return all(
            getattr(record, name, None) in {getattr(self, name), None}
            for name in ("first_name", "last_name", "name")
        ) and (record.party_type, record.external_id) == (self.party_type, self.external_id)


class NewParty(PartyDetails, frozen=True, kw_only=True):
    """`POST /parties`: a new party.

    Later generations of the service ignore the key, so the call is not retried automatically.
    """

    idempotency_key: str = msgspec.field(default_factory=new_key)


class PartyChanges(Body, frozen=True, kw_only=True):
    """`PATCH /parties/{id}`: the changed fields, and the version that the change is based on."""

    version: int | None = None
    first_name: str | None = None
    last_name: str | None = None
    name: str | None = None
    vat_number: str | None = None
    address: PostalAddress | None = None

    LONGEST: ClassVar = {"first_name": 100, "last_name": 100, "name": 255, "vat_number": 50}

    def __post_init__(self) -> None:
        _require_change(self)
        super().__post_init__()


def _require_change(body: PartyChanges | AccountChanges) -> None:
    if not body.wire().keys() - {"version"}:
        raise body.wrong("nothing is changed", "give a field to change")


class NewAccount(Keyed, frozen=True, kw_only=True):
    """`POST /accounts`: an account for an existing party, or together with a new party."""

    REPEATS: ClassVar[Repeats] = "write"
    NEEDED = ("external_id", "chain")
    LONGEST: ClassVar = {"external_id": 255}

    external_id: str | None = None
    name: str | None = None
    chain: str | None = None
    party_id: str | None = None
    party: PartyDetails | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._exactly_one("party_id", "party")
        if isinstance(self.party, NewParty):
            raise self.wrong("a NewParty has a key of its own", "give the party as PartyDetails")

    def is_like(self, record: Any) -> bool:
        """Return True if the external id matches."""
        return bool(record.external_id == self.external_id)


class AccountChanges(Body, frozen=True, kw_only=True):
    """`PATCH /accounts/{id}`: the changed fields of an account.

    The body is not documented; the first generation of the service accepts `external_id`.
    """

    external_id: str | None = None
    name: str | None = None
    version: int | None = None

    LONGEST: ClassVar = {"external_id": 255}

    def __post_init__(self) -> None:
        _require_change(self)
        super().__post_init__()


class NewPartyRole(Body, frozen=True, kw_only=True):
    """`POST /accounts/{accountId}/party-roles`: the role of a party in an account.

    Despite its key, the body must not be sent twice.
    """

    party_id: str
    role_type: str
    idempotency_key: str | None = None

    NEEDED = ("party_id", "role_type")

    def is_like(self, record: Any) -> bool:
        """Return True if the party and the role match."""
        return (record.party_id, record.role_type) == (self.party_id, self.role_type)


class NewWallet(Body, frozen=True, kw_only=True):
    """`POST /accounts/{accountId}/wallets`: a wallet on the account's own chain.

    Despite its key, the body must not be sent twice.
    """

    chain: str
    idempotency_key: str | None = None

    NEEDED = ("chain",)

    def is_like(self, record: Any) -> bool:
        """Return True if the chain matches."""
        return bool(record.chain == self.chain)


class NewVirtualBankAccount(Keyed, frozen=True, kw_only=True):
    """`POST /accounts/{accountId}/virtual-bank-accounts`: a new virtual bank account."""

    name: str
    in_currency: str
    target_cryptocurrency: str

    NEEDED = ("name", "in_currency", "target_cryptocurrency")


class NewPaymentSession(Keyed, frozen=True, kw_only=True):
    """`POST /accounts/{accountId}/fiat-to-crypto/payment-sessions`: a hosted checkout."""

    in_amount: Amount
    in_currency: str
    out_cryptocurrency: str
    callback_url: str
    success_redirect_url: str | None = None
    failure_redirect_url: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("in_currency", "out_cryptocurrency", "callback_url")
        self._as_text("in_amount", self.in_currency, places=2)
        for name in ("callback_url", "success_redirect_url", "failure_redirect_url"):
            if (url := getattr(self, name)) is not None:
                # A sandbox on this machine calls back without https.
                parts = urlsplit(url)
                if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
                    raise self.wrong(f"{name} is not https", "give an https address")


class NewAccountToAccountTransfer(Keyed, frozen=True, kw_only=True):
    """`POST /account-to-account-transfers`: a transfer without a blockchain transaction.

    `amount` is in units of `cryptocurrency`.
    """

    source_account_id: str
    destination_account_id: str
    amount: Amount
    cryptocurrency: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("source_account_id", "destination_account_id", "cryptocurrency")
        self._as_text("amount", self.cryptocurrency, places=6)
        if self.source_account_id == self.destination_account_id:
            raise self.wrong("both accounts are the same", "give another destination")


class ExternalAddress(msgspec.Struct, frozen=True):
    """A wallet address outside the service, and the name of the request field for it.

    The specification does not name the field, and no deployed service has revealed it. So there is
    no default: ask the provider for the name.
    """

    field: str
    address: str


class BankReceiver(msgspec.Struct, frozen=True):
    """The bank account of a payee, for a fiat transfer by SEPA.

    The specification does not show the field names, so they come from `[services.bank_receiver]`
    in `treasury.toml`; without that setting the transfer is refused before anything is sent.
    """

    iban: str
    name: str
    bic: str | None = None


class _Transfer(Keyed, frozen=True, kw_only=True):
    """Fields that both kinds of transfer share."""

    amount: Amount
    receiver_account_id: str | None = None
    receiver_external_id: str | None = None
    description: str | None = None


class NewCryptoTransfer(_Transfer, frozen=True, kw_only=True):
    """`POST /accounts/{senderAccountId}/transfers/crypto`: a crypto transfer to one receiver.

    The receiver is an account, by the service's id or by our external id, or an external address.
    `amount` is in units of `asset`.
    """

    chain: str
    asset: str
    external_address: ExternalAddress | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("chain", "asset")
        self._exactly_one("receiver_account_id", "receiver_external_id", "external_address")
        self._as_number(self.asset)
        outside = self.external_address
        if outside is not None and (
            not _FIELD.fullmatch(outside.field)
            or outside.field in _OWN_FIELDS
            or not outside.address
        ):
            raise self.wrong(
                "external_address needs an unused field name and an address",
                "ask the provider for the field's name",
            )

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send; an external address is in the field that it names."""
        body = super().wire()
        outside = body.pop("externalAddress", None)
        return body if outside is None else {**body, outside.field: outside.address}


_OWN_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(NewCryptoTransfer))


class NewFiatTransfer(_Transfer, frozen=True, kw_only=True):
    """`POST /accounts/{senderAccountId}/transfers/fiat`: a fiat transfer to one receiver.

    The receiver is an account, by the service's id or by our external id, or a bank account.
    `amount` is in `currency`.
    """

    currency: str
    bank_receiver: BankReceiver | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("currency")
        self._exactly_one("receiver_account_id", "receiver_external_id", "bank_receiver")
        self._as_number(self.currency)
        bank = self.bank_receiver
        if bank is not None and not is_iban(bank.iban):
            raise self.wrong("the check digits of the receiver's iban are wrong", "check it")
        if bank is not None and bank.bic is not None and not is_bic(bank.bic):
            raise self.wrong("the receiver's bic is not a BIC", "give 8 or 11 characters")
        if bank is not None and not bank.name.strip():
            raise self.wrong("the receiver's name is missing", "give the account holder's name")

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send; raise InputError if there is a bank receiver."""
        if self.bank_receiver is not None:
            raise self.wrong(
                "the field names of bank_receiver are not configured",
                "ask the provider for them and set [services.bank_receiver] in treasury.toml",
            )
        return super().wire()

    def wire_to_bank(self, names: BankReceiverFields) -> dict[str, Any]:
        """Return the JSON object to send, with this service's field names for the bank receiver."""
        body, bank = super().wire(), self.bank_receiver
        assert bank is not None
        del body["bankReceiver"]
        block = {names.iban: bank.iban, names.name: bank.name, names.bic: bank.bic}
        body[names.object] = {field: value for field, value in block.items() if value is not None}
        return body


class NewPaymentRequest(Keyed, frozen=True, kw_only=True):
    """`POST /payment-requests`: a payment tied to a card provider's reference.

    `amount` is in `currency`.
    """

    type: str
    """The card provider's name, as agreed with the service; the values are not documented."""

    reference_id: str
    amount: Amount
    currency: str
    external_id: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("type", "reference_id", "currency")
        self._as_number(self.currency)

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send: the card reference, and the payment with its key."""
        payment = super().wire()
        provider = {name: payment.pop(name) for name in ("type", "referenceId")}
        return {"cardProviderReference": provider, "paymentRequest": payment}
