"""The ramp service: the company, its users, bank accounts and wallets, ramp requests, fees.

Each attribute of `Ramp` offers the operations of one kind of record; their base classes are in
`resources`. Each change to a record carries the version that the person saw. An outdated version
raises VersionConflict, and the call is not retried. The service ignores idempotency keys: if the
answer to `create` is lost, look the record up with `find`.

In the examples, `client` has the credential of a manager and `checker` that of an administrator.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from treasury.api import bodies, models
from treasury.api.codec import Record
from treasury.api.created_records import FIND_FIRST, SKEW, created_since, only_one
from treasury.api.endpoints.company_endpoints import BankAccounts, CompanyWallets, Users
from treasury.api.endpoints.reference_endpoints import BankConfig, Chains, FeeTiers
from treasury.api.resources import Collection, Filter, Params, Reference, Single
from treasury.core.errors import Forbidden, InputError, NotOffered, NotReady

if TYPE_CHECKING:
    from treasury.api.operations import Service
    from treasury.api.service_calls import ServiceCalls

_DAY = timedelta(days=1)


class RampRequests(Collection[models.RampRequest]):
    """Ramp requests, which exchange fiat for crypto (on-ramp) or crypto for fiat (off-ramp).

    A list item lacks version, fee, net amount and events; `get` returns them. The service's own
    filters `from_date` and `to_date` use an undocumented time zone. The filters `created_from` and
    `created_to` are days in UTC: the client asks the service for one more day on each side, and
    removes the ramp requests outside these days.
    """

    def create(
        self, body: bodies.NewRampRequest, *, check: bool = True
    ) -> Record[models.RampRequest]:
        """Create a ramp request, without automatic retries.

        Parameters
        ----------
        body
            The request; `amount` is gross (on-ramp: fiat, off-ramp: crypto).
        check
            True to check first that the company and the target wallet or bank account are verified.

        Returns
        -------
        Record
            The created request. Check `body.differences(record.value)` before anybody approves it.

        Raises
        ------
        NotReady
            The company or the target is not verified; no ramp request was sent.
        OutcomeUnknown
            The answer was lost; look the request up with `find`.
        ServiceError
            The service refused the request or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> wallet = client.ramp.wallets.list(verification_status="VERIFIED").items[0].value
        >>> pairs = [record.value for record in client.ramp.on_ramp_pairs.recent()]
        >>> pair = next(pair for pair in pairs if pair.target.chain == wallet.chain)
        >>> body = bodies.NewRampRequest(
        ...     ramp_type="ON_RAMP",
        ...     amount="1000.00",
        ...     fiat_currency_id=pair.source.id,
        ...     crypto_currency_id=pair.target.id,
        ...     company_wallet_id=wallet.id,
        ... )
        >>> request = client.ramp.requests.create(body).value
        >>> request.status, body.differences(request)
        ('AWAITING_APPROVAL', ())
        """
        # If the client may not read a status, the service checks it.
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
        return self._write("POST", self.route, body=body, look_up=FIND_FIRST)

    def approve(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Approve a ramp request. The service refuses the credential that created the request.

        Parameters
        ----------
        request_id
            The id of the request.
        version
            The version of the request that the approver saw.

        Returns
        -------
        Record
            The approved request.

        Raises
        ------
        VersionConflict
            The request changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> waiting = client.ramp.requests.list(status="AWAITING_APPROVAL").items[0].value
        >>> seen = checker.ramp.requests.get(waiting.id).value
        >>> checker.ramp.requests.approve(seen.id, version=seen.version).value.status
        'AWAITING_FUNDS'
        """
        return self._decide("approve", request_id, version)

    def reject(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Reject a ramp request. The service does not store a reason.

        Parameters
        ----------
        request_id
            The id of the request.
        version
            The version of the request that the approver saw.

        Returns
        -------
        Record
            The rejected request.

        Raises
        ------
        VersionConflict
            The request changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> waiting = client.ramp.requests.list(status="AWAITING_APPROVAL").items[0].value
        >>> seen = checker.ramp.requests.get(waiting.id).value
        >>> checker.ramp.requests.reject(seen.id, version=seen.version).value.status
        'REJECTED'
        """
        return self._decide("reject", request_id, version)

    def cancel(self, request_id: str, *, version: int) -> Record[models.RampRequest]:
        """Cancel a ramp request. Only its creator can cancel it, and only while it awaits approval.

        Parameters
        ----------
        request_id
            The id of the request.
        version
            The version of the request that the creator saw.

        Returns
        -------
        Record
            The cancelled request.

        Raises
        ------
        VersionConflict
            The request changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> waiting = client.ramp.requests.list(status="AWAITING_APPROVAL").items[0].value
        >>> seen = client.ramp.requests.get(waiting.id).value
        >>> client.ramp.requests.cancel(seen.id, version=seen.version).value.status
        'CANCELLED'
        """
        return self._decide("cancel", request_id, version)

    def change_amount(
        self, request_id: str, *, amount: bodies.Amount, version: int
    ) -> Record[models.RampRequest]:
        """Change the amount of a ramp request that awaits approval.

        Parameters
        ----------
        request_id
            The id of the request.
        amount
            The new gross amount (on-ramp: fiat, off-ramp: crypto).
        version
            The version of the request on which the change is based.

        Returns
        -------
        Record
            The changed request.

        Raises
        ------
        InputError
            The amount is not exact, or below the smallest documented amount; nothing was sent.
        VersionConflict
            The request changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> waiting = client.ramp.requests.list(status="AWAITING_APPROVAL").items[0].value
        >>> seen = client.ramp.requests.get(waiting.id).value
        >>> changed = client.ramp.requests.change_amount(
        ...     seen.id, amount="900", version=seen.version
        ... )
        >>> changed.value.version > seen.version
        True
        """
        body = bodies.RampAmount(amount=amount, version=version)
        return self._change("PUT", "amount", request_id, body)

    def add_transaction_hash(
        self, request_id: str, *, transaction_hash: str, version: int
    ) -> Record[models.RampRequest]:
        """Submit the hash of the blockchain transaction that paid an off-ramp's crypto.

        Parameters
        ----------
        request_id
            The id of the request.
        transaction_hash
            The hash of the transaction.
        version
            The version of the request on which the change is based.

        Returns
        -------
        Record
            The changed request.

        Raises
        ------
        InputError
            The hash is blank; nothing was sent.
        VersionConflict
            The request changed after that version.
        OutcomeUnknown
            The answer was lost, so the change may have been made.
        ServiceError
            The service refused the call or could not be reached.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.

        Examples
        --------
        >>> requests = client.ramp.requests.list(ramp_type="OFF_RAMP", status="AWAITING_FUNDS")
        >>> seen = client.ramp.requests.get(requests.items[0].value.id).value
        >>> changed = client.ramp.requests.add_transaction_hash(
        ...     seen.id, transaction_hash="0x" + "5a" * 32, version=seen.version
        ... )
        >>> changed.value.version > seen.version
        True
        """
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
        """Look up the ramp request that a body created, after the answer was lost.

        A listed request must be newer than the sending, apart from the allowed difference between
        two clocks, and match the body in direction and amount. Its detail must then match the
        currencies and the target.

        Parameters
        ----------
        *parents
            Not used: ramp requests have no parents.
        body
            The body that was sent.
        since
            The instant at which it was sent.
        earlier_ids
            Ids of requests that existed before, which cannot be the created one.
        created_by
            The user who sent the body, as in `RampRequest.maker`: by e-mail address, otherwise by
            login name or id. A request with another known creator does not match.

        Returns
        -------
        Record
            The only request that matches.

        Raises
        ------
        OutcomeUnknown
            No request matches, or several do.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> wallet = client.ramp.wallets.list(verification_status="VERIFIED").items[0].value
        >>> pairs = [record.value for record in client.ramp.on_ramp_pairs.recent()]
        >>> pair = next(pair for pair in pairs if pair.target.chain == wallet.chain)
        >>> body = bodies.NewRampRequest(
        ...     ramp_type="ON_RAMP",
        ...     amount="4321.09",
        ...     fiat_currency_id=pair.source.id,
        ...     crypto_currency_id=pair.target.id,
        ...     company_wallet_id=wallet.id,
        ... )
        >>> created = client.ramp.requests.create(body).value
        >>> found = client.ramp.requests.find(body=body, since=created.created_at)
        >>> found.value.id == created.id
        True
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
        raise InputError("a day is needed, not an instant", do="give a date")
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"{value!r} is not a day", do="write it as 2026-10-01") from None


class Ramp:
    """Every operation of the ramp service, by kind of record; available as `client.ramp`."""

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
