"""The ramp service: the company, its users, bank accounts and wallets, ramp requests, fees.

Each attribute is a collection of `resources`; its route is the specification's. Approving and
rejecting carry the version that the person saw: a stale one is a VersionConflict and never sent
again by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from treasury.api.codec import Record, decode, split
from treasury.api.models import (
    Chain,
    Company,
    CompanyBankAccount,
    CompanyUser,
    CompanyWallet,
    ConfigEntry,
    CryptoCurrency,
    CurrencyPair,
    Fee,
    FiatCurrency,
    RampRequest,
)
from treasury.api.resources import Collection, Endpoint, Single, Table

if TYPE_CHECKING:
    from treasury.api.client import Client

__all__ = ["BankConfig", "Chains", "Ramp", "RampRequests"]

Verb = Literal["approve", "reject", "cancel"]


class RampRequests(Collection[RampRequest]):
    """Ramp requests; a list item lacks version, fee, net amount and events, `get` has them."""

    def approve(self, request_id: str, *, version: int) -> Record[RampRequest]:
        """Approve what was seen at `version`; the creator's own credential is refused."""
        return self._decide("approve", request_id, version)

    def reject(self, request_id: str, *, version: int) -> Record[RampRequest]:
        """Reject what was seen at `version`."""
        return self._decide("reject", request_id, version)

    def cancel(self, request_id: str, *, version: int) -> Record[RampRequest]:
        """Cancel what was seen at `version`; for the creator, while it awaits approval."""
        return self._decide("cancel", request_id, version)

    def _decide(self, verb: Verb, request_id: str, version: int) -> Record[RampRequest]:
        route = f"/ramp-requests/{{id}}/{verb}"
        reply = self._client.request(
            "POST",
            route,
            request_id,
            service=self._service,
            body={"version": version},
            look_up=f"read ramp request {request_id}: its status and last event say",
        )
        return reply.record(RampRequest)


class Chains(Table[Chain]):
    """Blockchain networks; documented as an object, a list of names and a list of objects."""

    def all(self, *parents: str) -> list[Record[Chain]]:
        """Every network."""
        reply = self._client.request("GET", self.route, *parents, service=self._service)
        raw = reply.result
        if raw.lstrip().startswith(b"{"):
            raw = bytes(decode(raw, _SupportedChains, self._listing).value.supported_chains)
        return [self._chain(item) for item in split(raw, self._listing)]

    def _chain(self, raw: bytes) -> Record[Chain]:
        if raw.lstrip().startswith(b'"'):
            return Record(Chain(name=decode(raw, str, self._listing).value), raw)
        row = decode(raw, _ChainRow, self._listing).value
        return Record(Chain(name=row.name or row.chain or row.id), raw)


class _SupportedChains(msgspec.Struct, frozen=True, rename="camel"):
    supported_chains: msgspec.Raw


class _ChainRow(msgspec.Struct, frozen=True):
    name: str = ""
    chain: str = ""
    id: str = ""


class _ConfigRow(msgspec.Struct, frozen=True, rename="camel"):
    """One line of any of the three lists of the bank account configuration."""

    type: str = ""
    description: str | None = None
    country_code: str = ""
    country_name: str | None = None
    code: str = ""
    name: str | None = None


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    enabled_account_types: tuple[msgspec.Raw, ...] = ()
    supported_countries: tuple[msgspec.Raw, ...] = ()
    supported_currencies: tuple[msgspec.Raw, ...] = ()


class BankConfig(Endpoint[ConfigEntry]):
    """The bank account configuration as one list of (kind, code, name)."""

    def all(self) -> list[Record[ConfigEntry]]:
        """Every account type, country and currency that bank accounts may have."""
        reply = self._client.request("GET", self.route, service=self._service)
        config = decode(reply.result, _Config, self._listing).value
        kinds = (
            ("account_type", config.enabled_account_types),
            ("country", config.supported_countries),
            ("currency", config.supported_currencies),
        )
        return [self._entry(kind, bytes(raw)) for kind, rows in kinds for raw in rows]

    def _entry(self, kind: str, raw: bytes) -> Record[ConfigEntry]:
        row = decode(raw, _ConfigRow, self._listing).value
        code = row.type or row.country_code or row.code
        name = row.description or row.country_name or row.name
        return Record(ConfigEntry(kind=kind, code=code, name=name), raw)


class Ramp:
    """Every collection of the ramp service that the tables are made from."""

    def __init__(self, client: Client) -> None:
        self.company = Single(client, "ramp", "/company", Company)
        self.users = Table(client, "ramp", "/company/users", CompanyUser)
        self.bank_accounts = Collection(
            client,
            "ramp",
            "/company-bank-accounts",
            CompanyBankAccount,
            one="/company-bank-accounts/{id}",
            filters=("verification_status", "supported_ramp_types"),
        )
        self.wallets = Collection(
            client,
            "ramp",
            "/company-wallets",
            CompanyWallet,
            one="/company-wallets/{id}",
            filters=("chain", "verification_status", "address"),
        )
        self.requests = RampRequests(
            client,
            "ramp",
            "/ramp-requests",
            RampRequest,
            one="/ramp-requests/{id}",
            filters=("ramp_type", "status", "from_date", "to_date", "payment_reference"),
        )
        self.on_ramp_pairs = Table(client, "ramp", "/ramp-requests/on-ramp/pairs", CurrencyPair)
        self.off_ramp_pairs = Table(client, "ramp", "/ramp-requests/off-ramp/pairs", CurrencyPair)
        self.fees = Table(client, "ramp", "/fees", Fee)
        self.fiat_currencies = Table(client, "ramp", "/fiat-currencies", FiatCurrency)
        self.crypto_currencies = Table(client, "ramp", "/crypto-currencies", CryptoCurrency)
        self.chains = Chains(client, "ramp", "/chains", Chain)
        self.bank_config = BankConfig(client, "ramp", "/bank-accounts/config", ConfigEntry)
