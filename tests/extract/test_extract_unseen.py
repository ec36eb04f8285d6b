"""Gaps of a sync are reported, stored as findings, and removed once they are filled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from practice import NO_WAITING, lake_in, secret_file, services_of

from treasury.api import Client
from treasury.extract import Scope, SyncReport, new_fields, sync
from treasury.extract.completeness import (
    SyncFinding,
    named_nowhere,
    reference_gaps,
    stored_findings,
)
from treasury.extract.ramp_tables import RAMP_REQUESTS
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

pytestmark = pytest.mark.long_file

Calm = tuple[Sandbox, Served]
Change = Callable[[dict[str, Any]], dict[str, Any] | int]


class Altered(httpx.BaseTransport):
    """Transport that puts answers of one GET path through `change`, which may return a status."""

    def __init__(self, path: str, change: Change) -> None:
        self._path = path
        self._change = change
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._inner.handle_request(request)
        response.read()
        if request.method != "GET" or not request.url.path.endswith(self._path):
            return response
        body = self._change(json.loads(response.content))
        if isinstance(body, int):
            return httpx.Response(body, json={"error": {"code": "FORBIDDEN"}})
        return httpx.Response(200, json=body)

    def close(self) -> None:
        self._inner.close()


class Desk:
    """A lake that is synced from the practice company with altered answers."""

    def __init__(self, calm: Calm, lake: Lake, folder: Path) -> None:
        self.lake = lake
        self.now = calm[0].now
        self._calm = calm
        self._folder = folder

    def sync(
        self,
        path: str = "nowhere",
        change: Change = dict,
        *tables: str,
        full: bool = False,
        since: date | None = None,
    ) -> SyncReport:
        """Sync the given tables, or all, with the answers on `path` altered by `change`."""
        scope = Scope(tables=frozenset(tables) or None, full=full, since=since)
        sandbox, served = self._calm
        with Client(
            services_of(served),
            secret_file(self._folder, sandbox, "maker"),
            clock=NO_WAITING,
            inner=Altered(path, change),
        ) as client:
            return sync(client, self.lake, self.now, scope=scope)

    @property
    def findings(self) -> list[SyncFinding]:
        return stored_findings(self.lake.snapshot())


@pytest.fixture
def desk(calm: Calm, lake: Lake, tmp_path: Path) -> Desk:
    return Desk(calm, lake, tmp_path)


@pytest.fixture
def desk_after_sync(calm: Calm, synced: tuple[Lake, SyncReport], tmp_path: Path) -> Desk:
    """Return a desk with a copy of the lake after a first full sync."""
    assert synced[1].notices == ()
    copied = shutil.copytree(synced[0].workspace, tmp_path / "copied")
    return Desk(calm, lake_in(copied), tmp_path)


@pytest.mark.acceptance
def test_an_exact_agreement_writes_and_reports_nothing(desk_after_sync: Desk) -> None:
    desk = desk_after_sync
    for tables, full in (((), False), ((), True), (("transfers",), False)):
        assert desk.sync("nowhere", dict, *tables, full=full).notices == ()
    assert desk.findings == []
    commit = desk.lake.last_commit()
    assert commit is not None
    assert "sync_findings" not in commit.versions


def with_field(body: dict[str, Any]) -> dict[str, Any]:
    company = body["result"]
    return body | {"result": company | {"moon": {"phase": 0.25}, "name": company["name"]}}


@pytest.mark.acceptance
def test_a_new_field_is_named_once_and_remembered(desk: Desk) -> None:
    desk.sync("/company", dict, "company", "fees")
    report = desk.sync("/company", with_field, "company")
    assert report.notices == ("company: field moon is new; it is kept in raw",)
    assert desk.findings == [SyncFinding("field", "company", "moon")]
    assert desk.sync("/company", with_field, "company").notices == ()
    assert desk.sync("/company", dict, "company", "fees").notices == ()
    assert desk.findings == [SyncFinding("field", "company", "moon")]


@pytest.mark.acceptance
def test_a_new_nested_field_is_named_by_its_path(desk: Desk) -> None:
    def with_planet(body: dict[str, Any]) -> dict[str, Any]:
        parties = [p | {"address": p["address"] | {"planet": "B"}} for p in body["result"]]
        return body | {"result": parties}

    assert desk.sync("/parties", with_planet, "parties").notices == (
        "parties: field address.planet is new; it is kept in raw",
    )


@pytest.mark.acceptance
def test_a_new_field_of_one_listed_request_among_many_known_ones_is_named(
    desk_after_sync: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_one_more(body: dict[str, Any]) -> dict[str, Any]:
        pages, listed = body["pagination"], body["result"]
        new = listed[1] | {"id": "new", "createdAt": listed[1]["createdAt"], "moon": "full"}
        total = pages["numberOfElements"] + 1
        size = pages["pageSize"]
        return body | {
            "result": listed if size == 1 else [listed[0], new, *listed[1:]],
            "pagination": pages | {"numberOfElements": total, "numberOfPages": -(-total // size)},
        }

    desk = desk_after_sync
    settled = desk.lake.snapshot().sql("SELECT 1 FROM ramp_requests WHERE NOT is_open").num_rows
    listed = desk.lake.snapshot().sql("SELECT 1 FROM ramp_requests").num_rows + 1
    monkeypatch.setattr(new_fields, "_READ", listed - settled)
    assert listed > 2 * (listed - settled)
    report = desk.sync("/ramp-requests", with_one_more, "ramp_requests", since=date(2020, 1, 1))
    assert "ramp_requests: field moon is new; it is kept in raw" in report.notices


def test_hostile_field_names_are_omitted_and_limited(desk: Desk) -> None:
    def crowded(body: dict[str, Any]) -> dict[str, Any]:
        many = {f"f{number}": 1 for number in range(500)} | {"\x1b[2J": 1}
        return body | {"result": body["result"] | many}

    report = desk.sync("/company", crowded, "company")
    assert len(report.notices) == 50
    assert all(notice.isprintable() for notice in report.notices)


@pytest.mark.acceptance
def test_a_refused_list_is_a_finding_until_it_is_read(desk: Desk) -> None:
    desk.sync("/fees", dict, "fees", "parties")
    report = desk.sync("/fees", lambda _: 403, "fees", "parties")
    assert [skip.table for skip in report.skipped] == ["fees"]
    (finding,) = desk.findings
    assert (finding.kind, finding.table_name) == ("refused", "fees")
    # This sync does not read fees.
    desk.sync("/fees", dict, "parties")
    assert desk.findings == [finding]
    desk.sync("/fees", dict, "fees", "parties")
    assert desk.findings == []


@pytest.mark.acceptance
def test_a_count_above_the_stored_rows_is_a_finding_until_it_agrees(desk: Desk) -> None:
    def settled(body: dict[str, Any]) -> dict[str, Any]:
        return body | {"result": [row | {"status": "COMPLETED"} for row in body["result"]]}

    def more(body: dict[str, Any]) -> dict[str, Any]:
        stated = body["pagination"]
        counted = stated | {"numberOfElements": stated["numberOfElements"] + 2}
        return settled(body) | {"pagination": counted}

    desk.sync("transfers", settled, "transfers")
    report = desk.sync("transfers", more, "transfers")
    findings = desk.findings
    assert {finding.kind for finding in findings} == {"count"}
    assert "between accounts" in {finding.subject for finding in findings}
    assert len(findings) > 2
    for finding in findings:
        assert finding.listed == (finding.held or 0) + 2
        assert (
            f"transfers: the service counts {finding.listed} in the list {finding.subject}, but"
            f" {finding.held} are stored: run `treasury sync --full`"
        ) in report.notices
    desk.sync("transfers", settled, "transfers")
    assert desk.findings == []


@pytest.mark.acceptance
def test_an_account_named_by_transfers_but_by_no_list_is_reported(desk: Desk) -> None:
    def without_one(body: dict[str, Any]) -> dict[str, Any]:
        hidden.append(body["result"][0]["id"])
        stated = body["pagination"]
        left = stated | {"numberOfElements": stated["numberOfElements"] - 1}
        return body | {"result": body["result"][1:], "pagination": left}

    hidden: list[str] = []
    tables = ("accounts", "transfers")
    report = desk.sync("/finance/v1/accounts", without_one, *tables)
    (row,) = named_nowhere(desk.lake.snapshot())
    assert (row["missing_from"], row["id"]) == ("accounts", hidden[0])
    assert row["records"] > 0
    assert (
        f"accounts: {hidden[0]} is referenced by {row['named_by']}, but no list has it"
        in report.notices
    )
    assert "transfers.sender_account_id" in row["named_by"]
    desk.sync("/finance/v1/accounts", dict, *tables)
    assert named_nowhere(desk.lake.snapshot()) == []


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("numbers", "gaps"),
    [
        (range(1, 61), []),
        ([n for n in range(1, 61) if n != 30], [("INV-0030", "INV-0030", 1)]),
        ([n for n in range(1, 201) if n not in {98, 99, 100}], [("INV-0098", "INV-0100", 3)]),
        ([n for n in range(1, 61) if n != 30] * 2, [("INV-0030", "INV-0030", 1)]),
        # The service gives the numbers in between to other companies.
        (range(1, 61, 7), []),
        # This is the same, with each reference on eight requests.
        ([*range(1, 61, 7)] * 8, []),
        # Three numbers are too few for a finding.
        ([1, 2, 4], []),
    ],
)
def test_a_gap_in_a_dense_series_is_reported(
    desk_after_sync: Desk, numbers: range | list[int], gaps: list[tuple[str, str, int]]
) -> None:
    lake, table = desk_after_sync.lake, RAMP_REQUESTS.table
    row = lake.snapshot().sql("SELECT * FROM ramp_requests LIMIT 1").to_pylist()[0]
    rows = [
        {name: row[name] for name in table.row_schema.names}
        | {"id": f"x{at}", "payment_reference": f"INV-{number:04}"}
        for at, number in enumerate(numbers)
    ]
    with lake.writer("sync", desk_after_sync.now) as writer:
        writer.upsert(table, pa.Table.from_pylist(rows, table.row_schema))
    named = [(gap["first"], gap["last"], gap["missing"]) for gap in reference_gaps(lake.snapshot())]
    assert named == gaps
