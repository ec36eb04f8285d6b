"""The first sync stores exactly the records that the services list."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from practice import Bare

from treasury.extract import SERVICE_TABLES as TABLES
from treasury.extract import SyncReport
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

Calm = tuple[Sandbox, Served]
Synced = tuple[Lake, SyncReport]

LISTED = {
    "parties": ("finance", "/parties"),
    "accounts": ("finance", "/accounts"),
    "company_users": ("ramp", "/company/users"),
    "company_bank_accounts": ("ramp", "/company-bank-accounts"),
    "company_wallets": ("ramp", "/company-wallets"),
    "ramp_requests": ("ramp", "/ramp-requests"),
    "fees": ("ramp", "/fees"),
    "fiat_currencies": ("ramp", "/fiat-currencies"),
    "crypto_currencies": ("ramp", "/crypto-currencies"),
}


def ids(rows: list[dict]) -> list[str]:
    return sorted(row["id"] for row in rows)


@pytest.mark.parametrize("table", LISTED)
def test_a_table_holds_exactly_the_records_listed(calm: Calm, synced: Synced, table: str) -> None:
    stored = synced[0].snapshot().sql(f'SELECT id FROM "{table}"').to_pylist()
    assert ids(stored) == ids(Bare(*calm).get(*LISTED[table]))
    assert stored


@pytest.mark.parametrize("part", ["wallets", "virtual-bank-accounts", "party-roles"])
def test_lists_of_every_account_are_held(calm: Calm, synced: Synced, part: str) -> None:
    bare = Bare(*calm)
    expected = [
        (account["id"], row.get("id") or row["partyId"])
        for account in bare.get("finance", "/accounts")
        for row in bare.get("finance", f"/accounts/{account['id']}/{part}")
    ]
    table = part.replace("-", "_")
    name = "party_id" if part == "party-roles" else "id"
    rows = synced[0].snapshot().sql(f'SELECT account_id, "{name}" AS name FROM "{table}"')
    assert sorted((row["account_id"], row["name"]) for row in rows.to_pylist()) == sorted(expected)


def test_transfers_of_all_kinds_are_held_once(calm: Calm, synced: Synced) -> None:
    bare = Bare(*calm)
    expected = {
        row["id"]: "fiat" if "fiatOrigin" in row else "crypto"
        for account in bare.get("finance", "/accounts")
        for row in bare.get("finance", f"/accounts/{account['id']}/transfers")
    }
    for row in bare.get("finance", "/account-to-account-transfers"):
        expected[row["id"]] = "account_to_account"
    rows = synced[0].snapshot().sql("SELECT id, kind, sender_account_id FROM transfers").to_pylist()
    assert {row["id"]: row["kind"] for row in rows} == expected
    assert len(rows) == len(expected)
    assert set(expected.values()) == {"fiat", "crypto", "account_to_account"}
    assert all(row["sender_account_id"] for row in rows)


def test_every_ramp_request_has_its_detail_and_events(calm: Calm, synced: Synced) -> None:
    bare, snapshot = Bare(*calm), synced[0].snapshot()
    requests = snapshot.sql("SELECT * FROM ramp_requests").to_pylist()
    assert all(row["has_detail"] and row["version"] for row in requests)
    one = next(row for row in requests if row["status"] == "SUCCEEDED")
    detail = bare.get("ramp", f"/ramp-requests/{one['id']}")
    assert json.loads(one["raw"]) == detail
    events = snapshot.sql(
        "SELECT id FROM ramp_request_events WHERE ramp_request_id = ?", [one["id"]]
    )
    assert ids(events.to_pylist()) == ids(detail["events"])


def test_amounts_are_exact_and_named(synced: Synced) -> None:
    (row,) = (
        synced[0]
        .snapshot()
        .sql("SELECT * FROM ramp_requests WHERE payment_reference = 'PAY-2026-004417'")
        .to_pylist()
    )
    assert (row["fiat_amount"], row["fiat_fee_amount"], row["fiat_net_amount"]) == (
        25000,
        200,
        24800,
    )
    assert row["crypto_amount"] == Decimal("26865.995017")
    assert (row["fiat_currency"], row["crypto_currency"], row["crypto_chain"]) == (
        "EUR", "USDC", "BASE",
    )  # fmt: skip
    assert row["approved_at"] < row["completed_at"] == row["updated_at"]
    assert row["created_by"] == "maker@harbourlane.test"
    assert row["company_bank_account_iban"] is None
    assert row["company_wallet_address"]


def test_open_means_that_a_record_may_still_change(synced: Synced) -> None:
    snapshot = synced[0].snapshot()
    rows = snapshot.sql("SELECT DISTINCT status, is_open FROM ramp_requests").to_pylist()
    by_status = {row["status"]: row["is_open"] for row in rows}
    assert {status for status, is_open in by_status.items() if is_open} == {
        "AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED",
    }  # fmt: skip
    rows = snapshot.sql("SELECT DISTINCT status FROM transfers WHERE NOT is_open").to_pylist()
    assert {row["status"] for row in rows} == {"COMPLETED", "FAILED"}


def test_details_complete_the_fields_missing_from_lists(synced: Synced) -> None:
    snapshot = synced[0].snapshot()
    accounts = snapshot.sql("SELECT * FROM company_bank_accounts").to_pylist()
    assert all(row["iban"] or row["account_number"] for row in accounts)
    assert all(row["version"] is not None for row in accounts)
    wallets = snapshot.sql("SELECT company_id, version FROM company_wallets").to_pylist()
    assert all(row["company_id"] and row["version"] is not None for row in wallets)


def test_balances_are_observed_with_their_instant(calm: Calm, synced: Synced) -> None:
    rows = synced[0].snapshot().sql("SELECT * FROM wallet_balances").to_pylist()
    assert rows
    assert {row["observed_at"] for row in rows} == {synced[1].at}
    assert all(row["total"] == row["available"] + row["reserved"] for row in rows)


def test_the_link_of_an_invitation_is_stored_nowhere(calm: Calm, synced: Synced) -> None:
    users = Bare(*calm).get("ramp", "/company/users")
    links = [user["invitationUrl"] for user in users if "invitationUrl" in user]
    assert links
    stored = synced[0].snapshot().sql("SELECT raw FROM company_users").to_pylist()
    assert not [row for row in stored for link in links if link in row["raw"]]
    assert not [row for row in stored if "invitationUrl" in row["raw"]]


def test_every_declared_table_is_reported_and_filled(synced: Synced) -> None:
    report = synced[1]
    assert {line.table for line in report.tables} == {table.name for table in TABLES}
    assert {line.table for line in report.tables if not line.new} == {"wallet_balances"}
    observed = {line.table: line.observed for line in report.tables if line.observed}
    assert set(observed) == {"wallet_balances"}
    assert (report.skipped, report.notices) == ((), ())
    first, *others = str(report).splitlines()
    assert first.endswith(f" new, 0 changed, 0 vanished; {observed['wallet_balances']} observed")
    assert [line.partition(":")[0] for line in others] == [t.table for t in report.tables if t.new]


def test_every_column_says_what_it_means() -> None:
    columns = [(table.name, column) for table in TABLES for column in table.columns]
    assert [name for name, column in columns if not column.meaning] == []
    derived = {"is_open", "has_detail", "ramp_type", "kind", "observed_at", "first_seen_at"}
    assert [c.name for _, c in columns if not c.source and c.name not in derived] == []
    assert all(table.title for table in TABLES)
