"""Callbacks go only to this machine, never block a call, and are always recorded."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from treasury.sandbox.state.callbacks import Callbacks, Invocation, is_loopback


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:9/x", True), ("https://localhost/x", True), ("http://[::1]:9/", True),
        ("http://127.9.9.9/", True), ("http://127.0.0.1.example.test/", False),
        ("http://10.0.0.1/", False), ("http://localhost@shop.test/", False), ("http://[::1", False),
        ("paid", False), ("http://0.0.0.0/", False), ("ftp://127.0.0.1/x", False),
        ("http://127.0.0.1:99999/x", False), ("http://127.0.0.1:0/x", False),
    ],
)  # fmt: skip
def test_only_an_http_address_of_this_machine_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


class Noted(Callbacks):
    """Callbacks with an event for the end of each invocation."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def _note(self, subject: str, url: str, outcome: str) -> None:
        super()._note(subject, url, outcome)
        self.ended.set()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Return a port that is bound without a listener."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_callback_to_an_unreachable_address_is_recorded(closed_port: int) -> None:
    callbacks, url = Noted(), f"http://127.0.0.1:{closed_port}/"
    callbacks.invoke("s", url, {})
    assert callbacks.ended.wait(10)
    assert callbacks.invocations == [Invocation("s", url, "failed: ConnectionRefusedError")]


def test_a_callback_beyond_the_queue_limit_is_dropped_and_recorded(closed_port: int) -> None:
    callbacks, url = Noted(), f"http://127.0.0.1:{closed_port}/"
    with ExitStack() as full:
        while callbacks._room.acquire(blocking=False):
            full.callback(callbacks._room.release)
        callbacks.invoke("s", url, {})
    assert [invocation.outcome for invocation in callbacks.invocations] == [
        "not invoked: too many are waiting"
    ]
