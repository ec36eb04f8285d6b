"""Hostile answers of a service end in one clear error, within the limits of time and size."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import hostile_service as ways
import msgspec
import pytest
from fake_service import SECRET, services_at
from hostile_service import TOKEN, Hostile, Way, says
from hypothesis import given
from hypothesis import strategies as st

from treasury.api import CallLimits, Client, Clock
from treasury.api.exchange.response_body import PIECE, Redactor
from treasury.core.errors import (
    OutcomeUnknown,
    ServiceError,
    ServiceFault,
    ServiceUnreachable,
    UnexpectedResponse,
)
from treasury.core.settings import Credential

SMALL = CallLimits(
    deadline=30,
    attempts=2,
    answer_bytes=64 * 1024,
    refusal_bytes=16 * 1024,
    pages=50,
    records=5_000,
    extra_pages=5,
    unstated_records=500,
)
HURRIED = msgspec.structs.replace(SMALL, deadline=1.5)
QUICK = Clock(sleep=lambda _seconds: None)

SLOW = [
    ways.slow_headers,
    ways.slow_header_bytes,
    ways.slow_continues,
    ways.slow_body,
    ways.silence,
]
LONG = [
    ways.flood_of_continues,
    ways.huge_body,
    ways.huge_chunked_body,
    ways.body_until_the_end,
    ways.long_chunk_extensions,
    ways.bomb("gzip"),
]
MALFORMED = [ways.flood_of_headers, ways.endless_header, ways.cut_gzip]
UNASKED = [ways.bomb("gzip, gzip", 2), *(ways.bomb(name) for name in ("br", "zstd", "deflate"))]

DEEP = b'{"id":"r1","x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
RECORDS = {
    "deep": DEEP,
    "a hundred levels": b'{"id":"r1","x":' + b'{"a":' * 100 + b"1" + b"}" * 101,
    "levels behind brackets in a text": b'{"id":"]]]","x":' + b"[" * 70 + b"]" * 70 + b"}",
    "digits": b'{"id":"r1","x":' + b"9" * 30_000 + b"}",
    "an amount's digits": b'{"id":"r1","fiatAmount":' + b"9" * 30_000 + b"}",
    "a fraction's digits": b'{"id":"r1","x":0.' + b"0" * 200 + b"1}",
    "a version's digits": b'{"id":"r1","version":' + b"9" * 60 + b"}",
    "a long id": b'{"id":"' + b"r" * 50_000 + b'"}',
    "another's long id": b'{"id":"r1","companyWalletId":"' + b"r" * 50_000 + b'"}',
    "a year beyond UTC": b'{"id":"r1","createdAt":"0001-01-01T00:00:00+23:00"}',
}


@contextmanager
def facing(
    credential: Credential, service: Way, token: Way | None = None, limits: CallLimits = SMALL
) -> Iterator[tuple[Client, Hostile]]:
    """Yield a client of a hostile service, with a short deadline if it answers slowly."""
    limits = HURRIED if {service, token} & set(SLOW) else limits
    with (
        Hostile(service, token) as hostile,
        Client(
            services_at(f"http://127.0.0.1:{hostile.port}"), credential, limits=limits, clock=QUICK
        ) as client,
    ):
        yield client, hostile


def named(way: Way) -> str:
    return getattr(way, "__name__", "bomb")


@pytest.mark.acceptance
@pytest.mark.parametrize("way", SLOW, ids=named)
def test_a_slow_response_ends_at_the_deadline(credential: Credential, way: Way) -> None:
    with (
        facing(credential, way) as (client, _),
        pytest.raises(ServiceUnreachable, match=r"GET /company: .*not complete in time") as caught,
    ):
        client.ramp.company.get()
    assert caught.value.do


@pytest.mark.acceptance
@pytest.mark.parametrize("way", [*SLOW, *LONG, *MALFORMED, *UNASKED], ids=named)
def test_a_write_with_a_hostile_response_has_an_unknown_outcome(
    credential: Credential, way: Way
) -> None:
    with (
        facing(credential, way) as (client, hostile),
        pytest.raises(OutcomeUnknown, match=r"POST /ramp-requests/\{id\}/approve") as caught,
    ):
        client.ramp.requests.approve("r1", version=1)
    assert caught.value.may_have_executed
    assert sum(head.startswith("POST /ramp/v1") for head in hostile.heads) == 1


@pytest.mark.parametrize("way", [*LONG, *UNASKED], ids=named)
def test_an_overlong_response_ends_the_read_without_a_retry(
    credential: Credential, way: Way
) -> None:
    with (
        facing(credential, way) as (client, hostile),
        pytest.raises(
            UnexpectedResponse, match=r"GET /company: the service (answer|sen)"
        ) as caught,
    ):
        client.ramp.company.get()
    assert "address" in str(caught.value)
    assert sum(head.startswith("GET") for head in hostile.heads) == 1


@pytest.mark.parametrize("way", MALFORMED, ids=named)
def test_a_response_that_is_not_http_is_unreachable(credential: Credential, way: Way) -> None:
    with (
        facing(credential, way) as (client, _),
        pytest.raises(ServiceUnreachable, match="GET /company"),
    ):
        client.ramp.company.get()


@pytest.mark.acceptance
@pytest.mark.parametrize("way", [*SLOW, *LONG, *MALFORMED, *UNASKED, says(DEEP)], ids=named)
def test_a_hostile_token_endpoint_stops_a_write_before_it_is_sent(
    credential: Credential, way: Way
) -> None:
    with (
        facing(credential, ways.good, way) as (client, hostile),
        pytest.raises((ServiceUnreachable, UnexpectedResponse), match="token") as caught,
    ):
        client.ramp.requests.approve("r1", version=1)
    assert not caught.value.may_have_executed
    assert not [head for head in hostile.heads if "/ramp/v1" in head]


def test_an_endless_token_is_refused(credential: Credential) -> None:
    token = says(json.dumps({"access_token": "t" * 16_385}).encode())
    with (
        facing(credential, ways.good, token, CallLimits(attempts=1)) as (client, _),
        pytest.raises(UnexpectedResponse, match="without a token"),
    ):
        client.ramp.company.get()


@pytest.mark.parametrize("status", ["500 Oops", "400 Bad Request", "302 Found"])
@pytest.mark.parametrize(
    "body", [b" " * 10_000_000, b"[" * 16_000, b'{"errors":' + DEEP + b"}", b"9" * 16_000]
)
def test_only_the_beginning_of_a_refusal_is_read(
    credential: Credential, status: str, body: bytes
) -> None:
    with (
        facing(credential, says(body, status=status)) as (client, _),
        pytest.raises(ServiceError, match=f"GET /company: {status[:3]}") as caught,
    ):
        client.ramp.company.get()
    assert caught.value.status == int(status[:3])


@pytest.mark.acceptance
def test_a_decompression_bomb_as_refusal_keeps_its_status(credential: Credential) -> None:
    bomb = gzip.compress(b" " * (1 << 26))
    bombed = says(bomb, "Content-Encoding: gzip", status="503 Busy")
    with facing(credential, bombed) as (client, _), pytest.raises(ServiceFault, match="503"):
        client.ramp.company.get()


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_too_deep_to_be_read_back_is_refused(
    credential: Credential, record: bytes
) -> None:
    one = says(b'{"success":true,"result":' + record + b"}")
    with facing(credential, one) as (client, _):
        with pytest.raises(UnexpectedResponse, match=r"GET /ramp-requests/\{id\}"):
            client.ramp.requests.get("r1")
        with pytest.raises(OutcomeUnknown, match=r"(probably|may have been) carried out"):
            client.ramp.requests.reject("r1", version=1)
    listed = says(b'{"success":true,"result":[' + record + b"]}")
    with facing(credential, listed) as (client, _), pytest.raises(UnexpectedResponse):
        list(client.ramp.requests.iterate())


def test_deep_or_long_looking_but_valid_content_is_read(credential: Credential) -> None:
    record = b'{"id":"r1","paymentReference":"%s","x":[%s]}'
    record %= b'\\\\\\"' + b"[{" * 90 + b"9" * 300, b",".join([b"[]"] * 200)
    one = says(b'{"success":true,"result":' + record + b"}")
    with facing(credential, one) as (client, _):
        assert client.ramp.requests.get("r1").raw == record


def test_a_compressed_answer_is_read(credential: Credential) -> None:
    with facing(credential, ways.zipped(json.dumps(ways.GOOD).encode())) as (client, hostile):
        assert client.ramp.company.get().value.id == "r1"
    assert "accept-encoding: gzip\r\n" in hostile.heads[-1].lower() + "\r\n"


Pagination = Callable[[int], dict | None]
LYING: dict[str, Pagination] = {
    "always a next page": lambda _: {"hasNextPage": True},
    "a full page is all there is": lambda _: None,
    "the next page is the last": lambda page: {
        "hasNextPage": True, "numberOfPages": page + 1, "pageSize": 10,
        "numberOfElements": page * 10 + 10,
    },
    "two pages, and then more": lambda _: {
        "hasNextPage": True, "numberOfPages": 2, "pageSize": 10, "numberOfElements": 20,
    },
    "one page, and then more": lambda _: {
        "hasNextPage": True, "numberOfPages": 1, "pageSize": 10, "numberOfElements": 10,
    },
    "a billion": lambda _: {
        "hasNextPage": True, "numberOfPages": 10**9, "pageSize": 10, "numberOfElements": 10**10,
    },
    "more than can be counted": lambda _: {
        "hasNextPage": True, "numberOfPages": 10**60, "pageSize": 1, "numberOfElements": 10**60,
    },
}  # fmt: skip


def pages(pagination: Pagination, first: Callable[[int], int]) -> Way:
    """Return a handler that sends endless pages of ten records.

    `first` gives the number of a page's first record.
    """

    def way(connection, head: str) -> None:
        number = int(head.split("page=")[1].split("&", maxsplit=1)[0])
        rows = [{"id": f"r{first(number) + n}"} for n in range(10)]
        body = {"success": True, "result": rows, "pagination": pagination(number)}
        ways.answer(connection, json.dumps(body).encode())

    return way


@pytest.mark.parametrize("pagination", LYING.values(), ids=LYING)
def test_endless_pages_are_given_up(credential: Credential, pagination: Pagination) -> None:
    endless = pages(pagination, lambda page: page * 10)
    with (
        facing(credential, endless) as (client, hostile),
        pytest.raises(UnexpectedResponse, match="GET /parties: the list does not end"),
    ):
        for _ in client.finance.parties.iterate(size=10):
            pass
    assert len(hostile.heads) < 70


@pytest.mark.parametrize("pagination", LYING.values(), ids=LYING)
@pytest.mark.parametrize("period", [1, 2])
def test_repeating_pages_are_given_up(
    credential: Credential, pagination: Pagination, period: int
) -> None:
    repeating = pages(pagination, lambda page: page % period * 10)
    with (
        facing(credential, repeating) as (client, hostile),
        pytest.raises(UnexpectedResponse, match="GET /parties: the list does not"),
    ):
        list(client.finance.parties.iterate(size=10))
    assert len(hostile.heads) < 30


SECOND = f"{TOKEN}/with+more=="


@pytest.mark.parametrize(
    "written", ["plain", "escaped", "url", "url in lower case", "all percent", "bearer", "basic"]
)
def test_an_echoed_secret_is_neither_shown_nor_stored(credential: Credential, written: str) -> None:
    basic = base64.b64encode(f"harbour-maker:{SECRET}".encode()).decode()
    text = {
        "plain": json.dumps(f"you sent {SECOND} and {SECRET}"),
        "escaped": json.dumps(f"you sent {SECOND} and {SECRET}")
        .replace("/", r"\/")
        .replace("a", r"\u0061"),
        "url": json.dumps(f"token={quote(SECOND, safe='')}&client_secret={quote(SECRET)}"),
        "url in lower case": json.dumps(f"t={quote(SECOND)}&u={quote(SECOND, safe='').lower()}"),
        "all percent": json.dumps("".join(f"%{ord(char):02x}" for char in SECOND)),
        "bearer": json.dumps(f"Authorization: Bearer {SECOND}"),
        "basic": json.dumps(f"Authorization: Basic {basic}"),
    }[written]
    secrets = [SECOND, TOKEN, SECRET, basic, quote(SECOND, safe="")]
    secrets += [quote(SECOND), quote(SECOND, safe="").lower(), json.loads(text)]
    granted = says(json.dumps({"access_token": SECOND, "expires_in": 300}).encode())

    def echo(connection, head: str) -> None:
        header = f"X-Trace-Id: {SECOND} {basic}"
        if head.startswith("POST"):
            failure = f'{{"success":false,"errors":[{{"code":{text},"message":{text}}}]}}'
            ways.answer(connection, failure.encode(), header, status=f"400 {SECOND}")
        else:
            record = f'{{"success":true,"result":{{"id":"r1","status":"OPEN","note":{text}}}}}'
            ways.answer(connection, record.encode(), header)

    with facing(credential, echo, granted) as (client, hostile):
        record = client.ramp.requests.get("r1")
        with pytest.raises(ServiceError) as caught:
            client.ramp.requests.approve("r1", version=1)
        again = client.request("GET", "/anything")
    assert any(SECOND in head for head in hostile.heads)
    assert json.loads(record.raw)["status"] == "OPEN"
    assert "[redacted]" in json.loads(record.raw)["note"]
    error = caught.value
    shown = [repr(record), repr(error), str(error), repr(vars(error)), repr(again)]
    shown += [json.dumps(json.loads(record.raw)), json.dumps(json.loads(again.result))]
    assert not [one for one in shown if any(secret in one for secret in secrets)]


@pytest.mark.acceptance
@given(st.lists(st.sampled_from([*"a/%u", "\\", "\\u0061", "%61", "\\/", "%2f", "b"]), max_size=60))
def test_a_secret_is_removed_in_every_encoding_and_the_rest_kept(pieces: list[str]) -> None:
    secret = "a/aa/aaa/aaaa"
    redactor = Redactor()
    redactor.hide(secret)
    encoded = "".join(rf"\u00{ord(char):02x}" if char == "a" else "%2F" for char in secret)
    text = "".join(pieces)
    cleaned = redactor.clean(f"<{text}|{secret}|{encoded}|{text}>".encode()).decode()
    assert cleaned == f"<{text}|[redacted]|[redacted]|{text}>"


@pytest.mark.parametrize("written", [rb"\u0061", b"%61", rb"\/"])
@pytest.mark.parametrize("shift", range(30))
def test_a_secret_split_over_two_pieces_is_removed(written: bytes, shift: int) -> None:
    redactor = Redactor()
    redactor.hide("secret-a/a/a/a/a/a-end")
    echoed = b"a/a/a/a/a/a".replace(b"/" if written == rb"\/" else b"a", written)
    body = b"x" * (PIECE - 30 + shift) + b"secret-" + echoed + b"-end" + b"%y" * 40
    cleaned = redactor.clean(body)
    assert cleaned == b"x" * (PIECE - 30 + shift) + b"[redacted]" + b"%y" * 40


def test_a_token_crafted_for_slow_search_costs_no_time() -> None:
    """A backtracking pattern would take hours."""
    redactor = Redactor()
    redactor.hide("a" * 16_000)
    body = b"\\/" + (b"a" * 15_999 + b"b") * 1_000
    assert redactor.clean(body) == body


@pytest.mark.parametrize("unit", [b"0,", b"{},", b'"",'], ids=["numbers", "objects", "texts"])
def test_a_response_with_too_many_values_is_refused(credential: Credential, unit: bytes) -> None:
    many = unit * 500_001
    whole = CallLimits(attempts=1)
    for result in (b"[" + many + b"0]", b'{"id":"r1","events":[' + many + b"0]}"):
        body = says(b'{"success":true,"result":' + result + b"}")
        with facing(credential, body, limits=whole) as (client, _):
            with pytest.raises(UnexpectedResponse, match="more than 500,000 values"):
                client.ramp.requests.get("r1")
            with pytest.raises(OutcomeUnknown, match="more than 500,000 values"):
                client.ramp.requests.reject("r1", version=1)


def test_a_response_with_too_many_records_is_refused(credential: Credential) -> None:
    rows = b",".join(b'{"id":"%d"}' % number for number in range(100_001))
    body = says(b'{"success":true,"result":[' + rows + b"]}")
    with (
        facing(credential, body, limits=CallLimits()) as (client, _),
        pytest.raises(UnexpectedResponse, match="GET /parties: the result has more than 100,000"),
    ):
        client.finance.parties.list(size=10)


def test_pages_beyond_the_record_limit_are_given_up(credential: Credential) -> None:
    def way(connection, head: str) -> None:
        number = int(head.split("page=")[1].split("&", maxsplit=1)[0])
        rows = [{"id": f"r{number}-{n}"} for n in range(1_000)]
        said = {"hasNextPage": True, "numberOfPages": 40, "pageSize": 10, "numberOfElements": 400}
        body = {"success": True, "result": rows, "pagination": said}
        ways.answer(connection, json.dumps(body).encode())

    limits = msgspec.structs.replace(SMALL, answer_bytes=1 << 20)
    with (
        facing(credential, way, limits=limits) as (client, hostile),
        pytest.raises(UnexpectedResponse, match=r"does not end: 6,000 records came; at most 5,000"),
    ):
        list(client.finance.parties.iterate(size=10))
    assert len(hostile.heads) < 10


def test_a_cookie_is_not_sent_back(credential: Credential) -> None:
    cookie = says(json.dumps(ways.GOOD).encode(), "Set-Cookie: track=me; Path=/")

    def granted(connection, _head: str) -> None:
        body = json.dumps({"access_token": TOKEN, "expires_in": 300}).encode()
        ways.answer(connection, body, "Set-Cookie: session=1; Path=/")

    with facing(credential, cookie, granted) as (client, hostile):
        for _ in range(3):
            client.ramp.company.get()
    assert len(hostile.heads) == 4
    assert not [head for head in hostile.heads if "\r\ncookie:" in head.lower()]


@pytest.mark.parametrize(
    "value", ["Mon, 01 Jan 0001 00:00:00 +2359", "9" * 5000, "Nov " + "9" * 40]
)
def test_an_unreadable_retry_after_is_ignored(credential: Credential, value: str) -> None:
    busy = says(b"{}", f"Retry-After: {value} 1", status="503 Busy")
    with facing(credential, busy) as (client, _), pytest.raises(ServiceFault):
        client.ramp.company.get()


def without_end(connection, head: str) -> None:
    """Answer as the end of the path names; otherwise a list with pages, nearly all without end.

    The list of accounts ends after one record. Requests without a page number get one record.
    """
    path = head.split(" ")[1]
    for name, way in {
        "/huge": ways.huge_body,
        "/chunked": ways.huge_chunked_body,
        "/bomb": ways.bomb("gzip", size=10 << 30),
        "/continues": ways.flood_of_continues,
        "/deep": says(b'{"success":true,"result":' + b"[" * 8_000_000),
        "/tiny": says(b'{"success":true,"result":[' + b"{}," * 5_000_000 + b"{}]}"),
    }.items():
        if path.endswith(name):
            way(connection, head)
            return
    if "page=" not in path:
        answer = {"success": True, "result": {"id": "c"}}
        ways.answer(connection, json.dumps(answer).encode())
        return
    page = int(path.split("page=")[1].split("&")[0])
    size = int(path.split("size=")[1].split("&")[0])
    day = {"status": "COMPLETED", "createdAt": "2026-01-01T00:00:00Z"}
    rows = [{"id": f"00000000-0000-4000-8000-{page:06}{n:06}", **day} for n in range(size)]
    last = path.startswith("/finance/v1/accounts?")
    body = {"success": True, "result": rows[:1] if last else rows}
    if "/ramp-requests" in path:
        body["pagination"] = {
            "pageNumber": page, "pageSize": size, "numberOfElements": 20 * size,
            "numberOfPages": 20, "hasNextPage": True,
        }  # fmt: skip
        # Each answer from page 20 on announces another page.
        if page >= 20:
            more = {"numberOfElements": (page + 1) * size, "numberOfPages": page + 1}
            body["pagination"] |= more
    else:
        body["pagination"] = {"hasNextPage": not last}
    ways.answer(connection, json.dumps(body).encode())


TOO_LONG = "the service answered with more than 16,777,216 bytes"
ENDS = {
    "body": f"UnexpectedResponse: GET /huge: {TOO_LONG}",
    "chunked": f"UnexpectedResponse: GET /chunked: {TOO_LONG}",
    "bomb": f"UnexpectedResponse: GET /bomb: {TOO_LONG}",
    "continues": "UnexpectedResponse: GET /continues: the service sent more bytes around its",
    "tiny": "UnexpectedResponse: GET /tiny: the body has more than 500,000 values",
    "deep": "UnexpectedResponse: GET /deep: the body does not match the contract",
    "pages": "UnexpectedResponse: GET /parties: the list does not end",
    "sync": "UnexpectedResponse: GET /ramp-requests: the list does not end",
    "transfers": "UnexpectedResponse: GET /account-to-account-transfers: the list does not end",
}


@pytest.mark.acceptance
@pytest.mark.parametrize("asked", [list(ENDS)[:-2], ["sync"], ["transfers"]], ids=" ".join)
def test_hostile_responses_take_little_memory(tmp_path: Path, asked: list[str]) -> None:
    script = str(Path(__file__).with_name("hostile_run.py"))
    with Hostile(without_end) as hostile:
        base = f"http://127.0.0.1:{hostile.port}"
        run = subprocess.run(
            [sys.executable, script, base, "HOSTILE_SECRET", str(tmp_path / "lake"), *asked],
            env={**os.environ, "HOSTILE_SECRET": SECRET},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    *ends, peak = run.stdout.splitlines()
    expected = [f"{name}: {ENDS[name]}" for name in asked]
    assert [end[: len(start)] for end, start in zip(ends, expected, strict=True)] == expected
    assert int(peak.removeprefix("peak ")) < 300
