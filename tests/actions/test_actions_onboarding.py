"""Changes to parties, accounts, holders and users take effect once; most need two people."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from action_practice import OPERATIONS, PAYOUT, TREASURY, WALLET, Practice, refused

from treasury.actions import KINDS
from treasury.api.bodies import NewAccount, NewParty
from treasury.core.errors import ActionRefused, InputError, NotFound, OutcomeUnknown, TreasuryError
from treasury.sandbox.finance import finance_routes
from treasury.sandbox.ramp import ramp_routes

PARTY = {"party_type": "ORGANISATION", "name": "Quay Freight BV", "external_id": "quay"}
INVITED = {
    "email": "new@harbourlane.test", "role": "COMPANY_VIEWER", "first_name": "Noa",
    "last_name": "Peeters",
}  # fmt: skip
ONE_PERSON = {"party.create", "account.create"}
"""The kinds that one person may decide, because they do not decide where money goes."""


def party_of(practice: Practice, name: str = "Quay Freight BV") -> str:
    body = NewParty(party_type="ORGANISATION", name=name, external_id=name.lower())
    return practice.client("maker").finance.parties.create(body).value.id


def account_of(practice: Practice, external_id: str = "quay-1") -> str:
    body = NewAccount(external_id=external_id, chain="BASE", party_id=party_of(practice))
    return practice.client("maker").finance.accounts.create(body).value.id


FIELDS: dict[str, Callable[[Practice], dict[str, Any]]] = {
    "party.create": lambda _: PARTY,
    "party.change": lambda practice: {
        "party_id": party_of(practice), "name": "Quay Lines BV", "city": "Antwerp",
        "address_line1": "Kaai 1", "postal_code": "2000", "country": "BE",
    },
    "party.delete": lambda practice: {"party_id": party_of(practice)},
    "account.create": lambda practice: {
        "party_id": party_of(practice), "external_id": "quay-2", "chain": "BASE",
    },
    "account.change": lambda practice: {
        "account_id": account_of(practice), "external_id": "quay-9",
    },
    "account.delete": lambda practice: {"account_id": account_of(practice)},
    "party_role.create": lambda practice: {
        "account_id": OPERATIONS, "party_id": party_of(practice), "role_type": "ACCOUNT_HOLDER",
    },
    "company_bank_account.rename": lambda _: {
        "company_bank_account_id": PAYOUT, "name": "Payroll",
    },
    "company_wallet.describe": lambda _: {
        "company_wallet_id": WALLET, "description": "Cold store",
    },
    "company_user.invite": lambda _: INVITED,
}  # fmt: skip
"""Valid fields by kind; each function creates the records that its fields name."""


def fields_of(practice: Practice, kind: str) -> dict[str, Any]:
    """Return valid fields for a kind, after creating the records that they name."""
    return FIELDS[kind](practice)


def test_every_write_of_both_services_has_a_kind_with_two_exceptions() -> None:
    writes = {
        f"{route.method} {route.path}"
        for route in (*finance_routes.routes("a"), *ramp_routes.routes("spec"))
        if route.method != "GET"
    }
    twin, question = "POST /transfers", "POST /fees/calculate"
    assert writes - {kind.operation for kind in KINDS.values()} == {twin, question}


@pytest.mark.parametrize("kind", FIELDS)
def test_an_onboarding_action_is_sent_once_after_its_approvals(
    practice: Practice, kind: str
) -> None:
    fields = fields_of(practice, kind)
    before = len(practice.posts())
    proposed = practice.ines.propose(kind, **fields)
    assert proposed.needed == (1 if kind in ONE_PERSON else 2)
    if proposed.needed == 2:
        assert "waits for 1 more" in refused(lambda: practice.ines.execute(proposed.id))
        practice.jonas.approve(proposed.id)
    done = practice.ines.execute(proposed.id)
    assert done.state == "done"
    assert len(practice.posts()) == before + 1
    assert practice.effects()[-1].startswith(KINDS[kind].method)
    [entry] = practice.journal.entries("action.done")
    assert "invitationUrl" not in entry.body["response"]
    json.loads(entry.body["response"])


@pytest.mark.parametrize("kind", FIELDS)
def test_a_missing_response_is_read_back_and_nothing_is_resent(
    practice: Practice, kind: str
) -> None:
    ready = practice.approved(kind, **fields_of(practice, kind))
    before = len(practice.effects())
    prefix = "/" + KINDS[kind].service
    practice.sandbox.faults.add(prefix, method=KINDS[kind].method, name="dropped_after_effect")
    with pytest.raises(OutcomeUnknown, match="recover"):
        practice.ines.execute(ready.id)
    practice.sandbox.faults.clear()
    practice.wall.pass_(seconds=121)
    [settled] = practice.ines.recover(ready.id)
    assert (settled.state, len(practice.effects())) == ("done", before + 1)
    assert settled.outcome is not None
    assert settled.outcome.how == "adopted"


@pytest.mark.parametrize("kind", FIELDS)
def test_a_possibly_sent_action_without_effect_is_unknown_and_blocks_its_duplicate(
    practice: Practice, kind: str
) -> None:
    fields = fields_of(practice, kind)
    ready = practice.approved(kind, **fields)
    before = len(practice.effects())
    prefix = "/" + KINDS[kind].service
    practice.sandbox.faults.add(prefix, method=KINDS[kind].method, name="dropped_before_effect")
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(ready.id)
    practice.sandbox.faults.clear()
    practice.wall.pass_(seconds=121)
    [open_] = practice.ines.recover(ready.id)
    assert (open_.state, len(practice.effects())) == ("unknown", before)
    assert f"{ready.id} is the same" in refused(lambda: practice.ines.propose(kind, **fields))


def test_a_deleted_record_is_gone_and_a_renamed_one_is_found_by_its_new_id(
    practice: Practice,
) -> None:
    fields = fields_of(practice, "account.delete")
    practice.ines.execute(practice.approved("account.delete", **fields).id)
    accounts = practice.client("viewer").finance.accounts
    with pytest.raises(NotFound):
        accounts.get(fields["account_id"])
    named = practice.approved("account.change", account_id=OPERATIONS, external_id="ops-new")
    assert "from ops-usd to ops-new" in named.text
    practice.ines.execute(named.id)
    assert [one.value.id for one in accounts.iterate(external_id="ops-new")] == [OPERATIONS]


def test_changing_part_of_an_address_leaves_the_rest_unchanged(practice: Practice) -> None:
    party = party_of(practice)
    whole = {"address_line1": "Kaai 1", "postal_code": "2000", "country": "BE", "city": "Antwerp"}
    for change in (whole, {"city": "Ghent"}):
        practice.ines.execute(practice.approved("party.change", party_id=party, **change).id)
    address = practice.client("viewer").finance.parties.get(party).value.address
    assert address is not None
    assert (address.address_line1, address.city) == ("Kaai 1", "Ghent")


def test_an_approval_lapses_when_the_displayed_name_changes(practice: Practice) -> None:
    ready = practice.approved("account.change", account_id=OPERATIONS, external_id="ops-new")
    other = practice.approved("account.change", account_id=OPERATIONS, external_id="ops-other")
    practice.ines.execute(other.id)
    said = refused(lambda: practice.ines.execute(ready.id))
    assert "our id so far was ops-usd, is ops-other" in said


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("party.create", {"party_type": "PERSON", "name": "X"}, "party_type: is 'PERSON'"),
        ("party.create", {"party_type": "INDIVIDUAL", "first_name": "Ada"}, "last_name: is m"),
        ("party.create", PARTY | {"name": "Quay\nBV"}, "name: holds a line break"),
        ("party.change", {"party_id": "none-such", "name": "X"}, "party_id: no party"),
        ("account.create", {"party_id": "none-such", "external_id": "x", "chain": "BASE"},
         "party_id: no party"),
        ("account.create", {"party_id": "x", "external_id": "x", "chain": "SUI"}, "chain: 'SUI'"),
        ("account.change", {"account_id": TREASURY, "external_id": "ops-usd"},
         "external_id: account .* already has that id"),
        ("account.delete", {"account_id": TREASURY}, "account_id: .* still holds"),
        ("party_role.create", {"account_id": TREASURY, "party_id": "x", "role_type": "OWNER"},
         "role_type: 'OWNER' is not a role"),
        ("company_bank_account.rename", {"company_bank_account_id": "none", "name": "X"},
         "company_bank_account_id: no company bank account"),
        ("company_user.invite", INVITED | {"role": "OWNER"}, "role: 'OWNER' is not a role"),
        ("company_user.invite", INVITED | {"email": "nobody"}, "email: 'nobody' is not an e-m"),
        *(("company_user.invite", INVITED | {"email": email}, said) for email, said in (
            ("nora@harb\u043eur.example", "email: .* may look like others"),
            ("n\u00f6ra@harbour.example", "email: .* may look like others"),
            ("\uff4eora@harbour.example", "email: .* may look like others"),
            ("nora@bank.example@harbour.example", "email: .* is not an e-mail address"),
            ("nora@localhost", "email: .* is not an e-mail address"),
        )),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused_by_field_and_nothing_is_sent(
    practice: Practice, kind: str, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(TreasuryError, match=said):
        practice.ines.propose(kind, **fields)
    assert practice.posts() == practice.kinds() == []


def test_a_change_without_effect_is_not_proposed(practice: Practice) -> None:
    viewer = practice.client("viewer")
    party = party_of(practice)
    role = {"account_id": TREASURY, "role_type": "ACCOUNT_HOLDER"}
    [held] = viewer.finance.party_roles.all(TREASURY)
    taken = viewer.ramp.users.all()[0].value.email
    named = viewer.ramp.bank_accounts.get(PAYOUT).value.name
    same: list[tuple[str, dict[str, Any], str]] = [
        ("party.change", {"party_id": party, "name": "Quay Freight BV"}, "already has these"),
        ("party_role.create", role | {"party_id": held.value.party_id}, "it already holds"),
        ("company_bank_account.rename", {"company_bank_account_id": PAYOUT, "name": named},
         "name: that is its current value"),
        ("company_user.invite", INVITED | {"email": taken}, "is already a user"),
        ("company_user.invite", INVITED | {"email": taken.replace("o", "0").replace("l", "1")},
         "it looks like .* who is already a user"),
        ("company_user.invite", INVITED | {"email": f"new.{taken.replace('l', '1')}"},
         "its domain looks like"),
    ]  # fmt: skip
    for kind, fields, said in same:
        with pytest.raises(ActionRefused, match=said):
            practice.ines.propose(kind, **fields)
    with pytest.raises(InputError, match="no change is given"):
        practice.ines.propose("party.change", party_id=party)
