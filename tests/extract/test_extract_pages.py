"""A long list read in parallel from a service that changes or misbehaves meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from treasury.api import Client, Clock
from treasury.core.errors import UnexpectedResponse
from treasury.core.settings import Credential, Service, Services
from treasury.extract import Scope, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox

TOTAL = 5500
Answer = Callable[[int, int], tuple[list[int], dict]]


class Pages(httpx.BaseTransport):
    """A ramp service that has only a list of settled requests."""

    def __init__(self, answer: Answer, strange: dict) -> None:
        self.asked: list[int] = []
        self._strange = strange
        self._answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/token":
            return httpx.Response(200, json={"access_token": "t", "expires_in": 300})
        page, size = (int(request.url.params[name]) for name in ("page", "size"))
        self.asked.append(page)
        numbers, pagination = self._answer(page, size)
        rows = [
            {"id": f"r{n}", "status": "SUCCEEDED", "createdAt": "2026-01-01T00:00:00Z"}
            for n in numbers
        ]
        rows[-1:] = [row | self._strange for row in rows[-1:]]
        body = {"success": True, "result": rows, "pagination": pagination}
        return httpx.Response(200, content=json.dumps(body).encode())


def stated(page: int, size: int, total: int) -> dict:
    pages = -(-total // size)
    return {
        "pageNumber": page,
        "pageSize": size,
        "numberOfElements": total,
        "numberOfPages": pages,
        "hasNextPage": page < pages,
    }


def slice_of(page: int, size: int, total: int) -> list[int]:
    return list(range((page - 1) * size, min(page * size, total)))


def listed(
    folder: Path, lake: Lake, answer: Answer, strange: dict | None = None
) -> tuple[Pages, int]:
    """Sync the pages of `answer`, and return the service and the number of stored rows.

    The last record of each page also has the fields of `strange`.
    """
    pages = Pages(answer, strange or {})
    secret = folder / "secret"
    secret.write_text("s")
    services = Services(
        token_url="http://127.0.0.1/token",
        finance=Service("http://127.0.0.1/finance"),
        ramp=Service("http://127.0.0.1/ramp"),
    )
    clock = Clock(sleep=lambda _seconds: None)
    scope = Scope(tables=frozenset({"ramp_requests"}), details=0)
    with Client(services, Credential("c", f"file:{secret}"), clock=clock, inner=pages) as client:
        sync(client, lake, Sandbox().now, scope=scope)
    return pages, lake.snapshot().sql("SELECT id FROM ramp_requests").num_rows


def test_every_page_is_requested_once_and_every_row_stored(tmp_path: Path, lake: Lake) -> None:
    pages, count = listed(
        tmp_path, lake, lambda page, size: (slice_of(page, size, TOTAL), stated(page, size, TOTAL))
    )
    assert count == TOTAL
    assert sorted(pages.asked) == [1, 2, 3, 4, 5, 6]


@pytest.mark.acceptance
def test_a_service_with_smaller_pages_is_read_completely(tmp_path: Path, lake: Lake) -> None:
    pages, count = listed(
        tmp_path, lake, lambda page, _: (slice_of(page, 500, TOTAL), stated(page, 500, TOTAL))
    )
    assert (count, len(pages.asked)) == (TOTAL, 11)


@pytest.mark.acceptance
def test_a_list_that_grows_while_it_is_read_is_read_to_its_new_end(
    tmp_path: Path, lake: Lake
) -> None:
    def answer(page: int, size: int) -> tuple[list[int], dict]:
        total = TOTAL if page == 1 else TOTAL + 900
        return slice_of(page, size, total), stated(page, size, total)

    assert listed(tmp_path, lake, answer)[1] == TOTAL + 900


@pytest.mark.acceptance
def test_a_shifting_list_is_reread(tmp_path: Path, lake: Lake) -> None:
    walks = [0]

    def answer(page: int, size: int) -> tuple[list[int], dict]:
        walks[0] += page == 1
        lost = 1 if walks[0] == 1 and page > 3 else 0
        total = TOTAL - 1 if walks[0] > 1 or page > 3 else TOTAL
        rows = [n + lost for n in slice_of(page, size, total)]
        return rows, stated(page, size, total)

    pages, count = listed(tmp_path, lake, answer)
    assert walks == [2]
    assert count >= TOTAL - 1
    assert pages.asked.count(1) == 2


@pytest.mark.first_case
@pytest.mark.parametrize(
    "answer",
    [
        lambda _page, size: (slice_of(1, size, TOTAL), stated(1, size, TOTAL)),
        lambda page, size: (slice_of(page, size, TOTAL)[1:], stated(page, size, TOTAL)),
    ],
    ids=["always the first page", "a row is missing on each page"],
)
def test_an_inconsistent_list_stores_nothing(tmp_path: Path, lake: Lake, answer: Answer) -> None:
    with pytest.raises(UnexpectedResponse, match="does not add up"):
        listed(tmp_path, lake, answer)
    assert lake.commits().num_rows == 0


@pytest.mark.acceptance
def test_a_service_without_a_total_is_read_page_by_page(tmp_path: Path, lake: Lake) -> None:
    def answer(page: int, size: int) -> tuple[list[int], dict]:
        rows = slice_of(page, size, TOTAL)
        return rows, {"pageNumber": page, "pageSize": size, "hasNextPage": page < 6}

    pages, count = listed(tmp_path, lake, answer)
    assert count == TOTAL
    assert pages.asked == [1, 1, 2, 3, 4, 5, 6]


def without_end(page: int, size: int) -> tuple[list[int], dict]:
    """Return a full page of new records and state that one more follows."""
    pages = max(page + 1, 6)
    stated = {"pageNumber": page, "pageSize": size, "hasNextPage": True}
    stated |= {"numberOfPages": pages, "numberOfElements": pages * size}
    return slice_of(page, size, pages * size), stated


def without_number(page: int, size: int) -> tuple[list[int], dict]:
    return slice_of(page, size, (page + 1) * size), {"hasNextPage": True}


def a_billion(page: int, size: int) -> tuple[list[int], dict]:
    return slice_of(page, size, 10**12), stated(page, size, 10**12)


@pytest.mark.first_case
@pytest.mark.parametrize("answer", [without_end, without_number, a_billion])
def test_an_endless_list_stores_nothing(tmp_path: Path, lake: Lake, answer: Answer) -> None:
    with pytest.raises(UnexpectedResponse, match="GET /ramp-requests: the list does not end"):
        listed(tmp_path, lake, answer)
    assert lake.commits().num_rows == 0


@pytest.mark.acceptance
def test_repeating_pages_are_not_read_to_the_end(tmp_path: Path, lake: Lake) -> None:
    asked: list[int] = []

    def answer(page: int, size: int) -> tuple[list[int], dict]:
        asked.append(page)
        return slice_of(1, size, size), stated(page, size, 4_000_000)

    with pytest.raises(UnexpectedResponse, match="its pages repeat each other"):
        listed(tmp_path, lake, answer)
    assert len(asked) < 400


@pytest.mark.parametrize(
    "strange",
    [
        {"x": json.loads("[" * 70 + "]" * 70)},
        {"x": 10**130},
        {"id": "r" * 300},
        {"companyWalletId": "r" * 300},
        {"version": 10**30},
    ],
    ids=["deep", "digits", "long id", "long wallet id", "long version"],
)
def test_a_listed_record_beyond_a_limit_stores_nothing(
    tmp_path: Path, lake: Lake, strange: dict
) -> None:
    with pytest.raises(UnexpectedResponse, match="GET /ramp-requests"):
        listed(
            tmp_path,
            lake,
            lambda page, size: (slice_of(page, size, 10), stated(page, size, 10)),
            strange,
        )
    assert lake.commits().num_rows == 0
