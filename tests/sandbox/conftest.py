"""Sandboxes on real sockets, shared by all tests or for one test, and callers with a token."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
from plain_http import plain_client

from treasury.sandbox import Sandbox, Served

pytest.register_assert_rewrite("published_finance", "published_ramp")


class Caller:
    """A client of a served sandbox with the token of one credential."""

    def __init__(self, sandbox: Sandbox, served: Served, http: httpx.Client, name: str) -> None:
        self.served = served
        self._http = http
        client, secret = sandbox.credentials[name]
        self._form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
        }
        self._renewing = threading.Lock()
        self._renew()

    def _renew(self) -> None:
        answer = self._http.post(self.served.token_url, data=self._form)
        self._token, self._since = answer.json()["access_token"], time.monotonic()

    @property
    def _headers(self) -> dict[str, str]:
        """Return headers with a token, renewed each minute, because it expires during the tests."""
        with self._renewing:
            if time.monotonic() - self._since > 60:
                self._renew()
            return {"Authorization": f"Bearer {self._token}"}

    def finance(self, path: str, **query: object) -> httpx.Response:
        return self._http.get(self.served.finance_url + path, params=query, headers=self._headers)

    def ramp(self, path: str, **query: object) -> httpx.Response:
        return self._http.get(self.served.ramp_url + path, params=query, headers=self._headers)

    def write(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send a write to the finance service; a body of bytes is sent unchanged."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        headers = {**self._headers, "Content-Type": "application/json"}
        url = self.served.finance_url + path
        return self._http.request(method, url, content=content, headers=headers)

    def decide(self, path: str, body: object) -> httpx.Response:
        url = f"{self.served.ramp_url}/ramp-requests/{path}"
        return self._http.post(url, json=body, headers=self._headers)

    def ramp_write(self, method: str, path: str, body: object) -> httpx.Response:
        """Send a write to the ramp service."""
        url = self.served.ramp_url + path
        return self._http.request(method, url, json=body, headers=self._headers)


@pytest.fixture(scope="session")
def caller_of() -> type[Caller]:
    """Return the class `Caller`, for fixtures that serve a sandbox of their own."""
    return Caller


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with plain_client() as client:
        yield client


@pytest.fixture
def speak() -> type[Caller]:
    """Return the class `Caller`, for tests that serve a sandbox of their own."""
    return Caller


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return Sandbox(7)


@pytest.fixture(scope="session")
def served(sandbox: Sandbox) -> Iterator[Served]:
    with sandbox.serve() as running:
        yield running


@pytest.fixture(scope="session")
def viewer(sandbox: Sandbox, served: Served) -> Iterator[Caller]:
    with plain_client() as client:
        yield Caller(sandbox, served, client, "viewer")


@pytest.fixture(scope="session")
def shared_maker(sandbox: Sandbox, served: Served) -> Iterator[Caller]:
    """Return a maker on the shared sandbox, for writes that are refused."""
    with plain_client() as client:
        yield Caller(sandbox, served, client, "maker")


@pytest.fixture(scope="session")
def requests(viewer: Caller) -> list[dict[str, Any]]:
    """Return the details of every ramp request, with exact numbers."""
    items = viewer.ramp("/ramp-requests", size=1000).json()["result"]
    details = (viewer.ramp(f"/ramp-requests/{item['id']}").text for item in items)
    return [json.loads(text, parse_float=Decimal, parse_int=Decimal)["result"] for text in details]


@pytest.fixture
def own_sandbox() -> Sandbox:
    """Return a sandbox for a test that changes something."""
    return Sandbox(7)


@pytest.fixture
def callers(own_sandbox: Sandbox, http: httpx.Client) -> Iterator[dict[str, Caller]]:
    with own_sandbox.serve() as running:
        yield {name: Caller(own_sandbox, running, http, name) for name in own_sandbox.credentials}
