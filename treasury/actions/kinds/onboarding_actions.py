"""Parties and their accounts: who a customer is, which account is whose, and what it is called.

An account's own id may stand for it as the receiver of a transfer, and only a verified holder sends
money, so most of these decide where money can go. Later generations of the service ignore their
key: each is sent at most once, and its effect is read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds.account_actions import OnAccount
from treasury.actions.kinds.kind import (
    Findings,
    Kind,
    Sent,
    as_sent,
    find_created,
    is_created,
    listed_alike,
    read_again,
)
from treasury.actions.kinds.service_records import ServiceRecords
from treasury.actions.kinds.transfer_actions import account_name, active
from treasury.api import Client, Record
from treasury.api.bodies import (
    AccountChanges,
    NewAccount,
    NewParty,
    NewPartyRole,
    PartyChanges,
    PostalAddress,
    new_key,
)
from treasury.api.models import Account, Party, PartyRole
from treasury.errors import InputError, NotFound
from treasury.text import clean

__all__ = ["ONBOARDING_KINDS", "ChangeAccount", "ChangeParty", "HoldAccount", "OpenAccount"]

_CHAINS: Final = ("BASE", "AVALANCHE")
_HOLDER: Final = "ACCOUNT_HOLDER"
_NAMES: Final = ("first_name", "last_name", "name", "vat_number")
_ADDRESS: Final = PostalAddress.__struct_fields__
_DELETED: Final = Record(msgspec.Raw(b"null"), b"null")
"""What shows that a record was deleted: nothing."""
_DELETED_BEFORE: Final = frozenset({404, 409})


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """What a party is called and where it is."""

    first_name: str | None = None
    last_name: str | None = None
    name: str | None = None
    vat_number: str | None = None
    address_line1: str | None = None
    address_line2: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None


class MakeParty(_About, frozen=True, kw_only=True):
    """A new customer: a person by first and last name, or a company by name."""

    party_type: str
    external_id: str | None = None

    def read(self, _: ServiceRecords) -> Findings:
        """What is given of the party; the service knows nothing of it yet."""
        details = ", ".join(
            f"{name.replace('_', ' ')} {clean(v)}" for name, v in _plain(self).items()
        )
        kind = clean(self.party_type).lower()
        facts = [fact("party type", self.party_type, field="party_type")]
        facts += [fact(name.replace("_", " "), value) for name, value in _plain(self).items()]
        own = f", our id {clean(self.external_id)}" if self.external_id else ""
        return Findings(
            facts=tuple(facts),
            says=f"{kind} party {_called(self)}: {details}{own}.",
            masked=f"{kind} party{own}.",
        )


class OnParty(msgspec.Struct, frozen=True, kw_only=True):
    """Which party."""

    party_id: str

    def read(self, records: ServiceRecords) -> Findings:
        """The party as it is now."""
        party = records.party(self.party_id, "party_id")
        return Findings(
            facts=(fact("party", party.id), *_party_facts(party)),
            says=f"party {_called(party)} ({clean(party.id)}).",
            masked=f"{_masked(party)}.",
        )


class ChangeParty(_About, frozen=True, kw_only=True):
    """What is to be different about a party."""

    party_id: str

    def read(self, records: ServiceRecords) -> Findings:
        """The party as it is now, and what will be different."""
        party = records.party(self.party_id, "party_id")
        now, new = _now(party), _plain(self)
        if not new:
            raise InputError("name: nothing is to change", do="give what is to be different")
        if all(now[name] == value for name, value in new.items()):
            first = next(iter(new))
            problem = f"{clean(party.id)} is so already"
        else:
            first, problem = "party_id", ""
        changes = ", ".join(
            f"{name.replace('_', ' ')} from {clean(now[name]) or 'none'} to {clean(value)}"
            for name, value in new.items()
        )
        facts = [fact("party", party.id, field=first, problem=problem), *_party_facts(party)]
        facts += [fact(f"{name.replace('_', ' ')} so far", now[name] or "none") for name in new]
        return Findings(
            facts=tuple(facts),
            says=f"party {_called(party)} ({clean(party.id)}): {changes}.",
            masked=f"{_masked(party)}: {', '.join(name.replace('_', ' ') for name in new)}.",
            version=party.version,
            resolved={name: value for name in _ADDRESS if (value := now[name])},
        )


class OpenAccount(OnParty, frozen=True, kw_only=True):
    """An account on one chain for a party that there is; `external_id` is our own id of it."""

    external_id: str
    chain: str
    name: str | None = None

    def read(self, records: ServiceRecords) -> Findings:
        """The party, and whether the id is free."""
        if self.chain not in _CHAINS:
            raise InputError(
                f"chain: {clean(self.chain)!r} is none of the service's",
                do=f"use one of: {', '.join(_CHAINS)}",
            )
        party = records.party(self.party_id, "party_id")
        lead = f"account {clean(self.external_id)} on {self.chain} for"
        return Findings(
            facts=(*_party_facts(party), _free(self.external_id, records)),
            says=f"{lead} {_called(party)}.",
            masked=f"{lead} {_masked(party)}.",
        )


class ChangeAccount(OnAccount, frozen=True, kw_only=True):
    """Another id of ours, by which transfers may name the account as their receiver."""

    external_id: str

    def read(self, records: ServiceRecords) -> Findings:
        """The account as it is called now, and whether the id is free."""
        account = records.account(self.account_id, "account_id")
        was = clean(account.external_id) or "none"
        lead = f"from {was} to {clean(self.external_id)} for account"
        return Findings(
            facts=(
                fact("our id so far", account.external_id or "none"),
                _free(self.external_id, records),
                fact("account status", account.status),
            ),
            says=f"{lead} {clean(account.id)}.",
            masked=f"{lead} …{account.id[-4:]}.",
        )


class HoldAccount(OnAccount, frozen=True, kw_only=True):
    """A party that is to hold an account too."""

    party_id: str
    role_type: str

    def read(self, records: ServiceRecords) -> Findings:
        """The account, the party, and who holds the account so far."""
        if self.role_type != _HOLDER:
            raise InputError(
                f"role_type: {clean(self.role_type)!r} is no role",
                do=f"use {_HOLDER}, the only one",
            )
        account = records.account(self.account_id, "account_id")
        party = records.party(self.party_id, "party_id")
        holders = records.holders(account.id)
        is_holder = any(holder.id == party.id for holder in holders)
        names = ", ".join(sorted(_called(holder) for holder in holders)) or "nobody shown"
        holding = fact(
            "holders so far",
            names,
            material=False,  # a list may lag; that the party is no holder yet is what matters
            field="party_id",
            problem="it holds the account" if is_holder else "",
        )
        return Findings(
            facts=(active(account, "account", "account_id"), *_party_facts(party), holding),
            says=f"{_called(party)} a holder of account {account_name(account)}, held by {names}.",
            masked=f"{_masked(party)} a holder of account {account_name(account, masked=True)}.",
        )


# Parties


def _called(party: Party | _About) -> str:
    person = " ".join(filter(None, (party.first_name, party.last_name)))
    return clean(party.name or person or "without a name")


def _masked(party: Party) -> str:
    return f"party …{party.id[-4:]}"


def _address(fields: _About, now: Mapping[str, str]) -> PostalAddress | None:
    """The address as it is to be: what is not given stays, for it is sent whole."""
    changes = {name: value for name in _ADDRESS if (value := getattr(fields, name))}
    return PostalAddress(**(dict(now) | changes)) if changes else None


def _plain(fields: _About) -> dict[str, str]:
    """What is given of it, by its names."""
    return {name: value for name in _About.__struct_fields__ if (value := getattr(fields, name))}


def _now(party: Party) -> dict[str, str | None]:
    """What the service says of it now, by the names of the fields."""
    names: dict[str, str | None] = {name: getattr(party, name) for name in _NAMES}
    return names | {name: getattr(party.address, name, None) for name in _ADDRESS}


def _party_facts(party: Party) -> list[Fact]:
    status = party.status
    problem = f"the party is {clean(status)}" if status not in {"ACTIVE", None} else ""
    return [
        fact("party name", _called(party)),
        fact("party status", status, field="party_id", problem=problem),
        fact("party verification", party.kyc_status or party.kyb_status),
    ]


def _is_changed(party: Party, sent: Sent) -> bool:
    now = _now(party)
    return all(now[name] == value for name, value in _plain(sent.fields).items())


# Accounts


def _free(external_id: str, records: ServiceRecords) -> Fact:
    holds = records.holds_name(external_id)
    problem = f"account {clean(holds.id)} has that id already" if holds is not None else ""
    return fact("our id", external_id, field="external_id", problem=problem)


_is_role: Final = as_sent("party_id", "role_type")


def _read_empty(fields: OnAccount, records: ServiceRecords) -> Findings:
    account = records.account(fields.account_id, "account_id")
    balances = [
        (holding.asset, holding.total)
        for _, holding in records.holdings(account.id)
        if holding.total
    ]
    amounts = ", ".join(f"{clean(asset)} {amount:f}" for asset, amount in balances)
    problem = f"account {account_name(account)} still holds {amounts}" if balances else ""
    return Findings(
        facts=(
            fact("account", account_name(account)),
            fact("account status", account.status),
            fact("holds", amounts or "nothing", field="account_id", problem=problem),
        ),
        says=f"account {account_name(account)}.",
        masked=f"account {account_name(account, masked=True)}.",
    )


def _deleted(get: Callable[[Client, str], object]) -> Callable[[Client, Sent], Record[Any] | None]:
    """It is deleted where the service does not know it any more."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        try:
            get(client, *sent.ids)
        except NotFound:
            return _DELETED
        return None

    return look_up


def _kind(name: str, verb: str, consequence: str, operation: str, **more: Any) -> Kind:
    usual: dict[str, Any] = {"credential": "maker", "safety": "neither"}
    return Kind(
        name=name, verb=verb, consequence=consequence, operation=operation, **(usual | more)
    )


ONBOARDING_KINDS: Final = (
    _kind(
        "party.create",
        "Create",
        "Its check then starts; nothing can be sent for it before it is verified.",
        "POST /parties",
        fields=MakeParty,
        model=Party,
        read=MakeParty.read,
        body=lambda fields, _, key: NewParty(
            party_type=fields.party_type,  # which the body checks
            **{name: getattr(fields, name) for name in _NAMES},
            address=_address(fields, {}),
            external_id=fields.external_id,
            idempotency_key=key or new_key(),
        ),
        shows=is_created,
        look_up=find_created(
            "GET /parties", lambda client, _: client.finance.parties.iterate(sort_order="DESC")
        ),
        alike=listed_alike(lambda client, _: client.finance.parties.iterate(sort_order="DESC")),
        twins=lambda records, _, body: filter(body.is_like, records.lately("parties")),
        second_person=False,
    ),
    _kind(
        "party.change",
        "Change",
        "What it was verified as may no longer hold.",
        "PATCH /parties/{id}",
        fields=ChangeParty,
        model=Party,
        read=ChangeParty.read,
        ids=("party_id",),
        body=lambda fields, findings, _: PartyChanges(
            version=findings.version,
            **{name: getattr(fields, name) for name in _NAMES},
            address=_address(fields, findings.resolved),
        ),
        shows=_is_changed,
        look_up=read_again(lambda client, party: client.finance.parties.get(party), _is_changed),
    ),
    _kind(
        "party.delete",
        "Delete",
        "It is then gone for good.",
        "DELETE /parties/{id}",
        fields=OnParty,
        model=msgspec.Raw,
        read=OnParty.read,
        ids=("party_id",),
        body=lambda _fields, _found, _key: None,
        refuses_repeat=_DELETED_BEFORE,
        look_up=_deleted(lambda client, party: client.finance.parties.get(party)),
    ),
    _kind(
        "account.create",
        "Open",
        "It is empty, and has no wallet yet.",
        "POST /accounts",
        fields=OpenAccount,
        model=Account,
        read=OpenAccount.read,
        body=lambda fields, _, key: NewAccount(
            external_id=fields.external_id,
            name=fields.name,
            chain=fields.chain,
            party_id=fields.party_id,
            idempotency_key=key or new_key(),
        ),
        shows=is_created,
        look_up=find_created(
            "GET /accounts",
            lambda client, sent: client.finance.accounts.iterate(
                external_id=sent.fields.external_id
            ),
        ),
        alike=listed_alike(
            lambda client, fields: client.finance.accounts.iterate(external_id=fields.external_id)
        ),
        second_person=False,
    ),
    _kind(
        "account.change",
        "Change our id",
        "A transfer to the new id then goes to this account.",
        "PATCH /accounts/{id}",
        fields=ChangeAccount,
        model=Account,
        read=ChangeAccount.read,
        ids=("account_id",),
        body=lambda fields, _found, _key: AccountChanges(external_id=fields.external_id),
        shows=as_sent("external_id"),
        look_up=read_again(
            lambda client, account: client.finance.accounts.get(account), as_sent("external_id")
        ),
    ),
    _kind(
        "account.delete",
        "Delete",
        "It is then gone for good, its wallets and virtual accounts with it.",
        "DELETE /accounts/{id}",
        fields=OnAccount,
        model=msgspec.Raw,
        read=_read_empty,
        ids=("account_id",),
        body=lambda _fields, _found, _key: None,
        refuses_repeat=_DELETED_BEFORE,
        look_up=_deleted(lambda client, account: client.finance.accounts.get(account)),
    ),
    _kind(
        "party_role.create",
        "Make",
        "Whether money may leave the account then depends on that party too.",
        "POST /accounts/{accountId}/party-roles",
        fields=HoldAccount,
        model=PartyRole,
        read=HoldAccount.read,
        ids=("account_id",),
        body=lambda fields, _, key: NewPartyRole(
            party_id=fields.party_id, role_type=fields.role_type, idempotency_key=key or None
        ),
        has_key=True,
        shows=_is_role,
        look_up=lambda client, sent: next(
            (
                record
                for record in client.finance.party_roles.all(*sent.ids)
                if _is_role(record.value, sent)
            ),
            None,
        ),
    ),
)
