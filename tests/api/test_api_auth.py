from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from fake_service import SECRET, TOKEN, Connect, HandClock, answer, refusal, services_at

from treasury.api import CallLimits, Client
from treasury.core.errors import (
    BadCredentials,
    ServiceUnreachable,
    SettingsError,
    Unauthorized,
    UnexpectedResponse,
)
from treasury.core.settings import Credential, Services


def test_the_token_is_fetched_once_and_sent_with_each_request(connect: Connect) -> None:
    client, service = connect(lambda _: answer({"id": "c"}))
    for _ in range(5):
        client.ramp.company.get()
    assert service.token_requests == 1
    assert service.requests[0].headers["Authorization"] == f"Bearer {TOKEN}-1"


def test_token_is_renewed_thirty_seconds_before_it_expires(
    connect: Connect, hand_clock: HandClock
) -> None:
    client, service = connect(lambda _: answer({"id": "c"}))
    client.ramp.company.get()
    hand_clock.seconds += 269
    client.ramp.company.get()
    assert service.token_requests == 1
    hand_clock.seconds += 1
    client.ramp.company.get()
    assert service.token_requests == 2


def test_a_request_is_repeated_once_after_401(connect: Connect) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        fresh = request.headers["Authorization"].endswith("-2")
        return answer({"id": "r1", "status": "REJECTED"}) if fresh else refusal(401)

    client, service = connect(handler)
    assert client.ramp.requests.get("r1").value.status == "REJECTED"
    assert len(service.requests) == 2


class Held(httpx.SyncByteStream):
    """A body that keeps its connection in use until it is closed."""

    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield b"{}"

    def close(self) -> None:
        self.closed = True


def test_a_refused_call_holds_no_connection_while_its_token_is_renewed(
    services: Services, credential: Credential, hand_clock: HandClock
) -> None:
    refused = Held()
    seen: list[bool] = []

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/oauth/token":
            seen.append(refused.closed)
            return httpx.Response(200, json={"access_token": f"t{len(seen)}"})
        if request.headers["Authorization"] == "Bearer t1":
            return httpx.Response(401, stream=refused)
        return answer({"id": "c"})

    with connect_to(services, credential, hand_clock, handler) as client:
        client.ramp.company.get()
    assert seen == [False, True]


def test_a_401_with_a_fresh_token_is_final(connect: Connect) -> None:
    client, service = connect(lambda _: refusal(401, "unauthenticated"))
    with pytest.raises(Unauthorized) as caught:
        client.ramp.company.get()
    assert caught.value.code == "UNAUTHENTICATED"
    assert len(service.requests) == 2


def connect_to(services: Services, credential: Credential, clock: HandClock, handler) -> Client:
    return Client(services, credential, clock=clock.clock(), inner=httpx.MockTransport(handler))


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refused_credential_is_reported_and_not_retried(
    services: Services, credential: Credential, hand_clock: HandClock, status: int
) -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(status, json={"error": "invalid_client"})

    with connect_to(services, credential, hand_clock, handler) as client:
        for _ in range(3):
            with pytest.raises(BadCredentials, match=r"harbour-maker .*INVALID_CLIENT"):
                client.ramp.company.get()
    assert len(asked) == 1
    assert asked[0].headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert SECRET.encode() in asked[0].content


@pytest.mark.parametrize(
    "token_answer",
    [
        httpx.Response(404),
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, json={"access_token": "two\nlines"}),
        httpx.Response(200, json={"access_token": ""}),
    ],
)
def test_an_invalid_token_address_is_named(
    services: Services,
    credential: Credential,
    hand_clock: HandClock,
    token_answer: httpx.Response,
) -> None:
    with (
        connect_to(services, credential, hand_clock, lambda _: token_answer) as client,
        pytest.raises(UnexpectedResponse, match=r"token_url in treasury\.toml"),
    ):
        client.ramp.company.get()


def test_a_token_request_is_retried_after_a_temporary_failure(
    services: Services, credential: Credential, hand_clock: HandClock
) -> None:
    answers = [
        refusal(503),
        httpx.Response(200, json={"access_token": "t", "expires_in": 300}),
        answer({"id": "r", "status": "REJECTED"}),
    ]
    with connect_to(services, credential, hand_clock, lambda _: answers.pop(0)) as client:
        assert client.ramp.requests.reject("r", version=1).value.id == "r"


def test_missing_secret_is_a_settings_error(services: Services, hand_clock: HandClock) -> None:
    nowhere = Credential("harbour-maker", "env:TEST_NO_SUCH_SECRET")
    with (
        connect_to(services, nowhere, hand_clock, lambda _: refusal(500)) as client,
        pytest.raises(SettingsError, match="TEST_NO_SUCH_SECRET"),
    ):
        client.ramp.company.get()


def test_no_representation_shows_a_secret_or_token(connect: Connect) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        echoed = f"bad header {request.headers['Authorization']}"
        return httpx.Response(400, json={"errors": [{"code": "X", "message": echoed}]})

    client, service = connect(handler)
    with pytest.raises(Exception, match="bad header") as caught:
        client.ramp.company.get()
    shown = [repr(client), repr(caught.value), str(caught.value), repr(service.requests[0])]
    shown += [repr(client._auth), repr(vars(client._auth)), repr(client.ramp.requests)]
    assert not [text for text in shown if SECRET in text or TOKEN in text]


def test_threads_waiting_for_an_unavailable_token_do_not_each_request_it(
    hand_clock: HandClock, credential: Credential
) -> None:
    asked, errors = [], []
    inside, release = threading.Event(), threading.Event()

    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        inside.set()
        release.wait(10)
        hand_clock.seconds += 1
        raise httpx.ConnectError("refused")

    def call(client: Client) -> None:
        try:
            client.ramp.company.get()
        except ServiceUnreachable as error:
            errors.append(error)

    def waiting(thread: threading.Thread) -> bool:
        frame = sys._current_frames().get(thread.ident or 0)
        return frame is not None and frame.f_code.co_name == "_current"

    services, inner = services_at("http://127.0.0.1:9"), httpx.MockTransport(refuse)
    limits, clock = CallLimits(attempts=3), hand_clock.clock()
    with Client(services, credential, limits=limits, clock=clock, inner=inner) as client:
        threads = [threading.Thread(target=call, args=(client,)) for _ in range(5)]
        threads[0].start()
        assert inside.wait(10)
        for thread in threads[1:]:
            thread.start()
        until = time.monotonic() + 10
        while not all(map(waiting, threads[1:])) and time.monotonic() < until:
            os.sched_yield()
        release.set()
        for thread in threads:
            thread.join()
    assert len(errors) == 5
    assert asked == ["/oauth/token"] * limits.attempts
