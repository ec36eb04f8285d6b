"""Field changes between versions, and durations of statuses."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lake_samples import REQUESTS, START, WALLETS, day, put, requests, small_lake, wallets

from treasury.core.errors import InputError
from treasury.core.tables.column_types import AMOUNT, INSTANT, INTEGER, TEXT, Column
from treasury.lake import Events, Lake, Table
from treasury.lake import changes as changes_of
from treasury.lake import durations as durations_of

BEFORE = START - timedelta(days=1)


def with_amount(rows: pa.Table, text: str) -> pa.Table:
    place = rows.column_names.index("amount")
    return rows.set_column(place, "amount", pa.array([Decimal(text)] * rows.num_rows, AMOUNT))


def told(rows: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows.to_pylist()]


@pytest.mark.acceptance
def test_each_field_that_changed_is_a_row_with_all_its_digits(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, with_amount(requests(a="OPEN", b="OPEN"), "10.50"))
    put(lake, 1, with_amount(requests(a="DONE"), "12345678901234567890.000000000000000001"))
    put(lake, 2, with_amount(requests(b="HELD"), "100"))
    seen = told(changes_of(lake.snapshot(), "requests", BEFORE))
    assert seen == [
        ("a", day(0), "new", None, None, None),
        ("b", day(0), "new", None, None, None),
        ("a", day(1), "changed", "amount", "10.5", "12345678901234567890.000000000000000001"),
        ("a", day(1), "changed", "is_open", "true", "false"),
        ("a", day(1), "changed", "status", "OPEN", "DONE"),
        ("b", day(2), "changed", "amount", "10.5", "100"),
        ("b", day(2), "changed", "status", "OPEN", "HELD"),
    ]
    assert told(changes_of(lake.snapshot(), "requests", day(0), day(1))) == seen[2:5]
    assert told(changes_of(lake.snapshot(at=day(1)), "requests", BEFORE)) == seen[:5]
    assert told(changes_of(lake.snapshot(), "requests", day(2))) == []


@pytest.mark.acceptance
def test_vanishing_and_reappearing_are_changes(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="OPEN"))
    put(lake, 1, requests(a="OPEN"), complete=True)
    put(lake, 2, requests(a="OPEN", b="DONE"))
    assert told(changes_of(lake.snapshot(), "requests", day(0))) == [
        ("b", day(1), "vanished", None, None, None),
        ("b", day(2), "back", None, None, None),
        ("b", day(2), "back", "is_open", "true", "false"),
        ("b", day(2), "back", "status", "OPEN", "DONE"),
    ]


@pytest.mark.acceptance
def test_a_change_that_no_column_holds_shows_as_raw(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for number in range(2):
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(WALLETS, wallets(w={"id": "w", "unknown": number}))
    assert told(changes_of(lake.snapshot(), "wallets", day(0))) == [
        ("w", day(1), "changed", "raw", '{"id": "w", "unknown": 0}', '{"id": "w", "unknown": 1}')
    ]


def test_an_unwritten_table_has_no_changes(tmp_path: Path) -> None:
    assert changes_of(small_lake(tmp_path).snapshot(), "requests", BEFORE).num_rows == 0


@pytest.mark.parametrize(
    ("name", "since", "problem"),
    [
        ("balances", BEFORE, "observations"),
        ("request", BEFORE, "is it requests"),
        ("requests", BEFORE.replace(tzinfo=None), "time zone"),
    ],
)
def test_a_table_without_history_is_reported(
    tmp_path: Path, name: str, since: datetime, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        changes_of(small_lake(tmp_path).snapshot(), name, since)


@pytest.mark.acceptance
def test_observed_durations_mark_unknown_bounds(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 1, requests(a="OPEN"))
    put(lake, 2, requests(b="OPEN"))
    put(lake, 4, requests(a="HELD"))
    put(lake, 5, requests(a="DONE"))
    rows = durations_of(lake.snapshot(), "requests").to_pylist()
    assert [(r["id"], r["status"], r["entered_at"], r["left_at"]) for r in rows] == [
        ("a", "OPEN", day(1), day(4)),
        ("a", "HELD", day(4), day(5)),
        ("a", "DONE", day(5), None),
        ("b", "OPEN", day(2), None),
    ]
    assert {row["known_from"] for row in rows} == {"observation"}
    assert [r["entered_after"] for r in rows] == [START, day(2), day(4), day(1)]
    days = [tuple(r[n] // 86_400 for n in ("seconds", "at_least", "at_most")) for r in rows]
    assert days == [(3, 1, 4), (1, 0, 3), (0, 0, 1), (3, 3, 4)]


TICKETS = Table(
    "tickets",
    (
        Column("id", TEXT, "it"),
        Column("status", TEXT, "where it is"),
        Column("version", INTEGER, "counter"),
    ),
)
TICKET_EVENTS = Table(
    "ticket_events",
    (
        Column("id", TEXT, "the event"),
        Column("ticket_id", TEXT, "the ticket"),
        Column("event_type", TEXT, "what"),
        Column("version", INTEGER, "of the ticket after it"),
        Column("created_at", INSTANT, "when"),
    ),
)
EVENTS = Events(
    "ticket_events", "ticket_id", {"MADE": "OPEN", "ENDED": "DONE"}, frozenset({"MOVED"})
)


def ticket_rows(table: Table, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{**r, "raw": json.dumps(str(r))} for r in rows], table.row_schema)


def test_durations_come_from_events_where_there_are_any(tmp_path: Path) -> None:
    lake = Lake(tmp_path, (TICKETS, TICKET_EVENTS))
    hour = timedelta(hours=1)
    later = [START + n * hour for n in range(4)]
    made = {"id": "1", "ticket_id": "t", "event_type": "MADE", "version": 1, "created_at": START}
    with lake.writer("sync", day(1)) as writer:
        tickets = ({"id": "t", "status": "HELD", "version": 2}, {"id": "u", "status": "OPEN"})
        writer.upsert(TICKETS, ticket_rows(TICKETS, *tickets))
        events = (
            made,
            {**made, "id": "2", "event_type": "MOVED", "version": 2, "created_at": later[1]},
            {**made, "id": "3", "event_type": "NOTED", "version": 2, "created_at": later[1]},
        )
        writer.upsert(TICKET_EVENTS, ticket_rows(TICKET_EVENTS, *events))
    with lake.writer("sync", day(2)) as writer:
        tickets = ({"id": "t", "status": "DONE", "version": 4},)
        writer.upsert(TICKETS, ticket_rows(TICKETS, *tickets))
        events = (
            {
                **made,
                "id": "4",
                "event_type": "MOVED",
                "version": 3,
                "created_at": later[2],
            },
            {
                **made,
                "id": "5",
                "event_type": "ENDED",
                "version": 4,
                "created_at": later[3],
            },
        )
        writer.upsert(TICKET_EVENTS, ticket_rows(TICKET_EVENTS, *events))
    rows = durations_of(lake.snapshot(), "tickets", EVENTS).to_pylist()
    assert [(r["id"], r["status"], r["entered_at"], r["known_from"]) for r in rows] == [
        ("t", "OPEN", START, "events"),
        ("t", "HELD", START + hour, "events"),
        ("t", "not told", START + 2 * hour, "events"),
        ("t", "DONE", START + 3 * hour, "events"),
        ("u", "OPEN", day(1), "observation"),
    ]
    exact = [(r["seconds"], r["at_least"], r["at_most"]) for r in rows[:3]]
    assert exact == [(3600, 3600, 3600)] * 3
    with pytest.raises(InputError, match="no status"):
        durations_of(lake.snapshot(), "ticket_events")


def test_durations_of_a_table_without_statuses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no status"):
        durations_of(small_lake(tmp_path).snapshot(), "wallets")
    assert durations_of(small_lake(tmp_path).snapshot(), "requests").num_rows == 0
    assert "status" in REQUESTS.schema.names
