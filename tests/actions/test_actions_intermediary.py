"""An answer of an intermediary proves nothing; only the service's own refusal counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from benchmarks.torture.company import Company, open_company
from benchmarks.torture.desk import Desk, ready_action
from benchmarks.torture.relay import Exchange, Response
from benchmarks.torture.settling import RelayedDesk, relayed_desk
from treasury.actions import KINDS, Action
from treasury.api.bodies import NewCompanyWallet
from treasury.api.operations import refusals_of
from treasury.core.errors import ActionRefused, InputError

pytestmark = pytest.mark.long_file

JSON = "application/json"
STATUSES = (400, 401, 403, 404, 409, 410, 413, 422, 429, 500)
SHARES = 3
"""Each kind is answered with every third status, so that every class of kinds covers every status.

`make torture` has a proxy that draws from all statuses for all kinds.
"""
HTML = b"<html><h1>Blocked</h1></html>"
FOREIGN = json.dumps({"success": False, "errors": [{"code": 1020, "message": "Denied"}]}).encode()
OWN = json.dumps({"success": False, "errors": [{"code": "SOME_CODE", "message": "No."}]}).encode()


def statuses_of(kind: str) -> tuple[int, ...]:
    alike = [name for name in KINDS if KINDS[name].safety == KINDS[kind].safety]
    return STATUSES[alike.index(kind) % SHARES :: SHARES]


class End(NamedTuple):
    """The first and last state of an action, and the counts of requests and effects."""

    first: str
    last: str
    sent: int
    effects: int


class Page(NamedTuple):
    """The proxy's own answer to a write; if `passes_on` is true, it forwards the write first."""

    status: int
    content: bytes
    media_type: str = "text/html"
    passes_on: bool = True

    def answer(self, exchange: Exchange) -> None:
        if self.passes_on:
            # The write took effect, but its answer is hidden.
            assert exchange.forward().status < 300
        exchange.write(Response(self.status, self.media_type, self.content).wire)


Answer = Callable[[Exchange], None]


class Proxied:
    """Desks that act on a company through a proxy, which may answer their writes itself."""

    def __init__(self, company: Company, bench: RelayedDesk) -> None:
        self._company, self._bench, self.relay = company, bench, bench.relay
        self.writes: list[bytes] = []
        self.answer: Answer | None = None

    def _act(self, exchange: Exchange) -> None:
        self.writes.append(exchange.content)
        if self.answer is None:
            exchange.write(exchange.forward().wire)
        else:
            self.answer(exchange)

    @contextmanager
    def acted(
        self, kind: str, answer: Answer, *, reads: Answer | None = None, twins: int = 0
    ) -> Iterator[tuple[Desk, Action]]:
        """Execute an action and answer its write with `answer`; yield its desk and the action."""
        relay = self.relay
        relay.begin()
        desk = Desk(self._company.new_folder(), self._company, relay.base_url, self._bench.patient)
        try:
            action = ready_action(desk, self._company, kind)
            for _ in range(twins):
                desk.ready(kind, action.fields)
            self.writes.clear()
            self.before = self._company.effects(action)
            relay.on_write, relay.on_read, relay.writes_left = self._act, reads, 99
            self.answer = answer
            desk.execute(action.id)
            relay.on_read = self.answer = None
            self.sent = len(self.writes)
            yield desk, action
        finally:
            self.answer = None
            relay.begin()
            desk.close()

    def settle(self, desk: Desk, action: Action) -> str:
        """Recover an action after the settling time, execute it if ready, and return its state."""
        self._company.settle()
        return (
            desk.execute(action.id) if desk.recover(action.id) == "ready" else desk.state(action.id)
        )

    def create_alike(self, action: Action) -> None:
        """Create a company wallet equal to that of an action, with its address in another case."""
        address = "0x" + action.fields["address"][2:].upper()
        body = NewCompanyWallet(address=address, chain=action.fields["chain"])
        self._bench.patient["checker"].ramp.wallets.create(body)

    def effects(self, action: Action) -> int:
        """Return the number of effects of an execution, without those of the proxy's repeats."""
        return self._company.effects(action) - self.before - self.relay.repeated

    def end_of(self, kind: str, answer: Answer, reads: Answer | None = None) -> End:
        with self.acted(kind, answer, reads=reads) as (desk, action):
            first, last = desk.state(action.id), self.settle(desk, action)
            return End(first, last, self.sent, self.effects(action))


@pytest.fixture(scope="module")
def bench() -> Iterator[Proxied]:
    with open_company() as company, relayed_desk(company) as relayed:
        yield Proxied(company, relayed)


@pytest.mark.parametrize(
    ("content", "media_type"), [(HTML, "text/html"), (FOREIGN, "application/json")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_an_intermediary_after_the_effect_is_not_a_refusal(
    bench: Proxied, kind: str, content: bytes, media_type: str
) -> None:
    ends = {
        status: bench.end_of(kind, Page(status, content, media_type).answer)
        for status in statuses_of(kind)
    }
    first = {"versioned": "done"}.get(KINDS[kind].safety, "unknown")
    # If the service does not list the records, nothing is sent again: a person settles it.
    last = "done" if KINDS[kind].safety == "versioned" or KINDS[kind].look_up else "unknown"
    assert {end._replace(sent=1) for end in ends.values()} == {End(first, last, 1, 1)}, ends
    if KINDS[kind].safety != "keyed":
        assert {end.sent for end in ends.values()} == {1}, ends


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_documented_refusal_of_the_service_counts_as_refusal(
    bench: Proxied, kind: str
) -> None:
    safety, documented = KINDS[kind].safety, refusals_of(KINDS[kind].operation)
    for status in statuses_of(kind):
        end = bench.end_of(kind, Page(status, OWN, JSON, passes_on=False).answer)
        if status not in documented or (status, safety) == (409, "keyed"):
            # A used key does not prove that the first call was refused: that call may have used it.
            assert end.first == "unknown", (status, end)
        elif (status, safety) == (409, "versioned"):
            # The record still has the version that was sent.
            assert (end.first, end.last, end.effects) == ("unknown", "done", 1), (status, end)
        elif status in {401, 429}:
            assert (end.first, end.last, end.effects) == ("ready", "done", 1), (status, end)
        elif safety == "neither" and status in KINDS[kind].refuses_repeat:
            # A repeat may get this refusal too, so it is final only after the settling time.
            assert (end.first, end.last, end.effects) == ("unknown", "refused", 0), (status, end)
        else:
            assert (end.first, end.last, end.effects) == ("refused", "refused", 0), (status, end)
        if safety == "neither":
            assert end.sent == 1, (status, end)


def answered(record: dict[str, Any] | str) -> bytes:
    text = record if isinstance(record, str) else json.dumps(record)
    return f'{{"success": true, "result": {text}}}'.encode()


HOSTILE = {
    "nested": answered("[" * 200_000 + "]" * 200_000),
    "nested in a record": answered('{"id": "x", "events": ' + "[" * 5_000 + "]" * 5_000 + "}"),
    "year 1": answered({"id": "x", "createdAt": "0001-01-01T00:00:00+14:00"}),
    "year 9999": answered({"id": "x", "createdAt": "9999-12-31T23:59:59-14:00"}),
    "400 digits": answered('{"id": "x", "version": ' + "9" * 400 + "}"),
    "5,000 digits": answered('{"id": "x", "version": ' + "9" * 5_000 + "}"),
    "5 MB": answered({"id": "x" * 5_000_000, "status": "y" * 5_000_000}),
    "a lone surrogate": answered('{"id": "\\ud800", "status": "\\udfff"}'),
    "no UTF-8": b'{"success": true, "result": {"id": "\xff"}}',
    "another byte order": '{"success": true}'.encode("utf-16"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(
    "kind",
    ["crypto_transfer.create", "ramp_request.create", "ramp_request.approve", "party.delete"],
)
def test_an_action_reaches_an_end_after_any_hostile_response(
    bench: Proxied, kind: str, hostile: str
) -> None:
    end = bench.end_of(kind, Page(201, HOSTILE[hostile], JSON).answer)
    assert end.first in {"unknown", "done"}
    assert (end.last, end.effects) == ("done", 1)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_action_reaches_an_end_after_any_hostile_response_to_a_retry(
    bench: Proxied, hostile: str
) -> None:
    with bench.acted("crypto_transfer.create", Page(502, HTML).answer) as (desk, action):
        bench.answer = Page(201, HOSTILE[hostile], JSON).answer
        assert desk.recover(action.id) in {"unknown", "done"}
        bench.answer = None
        assert desk.recover(action.id) == "done"


def forged(status: int) -> Answer:
    """Return an answer like the service's own refusal, given although the write took effect."""
    return Page(status, OWN, JSON).answer


@pytest.mark.parametrize(("status", "state"), [(400, "refused"), (429, "ready")])
def test_a_refused_action_whose_record_carries_our_key_was_executed(
    bench: Proxied, status: int, state: str
) -> None:
    with bench.acted("crypto_transfer.create", forged(status)) as (desk, action):
        assert desk.state(action.id) == state
        with pytest.raises(ActionRefused, match=f"{action.id} is {state}, but was carried out"):
            desk.propose(action.kind, action.fields)
        with pytest.raises(ActionRefused, match=f"{action.id} was carried out"):
            desk.actions.again(action.id)
        done = desk.actions.get(action.id)
        assert done.state == "done"
        assert done.outcome is not None
        assert done.outcome.how == "adopted"
        # A person knows that and wants a second one.
        again = desk.actions.again(action.id)
        assert f"LOOK: the same as {action.id}, which is done" in again.text


def test_a_duplicate_of_a_refused_but_executed_action_is_not_executed(bench: Proxied) -> None:
    with bench.acted("crypto_transfer.create", forged(400), twins=1) as (desk, action):
        [twin] = desk.actions.list(state="ready")
        with pytest.raises(ActionRefused, match=f"treasury actions recover {action.id}"):
            desk.actions.execute(twin.id)
        assert len(bench.writes) == bench.sent
        assert desk.recover(action.id) == "done"


def test_a_ready_action_whose_record_carries_our_key_is_not_resent(bench: Proxied) -> None:
    with bench.acted("crypto_transfer.create", forged(429)) as (desk, action):
        with pytest.raises(ActionRefused, match="was carried out"):
            desk.actions.execute(action.id)
        assert len(bench.writes) == bench.sent
        assert desk.recover(action.id) == "done"


@pytest.mark.parametrize("kind", ["party_role.create", "wallet.create", "ramp_request.create"])
def test_an_evidence_only_key_is_omitted_on_request(bench: Proxied, kind: str) -> None:
    refused = Page(400, OWN, JSON, passes_on=False).answer
    with bench.acted(kind, refused) as (desk, action):
        assert desk.state(action.id) == "refused"
        assert action.key.encode() in bench.writes[-1]
        again = desk.actions.again(action.id, without_key=True)
        assert "It is sent without an idempotency key." in again.text
        if again.state == "proposed":
            desk.approve(again.id)
        assert desk.execute(again.id) == "done"
        assert b"idempotencyKey" not in bench.writes[-1]


def test_a_key_that_makes_a_retry_safe_is_never_omitted(bench: Proxied) -> None:
    with (
        bench.acted("crypto_transfer.create", forged(400)) as (desk, action),
        pytest.raises(InputError, match="has no key that could be left out"),
    ):
        desk.actions.propose(action.kind, without_key=True, **action.fields)


def from_cache(exchange: Exchange) -> None:
    """Answer like a cache with the last read of this path, without forwarding."""
    exchange.write((exchange.cached() or exchange.forward()).wire)


READS: dict[str, Answer | None] = {
    "reads pass": None,
    "reads are cached": from_cache,
    "reads are blocked": Page(403, HTML, passes_on=False).answer,
}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("kind", [name for name in KINDS if KINDS[name].safety != "keyed"])
def test_a_refused_retry_does_not_settle_the_first_request(
    bench: Proxied, kind: str, reads: str
) -> None:
    def send_twice(exchange: Exchange) -> None:
        exchange.forward()
        exchange.write(exchange.forward().wire)

    end = bench.end_of(kind, send_twice, READS[reads])
    assert end.first in {"unknown", "done"}
    assert (end.last, end.sent, end.effects) == ("done", 1, 1)


@pytest.mark.parametrize(
    "kind", [name for name in KINDS if KINDS[name].method in {"PATCH", "DELETE", "PUT"}]
)
def test_an_earlier_read_of_the_record_does_not_answer_a_change(bench: Proxied, kind: str) -> None:
    def answer(exchange: Exchange) -> None:
        path = exchange.path.removesuffix("/amount").removesuffix("/tx-hash")
        [record] = [one for key, one in bench.relay.reads.items() if key.partition("?")[0] == path]
        exchange.write(record.wire)

    with bench.acted(kind, answer) as (desk, action):
        assert (desk.state(action.id), bench.effects(action)) == ("unknown", 0)
        last = bench.settle(desk, action)
        # Versioned kinds are sent again.
        assert (last, bench.effects(action)) in {("unknown", 0), ("done", 1)}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("party.create", "/finance/v1/parties"),
        ("wallet.create", "/wallets"),
        ("company_wallet.create", "/ramp/v1/company-wallets"),
        ("company_user.invite", "/ramp/v1/company/users"),
        ("crypto_transfer.create", "/transfers"),
        ("virtual_account.create", "/virtual-bank-accounts"),
    ],
)
def test_an_existing_record_does_not_answer_a_create(
    bench: Proxied, kind: str, listed: str
) -> None:
    def answer(exchange: Exchange) -> None:
        [body] = [
            one.body
            for key, one in bench.relay.reads.items()
            if key.partition("?")[0].endswith(listed)
        ][:1]
        record = json.dumps(json.loads(body)["result"][0])
        exchange.write(Response(201, JSON, answered(record)).wire)

    with bench.acted(kind, answer) as (desk, action):
        assert (desk.state(action.id), bench.effects(action)) == ("unknown", 0)
        last = bench.settle(desk, action)
        assert (last, bench.effects(action)) in {("unknown", 0), ("done", 1)}


def lagging(path: str) -> Answer:
    """Return an answer to reads that shows the list at a path as empty and forwards the others."""

    def answer(exchange: Exchange) -> None:
        empty = Response(200, JSON, answered("[]"))
        exchange.write((empty if exchange.path.endswith(path) else exchange.forward()).wire)

    return answer


def refused_after_effect(exchange: Exchange) -> None:
    exchange.forward()
    exchange.write(Response(409, JSON, OWN).wire)


def test_a_doubtful_refusal_stays_unsettled_if_several_records_may_be_the_effect(
    bench: Proxied,
) -> None:
    kind, list_path = "company_wallet.create", "/company-wallets"
    with bench.acted(kind, refused_after_effect, reads=lagging(list_path)) as (desk, action):
        assert desk.actions.get(action.id).refusal_in_doubt
        bench.create_alike(action)
        assert bench.settle(desk, action) == "unknown"
        assert "2 records may be the created one" in desk.actions.get(action.id).why


def test_a_doubtful_refusal_stays_unsettled_if_the_list_cannot_be_read(bench: Proxied) -> None:
    reads = lagging("/wallets")
    with bench.acted("wallet.create", refused_after_effect, reads=reads) as (desk, action):
        assert desk.actions.get(action.id).refusal_in_doubt
        bench.relay.on_read = Page(404, OWN, JSON, passes_on=False).answer
        assert bench.settle(desk, action) == "unknown"
