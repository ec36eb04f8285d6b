"""An answer about another record is not shown or approved, and does not count as done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_actions_intermediary import Proxied

from benchmarks.torture.company import RECEIVER, SENDER, Company, open_company
from benchmarks.torture.desk import Desk, ready_action
from benchmarks.torture.relay import Exchange, Response
from benchmarks.torture.runs import may_stay_unknown
from benchmarks.torture.settling import RelayedDesk, relayed_desk
from treasury.actions import Action
from treasury.core.errors import OutcomeUnknown, UnexpectedResponse

ON_REQUEST = ("ramp_request.approve", "ramp_request.reject", "ramp_request.cancel")
OTHERWISE: dict[str, dict[str, Any]] = {
    "payment_request.create": {"amount": "0.05"},
    "payment_session.create": {"in_amount": "7.00"},
}


@pytest.fixture(scope="module")
def company() -> Iterator[Company]:
    with open_company() as opened:
        yield opened


@pytest.fixture(scope="module")
def bench(company: Company) -> Iterator[RelayedDesk]:
    with relayed_desk(company) as opened:
        yield opened


@pytest.fixture
def desk(company: Company, bench: RelayedDesk) -> Iterator[Desk]:
    bench.relay.begin()
    opened = Desk(company.new_folder(), company, bench.relay.base_url, bench.patient)
    yield opened
    bench.relay.begin()
    opened.close()


def body_of(body: bytes) -> Callable[[Exchange], None]:
    """Return a proxy's answer that has this body and forwards nothing."""
    return lambda exchange: exchange.write(Response(200, "application/json", body).wire) and None


def assert_settled(proxied: Proxied, desk: Desk, action: Action) -> None:
    """Check that a lost call is sent again, or stays unknown if its kind needs a person."""
    may_stay = may_stay_unknown(action.kind, took_effect=False)
    assert proxied.settle(desk, action) == ("unknown" if may_stay else "done")
    assert proxied.effects(action) == (not may_stay)


@pytest.mark.parametrize(
    "kind",
    [
        *ON_REQUEST,
        "ramp_request.change_amount",
        "payment_request.create",
        "payment_session.create",
        "crypto_transfer.create",
        "fiat_transfer.create",
        "account_transfer.create",
    ],
)
def test_an_undelivered_action_is_not_done_by_the_response_to_another(
    company: Company, bench: RelayedDesk, kind: str
) -> None:
    others = company.answer_to_another(kind, OTHERWISE.get(kind, {}))
    proxied = Proxied(company, bench)
    with proxied.acted(kind, body_of(others)) as (desk, action):
        assert desk.state(action.id) == "unknown"
        assert proxied.sent == 1
        assert "about" in desk.actions.get(action.id).why
        assert proxied.effects(action) == 0
        assert_settled(proxied, desk, action)


@pytest.mark.parametrize("kind", ["payment_request.create", "crypto_transfer.create"])
@pytest.mark.parametrize("path", [f"/accounts/{SENDER}", "/company"])
def test_a_record_without_the_sent_values_is_not_accepted_as_response(
    company: Company, bench: RelayedDesk, kind: str, path: str
) -> None:
    client = bench.patient["maker"]
    reply = client.request("GET", path, service="ramp" if path == "/company" else "finance")
    body = b'{"success":true,"result":%b}' % reply.result
    proxied = Proxied(company, bench)
    with proxied.acted(kind, body_of(body)) as (desk, action):
        assert desk.state(action.id) == "unknown"
        assert_settled(proxied, desk, action)


@pytest.mark.parametrize(
    "kind", ["crypto_transfer.create", "fiat_transfer.create", "account_transfer.create"]
)
def test_a_transfer_is_not_done_by_the_status_of_another_kind_of_record(
    company: Company, bench: RelayedDesk, kind: str
) -> None:
    requests = bench.patient["maker"].ramp.requests.iterate()
    request = next(each.raw for each in requests if each.value.status == "PROCESSING")
    proxied = Proxied(company, bench)
    with proxied.acted(kind, body_of(b'{"success":true,"result":%b}' % request)) as (desk, action):
        assert desk.state(action.id) == "unknown"
        assert_settled(proxied, desk, action)


@pytest.mark.parametrize(
    "kind", ["crypto_transfer.create", "fiat_transfer.create", "account_transfer.create"]
)
def test_a_response_with_only_id_and_status_counts_if_the_sender_has_that_transfer(
    company: Company, bench: RelayedDesk, kind: str
) -> None:
    def sparse(exchange: Exchange) -> None:
        result = json.loads(exchange.forward().body)["result"]
        shown = {"success": True, "result": {name: result[name] for name in ("id", "status")}}
        exchange.write(Response(201, "application/json", json.dumps(shown).encode()).wire)

    proxied = Proxied(company, bench)
    with proxied.acted(kind, sparse) as (desk, action):
        assert desk.state(action.id) == "done"
        assert proxied.effects(action) == 1


def test_an_equal_card_payment_is_not_done_by_the_response_to_the_first(
    company: Company, bench: RelayedDesk
) -> None:
    answers: list[Response] = []

    def first(exchange: Exchange) -> None:
        answers.append(exchange.forward())
        exchange.write(answers[0].wire)

    proxied = Proxied(company, bench)
    with proxied.acted("payment_request.create", first) as (desk, action):
        assert desk.state(action.id) == "done"
        fields = dict(action.fields) | {"description": "another payment"}
        second = desk.ready("payment_request.create", fields)
        proxied.answer = lambda exchange: exchange.write(answers[0].wire) and None
        assert desk.execute(second.id) == "OutcomeUnknown"
        assert desk.state(second.id) == "unknown"
        proxied.answer = None
        assert desk.recover(second.id) == "unknown"
        assert desk.actions.get(second.id).outcome is None


class Mixed:
    """A proxy's answer to reads that gives the record `answered` in place of `asked`."""

    def __init__(self, asked: str, answered: str) -> None:
        self.asked, self.answered, self.count = asked, answered, 0

    def __call__(self, exchange: Exchange) -> None:
        if self.asked not in exchange.path:
            exchange.write(exchange.forward().wire)
            return
        self.count += 1
        exchange.target = exchange.target.replace(self.asked, self.answered)
        exchange.write(exchange.forward().wire)


@pytest.mark.parametrize("kind", [*ON_REQUEST, "ramp_request.change_amount"])
def test_a_request_answered_with_another_record_is_neither_shown_nor_approved(
    company: Company, bench: RelayedDesk, desk: Desk, kind: str
) -> None:
    fields, others = company.fields(kind), company.fields(kind)
    mixed = Mixed(fields["request_id"], others["request_id"])
    bench.relay.on_early_read = mixed
    with pytest.raises(UnexpectedResponse) as caught:
        desk.propose(kind, fields)
    assert fields["request_id"] in str(caught.value)
    assert others["request_id"] in str(caught.value)
    assert mixed.count
    assert not desk.actions.unsettled()


@pytest.mark.parametrize("kind", [*ON_REQUEST, "ramp_request.change_amount"])
def test_a_ready_action_is_not_sent_if_its_request_is_answered_with_another_record(
    company: Company, bench: RelayedDesk, desk: Desk, kind: str
) -> None:
    action = ready_action(desk, company, kind)
    other = company.fields(kind)["request_id"]
    bench.relay.on_early_read = Mixed(action.target, other)
    before = company.effects(action)
    assert desk.execute(action.id) == "UnexpectedResponse"
    assert desk.state(action.id) == "ready"
    assert company.effects(action) == before
    bench.relay.on_early_read = None
    assert desk.execute(action.id) == "done"
    assert company.effects(action) == before + 1


@pytest.mark.parametrize(
    ("asked", "answered"), [(SENDER, RECEIVER), (RECEIVER, SENDER)], ids=["sender", "receiver"]
)
def test_the_summary_of_a_transfer_names_no_other_account(
    company: Company, bench: RelayedDesk, desk: Desk, asked: str, answered: str
) -> None:
    bench.relay.on_early_read = Mixed(f"/accounts/{asked}", f"/accounts/{answered}")
    with pytest.raises(UnexpectedResponse, match=f"{answered}, not (id|accountId) {asked}"):
        desk.propose("crypto_transfer.create", company.fields("crypto_transfer.create"))


def test_an_effect_read_back_from_another_request_does_not_count(
    company: Company, bench: RelayedDesk
) -> None:
    """The write is lost, and a read of its request returns another, approved one."""
    approved = json.loads(company.answer_to_another("ramp_request.approve", {}))["result"]["id"]
    proxied = Proxied(company, bench)
    lost = body_of(b"<html>")
    target: list[str] = []

    def reads(exchange: Exchange) -> None:
        Mixed(target[0], approved)(exchange)

    def write(exchange: Exchange) -> None:
        target.append(exchange.path.split("/")[4])
        lost(exchange)

    with proxied.acted("ramp_request.approve", write, reads=reads) as (desk, action):
        assert desk.state(action.id) == "unknown"
        assert "reading it back failed too" in desk.actions.get(action.id).why
        bench.relay.on_read = reads
        assert desk.recover(action.id) == "unknown (UnexpectedResponse)"
        bench.relay.on_read = None
        assert proxied.settle(desk, action) == "done"
        assert proxied.effects(action) == 1


def test_a_transfer_with_the_key_but_another_amount_does_not_settle_the_outcome(
    company: Company, bench: RelayedDesk
) -> None:
    proxied = Proxied(company, bench)
    spent = b'{"success":false,"errors":[{"code":"IDEMPOTENCY_CONFLICT","message":"Spent."}]}'

    def refused(exchange: Exchange) -> None:
        exchange.forward()
        exchange.write(Response(422, "application/json", spent).wire)

    def other_amount(exchange: Exchange) -> None:
        response = exchange.forward()
        body = response.body.replace(b'"amount":0.01', b'"amount":900.01')
        exchange.write(response._replace(body=body).wire)

    with proxied.acted("crypto_transfer.create", refused, reads=other_amount) as (desk, action):
        assert desk.state(action.id) == "unknown"
        assert "about amount 900.01, not amount 0.01" in desk.actions.get(action.id).why
        assert desk.recover(action.id) == "done"


def test_the_error_of_a_write_names_both_records(
    company: Company, bench: RelayedDesk, desk: Desk
) -> None:
    other = company.answer_to_another("ramp_request.approve", {})
    action = ready_action(desk, company, "ramp_request.approve")
    bench.relay.on_write, bench.relay.writes_left = body_of(other), 1
    bench.relay.on_read = Mixed("nothing", "")
    with pytest.raises(OutcomeUnknown) as caught:
        desk.actions.execute(action.id)
    assert action.target in str(caught.value)
    assert json.loads(other)["result"]["id"] in str(caught.value)
