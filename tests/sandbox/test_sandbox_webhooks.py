"""Webhooks over a real socket: registration, signatures, retries and verification."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox
from treasury.sandbox.webhooks import SIGNATURE, TOLERANCE, sign, verify

BODY = b'{"id":"e-1","event":"ramp_request.completed"}'


class Receiver:
    """A server on the loopback address that keeps deliveries and answers with its next status."""

    def __init__(self) -> None:
        self.deliveries: queue.Queue[tuple[bytes, str]] = queue.Queue()
        self.statuses: list[int] = []
        receiver = self

        class Hook(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.end_headers()
                receiver.deliveries.put((body, self.headers[SIGNATURE]))

            def log_message(self, *_: object) -> None:
                """Log nothing, so that the output stays clean."""

        self.server = HTTPServer(("127.0.0.1", 0), Hook)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def next(self) -> tuple[bytes, str]:
        return self.deliveries.get(timeout=20)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    with receiver.server as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()


def awaiting(sandbox: Sandbox) -> str:
    return next(str(f["id"]) for f in sandbox.truth_requests() if f["state"] == "PAY")


@pytest.mark.acceptance
def test_status_changes_of_a_ramp_request_are_events_marked_as_simulated(
    receiver: Receiver,
) -> None:
    sandbox = Sandbox(7, webhook=receiver.url)
    request = awaiting(sandbox)
    sandbox.ramp.receive(request)
    sandbox.clock.advance(hours=2)
    seen: dict[str, float] = {}
    secrets = [str(sandbox.webhook_secret)]
    events = [verify(*receiver.next(), secrets, seen=seen) for _ in range(4)]
    assert sorted(event["event"] for event in events) == [
        "ramp_request.completed", "ramp_request.payment_received",
        "ramp_request.status_changed", "ramp_request.status_changed",
    ]  # fmt: skip
    assert all("the sandbox's own" in event["invented"] for event in events)
    moves = {(e["data"]["previousStatus"], e["data"]["status"]) for e in events}
    assert moves == {("AWAITING_FUNDS", "PROCESSING"), ("PROCESSING", "SUCCEEDED")}
    assert {event["data"]["rampRequestId"] for event in events} == {request}


def test_a_rolled_back_status_change_sends_no_event(receiver: Receiver) -> None:
    sandbox = Sandbox(7, webhook=receiver.url)
    request = awaiting(sandbox)

    def rolled_back() -> None:
        with sandbox._world.act():
            sandbox.ramp.deny(request)
            raise KeyError

    with pytest.raises(KeyError):
        rolled_back()
    sandbox.ramp.block(request)
    assert json.loads(receiver.next()[0])["data"]["status"] == "BLOCKED"
    assert receiver.deliveries.empty()


def test_a_remote_address_is_refused_and_an_unreachable_one_causes_no_delay() -> None:
    with pytest.raises(InputError, match="not an address on this machine"):
        Sandbox(7, webhook="http://hooks.example.test/in")
    sandbox = Sandbox(7, webhook="http://127.0.0.1:9/hook")
    assert sandbox.ramp.receive(awaiting(sandbox)).status == "PROCESSING"


def test_a_webhook_is_registered_listed_rotated_and_deleted_over_http(
    own_sandbox: Sandbox, http: httpx.Client, receiver: Receiver
) -> None:
    with own_sandbox.serve() as served:
        url = f"{served.base_url}/sandbox/webhooks"
        asked = {"url": receiver.url, "events": ["ramp_request.status_changed"]}
        made = http.post(url, json=asked).json()["result"]
        listed = http.get(url).json()["result"]
        assert listed == [{name: made[name] for name in made if name != "secret"}]
        rotated = http.post(f"{url}/{made['id']}/rotate", json={"overlapSeconds": 60}).json()
        fresh = rotated["result"]["secret"]
        own_sandbox.ramp.receive(awaiting(own_sandbox))
        body, signature = receiver.next()
        assert signature.count("v1=") == 2
        for secret in (made["secret"], fresh):
            assert verify(body, signature, [secret], seen={})["event"] == asked["events"][0]
        http.post(f"{url}/{made['id']}/rotate", json={"overlapSeconds": 0})
        own_sandbox.clock.advance(hours=2)
        body, signature = receiver.next()
        with pytest.raises(InputError, match="its signature does not match"):
            verify(body, signature, [made["secret"], fresh], seen={})
        assert http.delete(f"{url}/{made['id']}").json()["result"] == []
        assert http.delete(f"{url}/{made['id']}").status_code == 400
        for wrong in ({"url": "http://a.test/"}, {"url": receiver.url, "events": ["x"]}, {}):
            assert http.post(url, json=wrong).status_code == 400


@pytest.mark.acceptance
def test_a_delivery_is_retried_until_it_is_answered(
    own_sandbox: Sandbox, receiver: Receiver
) -> None:
    receiver.statuses = [500, 503]
    events = ("ramp_request.status_changed",)
    made = own_sandbox.webhooks.register(receiver.url, events=events, pauses=(0.0, 0.0, 0.0))
    own_sandbox.ramp.receive(awaiting(own_sandbox))
    attempts = [receiver.next() for _ in range(3)]
    assert len({body for body, _ in attempts}) == 1
    assert verify(*attempts[2], [made["secret"]], seen={})
    time.sleep(0.2)
    assert receiver.deliveries.empty()


def test_an_event_delivered_twice_is_accepted_once(
    own_sandbox: Sandbox, receiver: Receiver
) -> None:
    events = ("ramp_request.status_changed",)
    made = own_sandbox.webhooks.register(receiver.url, events=events, twice=True)
    own_sandbox.ramp.receive(awaiting(own_sandbox))
    seen: dict[str, float] = {}
    assert verify(*receiver.next(), [made["secret"]], seen=seen)
    with pytest.raises(InputError, match="accepted before"):
        verify(*receiver.next(), [made["secret"]], seen=seen)


@pytest.mark.parametrize(
    ("body", "header", "problem"),
    [
        (BODY, sign(BODY, ["other"], 1000), "its signature does not match"),
        (BODY + b" ", sign(BODY, ["s"], 1000), "its signature does not match"),
        (BODY, sign(BODY, ["s"], 1000).replace("t=1000", "t=1001"), "its signature does not match"),
        (BODY, sign(BODY, ["s"], 1000 - TOLERANCE - 1), "seconds away"),
        (BODY, sign(BODY, ["s"], 1000 + TOLERANCE + 1), "seconds away"),
        (BODY, "", "does not parse"),
        (BODY, "t=1000", "does not parse"),
        (BODY, "t=1000,v1=" + "0" * 63, "does not parse"),
        (b"[]", sign(b"[]", ["s"], 1000), "not an event"),
        (b"{}", sign(b"{}", ["s"], 1000), "not an event"),
    ],
)
def test_a_forged_or_stale_delivery_is_refused(body: bytes, header: str, problem: str) -> None:
    seen: dict[str, float] = {}
    with pytest.raises(InputError, match=problem):
        verify(body, header, ["s"], seen=seen, now=1000)
    assert not seen


@pytest.mark.parametrize("secrets", ["secret", [], [""], ["s", ""]])
def test_invalid_webhook_secrets_are_refused(secrets: list[str]) -> None:
    forged = sign(BODY, ["", "s", "e"], 1000)
    with pytest.raises(InputError, match="secrets of a webhook"):
        verify(BODY, forged, secrets, seen={}, now=1000)


def test_both_secrets_of_a_rotation_verify_but_an_expired_one_does_not() -> None:
    header = sign(BODY, ["old", "new"], 1000)
    for secret in ("old", "new"):
        assert verify(BODY, header, ["other", secret], seen={}, now=1000)
    with pytest.raises(InputError, match="its signature does not match"):
        verify(BODY, sign(BODY, ["new"], 1000), ["old"], seen={}, now=1000)


def test_accepted_ids_are_kept_only_as_long_as_a_delivery_is_valid() -> None:
    seen: dict[str, float] = {}
    for number in range(100):
        body, now = b'{"id":"e-%d"}' % number, number * TOLERANCE
        verify(body, sign(body, ["s"], now), ["s"], seen=seen, now=now)
    assert len(seen) <= 3
