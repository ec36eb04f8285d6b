"""Answers to create calls for records in no list are in the journal, and queried like a table."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from treasury.cli.commands.practice import prepare
from treasury.core.errors import InputError, JournalError
from treasury.core.tables.column_types import AMOUNT
from treasury.journal import Actor, Entry, Journal
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace
from treasury.workspace.responses import RESPONSES, responses

ANNA = Actor("anna", "system")
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
SESSION = "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions"
REQUEST = "POST /payment-requests"
SETTINGS = '[workspace]\ncompany = "Test NV"\nenvironment = "sandbox"\n'

ONE_SESSION = (
    '{"id":"s-1","accountId":"a","status":"CREATED","inAmount":480.123456789012345678,'
    '"inCurrency":"EUR","outCryptocurrency":"USDC","cancellable":true,'
    '"createdAt":"2026-05-04T08:12:31","unknown":{"kept":1}}'
)
ONE_REQUEST = (
    '{"id":"r-1","accountId":"a","amount":{"fiat":63.90,"crypto":"63.900000"},"currency":"USD",'
    '"originalAmount":70,"status":"RESERVED","executions":[{"id":"x-1","amount":63.9,'
    '"asset":"USDC","exchangeRate":1,"status":"PENDING"},{"id":"x-2","status":"NEW"}]}'
)


class Desk:
    """A workspace with a journal; `done` adds an executed action an hour after the previous one."""

    def __init__(self, folder: Path) -> None:
        (folder / "treasury.toml").write_text(SETTINGS)
        self.hours = 0
        self.folder = folder
        self.journal = Journal(folder, now=self.now)

    def now(self) -> datetime:
        return START + timedelta(hours=self.hours)

    def done(self, operation: str, response: str | None, **body: Any) -> Entry:
        self.hours += 1
        told = {} if response is None else {"response": response}
        subject = f"ACT-{self.hours}"
        facts = {"operation": operation, **told, **body}
        return self.journal.append("action.done", subject, facts, actor=ANNA)

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.acceptance
def test_a_response_is_a_row_with_all_its_digits(desk: Desk) -> None:
    desk.done(SESSION, ONE_SESSION)
    row = desk.workspace.sql("SELECT * FROM payment_sessions").arrow.to_pylist()[0]
    assert row["in_amount"] == Decimal("480.123456789012345678")
    assert (row["id"], row["in_currency"], row["status"]) == ("s-1", "EUR", "CREATED")
    assert row["created_at"] == datetime(2026, 5, 4, 8, 12, 31, tzinfo=UTC)
    assert (row["journaled_at"], row["decided_by"]) == (START + timedelta(hours=1), "anna")
    assert (row["action_id"], row["entry"], row["raw"]) == ("ACT-1", 1, ONE_SESSION)


def test_both_sides_of_an_amount_and_each_execution_are_shown(desk: Desk) -> None:
    desk.done(REQUEST, ONE_REQUEST)
    workspace = desk.workspace
    row = workspace.table("payment_requests").arrow.to_pylist()[0]
    assert (row["fiat_amount"], row["crypto_amount"]) == (Decimal("63.9"), Decimal("63.9"))
    assert (row["original_fiat_amount"], row["settled_fiat_amount"]) == (Decimal(70), None)
    steps = workspace.sql(
        "SELECT e.id, e.amount, e.asset, r.currency, e.raw FROM payment_request_executions e"
        " JOIN payment_requests r ON r.id = e.payment_request_id ORDER BY e.id"
    ).arrow.to_pylist()
    assert [(s["id"], s["amount"], s["currency"]) for s in steps] == [
        ("x-1", Decimal("63.9"), "USD"),
        ("x-2", None, "USD"),
    ]
    assert json.loads(steps[1]["raw"]) == {"id": "x-2", "status": "NEW"}


@pytest.mark.acceptance
def test_each_column_has_its_declared_type_even_without_responses(desk: Desk) -> None:
    for name, response in RESPONSES.items():
        table = desk.workspace.table(name).arrow
        assert table.schema == response.form.table.row_schema
        assert table.num_rows == 0
        assert AMOUNT in table.schema.types
        assert responses(desk.journal, name).schema == table.schema
    assert not (desk.folder / "journal.sqlite").exists()


@pytest.mark.acceptance
def test_a_repeated_create_counts_once_with_its_last_response(desk: Desk) -> None:
    desk.done(SESSION, ONE_SESSION)
    desk.done(SESSION, ONE_SESSION.replace("CREATED", "PENDING_PAYMENT"))
    desk.done(SESSION, ONE_SESSION.replace("s-1", "s-2"))
    rows = desk.workspace.sql("SELECT id, status FROM payment_sessions ORDER BY id").arrow
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        ("s-1", "PENDING_PAYMENT"),
        ("s-2", "CREATED"),
    ]


@pytest.mark.parametrize(
    "response",
    [None, "not JSON", "[]", '{"id":"r","amount":{"fiat":0.0000000000000000001}}', '{"amount":{}}'],
)
def test_an_unreadable_response_is_still_a_row(desk: Desk, response: str | None) -> None:
    desk.done(REQUEST, response)
    desk.done(REQUEST, response)
    rows = desk.workspace.table("payment_requests").arrow.to_pylist()
    assert [row["entry"] for row in rows] == [1, 2]
    assert {(row["id"], row["fiat_amount"], row["raw"]) for row in rows} == {(None, None, response)}


def test_an_outcome_settled_by_a_person_has_the_reported_id(desk: Desk) -> None:
    desk.done(REQUEST, None, record="r-9", how="said by a person")
    row = desk.workspace.table("payment_requests").arrow.to_pylist()[0]
    assert (row["id"], row["known_from"], row["status"]) == ("r-9", "said by a person", None)


@pytest.mark.acceptance
def test_an_executed_action_shows_its_response(
    company: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    for name, (_, secret) in company.credentials.items():
        monkeypatch.setenv(f"TREASURY_{name.upper()}_SECRET", secret)
    with company.serve() as served:
        workspace = prepare(tmp_path / "desk", company, served)
        workspace.sync(tables=["accounts", "wallets"])
        account = workspace.sql("SELECT id FROM accounts WHERE status = 'ACTIVE' ORDER BY id")
        action = workspace.actions.propose(
            "payment_session.create",
            account_id=account.arrow.to_pylist()[0]["id"],
            in_amount="480.50",
            in_currency="EUR",
            out_cryptocurrency="USDC",
            callback_url="https://callback.example.test/paid",
            reason="invoice 2211",
        )
        workspace.actions.execute(action.id)
        workspace.close_clients()
    rows = workspace.sql("SELECT * FROM payment_sessions").arrow.to_pylist()
    assert [(row["action_id"], row["decided_by"], row["known_from"]) for row in rows] == [
        (action.id, "anna", "answered")
    ]
    assert (rows[0]["in_amount"], rows[0]["in_currency"]) == (Decimal("480.50"), "EUR")
    assert rows[0]["status"] is not None
    assert json.loads(rows[0]["raw"])["id"] == rows[0]["id"]


@pytest.mark.acceptance
def test_only_creates_of_the_resource_count(desk: Desk) -> None:
    desk.done("POST /ramp-requests/{id}/approve", '{"id":"p"}')
    desk.done("GET /payment-requests", ONE_REQUEST)
    desk.done("POST /accounts/{accountId}/payment-requests", ONE_REQUEST)
    desk.journal.append("action.refused", "ACT", {"operation": REQUEST}, actor=ANNA)
    assert len(desk.workspace.table("payment_requests")) == 1
    assert len(desk.workspace.table("payment_sessions")) == 0


@pytest.mark.acceptance
def test_an_earlier_instant_shows_the_responses_journaled_by_then(desk: Desk) -> None:
    for number in (1, 2, 3):
        desk.done(SESSION, ONE_SESSION.replace("s-1", f"s-{number}"))
    at = desk.workspace.at(START + timedelta(hours=2))
    assert at.table("payment_sessions").arrow["id"].to_pylist() == ["s-1", "s-2"]
    assert at.sql("SELECT count(*) AS n FROM payment_sessions").arrow["n"].to_pylist() == [2]
    desk.done(SESSION, ONE_SESSION.replace("s-1", "s-4"))
    assert len(desk.workspace.table("payment_sessions")) == 4


def test_a_snapshot_does_not_change_with_later_journal_entries(desk: Desk) -> None:
    desk.done(SESSION, ONE_SESSION)
    snapshot = desk.workspace.snapshot()
    assert snapshot.table("payment_sessions").num_rows == 1
    desk.done(SESSION, ONE_SESSION.replace("s-1", "s-2"))
    assert snapshot.table("payment_sessions").num_rows == 1


@pytest.mark.acceptance
def test_an_unreadable_journal_stops_only_queries_that_use_it(desk: Desk) -> None:
    (desk.folder / "journal.sqlite").write_text("not a database, despite its name")
    workspace = desk.workspace
    assert len(workspace.sql("SELECT * FROM ramp_requests")) == 0
    with pytest.raises(JournalError, match="cannot be used"):
        workspace.sql("SELECT * FROM payment_sessions")


@pytest.mark.parametrize(
    "query", ["SHOW TABLES", "SELECT table_name AS name FROM information_schema.tables"]
)
def test_responses_are_listed_among_the_tables(desk: Desk, query: str) -> None:
    assert set(RESPONSES) <= set(desk.workspace.sql(query).arrow["name"].to_pylist())


def test_asking_for_versions_of_responses_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match="has no versions"):
        desk.workspace.changes("payment_sessions", since=START)


def test_responses_are_in_the_dictionary(desk: Desk) -> None:
    tables = {row["table"]: row for row in desk.workspace.tables().arrow.to_pylist()}
    assert tables["payment_sessions"]["origin"] == "Answers in the journal"
    columns = desk.workspace.tables("payment_requests").arrow["column"].to_pylist()
    assert columns[-1] == "raw"
    assert "valid_from" not in columns
