"""A list that a service does not offer: only the service's own error counts; stored rows stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from practice import NO_WAITING, client_for, secret_file, services_of

from treasury.api import Client
from treasury.core.errors import NotOffered
from treasury.core.settings import Service
from treasury.extract import Scope, SyncReport, Unoffered, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

BETWEEN = "GET /account-to-account-transfers"
TRANSFERS = frozenset({"transfers"})
EVERYTHING = Scope(tables=TRANSFERS, full=True)
Published = tuple[Sandbox, Served]


@pytest.fixture(scope="module")
def published() -> Iterator[Published]:
    sandbox = Sandbox(profile="b")
    with sandbox.serve() as served:
        yield sandbox, served


class Hiding(httpx.BaseTransport):
    """A service that hides one record; `pages` has fixed answers, by the end of a path."""

    def __init__(self) -> None:
        self.hidden = ""
        self.pages: dict[str, httpx.Response] = {}
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        for end, page in self.pages.items():
            if path.endswith(end):
                return page
        response = self._inner.handle_request(request)
        response.read()
        if not self.hidden or request.method != "GET" or not response.is_success:
            return response
        if path.endswith(self.hidden):
            errors = [{"code": "not-found", "message": "gone"}]
            return httpx.Response(404, json={"success": False, "errors": errors})
        body: Any = msgspec.json.decode(response.content)
        if isinstance(body["result"], list):
            kept = [row for row in body["result"] if row.get("id") != self.hidden]
            if "pagination" in body:
                body["pagination"]["numberOfElements"] -= len(body["result"]) - len(kept)
            body["result"] = kept
        return httpx.Response(200, content=msgspec.json.encode(body))

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def hiding(published: Published, tmp_path: Path) -> Iterator[tuple[Client, Hiding]]:
    sandbox, served = published
    inner = Hiding()
    credential = secret_file(tmp_path, sandbox, "maker")
    with Client(services_of(served), credential, clock=NO_WAITING, inner=inner) as client:
        yield client, inner


@pytest.fixture
def filled(calm: tuple[Sandbox, Served], lake: Lake, tmp_path: Path) -> Lake:
    """Return a lake with transfers between accounts, synced from a profile that lists them."""
    with client_for(tmp_path, *calm) as client:
        sync(client, lake, calm[0].now, scope=Scope(tables=TRANSFERS))
    return lake


def stored(lake: Lake, where: str) -> set[str]:
    rows = lake.snapshot().sql(f"SELECT id FROM transfers WHERE {where}").to_pylist()
    return {row["id"] for row in rows}


def full(client: Client, lake: Lake) -> SyncReport:
    return sync(client, lake, Sandbox().now, scope=EVERYTHING)


@pytest.mark.acceptance
def test_transfers_are_complete_although_one_list_is_not_offered(
    hiding: tuple[Client, Hiding], filled: Lake
) -> None:
    client, inner = hiding
    full(client, filled)
    inner.hidden = min(stored(filled, "kind = 'crypto' AND NOT is_open"))
    report = full(client, filled)
    assert (report.skipped, report.unoffered) == ((), (Unoffered("transfers", BETWEEN),))
    assert stored(filled, "vanished_at IS NOT NULL") == {inner.hidden}
    assert [one.kind for one in report.drift or ()] == ["vanished"]
    assert f"transfers: not offered by the service: {BETWEEN}" in str(report)
    assert "left as it was" not in str(report)


@pytest.mark.acceptance
def test_stored_rows_of_a_list_that_is_not_offered_are_never_marked(
    hiding: tuple[Client, Hiding], filled: Lake
) -> None:
    between = stored(filled, "kind = 'account_to_account'")
    full(hiding[0], filled)
    assert between
    assert stored(filled, "kind = 'account_to_account' AND vanished_at IS NULL") == between


@pytest.mark.acceptance
@pytest.mark.parametrize("status", [404, 405])
def test_a_foreign_page_leaves_transfers_unchanged(
    hiding: tuple[Client, Hiding], filled: Lake, status: int
) -> None:
    client, inner = hiding
    inner.hidden = min(stored(filled, "kind = 'crypto' AND NOT is_open"))
    page = httpx.Response(status, content=b"<h1>nginx</h1>", headers={"content-type": "text/html"})
    inner.pages["/account-to-account-transfers"] = page
    report = full(client, filled)
    assert [one.table for one in report.skipped] == ["transfers"]
    assert report.unoffered == ()
    assert stored(filled, "vanished_at IS NOT NULL") == set()


def test_an_incomplete_comparison_does_not_report_equality(
    hiding: tuple[Client, Hiding], filled: Lake
) -> None:
    client, inner = hiding
    full(client, filled)
    inner.pages["/account-to-account-transfers"] = httpx.Response(404, content=b"nginx")
    report = full(client, filled)
    assert report.drift == ()
    assert "the stored records match the services" not in str(report)
    assert "not everything was compared: transfers" in str(report)


@pytest.mark.acceptance
@pytest.mark.first_case
@pytest.mark.parametrize("status", [404, 405])
def test_a_small_table_that_is_not_offered_keeps_its_rows(
    hiding: tuple[Client, Hiding], lake: Lake, status: int
) -> None:
    client, inner = hiding
    fees = Scope(tables=frozenset({"fees"}), full=True)
    sync(client, lake, Sandbox().now, scope=fees)
    errors = [{"code": "NOT_FOUND", "message": "No such address."}]
    inner.pages["/fees"] = httpx.Response(status, json={"success": False, "errors": errors})
    report = sync(client, lake, Sandbox().now, scope=fees)
    assert report.unoffered == (Unoffered("fees", "GET /fees"),)
    rows = lake.snapshot().sql("SELECT vanished_at FROM fees").to_pylist()
    assert rows
    assert all(row["vanished_at"] is None for row in rows)


@pytest.mark.acceptance
def test_a_sync_with_a_wrong_address_marks_nothing_as_vanished(
    published: Published, filled: Lake, tmp_path: Path
) -> None:
    sandbox, served = published
    services = services_of(served)
    wrong = msgspec.structs.replace(services, finance=Service(served.finance_url + "/next"))
    credential = secret_file(tmp_path, sandbox, "maker")
    with Client(wrong, credential, clock=NO_WAITING) as client, pytest.raises(NotOffered):
        full(client, filled)
    assert stored(filled, "vanished_at IS NOT NULL") == set()
