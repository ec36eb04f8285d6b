"""The number of parallel calls: halved by a refusal, regained by successes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from fake_service import Connect, HandClock, answer, refusal

from treasury.api import CallLimits, Client, Clock
from treasury.api.exchange.limiter import Limiter
from treasury.core.settings import Credential, Services


def taken(limiter: Limiter) -> None:
    with limiter.slot(1) as slot:
        assert slot is not None
        limiter.refused(slot)


def test_a_refusal_halves_the_limit_down_to_one() -> None:
    limiter = Limiter(8)
    seen = []
    for _ in range(5):
        taken(limiter)
        seen.append(limiter.limit)
    assert seen == [4, 2, 1, 1, 1]


def test_a_burst_of_refusals_halves_it_once() -> None:
    limiter = Limiter(8)
    with limiter.slot(1) as one, limiter.slot(1) as two, limiter.slot(1) as three:
        for slot in (one, two, three):
            assert slot is not None
            limiter.refused(slot)
    assert limiter.limit == 4


def test_successes_raise_the_limit_up_to_the_ceiling() -> None:
    limiter = Limiter(4)
    taken(limiter)
    taken(limiter)
    assert limiter.limit == 1
    for _ in range(30):
        limiter.served()
    assert limiter.limit == 4


def test_calls_never_exceed_the_limit() -> None:
    limiter = Limiter(1)
    with limiter.slot(1) as first:
        assert first is not None
        with limiter.slot(0) as second:
            assert second is None
    with limiter.slot(0) as third:
        assert third is not None


def test_a_client_makes_fewer_parallel_calls_after_429(connect: Connect) -> None:
    answers = [refusal(429), answer({"id": "c"})]
    client, _ = connect(lambda _: answers.pop(0))
    before = client._transport.limiter.limit
    client.ramp.company.get()
    assert client._transport.limiter.limit == before // 2


def test_threads_of_a_client_keep_to_the_limit(
    services: Services, credential: Credential, hand_clock: HandClock
) -> None:
    lock, under_way, most = threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        if request.url.path == "/oauth/token":
            return httpx.Response(200, json={"access_token": "t"})
        with lock:
            under_way += 1
            most = max(most, under_way)
        # It passes only once both calls that may run at a time have arrived.
        together.wait(10)
        with lock:
            under_way -= 1
        return answer({"id": "c"})

    limits = CallLimits(connections=3)
    with (
        Client(
            services,
            credential,
            limits=limits,
            clock=Clock(sleep=hand_clock.sleep),
            inner=httpx.MockTransport(handler),
        ) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [pool.submit(client.ramp.company.get) for _ in range(8)]
        assert {future.result().value.id for future in asked} == {"c"}
    assert most == 2


def test_a_token_is_fetched_even_when_only_one_call_may_run(connect: Connect) -> None:
    client, service = connect(lambda _: answer({"id": "c"}))
    limiter = client._transport.limiter
    while limiter.limit > 1:
        taken(limiter)
    assert client.ramp.company.get().value.id == "c"
    assert service.token_requests == 1
