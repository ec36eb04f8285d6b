"""Actions on the company's own bank accounts, wallets and users.

These actions decide where money can be sent and who may send it, so a second person approves them.
The calls have no idempotency key, so each is sent at most once. A record that is already registered
is not registered twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds import service_records as service
from treasury.actions.kinds.chains import address_problem
from treasury.actions.kinds.kind import (
    Findings,
    Kind,
    as_sent,
    body_from,
    created_in,
    describe,
    ending,
    read_back,
)
from treasury.api import bodies, models
from treasury.core.errors import InputError
from treasury.core.identifiers import plain_account
from treasury.core.text import clean
from treasury.journal.person_names import same_person

_EMAIL: Final = re.compile(r"[!-?A-~]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_ROLES: Final = {
    "COMPANY_ADMIN": "do everything, users included",
    "COMPANY_MANAGER": "create and manage ramp requests",
    "COMPANY_VIEWER": "read",
}
"""The roles of the specification, and what each may do."""


class RenameAccount(msgspec.Struct, frozen=True, kw_only=True):
    """A new name for a bank account of the company."""

    company_bank_account_id: str
    name: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the bank account's current name and version."""
        field = "company_bank_account_id"
        account = records.require(service.COMPANY_BANK_ACCOUNT, self.company_bank_account_id, field)
        number = account.iban or account.account_number or ""
        lead = f'bank account "{clean(account.name)}" to "{clean(self.name)}", number'
        return describe(
            (
                _now("name", account.name, self.name),
                fact("payee account", number or None),
                _versioned(account.version, field),
            ),
            lambda masked: f"{lead} {ending(number, masked, 'not shown')}.",
            version=account.version,
        )


class DescribeWallet(msgspec.Struct, frozen=True, kw_only=True):
    """A new description for a wallet of the company."""

    company_wallet_id: str
    description: str

    def read(self, records: service.ServiceRecords) -> Findings:
        """Read the wallet's current description and version."""
        field = "company_wallet_id"
        wallet = records.require(service.COMPANY_WALLET, self.company_wallet_id, field)
        lead = f'as "{clean(self.description)}" the company wallet "{clean(wallet.description)}" at'
        address = wallet.address or ""
        return describe(
            (
                _now("description", wallet.description, self.description),
                fact("wallet address", wallet.address),
                fact("wallet chain", wallet.chain),
                _versioned(wallet.version, field),
            ),
            lambda masked: f"{lead} {ending(address, masked, 'an address not shown')}.",
            version=wallet.version,
        )


def _read_account(fields: bodies.NewBankAccount, records: service.ServiceRecords) -> Findings:
    number, field = fields.account_number or "", "account_number"
    if fields.iban is not None:
        number, field = fields.iban, "iban"
    duplicates = [
        account
        for account in records.all(service.COMPANY_BANK_ACCOUNTS)
        for written in (account.iban, account.account_number)
        if number and written is not None and plain_account(written) == number
    ]
    facts = [
        fact("payee account", number or None, field=field, problem=_registered(duplicates)),
        fact("bank", fields.bank_name),
        fact("holder", fields.company_name),
    ]
    lead = f'bank account "{clean(fields.name)}" at {clean(fields.bank_name)} in'
    holder = f"{clean(fields.bank_country)}, held by {clean(fields.company_name)}, number"
    return describe(
        [*facts, fact("bic", fields.bic)] if fields.bic else facts,
        lambda masked: f"{lead} {holder} {ending(number, masked, 'not given')}.",
    )


def _registered(duplicates: Iterable[models.CompanyBankAccount | models.CompanyWallet]) -> str:
    """Describe an equal registered record, which blocks a new one; empty if there is none.

    A record that the provider rejected does not block.
    """
    for record in duplicates:
        if record.verification_status != "DENIED":
            return f"it is already registered, as {record.id} ({record.verification_status})"
    return ""


def _read_wallet(fields: bodies.NewCompanyWallet, records: service.ServiceRecords) -> Findings:
    duplicates = filter(fields.is_like, records.all(service.COMPANY_WALLETS))
    problem = address_problem(fields.chain, fields.address) or _registered(duplicates)
    name = f' "{clean(fields.description)}"' if fields.description else ""
    lead = f"company wallet{name} on {fields.chain} at"
    return describe(
        (
            fact("address", fields.address, field="address", problem=problem),
            fact("chain", fields.chain),
        ),
        lambda masked: f"{lead} {ending(fields.address, masked)}.",
    )


# Changes of records, and invitations


def _now(field: str, so_far: str | None, new: str) -> Fact:
    problem = "that is its current value" if so_far == new else ""
    return fact(f"{field} so far", so_far or "none", field=field, problem=problem)


def _versioned(version: int | None, field: str) -> Fact:
    problem = "it was shown without its version: sync its details" if version is None else ""
    return fact("version", version, material=False, field=field, problem=problem)


def _alike(fields: bodies.Invitation, user: models.CompanyUser) -> str:
    """Describe how the invited address resembles that of a user; empty if it does not."""
    email = user.email or ""
    if fields.is_like(user):
        return f"{email} is already a user, as {user.role}"
    if same_person(fields.email, email):
        return f"it looks like {email}, who is already a user"
    domain, known = (address.rpartition("@")[2].casefold() for address in (fields.email, email))
    return (
        f"its domain looks like {known}" if domain != known and same_person(domain, known) else ""
    )


def _read_invitation(fields: bodies.Invitation, records: service.ServiceRecords) -> Findings:
    if fields.role not in _ROLES:
        raise InputError(
            f"role: {clean(fields.role)!r} is not a role", do=f"use one of: {', '.join(_ROLES)}"
        )
    if not fields.email.isascii():
        raise InputError(
            f"email: {clean(fields.email)!r} has letters that may look like others",
            do="write it in ASCII, with an international domain as xn--…",
        )
    if _EMAIL.fullmatch(fields.email) is None:
        raise InputError(
            f"email: {clean(fields.email)!r} is not an e-mail address", do="write it as a@b.eu"
        )
    problem = next(
        filter(None, (_alike(fields, u) for u in records.all(service.COMPANY_USERS))), ""
    )
    name = f"{clean(fields.first_name)} {clean(fields.last_name)}"
    role = f"{fields.role}, who may {_ROLES[fields.role]}"
    domain = f"…@{clean(fields.email.rpartition('@')[2])}"
    return describe(
        (
            fact("email", fields.email, field="email", problem=clean(problem)),
            fact("role", fields.role),
        ),
        lambda masked: f"{name} ({domain if masked else clean(fields.email)}) as {role}.",
    )


COMPANY_KINDS: Final = (
    Kind(
        name="company_bank_account.create",
        verb="Register",
        consequence="Once the provider has reviewed it, off-ramp money can be paid to it.",
        operation="POST /company-bank-accounts",
        credential="checker",
        fields=bodies.NewBankAccount,
        model=models.CompanyBankAccount,
        read=_read_account,
        body=body_from(bodies.NewBankAccount),
        **created_in(
            "GET /company-bank-accounts",
            lambda client, _: client.ramp.bank_accounts.iterate(sort_order="DESC"),
            lambda client, account: client.ramp.bank_accounts.get(account),
        ),
    ),
    Kind(
        name="company_wallet.create",
        verb="Register",
        consequence="Once its ownership is proved, on-ramp coins can be delivered to it.",
        operation="POST /company-wallets",
        credential="checker",
        fields=bodies.NewCompanyWallet,
        model=models.CompanyWallet,
        read=_read_wallet,
        body=body_from(bodies.NewCompanyWallet),
        **created_in(
            "GET /company-wallets",
            lambda client, _: client.ramp.wallets.iterate(sort_order="DESC"),
        ),
    ),
    Kind(
        name="company_bank_account.rename",
        verb="Rename",
        consequence="People who approve an off-ramp to it will see the new name.",
        operation="PATCH /company-bank-accounts/{id}",
        credential="checker",
        fields=RenameAccount,
        model=models.CompanyBankAccount,
        ids=("company_bank_account_id",),
        body=body_from(bodies.BankAccountChanges),
        **read_back(
            lambda client, account: client.ramp.bank_accounts.get(account), as_sent("name")
        ),
    ),
    Kind(
        name="company_wallet.describe",
        verb="Describe",
        consequence="People who approve an on-ramp to it will see the new description.",
        operation="PATCH /company-wallets/{id}",
        credential="checker",
        fields=DescribeWallet,
        model=models.CompanyWallet,
        ids=("company_wallet_id",),
        body=body_from(bodies.CompanyWalletChanges),
        **read_back(lambda client, wallet: client.ramp.wallets.get(wallet), as_sent("description")),
    ),
    Kind(
        name="company_user.invite",
        verb="Invite",
        consequence="The provider mails the link; it is not shown or kept here.",
        operation="POST /company/users/invite",
        credential="checker",
        fields=bodies.Invitation,
        model=models.CompanyUser,
        read=_read_invitation,
        body=body_from(bodies.Invitation),
        refuses_repeat=frozenset({400, 409}),
        **created_in("GET /company/users", lambda client, _: client.ramp.users.all()),
    ),
)
