"""Bank accounts, wallets and users of the company itself: where money goes, and who may send it.

Whoever registers one decides where money can be sent, so somebody else approves it. None has a
key, so each is sent at most once; one that is registered already is not registered again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from treasury.actions.action_facts import Fact, fact
from treasury.actions.kinds.chains import address_problem
from treasury.actions.kinds.kind import (
    Findings,
    Kind,
    as_sent,
    find_created,
    is_created,
    listed_alike,
    read_again,
)
from treasury.actions.kinds.service_records import ServiceRecords
from treasury.api.bodies import (
    BankAccountChanges,
    CompanyWalletChanges,
    Invitation,
    NewBankAccount,
    NewCompanyWallet,
)
from treasury.api.models import CompanyBankAccount, CompanyUser, CompanyWallet
from treasury.errors import InputError
from treasury.identifiers import plain_account
from treasury.text import clean

__all__ = ["COMPANY_KINDS", "DescribeWallet", "RenameAccount"]

_ROLES: Final = {
    "COMPANY_ADMIN": "do everything, users included",
    "COMPANY_MANAGER": "create and manage ramp requests",
    "COMPANY_VIEWER": "read",
}
"""The roles of the specification, and what each may do."""


class RenameAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Another name for a bank account of the company."""

    company_bank_account_id: str
    name: str

    def read(self, records: ServiceRecords) -> Findings:
        """The bank account as it is called now, and its version."""
        field = "company_bank_account_id"
        account = records.company_bank_account(self.company_bank_account_id, field)
        number = account.iban or account.account_number or ""
        lead = f'bank account "{clean(account.name)}" to "{clean(self.name)}", number'
        return Findings(
            facts=(
                _now("name", account.name, self.name),
                fact("payee account", number or None),
                _versioned(account.version, field),
            ),
            says=f"{lead} {clean(number) or 'not shown'}.",
            masked=f"{lead} …{number[-4:]}.",
            version=account.version,
        )


class DescribeWallet(msgspec.Struct, frozen=True, kw_only=True):
    """Another description for a wallet of the company."""

    company_wallet_id: str
    description: str

    def read(self, records: ServiceRecords) -> Findings:
        """The wallet as it is described now, and its version."""
        field = "company_wallet_id"
        wallet = records.company_wallet(self.company_wallet_id, field)
        lead = f'as "{clean(self.description)}" the company wallet "{clean(wallet.description)}" at'
        address = wallet.address or ""
        return Findings(
            facts=(
                _now("description", wallet.description, self.description),
                fact("wallet address", wallet.address),
                fact("wallet chain", wallet.chain),
                _versioned(wallet.version, field),
            ),
            says=f"{lead} {clean(address) or 'an address not shown'}.",
            masked=f"{lead} …{address[-4:]}.",
            version=wallet.version,
        )


def _read_account(fields: NewBankAccount, records: ServiceRecords) -> Findings:
    number, field = fields.account_number or "", "account_number"
    if fields.iban is not None:
        number, field = fields.iban, "iban"
    duplicates = [
        account
        for account in records.company_bank_accounts()
        for written in (account.iban, account.account_number)
        if number and written is not None and plain_account(written) == number
    ]
    facts = [fact("payee account", number or None, field=field, problem=_registered(duplicates))]
    lead = f'bank account "{clean(fields.name)}" at {clean(fields.bank_name)} in'
    holder = f"{clean(fields.bank_country)}, held by {clean(fields.company_name)}, number"
    return Findings(
        facts=(
            *facts,
            fact("bank", fields.bank_name),
            fact("holder", fields.company_name),
            *([fact("bic", fields.bic)] if fields.bic else []),
        ),
        says=f"{lead} {holder} {clean(number) or 'not given'}.",
        masked=f"{lead} {holder} …{number[-4:]}.",
    )


def _registered(duplicates: Iterable[CompanyBankAccount | CompanyWallet]) -> str:
    """Why it is not registered again; records that were turned down do not count."""
    for record in duplicates:
        if record.verification_status != "DENIED":
            return f"it is registered already, as {record.id} ({record.verification_status})"
    return ""


def _read_wallet(fields: NewCompanyWallet, records: ServiceRecords) -> Findings:
    duplicates = [wallet for wallet in records.company_wallets() if fields.is_like(wallet)]
    wrong = address_problem(fields.chain, fields.address)
    facts: list[Fact] = [
        fact("address", fields.address, field="address", problem=wrong or _registered(duplicates)),
        fact("chain", fields.chain),
    ]
    name = f' "{clean(fields.description)}"' if fields.description else ""
    lead = f"company wallet{name} on {fields.chain} at"
    return Findings(
        facts=tuple(facts),
        says=f"{lead} {clean(fields.address)}.",
        masked=f"{lead} …{fields.address[-4:]}.",
    )


# What is changed on one, and who is let in


def _now(field: str, so_far: str | None, new: str) -> Fact:
    problem = "it is that already" if so_far == new else ""
    return fact(f"{field} so far", so_far or "none", field=field, problem=problem)


def _versioned(version: int | None, field: str) -> Fact:
    problem = "it was shown without its version: sync its details" if version is None else ""
    return fact("version", version, material=False, field=field, problem=problem)


def _read_invitation(fields: Invitation, records: ServiceRecords) -> Findings:
    if fields.role not in _ROLES:
        raise InputError(
            f"role: {clean(fields.role)!r} is no role", do=f"use one of: {', '.join(_ROLES)}"
        )
    if not all(fields.email.partition("@")) or " " in fields.email:
        raise InputError(f"email: {clean(fields.email)!r} is no address", do="write it as a@b.eu")
    duplicates = [user for user in records.company_users() if fields.is_like(user)]
    problem = (
        f"{duplicates[0].email} is a user already, as {duplicates[0].role}" if duplicates else ""
    )
    lead = f"{clean(fields.first_name)} {clean(fields.last_name)}"
    ends = f"as {fields.role}, who may {_ROLES[fields.role]}."
    domain = fields.email.rpartition("@")[2]
    return Findings(
        facts=(
            fact("email", fields.email, field="email", problem=clean(problem)),
            fact("role", fields.role),
        ),
        says=f"{lead} ({clean(fields.email)}) {ends}",
        masked=f"{lead} (…@{clean(domain)}) {ends}",
    )


def _version(findings: Findings) -> int:
    if findings.version is None:
        raise InputError("version: was not shown", do="sync its details")
    return findings.version


COMPANY_KINDS: Final = (
    Kind(
        name="company_bank_account.create",
        verb="Register",
        consequence="Once the provider has reviewed it, off-ramp money can be paid to it.",
        operation="POST /company-bank-accounts",
        credential="checker",
        safety="neither",
        fields=NewBankAccount,
        model=CompanyBankAccount,
        read=_read_account,
        body=lambda fields, _found, _key: fields,
        shows=is_created,
        look_up=find_created(
            "GET /company-bank-accounts",
            lambda client, _: client.ramp.bank_accounts.iterate(sort_order="DESC"),
            detail=lambda client, account: client.ramp.bank_accounts.get(account),
        ),
        alike=listed_alike(lambda client, _: client.ramp.bank_accounts.iterate(sort_order="DESC")),
    ),
    Kind(
        name="company_wallet.create",
        verb="Register",
        consequence="Once it is proved, on-ramp coins can be delivered to it.",
        operation="POST /company-wallets",
        credential="checker",
        safety="neither",
        fields=NewCompanyWallet,
        model=CompanyWallet,
        read=_read_wallet,
        body=lambda fields, _found, _key: fields,
        shows=is_created,
        look_up=find_created(
            "GET /company-wallets",
            lambda client, _: client.ramp.wallets.iterate(sort_order="DESC"),
        ),
        alike=listed_alike(lambda client, _: client.ramp.wallets.iterate(sort_order="DESC")),
    ),
    Kind(
        name="company_bank_account.rename",
        verb="Rename",
        consequence="Whoever approves an off-ramp to it then reads the new name.",
        operation="PATCH /company-bank-accounts/{id}",
        credential="checker",
        safety="neither",
        fields=RenameAccount,
        model=CompanyBankAccount,
        read=RenameAccount.read,
        ids=("company_bank_account_id",),
        body=lambda fields, found, _: BankAccountChanges(name=fields.name, version=_version(found)),
        shows=as_sent("name"),
        look_up=read_again(
            lambda client, account: client.ramp.bank_accounts.get(account), as_sent("name")
        ),
    ),
    Kind(
        name="company_wallet.describe",
        verb="Describe",
        consequence="Whoever approves an on-ramp to it then reads the new description.",
        operation="PATCH /company-wallets/{id}",
        credential="checker",
        safety="neither",
        fields=DescribeWallet,
        model=CompanyWallet,
        read=DescribeWallet.read,
        ids=("company_wallet_id",),
        body=lambda fields, found, _: CompanyWalletChanges(
            description=fields.description, version=_version(found)
        ),
        shows=as_sent("description"),
        look_up=read_again(
            lambda client, wallet: client.ramp.wallets.get(wallet), as_sent("description")
        ),
    ),
    Kind(
        name="company_user.invite",
        verb="Invite",
        consequence="The provider mails the link; it is not shown or kept here.",
        operation="POST /company/users/invite",
        credential="checker",
        safety="neither",
        fields=Invitation,
        model=CompanyUser,
        read=_read_invitation,
        body=lambda fields, _found, _key: fields,
        shows=is_created,
        refuses_repeat=frozenset({400, 409}),
        look_up=find_created("GET /company/users", lambda client, _: client.ramp.users.all()),
        alike=listed_alike(lambda client, _: client.ramp.users.all()),
    ),
)
