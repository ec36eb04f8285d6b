"""Bank accounts and wallets of the company itself: where converted money and coins will go.

Whoever registers one decides where money can be sent, so somebody else approves it. Neither has a
key, so each is sent at most once; one that is registered already is not registered again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from treasury.actions.chains import address_problem
from treasury.actions.facts import Fact, fact
from treasury.actions.kind import Found, Kind, Sent
from treasury.actions.records import Records
from treasury.api import Client, Record
from treasury.api.bodies import Body, NewBankAccount, NewCompanyWallet
from treasury.api.lookup import created_since, only_one
from treasury.api.models import CompanyBankAccount, CompanyWallet
from treasury.identifiers import plain_account
from treasury.text import clean

__all__ = ["COMPANY_KINDS"]


def _read_account(fields: NewBankAccount, records: Records) -> Found:
    number, field = _number(fields)
    same = [one for one in records.company_bank_accounts() if number and _is_number(one, number)]
    facts = [fact("payee account", number or None, field=field, problem=_registered(same))]
    lead = f'bank account "{clean(fields.name)}" at {clean(fields.bank_name)} in'
    holder = f"{clean(fields.bank_country)}, held by {clean(fields.company_name)}, number"
    return Found(
        facts=(
            *facts,
            fact("bank", fields.bank_name),
            fact("holder", fields.company_name),
            *([fact("bic", fields.bic)] if fields.bic else []),
        ),
        says=f"{lead} {holder} {clean(number) or 'not given'}.",
        masked=f"{lead} {holder} …{number[-4:]}.",
    )


def _number(fields: NewBankAccount) -> tuple[str, str]:
    if fields.iban is not None:
        return fields.iban, "iban"
    return fields.account_number or "", "account_number"


def _is_number(account: CompanyBankAccount, number: str) -> bool:
    shown = (account.iban, account.account_number)
    return any(one is not None and plain_account(one) == number for one in shown)


def _registered(same: Iterable[CompanyBankAccount | CompanyWallet]) -> str:
    """Why it is not registered again; records that were turned down do not count."""
    for one in same:
        if one.verification_status != "DENIED":
            return f"it is registered already, as {one.id} ({one.verification_status})"
    return ""


def _read_wallet(fields: NewCompanyWallet, records: Records) -> Found:
    same = [one for one in records.company_wallets() if fields.is_like(one)]
    wrong = address_problem(fields.chain, fields.address)
    told: list[Fact] = [
        fact("address", fields.address, field="address", problem=wrong or _registered(same)),
        fact("chain", fields.chain),
    ]
    name = f' "{clean(fields.description)}"' if fields.description else ""
    lead = f"company wallet{name} on {fields.chain} at"
    return Found(
        facts=tuple(told),
        says=f"{lead} {clean(fields.address)}.",
        masked=f"{lead} …{fields.address[-4:]}.",
    )


def _account_body(fields: NewBankAccount, _: Found, __: str) -> Body:
    return fields


def _find_account(client: Client, sent: Sent) -> Record[Any] | None:
    assert sent.body is not None
    listed = client.ramp.bank_accounts.iterate(sort_order="DESC")
    near = list(created_since(listed, sent.body, sent.at, sent.known))
    details = [client.ramp.bank_accounts.get(record.value.id) for record in near]
    found = [record for record in details if sent.body.is_like(record.value)]
    return only_one(found, "GET /company-bank-accounts") if found else None


def _find_wallet(client: Client, sent: Sent) -> Record[Any] | None:
    assert sent.body is not None
    listed = client.ramp.wallets.iterate(sort_order="DESC")
    found = list(created_since(listed, sent.body, sent.at, sent.known))
    return only_one(found, "GET /company-wallets") if found else None


def _accounts_there(client: Client, _: Any, body: Body) -> Iterable[Any]:
    listed = client.ramp.bank_accounts.iterate(sort_order="DESC")
    return (record.value for record in listed if body.is_like(record.value))


def _wallets_there(client: Client, _: Any, body: Body) -> Iterable[Any]:
    listed = client.ramp.wallets.iterate(sort_order="DESC")
    return (record.value for record in listed if body.is_like(record.value))


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
        ids=lambda _: (),
        body=_account_body,
        look_up=_find_account,
        alike=_accounts_there,
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
        ids=lambda _: (),
        body=lambda fields, _found, _key: fields,
        look_up=_find_wallet,
        alike=_wallets_there,
    ),
)
