"""Approving and rejecting against the sandbox over a real socket: at most once, and always said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from treasury.actions import Actions, Outcome, RampSeen
from treasury.api import Client
from treasury.api.ramp import RampRequests
from treasury.errors import (
    ActionRefused,
    Forbidden,
    InputError,
    InvalidRequest,
    JournalError,
    OutcomeUnknown,
    SettingsError,
)
from treasury.journal import Actor, Entry, Journal
from treasury.sandbox import Sandbox, Served
from treasury.settings import Company, Credential, Service, Services, Settings

APPROVE, REJECT = "ramp_request.approve", "ramp_request.reject"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
Act = Callable[..., Outcome]


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(seed=7)


@pytest.fixture
def served(sandbox: Sandbox) -> Iterator[Served]:
    with sandbox.serve() as served:
        yield served


@pytest.fixture
def settings(sandbox: Sandbox, served: Served, monkeypatch: pytest.MonkeyPatch) -> Settings:
    credentials = {}
    for name, (client_id, secret) in sandbox.credentials.items():
        monkeypatch.setenv(f"TEST_{name}_SECRET", secret)
        credentials[name] = Credential(client_id, f"env:TEST_{name}_SECRET")
    services = Services(
        token_url=served.token_url,
        finance=Service(served.finance_url),
        ramp=Service(served.ramp_url),
    )
    return Settings(
        workspace=Company(company="Harbour"), services=services, credentials=credentials
    )


class Desk:
    """A workspace's actions, its journal and clients of the sandbox."""

    def __init__(self, settings: Settings, journal: Journal, stack: ExitStack) -> None:
        self.settings = settings
        self.journal = journal
        self._stack = stack
        self.actions = Actions(journal, self.client, settings, lambda: NOON)

    def client(self, name: str) -> Client:
        assert self.settings.services is not None
        credential = self.settings.credential(name)
        return self._stack.enter_context(Client(self.settings.services, credential))

    def awaiting(self, count: int = 1) -> list[RampSeen]:
        requests = self.client("viewer").ramp.requests
        found = [r.value.id for r in requests.list(status="AWAITING_APPROVAL")]
        assert len(found) >= count
        return [RampSeen.of(requests.get(i).value) for i in sorted(found)[:count]]

    def status(self, request: RampSeen) -> str | None:
        return self.client("viewer").ramp.requests.get(request.id).value.status

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.journal.entries()]


@pytest.fixture
def desk(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.setenv("TREASURY_USER", "anna")
    with ExitStack() as stack:
        yield Desk(settings, Journal(tmp_path, now=lambda: NOON), stack)


def posts(served: Served) -> list[str]:
    return [path for method, path, _ in served.requests if method == "POST" and "ramp" in path]


def test_an_approval_is_journaled_sent_and_journaled_again(desk: Desk, served: Served) -> None:
    [seen] = desk.awaiting()
    outcome = desk.actions.execute(APPROVE, seen, nonce="n1", reason="invoice 2211")
    assert (outcome.state, outcome.how, outcome.status) == ("done", "answered", "AWAITING_FUNDS")
    assert outcome.decided_by == "anna"
    assert outcome.service_user is not None
    assert "checker" in outcome.service_user
    assert desk.status(seen) == "AWAITING_FUNDS"
    assert posts(served) == [f"/ramp/v1/ramp-requests/{seen.id}/approve"]
    sending, done = desk.journal.entries()
    assert (sending.kind, sending.nonce, sending.subject) == ("action.sending", "n1", seen.id)
    assert sending.actor == Actor("anna", "environment")
    assert sending.body["body"] == {"version": seen.version}
    assert sending.body["operation"] == "POST /ramp-requests/{id}/approve"
    assert (sending.body["credential"], sending.body["client_id"]) == ("checker", "harbour-checker")
    assert msgspec.convert(sending.body["seen"], RampSeen) == seen
    assert done.kind == "action.done"
    assert done.body["sending"] == sending.seq
    assert done.body["facts"]["text"] == sending.body["text"] == outcome.text
    assert desk.actions.unsettled() == []
    desk.journal.verify()


def test_a_rejection_closes_the_request(desk: Desk) -> None:
    [seen] = desk.awaiting()
    outcome = desk.actions.execute(REJECT, seen, nonce="n1", reason="wrong supplier")
    assert outcome.status == desk.status(seen) == "REJECTED"
    assert "Reason: wrong supplier" in outcome.text


def test_production_without_leave_to_write_journals_and_sends_nothing(
    desk: Desk, served: Served
) -> None:
    [seen] = desk.awaiting()
    services = desk.settings.services
    assert services is not None
    desk.settings = msgspec.structs.replace(
        desk.settings, services=msgspec.structs.replace(services, environment="production")
    )
    with pytest.raises(ActionRefused, match="writing is not allowed"):
        desk.actions.execute(APPROVE, seen, nonce="n1")
    assert (posts(served), desk.journal.entries()) == ([], [])


def test_the_confirmed_sentence_is_what_the_journal_holds(desk: Desk) -> None:
    [seen] = desk.awaiting()
    shown = desk.actions.confirmation(APPROVE, seen, actor=Actor("carl", "hub"))
    outcome = desk.actions.execute(APPROVE, seen, nonce="n1", confirmed=shown)
    assert outcome.text == shown.text
    sending = desk.journal.entries("action.sending")[0]
    assert sending.body["text"] == shown.text
    assert sending.actor == Actor("carl", "hub")


def test_confirming_one_thing_and_executing_another_is_refused(desk: Desk, served: Served) -> None:
    one, other = desk.awaiting(2)
    shown = desk.actions.confirmation(APPROVE, one)
    for kind, request in ((APPROVE, other), (REJECT, one)):
        with pytest.raises(ActionRefused, match="what was confirmed is not this"):
            desk.actions.execute(kind, request, nonce="n", confirmed=shown)
    assert posts(served) == desk.kinds() == []


def test_a_nonce_sends_once_however_often_it_is_clicked(desk: Desk, served: Served) -> None:
    [seen] = desk.awaiting()
    outcomes: list[object] = []

    def click() -> None:
        try:
            outcomes.append(desk.actions.execute(APPROVE, seen, nonce="same"))
        except ActionRefused as error:
            outcomes.append(error)

    clicks = [threading.Thread(target=click) for _ in range(5)]
    for thread in clicks:
        thread.start()
    for thread in clicks:
        thread.join(60)
    assert sum(isinstance(o, Outcome) for o in outcomes) == 1
    assert all("already decided" in str(o) for o in outcomes if isinstance(o, ActionRefused))
    assert len(posts(served)) == 1
    assert desk.kinds() == ["action.sending", "action.done"]


def test_what_moved_is_said_and_nothing_is_sent_again(desk: Desk, served: Served) -> None:
    [seen] = desk.awaiting()
    desk.client("checker").ramp.requests.reject(seen.id, version=seen.version or 0)
    moved = r"status was AWAITING_APPROVAL, is REJECTED; version was \d+, is \d+"
    with pytest.raises(ActionRefused, match=moved):
        desk.actions.execute(APPROVE, seen, nonce="n1")
    assert len(posts(served)) == 2
    assert desk.kinds() == ["action.sending", "action.refused"]
    assert "409" in desk.journal.entries("action.refused")[0].body["facts"]["service"]


def test_a_mere_version_bump_is_asked_again(desk: Desk, served: Served) -> None:
    [seen] = desk.awaiting()
    stale = msgspec.structs.replace(seen, version=(seen.version or 0) - 1)
    with pytest.raises(ActionRefused, match="nothing was carried out: version was") as caught:
        desk.actions.execute(APPROVE, stale, nonce="n1")
    assert "amount" not in str(caught.value)
    assert desk.status(seen) == "AWAITING_APPROVAL"
    assert len(posts(served)) == 1


def test_an_amount_that_was_shown_differently_is_named(desk: Desk) -> None:
    [seen] = desk.awaiting()
    assert seen.fiat_amount is not None
    other = msgspec.structs.replace(seen, fiat_amount=seen.fiat_amount + 1, version=0)
    with pytest.raises(
        ActionRefused, match=r"fiat amount was EUR [\d,.]+, is EUR [\d,.]+; version"
    ):
        desk.actions.execute(APPROVE, other, nonce="n1")


def alone(desk: Desk, name: str) -> Actions:
    """The actions of a workspace that has this credential only."""
    only = {name: desk.settings.credentials[name]}
    settings = msgspec.structs.replace(desk.settings, credentials=only)
    return Actions(desk.journal, desk.client, settings, lambda: NOON)


@pytest.mark.parametrize("name", ["maker", "viewer"])
def test_a_role_that_may_not_approve_is_told_so(desk: Desk, name: str) -> None:
    [seen] = desk.awaiting()
    message = f"harbour-{name} may not approve {seen.name}: .*403.* COMPANY_ADMIN, or approve in"
    with pytest.raises(ActionRefused, match=message):
        alone(desk, name).execute(APPROVE, seen, nonce="n1")
    assert desk.kinds() == ["action.sending", "action.refused"]
    assert desk.status(seen) == "AWAITING_APPROVAL"


@pytest.mark.parametrize(
    ("credential", "said"),
    [("checker", "The creator may not approve it."), ("maker", "Not allowed.")],
)
def test_the_creator_is_sent_to_the_portal(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, credential: str, said: str
) -> None:
    def refuse(*_: object) -> None:
        raise Forbidden(f"403 FORBIDDEN: {said}", code="FORBIDDEN", status=403)

    [seen] = desk.awaiting()
    monkeypatch.setattr(RampRequests, "_decide", refuse)
    with pytest.raises(ActionRefused) as caught:
        alone(desk, credential).execute(APPROVE, seen, nonce="n1")
    assert str(caught.value) == (
        f"This credential created {seen.name} - approve in the provider's portal, then sync"
    )
    refused = desk.journal.entries("action.refused")[0]
    assert said in refused.body["facts"]["service"]


def test_an_answer_that_is_lost_after_the_effect_is_read_back(
    desk: Desk, sandbox: Sandbox, served: Served
) -> None:
    [seen] = desk.awaiting()
    sandbox.faults.add(f"/ramp/v1/ramp-requests/{seen.id}/approve", drop="after")
    outcome = desk.actions.execute(APPROVE, seen, nonce="n1")
    assert (outcome.how, outcome.status) == ("read back", "AWAITING_FUNDS")
    assert len(posts(served)) == 1
    assert desk.kinds() == ["action.sending", "action.done"]


def test_an_answer_that_is_lost_before_the_effect_stays_unknown(
    desk: Desk, sandbox: Sandbox, served: Served
) -> None:
    [seen] = desk.awaiting()
    sandbox.faults.add(f"/ramp/v1/ramp-requests/{seen.id}/approve", drop="before")
    with pytest.raises(OutcomeUnknown, match="the service shows it AWAITING_APPROVAL") as caught:
        desk.actions.execute(APPROVE, seen, nonce="n1")
    assert "before deciding again" in str(caught.value)
    assert len(posts(served)) == 1
    assert desk.kinds() == ["action.sending", "action.unknown"]
    assert [entry.nonce for entry in desk.actions.unsettled()] == ["n1"]


def test_a_service_fault_is_read_back_too(desk: Desk, sandbox: Sandbox, served: Served) -> None:
    [seen] = desk.awaiting()
    sandbox.faults.add(f"/ramp/v1/ramp-requests/{seen.id}/approve", status=500)
    with pytest.raises(OutcomeUnknown):
        desk.actions.execute(APPROVE, seen, nonce="n1")
    assert len(posts(served)) == 1
    again = desk.actions.execute(APPROVE, seen, nonce="n2")
    assert again.status == "AWAITING_FUNDS"


def test_a_refusal_of_the_service_is_journaled_and_raised_as_it_is(
    desk: Desk, sandbox: Sandbox
) -> None:
    [seen] = desk.awaiting()
    sandbox.faults.add(f"/ramp/v1/ramp-requests/{seen.id}/approve", status=400)
    with pytest.raises(InvalidRequest):
        desk.actions.execute(APPROVE, seen, nonce="n1")
    assert desk.kinds() == ["action.sending", "action.refused"]
    assert desk.actions.unsettled() == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"status": "AWAITING_FUNDS"}, "is AWAITING_FUNDS, not AWAITING_APPROVAL"),
        ({"status": "SOMETHING_NEW"}, "is SOMETHING_NEW"),
        ({"version": None}, "without its version"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_anything_is_sent(
    desk: Desk, served: Served, change: dict[str, object], problem: str
) -> None:
    [seen] = desk.awaiting()
    with pytest.raises(ActionRefused, match=problem):
        desk.actions.execute(APPROVE, msgspec.structs.replace(seen, **change), nonce="n1")
    assert posts(served) == desk.kinds() == []


def test_an_action_that_does_not_exist_and_a_missing_credential_say_so(desk: Desk) -> None:
    [seen] = desk.awaiting()
    with pytest.raises(InputError, match=r"ramp_request\.approve"):
        desk.actions.execute("ramp_request.delete", seen, nonce="n1")
    others = {n: c for n, c in desk.settings.credentials.items() if n != "checker"}
    settings = msgspec.structs.replace(desk.settings, credentials=others)
    with pytest.raises(SettingsError, match="checker"):
        Actions(desk.journal, desk.client, settings, lambda: NOON).execute(
            APPROVE, seen, nonce="n1"
        )
    assert desk.kinds() == []


class Failing(Journal):
    """A journal whose disk goes away after the first entry."""

    def append(self, kind: str, *args: object, **facts: object) -> Entry:
        if kind != "action.sending":
            raise JournalError("the disk is full")
        return super().append(kind, *args, **facts)


def test_nothing_is_sent_that_could_not_be_journaled(
    desk: Desk, served: Served, tmp_path: Path
) -> None:
    [seen] = desk.awaiting()
    (tmp_path / "file").write_text("in the way")
    broken = Actions(Journal(tmp_path / "file" / "x"), desk.client, desk.settings, lambda: NOON)
    with pytest.raises(JournalError):
        broken.execute(APPROVE, seen, nonce="n1")
    assert posts(served) == []


def test_an_end_that_cannot_be_journaled_says_that_it_was_sent(desk: Desk, tmp_path: Path) -> None:
    [seen] = desk.awaiting()
    failing = Actions(Failing(tmp_path / "other"), desk.client, desk.settings, lambda: NOON)
    with pytest.raises(JournalError, match=r"was sent \(done\), and that could not be journaled"):
        failing.execute(APPROVE, seen, nonce="n1")
    assert [entry.nonce for entry in failing.unsettled()] == ["n1"]
