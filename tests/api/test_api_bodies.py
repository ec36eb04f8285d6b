"""Request bodies: refused before sending if invalid, and never changed afterwards."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.api import bodies
from treasury.api.bodies import (
    ExternalAddress,
    NewAccount,
    NewAccountToAccountTransfer,
    NewBankAccount,
    NewCompanyWallet,
    NewCryptoTransfer,
    NewFiatTransfer,
    NewParty,
    NewPaymentRequest,
    NewPaymentSession,
    NewRampRequest,
    NewVirtualBankAccount,
    PartyChanges,
    PartyDetails,
    PostalAddress,
)
from treasury.api.codec import encode
from treasury.api.models import RampRequest
from treasury.core.errors import InputError

PERSON = {"party_type": "INDIVIDUAL", "first_name": "Mira", "last_name": "Okafor"}
ACCOUNT = {"external_id": "t", "chain": "BASE", "party_id": "p"}
CRYPTO = {"chain": "BASE", "asset": "USDC", "amount": "1.5", "receiver_account_id": "a2"}
FIAT = {"currency": "EUR", "amount": 5, "receiver_account_id": "a2"}
A2A = {
    "source_account_id": "a1",
    "destination_account_id": "a2",
    "amount": "1",
    "cryptocurrency": "USDC",
}
SESSION = {
    "in_amount": "4.50",
    "in_currency": "EUR",
    "out_cryptocurrency": "USDC",
    "callback_url": "https://shop.example.test/paid",
}
CARD = {"type": "paymentology", "reference_id": "r", "amount": "3", "currency": "USD"}
VBA = {"name": "EUR", "in_currency": "EUR", "target_cryptocurrency": "USDC"}
RAMP = {
    "ramp_type": "ON_RAMP",
    "amount": "25000",
    "fiat_currency_id": "f1",
    "crypto_currency_id": "c1",
    "company_wallet_id": "w1",
}
BANK = {
    "supported_ramp_type": "ON_RAMP",
    "name": "Main",
    "bank_name": "Test Bank",
    "company_name": "Harbour",
    "bank_country": "BE",
    "beneficiary_address_line1": "Kade 14",
    "beneficiary_city": "Ghent",
    "beneficiary_postal_code": "9000",
    "beneficiary_country": "BE",
}
SEPA = {**BANK, "bank_account_type": "EUR_SEPA", "iban": "BE68539007547034", "bic": "TESTBEBB"}
US = {
    **BANK,
    "bank_account_type": "USD_WIRE",
    "account_number": "12345678",
    "routing_number": "021000021",
}
SWIFT = {
    **BANK,
    "bank_account_type": "USD_SWIFT",
    "bic": "TESTUS33",
    "account_number": "1",
    "bank_street_address": "1 Wall St",
    "bank_city": "New York",
    "bank_postal_code": "10005",
}
UK = {
    **BANK,
    "bank_account_type": "GBP_FPS",
    "account_number": "12345678",
    "sort_code": "112233",
}
OTHER = {
    **BANK,
    "bank_account_type": "OTHER_SWIFT",
    "currency": "CHF",
    "bic": "TESTCHZZ",
    "account_number": "77",
}

GOOD: list[tuple[Callable, dict]] = [
    (NewParty, PERSON),
    (NewParty, {"party_type": "ORGANISATION", "name": "Harbour"}),
    (NewAccount, ACCOUNT),
    (NewVirtualBankAccount, VBA),
    (NewPaymentSession, SESSION),
    (NewPaymentSession, {**SESSION, "callback_url": "http://127.0.0.1:9/paid"}),
    (NewAccountToAccountTransfer, A2A),
    (NewCryptoTransfer, CRYPTO),
    (NewFiatTransfer, FIAT),
    (NewPaymentRequest, CARD),
    (NewRampRequest, RAMP),
    (NewBankAccount, SEPA),
    (NewBankAccount, US),
    (NewBankAccount, {**US, "bank_account_type": "USD_ACH"}),
    (NewBankAccount, SWIFT),
    (NewBankAccount, UK),
    (NewBankAccount, {**UK, "bank_account_type": "GBP_CHAPS"}),
    (NewBankAccount, OTHER),
]

WRONG: list[tuple[Callable, dict, dict, str]] = [
    (NewParty, PERSON, {"last_name": None}, "last_name is missing"),
    (NewParty, PERSON, {"first_name": "  "}, "first_name is missing"),
    (NewParty, PERSON, {"name": "Harbour"}, "name is given"),
    (NewParty, PERSON, {"vat_number": "BE0"}, "vat_number is given"),
    (NewParty, PERSON, {"first_name": "x" * 101}, "longer than 100"),
    (NewParty, PERSON, {"external_id": "x" * 256}, "longer than 255"),
    (NewParty, {"party_type": "ORGANISATION", "name": "H"}, {"name": None}, "name is missing"),
    (NewParty, {"party_type": "ORGANISATION", "name": "H"}, {"vat_number": "1" * 51}, "than 50"),
    (NewParty, PERSON, {"party_type": "ROBOT"}, "party_type is 'ROBOT'"),
    (NewParty, PERSON, {"idempotency_key": "again"}, "not a UUID of version 4"),
    (NewAccount, ACCOUNT, {"party_id": None}, "one of"),
    (NewAccount, ACCOUNT, {"chain": None}, "chain"),
    (NewVirtualBankAccount, VBA, {"name": ""}, "name is missing"),
    (NewPaymentSession, SESSION, {"in_amount": "4.505"}, "more decimals than EUR"),
    (NewPaymentSession, SESSION, {"callback_url": "http://shop.example.test"}, "not https"),
    (NewPaymentSession, SESSION, {"success_redirect_url": "ftp://x"}, "not https"),
    (NewAccountToAccountTransfer, A2A, {"amount": "0.0000001"}, "more decimals than USDC"),
    (NewAccountToAccountTransfer, A2A, {"cryptocurrency": "NEW", "amount": "1.0000001"}, "than 6"),
    (NewAccountToAccountTransfer, A2A, {"destination_account_id": "a1"}, "the same"),
    (NewAccountToAccountTransfer, A2A, {"amount": "0"}, "not positive"),
    (NewCryptoTransfer, CRYPTO, {"amount": "-1"}, "not positive"),
    (NewCryptoTransfer, CRYPTO, {"amount": 1.5}, "float is not an exact amount"),
    (NewCryptoTransfer, CRYPTO, {"amount": "1,5"}, "is not a number"),
    (NewCryptoTransfer, CRYPTO, {"amount": "0.0000001"}, "more decimals than USDC"),
    (NewCryptoTransfer, CRYPTO, {"receiver_account_id": None}, "given: none"),
    (NewCryptoTransfer, CRYPTO, {"receiver_external_id": "s"}, "account_id and receiver_external"),
    (NewCryptoTransfer, CRYPTO,
     {"receiver_account_id": None, "external_address": ExternalAddress("amount", "0x1")},
     "needs an unused field name"),
    (NewFiatTransfer, FIAT, {"receiver_external_id": "s"}, "needed"),
    (NewFiatTransfer, FIAT, {"receiver_account_id": None}, "needed"),
    (NewFiatTransfer, FIAT, {"amount": "5.001"}, "more decimals than EUR"),
    (NewPaymentRequest, CARD, {"type": ""}, "type is missing"),
    (NewRampRequest, RAMP, {"ramp_type": "on"}, "not a ramp type"),
    (NewRampRequest, RAMP, {"company_wallet_id": None}, "company_wallet_id is missing"),
    (NewRampRequest, RAMP, {"company_bank_account_id": "b"}, "bank_account_id is given"),
    (NewRampRequest, RAMP, {"ramp_type": "OFF_RAMP"}, "company_bank_account_id is missing"),
    (NewRampRequest, RAMP, {"amount": "0.000000001"}, "is below"),
    (NewRampRequest, RAMP, {"fiat_currency_id": ""}, "fiat_currency_id is missing"),
    (NewBankAccount, SEPA, {"bank_account_type": "EUR"}, "use one of EUR_SEPA"),
    (NewBankAccount, SEPA, {"iban": "BE68539007547035"}, "check digits"),
    (NewBankAccount, SEPA, {"iban": None}, "iban is missing"),
    (NewBankAccount, SEPA, {"bic": "TEST"}, "not a BIC"),
    (NewBankAccount, SEPA, {"beneficiary_city": ""}, "beneficiary_city is missing"),
    (NewBankAccount, US, {"routing_number": "12345678"}, "9 digits"),
    (NewBankAccount, US, {"account_number": "1234567"}, "8 to 17 digits"),
    (NewBankAccount, US, {"routing_number": None}, "routing_number is missing"),
    (NewBankAccount, SWIFT, {"bank_city": None}, "bank_city is missing"),
    (NewBankAccount, UK, {"sort_code": "11-22-33"}, "6 digits"),
    (NewBankAccount, UK, {"account_number": "123456789"}, "8 digits"),
    (NewBankAccount, OTHER, {"currency": None}, "currency is missing"),
    (NewBankAccount, OTHER, {"account_number": None}, "needed"),
    (NewCompanyWallet, {"address": "0x", "chain": "BASE"}, {"address": "0" * 256}, "than 255"),
    (NewCompanyWallet, {"address": "0x", "chain": "BASE"}, {"description": "x" * 501}, "than 500"),
    (PartyChanges, {"version": 1, "name": "H"}, {"name": None}, "nothing is changed"),
    (bodies.AccountChanges, {"name": "H"}, {"name": None}, "nothing is changed"),
    (bodies.RampTransactionHash, {"blockchain_transaction_hash": "0x", "version": 1},
     {"blockchain_transaction_hash": ""}, "is missing"),
    (bodies.RampAmount, {"amount": 1, "version": 1}, {"amount": 0}, "not positive"),
    (bodies.FeeQuestion, {"amount": 1, "type": "ON_RAMP"}, {"type": "X"}, "not a ramp type"),
    (bodies.Invitation, {"email": "e", "role": "r", "first_name": "f", "last_name": "l"},
     {"last_name": ""}, "last_name is missing"),
    (PostalAddress, {"address_line1": "a", "city": "b", "postal_code": "c", "country": "BE"},
     {"country": "be"}, "not a two-letter code"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "given"), GOOD)
def test_a_complete_body_is_accepted(make: Callable, given: dict) -> None:
    assert encode(make(**given).wire())


@pytest.mark.parametrize(("make", "given", "change", "why"), WRONG)
def test_an_invalid_body_is_refused_before_sending(
    make: Callable, given: dict, change: dict, why: str
) -> None:
    assert encode(make(**given).wire())
    with pytest.raises(InputError, match=why) as caught:
        make(**{**given, **change})
    assert caught.value.do


def test_a_key_is_fixed_when_the_body_is_created() -> None:
    body = NewCryptoTransfer(**CRYPTO)
    assert encode(body.wire()) == encode(body.wire())
    assert body.key == body.idempotency_key
    assert body.key != NewCryptoTransfer(**CRYPTO).key


def test_a_key_pinned_by_the_journal_is_kept() -> None:
    key = bodies.new_key()
    body = NewPaymentRequest(**CARD, idempotency_key=key)
    assert body.wire()["paymentRequest"]["idempotencyKey"] == key


def test_a_body_is_immutable() -> None:
    body = NewRampRequest(**RAMP)
    with pytest.raises(AttributeError):
        body.amount = Decimal(1)


def test_an_inline_party_has_no_key_of_its_own() -> None:
    account = {"external_id": "t", "chain": "BASE"}
    with pytest.raises(InputError, match="key of its own"):
        NewAccount(**account, party=NewParty(**PERSON))
    wire = NewAccount(**account, party=PartyDetails(**PERSON)).wire()
    assert wire["party"] == {
        "partyType": "INDIVIDUAL",
        "firstName": "Mira",
        "lastName": "Okafor",
    }


def test_an_external_address_is_sent_in_the_named_field() -> None:
    outside = ExternalAddress("destinationAddress", "0xb7")
    body = NewCryptoTransfer(chain="BASE", asset="USDC", amount=1, external_address=outside)
    assert body.wire()["destinationAddress"] == "0xb7"
    assert "externalAddress" not in body.wire()


def test_a_short_address_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="lacks address_line1, postal_code"):
        PostalAddress(city="Ghent", country="BE")


def test_a_sepa_account_without_bic_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="without a BIC"):
        NewBankAccount(**{**SEPA, "bic": None})


@given(st.decimals(min_value=Decimal("0.000001"), max_value=Decimal("1e13"), places=6))
def test_every_digit_of_an_amount_is_sent_in_plain_form(amount: Decimal) -> None:
    number = encode(NewCryptoTransfer(**{**CRYPTO, "amount": amount}).wire())
    text = encode(NewAccountToAccountTransfer(**{**A2A, "amount": amount}).wire())
    assert f'"amount":{amount:f}'.encode() in number
    assert f'"amount":"{amount:f}"'.encode() in text


def test_large_amounts_are_checked_exactly() -> None:
    amount = "12345678901234567890.123456"
    assert NewCryptoTransfer(**{**CRYPTO, "amount": amount}).amount == Decimal(amount)
    with pytest.raises(InputError, match="more decimals"):
        NewCryptoTransfer(**{**CRYPTO, "amount": amount + "1"})


def test_differences_between_a_created_request_and_its_response_are_listed() -> None:
    body = NewRampRequest(**RAMP)
    same = RampRequest(id="r", ramp_type="ON_RAMP", fiat_amount=Decimal("25000.00"))
    other = msgspec.structs.replace(same, fiat_amount=Decimal(2500), company_wallet_id="w2")
    assert body.differences(same) == ()
    assert body.differences(other) == (
        "amount: 25000 was sent, but the request has 2500",
        "wallet: w1 was sent, but the request has w2",
    )
