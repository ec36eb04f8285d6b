"""A service that is a function of the test, and a clock that tests move by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import httpx

from treasury.api import Client, Clock
from treasury.core.settings import Service, Services

SECRET = "canary-secret-8c1f"
TOKEN = "canary-token-77aa"
REQUESTED = "the requested id"
"""A placeholder in answers, which the id in the request's path replaces."""
Handler = Callable[[httpx.Request], httpx.Response]


class HandClock:
    """A clock that moves only during sleeps, or when a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def clock(self) -> Clock:
        start = datetime(2026, 11, 2, 8, tzinfo=UTC)
        return Clock(
            monotonic=lambda: self.seconds,
            sleep=self.sleep,
            now=lambda: start + timedelta(seconds=self.seconds - 1000),
            jitter=lambda _low, high: high,
        )


class FakeService:
    """A service that answers token requests itself and passes all other requests to `handler`."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.token_requests = 0
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/oauth/token":
            self.token_requests += 1
            body = {"access_token": f"{TOKEN}-{self.token_requests}", "expires_in": 300}
            return httpx.Response(200, json=body | {"token_type": "Bearer"})
        self.requests.append(request)
        response = self.handler(request)
        if REQUESTED.encode() not in response.content:
            return response
        requested = json.dumps(requested_id(request.url.path)).encode()
        content = response.content.replace(json.dumps(REQUESTED).encode(), requested)
        return httpx.Response(response.status_code, content=content)


def requested_id(path: str) -> str:
    """Return the last id in a path; "x" if the path has none."""
    ids = unquote(path).partition("/v1/")[2].split("/")[1::2] or ["x"]
    return ids[-1]


def services_at(base: str) -> Services:
    return Services(
        token_url=f"{base}/oauth/token",
        finance=Service(f"{base}/finance/v1"),
        ramp=Service(f"{base}/ramp/v1"),
    )


Connect = Callable[[Handler], tuple[Client, FakeService]]


def answer(result: object, **beside: object) -> httpx.Response:
    return httpx.Response(200, json={"success": True, "result": result, **beside})


def refusal(status: int, code: str | None = None, **headers: str) -> httpx.Response:
    """Return the service's refusal, with an error if a code is given."""
    body = {"success": False, "errors": [{"code": code, "message": "No."}] if code else []}
    json_headers = {"Content-Type": "application/json"} | headers
    return httpx.Response(status, content=json.dumps(body), headers=json_headers)
