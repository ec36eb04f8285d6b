"""Transfer actions: crypto, fiat, and between two accounts of the service.

Each call has an idempotency key. The sender has to be active and verified, and to have enough of
the asset on that chain. A condition that is not met is a fact with a problem: a form shows it at
the field, and an execution checks it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds import service_records as service
from treasury.actions.kinds.chains import address_problem
from treasury.actions.kinds.kind import (
    AssetAmount,
    Findings,
    Kind,
    Sent,
    body_from,
    describe,
    ending,
    exact_facts,
    find_by_key,
    lately_like,
)
from treasury.api import Client, Record, bodies, models
from treasury.core.errors import InputError
from treasury.core.money import EXPONENTS, format_amount, total
from treasury.core.text import clean


class _Outward(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of crypto and fiat transfers; the receiver is named by the service's id or by ours."""

    sender_account_id: str
    amount: Decimal
    receiver_account_id: str | None = None
    receiver_external_id: str | None = None
    description: str | None = None


class CryptoTransfer(_Outward, frozen=True, kw_only=True):
    """A transfer of `asset` on `chain`.

    An address outside the service needs the name of its field, which only the provider knows.
    """

    chain: str
    asset: str
    external_address: str | None = None
    external_field: str | None = None

    @property
    def outside(self) -> bodies.ExternalAddress | None:
        """The address outside the service, with the name of its field; None if there is none."""
        if self.external_address is None:
            return None
        return bodies.ExternalAddress(self.external_field or "", self.external_address)

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the sender, its balance and the receiver, and check them for that chain."""
        sender = records.require(service.ACCOUNT, self.sender_account_id, "sender_account_id")
        receiving, receiver = _crypto_receiver(self, records)
        money = AssetAmount(self.asset, self.amount)
        end = _described(self.description)
        return describe(
            (
                *_sender(records, sender, "sender_account_id"),
                *receiving,
                *_decimals(self.amount, self.asset),
                *_chain(sender, self.chain),
                *_balance(records, sender.id, self.asset, self.chain, self.amount),
            ),
            lambda masked: (
                f"{money} on {self.chain} from account {account_name(sender, masked)}"
                f" to {receiver(masked)}{end}."
            ),
            money=money,
            drawn=(sender.id, self.asset, self.amount),
        )


class FiatTransfer(_Outward, frozen=True, kw_only=True):
    """A fiat transfer, with its amount in `currency`."""

    currency: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read and check the sender, its balances and the receiver."""
        sender = records.require(service.ACCOUNT, self.sender_account_id, "sender_account_id")
        receiving, receiver = _receiver(self, records)
        facts = [
            *_sender(records, sender, "sender_account_id"),
            *receiving,
            *_decimals(self.amount, self.currency),
        ]
        # The service chooses the asset to pay with, so only an empty account is a problem.
        holdings = [
            (h.asset, service.spendable(h)) for _, h in records.holdings(sender.id) if h.asset
        ]
        if holdings:
            amounts = ", ".join(format_amount(b, unit) for unit, b in holdings if b is not None)
            empty = all(balance == 0 for _, balance in holdings)
            problem = "the sender holds nothing to pay with" if empty else ""
            facts.append(
                fact("available", amounts or None, material=False, field="amount", problem=problem)
            )
        money = AssetAmount(self.currency, self.amount)
        end = _described(self.description)
        return describe(
            facts,
            lambda masked: (
                f"{money} from account {account_name(sender, masked)} to account"
                f" {account_name(receiver, masked)}{end}."
            ),
            money=money,
        )


class AccountTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer between two accounts of the service, without a blockchain transaction."""

    source_account_id: str
    destination_account_id: str
    amount: Decimal
    cryptocurrency: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read and check both accounts, and the balance of the sender."""
        sender = records.require(service.ACCOUNT, self.source_account_id, "source_account_id")
        receiver = records.require(
            service.ACCOUNT, self.destination_account_id, "destination_account_id"
        )
        money = AssetAmount(self.cryptocurrency, self.amount)
        return describe(
            (
                *_sender(records, sender, "source_account_id"),
                *_receiving(receiver, sender.id, "destination_account_id"),
                *_decimals(self.amount, self.cryptocurrency),
                *_balance(records, sender.id, self.cryptocurrency, None, self.amount),
            ),
            lambda masked: (
                f"{money} from account {account_name(sender, masked)} to account"
                f" {account_name(receiver, masked)}, inside the service."
            ),
            money=money,
            drawn=(sender.id, self.cryptocurrency, self.amount),
        )


def account_name(account: models.Account, masked: bool = False) -> str:
    """Return our id and the service's id of an account, as in `treasury-eur (f5520527-…)`."""
    number = ending(account.id, masked)
    name = clean(account.external_id or account.name)
    return f"{name} ({number})" if name else number


def active(account: models.Account, side: str, field: str) -> Fact:
    """Return an account's status as a fact; a known status other than ACTIVE is a problem."""
    wrong = account.status not in {"ACTIVE", None}
    problem = f"account {account_name(account)} is {account.status}, not ACTIVE" if wrong else ""
    return fact(f"{side} status", account.status, field=field, problem=clean(problem))


def _sender(records: service.ServiceRecords, account: models.Account, field: str) -> list[Fact]:
    return [
        fact("sender", account_name(account), field=field),
        active(account, "sender", field),
        _verified(records, account, field),
    ]


def _verified(records: service.ServiceRecords, account: models.Account, field: str) -> Fact:
    """Return the sender's verification status as a fact, from the account or else its holders."""
    status, may = account.kyc_status, account.may_send
    if may is None:
        checks = [party.kyc_status or party.kyb_status for party in records.holders(account.id)]
        statuses = sorted({check for check in checks if check})
        status = ", ".join(statuses) or None
        may = None if status is None else all(c in {"VERIFIED", "NOT_REQUIRED"} for c in statuses)
    problem = (
        f"the holder of {account_name(account)} is {status}, not VERIFIED" if may is False else ""
    )
    return fact("sender verification", status, field=field, problem=clean(problem))


def _receiver(
    fields: _Outward, records: service.ServiceRecords
) -> tuple[list[Fact], models.Account]:
    own_id, external_id = fields.receiver_account_id, fields.receiver_external_id
    if (own_id is None) == (external_id is None):
        raise InputError(
            "receiver_account_id: one receiver is needed",
            do="give receiver_account_id or receiver_external_id, not both",
        )
    if own_id is not None:
        field = "receiver_account_id"
        account = records.require(service.ACCOUNT, own_id, field)
    else:
        field = "receiver_external_id"
        account = records.require(service.ACCOUNT_NAMED, external_id or "", field)
    return _receiving(account, fields.sender_account_id, field), account


def _receiving(account: models.Account, sender_id: str, field: str) -> list[Fact]:
    problem = "it is the sender" if account.id == sender_id else ""
    return [
        fact("receiver", account_name(account), field=field, problem=problem),
        active(account, "receiver", field),
    ]


def _balance(
    records: service.ServiceRecords, account_id: str, asset: str, chain: str | None, amount: Decimal
) -> list[Fact]:
    """Return the sender's spendable balance of the asset as facts; empty if it is not shown."""
    holdings = records.holdings(account_id)
    if not holdings:
        return []
    place = f"{asset} on {chain}" if chain else asset
    balances = [
        service.spendable(h)
        for on, h in holdings
        if h.asset == asset and (not chain or on in {chain, None})
    ]
    if not balances:
        field = "asset" if chain else "cryptocurrency"
        return [fact("asset held", "no", field=field, problem=f"the sender holds no {place}")]
    held = fact("asset held", place)
    if None in balances:
        return [held]
    available = total(balance for balance in balances if balance is not None)
    balance, problem = format_amount(available, asset), ""
    if available < amount:
        problem = f"{format_amount(amount, asset)} is over the balance, {balance}"
    return [held, fact("available", balance, material=False, field="amount", problem=problem)]


def _decimals(amount: Decimal, unit: str) -> list[Fact]:
    return exact_facts(amount, unit) if unit in EXPONENTS else []


def _crypto_receiver(
    fields: CryptoTransfer, records: service.ServiceRecords
) -> tuple[list[Fact], Callable[[bool], str]]:
    """Return the facts about the receiver, and its full or masked name."""
    address = fields.external_address
    if address is None:
        facts, account = _receiver(fields, records)
        return facts, lambda masked: f"account {account_name(account, masked)}"
    if fields.receiver_account_id is not None or fields.receiver_external_id is not None:
        raise InputError("external_address: a receiver is given too", do="give only one of them")
    if fields.external_field is None:
        raise InputError(
            "external_field: is missing, and the service's field for an outside address has"
            " no default",
            do="ask the provider for the field's name and give it",
        )
    problem = address_problem(fields.chain, address)
    return (
        [fact("receiver", address, field="external_address", problem=problem)],
        lambda masked: (
            f"wallet {ending(address, masked)} outside the service, which cannot be called back"
        ),
    )


def _chain(sender: models.Account, chain: str) -> list[Fact]:
    if sender.chain is None:
        return []
    wrong = sender.chain != chain
    problem = (
        f"account {account_name(sender)} is on {sender.chain}, not on {chain}" if wrong else ""
    )
    return [fact("sender chain", sender.chain, field="chain", problem=clean(problem))]


def _described(description: str | None) -> str:
    return f', described as "{clean(description)}"' if description else ""


def _states_amount(record: models.Transfer, _: Sent) -> bool:
    """Return whether an answer shows the key or the amount; the client has compared both."""
    has_amount = record.amount is not None or record.fiat_origin is not None
    return record.idempotency_key is not None or has_amount


def _detail(client: Client, sent: Sent, transfer_id: str) -> Record[Any]:
    """Return the sender's transfer with that id."""
    return client.finance.transfers.get(*sent.ids, transfer_id)


def _between(client: Client, sent: Sent) -> Iterator[Record[models.Transfer]]:
    """List the source's transfers to other accounts, which cannot be read by id."""
    return client.finance.account_to_account_transfers.iterate(
        source_account_id=sent.fields.source_account_id, sort_order="DESC"
    )


def _sent_from(client: Client, sent: Sent) -> Iterator[Record[models.Transfer]]:
    """List the transfers of the sender, newest first."""
    return client.finance.transfers.iterate(*sent.ids, sort_order="DESC")


_BETWEEN: Final = ("source_account_id", "destination_account_id", "cryptocurrency", "amount")
"""Fields that identify a transfer between two accounts if its record has no key."""


def _same_way(
    unit: str,
) -> Callable[[service.ServiceRecords, Any, bodies.Body], Iterable[models.Transfer]]:
    """Return a function that finds transfers of equal sender, amount, receiver and description.

    Failed transfers are included. `unit` is the field with the asset or the fiat currency.
    """

    def twins(
        records: service.ServiceRecords, fields: Any, _: bodies.Body
    ) -> Iterable[models.Transfer]:
        to = fields.receiver_account_id
        if fields.receiver_external_id is not None:
            external_id = fields.receiver_external_id
            to = records.require(service.ACCOUNT_NAMED, external_id, "receiver_external_id").id
        likeness = (getattr(fields, unit), fields.amount)
        for transfer in records.lately(service.TRANSFERS, fields.sender_account_id):
            money = transfer if unit == "asset" else transfer.fiat_origin
            is_sender = transfer.sender_account_id in {fields.sender_account_id, None}
            is_receiver = transfer.receiver_account_id in {to, None}
            is_description = transfer.description in {fields.description, None}
            is_amount = money is not None and (getattr(money, unit), money.amount) == likeness
            if is_sender and is_receiver and is_description and is_amount:
                yield transfer

    return twins


TRANSFER_KINDS: Final = (
    Kind(
        name="crypto_transfer.create",
        verb="Send",
        consequence="It cannot be called back.",
        operation="POST /accounts/{senderAccountId}/transfers/crypto",
        safety="keyed",
        fields=CryptoTransfer,
        model=models.Transfer,
        ids=("sender_account_id",),
        body=body_from(bodies.NewCryptoTransfer, external_address="outside"),
        shows=_states_amount,
        detail=_detail,
        look_up=find_by_key("GET /accounts/{accountId}/transfers", _sent_from),
        twins=_same_way("asset"),
    ),
    Kind(
        name="fiat_transfer.create",
        verb="Send",
        consequence="The service takes it from what the sender holds, at its own rate.",
        operation="POST /accounts/{senderAccountId}/transfers/fiat",
        safety="keyed",
        fields=FiatTransfer,
        model=models.Transfer,
        ids=("sender_account_id",),
        body=body_from(bodies.NewFiatTransfer),
        shows=_states_amount,
        detail=_detail,
        look_up=find_by_key("GET /accounts/{accountId}/transfers", _sent_from),
        twins=_same_way("currency"),
    ),
    Kind(
        name="account_transfer.create",
        verb="Move",
        consequence="It settles within seconds and cannot be called back.",
        operation="POST /account-to-account-transfers",
        safety="keyed",
        fields=AccountTransfer,
        model=models.Transfer,
        body=body_from(bodies.NewAccountToAccountTransfer),
        shows=_states_amount,
        detail=lambda client, sent, transfer_id: next(
            (one for one in _between(client, sent) if one.value.id == transfer_id), None
        ),
        look_up=find_by_key("GET /account-to-account-transfers", _between, *_BETWEEN),
        twins=lately_like(
            service.INNER_TRANSFERS,
            "source_account_id",
            *_BETWEEN,
        ),
    ),
)
