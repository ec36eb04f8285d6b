from __future__ import annotations

import httpx
import pytest
from fake_service import Connect, HandClock, answer, refusal

from treasury.api import Client
from treasury.core.errors import (
    InputError,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    ServiceFault,
    ServiceUnreachable,
    SettingsError,
    UnexpectedResponse,
    VersionConflict,
)
from treasury.core.settings import Credential, Service, Services


def scripted(*outcomes: httpx.Response | Exception):
    """Return a handler that gives these outcomes in order, and then repeats the last."""
    left = list(outcomes)

    def handler(_request: httpx.Request) -> httpx.Response:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return handler


def test_a_read_is_retried_after_temporary_failures(
    connect: Connect, hand_clock: HandClock
) -> None:
    lost = httpx.ReadTimeout("slow")
    client, service = connect(scripted(refusal(503), lost, refusal(500), answer({"id": "c"})))
    assert client.ramp.company.get().value.id == "c"
    assert len(service.requests) == 4
    assert hand_clock.slept == [0.25, 0.5, 1.0]


def test_read_gives_up_with_the_last_failure(connect: Connect) -> None:
    client, service = connect(scripted(refusal(500, "internal-error")))
    with pytest.raises(ServiceFault) as caught:
        client.ramp.company.get()
    assert (caught.value.status, caught.value.code) == (500, "INTERNAL_ERROR")
    assert len(service.requests) == 6


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("Mon, 02 Nov 2026 08:00:09 GMT", 9.0), ("0", 0.0)]
)
def test_retry_after_is_honoured(
    connect: Connect, hand_clock: HandClock, header: str, seconds: float
) -> None:
    limited = refusal(429, "RATE_LIMITED", **{"Retry-After": header})
    client, _ = connect(scripted(limited, answer({"id": "c"})))
    client.ramp.company.get()
    assert hand_clock.slept == [seconds]


def test_retry_after_in_milliseconds_is_honoured(connect: Connect, hand_clock: HandClock) -> None:
    limited = refusal(429, **{"Retry-After-Ms": "1500", "Retry-After": "2"})
    client, _ = connect(scripted(limited, answer({"id": "c"})))
    client.ramp.company.get()
    assert hand_clock.slept == [1.5]


@pytest.mark.parametrize("header", ["soon", "inf", "nan", "-3", ""])
def test_an_unreadable_retry_after_means_the_default_pause(
    connect: Connect, hand_clock: HandClock, header: str
) -> None:
    limited = refusal(429, **{"Retry-After": header})
    client, _ = connect(scripted(limited, answer({"id": "c"})))
    client.ramp.company.get()
    assert hand_clock.slept == [0.25]


def test_a_retry_after_beyond_the_deadline_fails_at_once(
    connect: Connect, hand_clock: HandClock
) -> None:
    client, service = connect(scripted(refusal(429, **{"Retry-After": "300"})))
    with pytest.raises(RateLimited, match="requests a pause of 300 s"):
        client.ramp.company.get()
    assert hand_clock.slept == []
    assert len(service.requests) == 1


@pytest.mark.parametrize("failure", [httpx.ReadTimeout("t"), httpx.RemoteProtocolError("cut")])
def test_a_write_without_response_is_outcome_unknown_and_sent_once(
    connect: Connect, failure: Exception
) -> None:
    client, service = connect(scripted(failure))
    with pytest.raises(OutcomeUnknown) as caught:
        client.ramp.requests.approve("r1", version=1)
    assert len(service.requests) == 1
    assert caught.value.operation == "POST /ramp-requests/{id}/approve"
    assert "r1" in caught.value.look_up
    assert caught.value.may_have_executed


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_write_answered_by_a_fault_is_outcome_unknown(connect: Connect, status: int) -> None:
    client, service = connect(scripted(refusal(status)))
    with pytest.raises(OutcomeUnknown, match=str(status)):
        client.ramp.requests.reject("r1", version=1)
    assert len(service.requests) == 1


@pytest.mark.parametrize("body", [b"", b"{", b'{"success":true}', b'{"result":{"id":7}}'])
def test_a_write_with_an_unreadable_response_is_outcome_unknown(
    connect: Connect, body: bytes
) -> None:
    client, _ = connect(scripted(httpx.Response(200, content=body)))
    with pytest.raises(OutcomeUnknown):
        client.ramp.requests.approve("r1", version=1)


def test_an_unsent_write_is_retried(connect: Connect) -> None:
    refused = httpx.ConnectError("refused")
    client, service = connect(scripted(refused, answer({"id": "r1", "status": "REJECTED"})))
    assert client.ramp.requests.reject("r1", version=1).value.status == "REJECTED"
    assert len(service.requests) == 2


def test_a_write_that_can_never_be_sent_was_not_executed(connect: Connect) -> None:
    client, _ = connect(scripted(httpx.ConnectError("refused")))
    with pytest.raises(ServiceUnreachable) as caught:
        client.ramp.requests.reject("r1", version=1)
    assert not caught.value.may_have_executed


def test_keyed_write_is_repeated_with_the_same_bytes(connect: Connect) -> None:
    client, service = connect(scripted(httpx.ReadTimeout("t"), refusal(503), answer({"id": "t"})))
    body = {"amount": "1.00", "idempotencyKey": "k"}
    client.request("POST", "/account-to-account-transfers", body=body, kind="keyed")
    assert len({request.content for request in service.requests}) == 1
    assert len(service.requests) == 3


def test_a_refused_keyed_write_after_a_lost_response_may_have_executed(
    connect: Connect,
) -> None:
    client, _ = connect(scripted(httpx.ReadTimeout("t"), refusal(404, "NOT_FOUND")))
    with pytest.raises(NotFound) as caught:
        client.request(
            "POST", "/accounts/{accountId}/virtual-bank-accounts", "a", body={}, kind="keyed"
        )
    assert caught.value.may_have_executed


def test_a_conflict_is_never_retried(connect: Connect) -> None:
    client, service = connect(scripted(refusal(409, "OPTIMISTIC_LOCK_EXCEPTION")))
    with pytest.raises(VersionConflict):
        client.ramp.requests.approve("r1", version=1)
    assert len(service.requests) == 1


def test_redirect_is_not_followed(connect: Connect) -> None:
    moved = httpx.Response(307, headers={"Location": "https://elsewhere.example.test/"})
    client, service = connect(scripted(moved))
    with pytest.raises(UnexpectedResponse):
        client.ramp.company.get()
    assert {request.url.host for request in service.requests} == {"pay.example.test"}


@pytest.mark.parametrize("address", ["http://pay.example.test", "ftp://127.0.0.1", "//nowhere"])
def test_plain_http_is_refused_beyond_loopback(credential: Credential, address: str) -> None:
    safe = Service("https://pay.example.test/v1")
    with pytest.raises(SettingsError, match="is not https"):
        Client(Services(token_url=address, finance=safe, ramp=safe), credential)


@pytest.mark.parametrize("ids", [(), ("",), ("..",), ("a", "b")])
def test_ids_must_fill_the_route(connect: Connect, ids: tuple[str, ...]) -> None:
    client, service = connect(scripted(answer({"id": "p"})))
    with pytest.raises(InputError):
        client.finance.parties.get(*ids)
    assert service.requests == []


def test_an_id_stays_one_path_segment(connect: Connect) -> None:
    client, service = connect(scripted(answer({"id": "a/../b?c#d"})))
    client.finance.parties.get("a/../b?c#d")
    assert service.requests[0].url.raw_path == b"/finance/v1/parties/a%2F..%2Fb%3Fc%23d"
