"""Identity: the hub is queried, the environment only claims, and look-alikes are one person."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from action_practice import Practice, refused, transfer_fields

from treasury.actions import Actions
from treasury.actions.authority.enrolment import enrol_key
from treasury.actions.authority.identity import Identity
from treasury.actions.policies.policy import POLICY_FILE, load_policy
from treasury.core.errors import ActionRefused, InputError, JournalError, SettingsError
from treasury.core.settings.confirmed_addresses import confirm_first_use, require_confirmed
from treasury.core.settings.secret_routes import HUB_API
from treasury.journal import Actor, Journal, Signing
from treasury.journal.signing import make_key

TOKENS = {"token of-ines": "ines", "token of-jonas": "jonas"}


class Hub:
    """A hub that identifies two people by the tokens of their servers."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = False
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked += 1
                name = TOKENS.get(self.headers["Authorization"])
                body = json.dumps({"kind": "user", "name": name}).encode()
                self.send_response(503 if hub.away else 200 if name else 403)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.api = f"http://127.0.0.1:{self.server.server_port}/hub/api"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Run a hub, with its address in the environment."""
    hub = Hub()
    monkeypatch.setenv("JUPYTERHUB_API_URL", hub.api)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def write(folder: Path, text: str) -> None:
    (folder / POLICY_FILE).write_text(text, "utf-8")


def at_a_desk(practice: Practice) -> Actions:
    """Return `Actions` as a new process opens them: the policy decides how the person is known."""
    journal = Journal(practice.folder, who=Identity(lambda: load_policy(practice.folder)).who)
    return Actions(
        journal, practice.client, practice.settings, practice.settings.now, folder=practice.folder
    )


def test_one_person_with_two_names_in_the_environment_does_not_propose_and_approve(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(practice.folder, f'identified_by = ["hub"]\n[hub]\napi = "{hub.api}"\n')
    monkeypatch.setenv("JUPYTERHUB_USER", "ines")
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    action = at_a_desk(practice).propose("crypto_transfer.create", **transfer_fields())
    assert action.proposed_by == Actor("ines", "hub", "verified")
    monkeypatch.setenv("JUPYTERHUB_USER", "jonas")
    monkeypatch.setenv("TREASURY_USER", "jonas")
    assert "never the checker" in refused(lambda: at_a_desk(practice).approve(action.id))
    monkeypatch.delenv("JUPYTERHUB_API_TOKEN")
    assert "identified by the environment only" in refused(
        lambda: at_a_desk(practice).approve(action.id)
    )
    # Everyone at the hub could also act under the name of the system user.
    write(practice.folder, f'identified_by = ["hub", "system"]\n[hub]\napi = "{hub.api}"\n')
    monkeypatch.delenv("JUPYTERHUB_USER")
    monkeypatch.delenv("TREASURY_USER")
    assert "identified by the environment only" in refused(
        lambda: at_a_desk(practice).approve(action.id)
    )
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-jonas")
    assert at_a_desk(practice).approve(action.id)[0].state == "ready"


def test_a_hub_missing_from_the_policy_confirms_no_identity(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    monkeypatch.setenv("JUPYTERHUB_USER", "ines")
    desk = at_a_desk(practice)
    action = desk.propose("crypto_transfer.create", **transfer_fields())
    assert action.proposed_by == Actor("ines", "environment", "claimed")
    assert hub.asked == 0
    write(practice.folder, 'identified_by = ["hub", "system"]\n')
    with pytest.raises(ActionRefused, match=r"name the hub in policy.toml: \[hub\] api"):
        desk.propose("crypto_transfer.create", **transfer_fields("2.00"))


@pytest.mark.parametrize("who", ["policy", "environment"])
def test_the_token_goes_to_the_address_that_policy_and_environment_agree_on(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    # A hostile hub could give any name, and keep the token.
    other = Hub()
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    if who == "policy":
        write(practice.folder, f'identified_by = ["hub"]\n[hub]\napi = "{other.api}"\n')
    else:
        write(practice.folder, f'identified_by = ["hub"]\n[hub]\napi = "{hub.api}/"\n')
        monkeypatch.setenv("JUPYTERHUB_API_URL", other.api)
    with pytest.raises(JournalError, match=r"policy\.toml requires the hub at"):
        at_a_desk(practice).propose("crypto_transfer.create", **transfer_fields())
    monkeypatch.delenv("JUPYTERHUB_API_URL")
    with pytest.raises(JournalError, match="JUPYTERHUB_API_URL is not set"):
        at_a_desk(practice).propose("crypto_transfer.create", **transfer_fields())
    assert other.asked == hub.asked == 0
    other.server.shutdown()
    other.server.server_close()


def test_the_hub_is_asked_only_at_an_address_that_the_person_confirmed(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(practice.folder, f'[hub]\napi = "{hub.api}"\n')
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    settings = practice.settings
    confirm_first_use(practice.folder, settings)
    identity = Identity(
        lambda: load_policy(practice.folder),
        lambda: require_confirmed(practice.folder, settings, HUB_API),
    )
    assert identity.who().name == "ines"
    other = Hub()
    write(practice.folder, f'[hub]\napi = "{other.api}"\n')
    monkeypatch.setenv("JUPYTERHUB_API_URL", other.api)
    with pytest.raises(SettingsError, match=f"{HUB_API} is {other.api}, and you confirmed"):
        identity.who()
    assert other.asked == 0
    other.server.shutdown()
    other.server.server_close()


def test_an_actor_passed_in_by_a_program_has_the_level_claimed(practice: Practice) -> None:
    write(practice.folder, 'identified_by = ["hub", "system"]\n')
    policy = load_policy(practice.folder)
    policy.check_identity(Actor("ines", "hub", "verified"))
    for source in ("hub", "system", "environment"):
        assert "environment only" in refused(
            lambda s=source: policy.check_identity(Actor("ines", s))
        )
    # Entries of earlier versions may have a hub user's name from the environment.
    assert "environment only" in refused(
        lambda: policy.check_identity(Actor("ines", "hub", "unstated"))
    )


def test_the_hub_is_asked_periodically_and_its_answer_never_assumed(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(practice.folder, f'[hub]\napi = "{hub.api}"\n')
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    now = [0.0]
    identity = Identity(lambda: load_policy(practice.folder), clock=lambda: now[0])
    for _ in range(3):
        assert identity.who().name == "ines"
    assert hub.asked == 1
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-jonas")
    assert identity.who().name == "jonas"
    now[0], hub.away = 301.0, True
    with pytest.raises(JournalError, match="it answers 503; nothing was decided"):
        identity.who()
    hub.away = False
    assert identity.who().name == "jonas"


def test_a_sent_action_is_recorded_although_the_hub_is_down(
    practice: Practice, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(practice.folder, f'[hub]\napi = "{hub.api}"\n')
    action = practice.transfer()
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "of-ines")
    identity = Identity(lambda: load_policy(practice.folder))

    def who() -> Actor:
        if "sending" in practice.kinds():
            raise JournalError("the hub is away")
        return identity.who()

    assert practice.desk("ines", who=who).execute(action.id).state == "done"
    done = practice.journal.entries("action.done")[0]
    assert done.actor == Actor("ines", "hub", "verified")


@pytest.mark.parametrize("name", ["in\u0435s", "ine\u200bs", "\u0406nes", "ın\u0435ѕ"])
def test_a_look_alike_of_the_makers_account_is_not_a_second_person(
    practice: Practice, name: str
) -> None:
    action = practice.desk("Ines").propose("crypto_transfer.create", **transfer_fields()).id
    assert "never the checker" in refused(lambda: practice.desk(name).approve(action))


def test_a_look_alike_name_gets_no_permission(practice: Practice) -> None:
    write(practice.folder, '[[rules]]\nkinds = ["*"]\napprove = ["jonas"]\n')
    action = practice.ines.propose("crypto_transfer.create", **transfer_fields()).id
    assert "j\u043enas may not approve" in refused(
        lambda: practice.desk("j\u043enas").approve(action)
    )
    assert "ines proposed" in refused(lambda: practice.desk("in\u0435s").withdraw(action))
    assert practice.desk("JONAS").approve(action)[0].state == "ready"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[hub]\napi = "http://hub.example.test/hub/api"', "not https"),
        ("[hub]\napi = 7", "hub.api"),
        ('[hub]\nurl = "https://hub.example.test"', "url"),
        ('[keys]\nines = "ed25519:AAAA"', "not a public key"),
        ("[keys]\nines = 7", "keys"),
        ('signed = "yes"', "signed"),
    ],
)
def test_a_policy_with_an_invalid_hub_or_key_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(SettingsError, match=said):
        load_policy(tmp_path)


def test_an_unsigned_approval_sends_nothing_if_the_policy_requires_signatures(
    practice: Practice, tmp_path: Path
) -> None:
    keys = {name: f"file:{tmp_path / name}.key" for name in ("ines", "jonas")}
    write(practice.folder, "signed = true\n")
    for name, place in keys.items():
        enrol_key(practice.folder, name, make_key(place).public)

    def desk(name: str, *, signs: bool = True) -> Actions:
        signing = Signing(keys[name], lambda: load_policy(practice.folder).signatures)
        signing = signing if signs else Signing()
        return practice.desk(name, journal=Journal(practice.folder, signing=signing))

    first, second = (
        desk("ines").propose("crypto_transfer.create", **transfer_fields(amount)).id
        for amount in ("1.00", "2.00")
    )
    desk("jonas").approve(first)
    assert desk("ines").execute(first).state == "done"
    # Anyone with access to the database can add an approval without a signature.
    desk("jonas", signs=False).approve(second)
    with pytest.raises(JournalError, match="by jonas is not signed as the policy requires"):
        desk("ines").execute(second)
    assert len(practice.effects()) == 1


def test_a_key_is_enrolled_next_to_the_policy(tmp_path: Path) -> None:
    one, two = (make_key(f"file:{tmp_path / name}").public for name in ("one", "two"))
    enrol_key(tmp_path, "ines", one)
    assert load_policy(tmp_path).signatures.owner(one) == "ines"
    write(tmp_path, f'# ours\nsigned = false\n\n[keys] # people\nines = "{one}"\n\n[recovery]\n')
    enrol_key(tmp_path, 'jo "n" as', two)
    text = (tmp_path / POLICY_FILE).read_text()
    assert text.startswith("# ours\nsigned = false\n\n[keys] # people\n")
    assert load_policy(tmp_path).signatures.owner(two) == 'jo "n" as'
    for name, key, said in (
        ("nora", two, "already in policy.toml, as the key of jo"),
        ("INES", make_key(f"file:{tmp_path / 'three'}").public, "has a key"),
        (" ", make_key(f"file:{tmp_path / 'four'}").public, "the name is empty"),
        ("nora", "ed25519:no", "not a public key"),
    ):
        with pytest.raises(InputError, match=said):
            enrol_key(tmp_path, name, key)
    assert (tmp_path / POLICY_FILE).read_text() == text
    write(tmp_path, f'keys = {{ines = "{one}"}}\n')
    with pytest.raises((InputError, SettingsError)):
        enrol_key(tmp_path, "jonas", two)


def test_a_rotated_key_and_its_predecessor_belong_to_one_person(tmp_path: Path) -> None:
    one, two = (make_key(f"file:{tmp_path / name}").public for name in ("one", "two"))
    write(tmp_path, f'[keys]\nines = ["{one}", "{two}"]\n')
    rules = load_policy(tmp_path).signatures
    assert rules.owner(one) == rules.owner(two) == "ines"
    write(tmp_path, f'[keys]\nines = "{one}"\njonas = "{one}"\n')
    with pytest.raises(SettingsError, match="twice"):
        load_policy(tmp_path)
