"""treasury.toml: what it may say, and where secrets are."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from treasury.errors import SettingsError
from treasury.settings import (
    Credential,
    Secret,
    is_loopback,
    load_settings,
    pin_environment,
)

GOOD = """\
[workspace]
company = "Harbour Lane Trading NV"
environment = "staging"

[services]
token_url = "https://login.example.test/token"
finance.base_url = "https://finance.example.test/v1"
ramp.base_url = "http://127.0.0.1:8000/v1"

[credentials.maker]
client_id = "maker"
client_secret = "env:CANARY_SECRET"

[[accounts]]
account = "NL05TEST0417164300"
source = "own_bank"
"""
CANARY = "s3cr3t-canary"


def written(folder: Path, text: str) -> Path:
    (folder / "treasury.toml").write_text(text, "utf-8")
    return folder


def test_settings_are_read_with_their_defaults(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, GOOD))
    assert settings.zone.key == "Europe/Brussels"
    assert settings.accounts[0].currency == "EUR"
    assert settings.now().tzinfo is not None


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ('environment = "staging"', 'environment = "stage"', "environment"),
        ("https://finance", "http://finance", "not https"),
        ('source = "own_bank"', 'source = "bank"', "source"),
        ("company =", "compny =", "compny"),
        ('environment = "staging"', "now = 2026-11-02T08:00:00Z\nenvironment = 'staging'", "clock"),
        ('environment = "staging"', 'time_zone = "Europe/Bruges"', "time zone"),
        ("[services]", "[services", "treasury.toml"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(
    tmp_path: Path, before: str, after: str, word: str
) -> None:
    with pytest.raises(SettingsError, match=word) as error:
        load_settings(written(tmp_path, GOOD.replace(before, after)))
    assert "treasury.toml" in str(error.value)


def test_a_folder_without_settings_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="treasury demo"):
        load_settings(tmp_path)


def test_a_secret_comes_from_where_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_SECRET", CANARY)
    path = tmp_path / "secret"
    path.write_text(CANARY + "\n")
    for place in ("env:CANARY_SECRET", f"file:{path}"):
        assert Credential("maker", place).secret().reveal() == CANARY


def test_a_secret_comes_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {("treasury", "maker"): CANARY}
    keyring = SimpleNamespace(get_password=lambda *place: entries.get(place))
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert Credential("maker", "keyring:treasury/maker").secret().reveal() == CANARY
    with pytest.raises(SettingsError, match="no entry treasury/checker"):
        Credential("checker", "keyring:treasury/checker").secret()


@pytest.mark.parametrize("place", ["env:NOT_SET", "file:/nowhere/at/all", "plain-text", "vault:x"])
def test_a_secret_that_is_not_there_is_an_error_that_shows_none(place: str) -> None:
    with pytest.raises(SettingsError, match="no secret for maker") as error:
        Credential("maker", place).secret()
    assert "plain-text" not in str(error.value)


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(CANARY)
    assert CANARY not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_loopback_is_this_machine_only() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("10.0.0.1", "localhost.example.test", "", "0.0.0.0")))


SANDBOX = GOOD.replace("https://", "http://127.0.0.1:8000/").replace("staging", "sandbox")
PRODUCTION = GOOD.replace("http://127.0.0.1:8000", "https://ramp.example.test").replace(
    '"staging"', '"production"'
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (GOOD.replace("staging", "sandbox"), "cannot be sandbox"),
        (PRODUCTION.replace("https://finance.example.test", "http://127.0.0.1"), "be production"),
        (GOOD.replace("[services]", '[services]\nenvironment = "production"'), "for production"),
        (GOOD + '[credentials.x]\nclient_id="x"\nclient_secret="env:X"\n'
         'environment = "production"', r"credentials\.x\] is for production"),
        (GOOD.replace("[services]", "[services]\nallow_writes = true"), "below .workspace"),
    ],
)  # fmt: skip
def test_environments_are_not_mixed(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        load_settings(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (SANDBOX, True),
        (GOOD, True),
        (PRODUCTION, False),
        (PRODUCTION.replace("company =", "allow_writes = true\ncompany ="), True),
    ],
)
def test_only_production_needs_leave_to_write(tmp_path: Path, text: str, may: bool) -> None:
    services = load_settings(written(tmp_path, text)).services
    assert services is not None
    assert services.may_write is may


def test_a_workspace_is_filled_from_one_environment(tmp_path: Path) -> None:
    staging = load_settings(written(tmp_path, GOOD))
    for _ in range(2):
        pin_environment(tmp_path, staging)
    production = load_settings(written(tmp_path, PRODUCTION))
    with pytest.raises(SettingsError, match=r"holds the records of staging at finance\.example"):
        pin_environment(tmp_path, production)


def test_an_empty_note_of_the_environment_is_not_taken_for_any(tmp_path: Path) -> None:
    staging = load_settings(written(tmp_path, GOOD))
    (tmp_path / "environment").write_text("")
    with pytest.raises(SettingsError, match="is empty, so whose records"):
        pin_environment(tmp_path, staging)
    (tmp_path / "environment").unlink()
    pin_environment(tmp_path, staging)
    assert [path.name for path in tmp_path.glob("*environment*")] == ["environment"]


def test_a_sandbox_may_change_its_port(tmp_path: Path) -> None:
    pin_environment(tmp_path, load_settings(written(tmp_path, SANDBOX)))
    pin_environment(tmp_path, load_settings(written(tmp_path, SANDBOX.replace("8000", "8001"))))


def test_a_secret_may_be_in_the_keyring() -> None:
    import keyring
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1  # type: ignore[assignment]  # the backend's own class property

        def get_password(self, service: str, username: str) -> str | None:
            return CANARY if (service, username) == ("treasury", "maker") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise AssertionError("nothing is written to the keyring")

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        assert Credential("maker", "keyring:treasury/maker").secret().reveal() == CANARY
        with pytest.raises(SettingsError, match="the keyring has no entry treasury/other"):
            Credential("maker", "keyring:treasury/other").secret()
    finally:
        keyring.set_keyring(before)
