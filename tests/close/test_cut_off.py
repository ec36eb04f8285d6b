"""Requests at a month's end: their later changes do not move the month's figures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from treasury.cli.commands.practice import prepare
from treasury.close.roll_forward import RollForward
from treasury.core.calendar import Month
from treasury.core.tables.column_types import INSTANT
from treasury.matching.engine.pipeline import in_order, load, run, steps_of
from treasury.month.reconciliation import MONTH_PACKAGE, requests_at_cut_off
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

MONTH = "2026-10"
Row = dict[str, Any]


def request_of(desk: Workspace, number: str) -> str:
    """Return the id of the request with a payment reference that ends in `number`."""
    rows = desk.sql(
        "SELECT id FROM ramp_requests WHERE payment_reference = $name",
        {"name": f"PAY-2026-00{number}"},
    ).arrow.to_pylist()
    return str(rows[0]["id"])


@contextmanager
def played(
    month_end: Workspace, folder: Path, play: Callable[[Sandbox], object]
) -> Iterator[Workspace]:
    """Yield a copy of the workspace, synced after `play` changed the sandbox on 2 November."""
    shutil.copytree(month_end.folder, folder)
    before, company = dict(os.environ), Sandbox(7)
    try:
        with company.serve() as served:
            desk = prepare(folder, company, served)
            play(company)
            desk.sync()
            desk.close_clients()
            yield desk
    finally:
        os.environ.clear()
        os.environ.update(before)


def totals(rolled: RollForward, kind: str = "on_ramp") -> dict[str, Any]:
    (row,) = [row for row in rolled.totals.arrow.to_pylist() if row["kind"] == kind]
    return row


def statuses(desk: Workspace, month: str = MONTH) -> dict[str, str]:
    """Return the status of each request at a month's end."""
    requests = requests_at_cut_off(desk.snapshot(), Month.parse(month), desk.settings.zone)
    return {row["request_id"]: row["status"] for row in requests.to_pylist()}


@pytest.mark.acceptance
def test_a_denial_on_2_november_does_not_move_octobers_end(
    month_end: Workspace, tmp_path: Path
) -> None:
    before = month_end.periods.roll_forward(MONTH)
    name = request_of(month_end, "5409")
    with played(month_end, tmp_path / "desk", lambda company: company.ramp.deny(name)) as desk:
        assert statuses(desk)[name] == "AWAITING_APPROVAL"
        after = desk.periods.roll_forward(MONTH)
        assert after.totals.arrow.equals(before.totals.arrow)
        assert after.items.arrow.equals(before.items.arrow)
        assert desk.reconcile(MONTH).in_transit.arrow.equals(
            month_end.reconcile(MONTH).in_transit.arrow
        )
        november = totals(desk.periods.roll_forward("2026-11"))
        assert november["opening"] == totals(before)["closing"]
        assert november["cancelled"] == Decimal(22_000)
        item = desk.open_items(MONTH).by_id[f"request:{name}"]
        assert (item.kind, item.state, item.turn) == (
            "settled_since",
            "AWAITING APPROVAL",
            "time",
        )
        assert item.next_step == "Nothing: denied on 2 Nov"
        assert not item.is_blocking


@pytest.mark.acceptance
def test_a_request_that_the_provider_blocks_is_not_cancelled(month_end: Workspace) -> None:
    rolled = month_end.periods.roll_forward(MONTH)
    name = request_of(month_end, "5326")
    (row,) = [row for row in rolled.items.arrow.to_pylist() if row["expectation_id"] == name]
    assert (row["cancelled"], row["blocked"], row["closing"]) == (0, row["amount"], 0)
    on_ramp = totals(rolled)
    blocked = [item.amount for item in month_end.open_items(MONTH).select(kind="blocked")]
    assert on_ramp["standing_blocked"] == sum(filter(None, blocked)) == Decimal(43_500)
    assert on_ramp["blocked_items"] == 2
    assert on_ramp["closing"] == Decimal("95362.01")


@pytest.mark.acceptance
def test_a_released_block_counts_in_novembers_closing(month_end: Workspace, tmp_path: Path) -> None:
    name = request_of(month_end, "5326")
    with played(month_end, tmp_path / "desk", lambda company: company.ramp.release(name)) as desk:
        assert statuses(desk)[name] == "BLOCKED"
        (row,) = [
            row
            for row in desk.periods.roll_forward("2026-11").items.arrow.to_pylist()
            if row["expectation_id"] == name
        ]
        assert (row["opening"], row["blocked"], row["closing"]) == (
            0,
            -row["amount"],
            row["amount"],
        )


@pytest.mark.acceptance
def test_a_payment_for_a_request_that_failed_later_was_in_transit(
    month_end: Workspace, tmp_path: Path
) -> None:
    before = {
        row["request_id"]: row["amount"]
        for row in month_end.reconcile(MONTH).in_transit.arrow.to_pylist()
    }
    name = request_of(month_end, "5375")
    assert before[name] == Decimal(13_200)
    with played(month_end, tmp_path / "desk", lambda company: company.ramp.fail(name)) as desk:
        answer = desk.reconcile(MONTH)
        after = {row["request_id"]: row["amount"] for row in answer.in_transit.arrow.to_pylist()}
        assert after == before
        (line,) = [row for row in answer.lines.arrow.to_pylist() if row["expectation_id"] == name]
        assert (line["outcome"], line["reason"]) == ("conflict", "status: FAILED")
        items = desk.open_items(MONTH)
        assert items.by_id[f"request:{name}"].counted_in == f"line:{line['entry_id']}"
        assert items.by_id[f"line:{line['entry_id']}"].kind == "contradicted"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}T08:00:00+00:00")


def version(status: str, updated: str | None, observed: str, *, is_open: bool = True) -> Row:
    """Return a stored version of request r1, first seen on the day `observed`."""
    return {
        "id": "r1",
        "status": status,
        "is_open": is_open,
        "created_at": at("2026-10-05"),
        "updated_at": None if updated is None else at(updated),
        "valid_from": at(observed),
    }


def event(kind: str, day: str, second: str = "") -> Row:
    """Return an event of request r1."""
    return {
        "id": f"{kind}{day}{second}",
        "ramp_request_id": "r1",
        "event_type": kind,
        "created_at": at(day),
    }


APPROVED = (event("CREATED", "2026-10-05"), event("APPROVED", "2026-10-06"))
OBSERVED = "2026-11-20"
CASES: dict[str, tuple[list[Row], list[Row], list[Row], tuple[str, bool]]] = {
    "unchanged since": (
        [version("AWAITING_FUNDS", "2026-10-06", OBSERVED)], [], [], ("AWAITING_FUNDS", True),
    ),
    "completed after the end, by its events": (
        [version("SUCCEEDED", "2026-11-03", OBSERVED, is_open=False)],
        [],
        [*APPROVED, event("PAYMENT_RECEIVED", "2026-10-30"), event("COMPLETED", "2026-11-03")],
        ("PROCESSING", True),
    ),
    "denied before the end": (
        [version("DENIED", "2026-10-09", OBSERVED, is_open=False)],
        [],
        [*APPROVED, event("ADMIN_REJECTED", "2026-10-09")],
        ("DENIED", False),
    ),
    "held and denied after the end": (
        [version("DENIED", "2026-11-03", OBSERVED, is_open=False)],
        [],
        [
            *APPROVED,
            event("STATUS_CHANGED", "2026-10-06"),
            event("STATUS_CHANGED", "2026-10-12"),
            event("ADMIN_REJECTED", "2026-11-03"),
        ],
        ("BLOCKED", True),
    ),
    "held, released, and completed after the end": (
        [version("SUCCEEDED", "2026-11-03", OBSERVED, is_open=False)],
        [],
        [
            *APPROVED,
            event("STATUS_CHANGED", "2026-10-12"),
            event("STATUS_CHANGED", "2026-10-13"),
            event("COMPLETED", "2026-11-03"),
        ],
        ("AWAITING_FUNDS", True),
    ),
    "no events, seen before and after": (
        [version("DENIED", "2026-11-03", "2026-11-04", is_open=False)],
        [version("AWAITING_FUNDS", "2026-10-06", "2026-10-07")],
        [],
        ("AWAITING_FUNDS", True),
    ),
    "no events and no time of change, seen before and after": (
        [version("DENIED", None, "2026-11-04", is_open=False)],
        [version("AWAITING_FUNDS", None, "2026-10-07")],
        [],
        ("AWAITING_FUNDS", True),
    ),
    "only the current status is known": (
        [version("AWAITING_FUNDS", None, OBSERVED)], [], [], ("AWAITING_FUNDS", True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_status_at_the_cut_off_comes_from_events_and_versions(case: str) -> None:
    now, before, events, expected = CASES[case]
    versions = pa.schema(
        [
            *((name, pa.string()) for name in ("id", "status")),
            ("is_open", pa.bool_()),
            *((name, INSTANT) for name in ("created_at", "updated_at", "valid_from")),
        ]
    )
    happened = pa.schema(
        [
            *((name, pa.string()) for name in ("id", "ramp_request_id", "event_type")),
            ("created_at", INSTANT),
        ]
    )
    with duckdb.connect() as connection:
        tables = {
            "ramp_requests": pa.Table.from_pylist(now, schema=versions),
            "ramp_requests_history": pa.Table.from_pylist(before, schema=versions),
            "ramp_request_events": pa.Table.from_pylist(events, schema=happened),
            "asked": pa.table(
                {"zone": ["Europe/Brussels"], "month_end": pa.array([at("2026-11-01")], INSTANT)}
            ),
        }
        load(connection, tables)
        run(connection, in_order(steps_of(MONTH_PACKAGE), ("requests_at_cut_off",)))
        (row,) = connection.table("requests_at_cut_off").to_arrow_table().to_pylist()
    assert (row["status"], row["is_open"]) == expected
    assert row["status_now"] == now[0]["status"]
