"""Actions on parties and their accounts: customer data, account holders, and our own ids.

A transfer may name its receiver by an account id that we chose, and only an account with a verified
holder can send money. So most of these actions decide where money can go. Later generations of the
service ignore the idempotency key, so each call is sent at most once, and its effect is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds import service_records as service
from treasury.actions.kinds.account_actions import OnAccount
from treasury.actions.kinds.kind import (
    Findings,
    Kind,
    Sent,
    as_sent,
    body_from,
    created_in,
    describe,
    ending,
    read_back,
)
from treasury.actions.kinds.transfer_actions import account_name, active
from treasury.api import Client, Record, bodies, models
from treasury.api.bodies import PostalAddress
from treasury.api.models import Party
from treasury.core.errors import InputError, NotFound
from treasury.core.text import clean

_CHAINS: Final = ("BASE", "AVALANCHE")
_HOLDER: Final = "ACCOUNT_HOLDER"
_NAMES: Final = ("first_name", "last_name", "name", "vat_number")
_ADDRESS: Final = PostalAddress.__struct_fields__
_DELETED: Final = Record(msgspec.Raw(b"null"), b"null")
"""An empty record that represents a deleted one."""


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """The names and the address of a party."""

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

    @property
    def address(self) -> PostalAddress | None:
        """The fields of the party's address that are set."""
        return _address(self, {})

    def read(self, _: service.ServiceRecords) -> Findings:
        """Describe the party from the fields, because the service does not know it yet."""
        details = {name.replace("_", " "): value for name, value in _plain(self).items()}
        words = ", ".join(f"{name} {clean(value)}" for name, value in details.items())
        kind = clean(self.party_type).lower()
        own = f", our id {clean(self.external_id)}" if self.external_id else ""
        return describe(
            (
                fact("party type", self.party_type, field="party_type"),
                *(fact(name, value) for name, value in details.items()),
            ),
            lambda masked: f"{kind} party{'' if masked else f' {_called(self)}: {words}'}{own}.",
        )


class OnParty(msgspec.Struct, frozen=True, kw_only=True):
    """The field that names a party of the finance service."""

    party_id: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the party."""
        party = records.require(service.PARTY, self.party_id, "party_id")
        return describe(
            (fact("party", party.id), *_party_facts(party)),
            lambda masked: f"{_name(party, masked)}.",
        )


class ChangeParty(_About, frozen=True, kw_only=True):
    """Changes to the data of a party."""

    party_id: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the party, and compare it with the changes."""
        party = records.require(service.PARTY, self.party_id, "party_id")
        now, new = _now(party), _plain(self)
        if not new:
            raise InputError("name: no change is given", do="give the fields to change")
        if all(now[name] == value for name, value in new.items()):
            first = next(iter(new))
            problem = f"{clean(party.id)} already has these values"
        else:
            first, problem = "party_id", ""
        changes = ", ".join(
            f"{name.replace('_', ' ')} from {clean(now[name]) or 'none'} to {clean(value)}"
            for name, value in new.items()
        )
        names = ", ".join(name.replace("_", " ") for name in new)
        return describe(
            (
                fact("party", party.id, field=first, problem=problem),
                *_party_facts(party),
                *(fact(f"{name.replace('_', ' ')} so far", now[name] or "none") for name in new),
            ),
            lambda masked: f"{_name(party, masked)}: {names if masked else changes}.",
            version=party.version,
            resolved={name: value for name in _ADDRESS if (value := now[name])},
        )


class OpenAccount(OnParty, frozen=True, kw_only=True):
    """A new account on one chain for an existing party; `external_id` is our own id for it."""

    external_id: str
    chain: str
    name: str | None = None

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the party, and check that the id is free."""
        if self.chain not in _CHAINS:
            raise InputError(
                f"chain: {clean(self.chain)!r} is not a chain of the service",
                do=f"use one of: {', '.join(_CHAINS)}",
            )
        party = records.require(service.PARTY, self.party_id, "party_id")
        lead = f"account {clean(self.external_id)} on {self.chain} for"
        return describe(
            (*_party_facts(party), _free(self.external_id, records)),
            lambda masked: f"{lead} {_masked(party) if masked else _called(party)}.",
        )


class ChangeAccount(OnAccount, frozen=True, kw_only=True):
    """A new external id for an account; transfers may name the receiver by this id."""

    external_id: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the account's current id, and check that the new one is free."""
        account = records.require(service.ACCOUNT, self.account_id, "account_id")
        was = clean(account.external_id) or "none"
        lead = f"from {was} to {clean(self.external_id)} for account"
        return describe(
            (
                fact("our id so far", account.external_id or "none"),
                _free(self.external_id, records),
                fact("account status", account.status),
            ),
            lambda masked: f"{lead} {ending(account.id, masked)}.",
        )


class HoldAccount(OnAccount, frozen=True, kw_only=True):
    """A party that becomes another holder of an account."""

    party_id: str
    role_type: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the account, the party, and the current holders."""
        if self.role_type != _HOLDER:
            raise InputError(
                f"role_type: {clean(self.role_type)!r} is not a role",
                do=f"use {_HOLDER}, the only one",
            )
        account = records.require(service.ACCOUNT, self.account_id, "account_id")
        party = records.require(service.PARTY, self.party_id, "party_id")
        holders = records.holders(account.id)
        is_holder = any(holder.id == party.id for holder in holders)
        names = ", ".join(sorted(_called(holder) for holder in holders)) or "nobody shown"
        holding = fact(
            "holders so far",
            names,
            # The list may lag, so it blocks the action only if it shows the party as a holder.
            material=False,
            field="party_id",
            problem="it already holds the account" if is_holder else "",
        )

        def says(masked: bool) -> str:
            holder = _masked(party) if masked else _called(party)
            words = f"{holder} a holder of account {account_name(account, masked)}"
            return f"{words}." if masked else f"{words}, held by {names}."

        return describe(
            (active(account, "account", "account_id"), *_party_facts(party), holding), says
        )


# Parties


def _called(party: Party | _About) -> str:
    person = " ".join(filter(None, (party.first_name, party.last_name)))
    return clean(party.name or person or "without a name")


def _masked(party: Party) -> str:
    return f"party …{party.id[-4:]}"


def _name(party: Party, masked: bool) -> str:
    return _masked(party) if masked else f"party {_called(party)} ({clean(party.id)})"


def _address(fields: _About, now: Mapping[str, str]) -> PostalAddress | None:
    """Return the whole new address, because the service replaces it; None without a change."""
    changes = {name: value for name in _ADDRESS if (value := getattr(fields, name))}
    return PostalAddress(**(dict(now) | changes)) if changes else None


def _plain(fields: _About) -> dict[str, str]:
    """Return the fields that are set, by name."""
    return {name: value for name in _About.__struct_fields__ if (value := getattr(fields, name))}


def _now(party: Party) -> dict[str, str | None]:
    """Return the current values of the party by field name."""
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


# Accounts


def _free(external_id: str, records: service.ServiceRecords) -> Fact:
    holds = records.find(service.ACCOUNT_NAMED, external_id)
    problem = f"account {clean(holds.id)} already has that id" if holds is not None else ""
    return fact("our id", external_id, field="external_id", problem=problem)


_is_role: Final = as_sent("party_id", "role_type")


def _read_empty(fields: OnAccount, records: service.ServiceRecords) -> Findings:
    account = records.require(service.ACCOUNT, fields.account_id, "account_id")
    amounts = ", ".join(
        f"{clean(holding.asset)} {holding.total:f}"
        for _, holding in records.holdings(account.id)
        if holding.total
    )
    problem = f"account {account_name(account)} still holds {amounts}" if amounts else ""
    return describe(
        (
            fact("account", account_name(account)),
            fact("account status", account.status),
            fact("holds", amounts or "nothing", field="account_id", problem=problem),
        ),
        lambda masked: f"account {account_name(account, masked)}.",
    )


def _gone(get: Callable[[Client, str], object]) -> dict[str, Any]:
    """Return the settings of a kind that deletes: its effect is that the record is not found."""

    def look_up(client: Client, sent: Sent) -> Record[Any] | None:
        try:
            get(client, *sent.ids)
        except NotFound:
            return _DELETED
        return None

    return {"model": msgspec.Raw, "look_up": look_up, "refuses_repeat": frozenset({404, 409})}


ONBOARDING_KINDS: Final = (
    Kind(
        name="party.create",
        verb="Create",
        consequence="Its verification then starts; nothing can be sent for it before it is"
        " verified.",
        operation="POST /parties",
        fields=MakeParty,
        model=Party,
        body=body_from(bodies.NewParty),
        **created_in(
            "GET /parties", lambda client, _: client.finance.parties.iterate(sort_order="DESC")
        ),
        twins=lambda records, _, body: filter(body.is_like, records.lately(service.PARTIES)),
        second_person=False,
    ),
    Kind(
        name="party.change",
        verb="Change",
        consequence="Its verification may no longer apply.",
        operation="PATCH /parties/{id}",
        fields=ChangeParty,
        model=Party,
        ids=("party_id",),
        body=lambda fields, findings, _: bodies.PartyChanges(
            version=findings.version,
            **{name: getattr(fields, name) for name in _NAMES},
            address=_address(fields, findings.resolved),
        ),
        **read_back(
            lambda client, party: client.finance.parties.get(party),
            lambda party, sent: _plain(sent.fields).items() <= _now(party).items(),
        ),
    ),
    Kind(
        name="party.delete",
        verb="Delete",
        consequence="It is then gone for good.",
        operation="DELETE /parties/{id}",
        fields=OnParty,
        ids=("party_id",),
        **_gone(lambda client, party: client.finance.parties.get(party)),
    ),
    Kind(
        name="account.create",
        verb="Open",
        consequence="It is empty, and has no wallet yet.",
        operation="POST /accounts",
        fields=OpenAccount,
        model=models.Account,
        body=body_from(bodies.NewAccount),
        **created_in(
            "GET /accounts",
            lambda client, fields: client.finance.accounts.iterate(external_id=fields.external_id),
        ),
        second_person=False,
    ),
    Kind(
        name="account.change",
        verb="Change our id",
        consequence="A transfer to the new id then goes to this account.",
        operation="PATCH /accounts/{id}",
        fields=ChangeAccount,
        model=models.Account,
        ids=("account_id",),
        body=body_from(bodies.AccountChanges),
        **read_back(
            lambda client, account: client.finance.accounts.get(account), as_sent("external_id")
        ),
    ),
    Kind(
        name="account.delete",
        verb="Delete",
        consequence="It is then gone for good, its wallets and virtual accounts with it.",
        operation="DELETE /accounts/{id}",
        fields=OnAccount,
        read=_read_empty,
        ids=("account_id",),
        **_gone(lambda client, account: client.finance.accounts.get(account)),
    ),
    Kind(
        name="party_role.create",
        verb="Make",
        consequence="Whether money may leave the account then depends on that party too.",
        operation="POST /accounts/{accountId}/party-roles",
        fields=HoldAccount,
        model=models.PartyRole,
        ids=("account_id",),
        body=body_from(bodies.NewPartyRole),
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
