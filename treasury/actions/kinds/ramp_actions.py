"""Actions on ramp requests: create, approve, reject, cancel, change the amount, submit a hash.

The service ignores the key of a new request, and a new request has no version, so it is sent at
most once. All other calls name the version that was read. Nobody approves their own request, unless
the company has only one person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds import service_records as service
from treasury.actions.kinds.chains import transaction_problem
from treasury.actions.kinds.kind import (
    AssetAmount,
    Findings,
    Kind,
    Sent,
    body_from,
    describe,
    ending,
    exact_facts,
    find_created,
    is_created,
    listed_alike,
)
from treasury.actions.seen_request import RampSeen, facts_of
from treasury.api import bodies
from treasury.api.created_records import SKEW
from treasury.api.models import CompanyBankAccount, CompanyWallet, RampRequest
from treasury.core.errors import InputError
from treasury.core.money import exponent, format_amount, is_exact_in
from treasury.core.text import clean
from treasury.core.wording import RAMP_TYPES


class OnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The field that names the ramp request to decide on."""

    request_id: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the request, and check that it awaits approval."""
        return _to_decide(records.require(service.RAMP_REQUEST, self.request_id, "request_id"))


class ChangeAmount(OnRequest, frozen=True, kw_only=True):
    """A new amount: fiat gross for an on-ramp, crypto gross for an off-ramp."""

    amount: Decimal

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the request, and check the new amount."""
        ramp = RampSeen.of(records.require(service.RAMP_REQUEST, self.request_id, "request_id"))
        now = _gross(ramp)
        unit = now.currency if now is not None else "?"
        new = AssetAmount(unit, self.amount)
        problem = ""
        if now is not None and now.amount == self.amount:
            problem = f"{ramp.name} already has the amount {now}"
        elif unit != "?" and not is_exact_in(self.amount, unit):
            problem = f"{self.amount} has more decimals than {unit}, which has {exponent(unit)}"
        new_amount = fact("new amount", new, field="amount", problem=problem)
        direction = RAMP_TYPES.get(ramp.ramp_type, ramp.ramp_type)
        says = f"{direction} {clean(ramp.name)} from {now or 'an amount not shown'} to {new}"
        return _findings(ramp, "AWAITING_APPROVAL", lambda _: says, new_amount, money=new)


class SubmitHash(OnRequest, frozen=True, kw_only=True):
    """The hash of the blockchain transaction that pays an off-ramp's crypto."""

    transaction_hash: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the off-ramp, check that it awaits its crypto, and describe the hash."""
        request = records.require(service.RAMP_REQUEST, self.request_id, "request_id")
        ramp = RampSeen.of(request)
        wallet = request.deposit_wallet
        chain = (wallet.chain if wallet else None) or ramp.crypto_chain
        new_hash, problem = self.transaction_hash, ""
        if ramp.on_ramp:
            problem = f"{ramp.name} is an on-ramp, which takes no transaction hash"
        elif request.blockchain_transaction_hash:
            problem = f"{ramp.name} already has the hash {request.blockchain_transaction_hash}"
        else:
            problem = transaction_problem(chain, new_hash)
        more = (
            fact("hash so far", request.blockchain_transaction_hash or "none"),
            fact("deposit address", wallet and wallet.address),
            fact("deposit chain", chain),
            fact("transaction hash", new_hash, field="transaction_hash", problem=clean(problem)),
        )
        coins = ramp.crypto_currency or "crypto"
        if ramp.crypto_amount is not None:
            coins = format_amount(ramp.crypto_amount, ramp.crypto_currency or "?")
        sent = f"{coins} sent to {clean(wallet and wallet.address) or 'an address not shown'}"
        says = f"off-ramp {clean(ramp.name)}: {sent} with transaction {clean(new_hash)}"
        return _findings(ramp, "AWAITING_FUNDS", lambda _: says, *more)


class NewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A new ramp request; `amount` is fiat gross for an on-ramp, crypto gross for an off-ramp.

    Currencies are codes; `chain` is required for a cryptocurrency on several chains.
    """

    ramp_type: str
    amount: Decimal
    fiat_currency: str
    crypto_currency: str
    chain: str | None = None
    company_wallet_id: str | None = None
    company_bank_account_id: str | None = None

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the target, the currencies and the company, and check each of them."""
        on_ramp = self.ramp_type == "ON_RAMP"
        target, chain, payee, address = _target(self, records, on_ramp=on_ramp)
        fiat = records.fiat_currency(self.fiat_currency, "fiat_currency")
        network = self.chain or chain
        crypto = records.crypto_currency(self.crypto_currency, network, "crypto_currency")
        units = (fiat.currency or self.fiat_currency, crypto.currency or self.crypto_currency)
        unit, bought = units if on_ramp else units[::-1]
        company = records.find(service.COMPANY)
        facts = [] if company is None else [_verified("company", company.kyb_status, "")]
        facts += [*target, *exact_facts(self.amount, unit)]
        if crypto.enabled is False:
            problem = f"{crypto.currency} on {crypto.chain} is not enabled"
            facts.append(fact("currency enabled", "no", field="crypto_currency", problem=problem))
        body = f"{RAMP_TYPES[self.ramp_type]} request: {format_amount(self.amount, unit)} for"
        coins = f"{bought} on {crypto.chain}" if on_ramp and crypto.chain else bought
        goes = "delivered to" if on_ramp else "paid to"
        unknown = f"…{address[-4:]}" if address else "an account not shown"
        return describe(
            facts,
            lambda masked: (
                f"{body} {coins}, {goes} {payee}"
                f"{ending(address, masked, unknown) if address else unknown}."
            ),
            money=AssetAmount(unit, self.amount),
            resolved={"fiat_currency_id": fiat.id, "crypto_currency_id": crypto.id},
        )


# Decisions on a request


def _to_decide(request: RampRequest) -> Findings:
    ramp = RampSeen.of(request)
    return _findings(ramp, "AWAITING_APPROVAL", lambda masked: _words(ramp, masked))


def _read_approval(fields: OnRequest, records: service.ServiceRecords) -> Findings:
    """Read the request, and check that its payee is verified."""
    request = records.require(service.RAMP_REQUEST, fields.request_id, "request_id")
    findings = _to_decide(request)
    wallet, account = request.company_wallet, request.company_bank_account
    target: CompanyWallet | CompanyBankAccount | None = None
    if request.ramp_type == "ON_RAMP" and wallet is not None and wallet.id:
        target = records.require(service.COMPANY_WALLET, wallet.id, "request_id")
    elif account is not None and account.id:
        target = records.require(service.COMPANY_BANK_ACCOUNT, account.id, "request_id")
    if target is None:
        return findings
    name = "wallet" if isinstance(target, CompanyWallet) else "bank account"
    verification = _verified(name, target.verification_status, "request_id")
    # The verification status may change, as long as it does not block the approval.
    verification = msgspec.structs.replace(verification, material=False)
    return msgspec.structs.replace(findings, facts=(*findings.facts, verification))


def _findings(
    ramp: RampSeen,
    status: str,
    says: Callable[[bool], str],
    *more: Fact,
    money: AssetAmount | None = None,
) -> Findings:
    facts: list[Fact] = []
    for shown_fact in facts_of(ramp):
        problem = ""
        if shown_fact.name == "status" and ramp.status != status:
            problem = f"{ramp.name} is {ramp.status or 'of unknown status'}, not {status}"
        elif shown_fact.name == "version" and ramp.version is None:
            problem = f"{ramp.name} was shown without its version: sync its details"
        facts.append(msgspec.structs.replace(shown_fact, problem=clean(problem)))
    return describe(
        (*facts, *more),
        lambda masked: f"{says(masked)}.",
        money=money or _gross(ramp),
        version=ramp.version,
        request=ramp,
    )


def _gross(ramp: RampSeen) -> AssetAmount | None:
    currency, amount = ramp.crypto_currency, ramp.crypto_amount
    if ramp.on_ramp:
        currency, amount = ramp.fiat_currency, ramp.fiat_amount
    return None if currency is None or amount is None else AssetAmount(currency, amount)


def _words(request: RampSeen, masked: bool) -> str:
    """Return `on-ramp PAY-1: EUR 25,000.00 gross (fee EUR 200.00) for USDC 26.5, …`."""
    fiat, crypto = request.fiat_currency or "?", request.crypto_currency or "?"
    amounts = (("fee", request.fiat_fee_amount), ("net", request.fiat_net_amount))
    inner = ", ".join(f"{name} {format_amount(a, fiat)}" for name, a in amounts if a is not None)
    gross = "an amount not shown"
    if request.fiat_amount is not None:
        gross = f"{format_amount(request.fiat_amount, fiat)} gross"
    money = gross + (f" ({inner})" if inner else "")
    coins = crypto
    if request.crypto_amount is not None:
        coins = format_amount(request.crypto_amount, crypto)
    direction = RAMP_TYPES.get(request.ramp_type, clean(request.ramp_type))
    first, second = (money, coins) if request.on_ramp else (coins, money)
    exchange = f"{direction} {clean(request.name)}: {first} for {second}"
    if request.payee_account is None:
        return f"{exchange}, to a payee that the service does not show"
    payee = ending(request.payee_account, masked)
    if not request.on_ramp:
        return f"{exchange}, paid to account {payee}"
    chain = f" on {clean(request.payee_chain)}" if request.payee_chain else ""
    return f"{exchange}, delivered to wallet {payee}{chain}"


def _shown_by(event: str, *statuses: str) -> Callable[[RampRequest, Sent], bool]:
    """Return a check for an event, or, if the service shows no events, for a later status."""

    def shows(request: RampRequest, _: Sent) -> bool:
        if request.status == "AWAITING_APPROVAL":
            return False
        if request.events:
            return request.event(event) is not None
        return request.status in statuses

    return shows


# A new request


def _target(
    fields: NewRequest, records: service.ServiceRecords, *, on_ramp: bool
) -> tuple[list[Fact], str | None, str, str]:
    """Return the facts about the target wallet or bank account, and its chain, name and address."""
    if fields.ramp_type not in RAMP_TYPES:
        raise InputError(
            f"ramp_type: {fields.ramp_type!r} is not a ramp type", do="use ON_RAMP or OFF_RAMP"
        )
    own, opposite = "company_wallet_id", "company_bank_account_id"
    if not on_ramp:
        own, opposite = opposite, own
    target_id = getattr(fields, own)
    if target_id is None:
        raise InputError(f"{own}: is missing for {fields.ramp_type}", do=f"give {own}")
    if getattr(fields, opposite) is not None:
        raise InputError(
            f"{opposite}: does not apply to {fields.ramp_type}", do=f"leave {opposite} out"
        )
    if on_ramp:
        wallet = records.require(service.COMPANY_WALLET, target_id, own)
        name = f"wallet {clean(wallet.description)} ".replace("  ", " ")
        facts = [_verified("wallet", wallet.verification_status, own)]
        facts += [fact("wallet address", wallet.address), fact("wallet chain", wallet.chain)]
        return facts, wallet.chain, name, wallet.address or ""
    account = records.require(service.COMPANY_BANK_ACCOUNT, target_id, own)
    number = account.iban or account.account_number or ""
    facts = [_verified("bank account", account.verification_status, own)]
    facts += [fact("payee account", number or None), fact("payee bank", account.bank_name)]
    if account.supported_ramp_type == "ON_RAMP":
        facts.append(
            fact("account is for", "ON_RAMP", field=own, problem="the account is for ON_RAMP only")
        )
    return facts, None, f"account {clean(account.name)} ", number


def _verified(name: str, status: str | None, field: str) -> Fact:
    unsure = status not in {"VERIFIED", None}
    problem = f"the {name} is {status}, not VERIFIED" if unsure else ""
    return fact(f"{name} verification", status, field=field, problem=clean(problem))


def _same_requests(
    records: service.ServiceRecords, _: NewRequest, body: bodies.Body
) -> Iterable[RampRequest]:
    """Yield equal requests, compared by their details, because list items lack fields.

    Rejected requests are included, because somebody has already decided against them.
    """
    for request in filter(body.is_like, records.lately(service.RAMP_REQUESTS)):
        whole = records.require(service.RAMP_REQUEST, request.id, "request_id")
        if body.is_like(whole):
            yield whole


def _on_request(name: str, verb: str, consequence: str, **more: Any) -> Kind:
    usual: dict[str, Any] = {
        "fields": OnRequest,
        "body": body_from(bodies.RecordVersion),
        "operation": f"POST /ramp-requests/{{id}}/{name}",
        "credential": "checker",
        "second_person": False,
    }
    return Kind(
        name=f"ramp_request.{name}",
        verb=verb,
        consequence=consequence,
        safety="versioned",
        model=RampRequest,
        ids=("request_id",),
        **(usual | more),
    )


RAMP_KINDS: Final = (
    Kind(
        name="ramp_request.create",
        verb="Create",
        consequence="It then awaits approval; nothing is paid yet.",
        operation="POST /ramp-requests",
        fields=NewRequest,
        model=RampRequest,
        body=body_from(bodies.NewRampRequest),
        has_key=True,
        shows=is_created,
        look_up=find_created(
            "GET /ramp-requests",
            lambda client, sent: client.ramp.requests.iterate(
                created_from=(sent.at - SKEW).date(), sort_order="DESC"
            ),
            lambda client, request: client.ramp.requests.get(request),
        ),
        # Recent requests: a colleague's, or one that we just made.
        alike=listed_alike(lambda client, _: client.ramp.requests.list(sort_order="DESC")),
        twins=_same_requests,
        second_person=False,  # Another user of the service approves the request.
    ),
    _on_request(
        "approve",
        "Approve",
        "It then awaits its funds.",
        event="APPROVED",
        shows=_shown_by("APPROVED", "AWAITING_FUNDS", "PROCESSING", "SUCCEEDED"),
        read=_read_approval,
        decides_on_maker=True,
    ),
    _on_request(
        "reject",
        "Reject",
        "It is then closed for good and nothing is paid.",
        event="REJECTED",
        shows=_shown_by("REJECTED", "REJECTED"),
    ),
    _on_request(
        "cancel",
        "Cancel",
        "It is then closed for good and nothing is paid.",
        credential="maker",
        event="CANCELLED",
        shows=_shown_by("CANCELLED", "CANCELLED"),
    ),
    _on_request(
        "change_amount",
        "Change the amount of",
        "It still awaits approval.",
        operation="PUT /ramp-requests/{id}/amount",
        credential="maker",
        fields=ChangeAmount,
        body=body_from(bodies.RampAmount),
        event="AMOUNT_CHANGED",
        shows=lambda request, sent: (
            (request.version or 0) > (sent.version or 0)
            and getattr(_gross(RampSeen.of(request)), "amount", None) == sent.fields.amount
        ),
    ),
    _on_request(
        "submit_hash",
        "Submit the transaction of",
        "The service then looks for it on the chain.",
        operation="PATCH /ramp-requests/{id}/tx-hash",
        credential="maker",
        fields=SubmitHash,
        body=body_from(bodies.RampTransactionHash, blockchain_transaction_hash="transaction_hash"),
        event="TX_HASH_ADDED",
        gives_hash=lambda fields: str(fields.transaction_hash),
        shows=lambda request, sent: (
            (request.blockchain_transaction_hash or "").lower()
            == sent.fields.transaction_hash.lower()
        ),
    ),
)
