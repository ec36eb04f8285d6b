"""Reference data of the ramp service: fees, currencies, chains, bank configuration."""

from __future__ import annotations

from decimal import Decimal
from importlib import resources
from typing import Any, Final, Literal

from treasury.core.decoding import decode_json
from treasury.core.money import fee_of
from treasury.sandbox.http.body_fields import KeyedBody, Number
from treasury.sandbox.http.exchange import Call, Handler, Reply, Route, result
from treasury.sandbox.http.lists import all_of, read_route
from treasury.sandbox.ramp.ramp_requests import amount_of
from treasury.sandbox.state.shapes import CryptoCurrency, Fee, FiatCurrency, Shape, encode, number
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.request_life import tier_percentage
from treasury.sandbox.story.world import World


class FeeQuestion(KeyedBody, frozen=True, kw_only=True):
    """An amount for which to calculate the fee."""

    amount: Number
    type: Literal["ON_RAMP", "OFF_RAMP"]


class FeeAnswer(Shape, frozen=True, kw_only=True):
    """The fee of an amount, in the same unit."""

    amount: Decimal
    percentage: Decimal


class SupportedChains(Shape, frozen=True, kw_only=True):
    """The supported networks."""

    supported_chains: list[str]


class AccountType(Shape, frozen=True, kw_only=True):
    """A bank account type."""

    type: str
    description: str


class BankCountry(Shape, frozen=True, kw_only=True):
    """A country with banks."""

    country_code: str
    country_name: str


class BankCurrency(Shape, frozen=True, kw_only=True):
    """A currency in which bank accounts may be held."""

    code: str
    name: str


class BankConfiguration(Shape, frozen=True, kw_only=True):
    """Possible types, countries and currencies for a company bank account."""

    enabled_account_types: list[AccountType]
    supported_countries: list[BankCountry]
    supported_currencies: list[BankCurrency]


def calculate_fee(world: World, call: Call) -> Reply:
    """Return the fee for an amount, in the same unit: euros on-ramp, coins off-ramp."""
    question = call.read(FeeQuestion)
    unit = "EUR" if question.type == "ON_RAMP" else "USDC"
    amount = amount_of(world, question.amount, unit)
    percentage = tier_percentage(question.type, amount)
    fee = FeeAnswer(amount=number(fee_of(amount, percentage, unit)), percentage=number(percentage))
    return result(encode(fee))


def _constant(value: Any) -> Handler:
    return lambda _, __: result(encode(value))


_BANK_CONFIG: Final = (resources.files(__package__) / "bank_configuration.json").read_bytes()
REFERENCE_ROUTES: Final = (
    read_route("/fees", all_of("fee"), list[Fee], "List the fees' tiers."),
    Route(
        "POST", "/fees/calculate", calculate_fee, takes=FeeQuestion, gives=FeeAnswer,
        says="Calculate the fee of an amount, in the same unit.",
    ),
    read_route(
        "/fiat-currencies", all_of("fiat_currency"), list[FiatCurrency],
        "List the fiat currencies.",
    ),
    read_route(
        "/crypto-currencies", all_of("crypto_currency"), list[CryptoCurrency],
        "List the cryptocurrencies, one for each chain.",
    ),
    read_route(
        "/chains", _constant({"supportedChains": CHAINS}), SupportedChains, "List the networks."
    ),
    read_route(
        "/bank-accounts/config", _constant(decode_json(_BANK_CONFIG, BankConfiguration)),
        BankConfiguration, "List the types, countries and currencies of bank accounts.",
    ),
)  # fmt: skip
