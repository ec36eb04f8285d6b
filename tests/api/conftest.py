"""Fixtures for a client whose service is a function of the test."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from fake_service import SECRET, Connect, FakeService, HandClock, Handler, services_at

from treasury.api import CallLimits, Client
from treasury.core.settings import Credential, Services

pytest.register_assert_rewrite("gaps_of_finance", "gaps_of_ramp")


@pytest.fixture
def hand_clock() -> HandClock:
    return HandClock()


@pytest.fixture
def credential(monkeypatch: pytest.MonkeyPatch) -> Credential:
    monkeypatch.setenv("TEST_CLIENT_SECRET", SECRET)
    return Credential("harbour-maker", "env:TEST_CLIENT_SECRET")


@pytest.fixture
def services() -> Services:
    return services_at("https://pay.example.test")


@pytest.fixture
def connect(services: Services, credential: Credential, hand_clock: HandClock) -> Iterator[Connect]:
    """Yield a function that returns a client of a fake service with the given handler."""
    opened: list[Client] = []

    def connected(handler: Handler) -> tuple[Client, FakeService]:
        service = FakeService(handler)
        client = Client(
            services,
            credential,
            clock=hand_clock.clock(),
            limits=CallLimits(deadline=60),
            inner=httpx.MockTransport(service),
        )
        opened.append(client)
        return client, service

    yield connected
    for client in opened:
        client.close()
