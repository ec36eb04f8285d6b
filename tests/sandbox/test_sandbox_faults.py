"""Each fault of the catalogue as a client sees it over a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from treasury.core.errors import InputError
from treasury.sandbox import RateLimit, Sandbox
from treasury.sandbox.http.limits import LimitGate
from treasury.sandbox.serve.faults import CATALOGUE, Faults

FEES = "/ramp/v1/fees"
LIST = "/ramp/v1/ramp-requests"


def ids(answer: httpx.Response) -> list[str]:
    return [item["id"] for item in answer.json()["result"]]


def pages(caller: Any, size: int = 5) -> list[list[str]]:
    """Return the ids on the first three pages, newest first."""
    query = {"size": size, "sortOn": "createdAt", "sortOrder": "DESC"}
    return [ids(caller.ramp("/ramp-requests", page=n, **query)) for n in (1, 2, 3)]


def waiting(caller: Any) -> dict[str, Any]:
    found = caller.ramp("/ramp-requests", status="AWAITING_APPROVAL").json()["result"]
    detail: dict[str, Any] = caller.ramp(f"/ramp-requests/{found[0]['id']}").json()["result"]
    return detail


@pytest.mark.parametrize(
    ("name", "status", "wait"),
    [("too_many", 429, None), ("too_many_until", 429, "0"), ("broken", 500, None)],
)
def test_a_queued_refusal_answers_one_call(
    own_sandbox: Sandbox, callers: dict[str, Any], name: str, status: int, wait: str | None
) -> None:
    own_sandbox.faults.add(FEES, name=name)
    answer = callers["maker"].ramp("/fees")
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, wait)
    assert answer.json()["success"] is False
    assert callers["maker"].ramp("/fees").status_code == 200


@pytest.mark.parametrize(
    ("name", "took_effect"),
    [
        ("broken", False), ("dropped_before_effect", False), ("too_many", False),
        ("broken_after_effect", True), ("dropped_after_effect", True),
        ("dropped_halfway", True), ("truncated", True), ("no_result", True),
    ],
)  # fmt: skip
def test_a_write_with_a_lost_answer_takes_effect_as_the_fault_defines(
    own_sandbox: Sandbox, callers: dict[str, Any], name: str, took_effect: bool
) -> None:
    checker = callers["checker"]
    request = waiting(checker)
    own_sandbox.faults.add(LIST, method="POST", name=name)
    try:
        answer = checker.decide(f"{request['id']}/reject", {"version": request["version"]})
    except httpx.TransportError:
        assert name.startswith("dropped")
    else:
        assert not name.startswith("dropped")
        with pytest.raises((KeyError, json.JSONDecodeError)):
            answer.json()["result"]
    after = checker.ramp(f"/ramp-requests/{request['id']}").json()["result"]
    assert (after["status"] == "REJECTED") is took_effect


def test_an_answer_dropped_halfway_is_a_transport_error(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    own_sandbox.faults.add(LIST, name="dropped_halfway")
    with pytest.raises(httpx.TransportError):
        callers["maker"].ramp("/ramp-requests")


def test_a_truncated_answer_has_a_matching_length_and_is_invalid_json(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    own_sandbox.faults.add(LIST, name="truncated")
    answer = callers["maker"].ramp("/ramp-requests")
    assert (answer.status_code, int(answer.headers["content-length"])) == (200, len(answer.content))
    with pytest.raises(json.JSONDecodeError):
        answer.json()


def test_an_answer_without_a_result_keeps_its_envelope(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    own_sandbox.faults.add(LIST, name="no_result")
    body = callers["maker"].ramp("/ramp-requests").json()
    assert "result" not in body
    assert body["success"] is True
    assert body["pagination"]["pageNumber"] == 1


@pytest.mark.parametrize("name", ["repeated_page", "shifted_page", "skipping_page"])
def test_a_page_fault_returns_a_wrong_page(
    own_sandbox: Sandbox, callers: dict[str, Any], name: str
) -> None:
    maker = callers["maker"]
    first, second, third = pages(maker)
    expected = {
        "repeated_page": first,
        "shifted_page": [first[-1], *second[:-1]],
        "skipping_page": [*second[1:], third[0]],
    }
    query = {"size": 5, "sortOn": "createdAt", "sortOrder": "DESC", "page": 2}
    whole = maker.ramp("/ramp-requests", **query).json()
    own_sandbox.faults.add(LIST, name=name)
    answer = maker.ramp("/ramp-requests", **query)
    assert ids(answer) == expected[name]
    assert answer.json()["pagination"] == whole["pagination"]
    own_sandbox.faults.add(LIST, name=name)
    assert ids(maker.ramp("/ramp-requests", **query | {"page": 1})) == first


def test_a_page_fault_does_not_affect_an_answer_without_pages(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    whole = callers["maker"].ramp("/fees").content
    for name in ("repeated_page", "shifted_page", "skipping_page"):
        own_sandbox.faults.add(FEES, name=name)
        assert callers["maker"].ramp("/fees", page=2).content == whole


@pytest.mark.acceptance
def test_numbers_keep_their_digits_on_a_wrong_page(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    query = {"size": 1000, "page": 1}
    whole = callers["maker"].ramp("/ramp-requests", **query).text
    own_sandbox.faults.add(LIST, name="repeated_page")
    again = callers["maker"].ramp("/ramp-requests", **query | {"page": 2}).text
    assert '"cryptoAmount":26865.995017,' in again
    items = whole[whole.index("[") : whole.index(',"pagination"')]
    assert items in again


def test_a_stale_list_omits_a_new_record(own_sandbox: Sandbox, callers: dict[str, Any]) -> None:
    maker = callers["maker"]
    body = {
        "rampType": "ON_RAMP", "amount": 100,
        "fiatCurrencyId": "4de2c612-1e9f-4952-a7e5-b9d024c8b985",
        "cryptoCurrencyId": "f8dc33c7-ec5a-4e80-aec7-41e372696fbe",
        "companyWalletId": "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a",
    }  # fmt: skip
    new = maker.ramp_write("POST", "/ramp-requests", body).json()["result"]["id"]
    own_sandbox.faults.add(LIST, name="stale")
    lagging = maker.ramp("/ramp-requests", size=1000)
    current = maker.ramp("/ramp-requests", size=1000)
    assert new not in ids(lagging)
    assert new in ids(current)
    counts = [a.json()["pagination"]["numberOfElements"] for a in (lagging, current)]
    assert counts[0] < counts[1]
    own_sandbox.clock.advance(minutes=2)
    own_sandbox.faults.add(LIST, name="stale")
    assert new in ids(maker.ramp("/ramp-requests", size=1000))


def test_a_mix_of_faults_affects_the_same_calls_for_a_seed_and_ends() -> None:
    def struck(seed: int) -> list[str]:
        faults = Faults()
        faults.mix(seed, 0.3, path="/ramp", at_most=40)
        drawn = [faults.take("GET", "/ramp/v1/fees") for _ in range(400)]
        assert faults.take("GET", "/finance/v1/parties") is None
        return [fault.name if fault else "" for fault in drawn]

    first = struck(1)
    assert first == struck(1) != struck(2)
    assert sum(name != "" for name in first) == 40
    assert len(set(first) - {""}) > 5
    assert first.count("") < 400


def test_queued_faults_precede_the_mix_and_clear_removes_both() -> None:
    faults = Faults()
    faults.mix(1, 1.0, ["broken"])
    faults.add("/ramp", name="stale")
    taken = [faults.take("GET", "/ramp/v1/fees") for _ in range(2)]
    assert [fault.name for fault in taken if fault] == ["stale", "broken"]
    assert [name for _, _, name in faults.struck] == ["stale", "broken"]
    faults.clear()
    assert faults.take("GET", "/ramp/v1/fees") is None


@pytest.mark.parametrize("wrong", [{"drop": "sometimes"}, {"status": "500"}, {"colour": "red"}])
def test_an_unknown_fault_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="this is not a valid fault"):
        Faults().add("/ramp", **wrong)
    with pytest.raises(InputError, match="unheard_of"):
        Faults().mix(1, 0.5, ["unheard_of"])


def test_every_fault_of_the_catalogue_can_be_queued_by_name() -> None:
    faults = Faults()
    for name in CATALOGUE:
        faults.add(name=name)
    assert [fault.name for fault in faults.waiting()] == list(CATALOGUE)


# The rate limit


def test_a_rate_limit_states_the_remaining_calls_and_refuses_further_ones(
    http: httpx.Client, speak: Any
) -> None:
    sandbox = Sandbox(7, rate_limit=RateLimit(3, 3600))
    with sandbox.serve() as running:
        maker = speak(sandbox, running, http, "maker")
        answers = [maker.ramp("/fees"), maker.finance("/parties"), maker.ramp("/fees")]
        assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["2", "1", "0"]
        refused = maker.finance("/parties")
        assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (429, "0")
        assert refused.json()["errors"][0]["code"] == "RATE_LIMITED"
        assert 0 < int(refused.headers["retry-after"]) <= 3600
        assert http.get(f"{running.base_url}/sandbox").status_code == 200


def test_a_rate_limit_restarts_after_its_period() -> None:
    now = 0.0
    answered = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answered.append(scope["path"])

    async def sink(_: Any) -> None:
        """Discard the answer."""

    gate = LimitGate(app, lambda: RateLimit(1, 10), clock=lambda: now)
    for moment in (0.0, 9.9, 10.0, 19.0):
        now = moment
        scope = {"type": "http", "path": f"/ramp/v1/{moment}"}
        asyncio.run(gate(scope, sink, sink))
    assert answered == ["/ramp/v1/0.0", "/ramp/v1/10.0"]


@pytest.mark.parametrize(("calls", "seconds"), [(0, 1), (1, 0), (-1, 1)])
def test_an_invalid_limit_is_refused(calls: int, seconds: float) -> None:
    with pytest.raises(InputError, match="not a valid limit"):
        RateLimit(calls, seconds)
