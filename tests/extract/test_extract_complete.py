"""Every resource that a service lists has a table, according to the specifications' endpoints."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from practice import client_for

from treasury.extract import (
    SERVICE_TABLES,
    TABLES,
    Scope,
    SyncReport,
    TableReport,
    finance_tables,
    ramp_tables,
    sync,
)
from treasury.extract.record_rows import Form, Whole, form, forms, text
from treasury.extract.synced_tables import FORMS
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

LISTS = {
    "/finance/v1/parties": {"parties"},
    "/finance/v1/accounts": {"accounts"},
    "/finance/v1/accounts/{}/party-roles": {"party_roles"},
    "/finance/v1/accounts/{}/wallets": {"wallets", "wallet_balances"},
    "/finance/v1/accounts/{}/virtual-bank-accounts": {"virtual_bank_accounts"},
    "/finance/v1/accounts/{}/transfers": {"transfers"},
    "/finance/v1/account-to-account-transfers": {"transfers"},
    "/ramp/v1/company": {"company"},
    "/ramp/v1/company/users": {"company_users"},
    "/ramp/v1/company-bank-accounts": {"company_bank_accounts"},
    "/ramp/v1/company-wallets": {"company_wallets"},
    "/ramp/v1/ramp-requests": {"ramp_requests"},
    "/ramp/v1/ramp-requests/on-ramp/pairs": {"currency_pairs"},
    "/ramp/v1/ramp-requests/off-ramp/pairs": {"currency_pairs"},
    "/ramp/v1/fees": {"fees"},
    "/ramp/v1/fiat-currencies": {"fiat_currencies"},
    "/ramp/v1/crypto-currencies": {"crypto_currencies"},
    "/ramp/v1/chains": {"chains"},
    "/ramp/v1/bank-accounts/config": {"bank_account_config"},
}
"""The GET operations of both specifications, except reads of one record of a list, and the
tables that each fills."""

ONE_OF_A_LIST = {
    "/finance/v1/parties/{}",
    "/finance/v1/accounts/{}",
    "/finance/v1/accounts/{}/virtual-bank-accounts/{}",
    "/finance/v1/accounts/{}/transfers/{}",
    "/ramp/v1/company-bank-accounts/{}",
    "/ramp/v1/company-wallets/{}",
    "/ramp/v1/ramp-requests/{}",
}

DETAILS = {"ramp_request_events"}
"""Tables that are filled from the detail of a record, not from a list."""


def asked(served: Served) -> set[str]:
    ids = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    return {ids.sub("{}", path) for method, path, _ in served.requests if method == "GET"}


def test_every_table_comes_from_a_list_of_the_specifications() -> None:
    assert set().union(*LISTS.values()) | DETAILS == {table.name for table in SERVICE_TABLES}


@pytest.mark.acceptance
def test_a_sync_asks_every_list_and_nothing_unknown(
    calm: tuple[Sandbox, Served], synced: tuple[Lake, SyncReport]
) -> None:
    del synced
    paths = asked(calm[1])
    assert set(LISTS) - paths == set()
    assert paths - set(LISTS) - ONE_OF_A_LIST == set()


@pytest.mark.parametrize("path", LISTS)
def test_every_listed_resource_has_rows_in_its_tables(
    synced: tuple[Lake, SyncReport], path: str
) -> None:
    snapshot = synced[0].snapshot()
    for table in LISTS[path]:
        assert snapshot.sql(f'SELECT 1 FROM "{table}" LIMIT 1').num_rows == 1


def test_every_small_table_is_one_declaration_that_the_sync_reads() -> None:
    own_way = {"transfers", "ramp_requests", "ramp_request_events", "wallet_balances"}
    assert {form.table.name for form in FORMS if form.source is None} == own_way


NETWORKS = form(
    "networks",
    "Endpoints",
    text("name", "of the network"),
    key=("name",),
    title="One more table",
    source=Whole(lambda client: client.ramp.chains.all()),
)


@pytest.mark.acceptance
def test_adding_a_table_is_adding_one_declaration(
    calm: tuple[Sandbox, Served], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert forms({"first": 5, "NETWORKS": NETWORKS}) == (NETWORKS,)
    declared = [
        one
        for m in (finance_tables, ramp_tables)
        for one in vars(m).values()
        if isinstance(one, Form)
    ]
    assert list(FORMS) == declared
    module = import_module("treasury.extract.sync")
    monkeypatch.setattr(module, "WHOLE", [(NETWORKS, NETWORKS.source)])
    monkeypatch.setattr(module, "SERVICE_TABLES", [NETWORKS.table])
    lake = Lake(tmp_path, [NETWORKS.table, *TABLES])
    with client_for(tmp_path, *calm) as client:
        report = sync(client, lake, calm[0].now, scope=Scope(tables=frozenset({"networks"})))
    rows = lake.snapshot().sql("SELECT name, raw, valid_from FROM networks")
    assert report.tables == (TableReport("networks", new=rows.num_rows),)
    assert rows.num_rows
