"""The ramp service: the company, its users, bank accounts and wallets, ramp requests, fees.

Each attribute is a collection of `resources` with the specification's routes. A change carries the
version that the person saw: an outdated one raises VersionConflict and is never retried. There are
no idempotency keys: if the answer of a create is lost, look it up with `find`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from treasury.api import bodies, models
from treasury.api.codec import Record, decode, split
from treasury.api.created_records import SKEW, created_since, only_one
from treasury.api.resources import Collection, Filter, Params, Reference, Single, UnpagedList
from treasury.core.errors import Forbidden, InputError, NotOffered, NotReady

if TYPE_CHECKING:
    from treasury.api.operations import Service
    from treasury.api.service_calls import Reply, ServiceCalls

_FIND = "look it up with `find` and this body before sending it again"
_DAY = timedelta(days=1)


class RampRequests(Collection[models.RampRequest]):
    """Ramp requests; a list item lacks version, fee, net amount and events, which `get` returns.

    The filters `from_date` and `to_date` are the service's own, in an undocumented time zone;
    `created_from` and `created_to` are days in UTC, requested a day wider and trimmed here.
    """

    def create(
        self, body: bodies.NewRampRequest, *, check: bool = True
    ) -> Record[models.RampRequest]:
        """Create a request, without automatic retries.

        Parameters
        ----------
        body
            The request; `amount` is gross fiat on-ramp and gross crypto off-ramp.
        check
            Whether to check first that the company and the target are verified.

        Returns
        -------
        Record
            The created request. Compare `body.differences(answer)` before anybody approves it.

        Raises
        ------
        NotReady
            The company or the target is not verified; nothing was sent.
        OutcomeUnknown
            The answer was lost; look the request up with `find`.
        ServiceError
            The service refused it.
        """
        # Statuses that cannot be read are left to the service.
        if check:
            ramp = Ramp(self.client)
            _require_verified("the company", lambda: ramp.company.get().value.kyb_status)
            if wallet := body.company_wallet_id:
                _require_verified(
                    f"wallet {wallet}", lambda: ramp.wallets.get(wallet).value.verification_status
                )
            if account := body.company_bank_account_id:
                _require_verified(
                    f"bank account {account}",
                    lambda: ramp.bank_accounts.get(account).value.verification_status,
                )
        return self._write("POST", self.route, body=body, look_up=_FIND)

    def approve(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Approve the request read at `version`; the creator's own credential is refused."""
        return self._decide("approve", request_id, version)

    def reject(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Reject the request read at `version`; the service stores no reason."""
        return self._decide("reject", request_id, version)

    def cancel(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Cancel the request read at `version`; for the creator, while it awaits approval."""
        return self._decide("cancel", request_id, version)

    def change_amount(
        self, request_id: str, *, amount: bodies.Amount, version: int
    ) -> Record[models.RampRequest]:
        """Change the amount (gross fiat on-ramp, gross crypto off-ramp) before approval."""
        body = bodies.RampAmount(amount=amount, version=version)
        return self._change("PUT", "amount", request_id, body)

    def add_transaction_hash(
        self, request_id: str, *, transaction_hash: str, version: int
    ) -> Record[models.RampRequest]:
        """Submit the hash of the transaction that paid an off-ramp's crypto."""
        body = bodies.RampTransactionHash(
            blockchain_transaction_hash=transaction_hash, version=version
        )
        return self._change("PATCH", "tx-hash", request_id, body)

    def find(
        self,
        *parents: str,
        body: bodies.Body,
        since: datetime,
        earlier_ids: Container[str] = (),
        created_by: str | None = None,
    ) -> Record[models.RampRequest]:
        """Return the request created by `body`, sent at `since`; raise OutcomeUnknown if unclear.

        It is identified by creation time, direction and amount, then by its detail, and by its
        creator if `created_by` is given and the request names one.
        """
        listed = self.iterate(*parents, created_from=(since - SKEW).date(), sort_order="DESC")
        details = (
            self.get(record.value.id) for record in created_since(listed, body, since, earlier_ids)
        )
        matches = [
            record
            for record in details
            if body.is_like(record.value)
            and (created_by is None or record.value.maker in {created_by, None})
        ]
        return only_one(matches, self._listing)

    def _decide(self, verb: str, request_id: str, version: int) -> Record[models.RampRequest]:
        return self._change("POST", verb, request_id, bodies.RecordVersion(version=version))

    def _change(
        self, method: str, verb: str, request_id: str, body: bodies.Body
    ) -> Record[models.RampRequest]:
        look_up = (
            f"read ramp request {request_id}: its status and last event show whether it was changed"
        )
        route = f"/ramp-requests/{{id}}/{verb}"
        return self._write(method, route, request_id, body=body, look_up=look_up)

    def _sent(self, name: str, value: Filter) -> Params:
        wider = {"created_from": ("from_date", -_DAY), "created_to": ("to_date", _DAY)}
        if name not in wider:
            return super()._sent(name, value)
        sent_as, shift = wider[name]
        return super()._sent(sent_as, _day(value) + shift)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name in {"from_date", "to_date"}:
            return True
        if name not in {"created_from", "created_to"}:
            return super()._passes(value, name, condition, parents)
        if value.created_at is None:
            return True
        day, limit = value.created_at.date(), _day(condition)
        return bool(day >= limit if name == "created_from" else day <= limit)


def _require_verified(subject: str, read: Callable[[], str | None]) -> None:
    try:
        status = read()
    except (Forbidden, NotOffered):
        return
    if status not in {"VERIFIED", None}:
        raise NotReady(
            f"{subject} is {status}, not VERIFIED; no ramp request was sent",
            do="wait for the verification, or ask the provider",
            operation="POST /ramp-requests",
        )


def _day(value: Filter) -> date:
    if isinstance(value, datetime):
        raise InputError("an instant is not a day", do="give a date")
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"{value!r} is not a day", do="write it as 2026-10-01") from None


class BankAccounts(Collection[models.CompanyBankAccount]):
    """The company's own bank accounts; a list item lacks version and IBAN, which `get` returns."""

    def create(self, body: bodies.NewBankAccount) -> Record[models.CompanyBankAccount]:
        """Register a bank account; it is reviewed before use."""
        return self._write("POST", self.route, body=body, look_up=_FIND)

    def update(
        self, account_id: str, *, name: str, version: int
    ) -> Record[models.CompanyBankAccount]:
        """Rename the bank account read at `version`."""
        body = bodies.BankAccountChanges(name=name, version=version)
        return self._write("PATCH", "/company-bank-accounts/{id}", account_id, body=body)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "supported_ramp_types":
            return super()._passes(value, name, condition, parents)
        ramp_type = value.supported_ramp_type
        return ramp_type is None or ramp_type in (
            condition if isinstance(condition, tuple) else (condition,)
        )


class CompanyWallets(Collection[models.CompanyWallet]):
    """The company's own wallets; a list item lacks the version, which `get` returns."""

    def create(self, body: bodies.NewCompanyWallet) -> Record[models.CompanyWallet]:
        """Register a wallet; it is verified by sending 1 USDC from it to a deposit wallet."""
        return self._write("POST", self.route, body=body, look_up=_FIND)

    def update(
        self, wallet_id: str, *, description: str, version: int
    ) -> Record[models.CompanyWallet]:
        """Change the description of the wallet read at `version`."""
        body = bodies.CompanyWalletChanges(description=description, version=version)
        return self._write("PATCH", "/company-wallets/{id}", wallet_id, body=body)

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        if name != "address":
            return super()._passes(value, name, condition, parents)
        # Hexadecimal addresses may be in either case.
        address: str | None = value.address
        return address is None or address.lower() == str(condition).lower()


class Users(UnpagedList[models.CompanyUser]):
    """The company's users."""

    def invite(self, body: bodies.Invitation) -> Record[models.CompanyUser]:
        """Invite a user. The link in the answer is removed, because it gives access."""
        return self._write("POST", "/company/users/invite", body=body, look_up=_FIND)


class FeeTiers(Reference[models.Fee]):
    """Fee tiers, and the calculator."""

    def calculate(self, *, amount: bodies.Amount, ramp_type: str) -> Record[models.CalculatedFee]:
        """Calculate the fee of an amount, both in fiat on-ramp and in crypto off-ramp.

        It changes nothing, so it is retried like a read.

        Parameters
        ----------
        amount
            Gross fiat on-ramp, gross crypto off-ramp.
        ramp_type
            `ON_RAMP` or `OFF_RAMP`.

        Returns
        -------
        Record
            The fee, its percentage, and its `unit`: `fiat` or `crypto`.

        Raises
        ------
        InputError
            The amount is not positive, or the type is unknown; nothing was sent.
        ServiceError
            The service refused the call.

        Examples
        --------
        >>> client.ramp.fees.calculate(amount="1000", ramp_type="ON_RAMP").value.unit
        'fiat'
        """
        question = bodies.FeeQuestion(amount=amount, type=ramp_type)
        reply = self.client.request("POST", "/fees/calculate", service=self.service, body=question)
        calculated = reply.record(models.CalculatedFee)
        unit: Literal["fiat", "crypto"] = "fiat" if ramp_type == "ON_RAMP" else "crypto"
        value = msgspec.structs.replace(calculated.value, unit=unit)
        return Record(value, calculated.raw, calculated.credential)


class Chains(Reference[models.Chain]):
    """Blockchain networks; documented as an object, a list of names and a list of objects."""

    def _records(self, reply: Reply) -> list[Record[models.Chain]]:
        raw = reply.result
        if raw.lstrip().startswith(b"{"):
            raw = bytes(decode(raw, _SupportedChains, self._listing).value.supported_chains)
        records = []
        for item in split(raw, self._listing):
            if item.lstrip().startswith(b'"'):
                name = decode(item, str, self._listing).value
            else:
                row = decode(item, _ChainRow, self._listing).value
                name = row.name or row.chain or row.id
            records.append(Record(models.Chain(name=name), item, reply.credential))
        return records


class _SupportedChains(msgspec.Struct, frozen=True, rename="camel"):
    supported_chains: msgspec.Raw


class _ChainRow(msgspec.Struct, frozen=True):
    name: str = ""
    chain: str = ""
    id: str = ""


class _ConfigRow(msgspec.Struct, frozen=True, rename="camel"):
    """One row of any of the three lists of the bank account configuration."""

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


class BankConfig(Reference[models.ConfigEntry]):
    """Account types, countries and currencies of bank accounts, as (kind, code, name)."""

    def _records(self, reply: Reply) -> list[Record[models.ConfigEntry]]:
        config = decode(reply.result, _Config, self._listing).value
        kinds = (
            ("account_type", config.enabled_account_types),
            ("country", config.supported_countries),
            ("currency", config.supported_currencies),
        )
        records = []
        for kind, raw in ((kind, bytes(raw)) for kind, rows in kinds for raw in rows):
            row = decode(raw, _ConfigRow, self._listing).value
            code = row.type or row.country_code or row.code
            name = row.description or row.country_name or row.name
            entry = models.ConfigEntry(kind=kind, code=code, name=name)
            records.append(Record(entry, raw, reply.credential))
        return records


class Ramp:
    """Every operation of the ramp service."""

    def __init__(self, client: ServiceCalls) -> None:
        at: tuple[ServiceCalls, Service] = client, "ramp"
        self.company: Single[models.Company] = Single(*at, "/company", models.Company)
        self.users: Users = Users(*at, "/company/users", models.CompanyUser)
        self.bank_accounts: BankAccounts = BankAccounts(
            *at, "/company-bank-accounts", models.CompanyBankAccount,
            single="/company-bank-accounts/{id}",
            filters=("verification_status", "supported_ramp_types"),
        )  # fmt: skip
        self.wallets: CompanyWallets = CompanyWallets(
            *at, "/company-wallets", models.CompanyWallet, single="/company-wallets/{id}",
            filters=("chain", "verification_status", "address"),
        )  # fmt: skip
        self.requests: RampRequests = RampRequests(
            *at, "/ramp-requests", models.RampRequest, single="/ramp-requests/{id}",
            filters=("ramp_type", "status", "from_date", "to_date", "created_from", "created_to",
                     "payment_reference"),
        )  # fmt: skip
        self.on_ramp_pairs: Reference[models.CurrencyPair] = Reference(
            *at, "/ramp-requests/on-ramp/pairs", models.CurrencyPair
        )
        self.off_ramp_pairs: Reference[models.CurrencyPair] = Reference(
            *at, "/ramp-requests/off-ramp/pairs", models.CurrencyPair
        )
        self.fees: FeeTiers = FeeTiers(*at, "/fees", models.Fee)
        self.fiat_currencies: Reference[models.FiatCurrency] = Reference(
            *at, "/fiat-currencies", models.FiatCurrency
        )
        self.crypto_currencies: Reference[models.CryptoCurrency] = Reference(
            *at, "/crypto-currencies", models.CryptoCurrency
        )
        self.chains: Chains = Chains(*at, "/chains", models.Chain)
        self.bank_config: BankConfig = BankConfig(*at, "/bank-accounts/config", models.ConfigEntry)
